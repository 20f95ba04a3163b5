//! Tests the list of the largest lineages against plain SQL.

use std::path::Path;

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use proptest::prelude::*;

/// One change of the database.
#[derive(Clone, Debug)]
enum Change {
    Save {
        run: u8,
        other_contract: bool,
        length: usize,
    },
    /// Removes one of the checkpoints, if there are any.
    Remove(prop::sample::Index),
    /// Stores the running totals.
    Sweep,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..12_u8, any::<bool>(), prop_oneof![Just(40), 0..900_usize])
            .prop_map(|(run, other_contract, length)| Change::Save { run, other_contract, length }),
        2 => any::<prop::sample::Index>().prop_map(Change::Remove),
        1 => Just(Change::Sweep),
    ]
}

fn stats(backend: &mut Sqlite, contract: Option<ContractId>, largest: usize) -> Stats {
    backend.answer(&Query::Stats { contract, largest, by_status: true }).unwrap().into_stats().unwrap()
}

/// The largest lineages, as plain SQL finds them.
fn expected(path: &Path, contract: Option<ContractId>, most: i64) -> Vec<(ContractId, String, i64, i64)> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT contract, name, count(*), sum(length(body)) FROM checkpoint JOIN lineage USING (lin)
               WHERE ?1 IS NULL OR contract = ?1 GROUP BY lin ORDER BY 4 DESC, contract, name LIMIT ?2";
    let mut statement = connection.prepare(sql).unwrap();
    let read = |row: &rusqlite::Row<'_>| Ok((ContractId(row.get(0)?), row.get(1)?, row.get(2)?, row.get(3)?));
    let found = statement.query_map((contract.map(|contract| contract.0), most), read).unwrap();
    found.map(Result::unwrap).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn the_largest_lineages_are_found_after_any_changes(changes in prop::collection::vec(change(), 1..40)) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(folder.path().join("agent.db"));
        let mut backend = Sqlite::open(&options).unwrap();
        let mut saved: Vec<(ContractId, String)> = Vec::new();
        for (at, change) in changes.into_iter().enumerate() {
            match change {
                Change::Save { run, other_contract, length } => {
                    let contract = if other_contract { ContractId(2) } else { CONTRACT_ID };
                    let parts = vec![part("state", "t", noise(u64::from(run), length))];
                    let made = draft(&format!("run {run}"), &at.to_string()).contract(contract).parts(parts);
                    apply(&mut backend, vec![made.put()]).unwrap();
                    saved.push((contract, at.to_string()));
                }
                Change::Remove(of) if !saved.is_empty() => {
                    let (contract, id) = saved.swap_remove(of.index(saved.len()));
                    let op = Op::Remove { contract, id };
                    apply(&mut backend, vec![op]).unwrap();
                }
                Change::Remove(_) => {}
                Change::Sweep => prop_assert!(!backend.sweep().unwrap()),
            }
        }
        for contract in [None, Some(CONTRACT_ID), Some(ContractId(2)), Some(ContractId(3))] {
            for most in [2, 5, 0, 2000] {
                let found = stats(&mut backend, contract, usize::try_from(most).unwrap());
                if most == 2000 {
                    let logical: u64 = found.largest.iter().map(|line| line.logical_bytes).sum();
                    let sizes = found.sum(|of| contract.is_none_or(|contract| contract == of));
                    prop_assert_eq!(logical, sizes.logical_bytes);
                }
                let largest: Vec<_> = found
                    .largest
                    .into_iter()
                    .map(|line| (line.contract, line.lineage, line.checkpoints.cast_signed(), line.stored_bytes.cast_signed()))
                    .collect();
                prop_assert_eq!(largest, expected(&options.path, contract, most), "{} of {:?}", most, contract);
            }
        }
    }
}

#[test]
fn what_reads_every_row_is_said_to_take_long() {
    let folder = tempfile::tempdir().unwrap();
    let mut backend = Sqlite::open(&Options::new(folder.path().join("agent.db"))).unwrap();
    apply(&mut backend, vec![draft("run", "a").put(), remove("b")]).unwrap();
    let asked = |largest| Query::Stats { contract: None, largest, by_status: true };
    assert!(backend.takes_long(&asked(1)) && backend.takes_long(&Query::All(vec![asked(0), asked(1)])));
    assert!(backend.takes_long(&Query::Prunable { contract: None, rules: Vec::new() }));
    assert!(!backend.takes_long(&asked(0)) && !backend.takes_long(&Query::All(vec![asked(0)])));
}
