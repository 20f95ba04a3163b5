//! Tests the conditions of units, save times that are set again, checkpoints that retention leaves alone, and several
//! queries over one snapshot.

use forkpoint_engine::backend::Backend;
use forkpoint_engine::error::{Code, Error};
use forkpoint_engine::op::{Expect, Must, Op, Unit};
use forkpoint_engine::query::{Answer, Of, Query};
use forkpoint_engine::record::{Order, SortKey};
use forkpoint_engine::retention::{Cursor, Prune, Rule};

use crate::common::{
    CONTRACT_ID, HOSTILE, apply, draft, get, ids, lineage, lineages, log_range, newest, remove, save, texts,
};

/// Applies a unit that saves the checkpoint "new" under a condition. Returns the error's code, or `None` if the
/// condition held.
fn under(backend: &mut dyn Backend, id: &str, must: Must) -> Option<Code> {
    let otherwise = Error::new(Code::Unsupported, "not as expected");
    let expect = vec![Expect::Checkpoint { contract: CONTRACT_ID, id: id.to_owned(), must, otherwise }];
    let done = backend.apply(&[Unit { expect, ops: vec![draft("other run", "new").put()] }]).pop().unwrap();
    assert_eq!(get(backend, "new").is_some(), done.is_ok(), "a refused unit changes nothing");
    apply(backend, vec![remove("new")]).unwrap();
    done.err().map(|error| {
        assert_eq!(error.message(), "not as expected");
        error.code()
    })
}

pub(crate) fn a_unit_is_applied_only_under_its_conditions(backend: &mut dyn Backend) {
    let refused = Some(Code::Unsupported);
    for id in HOSTILE {
        save(backend, [draft("run", id).saved_at(5).sort_key(7.0)]);
        for (must, outcome) in [
            (Must::BeSavedSince(5), None),
            (Must::BeSavedSince(6), refused),
            (Must::NotBeSavedSince(5), refused),
            (Must::NotBeSavedSince(6), None),
            (Must::HaveSortKey(SortKey::from_f64(7.0)), None),
            (Must::HaveSortKey(SortKey::from_f64(8.0)), refused),
            (Must::BelongTo("run".to_owned()), None),
            (Must::BelongTo("another run".to_owned()), refused),
        ] {
            assert_eq!(under(backend, id, must.clone()), outcome, "{id:?} {must:?}");
        }
    }
    for (must, outcome) in [
        (Must::BeSavedSince(i64::MIN), refused),
        (Must::NotBeSavedSince(i64::MIN), None),
        (Must::HaveSortKey(SortKey::default()), refused),
        (Must::BelongTo("another run".to_owned()), None),
    ] {
        assert_eq!(under(backend, "never saved", must.clone()), outcome, "{must:?}");
    }
}

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
        // A repeated save stays at its place, and so do the others when one is removed.
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

pub(crate) fn each_condition_of_a_unit_counts(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a").saved_at(5)]);
    let must = |id: &str, must, code| Expect::Checkpoint {
        contract: CONTRACT_ID,
        id: id.to_owned(),
        must,
        otherwise: Error::new(code, "not as expected"),
    };
    let holds = || must("a", Must::BeSavedSince(5), Code::NotFound);
    let first = || must("a", Must::BeSavedSince(9), Code::NotFound);
    let second = || must("a", Must::BelongTo("x".to_owned()), Code::Conflict);
    for (expect, outcome) in [
        (vec![holds(), holds()], None),
        (vec![holds(), second()], Some(Code::Conflict)),
        (vec![first(), second()], Some(Code::NotFound)),
    ] {
        let unit = Unit { expect, ops: vec![draft("run", "b").put()] };
        assert_eq!(backend.apply(&[unit]).pop().unwrap().err().map(|error| error.code()), outcome);
    }
    // A condition sees the units before its own in the same batch.
    let saved = Unit::from(vec![draft("run", "c").saved_at(1).put()]);
    let after = Unit { expect: vec![must("c", Must::BeSavedSince(1), Code::NotFound)], ops: vec![remove("c")] };
    let again = Unit { expect: vec![must("c", Must::BeSavedSince(1), Code::NotFound)], ops: vec![remove("a")] };
    let done: Vec<_> = backend.apply(&[saved, after, again]).into_iter().map(|done| done.is_ok()).collect();
    assert_eq!(done, [true, true, false]);
    assert!(get(backend, "a").is_some());
}

