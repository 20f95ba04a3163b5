//! Tests the status of lineages: what it follows from, and how lineages are found by it.

use forkpoint_engine::backend::Backend;
use forkpoint_engine::op::{Op, Unit};
use forkpoint_engine::query::{ActivityOrder, Query, Recent};
use forkpoint_engine::record::{ContractId, Labels, OpenLineages, Sizes, Status, TaskState, Write};

use crate::common::{CONTRACT_ID, Draft, append, apply, draft, lineages, part, record, remove, save};

/// A checkpoint whose run has a status if no task has stopped.
fn at(lineage: &str, id: &str, sort_key: f64, status: Status) -> Draft {
    let mut made = draft(lineage, id).sort_key(sort_key);
    made.0.header.status = status;
    made
}

fn told(id: &str, task: &str, state: TaskState) -> Op {
    let part = part("channel", "t", "value");
    let write = Write { task: task.to_owned(), index: 0, claimed_by: None, state, part };
    Op::Write { contract: CONTRACT_ID, id: id.to_owned(), writes: vec![write], replace: true, encoded: None }
}

fn tell(backend: &mut dyn Backend, id: &str, task: &str, state: TaskState) {
    apply(backend, vec![told(id, task, state)]).unwrap();
}

/// The status of a lineage, which every listing must tell.
fn status(backend: &mut dyn Backend, lineage: &str) -> Status {
    let found: Vec<Status> = lineages(backend, "", None, 100)
        .into_iter()
        .filter(|found| found.newest.lineage == lineage)
        .map(|found| found.status)
        .collect();
    let [status] = found[..] else { panic!("{lineage} has {} rows", found.len()) };
    assert!(with(backend, &[status]).contains(&lineage.to_owned()), "the index has it");
    status
}

/// The lineages with one of these statuses, the one that was active last first.
fn with(backend: &mut dyn Backend, statuses: &[Status]) -> Vec<String> {
    let recent = Recent {
        contracts: vec![CONTRACT_ID],
        named_as_group: false,
        matching: String::new(),
        statuses: statuses.to_vec(),
        labels: Labels::default(),
        order: ActivityOrder::LatestFirst,
        after: None,
        limit: 1_000,
    };
    let found = backend.answer(&Query::Recent(recent)).unwrap().into_recent().unwrap();
    found.into_iter().map(|active| active.newest.lineage).collect()
}

pub(crate) fn a_status_follows_from_the_newest_checkpoint_and_its_tasks(backend: &mut dyn Backend) {
    save(backend, [at("run", "a", 1.0, Status::Unfinished)]);
    assert_eq!(status(backend, "run"), Status::Unfinished);
    tell(backend, "a", "one", TaskState::ENDED);
    assert_eq!(status(backend, "run"), Status::Unfinished);
    tell(backend, "a", "two", TaskState::ASKS);
    assert_eq!(status(backend, "run"), Status::Waiting);
    tell(backend, "a", "three", TaskState::FAILED);
    assert_eq!(status(backend, "run"), Status::Failed);
    // The tasks go on, one after the other.
    tell(backend, "a", "three", TaskState::ENDED);
    assert_eq!(status(backend, "run"), Status::Waiting);
    tell(backend, "a", "two", TaskState::ENDED);
    assert_eq!(status(backend, "run"), Status::Unfinished);
    // The next checkpoint has no writes. One that is not the newest changes nothing.
    tell(backend, "a", "four", TaskState::FAILED);
    let claim = Op::Claim { contract: CONTRACT_ID, id: "a".to_owned(), claimed_by: "b".to_owned() };
    apply(backend, vec![at("run", "b", 2.0, Status::Finished).put(), claim]).unwrap();
    assert_eq!(status(backend, "run"), Status::Finished);
    save(backend, [at("run", "early", 0.0, Status::Waiting)]);
    tell(backend, "early", "one", TaskState::FAILED);
    assert_eq!(status(backend, "run"), Status::Finished);
    // Saved again, it may have another status.
    save(backend, [at("run", "b", 2.0, Status::Unfinished)]);
    assert_eq!(status(backend, "run"), Status::Unfinished);
}

