//! Tests the contract of `Backend` on every implementation: the promises of `src/backend/interface.rs` and of the types that
//! it uses (`op`, `query`, `record`). One function tests one behaviour. What small stores answer is compared with the model
//! (`model.rs`). Here is what the model does not have: hostile names, sizes, many lineages, pages by save numbers, bytes.

mod labels;
mod logs;
mod order;
mod pages;
mod rows;
mod statuses;
mod units;

use std::sync::Arc;

use crate::common::prelude::*;
#[cfg(all(feature = "postgres", unix))]
use forkpoint_engine::backend::postgres::Postgres;
use forkpoint_engine::retention::LEASES;
use tempfile::TempDir;

use self::labels::*;
use self::logs::*;
use self::order::*;
use self::pages::*;
use self::rows::*;
use self::statuses::*;
use self::units::*;

/// A database of one kind of backend. If the kind allows it, several backends can open the same database.
struct Subject {
    open: Box<dyn Fn() -> Box<dyn Backend>>,
    _folder: Option<TempDir>,
}

fn memory() -> Subject {
    Subject { open: Box::new(|| Box::new(Memory::new())), _folder: None }
}

fn file(journal: Journal, durability: Durability) -> Subject {
    let (folder, path) = temporary("contract.db");
    Subject { open: Box::new(move || Box::new(sqlite(&path, journal, durability).unwrap())), _folder: Some(folder) }
}

fn text_files(durability: Durability) -> Subject {
    let folder = tempfile::tempdir().unwrap();
    let options = jsonl::Options { durability, ..jsonl::Options::new(folder.path().join("contract")) };
    Subject { open: Box::new(move || Box::new(Jsonl::open(&options).unwrap())), _folder: Some(folder) }
}

#[cfg(all(feature = "postgres", unix))]
fn server() -> Option<Subject> {
    let (url, options) = common::postgres::server()?.options();
    Some(Subject { open: Box::new(move || Box::new(Postgres::open(&url, &options).unwrap())), _folder: None })
}

/// Makes one test for each kind of backend and each behaviour.
macro_rules! suite {
    ($($kind:ident: $subject:expr;)+) => {$(
        mod $kind {
            use super::*;
            each! {
                |behaviour: fn(&mut dyn Backend)| {
                    let Some(subject) = $subject else { return };
                    behaviour(&mut *(subject.open)());
                }:
                a_payload_comes_back_exactly,
                large_parts_come_back,
                a_growing_run_comes_back,
                hostile_names_are_data_in_every_field,
                a_refusal_names_what_it_is_about,
                names_of_four_kilobytes,
                ranks_order_as_numbers,
                open_lineages_are_counted_and_spread,
                lineages_are_found_and_counted_by_their_status,
                a_run_has_at_most_32_labels,
                lineages_are_found_by_their_labels,
                pages_by_activity_stay_apart_while_lineages_are_active,
                one_lineage_with_most_of_the_checkpoints_hides_no_other,
                a_page_goes_on_although_its_last_checkpoint_was_removed,
                a_page_ends_with_the_payload_that_fills_it,
                a_filter_leaves_out_what_has_other_metadata,
                a_test_leaves_out_what_its_contract_does_not_want,
                a_page_of_many_lineages_is_in_one_order,
                checkpoints_with_one_sort_key_are_in_the_order_of_their_saves,
                an_index_of_the_metadata_leaves_out_only_what_has_another_value,
                sizes_are_those_of_the_statistics,
                records_are_part_of_the_size_of_a_lineage,
                a_feed_tells_what_is_saved,
                a_prefix_is_literal,
                the_clock_is_that_of_the_machine_or_of_the_server,
                no_limit_on_a_number_applies_to_records,
                nothing_to_do_is_fine,
                whole_checkpoints_by_a_prefix_of_the_rank,
                pruning_by_bytes_takes_the_first_saved,
                what_would_be_removed_is_what_is_removed,
                statistics_add_up,
                vacuum_changes_nothing_that_can_be_asked,
                a_prefix_of_lineages_is_literal,
                lineages_of_a_group_are_found_among_many,
                a_unit_that_fails_leaves_nothing_behind,
                records_come_back_in_their_order,
                names_of_logs_and_keys_are_data,
                a_log_of_100_000_records,
                a_log_of_many_branches,
                a_save_never_sorts_before_an_earlier_one,
                no_rule_on_age_or_size_removes_an_exempt_checkpoint,
                a_rule_on_age_leaves_what_a_waiting_run_goes_on_from,
                a_lineage_never_gets_the_position_of_a_removed_one,
                a_refused_unit_leaves_the_group_of_a_lineage,
                the_runs_of_a_log_say_what_it_shares,
            }
        }
    )+};
}