fn prune(backend: &mut dyn Backend, rule: Rule) -> u64 {
    let planned = Query::Prunable { contract: None, rules: vec![rule] };
    let planned = backend.answer(&planned).unwrap().into_pruned().unwrap().checkpoints;
    let done = backend.prune(&Prune { contract: None, rule, cursor: Cursor::default(), most: 500 }).unwrap();
    assert_eq!(done.checkpoints, planned);
    planned
}

fn touch(id: &str, saved_at: i64) -> Op {
    Op::Touch { contract: CONTRACT_ID, id: id.to_owned(), saved_at }
}

pub(crate) fn a_touched_checkpoint_is_as_young_as_its_touch(backend: &mut dyn Backend) {
    for id in HOSTILE {
        let made = draft("run", id).group("g").label("l").saved_at(5);
        save(backend, [made.clone(), draft("run", "after it").saved_at(50)]);
        apply(backend, vec![touch(id, 40), touch(id, 20), touch("never saved", 90)]).unwrap();
        assert_eq!(get(backend, id), Some(made.saved_at(40).0), "a save time never goes back");
        assert_eq!(prune(backend, Rule::SavedBefore(40)), 0);
        assert_eq!(prune(backend, Rule::SavedBefore(41)), 1);
        assert_eq!((get(backend, id), get(backend, "never saved")), (None, None));
    }
    // The place in the save order stays.
    save(backend, [draft("order", "first"), draft("order", "last")]);
    apply(backend, vec![touch("first", 99)]).unwrap();
    let list = Query::List { contract: CONTRACT_ID, of: Of::Lineage("order".to_owned()), before: None, limit: None };
    let listed = backend.answer(&list).unwrap().into_headers().unwrap();
    assert_eq!(listed.iter().map(|header| &*header.id).collect::<Vec<_>>(), ["last", "first"]);
}

pub(crate) fn no_rule_on_age_or_size_removes_an_exempt_checkpoint(backend: &mut dyn Backend) {
    let large = || vec![crate::common::part("state", "t", crate::common::noise(1, 300_000))];
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

pub(crate) fn several_queries_are_answered_together(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a"), draft("run", "b"), draft("other", "c")]);
    apply(backend, vec![texts("run", "log", &["x", "y"])]).unwrap();
    let count = |lineage: &str| Query::Count { contract: CONTRACT_ID, of: Of::Lineage(lineage.to_owned()) };
    let get = Query::Get { contract: CONTRACT_ID, id: "c".to_owned() };
    let log = Query::Log(log_range("run", "log", None));
    let inner = Query::All(vec![count("other"), count("never begun")]);
    let group = Query::List { contract: CONTRACT_ID, of: Of::Group("g".to_owned()), before: None, limit: None };
    let all = Query::All(vec![count("run"), get.clone(), log.clone(), inner, group.clone(), Query::All(Vec::new())]);
    let [runs, found, page, nested, listed, none] = backend.answer(&all).unwrap().into_all().unwrap();
    assert_eq!(runs.into_count(), Ok(2));
    assert_eq!(found, backend.answer(&get).unwrap());
    assert_eq!(page, backend.answer(&log).unwrap());
    assert_eq!(nested, Answer::All(vec![Answer::Count(1), Answer::Count(0)]));
    assert_eq!(listed, backend.answer(&group).unwrap());
    assert_eq!(none, Answer::All(Vec::new()));
    assert_eq!(Answer::All(Vec::new()).into_all::<1>().unwrap_err().code(), Code::Unavailable);
}

pub(crate) fn a_refused_unit_leaves_the_group_of_a_lineage(backend: &mut dyn Backend) {
    apply(backend, vec![texts("run", "log", &["x"]), draft("run", "a").group("first").put()]).unwrap();
    let from = Op::RemoveFrom { contract: CONTRACT_ID, lineage: "run".to_owned(), sort_key: SortKey::default() };
    let failing = crate::common::fork("never saved", "x", "y");
    let unit = vec![from, draft("run", "b").group("second").put(), failing];
    assert_eq!(apply(backend, unit).unwrap_err().code(), Code::NotFound);
    assert_eq!(lineages(backend, "first", None, 9).len(), 1);
    assert_eq!(lineages(backend, "second", None, 9).len(), 0);
}
