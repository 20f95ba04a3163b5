//! A check goes through the tables of a database in stages, and through each table in pages. Its cursor encodes its
//! position.

use super::log_findings::After;
use super::number::unsigned;
use crate::check::{CheckCursor, CheckPage};
use crate::error::{Error, Result};

/// The position of a check.
pub(super) struct Position<S: 'static> {
    stages: &'static [S],
    number: usize,
    pub(super) stage: &'static S,
    /// The key of the last row that was checked in this stage.
    pub(super) after: After,
    /// The number of rows that were checked so far.
    done: u64,
    /// The number of rows when the check began.
    of: u64,
}

/// The key before all rows. A damaged row may have a negative number.
const BEGINNING: After = [i64::MIN; 3];

impl<S> Position<S> {
    /// Reads a cursor. `count` counts the rows when a check begins.
    pub(super) fn read(
        stages: &'static [S],
        cursor: &CheckCursor,
        count: impl FnOnce() -> Result<i64>,
    ) -> Result<Self> {
        let invalid = || Error::invalid("the cursor of the check is not valid: begin without one");
        let (number, after, done, of) = if *cursor == CheckCursor::default() {
            (0, BEGINNING, 0, unsigned(count()?))
        } else {
            let numbers: Result<Vec<i64>, _> = cursor.0.split(':').map(str::parse).collect();
            let [number, first, second, third, done, of] = numbers.map_err(|_| invalid())?[..] else {
                return Err(invalid());
            };
            let [done, of] = [done, of].map(|number| u64::try_from(number).map_err(|_| invalid()));
            (usize::try_from(number).map_err(|_| invalid())?, [first, second, third], done?, of?)
        };
        let stage = stages.get(number).ok_or_else(invalid)?;
        Ok(Self { stages, number, stage, after, done, of })
    }

    /// Completes a page of this stage. `last` is the key of its last row. `None`: the stage is complete.
    pub(super) fn complete(self, page: CheckPage, last: Option<After>) -> CheckPage {
        let counted = &page.counted;
        let done = self.done + counted.checkpoints + counted.writes + counted.records;
        let of = self.of.max(done);
        let number = self.number + usize::from(last.is_none());
        let [first, second, third] = last.unwrap_or(BEGINNING);
        let next = CheckCursor(format!("{number}:{first}:{second}:{third}:{done}:{}", self.of));
        CheckPage { done, of, next: (number < self.stages.len()).then_some(next), ..page }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back() {
        for after in [[7, 0, 0], [-7, 1, i64::MAX], BEGINNING] {
            let position = Position { stages: &["a", "b", "c"], number: 2, stage: &"c", after, done: 9, of: 100 };
            let cursor = position.complete(CheckPage::default(), Some(after)).next.unwrap();
            let read = Position::read(&["a", "b", "c"], &cursor, || unreachable!("the check has begun")).unwrap();
            assert_eq!((*read.stage, read.after, read.done, read.of), ("c", after, 9, 100));
        }
        for nonsense in ["nonsense", "1:2:3", "1:2:3:4:5", "-1:2:3:4:5:6", "1:2:3:4:-5:6", "3:2:3:4:5:6"] {
            let read = Position::read(&["a", "b", "c"], &CheckCursor(nonsense.to_owned()), || Ok(0));
            assert!(read.is_err(), "{nonsense}");
        }
    }
}
