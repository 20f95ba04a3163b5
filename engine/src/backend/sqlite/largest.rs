//! Finds the largest lineages.
//!
//! The first search reads a few columns of every row, which takes a second for a million rows. A connection remembers
//! what it has found, so a later search reads only the rows that were saved since. If anything else has happened to the
//! rows, the running totals do not agree with what is remembered, and the search reads every row again.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, Params};

use super::chain::Chain;
use super::error::from_sqlite;
use super::lineage::{self, LineageRow};
use super::payloads;
use super::totals::{Counts, Totals};
use crate::error::Result;
use crate::record::{ContractId, LineageStats, Seq};

/// The number of lineages that a connection remembers for each contract that was asked for.
const REMEMBERED: usize = 1000;

/// The largest lineages that a connection has found, by the contract that was asked for. `None`: of all contracts.
#[derive(Debug, Default)]
pub(super) struct Largest(RefCell<BTreeMap<Option<ContractId>, Ranking>>);

impl Largest {
    /// Returns the largest lineages, at most `most` of them, the largest first. Lineages of equal size are sorted by
    /// contract and name. `totals` are the current totals.
    pub(super) fn find(
        &self,
        connection: &Connection,
        contract: Option<ContractId>,
        most: usize,
        totals: Totals,
    ) -> Result<Vec<LineageStats>> {
        let mut known = self.0.borrow_mut();
        let followed = match known.remove(&contract) {
            Some(ranking) if ranking.tells(most) => ranking.follow(connection, contract, &totals)?,
            _ => None,
        };
        let mut ranking = match followed {
            Some(ranking) => ranking,
            None => Ranking::read(connection, contract, most.max(REMEMBERED), totals)?,
        };
        let found = ranking.lines.iter().take(most).map(|(_, line)| line.clone()).collect();
        ranking.cut(REMEMBERED);
        known.insert(contract, ranking);
        Ok(found)
    }
}

/// The first lineages, in the order of their size.
#[derive(Debug)]
struct Ranking {
    /// The totals at the time to which the sizes belong.
    totals: Totals,
    /// The checksum of the last payload of that time. Another one has its number if the database went back in time.
    last: Option<u64>,
    /// The lineages with their numbers, the largest first.
    lines: Vec<(i64, LineageStats)>,
    /// True if there are lineages that are not listed. All of them are smaller than the last of `lines`, or equally
    /// large and behind it in the order of the names.
    more: bool,
}

impl Ranking {
    /// Reads every row. Lists at most `most` lineages.
    fn read(connection: &Connection, contract: Option<ContractId>, most: usize, totals: Totals) -> Result<Self> {
        let sql = "SELECT lin, seq, chain, length(body) FROM checkpoint NOT INDEXED";
        let mut sums: Vec<(i64, Sums)> = sums(connection, sql, [])?.into_iter().collect();
        sums.sort_unstable_by_key(|(lin, sums)| (Reverse(sums.stored_bytes), *lin));
        let last = payloads::sum(connection, totals.seq)?;
        let mut ranking = Self { totals, last, lines: Vec::new(), more: false };
        for (lin, sums) in sums {
            // The order of lineages of equal size depends on their names. So all lineages that are as large as the last
            // one of the list must be read.
            let last = ranking.lines.get(most.saturating_sub(1));
            if last.is_some_and(|(_, last)| last.stored_bytes > sums.stored_bytes) {
                ranking.more = true;
                break;
            }
            if let Some(row) = named(connection, contract, lin)? {
                ranking.insert(lin, sums.of(row));
                ranking.cut(most);
            }
        }
        Ok(ranking)
    }

    /// Returns true if the list has the first `most` lineages.
    fn tells(&self, most: usize) -> bool {
        !self.more || most <= self.lines.len()
    }