macro_rules! each {
    (|$behaviour:ident: $type:ty| $run:block: $($name:ident,)+) => {$(
        #[test]
        fn $name() {
            let $behaviour: $type = super::$name;
            $run
        }
    )+};
}

suite! {
    memory: Some(memory());
    wal: Some(file(Journal::Wal, Durability::Full));
    wal_normal: Some(file(Journal::Wal, Durability::Normal));
    wal_off: Some(file(Journal::Wal, Durability::Off));
    rollback: Some(file(Journal::Rollback, Durability::Full));
    rollback_normal: Some(file(Journal::Rollback, Durability::Normal));
    rollback_off: Some(file(Journal::Rollback, Durability::Off));
    jsonl_full: Some(text_files(Durability::Full));
    jsonl_normal: Some(text_files(Durability::Normal));
    jsonl_off: Some(text_files(Durability::Off));
}

#[cfg(all(feature = "postgres", unix))]
suite! {
    postgres: server();
}

/// Makes the tests of several backends on one database.
macro_rules! shared_suite {
    ($($kind:ident: $subject:expr;)+) => {$(
        mod $kind {
            use super::*;
            each! {
                |behaviour: fn(&Subject)| {
                    let Some(subject) = $subject else { return };
                    behaviour(&subject);
                }:
                a_condition_sees_what_another_backend_has_done,
                a_leased_run_takes_no_other_writes,
                the_bytes_of_a_unit_are_free_when_it_is_answered,
            }
        }
    )+};
}

shared_suite! {
    shared_wal: Some(file(Journal::Wal, Durability::Full));
    shared_rollback: Some(file(Journal::Rollback, Durability::Full));
    shared_jsonl: Some(text_files(Durability::Full));
    shared_jsonl_normal: Some(text_files(Durability::Normal));
    shared_jsonl_off: Some(text_files(Durability::Off));
}

#[cfg(all(feature = "postgres", unix))]
shared_suite! {
    shared_postgres: server();
}

/// The owner of the bytes may free them as soon as the unit is answered, whatever the backend is asked later.
fn the_bytes_of_a_unit_are_free_when_it_is_answered(subject: &Subject) {
    let mut backend = (subject.open)();
    let users = Arc::new(());
    for length in [10, 5_000, 3 << 20] {
        let of = |name: &str| Part { bytes: lent(noise(1, length), &users).into(), ..part(name, "t", "") };
        let id = length.to_string();
        let [put, written, append_to] = ["put", "write", "append"].map(of);
        let record = Record { key: None, tag: "t".to_owned(), bytes: append_to.bytes.into_joined() };
        let wait = |index| vec![Write { part: written.clone(), ..write("task", index, "") }];
        let unit = vec![
            draft("run", &id).parts(vec![put.clone()]).put(),
            write_to(&id, false, wait(0)),
            append("run", "log", vec![record]),
        ];
        apply(&mut *backend, unit).unwrap();
        let other = draft("run", &format!("{id} again")).parent(&id).parts(vec![put, written.clone()]).put();
        apply(&mut *backend, vec![other, write_to(&id, false, wait(1))]).unwrap();
        drop(written);
        assert_eq!(Arc::strong_count(&users), 1, "{length}");
        // What was written before is there with what is written now.
        apply(&mut *backend, vec![write_to(&id, false, vec![write("task", 2, "small")])]).unwrap();
        backend.vacuum().unwrap();
        for backend in [&mut backend, &mut (subject.open)()] {
            let found = tuple(&mut **backend, &id).unwrap();
            let writes: Vec<_> = found.writes.iter().map(|write| write.part.bytes.len()).collect();
            assert_eq!((found.checkpoint.payload.parts[0].bytes.len(), writes), (length, vec![length, length, 5]));
        }
    }
}

fn a_payload_comes_back_exactly(backend: &mut dyn Backend) {
    let kinds = [
        draft("run", "no parts").parts(Vec::new()),
        draft("run", "an empty part").parts(vec![part("", "", "")]),
        draft("run", "empty parts").parts(vec![part("a", "t", ""), part("b", "t", ""), part("a", "t", "")]),
        draft("run", "equal names").parts(vec![part("a", "1", "first"), part("a", "2", "second")]),
        draft("run", "every byte").parts(vec![part("b", "raw", (0..=255).collect::<Vec<u8>>())]),
        draft("run", "many parts").parts((0..1000).map(|n| part(&format!("p{n}"), "t", noise(n, 30))).collect()),
        draft("run", "compressible").parts(vec![part("b", "t", "all work and no play ".repeat(5000))]),
        draft("run", "not compressible").parts(vec![part("b", "t", noise(1, 5000))]),
        draft("run", "no meta").meta(b""),
        draft("run", "any meta").meta(&(0..=255).collect::<Vec<u8>>()),
        draft("run", "all fields").parent("no parts").group("g").label("l").sort_key(-1.5),
    ];
    save(backend, kinds.clone());
    for kind in kinds {
        assert_eq!(get(backend, &kind.0.header.id), Some(kind.0.clone()));
    }
}

