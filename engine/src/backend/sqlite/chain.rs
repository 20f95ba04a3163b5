//! The column `chain` describes how the payload of its row is stored, and which payloads are deltas against this
//! payload.
//!
//! All deltas against one base form a linked list through their rows. The row of the base contains the number of the
//! newest delta, and the row of each delta contains the number of the next older delta. The dependants of a payload
//! are found without an index. The column has a fixed size, so saving a delta updates the column of its base in place.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::statement::{each, execute, first, one};
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::record::Seq;

/// The size of the column, in bytes: six numbers and a checksum.
const SIZE: usize = 56;

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
}

impl Chain {
    /// Decodes the column of row `seq` and verifies its checksum.
    pub(super) fn decode(seq: Seq, column: &[u8]) -> Result<Self> {
        let Ok(column) = <&[u8; SIZE]>::try_from(column) else { return Err(damaged(seq)) };
        let (numbers, _) = column.as_chunks::<8>();
        let [base, depth, budget, size, first, next, sum] =
            [0, 1, 2, 3, 4, 5, 6].map(|at| i64::from_le_bytes(numbers[at]));
        let named = |seq: Seq| (seq != 0).then_some(seq);
        let chain =
            Self { base: named(base), depth, budget, size, first_dependant: named(first), next_sibling: named(next) };
        if chain.sum(seq) == sum { Ok(chain) } else { Err(damaged(seq)) }
    }

    /// Returns the base that the column names, without verifying the column's checksum. This is safe when payloads are
    /// read and when dependants are searched: a payload has its own checksum, so a wrong base never gives a wrong
    /// payload.
    pub(super) fn named_base(seq: Seq, column: &[u8]) -> Result<Option<Seq>> {
        let Ok(column) = <&[u8; SIZE]>::try_from(column) else { return Err(damaged(seq)) };
        let base = column.first_chunk().map_or(0, |base| i64::from_le_bytes(*base));
        Ok((base != 0).then_some(base))
    }

    /// The size of the raw payload in bytes. Counts a damaged row as size 0: statistics must not fail because of it, and
    /// a check reports the damage.
    pub(super) fn size_of(seq: Seq, column: &[u8]) -> i64 {
        Self::decode(seq, column).map_or(0, |chain| chain.size)
    }

    /// Converts a damaged column to the column of a keyframe: removes the base and leaves the other fields unchanged.
    /// The checksum of the column still does not match, because the list of dependants is unknown. [`dependants`] then
    /// searches all rows.
    pub(super) fn damaged_keyframe(column: &[u8]) -> [u8; SIZE] {
        let mut keyframe = <[u8; SIZE]>::try_from(column).unwrap_or([0xff; SIZE]);
        keyframe[..8].fill(0);
        keyframe
    }

    /// Encodes the column for row `seq`.
    pub(super) fn encode(&self, seq: Seq) -> [u8; SIZE] {
        let mut column = [0; SIZE];
        let numbers = self.numbers().into_iter().chain([self.sum(seq)]);
        for (place, number) in column.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        column
    }

    fn numbers(&self) -> [i64; 6] {
        let named = |seq: Option<Seq>| seq.unwrap_or(0);
        let Self { base, depth, budget, size, first_dependant, next_sibling } = self;
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
/// If the linked list is damaged, the function searches all rows instead. The search is slow, but it finds every
/// dependant whose payload can still be read.
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
        // Numbers must decrease along the list. This check also stops at a cycle in a damaged list.
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
        // Skip a row if its column is so damaged that the base cannot be read. The payload of such a row cannot be read
        // either.
        let named = row.get_ref(1)?.as_blob().ok().and_then(|column| Chain::named_base(seq, column).ok().flatten());
        if named == Some(base) {
            found.push(seq);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Makes `dependant` the first item in the list of `base`. Must be called before `dependant` is stored. Returns the
/// dependant that was first until now.
pub(super) fn link(connection: &Connection, base: Seq, dependant: Seq) -> Result<Option<Seq>> {
    let Some(chain) = read(connection, base)? else { return Ok(None) };
    let before = chain.first_dependant;
    write(connection, base, &Chain { first_dependant: Some(dependant), ..chain })?;
    Ok(before)
}

/// Removes the payloads in `going` from the list of `base`, in one pass. If the list is damaged, it is rebuilt by
/// searching all rows. If the column of a remaining payload is damaged, the list is left damaged, and [`dependants`]
/// searches all rows.
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

/// Finds the base whose list contains `dependant`, for a dependant whose own column is damaged. Searches all rows for a
/// link to `dependant`.
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
