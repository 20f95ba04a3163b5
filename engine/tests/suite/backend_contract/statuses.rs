//! Tests how lineages are found and counted by their status. What a status follows from is in the model.

use crate::common::prelude::*;

/// A checkpoint that gives its run a status.
fn at(lineage: &str, id: &str, sort_key: f64, status: Status) -> Draft {
    draft(lineage, id).sort_key(sort_key).status(status)
}

/// The lineages with one of these statuses, the one that was active last first.
fn with(backend: &mut dyn Backend, statuses: &[Status]) -> Vec<String> {
    let recent = Recent { statuses: statuses.to_vec(), limit: 1_000, ..recent() };
    let found = backend.answer(&Query::Recent(recent)).unwrap().into_recent().unwrap();
    found.into_iter().map(|active| active.newest.lineage).collect()
}

pub(crate) fn open_lineages_are_counted_and_spread(backend: &mut dyn Backend) {
    let ask = |backend: &mut dyn Backend, contract, most| {
        backend.answer(&Query::Open { contract, most }).unwrap().into_open().unwrap()
    };
    assert_eq!(ask(backend, CONTRACT_ID, 10), OpenLineages::default());
    // Every third one is finished.
    let statuses = [Status::Waiting, Status::Unfinished, Status::Finished];
    let run = |n: usize| format!("run {n:04}");
    let made = |n: usize| at(&run(n), &format!("{n} a"), 1.0, statuses[n % 3]);
    let units: Vec<Unit> = (0..1_500).map(|n| vec![made(n).put()].into()).collect();
    assert!(backend.apply(&units).iter().all(Result::is_ok));
    // A lineage that has only a log is not open.
    apply(backend, vec![append("only a log", "log", vec![record("text")])]).unwrap();
    save(backend, [at(&run(1), "1 b", 2.0, Status::Failed)]);
    let all = ask(backend, CONTRACT_ID, 2_000);
    assert_eq!((all.count, all.is_estimate), (1_000, false));
    let found: Vec<_> = all.some.iter().map(|open| (open.newest.lineage.clone(), open.status)).collect();
    let mut expected: Vec<_> = (0..1_500).filter(|n| n % 3 != 2).map(|n| (run(n), statuses[n % 3])).collect();
    expected[1].1 = Status::Failed;
    assert_eq!(found, expected);
    assert_eq!(all.some[1].newest.id, "1 b");
    let some = ask(backend, CONTRACT_ID, 100);
    assert!((99..=100).contains(&some.some.len()) && !some.is_estimate, "{}", some.some.len());
    assert!(some.count.abs_diff(1_000) <= 1, "{}", some.count);
    let at: Vec<usize> = some.some.iter().map(|open| open.newest.lineage[4..].parse().unwrap()).collect();
    assert!(at.windows(2).all(|pair| (14..18).contains(&(pair[1] - pair[0]))), "{at:?}");
    assert_eq!(ask(backend, CONTRACT_ID, 0).some, []);
    assert_eq!(ask(backend, ContractId(99), 10), OpenLineages::default());
}

pub(crate) fn lineages_are_found_and_counted_by_their_status(backend: &mut dyn Backend) {
    // More lineages than a walk visits, the open ones first.
    let open = [("w1", Status::Waiting), ("f1", Status::Failed), ("w2", Status::Waiting), ("u1", Status::Unknown)];
    save(backend, open.map(|(run, status)| at(run, run, 1.0, status)));
    let many = (0..1_100).map(|n| at(&format!("done {n}"), &format!("done {n}"), 1.0, Status::Finished));
    let units: Vec<Unit> = many.map(|made| vec![made.put()].into()).collect();
    assert!(backend.apply(&units).iter().all(Result::is_ok));
    assert_eq!(with(backend, &[Status::Waiting]), ["w2", "w1"]);
    assert_eq!(with(backend, &[Status::Failed, Status::Unknown, Status::Waiting]), ["u1", "w2", "f1", "w1"]);
    assert_eq!(with(backend, &[Status::Unfinished]), [""; 0]);
    assert_eq!(with(backend, &[Status::Finished]).len(), 1_000);
    assert_eq!(with(backend, &[]).len(), 1_000);
    // The index follows later saves.
    save(backend, [at("w1", "w1 later", 2.0, Status::Finished), at("done 3", "done 3 later", 2.0, Status::Waiting)]);
    assert_eq!(with(backend, &[Status::Waiting]), ["done 3", "w2"]);
    let stats = stats(backend, 0);
    let [unknown, waiting, failed, unfinished, finished] = stats.of(CONTRACT_ID).statuses;
    assert_eq!((unknown, waiting, failed, unfinished, finished), (1, 2, 1, 0, 1_100));
    assert!(!stats.is_estimate);
    let sizes = Query::Stats { contract: None, largest: 0, by_status: false };
    let sizes = backend.answer(&sizes).unwrap().into_stats().unwrap().of(CONTRACT_ID);
    assert_eq!(sizes, Sizes { statuses: [0; 5], ..stats.of(CONTRACT_ID) });
}
