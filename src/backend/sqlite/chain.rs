//! How a payload is stored, and what is built on it: the column `chain`.
//!
//! The payloads that are deltas against one payload are a list through their rows: the base names the first, and each the next.
//! So what is built on a payload is found without an index. The column always has the same size, because a save of a delta
//! changes it in the row of its base, in place.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::error::from_sqlite;
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::record::Seq;

const SIZE: usize = 56;

/// A payload's place in its chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    /// The payload that this one is a delta against; `None`: it is a keyframe.
    pub base: Option<Seq>,
    /// How many deltas a reader applies.
    pub depth: i64,
    /// How many bytes deltas may still take before the next keyframe.
    pub budget: i64,
    /// The size of the raw payload, in bytes.
    pub size: i64,
    /// The newest payload that is a delta against this one.
    pub first_dependant: Option<Seq>,
    /// The next older payload that is a delta against the same base.
    pub next_sibling: Option<Seq>,
}

impl Chain {
    /// Reads the column of the row with that number. Its checksum is verified.
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

    /// The base that the column names, whether the column matches its checksum or not. It is good enough to read a payload by, and
    /// to look for dependants: a payload has a checksum of its own, so a wrong base never gives a wrong payload.
    pub(super) fn named_base(seq: Seq, column: &[u8]) -> Result<Option<Seq>> {
        let Ok(column) = <&[u8; SIZE]>::try_from(column) else { return Err(damaged(seq)) };
        let base = column.first_chunk().map_or(0, |base| i64::from_le_bytes(*base));
        Ok((base != 0).then_some(base))
    }

    /// A damaged column of a payload that is stored as a keyframe from now on. It stays damaged, because nobody knows what is built on
    /// the payload without looking for it.
    pub(super) fn damaged_keyframe(column: &[u8]) -> [u8; SIZE] {
        let mut keyframe = <[u8; SIZE]>::try_from(column).unwrap_or([0xff; SIZE]);
        keyframe[..8].fill(0);
        keyframe
    }

    /// Writes the column for the row with that number.
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
    let message = format!("row {seq}: how its payload is stored does not match its checksum: restore a backup");
    Error::new(Code::Corrupt, message)
}

/// The column of a row; `None`: there is no such row.
pub(super) fn read(connection: &Connection, seq: Seq) -> Result<Option<Chain>> {
    let column: Option<Vec<u8>> = connection
        .prepare_cached("SELECT chain FROM checkpoint WHERE seq = ?")
        .and_then(|mut statement| statement.query_row([seq], |row| row.get(0)).optional())
        .map_err(from_sqlite)?;
    column.map(|column| Chain::decode(seq, &column)).transpose()
}

fn write(connection: &Connection, seq: Seq, chain: &Chain) -> Result<()> {
    connection
        .prepare_cached("UPDATE checkpoint SET chain = ? WHERE seq = ?")
        .and_then(|mut statement| statement.execute(params![chain.encode(seq), seq]))
        .map(drop)
        .map_err(from_sqlite)
}

/// The payloads that are deltas against that one, the newest first.
///
/// Where the list is damaged, all rows are looked at instead: that is slow, and finds every dependant that can be read at all.
pub(super) fn dependants(connection: &Connection, base: Seq) -> Result<Vec<Seq>> {
    match listed(connection, base) {
        Err(error) if error.code() == Code::Corrupt => searched(connection, base),
        found => Ok(found?.into_iter().map(|(seq, _)| seq).collect()),
    }
}

/// The list of dependants as it stands, each with its chain, or `CORRUPT`.
pub(super) fn listed(connection: &Connection, base: Seq) -> Result<Vec<(Seq, Chain)>> {
    let mut found: Vec<(Seq, Chain)> = Vec::new();
    let mut next = read(connection, base)?.and_then(|chain| chain.first_dependant);
    while let Some(seq) = next {
        let broken = || {
            let message = format!("row {base}: the list of the payloads that are built on it is damaged at row {seq}");
            Error::new(Code::Corrupt, message)
        };
        let chain = read(connection, seq)?.filter(|chain| chain.base == Some(base)).ok_or_else(broken)?;
        // The newest comes first, so the list ends.
        if found.last().is_some_and(|(before, _)| *before <= seq) {
            return Err(broken());
        }
        next = chain.next_sibling;
        found.push((seq, chain));
    }
    Ok(found)
}