fn large_parts_come_back(backend: &mut dyn Backend) {
    let parts = vec![
        part("noise", "t", noise(7, (1 << 20) + 1)),
        part("text", "t", "so much text ".repeat(200_000)),
        part("end", "t", "."),
    ];
    let large = draft("run", "large").parts(parts);
    save(backend, [draft("run", "before"), large.clone(), draft("run", "after")]);
    assert_eq!(get(backend, "large"), Some(large.0.clone()));
    // The new checkpoint keeps no data of the checkpoint that it replaces.
    save(backend, [draft("run", "large")]);
    assert_eq!(get(backend, "large"), Some(draft("run", "large").0));
}

fn a_growing_run_comes_back(backend: &mut dyn Backend) {
    // The payload grows like an agent's state. Every step keeps the old bytes and adds new bytes at the end or in the
    // middle.
    let mut state = noise(1, 4000);
    let mut steps = Vec::new();
    for n in 0..60_usize {
        let at = if n % 2 == 0 { state.len() } else { n * 50 };
        state.splice(at..at, noise(n as u64 + 2, 100));
        let mut step = draft("run", &n.to_string()).parts(vec![part("state", "t", state.clone()), part("n", "t", [7])]);
        if n > 0 {
            step = step.parent(&(n - 1).to_string());
        }
        save(backend, [step.clone()]);
        steps.push(step.0);
    }
    let whole = |backend: &mut dyn Backend, steps: &[Checkpoint], when: &str| {
        for step in steps {
            assert!(get(backend, &step.header.id).as_ref() == Some(step), "{:?} {when}", step.header.id);
        }
    };
    whole(backend, &steps, "as saved");
    // In the middle of the run, a fork begins another lineage.
    let fork = draft("fork", "fork").parent("30").parts(steps[30].payload.parts.clone());
    save(backend, [fork.clone()]);
    steps.push(fork.0);
    // The parents of other checkpoints are removed, replaced or moved.
    for n in [0, 30, 31, 59] {
        apply(backend, vec![remove(&n.to_string())]).unwrap();
    }
    save(backend, [draft("run", "10"), draft("elsewhere", "20").parts(vec![part("state", "t", "other")])]);
    steps.retain(|step| !["0", "10", "20", "30", "31", "59"].contains(&step.header.id.as_str()));
    whole(backend, &steps, "when its parents are gone");
    assert_eq!(get(backend, "10"), Some(draft("run", "10").0));
}

fn hostile_names_are_data_in_every_field(backend: &mut dyn Backend) {
    let made = |name: &str| {
        draft(name, name).group(name).label(name).parent(name).meta(name.as_bytes()).parts(vec![part(name, name, name)])
    };
    for name in HOSTILE {
        save(backend, [made(name)]);
    }
    for name in HOSTILE {
        assert_eq!(get(backend, name), Some(made(name).0), "{name:?}");
        assert_eq!(newest(backend, name, None).as_deref(), Some(name));
        assert_eq!(newest(backend, name, Some(name)).as_deref(), Some(name));
        assert_eq!(ids(backend, lineage(name)), [name]);
        assert_eq!(ids(backend, group(name)), [name]);
        assert_eq!(ids(backend, both(name, name)), [name]);
    }
    let mut begun = HOSTILE.to_vec();
    begun.reverse();
    assert_eq!(names(backend, ""), begun);
    for (at, name) in HOSTILE.into_iter().enumerate() {
        apply(backend, vec![remove(name)]).unwrap();
        assert_eq!(names(backend, "").len(), HOSTILE.len() - 1 - at, "{name:?} takes nothing else along");
    }
}

