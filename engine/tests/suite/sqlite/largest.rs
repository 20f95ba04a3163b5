//! Tests the list of the largest lineages. A connection remembers the list that it has found, and follows what was saved
//! since. So after any change, also of another connection, its list must be the list that a new connection finds.

use crate::common::{CONTRACT_ID, apply, draft, noise, part, remove};
use forkpoint_engine::backend::Backend;
use forkpoint_engine::backend::sqlite::{Options, Sqlite};
use forkpoint_engine::query::Query;
use forkpoint_engine::record::{ContractId, Stats};
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
    backend.answer(&Query::Stats { contract, largest }).unwrap().into_stats().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn what_is_remembered_is_what_a_new_connection_finds(
        changes in prop::collection::vec((change(), any::<bool>()), 1..40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(folder.path().join("agent.db"));
        let (mut remembering, mut writing) = (Sqlite::open(&options).unwrap(), Sqlite::open(&options).unwrap());
        let mut saved: Vec<(ContractId, String)> = Vec::new();
        for (at, (change, same_connection)) in changes.into_iter().enumerate() {
            let backend = if same_connection { &mut remembering } else { &mut writing };
            match change {
                Change::Save { run, other_contract, length } => {
                    let contract = if other_contract { ContractId(2) } else { CONTRACT_ID };
                    let parts = vec![part("state", "t", noise(u64::from(run), length))];
                    let made = draft(&format!("run {run}"), &at.to_string()).contract(contract).parts(parts);
                    apply(backend, vec![made.put()]).unwrap();
                    saved.push((contract, at.to_string()));
                }
                Change::Remove(of) if !saved.is_empty() => {
                    let (contract, id) = saved.swap_remove(of.index(saved.len()));
                    let op = forkpoint_engine::op::Op::Remove { contract, id };
                    apply(backend, vec![op]).unwrap();
                }
                Change::Remove(_) => {}
                Change::Sweep => prop_assert!(!backend.sweep().unwrap()),
            }
            let mut new = Sqlite::open(&options).unwrap();
            for contract in [None, Some(CONTRACT_ID), Some(ContractId(2)), Some(ContractId(3))] {
                for most in [2, 5, 0, 2000] {
                    let [known, found] = [&mut remembering, &mut new].map(|backend| stats(backend, contract, most));
                    prop_assert_eq!(known.largest, found.largest, "{} of {:?}", most, contract);
                }
            }
        }
    }
}

#[test]
fn what_reads_every_row_is_said_to_take_long() {
    let folder = tempfile::tempdir().unwrap();
    let mut backend = Sqlite::open(&Options::new(folder.path().join("agent.db"))).unwrap();
    apply(&mut backend, vec![draft("run", "a").put(), remove("b")]).unwrap();
    let asked = |largest| Query::Stats { contract: None, largest };
    assert!(backend.takes_long(&asked(1)) && backend.takes_long(&Query::All(vec![asked(0), asked(1)])));
    assert!(backend.takes_long(&Query::Prunable { contract: None, rules: Vec::new() }));
    assert!(!backend.takes_long(&asked(0)) && !backend.takes_long(&Query::All(vec![asked(0)])));
}