fn searched(connection: &Connection, base: Seq) -> Result<Vec<Seq>> {
    let mut statement = connection
        .prepare_cached("SELECT seq, chain FROM checkpoint WHERE seq > ? ORDER BY seq DESC")
        .map_err(from_sqlite)?;
    let mut rows = statement.query([base]).map_err(from_sqlite)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(from_sqlite)? {
        let seq: Seq = row.get(0).map_err(from_sqlite)?;
        let column = row.get_ref(1).map_err(from_sqlite)?;
        // A row whose column is damaged so far that it does not name its base cannot be read with it either.
        let named = column.as_blob().ok().and_then(|column| Chain::named_base(seq, column).ok().flatten());
        if named == Some(base) {
            found.push(seq);
        }
    }
    Ok(found)
}

/// Makes a payload that is about to be stored the first dependant of its base. Returns the one that was the first before.
pub(super) fn link(connection: &Connection, base: Seq, dependant: Seq) -> Result<Option<Seq>> {
    let Some(chain) = read(connection, base)? else { return Ok(None) };
    let before = chain.first_dependant;
    write(connection, base, &Chain { first_dependant: Some(dependant), ..chain })?;
    Ok(before)
}

/// Takes the payloads that are going out of the list of a base that stays, all of them in one pass. A list that is damaged is made
/// anew, unless somebody who stays in it has a damaged column: then it stays as it is, and [`dependants`] knows what to do.
pub(super) fn unlink(connection: &Connection, base: Seq, going: &HashSet<Seq>) -> Result<()> {
    match relist(connection, base, going) {
        Err(error) if error.code() == Code::Corrupt => Ok(()),
        other => other,
    }
}

fn relist(connection: &Connection, base: Seq, going: &HashSet<Seq>) -> Result<()> {
    let Some(own) = read(connection, base)? else { return Ok(()) };
    // Nothing is written before all who stay are known to be whole.
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
    if own.first_dependant != after {
        write(connection, base, &Chain { first_dependant: after, ..own })?;
    }
    Ok(())
}

/// The base in whose list a payload stands, as the others in that list say: its own column is damaged. All rows are looked at.
pub(super) fn listed_under(connection: &Connection, dependant: Seq) -> Result<Option<Seq>> {
    let mut statement = connection.prepare_cached("SELECT seq, chain FROM checkpoint").map_err(from_sqlite)?;
    let mut rows = statement.query([]).map_err(from_sqlite)?;
    while let Some(row) = rows.next().map_err(from_sqlite)? {
        let seq: Seq = row.get(0).map_err(from_sqlite)?;
        let column = row.get_ref(1).map_err(from_sqlite)?;
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
    use proptest::prelude::*;

    use super::*;

    fn chain() -> impl Strategy<Value = Chain> {
        let named = || any::<Option<Seq>>().prop_map(|seq| seq.filter(|seq| *seq != 0));
        let numbers = any::<(i64, i64, i64)>();
        (named(), numbers, named(), named()).prop_map(|(base, (depth, budget, size), first_dependant, next_sibling)| {
            Chain { base, depth, budget, size, first_dependant, next_sibling }
        })
    }

    proptest! {
        #[test]
        fn a_column_comes_back(seq: Seq, chain in chain()) {
            let column = chain.encode(seq);
            prop_assert_eq!(Chain::named_base(seq, &column).unwrap(), chain.base);
            prop_assert_eq!(Chain::decode(seq, &column).unwrap(), chain);
        }

        #[test]
        fn a_damaged_column_is_an_error(seq: Seq, other: Seq, chain in chain(), at in 0..SIZE, bits in 1..=255_u8) {
            let mut column = chain.encode(seq);
            prop_assert!(seq == other || Chain::decode(other, &column).is_err(), "the column of another row");
            column[at] ^= bits;
            prop_assert_eq!(Chain::decode(seq, &column).unwrap_err().code(), Code::Corrupt);
            // It stays damaged, and names no base.
            let keyframe = Chain::damaged_keyframe(&column);
            prop_assert_eq!(Chain::named_base(seq, &keyframe).unwrap(), None);
        }

        #[test]
        fn any_bytes_are_an_error(seq: Seq, column in prop::collection::vec(any::<u8>(), 0..70)) {
            prop_assert_eq!(Chain::decode(seq, &column).unwrap_err().code(), Code::Corrupt);
            prop_assert_eq!(Chain::named_base(seq, &column).is_ok(), column.len() == SIZE);
            prop_assert_eq!(Chain::named_base(seq, &Chain::damaged_keyframe(&column)).unwrap(), None);
        }
    }
}
