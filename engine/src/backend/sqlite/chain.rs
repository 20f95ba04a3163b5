//! The column `chain` describes how the row's payload is stored, and which payloads are deltas against it.
//!
//! All deltas against one base form a linked list through their rows. The base's row has the number of the newest
//! delta, and each delta's row has the number of the next older delta, so dependants are found without an index. The
//! column keeps its size, so saving a delta updates the column of its base in place.
//!
//! The short form stores distances to other rows. A row whose numbers do not fit has the wide form.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::statement::{each, execute, first, one};
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::record::Seq;

/// The size of the column, in bytes: six numbers of eight bytes and a checksum.
const WIDE: usize = 56;
/// The size of its short form: the same numbers with fewer bytes, and the checksum.
const SHORT: usize = 30;

/// The decoded column `chain`: how one payload is stored, and its links to other payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    /// The payload that this payload is a delta against. `None` for a keyframe.
    pub base: Option<Seq>,
    /// The number of deltas to apply when the payload is read. 0 for a keyframe.
    pub depth: i64,
    /// The maximum total size of further deltas before the next keyframe, in bytes.
    pub budget: i64,
    /// The size of the raw payload, in bytes.
    pub size: i64,
    /// The newest payload that is a delta against this payload.
    pub first_dependant: Option<Seq>,
    /// The next older payload that is a delta against the same base.
    pub next_sibling: Option<Seq>,
    /// True if the column has the wide form.
    pub is_wide: bool,
}

impl Chain {
    /// Decodes the column of row `seq` and verifies its checksum.
    pub(super) fn decode(seq: Seq, column: &[u8]) -> Result<Self> {
        Self::parse(seq, column)
            .filter(|(chain, sum)| chain.sum(seq) == *sum)
            .map_or_else(|| Err(damaged(seq)), |(chain, _)| Ok(chain))
    }

    /// Returns the base in the column, without verifying the column's checksum. This is safe for reading payloads and
    /// for finding dependants: a payload has its own checksum, so a wrong base never yields a wrong payload.
    pub(super) fn named_base(seq: Seq, column: &[u8]) -> Result<Option<Seq>> {
        Self::parse(seq, column).map_or_else(|| Err(damaged(seq)), |(chain, _)| Ok(chain.base))
    }

    /// Parses the column and its checksum. `None`: it has neither form, or names the row 0, which never exists.
    fn parse(seq: Seq, column: &[u8]) -> Option<(Self, i64)> {
        match column.len() {
            SHORT => Self::parse_short(seq, column.first_chunk()?),
            WIDE => Some(Self::parse_wide(column.first_chunk()?)),
            _ => None,
        }
    }

    fn parse_wide(column: &[u8; WIDE]) -> (Self, i64) {
        let (numbers, _) = column.as_chunks::<8>();
        let [base, depth, budget, size, first, next, sum] =
            [0, 1, 2, 3, 4, 5, 6].map(|at| i64::from_le_bytes(numbers[at]));
        let [base, first_dependant, next_sibling] = [base, first, next].map(|seq| (seq != 0).then_some(seq));
        (Self { base, depth, budget, size, first_dependant, next_sibling, is_wide: true }, sum)
    }

    fn parse_short(seq: Seq, column: &[u8; SHORT]) -> Option<(Self, i64)> {
        let number = |at: usize| i64::from(u32::from_le_bytes(std::array::from_fn(|byte| column[at + byte])));
        let row = |away: i64| match seq.checked_add(away)? {
            0 => None,
            _ if away == 0 => Some(None),
            row => Some(Some(row)),
        };
        let chain = Self {
            base: row(-number(0))?,
            depth: u16::from_le_bytes([column[4], column[5]]).into(),
            budget: number(6),
            size: number(10),
            first_dependant: row(number(14))?,
            next_sibling: row(-number(18))?,
            is_wide: false,
        };
        Some((chain, i64::from_le_bytes(std::array::from_fn(|byte| column[22 + byte]))))
    }

    /// The size of the raw payload in bytes. A damaged row counts as 0, because statistics must not fail. A check
    /// reports it.
    pub(super) fn size_of(seq: Seq, column: &[u8]) -> i64 {
        Self::decode(seq, column).map_or(0, |chain| chain.size)
    }

    /// Converts a damaged column to the column of a keyframe: removes the base and leaves the rest unchanged. Its
    /// checksum still does not match, because the list of dependants is unknown. [`dependants`] then scans all rows.
    pub(super) fn damaged_keyframe(column: &[u8]) -> Vec<u8> {
        let mut keyframe = match column.len() {
            SHORT | WIDE => column.to_vec(),
            _ => vec![0xff; WIDE],
        };
        let base = if keyframe.len() == SHORT { 4 } else { 8 };
        keyframe[..base].fill(0);
        keyframe
    }

    /// Encodes the column for row `seq`.
    pub(super) fn encode(&self, seq: Seq) -> Vec<u8> {
        let short = if self.is_wide { None } else { self.short(seq) };
        let wide = || self.numbers().into_iter().flat_map(i64::to_le_bytes).collect();
        let mut column: Vec<u8> = short.unwrap_or_else(wide);
        column.extend(self.sum(seq).to_le_bytes());
        column
    }

