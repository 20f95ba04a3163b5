//! Tests the order of saves, and checkpoints that retention leaves alone.

use crate::common::prelude::*;

pub(crate) fn a_save_never_sorts_before_an_earlier_one(backend: &mut dyn Backend) {
    let saved = |backend: &mut dyn Backend, order, lineage: &str, id: &str, number: f64| {
        let Op::Put(mut put) = draft(lineage, id).sort_key(number).put() else { unreachable!("a put") };
        put.order = order;
        apply(backend, vec![Op::Put(put)]).unwrap();
    };
    let own = |backend: &mut dyn Backend, id: &str| {
        SortKey::from_f64(get(backend, id).unwrap().header.sort_key.own_f64().unwrap())
    };
    for (order, run) in [(Order::Save, "saves"), (Order::SaveOfNumber, "numbers")] {
        let id = |at: u32| format!("{run} {at}");
        // The clock steps back, twice, and comes to itself.
        for (at, number) in (0..).zip([10.0, 5.0, 7.0, 4.0, 4.0, 11.0]) {
            saved(backend, order, run, &id(at), number);
            assert_eq!(newest(backend, run, None), Some(id(at)));
            if order == Order::SaveOfNumber {
                assert_eq!(own(backend, &id(at)), SortKey::from_f64(number));
            }
        }
        let newest_first: Vec<String> = (0..6).rev().map(id).collect();
        assert_eq!(ids(backend, lineage(run)), newest_first);
        // A repeated save stays at its position, and so do the others when one is removed.
        saved(backend, order, run, &id(5), 11.0);
        for (at, number) in [(0, 10.0), (2, 7.0), (1, 5.0), (1, 5.0), (4, 4.0)] {
            saved(backend, order, run, &id(at), number);
        }
        assert_eq!(ids(backend, lineage(run)), newest_first);
        apply(backend, vec![remove(&id(5)), remove(&id(1))]).unwrap();
        assert_eq!(newest(backend, run, None), Some(id(4)));
        saved(backend, order, run, "last", 1.0);
        assert_eq!(newest(backend, run, None).as_deref(), Some("last"));
        apply(backend, vec![remove("last")]).unwrap();
    }
    // Where the contract gives the order, an early number is early.
    saved(backend, Order::SortKey, "own", "late", 10.0);
    saved(backend, Order::SortKey, "own", "early", 5.0);
    assert_eq!(ids(backend, lineage("own")), ["late", "early"]);
}

fn prune(backend: &mut dyn Backend, rule: Rule) -> u64 {
    let planned = Query::Prunable { contract: None, rules: vec![rule] };
    let planned = backend.answer(&planned).unwrap().into_pruned().unwrap().checkpoints;
    let done = backend.prune(&batch(rule, 500)).unwrap();
    assert_eq!(done.checkpoints, planned);
    planned
}

pub(crate) fn no_rule_on_age_or_size_removes_an_exempt_checkpoint(backend: &mut dyn Backend) {
    let large = || vec![part("state", "t", noise(1, 300_000))];
    for (id, sort_key) in [("old", 1.0), ("new", 2.0)] {
        let mut exempt = draft("exempt run", id).sort_key(sort_key).parts(large());
        exempt.0.header.exempt = true;
        save(backend, [exempt.clone(), draft("run", id).sort_key(sort_key).parts(large())]);
        assert_eq!(get(backend, id).unwrap().header.lineage, "run", "ids are unique in a contract");
        exempt.0.header.id = format!("exempt {id}");
        save(backend, [exempt.clone()]);
        assert_eq!(get(backend, &exempt.0.header.id), Some(exempt.0));
    }
    assert_eq!(prune(backend, Rule::MaxBytes(1)), 1, "the older one that is not exempt");
    assert_eq!(prune(backend, Rule::SavedBefore(i64::MAX)), 1);
    assert!(get(backend, "exempt old").is_some() && get(backend, "exempt new").is_some());
    assert_eq!(lineages(backend, "", None, 9).len(), 1);
    apply(backend, vec![remove("exempt old"), remove("exempt new")]).unwrap();
    assert!(lineages(backend, "", None, 9).is_empty());
}

pub(crate) fn a_rule_on_age_leaves_what_a_waiting_run_goes_on_from(backend: &mut dyn Backend) {
    let threads = ContractId(4);
    let lineages = [("1:a", "own"), ("1:anode", "namespace"), ("1:b", "other")];
    for (lineage, name) in lineages {
        for at in ["1", "2"] {
            let id = format!("{name} {at}");
            save(backend, [draft(lineage, &id).contract(threads), draft(lineage, &id).contract(threads.effects())]);
        }
    }
    save(backend, [draft("waits by itself", "by itself").status(Status::Waiting)]);
    let left = |backend: &mut dyn Backend| {
        let stats = stats(backend, 0);
        [threads, threads.effects(), CONTRACT_ID].map(|contract| stats.of(contract).checkpoints)
    };
    let task = |state, bytes: &str| Write { state, ..write("task", 0, bytes) };
    let tell = |backend: &mut dyn Backend, id: &str, write: Write| {
        let op = Op::Write { contract: threads, id: id.to_owned(), writes: vec![write], replace: true, encoded: None };
        apply(backend, vec![op]).unwrap();
    };
    assert_eq!(left(backend), [6, 6, 1]);
    tell(backend, "own 2", task(TaskState::ASKS, "?"));
    // A question of a subgraph that its graph has left behind.
    save(backend, [draft("1:bnode", "left behind").contract(threads).status(Status::Waiting)]);
    let old = Rule::SavedBefore(i64::MAX);
    prune(backend, old);
    assert_eq!(left(backend), [2, 4, 1], "the newest of each namespace of the thread, and all effects");
    assert_eq!(prune(backend, old), 0);
    tell(backend, "own 2", task(TaskState::ENDED, "!"));
    prune(backend, old);
    assert_eq!(left(backend), [0, 0, 1], "it is answered");
    assert_eq!(prune(backend, Rule::AllSavedBefore(i64::MAX)), 1);
}

pub(crate) fn a_lineage_never_gets_the_position_of_a_removed_one(backend: &mut dyn Backend) {
    let begin =
        |backend: &mut dyn Backend, run: &str| apply(backend, vec![draft(run, run).put()]).unwrap().lineage.unwrap();
    let mut positions: Vec<i64> = ["a", "b", "c"].map(|run| begin(backend, run)).into();
    // The last one goes first.
    for run in ["c", "b"] {
        apply(backend, vec![remove(run)]).unwrap();
    }
    positions.extend(["c", "b"].map(|run| begin(backend, run)));
    assert!(positions.is_sorted_by(|a, b| a < b), "{positions:?}");
}

pub(crate) fn a_refused_unit_leaves_the_group_of_a_lineage(backend: &mut dyn Backend) {
    apply(backend, vec![texts("run", "log", &["x"]), draft("run", "a").group("first").put()]).unwrap();
    let failing = crate::common::fork("never saved", "x", "y");
    let unit = vec![remove_all_of("run"), draft("run", "b").group("second").put(), failing];
    assert_eq!(apply(backend, unit).unwrap_err().code(), Code::NotFound);
    assert_eq!(lineages(backend, "first", None, 9).len(), 1);
    assert_eq!(lineages(backend, "second", None, 9).len(), 0);
}