    /// Adds the rows that were saved since. Returns `None` if rows were removed or rewritten, or if the database went back.
    fn follow(
        mut self,
        connection: &Connection,
        contract: Option<ContractId>,
        totals: &Totals,
    ) -> Result<Option<Self>> {
        if payloads::sum(connection, self.totals.seq)? != self.last {
            return Ok(None);
        }
        let sql = "SELECT lin, seq, chain, length(body) FROM checkpoint WHERE seq > ?";
        let added = sums(connection, sql, [self.totals.seq])?;
        let mut named_rows = Vec::with_capacity(added.len());
        let mut expected = self.totals.clone();
        for (lin, sums) in added {
            let Some(row) = named(connection, None, lin)? else { return Ok(None) };
            sums.add_to(expected.contracts.entry(row.contract.0).or_default());
            if contract.is_none_or(|contract| contract == row.contract) {
                named_rows.push((lin, sums, row));
            }
        }
        if !same_sizes(&expected, totals) {
            return Ok(None);
        }
        let last = self.lines.last().map(|(_, last)| key(last));
        let last = last.map(|(size, contract, name)| (size, contract, name.to_owned()));
        for (lin, sums, row) in named_rows {
            let line = match self.lines.iter().position(|(listed, _)| *listed == lin) {
                Some(at) => {
                    let (_, mut line) = self.lines.remove(at);
                    sums.grow(&mut line);
                    line
                }
                None => whole(connection, lin)?.of(row),
            };
            // What is behind the last one stays with those that are not listed.
            let behind = |(size, contract, name): &(_, _, String)| key(&line) > (*size, *contract, name.as_str());
            if !(self.more && last.as_ref().is_some_and(behind)) {
                self.insert(lin, line);
            }
        }
        self.totals = totals.clone();
        self.last = payloads::sum(connection, totals.seq)?;
        Ok(Some(self))
    }

    fn insert(&mut self, lin: i64, line: LineageStats) {
        let at = self.lines.partition_point(|(_, other)| key(other) < key(&line));
        self.lines.insert(at, (lin, line));
    }

    /// Lists at most `most` lineages.
    fn cut(&mut self, most: usize) {
        self.more |= self.lines.len() > most;
        self.lines.truncate(most);
    }
}

/// The order of the lineages.
fn key(line: &LineageStats) -> (Reverse<u64>, ContractId, &str) {
    (Reverse(line.stored_bytes), line.contract, &line.lineage)
}

/// Returns true if both totals count the same checkpoints. A removal lowers the number of checkpoints, and a rewrite
/// without a removal changes their size.
fn same_sizes(one: &Totals, other: &Totals) -> bool {
    let sizes = |totals: &Totals| -> BTreeMap<u8, [i64; 3]> {
        let of = |counts: &Counts| [counts.checkpoints, counts.logical_bytes, counts.stored_bytes];
        let all = totals.contracts.iter().map(|(contract, counts)| (*contract, of(counts)));
        all.filter(|(_, sizes)| *sizes != [0; 3]).collect()
    };
    sizes(one) == sizes(other)
}

/// Returns the row of a lineage, if the lineage exists and belongs to the contract.
fn named(connection: &Connection, contract: Option<ContractId>, lin: i64) -> Result<Option<LineageRow>> {
    Ok(lineage::read(connection, lin)?.filter(|row| contract.is_none_or(|contract| row.contract == contract)))
}

/// The size of a lineage.
#[derive(Default)]
struct Sums {
    checkpoints: u64,
    logical_bytes: u64,
    stored_bytes: u64,
}

impl Sums {
    fn of(self, LineageRow { contract, name: lineage, .. }: LineageRow) -> LineageStats {
        let Self { checkpoints, logical_bytes, stored_bytes } = self;
        LineageStats { contract, lineage, checkpoints, logical_bytes, stored_bytes }
    }

    fn grow(&self, line: &mut LineageStats) {
        line.checkpoints += self.checkpoints;
        line.logical_bytes += self.logical_bytes;
        line.stored_bytes += self.stored_bytes;
    }

    fn add_to(&self, counts: &mut Counts) {
        counts.checkpoints += self.checkpoints.cast_signed();
        counts.logical_bytes += self.logical_bytes.cast_signed();
        counts.stored_bytes += self.stored_bytes.cast_signed();
    }
}

/// Returns the size of a lineage, from all of its rows.
fn whole(connection: &Connection, lin: i64) -> Result<Sums> {
    let sql = "SELECT lin, seq, chain, length(body) FROM checkpoint INDEXED BY checkpoint_lineage WHERE lin = ?";
    Ok(sums(connection, sql, [lin])?.remove(&lin).unwrap_or_default())
}