/// A refusal names what it is about, and nothing of its unit happens.
fn a_refusal_names_what_it_is_about(backend: &mut dyn Backend) {
    let keyed = || append("run", "keyed", vec![common::keyed("k", "a")]);
    let unit = vec![texts("run", "log", &["a", "b"]), texts("logged", "log", &["x"]), keyed()];
    apply(backend, unit).unwrap();
    save(backend, [draft("run", "a"), draft("other", "c"), draft("aged", "d").age_offset(8)]);
    let Op::Append { contract, lineage, log, records, .. } = keyed() else { unreachable!("an append") };
    let new_keys = Op::Append { contract, lineage, log, records, must: LogMust::LackTheKeys };
    let before = (names(backend, ""), ids(backend, common::lineage("run")));
    for (op, code, named) in [
        (
            texts_at("run", "log", 1, &["c"]),
            Code::Conflict,
            &["log \"log\" of \"run\" has 2 records, not 1 as expected"][..],
        ),
        (new_keys, Code::Conflict, &["log \"keyed\" of \"run\" already has some of the keys"]),
        (draft("run", "id").pin("log", 3).put(), Code::InvalidArgument, &["\"id\"", "\"log\"", "\"run\"", "3", "2"]),
        (draft("run", "id").pin("log", 1).pin("log", 1).put(), Code::InvalidArgument, &["twice"]),
        (draft("aged", "e").put(), Code::InvalidArgument, &["\"e\"", "\"aged\""]),
        (rewind("run", "log", "none"), Code::NotFound, &["\"none\"", "\"log\""]),
        (rewind("run", "log", "c"), Code::NotFound, &["\"c\"", "\"log\""]),
        (rewind("run", "log", "a"), Code::NotFound, &["\"a\"", "\"log\""]),
        (fork("none", "e", "new"), Code::NotFound, &["\"none\""]),
        (fork("a", "e", "other"), Code::Conflict, &["\"other\""]),
        (fork("a", "e", "logged"), Code::Conflict, &["\"logged\""]),
        (fork("a", "c", "new"), Code::Conflict, &["\"c\""]),
    ] {
        let error = apply(backend, vec![draft("run", "first").put(), op]).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(named.iter().all(|text| error.message().contains(text)), "{named:?} in {error}");
    }
    assert_eq!((names(backend, ""), ids(backend, common::lineage("run"))), before);
}

fn names_of_four_kilobytes(backend: &mut dyn Backend) {
    // The names differ only in their last byte.
    let name = |last: char| "x".repeat(4095) + &last.to_string();
    let made = |last| draft(&name(last), &name(last)).group(&name(last)).label(&name(last)).parent(&name(last));
    save(backend, [made('a'), made('b')]);
    for last in ['a', 'b'] {
        let name = name(last);
        assert_eq!(get(backend, &name), Some(made(last).0));
        assert_eq!(newest(backend, &name, Some(&name)), Some(name.clone()));
        assert_eq!(ids(backend, group(&name)), [name.as_str()]);
        assert_eq!(names(backend, &name), [name.as_str()]);
    }
    assert_eq!(names(backend, &"x".repeat(4095)), [name('b'), name('a')]);
    assert_eq!(get(backend, &"x".repeat(4095)), None);
}

fn ranks_order_as_numbers(backend: &mut dyn Backend) {
    let ordered = [f64::MIN, -1e21, -2.0, -1.5, -5e-324, 0.0, 5e-324, 0.5, 1.0, 1.5, 1_700_000_000_000.25, f64::MAX];
    // The save order differs from the order of the sort keys. The loop saves every fifth checkpoint and goes through
    // the list several times.
    for n in 0..ordered.len() {
        let at = n * 5 % ordered.len();
        save(backend, [draft("run", &at.to_string()).group("g").label("l").sort_key(ordered[at])]);
    }
    let expected: Vec<String> = (0..ordered.len()).rev().map(|at| at.to_string()).collect();
    assert_eq!(ids(backend, lineage("run")), expected);
    assert_eq!(ids(backend, group("g")), expected);
    assert_eq!(newest(backend, "run", Some("l")).as_ref(), expected.first());
    // -0 and 0 are equal sort keys, so the save order decides which checkpoint is newer.
    save(
        backend,
        [draft("zero", "+").sort_key(0.0), draft("zero", "-").sort_key(-0.0), draft("zero", "+ again").sort_key(0.0)],
    );
    assert_eq!(ids(backend, lineage("zero")), ["+ again", "-", "+"]);
}

/// Returns the names of a page of lineages by their activity, and the save number of the last one.
fn active(
    backend: &mut dyn Backend,
    order: ActivityOrder,
    after: Option<Seq>,
    limit: usize,
) -> (Vec<String>, Option<Seq>) {
    let recent = Query::Recent(Recent { order, after, limit, ..recent() });
    let found = backend.answer(&recent).unwrap().into_recent().unwrap();
    let last = found.last().map(|found| found.seq);
    (found.into_iter().map(|found| found.newest.lineage).collect(), last)
}

