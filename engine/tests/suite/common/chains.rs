//! How payloads are stored, as the rows say it. The connection does not use the engine.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

/// The payload of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) id: String,
    pub(crate) base: Option<i64>,
    /// The column `chain`: see [`chain_of`].
    pub(crate) chain: [i64; 7],
    pub(crate) body: Vec<u8>,
}

/// Reads the column `chain` of a row: base, depth, budget, size, first dependant, next sibling, and the checksum. 0 is no row.
pub(crate) fn chain_of(seq: i64, column: &[u8]) -> [i64; 7] {
    let number = |at: usize, bytes: usize| {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(&column[at..at + bytes]);
        i64::from_le_bytes(number)
    };
    if column.len() == 56 {
        return std::array::from_fn(|at| number(8 * at, 8));
    }
    assert_eq!(column.len(), 30, "row {seq}");
    let older = |away: i64| if away == 0 { 0 } else { seq - away };
    let newer = |away: i64| if away == 0 { 0 } else { seq + away };
    let [base, first, next] = [older(number(0, 4)), newer(number(14, 4)), older(number(18, 4))];
    [base, number(4, 2), number(6, 4), number(10, 4), first, next, number(22, 8)]
}

/// Reads all payloads, by their save numbers. Each base must list all of its dependants, the newest first, and nothing else.
pub(crate) fn stored(path: &Path) -> BTreeMap<i64, Stored> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT seq, id, chain, body FROM checkpoint").unwrap();
    let read = |row: &rusqlite::Row<'_>| {
        let seq = row.get(0)?;
        let chain = chain_of(seq, &row.get::<_, Vec<u8>>(2)?);
        let base = Some(chain[0]).filter(|base| *base != 0);
        Ok((seq, Stored { id: row.get(1)?, base, chain, body: row.get(3)? }))
    };
    let rows: BTreeMap<i64, Stored> = statement.query_map([], read).unwrap().map(Result::unwrap).collect();
    for (base, row) in &rows {
        let next = |seq: &i64| rows.get(seq).map(|row| row.chain[5]);
        let listed: Vec<i64> = std::iter::successors(Some(row.chain[4]), next).take_while(|seq| *seq != 0).collect();
        let built: Vec<i64> =
            rows.iter().rev().filter(|(_, row)| row.base == Some(*base)).map(|(seq, _)| *seq).collect();
        assert_eq!(listed, built, "what is built on row {base} is in its list, the newest first");
    }
    rows
}
