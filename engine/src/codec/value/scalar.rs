//! What the decoder and the encoder have in common: doubles, keys that are array indices, and flags.

use super::tags::REG_EXP_FLAGS;

/// The numbers that JSON lacks.
const SPECIAL: [(&str, f64); 4] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY), ("-0", -0.0)];

/// The bits of the NaN that V8 writes, unless a calculation of the processor made it.
const NAN: u64 = 0x7ff8_0000_0000_0000;

/// Returns the name of a number that JSON lacks, and the bits of an unusual NaN.
pub(super) fn special_name(value: f64) -> Option<(&'static str, Option<u64>)> {
    let bits = value.to_bits();
    if value.is_nan() {
        return Some(("NaN", (bits != NAN).then_some(bits)));
    }
    SPECIAL.iter().find(|(_, special)| special.to_bits() == bits).map(|&(name, _)| (name, None))
}

/// Returns the number with this name.
pub(super) fn special(name: &str) -> Option<f64> {
    let (_, value) = SPECIAL.iter().find(|(special, _)| *special == name)?;
    Some(if value.is_nan() { f64::from_bits(NAN) } else { *value })
}

/// Returns the index if a key is an array index as JavaScript defines it: an integer below 2^32 - 1 in decimal.
pub(super) fn array_index(key: &[u8]) -> Option<u32> {
    if key.is_empty() || key.len() > 10 || (key.len() > 1 && key[0] == b'0') || !key.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(key).ok()?.parse().ok().filter(|&index| index < u32::MAX)
}

/// Returns the flags as JavaScript's `flags`. Returns `None` if there are other flags.
pub(super) fn flags_to_text(bits: u32) -> Option<String> {
    let known: u32 = REG_EXP_FLAGS.iter().map(|(_, bit)| bit).sum();
    let text = REG_EXP_FLAGS.iter().filter(|(_, bit)| bits & bit != 0).map(|(flag, _)| flag).collect();
    (bits & !known == 0).then_some(text)
}

/// Returns the bits of flags. Returns `None` if there is an unknown flag, or a flag is there twice.
pub(super) fn flags_from_text(text: &str) -> Option<u32> {
    text.chars().try_fold(0, |bits, char| {
        let (_, bit) = REG_EXP_FLAGS.iter().find(|(flag, _)| *flag == char)?;
        (bits & bit == 0).then_some(bits | bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_indices_are_those_of_javascript() {
        for (key, index) in [("0", 0), ("7", 7), ("2147483648", 2_147_483_648), ("4294967294", 4_294_967_294)] {
            assert_eq!(array_index(key.as_bytes()), Some(index));
        }
        for name in ["", "00", "01", "-1", "1.0", "1e3", "4294967295", "99999999999", "a"] {
            assert_eq!(array_index(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn flags_come_back() {
        assert_eq!(flags_to_text(511 & !64).unwrap(), "dgimsuvy");
        assert_eq!(flags_to_text(64), None, "a flag that JavaScript does not have");
        assert_eq!(flags_from_text("ig"), Some(3));
        assert_eq!(flags_from_text("gg"), None);
        assert_eq!(flags_from_text("x"), None);
    }
}