pub(crate) fn an_answer_ends_a_question_until_a_task_asks_again(backend: &mut dyn Backend) {
    save(backend, [at("run", "a", 1.0, Status::Unfinished)]);
    for task in ["one", "two"] {
        tell(backend, "a", task, TaskState::ASKS);
    }
    tell(backend, "a", "nobody", TaskState::ANSWERS);
    assert_eq!(status(backend, "run"), Status::Unfinished);
    tell(backend, "a", "two", TaskState::ASKS);
    assert_eq!(status(backend, "run"), Status::Waiting);
    tell(backend, "a", "nobody", TaskState::ANSWERS);
    assert_eq!(status(backend, "run"), Status::Unfinished);
    // A question and its answer in one unit.
    apply(backend, vec![told("a", "two", TaskState::ASKS), told("a", "nobody", TaskState::ANSWERS)]).unwrap();
    assert_eq!(status(backend, "run"), Status::Unfinished);
    // An answer to one task, and an error that a handler has taken.
    tell(backend, "a", "one", TaskState::ASKS);
    tell(backend, "a", "one", TaskState::HANDLED);
    tell(backend, "a", "three", TaskState::FAILED | TaskState::HANDLED);
    assert_eq!(status(backend, "run"), Status::Unfinished);
    // A failed task needs more than an answer.
    tell(backend, "a", "four", TaskState::FAILED);
    tell(backend, "a", "nobody", TaskState::ANSWERS);
    assert_eq!(status(backend, "run"), Status::Failed);
}

pub(crate) fn a_status_goes_back_with_the_newest_checkpoint(backend: &mut dyn Backend) {
    save(backend, [at("run", "a", 1.0, Status::Unfinished)]);
    tell(backend, "a", "one", TaskState::ASKS);
    save(backend, [at("run", "b", 2.0, Status::Finished)]);
    assert_eq!(status(backend, "run"), Status::Finished);
    apply(backend, vec![remove("b")]).unwrap();
    assert_eq!(status(backend, "run"), Status::Waiting);
    let prefix = "a".to_owned();
    apply(backend, vec![Op::RemoveWrites { contract: CONTRACT_ID, prefix }]).unwrap();
    assert_eq!(status(backend, "run"), Status::Unfinished);
    // The checkpoint moves to another lineage.
    save(backend, [at("run", "b", 2.0, Status::Finished), at("other", "b", 0.0, Status::Failed)]);
    assert_eq!([status(backend, "run"), status(backend, "other")], [Status::Unfinished, Status::Failed]);
    // Claimed writes count again when they are opened.
    tell(backend, "a", "one", TaskState::FAILED);
    apply(backend, vec![Op::Claim { contract: CONTRACT_ID, id: "a".to_owned(), claimed_by: "c".to_owned() }]).unwrap();
    assert_eq!(status(backend, "run"), Status::Unfinished);
    apply(backend, vec![Op::Reopen { contract: CONTRACT_ID, id: "a".to_owned() }]).unwrap();
    assert_eq!(status(backend, "run"), Status::Failed);
}

pub(crate) fn writes_may_come_before_the_checkpoint_whose_status_they_decide(backend: &mut dyn Backend) {
    tell(backend, "a", "one", TaskState::ASKS);
    save(backend, [at("run", "a", 1.0, Status::Unfinished)]);
    assert_eq!(status(backend, "run"), Status::Waiting);
    // In one batch too.
    let units =
        [vec![told("b", "one", TaskState::FAILED)].into(), vec![at("run", "b", 2.0, Status::Finished).put()].into()];
    assert!(backend.apply(&units).iter().all(Result::is_ok));
    assert_eq!(status(backend, "run"), Status::Failed);
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
    let stats =
        backend.answer(&Query::Stats { contract: None, largest: 0, by_status: true }).unwrap().into_stats().unwrap();
    let [unknown, waiting, failed, unfinished, finished] = stats.of(CONTRACT_ID).statuses;
    assert_eq!((unknown, waiting, failed, unfinished, finished), (1, 2, 1, 0, 1_100));
    assert!(!stats.is_estimate);
    let sizes = Query::Stats { contract: None, largest: 0, by_status: false };
    let sizes = backend.answer(&sizes).unwrap().into_stats().unwrap().of(CONTRACT_ID);
    assert_eq!(sizes, Sizes { statuses: [0; 5], ..stats.of(CONTRACT_ID) });
}