fn pages_by_activity_stay_apart_while_lineages_are_active(backend: &mut dyn Backend) {
    let names: Vec<String> = (0..9).map(|number| format!("run {number}")).collect();
    apply(backend, names.iter().map(|name| draft(name, name).put()).collect::<Vec<_>>()).unwrap();
    let (first, last) = active(backend, ActivityOrder::LatestFirst, None, 3);
    assert_eq!(first, ["run 8", "run 7", "run 6"]);
    save(backend, [draft("run 8", "again"), draft("new", "new"), draft("run 2", "also")]);
    assert_eq!(active(backend, ActivityOrder::LatestFirst, last, 9).0, ["run 5", "run 4", "run 3", "run 1", "run 0"]);
    assert_eq!(active(backend, ActivityOrder::LatestFirst, None, 3).0, ["run 2", "new", "run 8"]);
    assert_eq!(active(backend, ActivityOrder::EarliestFirst, last, 9).0, ["run 7", "run 8", "new", "run 2"]);
}

fn one_lineage_with_most_of_the_checkpoints_hides_no_other(backend: &mut dyn Backend) {
    save(backend, [draft("before", "before"), draft("long", "began")]);
    let long = (0..1_500).map(|n| draft("long", &n.to_string()).sort_key(n.into()).put());
    apply(backend, long.collect::<Vec<_>>()).unwrap();
    save(backend, [draft("after", "after"), draft("long", "ended").sort_key(9e9)]);
    let (found, last) = active(backend, ActivityOrder::LatestFirst, None, 2);
    assert_eq!(found, ["long", "after"]);
    assert_eq!(active(backend, ActivityOrder::LatestFirst, last, 2).0, ["before"]);
    let (found, last) = active(backend, ActivityOrder::EarliestFirst, None, 1);
    assert_eq!(found, ["before"]);
    assert_eq!(active(backend, ActivityOrder::EarliestFirst, last, 9).0, ["after", "long"]);
}

fn a_prefix_is_literal(backend: &mut dyn Backend) {
    for name in HOSTILE {
        save(backend, [draft(name, name).group(&format!("{name}/rest"))]);
    }
    for prefix in HOSTILE.into_iter().chain(["", "a", "A", "/", "e", "a\0b/rest", "a\0b/restless", "\u{301}"]) {
        let expected: Vec<&str> =
            HOSTILE.into_iter().rev().filter(|name| format!("{name}/rest").starts_with(prefix)).collect();
        assert_eq!(names(backend, prefix), expected, "{prefix:?}");
    }
}

fn the_clock_is_that_of_the_machine_or_of_the_server(backend: &mut dyn Backend) {
    let clock = |backend: &mut dyn Backend| backend.answer(&Query::Clock).unwrap().into_clock().unwrap();
    let first = clock(backend);
    // 2020-01-01.
    assert!(first > 1_577_836_800_000, "{first}");
    let all = Query::All(vec![Query::Clock, Query::Clock]);
    let [one, two] = backend.answer(&all).unwrap().into_all().unwrap();
    assert!(one.into_clock().unwrap() >= first && two.into_clock().unwrap() >= first);
}

fn no_limit_on_a_number_applies_to_records(backend: &mut dyn Backend) {
    let (effects, messages) = (CONTRACT_ID.effects(), ContractId(78));
    assert!(effects.has_records() && messages.has_records() && !messages.is_effects() && !CONTRACT_ID.has_records());
    for id in ["a", "b", "c"] {
        for contract in [CONTRACT_ID, effects, messages] {
            apply(backend, vec![Op::put(Header { saved_at: 1, ..Header::new(contract, "run", id) }, Vec::new())])
                .unwrap();
        }
    }
    let mut prune = |contract, rule| backend.prune(&Prune { contract, ..batch(rule, 100) }).unwrap().checkpoints;
    assert_eq!(prune(Some(effects), Rule::KeepLast(1)), 0);
    assert_eq!(prune(Some(messages), Rule::KeepLast(1)), 0);
    assert_eq!(prune(None, Rule::KeepLast(1)), 2);
    assert_eq!(prune(Some(CONTRACT_ID), Rule::SavedBefore(2)), 1);
    assert_eq!(prune(Some(effects), Rule::SavedBefore(2)), 3);
}

fn nothing_to_do_is_fine(backend: &mut dyn Backend) {
    assert!(backend.apply(&[]).is_empty());
    apply(backend, Unit::default()).unwrap();
    assert_eq!(backend.notice(), None, "nothing is wrong with a local disk");
    assert!(names(backend, "").is_empty());
}

fn whole(backend: &mut dyn Backend, of: Of, prefix: &[u8]) -> Vec<Checkpoint> {
    let query = Query::Whole { contract: CONTRACT_ID, of, prefix: prefix.to_vec() };
    backend.answer(&query).unwrap().into_checkpoints().unwrap()
}