    /// Encodes the numbers in the short form. `None`: one does not fit.
    fn short(&self, seq: Seq) -> Option<Vec<u8>> {
        // The distance to another row is never 0, so 0 means that there is no other row.
        let away = |from: Seq, to: Seq| u32::try_from(from.checked_sub(to)?).ok().filter(|away| *away != 0);
        let older = |other: Option<Seq>| other.map_or(Some(0), |other| away(seq, other));
        let newer = |other: Option<Seq>| other.map_or(Some(0), |other| away(other, seq));
        let mut column = Vec::with_capacity(SHORT);
        column.extend(older(self.base)?.to_le_bytes());
        column.extend(u16::try_from(self.depth).ok()?.to_le_bytes());
        column.extend(u32::try_from(self.budget).ok()?.to_le_bytes());
        column.extend(u32::try_from(self.size).ok()?.to_le_bytes());
        column.extend(newer(self.first_dependant)?.to_le_bytes());
        column.extend(older(self.next_sibling)?.to_le_bytes());
        Some(column)
    }

    fn numbers(&self) -> [i64; 6] {
        let named = |seq: Option<Seq>| seq.unwrap_or(0);
        let Self { base, depth, budget, size, first_dependant, next_sibling, is_wide: _ } = self;
        [named(*base), *depth, *budget, *size, named(*first_dependant), named(*next_sibling)]
    }

    fn sum(&self, seq: Seq) -> i64 {
        self.numbers().into_iter().fold(Sum::new().int(seq), Sum::int).finish()
    }
}

fn damaged(seq: Seq) -> Error {
    let message = format!("row {seq}: the links to other payloads do not match their checksum: restore a backup");
    Error::new(Code::Corrupt, message)
}

/// Reads and verifies the column `chain` of row `seq`. Returns `None` if the row does not exist.
pub(super) fn read(connection: &Connection, seq: Seq) -> Result<Option<Chain>> {
    let sql = "SELECT chain FROM checkpoint WHERE seq = ?";
    let column: Option<Vec<u8>> = one(connection, sql, [seq], first)?;
    column.map(|column| Chain::decode(seq, &column)).transpose()
}

fn write(connection: &Connection, seq: Seq, chain: &Chain) -> Result<()> {
    execute(connection, "UPDATE checkpoint SET chain = ? WHERE seq = ?", params![chain.encode(seq), seq]).map(drop)
}

/// Returns the payloads that are deltas against `base`, newest first.
///
/// If the linked list is damaged, scans all rows instead. This is slow, but finds every dependant whose payload is
/// readable.
pub(super) fn dependants(connection: &Connection, base: Seq) -> Result<Vec<Seq>> {
    match listed(connection, base) {
        Err(error) if error.code() == Code::Corrupt => searched(connection, base),
        found => Ok(found?.into_iter().map(|(seq, _)| seq).collect()),
    }
}

/// Follows the linked list of the dependants of `base`. Returns each dependant with its decoded column, newest first.
///
/// # Errors
///
/// `CORRUPT` if the list is damaged.
pub(super) fn listed(connection: &Connection, base: Seq) -> Result<Vec<(Seq, Chain)>> {
    let mut found: Vec<(Seq, Chain)> = Vec::new();
    let mut next = read(connection, base)?.and_then(|chain| chain.first_dependant);
    while let Some(seq) = next {
        let broken = || {
            let message =
                format!("row {base}: the list of deltas against its payload is damaged at row {seq}: restore a backup");
            Error::new(Code::Corrupt, message)
        };
        let chain = read(connection, seq)?.filter(|chain| chain.base == Some(base)).ok_or_else(broken)?;
        // Numbers must decrease along the list. This also stops at a cycle in a damaged list.
        if found.last().is_some_and(|(before, _)| *before <= seq) {
            return Err(broken());
        }
        next = chain.next_sibling;
        found.push((seq, chain));
    }
    Ok(found)
}