/// Returns the sums of each lineage, by lineage number, over the rows that a statement selects. Without a condition, the
/// rows are read in the order of the table, which is fast because the rows have the same order in the file.
fn sums(connection: &Connection, sql: &str, params: impl Params) -> Result<HashMap<i64, Sums>> {
    let mut statement = connection.prepare_cached(sql).map_err(from_sqlite)?;
    let mut rows = statement.query(params).map_err(from_sqlite)?;
    let mut all: HashMap<i64, Sums> = HashMap::new();
    while let Some(row) = rows.next().map_err(from_sqlite)? {
        let read = || Ok((row.get(0)?, row.get(1)?, row.get_ref(2)?.as_blob()?, row.get(3)?));
        let (lin, seq, chain, stored): (i64, Seq, &[u8], i64) = read().map_err(from_sqlite)?;
        let sums = all.entry(lin).or_default();
        sums.checkpoints += 1;
        // A damaged row counts as size 0, in the same way as in the running totals.
        sums.logical_bytes += Chain::decode(seq, chain).map_or(0, |chain| unsigned(chain.size));
        sums.stored_bytes += unsigned(stored);
    }
    Ok(all)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::{Options, Sqlite};
    use super::*;
    use crate::backend::Backend;
    use crate::op::Op;
    use crate::record::{Checkpoint, Header, Part, Payload, SortKey};

    const ONE: ContractId = ContractId(1);
    const OTHER: ContractId = ContractId(2);

    fn save(backend: &mut Sqlite, contract: ContractId, lineage: &str, id: &str, length: usize) {
        let header = Header {
            contract,
            lineage: lineage.to_owned(),
            id: id.to_owned(),
            parent: None,
            group: String::new(),
            label: String::new(),
            sort_key: SortKey::default(),
            saved_at: 0,
            age_offset: 0,
            depends_on_parent: false,
            exempt: false,
            meta: Vec::new(),
        };
        let part = Part { name: String::new(), tag: String::new(), bytes: vec![7; length].into() };
        let whole = Checkpoint { header, payload: Payload { parts: vec![part] }, logs: Vec::new() };
        backend.apply(&[vec![Op::Put(Box::new(whole.into()))].into()]).remove(0).unwrap();
    }

    fn remove(backend: &mut Sqlite, contract: ContractId, id: &str) {
        let op = Op::Remove { contract, id: id.to_owned() };
        backend.apply(&[vec![op].into()]).remove(0).unwrap();
    }

    fn names(ranking: &Ranking) -> Vec<(&str, u64)> {
        ranking.lines.iter().map(|(_, line)| (&*line.lineage, line.checkpoints)).collect()
    }

    #[test]
    fn what_was_saved_since_is_added_and_a_removal_needs_every_row() {
        let folder = tempfile::tempdir().unwrap();
        let mut backend = Sqlite::open(&Options::new(folder.path().join("a.db"))).unwrap();
        for run in ["b", "c", "a", "d"] {
            save(&mut backend, ONE, run, run, 50);
        }
        let now = |backend: &Sqlite| Totals::now(&backend.connection).unwrap();
        let read = |backend: &Sqlite| Ranking::read(&backend.connection, Some(ONE), 2, now(backend)).unwrap();
        let follow =
            |ranking: Ranking, backend: &Sqlite| ranking.follow(&backend.connection, Some(ONE), &now(backend)).unwrap();
        let ranking = read(&backend);
        assert_eq!((names(&ranking), ranking.more), (vec![("a", 1), ("b", 1)], true), "equal ones by their name");
        assert!(ranking.tells(2) && !ranking.tells(3));

        save(&mut backend, OTHER, "x", "x", 5000);
        save(&mut backend, ONE, "z", "z", 50);
        save(&mut backend, ONE, "d", "d2", 50);
        let ranking = follow(ranking, &backend).unwrap();
        assert_eq!(names(&ranking), [("d", 2), ("a", 1), ("b", 1)], "d was not listed, and z stays behind b");
        save(&mut backend, ONE, "b", "b2", 50);
        save(&mut backend, ONE, "b", "b3", 50);
        let ranking = follow(ranking, &backend).unwrap();
        assert_eq!(names(&ranking), [("b", 3), ("d", 2), ("a", 1)]);

        remove(&mut backend, ONE, "d2");
        save(&mut backend, ONE, "e", "e", 50);
        assert!(follow(ranking, &backend).is_none(), "as many checkpoints, but others");
        assert_eq!(names(&read(&backend)), [("b", 3), ("a", 1)]);

        let ranking = read(&backend);
        save(&mut backend, ONE, "f", "f", 50);
        remove(&mut backend, ONE, "f");
        assert!(follow(ranking, &backend).is_some(), "it was neither counted nor is it there");
        let ranking = read(&backend);
        backend
            .connection
            .execute("UPDATE checkpoint SET body = CAST(body || x'00' AS BLOB) WHERE id = 'a'", [])
            .unwrap();
        let mut totals = now(&backend);
        totals.rewritten(ONE, 1, 1);
        assert!(ranking.follow(&backend.connection, Some(ONE), &totals).unwrap().is_none(), "a row was rewritten");
    }
}