fn whole_checkpoints_by_a_prefix_of_the_rank(backend: &mut dyn Backend) {
    let keyed = |lineage: &str, key: &[u8], group: &str| {
        let mut draft = draft(lineage, &format!("{lineage} {key:?}")).group(group);
        draft.0.header.sort_key = SortKey(key.to_vec());
        draft
    };
    save(backend, [keyed("1", b"a:2", "g"), keyed("2", b"a", "g"), keyed("3", b"b", "g"), keyed("3", b"a:1", "h")]);
    save(backend, [keyed("1", b"a:1", "g"), keyed("1", b"\xff", "g"), keyed("1", b"\xff\xff", "g")]);
    let mut found = |of: Of, prefix: &[u8]| -> Vec<Vec<u8>> {
        whole(backend, of, prefix).into_iter().map(|found| found.header.sort_key.0).collect()
    };
    assert_eq!(found(group("g"), b"a:"), [b"a:1", b"a:2"]);
    assert_eq!(found(group("g"), b"\xff"), [&b"\xff"[..], b"\xff\xff"]);
    assert_eq!(found(group("g"), b"c"), [b""; 0]);
    assert_eq!(found(group("g"), b"").len(), 6);
    assert_eq!(found(group(""), b"").len(), 0, "empty is no group");
    assert_eq!(found(lineage("3"), b""), [&b"a:1"[..], b"b"]);
    assert_eq!(found(both("3", "h"), b"a"), [b"a:1"]);
}

fn tuple(backend: &mut dyn Backend, id: &str) -> Option<Box<Tuple>> {
    let query = Query::Tuple { contract: CONTRACT_ID, pick: Pick::Id(id.to_owned()) };
    backend.answer(&query).unwrap().into_tuple().unwrap()
}

fn writes_to(backend: &mut dyn Backend, id: &str) -> Vec<Write> {
    tuple(backend, id).unwrap().writes
}

/// Prunes batch by batch until nothing is left to prune. Returns the total numbers of removed checkpoints, removed
/// lineages and bytes.
fn pruned(backend: &mut dyn Backend, rule: Rule, most: usize) -> (u64, u64, i64) {
    let batches = prune(backend, Prune { contract: Some(CONTRACT_ID), ..batch(rule, most) });
    batches.iter().fold((0, 0, 0), |sum, done| (sum.0 + done.checkpoints, sum.1 + done.lineages, sum.2 + done.bytes))
}

/// A checkpoint with 10,000 bytes that do not compress.
fn heavy(lineage: &str, id: &str, seed: u64) -> common::Draft {
    draft(lineage, id).parts(vec![part("b", "t", noise(seed, 10_000))])
}

fn pruning_by_bytes_takes_the_first_saved(backend: &mut dyn Backend) {
    for n in 0..20_u64 {
        save(backend, [heavy(if n % 2 == 0 { "a" } else { "b" }, &n.to_string(), n)]);
    }
    save(backend, [heavy("late", "late", 99), heavy("a", "0", 98).contract(ContractId(2))]);
    let bytes = |backend: &mut dyn Backend| stats(backend, 0).of(CONTRACT_ID).stored_bytes;
    let before = bytes(backend);
    assert!((210_000..215_000).contains(&before), "{before}");
    let removed = pruned(backend, Rule::MaxBytes(100_500), 3);
    assert_eq!((removed.0, removed.1), (11, 0));
    let after = bytes(backend);
    assert!(after <= 100_500, "{after}");
    assert_eq!(i64::try_from(before - after).unwrap(), removed.2, "the bytes are those that are gone");
    assert_eq!(ids(backend, lineage("a")), ["18", "16", "14", "12"]);
    assert_eq!(ids(backend, lineage("b")), ["19", "17", "15", "13", "11"]);
    assert_eq!(pruned(backend, Rule::MaxBytes(100_500), 3), (0, 0, 0));
    // Each lineage keeps its newest checkpoint, even if the limit is too small for that checkpoint.
    pruned(backend, Rule::MaxBytes(1), 3);
    assert_eq!(["a", "b", "late"].map(|name| ids(backend, lineage(name))), [["18"], ["19"], ["late"]]);
    assert_eq!(stats(backend, 0).of(ContractId(2)).checkpoints, 1, "that of another contract");
}

fn what_would_be_removed_is_what_is_removed(backend: &mut dyn Backend) {
    for n in 0..40_u8 {
        let made = heavy(&format!("run {}", n % 4), &n.to_string(), u64::from(n));
        save(backend, [made.saved_at(i64::from(n))]);
    }
    let rules = [Rule::SavedBefore(8), Rule::KeepLast(5), Rule::MaxBytes(120_000)];
    let asked = Query::Prunable { contract: Some(CONTRACT_ID), rules: rules.to_vec() };
    let planned = backend.answer(&asked).unwrap().into_pruned().unwrap();
    assert_eq!(stats(backend, 0).total().checkpoints, 40, "asking removes nothing");
    let done = rules.map(|rule| pruned(backend, rule, 7));
    assert_eq!(done.map(|done| done.0), [8, 12, 9]);
    assert_eq!(planned.checkpoints, 29);
    assert_eq!(planned.bytes, done.iter().map(|done| done.2).sum::<i64>());
    assert_eq!(planned.next, None);
}