fn searched(connection: &Connection, base: Seq) -> Result<Vec<Seq>> {
    let sql = "SELECT seq, chain FROM checkpoint WHERE seq > ? ORDER BY seq DESC";
    let mut found = Vec::new();
    each(connection, sql, [base], |row| {
        let seq = row.get(0)?;
        // Skip a row whose column is so damaged that its base is unreadable. Its payload is unreadable too.
        let named = row.get_ref(1)?.as_blob().ok().and_then(|column| Chain::named_base(seq, column).ok().flatten());
        if named == Some(base) {
            found.push(seq);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Makes `dependant` the head of the list of `base`. Must be called before `dependant` is stored. Returns the previous
/// head.
pub(super) fn link(connection: &Connection, base: Seq, dependant: Seq) -> Result<Option<Seq>> {
    let Some(chain) = read(connection, base)? else { return Ok(None) };
    let before = chain.first_dependant;
    write(connection, base, &Chain { first_dependant: Some(dependant), ..chain })?;
    Ok(before)
}

/// Removes the payloads in `going` from the list of `base`, in one pass. Rebuilds a damaged list by a scan of all rows.
/// If the column of a remaining payload is damaged, leaves the list damaged, so that [`dependants`] scans all rows.
pub(super) fn unlink(connection: &Connection, base: Seq, going: &HashSet<Seq>) -> Result<()> {
    match relist(connection, base, going) {
        Err(error) if error.code() == Code::Corrupt => Ok(()),
        other => other,
    }
}

fn relist(connection: &Connection, base: Seq, going: &HashSet<Seq>) -> Result<()> {
    let Some(base_chain) = read(connection, base)? else { return Ok(()) };
    // Read and verify all remaining payloads before the first write.
    let list = match listed(connection, base) {
        Err(error) if error.code() == Code::Corrupt => {
            let staying = searched(connection, base)?.into_iter().filter(|seq| !going.contains(seq));
            let chain = |seq| Ok(read(connection, seq)?.map(|chain| (seq, chain)));
            staying.filter_map(|seq| chain(seq).transpose()).collect::<Result<_>>()?
        }
        list => list?,
    };
    let mut after = None;
    for (seq, chain) in list.into_iter().rev().filter(|(seq, _)| !going.contains(seq)) {
        if chain.next_sibling != after {
            write(connection, seq, &Chain { next_sibling: after, ..chain })?;
        }
        after = Some(seq);
    }
    if base_chain.first_dependant != after {
        write(connection, base, &Chain { first_dependant: after, ..base_chain })?;
    }
    Ok(())
}

/// Finds the base whose list contains `dependant`, if the column of `dependant` is damaged. Scans all rows for the
/// link.
pub(super) fn listed_under(connection: &Connection, dependant: Seq) -> Result<Option<Seq>> {
    let mut statement = connection.prepare_cached("SELECT seq, chain FROM checkpoint")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let seq: Seq = row.get(0)?;
        let column = row.get_ref(1)?;
        let Some(chain) = column.as_blob().ok().and_then(|column| Chain::decode(seq, column).ok()) else { continue };
        if chain.first_dependant == Some(dependant) {
            return Ok(Some(seq));
        }
        if chain.next_sibling == Some(dependant) {
            return Ok(chain.base);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(base: Option<Seq>, first_dependant: Option<Seq>, next_sibling: Option<Seq>) -> Chain {
        Chain { base, depth: 3, budget: 70_000, size: 200, first_dependant, next_sibling, is_wide: false }
    }

    #[test]
    fn the_short_form_has_what_fits_and_the_wide_form_the_rest() {
        let far = 1 << 32;
        let cases = [
            (1, chain(None, None, None), SHORT),
            (77, chain(Some(76), Some(78), Some(1)), SHORT),
            (far + 5, chain(Some(6), Some(2 * far + 4), Some(6)), SHORT),
            (far + 5, chain(Some(5), None, None), WIDE),
            (5, chain(None, Some(far + 5), None), WIDE),
            (far + 5, chain(None, None, Some(5)), WIDE),
            // Only a damaged database has such links.
            (5, chain(Some(5), None, None), WIDE),
            (5, chain(Some(9), None, None), WIDE),
            (5, chain(None, Some(4), None), WIDE),
            (i64::MAX, chain(Some(i64::MIN), None, None), WIDE),
            (5, Chain { depth: 1 << 16, ..Chain::default() }, WIDE),
            (5, Chain { budget: far, ..Chain::default() }, WIDE),
            (5, Chain { budget: -1, ..Chain::default() }, WIDE),
            (5, Chain { size: far, ..Chain::default() }, WIDE),
            (5, Chain { is_wide: true, ..Chain::default() }, WIDE),
        ];
        for (seq, chain, length) in cases {
            let column = chain.encode(seq);
            assert_eq!(column.len(), length, "{seq}: {chain:?}");
            let decoded = Chain { is_wide: length == WIDE, ..chain };
            assert_eq!(Chain::decode(seq, &column), Ok(decoded.clone()), "{seq}");
            assert_eq!(Chain::named_base(seq, &column), Ok(decoded.base), "{seq}");
            assert!(Chain::decode(seq + i64::from(seq < i64::MAX) - i64::from(seq == i64::MAX), &column).is_err());
            for at in 0..column.len() {
                let mut damaged = column.clone();
                damaged[at] ^= 1;
                assert!(Chain::decode(seq, &damaged).is_err(), "{seq}: byte {at}");
            }
            let keyframe = Chain::damaged_keyframe(&column);
            assert_eq!((keyframe.len(), Chain::named_base(seq, &keyframe)), (length, Ok(None)));
        }
        for column in [&[] as &[u8], &[0; 29], &[0; 31], &[0; 57]] {
            assert!(Chain::decode(1, column).is_err() && Chain::named_base(1, column).is_err());
            assert_eq!(Chain::named_base(1, &Chain::damaged_keyframe(column)), Ok(None));
        }
    }
}
