//! Copies stores with random content. The copy must answer as the model of the source, and go on as the source would.

use std::path::Path;
use std::sync::{Arc, Mutex};

use forkpoint_engine::copy::{Copy, CopyOptions};
use forkpoint_engine::store::Options;

use super::*;

/// Several connections to one backend in memory.
#[derive(Clone)]
struct Shared(Arc<Mutex<Memory>>);

impl Backend for Shared {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        self.0.lock().unwrap().apply(batch)
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        self.0.lock().unwrap().answer(query)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.0.lock().unwrap().prune(prune)
    }

    fn vacuum(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The location of data. Backends and stores can open it.
#[derive(Clone)]
enum Location {
    Memory(Shared),
    Sqlite(std::path::PathBuf),
    Jsonl(std::path::PathBuf),
}

impl Location {
    fn memory() -> Self {
        Self::Memory(Shared(Arc::default()))
    }

    fn in_folder(kind: u8, folder: &Path, name: &str) -> Self {
        match kind {
            0 => Self::memory(),
            1 => Self::Sqlite(folder.join(format!("{name}.db"))),
            _ => Self::Jsonl(folder.join(name)),
        }
    }

    fn backend(&self) -> Box<dyn Backend> {
        match self {
            Self::Memory(shared) => Box::new(shared.clone()),
            Self::Sqlite(path) => Box::new(sqlite(path, Journal::Wal, Durability::Off).unwrap()),
            Self::Jsonl(path) => {
                let options = jsonl::Options { durability: Durability::Off, ..jsonl::Options::new(path) };
                Box::new(Jsonl::open(&options).unwrap())
            }
        }
    }

    fn store(&self) -> Arc<Store> {
        let options = Options { durability: Durability::Off, ..Options::default() };
        let store = match self {
            Self::Memory(shared) => {
                let shared = shared.clone();
                let open = move || Ok(Box::new(shared.clone()) as Box<dyn Backend>);
                Store::with_backend(open, None, options)
            }
            Self::Sqlite(path) => Store::open(&Target::Sqlite(path.clone()), options),
            Self::Jsonl(path) => Store::open(&Target::Jsonl(path.clone()), options),
        };
        Arc::new(store.unwrap())
    }
}

/// Applies the changes to a backend and to a model.
fn fill(backend: &mut dyn Backend, steps: Vec<Step>) -> Model {
    let (mut model, mut lineages) = (Model::default(), Lineages::default());
    for step in steps {
        match step {
            Step::Apply(batch) => {
                lineages.apply(batch, &mut model, backend).unwrap();
            }
            Step::Prune { contract, rule, .. } => {
                common::prune(backend, Prune { contract, ..common::batch(rule, 100) });
                model.prune(contract, rule);
            }
            _ => {}
        }
    }
    model
}

/// Copies a store. After each step that `cuts` says, another copy goes on, as if the first one was killed.
fn copy(from: &Arc<Store>, to: &Arc<Store>, page_bytes: usize, cuts: &[bool]) {
    let options = CopyOptions { left_out: &[], effects: &[], lineages: None, page_bytes };
    let begin = || Copy::new(Arc::clone(from), Arc::clone(to), options.clone()).unwrap();
    let (mut copy, mut cuts) = (begin(), cuts.iter().cycle());
    let mut steps = 0;
    while !copy.step().unwrap().done {
        if *cuts.next().unwrap() && steps < 200 {
            copy = begin();
        }
        steps += 1;
        assert!(steps < 10_000, "a copy ends");
    }
}

fn check_copy(
    (from, to): (Location, Location),
    (first, then): (Vec<Step>, Vec<Step>),
    page_bytes: usize,
    cuts: &[bool],
) -> Result<(), TestCaseError> {
    let model = fill(&mut *from.backend(), first);
    let stores = (from.store(), to.store());
    copy(&stores.0, &stores.1, page_bytes, cuts);
    // The end of a copy leaves nothing that a second one could not compare.
    copy(&stores.0, &stores.1, 1 << 20, &[false]);
    stores.0.shutdown();
    stores.1.shutdown();
    drop(stores);
    let mut asks: Vec<Step> = Vec::new();
    for contract in [ContractId(1), ContractId(2), ContractId(4)] {
        asks.push(Step::Ask(Query::List { contract, of: Of::Contract, before: None, limit: None }));
        asks.push(Step::Ask(Query::Lineages { contract, group_prefix: String::new(), before: None, limit: 100 }));
        for order in [ActivityOrder::LatestFirst, ActivityOrder::EarliestFirst] {
            let recent = Recent { contracts: vec![contract], order, limit: 100, ..common::recent() };
            asks.push(Step::Ask(Query::Recent(recent)));
        }
    }
    asks.extend(everything().into_iter().map(Step::Ask));
    asks.extend(then);
    let reopened = !matches!(to, Location::Memory(_));
    let mut opened = Some(to.backend());
    check_from(model, Records::Any, &asks, || opened.take().or_else(|| reopened.then(|| to.backend())))
}

fn cuts() -> impl Strategy<Value = Vec<bool>> {
    prop_oneof![Just(vec![false]), Just(vec![true]), prop::collection::vec(any::<bool>(), 1..20)]
}

fn page_bytes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1_usize), 1..4000_usize, Just(1_usize << 20)]
}

fn changes() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..80)
}

proptest! {
    #![proptest_config(config(300))]
    #[test]
    fn a_copy_in_memory_answers_as_the_model(
        first in changes(), then in prop::collection::vec(step(), 0..20), page_bytes in page_bytes(), cuts in cuts()
    ) {
        check_copy((Location::memory(), Location::memory()), (first, then), page_bytes, &cuts)?;
    }
}

proptest! {
    #![proptest_config(config(80))]
    #[test]
    fn a_copy_between_any_two_backends_answers_as_the_model(
        kinds in (0..3_u8, 0..3_u8),
        first in changes(), then in prop::collection::vec(step(), 0..20), page_bytes in page_bytes(), cuts in cuts()
    ) {
        let folder = tempfile::tempdir().unwrap();
        let locations =
            (Location::in_folder(kinds.0, folder.path(), "from"), Location::in_folder(kinds.1, folder.path(), "to"));
        check_copy(locations, (first, then), page_bytes, &cuts)?;
    }
}