fn statistics_add_up(backend: &mut dyn Backend) {
    let empty = stats(backend, 5);
    assert_eq!((empty.total(), empty.is_estimate, empty.largest.len()), (Sizes::default(), false, 0));
    for n in 0..12_u64 {
        save(backend, [heavy(&format!("run {}", n % 5), &n.to_string(), n), draft("small", &format!("s{n}"))]);
    }
    save(backend, [draft("run 0", "elsewhere").contract(ContractId(2))]);
    let stored = stats(backend, 3);
    let all = stored.total();
    assert_eq!((all.checkpoints, all.lineages), (25, 7));
    assert!(all.logical_bytes > 120_000 && all.stored_bytes > 120_000, "{all:?}");
    let shown: Vec<_> = stored.largest.iter().map(|of| (of.lineage.as_str(), of.checkpoints)).collect();
    assert_eq!(shown, [("run 0", 3), ("run 1", 3), ("run 2", 2)], "the largest first");
    let [one, two] = [CONTRACT_ID, ContractId(2)].map(|contract| stored.of(contract));
    assert_eq!([one, two].into_iter().sum::<Sizes>(), all, "{stored:?}");
    assert_eq!((two.checkpoints, two.lineages), (1, 1));
    let [of_one, of_two, none] = [CONTRACT_ID, ContractId(2), ContractId(9)].map(|contract| {
        let asked = Query::Stats { contract: Some(contract), largest: 10, by_status: true };
        backend.answer(&asked).unwrap().into_stats().unwrap().largest
    });
    assert_eq!(of_one.iter().map(|of| of.stored_bytes).sum::<u64>(), one.stored_bytes);
    assert_eq!((of_two.len(), none.len()), (1, 0));
}

fn vacuum_changes_nothing_that_can_be_asked(backend: &mut dyn Backend) {
    save(backend, [heavy("run", "a", 1), heavy("run", "b", 2), heavy("run", "c", 3)]);
    apply(backend, vec![remove("c")]).unwrap();
    let before = stats(backend, 9);
    backend.vacuum().unwrap();
    let after = stats(backend, 9);
    assert_eq!(
        Stats { file_bytes: before.file_bytes, log_bytes: before.log_bytes, free_bytes: before.free_bytes, ..after },
        before
    );
    assert_eq!(get(backend, "b"), Some(heavy("run", "b", 2).0));
    save(backend, [draft("run", "d")]);
    assert_eq!(ids(backend, lineage("run")), ["d", "b", "a"]);
}

/// A write without a lease is refused as long as another process has the lease of its run. The writer does not know the
/// lease, so only the database can tell.
fn a_leased_run_takes_no_other_writes(subject: &Subject) {
    let changes = {
        let late = || write_to("a", false, vec![write("task", 0, "too late")]);
        [
            ("writes", vec![late()]),
            ("a checkpoint", vec![draft("run", "late").put()]),
            ("a checkpoint and writes", vec![draft("run", "late").put(), late()]),
            ("a new run", vec![draft("another run", "late").put()]),
            (
                "a removal",
                vec![Op::RemoveFrom { contract: CONTRACT_ID, lineage: "run".to_owned(), sort_key: SortKey::default() }],
            ),
        ]
    };
    let (mut one, mut two) = ((subject.open)(), (subject.open)());
    save(&mut *one, [draft("run", "a")]);
    let now = two.answer(&Query::Clock).unwrap().into_clock().unwrap();
    let mut lease = |saved_at: i64, until: i64| {
        let meta = serde_json::json!({ "holder": "a process", "until": until }).to_string().into_bytes();
        let header = Header { saved_at, meta, ..Header::new(LEASES, "lease of run", "lease") };
        apply(&mut *two, vec![Op::put(header, Vec::new())]).unwrap();
    };
    let except = |ended: Option<&str>| ended.map(str::to_owned).into_iter().collect();
    let expect = |ended: Option<&str>| Expect::Unleased {
        lineage: "lease of run".to_owned(),
        run: "run".to_owned(),
        except: except(ended),
    };
    let expect_of = |id: &str, ended: Option<&str>| Expect::UnleasedRunOf {
        contract: CONTRACT_ID,
        id: id.to_owned(),
        prefix: "lease of ".to_owned(),
        except: except(ended),
    };
    lease(now, now + 600_000);
    let unit = Unit { expect: vec![expect_of("a", None)], ops: vec![remove("a")] };
    let error = one.apply(&[unit]).pop().unwrap().unwrap_err();
    assert_eq!((error.code(), &*error.lessee().unwrap().id), (Code::Conflict, "lease"));
    for (what, ops) in changes {
        let unit = Unit { expect: vec![expect(None)], ops };
        let error = one.apply(&[unit]).pop().unwrap().unwrap_err();
        assert_eq!(error.code(), Code::Conflict, "{what}");
        let lessee = error.lessee().unwrap();
        assert_eq!((&*lessee.id, &*lessee.holder, lessee.until), ("lease", "a process", now + 600_000), "{what}");
        assert_eq!(ids(&mut *one, lineage("run")), ["a"], "{what}: nothing is stored");
        assert_eq!(ids(&mut *one, lineage("another run")), [""; 0], "{what}: nothing is stored");
        assert!(writes_to(&mut *one, "a").is_empty(), "{what}: nothing is stored");
    }
    save(&mut *one, [draft("run", "own"), draft("free", "f"), draft("free", "g")]);
    // Of a run that is not leased, of one whose lease is the caller's own, and of none.
    for (id, ended) in [("f", None), ("own", Some("lease")), ("no such", None)] {
        let unit = Unit { expect: vec![expect_of(id, ended)], ops: vec![remove(id)] };
        one.apply(&[unit]).pop().unwrap().unwrap();
    }
    assert_eq!(ids(&mut *one, lineage("free")), ["g"]);
    // The process has ended, or its lease has expired, or is from the future.
    let mut stored = |id: &str, ended: Option<&str>| {
        let unit = Unit { expect: vec![expect(ended)], ops: vec![draft("run", id).put()] };
        one.apply(&[unit]).pop().unwrap().unwrap();
    };
    stored("b", Some("lease"));
    lease(now - 600_000, now - 1);
    stored("c", None);
    lease(now + 6_000_000, now + 6_000_001);
    stored("d", None);
    assert_eq!(ids(&mut *one, lineage("run")), ["d", "c", "b", "a"]);
}

