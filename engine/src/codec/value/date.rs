//! Dates as JavaScript's `toISOString` writes them.

const DAY: i64 = 86_400_000;
/// The greatest time of a JavaScript date, in milliseconds since the epoch.
const LATEST: i64 = 8_640_000_000_000_000;

/// Returns the ISO text of a time in milliseconds since the epoch. Returns `None` if JavaScript has no such date.
pub(super) fn to_iso(time: i64) -> Option<String> {
    if !(-LATEST..=LATEST).contains(&time) {
        return None;
    }
    let (year, month, day) = civil(time.div_euclid(DAY));
    let ms = time.rem_euclid(DAY);
    let year = match year {
        0..=9_999 => format!("{year:04}"),
        _ => format!("{year:+07}"),
    };
    let (hour, minute, second, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000);
    Some(format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"))
}

/// Returns the time of a text that [`to_iso`] wrote. Returns `None` for any other text.
pub(super) fn from_iso(text: &str) -> Option<i64> {
    let split = text.len().checked_sub("-01-31T12:00:00.000Z".len())?;
    let (year, rest) = text.split_at_checked(split)?;
    let number = |from: usize, to: usize| rest.get(from..to)?.parse::<i64>().ok();
    let days = days(year.parse().ok()?, number(1, 3)?, number(4, 6)?)?;
    let time = number(7, 9)? * 3_600_000 + number(10, 12)? * 60_000 + number(13, 15)? * 1_000 + number(16, 19)?;
    let time = days * DAY + time;
    (to_iso(time)? == text).then_some(time)
}

/// Returns the year, the month and the day of a day that is counted from 1970-01-01.
///
/// The algorithm is Howard Hinnant's `civil_from_days`. It counts years from March, so that the leap day is the last day
/// of a year. An era is 400 years.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The opposite of [`civil`]. Returns `None` if the year is far outside the range of dates.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if year.abs() > 1_000_000 {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_those_of_to_iso_string() {
        for (time, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_769_860_800_123, "2026-01-31T12:00:00.123Z"),
            (-62_198_755_200_000, "-000001-01-01T00:00:00.000Z"),
            (LATEST, "+275760-09-13T00:00:00.000Z"),
            (-LATEST, "-271821-04-20T00:00:00.000Z"),
        ] {
            assert_eq!(to_iso(time).unwrap(), text);
            assert_eq!(from_iso(text), Some(time));
        }
        assert_eq!(to_iso(LATEST + 1), None);
        for wrong in
            ["", "2026-01-31", "2026-02-30T00:00:00.000Z", "2026-01-31T24:00:00.000Z", "2026-01-31T00:00:00.000é"]
        {
            assert_eq!(from_iso(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_date_comes_back(time in -LATEST..=LATEST) {
            prop_assert_eq!(from_iso(&to_iso(time).unwrap()), Some(time));
        }

        #[test]
        fn any_text_is_a_date_or_nothing(text in "[-+]?[0-9]{0,9}-[0-9+]{2}-[0-9]{2}T[0-9:.]{12}Z") {
            if let Some(time) = from_iso(&text) {
                prop_assert_eq!(to_iso(time), Some(text));
            }
        }
    }
}