/// A worker that has lost its lease writes under the condition that the lease is still there. The lease's lineage is the
/// one that the worker wrote last, so it still knows the lease as the newest checkpoint.
fn a_condition_sees_what_another_backend_has_done(subject: &Subject) {
    let changes = {
        let late = || write_to("a", false, vec![write("task", 0, "too late")]);
        [
            ("writes", vec![late()]),
            ("claims", vec![claim("a", "b")]),
            ("writes, then claims", vec![late(), claim("a", "b")]),
            ("a checkpoint", vec![draft("run", "late").put()]),
            ("a checkpoint and writes", vec![draft("run", "late").put(), late()]),
            ("a removal", vec![remove("a")]),
        ]
    };
    let (mut one, mut two) = ((subject.open)(), (subject.open)());
    let early = write("early", 0, "in time");
    save(&mut *one, [draft("run", "a")]);
    apply(&mut *one, vec![write_to("a", false, vec![early.clone()])]).unwrap();
    for (n, (what, ops)) in changes.into_iter().enumerate() {
        for gone in [vec![remove("lease")], vec![remove("lease"), draft("lease", "another").put()]] {
            let position = apply(&mut *one, vec![draft("lease", "lease").put()]).unwrap().lineage.unwrap();
            let otherwise = Error::new(Code::Conflict, "the lease was lost");
            let (contract, id) = (CONTRACT_ID, "lease".to_owned());
            let by_id = Expect::Checkpoint { contract, id, must: Must::BeSavedSince(i64::MIN), otherwise };
            let otherwise = Error::new(Code::Conflict, "the lease was lost");
            let any = Some("no such run".to_owned());
            let stored = Expect::Stored { contract, id: Some("lease".to_owned()), lineage: any, otherwise };
            let (of, or) = ("lease".to_owned(), "none".to_owned());
            let by_newest = Expect::Newest { contract, lineage: of, newest: Some("lease".to_owned()), or };
            apply(&mut *two, gone).unwrap();
            let otherwise = Error::new(Code::Conflict, "the run was begun again");
            let by_line = Expect::Incarnation { contract, lineage: "lease".to_owned(), position, otherwise };
            for expect in [by_id, by_newest, stored, by_line] {
                let unit = Unit { expect: vec![expect], ops: ops.clone() };
                let error = one.apply(&[unit]).pop().unwrap().unwrap_err();
                assert_eq!(error.code(), Code::Conflict, "{what} {n}");
            }
            assert_eq!(writes_to(&mut *two, "a"), std::slice::from_ref(&early), "{what}: nothing is stored");
            assert_eq!(ids(&mut *two, lineage("run")), ["a"], "{what}: nothing is stored");
            apply(&mut *two, vec![remove("another")]).unwrap();
        }
    }
}
