//! Tests the contract of `Backend` on every implementation: the promises of `src/backend/interface.rs` and of the types that
//! it uses (`op`, `query`, `record`). One function tests one behaviour.

mod conditions;
mod export;
mod forks;
mod labels;
mod logs;
mod pages;
mod rows;
mod statuses;

use std::sync::Arc;

use crate::common::{
    self, CONTRACT_ID, HOSTILE, append, apply, both, draft, expect, get, group, headers, ids, lent, lineage, lineages,
    names, newest, noise, part, remove, save, sqlite,
};
use forkpoint_engine::backend::jsonl::{self, Jsonl};
use forkpoint_engine::backend::memory::Memory;
#[cfg(all(feature = "postgres", unix))]
use forkpoint_engine::backend::postgres::Postgres;
use forkpoint_engine::backend::sqlite::Journal;
use forkpoint_engine::backend::{Backend, Durability};
use forkpoint_engine::error::{Code, Error};
use forkpoint_engine::op::{Applied, Expect, Must, Op, Unit};
use forkpoint_engine::query::{ActivityOrder, Ancestors, Of, Pick, Query, Recent};
use forkpoint_engine::record::{
    Checkpoint, ContractId, Header, Labels, Part, Record, Seq, Sizes, SortKey, Stats, TaskState, Tuple, Write,
};
use forkpoint_engine::retention::{Cursor, Prune, Rule};
use tempfile::TempDir;

use self::conditions::*;
use self::export::*;
use self::forks::*;
use self::labels::*;
use self::logs::*;
use self::pages::{
    a_filter_leaves_out_what_has_other_metadata, a_page_ends_with_the_payload_that_fills_it,
    a_page_goes_on_where_the_one_before_ended, a_page_of_many_lineages_is_in_one_order,
    a_test_leaves_out_what_its_contract_does_not_want, an_index_of_the_metadata_leaves_out_only_what_has_another_value,
    checkpoints_with_one_sort_key_are_in_the_order_of_their_saves,
};
use self::rows::{
    a_feed_tells_what_is_saved, a_fork_names_its_origin, checkpoints_are_listed_with_their_places,
    records_are_part_of_the_size_of_a_lineage, sizes_are_those_of_the_statistics,
};
use self::statuses::*;

/// A database of one kind of backend. If the kind allows it, several backends can open the same database.
struct Place {
    open: Box<dyn Fn() -> Box<dyn Backend>>,
    _folder: Option<TempDir>,
}

fn memory() -> Place {
    Place { open: Box::new(|| Box::new(Memory::new())), _folder: None }
}

fn file(journal: Journal, durability: Durability) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contract.db");
    Place { open: Box::new(move || Box::new(sqlite(&path, journal, durability).unwrap())), _folder: Some(folder) }
}

fn text_files(durability: Durability) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let options = jsonl::Options { durability, ..jsonl::Options::new(folder.path().join("contract")) };
    Place { open: Box::new(move || Box::new(Jsonl::open(&options).unwrap())), _folder: Some(folder) }
}

#[cfg(all(feature = "postgres", unix))]
fn server() -> Option<Place> {
    let (url, options) = common::postgres::server()?.options();
    Some(Place { open: Box::new(move || Box::new(Postgres::open(&url, &options).unwrap())), _folder: None })
}

/// Makes one test for each kind of backend and each behaviour.
macro_rules! suite {
    ($($kind:ident: $place:expr;)+) => {$(
        mod $kind {
            use super::*;
            each! {
                |behaviour: fn(&mut dyn Backend)| {
                    let Some(place) = $place else { return };
                    behaviour(&mut *(place.open)());
                }:
                a_payload_comes_back_exactly,
                large_parts_come_back,
                a_growing_run_comes_back,
                a_parent_is_no_more_than_a_name,
                hostile_names_are_data_in_every_field,
                names_of_four_kilobytes,
                what_is_not_there_is_no_error,
                a_put_replaces_every_field,
                a_put_of_the_same_id_moves_it_to_the_other_lineage,
                a_lineage_that_keeps_others_goes_on,
                replacing_makes_it_the_last_saved,
                newest_is_by_rank_then_by_save_order,
                newest_by_label,
                an_empty_label_or_group_is_none,
                lists_by_lineage_group_and_both,
                limits,
                ranks_order_as_numbers,
                removing,
                the_place_of_a_removed_last_is_not_given_out_again,
                lineages_are_listed_last_begun_first,
                a_listing_of_lineages_goes_on_from_a_position,
                lineages_are_listed_by_their_last_activity,
                a_status_follows_from_the_newest_checkpoint_and_its_tasks,
                an_answer_ends_a_question_until_a_task_asks_again,
                a_status_goes_back_with_the_newest_checkpoint,
                open_lineages_are_counted_and_spread,
                writes_may_come_before_the_checkpoint_whose_status_they_decide,
                lineages_are_found_and_counted_by_their_status,
                labels_are_merged_and_removed,
                labels_need_a_run_and_are_at_most_32,
                a_run_begins_with_the_labels_of_its_first_put,
                labels_go_with_their_run,
                lineages_are_found_by_their_labels,
                pages_by_activity_stay_apart_while_lineages_are_active,
                one_lineage_with_most_of_the_checkpoints_hides_no_other,
                checkpoints_are_listed_with_their_places,
                a_page_goes_on_where_the_one_before_ended,
                a_page_ends_with_the_payload_that_fills_it,
                a_filter_leaves_out_what_has_other_metadata,
                a_test_leaves_out_what_its_contract_does_not_want,
                a_page_of_many_lineages_is_in_one_order,
                checkpoints_with_one_sort_key_are_in_the_order_of_their_saves,
                an_index_of_the_metadata_leaves_out_only_what_has_another_value,
                sizes_are_those_of_the_statistics,
                records_are_part_of_the_size_of_a_lineage,
                a_fork_names_its_origin,
                a_feed_tells_what_is_saved,
                the_first_group_decides,
                a_prefix_is_literal,
                a_lineage_that_begins_anew_is_the_last,
                a_lineage_that_begins_anew_in_one_unit_is_the_last,
                the_clock_is_that_of_the_machine_or_of_the_server,
                contracts_keep_the_same_ids_apart,
                no_limit_on_a_number_applies_to_records,
                the_ops_of_a_unit_happen_in_order,
                the_units_of_a_batch_happen_in_order,
                nothing_to_do_is_fine,
                whole_checkpoints_come_in_order,
                whole_checkpoints_by_a_prefix_of_the_rank,
                removing_from_a_rank_on,
                the_first_write_to_a_place_stays_unless_it_is_replaced,
                what_is_claimed_makes_room,
                writes_may_come_before_their_checkpoint_and_go_with_it,
                what_is_inherited_is_the_parents,
                a_lineage_is_as_its_writer_knows_it_or_nothing_is_done,
                ancestors_are_those_up_to_what_is_wanted,
                retention_by_number_goes_by_the_save_order_where_the_header_says_so,
                a_lineage_keeps_its_newest,
                the_one_just_saved_is_never_removed_for_its_rank,
                pruning_by_age_goes_by_the_time_of_saving,
                pruning_by_number_is_by_lineage,
                pruning_by_bytes_takes_the_first_saved,
                a_batch_of_pruning_is_bounded,
                pruning_stays_within_its_contract,
                what_would_be_removed_is_what_is_removed,
                the_place_of_a_pruned_last_is_not_given_out_again,
                statistics_add_up,
                vacuum_changes_nothing_that_can_be_asked,
                a_fork_is_a_copy_with_a_name_of_its_own,
                a_fork_needs_a_source_and_names_that_are_free,
                forks_are_listed_by_the_lineage_they_began_from,
                lineages_go_by_the_beginning_of_their_names,
                lineages_of_a_group_are_found_among_many,
                the_checkpoints_of_a_lineage_have_one_age,
                a_parent_stays_while_another_depends_on_it,
                a_unit_that_fails_leaves_nothing_behind,
                a_check_counts_what_is_there_and_finds_nothing,
                records_come_back_in_their_order,
                a_log_that_is_not_there_is_empty,
                an_append_may_expect_a_length,
                an_append_may_expect_that_its_keys_are_new,
                a_key_is_in_a_log_once,
                keys_are_those_of_the_branch,
                names_of_logs_and_keys_are_data,
                a_truncation_keeps_the_first,
                a_range_counts_from_either_end,
                a_checkpoint_keeps_the_records_it_names,
                a_pin_without_a_length_takes_what_is_there,
                a_pin_beyond_the_end_is_refused,
                a_log_goes_back_to_a_checkpoint,
                a_fork_has_the_logs_of_its_source,
                replaced_marks_are_freed,
                retention_frees_what_nothing_names,
                a_live_log_outlasts_its_checkpoints,
                appends_and_saves_happen_together,
                logs_of_other_contracts_are_others,
                a_log_of_100_000_records,
                a_log_of_many_branches,
                a_unit_is_applied_only_under_its_conditions,
                each_condition_of_a_unit_counts,
                a_save_never_sorts_before_an_earlier_one,
                a_touched_checkpoint_is_as_young_as_its_touch,
                no_rule_on_age_or_size_removes_an_exempt_checkpoint,
                several_queries_are_answered_together,
                a_refused_unit_leaves_the_group_of_a_lineage,
                all_checkpoints_come_in_pages_in_save_order,
                all_lineages_come_in_pages_as_they_began,
                all_pending_writes_come_in_pages,
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
    ($($kind:ident: $place:expr;)+) => {$(
        mod $kind {
            use super::*;
            each! {
                |behaviour: fn(&Place)| {
                    let Some(place) = $place else { return };
                    behaviour(&place);
                }:
                everything_is_there_after_opening_again,
                another_backend_sees_what_was_answered_ok,
                one_save_order_across_backends,
                a_removed_last_place_is_not_given_out_by_another_backend,
                one_sequence_of_lineages_across_backends,
                a_condition_sees_what_another_backend_has_done,
                logs_are_there_after_opening_again,
                one_log_across_backends,
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
fn the_bytes_of_a_unit_are_free_when_it_is_answered(place: &Place) {
    let mut backend = (place.open)();
    let users = Arc::new(());
    for length in [10, 5_000, 3 << 20] {
        let of = |name: &str| Part { bytes: lent(noise(1, length), &users).into(), ..part(name, "t", "") };
        let id = length.to_string();
        let [put, write_to, append_to] = ["put", "write", "append"].map(of);
        let record = Record { key: None, tag: "t".to_owned(), bytes: append_to.bytes.into_joined() };
        let wait = |index| Write { part: write_to.clone(), ..written("task", index, None, "") };
        let unit = vec![
            draft("run", &id).parts(vec![put.clone()]).put(),
            write(&id, false, &[wait(0)]),
            append("run", "log", vec![record]),
        ];
        apply(&mut *backend, unit).unwrap();
        let other = draft("run", &format!("{id} again")).parent(&id).parts(vec![put, write_to.clone()]).put();
        apply(&mut *backend, vec![other, write(&id, false, &[wait(1)])]).unwrap();
        drop(write_to);
        assert_eq!(Arc::strong_count(&users), 1, "{length}");
        // What was written before is there with what is written now.
        apply(&mut *backend, vec![write(&id, false, &[written("task", 2, None, "small")])]).unwrap();
        backend.vacuum().unwrap();
        for backend in [&mut backend, &mut (place.open)()] {
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

fn a_parent_is_no_more_than_a_name(backend: &mut dyn Backend) {
    let made = |id: &str, parent: &str, seed| {
        let parts = vec![part("state", "t", [noise(1, 3000), noise(seed, 10)].concat())];
        draft("run", id).parent(parent).parts(parts)
    };
    // A checkpoint must read back exactly with each of these parents: an unknown id, an empty id, a checkpoint of
    // another contract, the checkpoint itself, and a cycle.
    let elsewhere = draft("run", "elsewhere").contract(ContractId(2)).put();
    apply(backend, vec![elsewhere]).unwrap();
    let cases = [
        made("a", "unknown", 2),
        made("b", "", 3),
        made("c", "elsewhere", 4),
        made("d", "d", 5),
        made("e", "f", 6),
        made("f", "e", 7),
    ];
    for round in 0..3 {
        save(backend, cases.clone());
        for case in &cases {
            assert!(get(backend, &case.0.header.id).as_ref() == Some(&case.0), "{round}: {:?}", case.0.header.id);
        }
    }
    // In one unit, g gets h as its parent before h is put. Then h gets g as its parent before g is removed.
    apply(backend, vec![made("g", "h", 8).put(), made("h", "g", 9).put(), remove("g")]).unwrap();
    assert_eq!(get(backend, "h"), Some(made("h", "g", 9).0));
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

fn what_is_not_there_is_no_error(backend: &mut dyn Backend) {
    for filled in [false, true] {
        if filled {
            save(backend, [draft("run", "id").group("g").label("l")]);
        }
        for name in HOSTILE.into_iter().chain(["", "ID", "i", "id "]) {
            assert_eq!(get(backend, name), None);
            assert_eq!(newest(backend, name, None), None);
            assert_eq!(newest(backend, "run", Some(name)), None);
            assert!(ids(backend, lineage(name)).is_empty());
            assert!(ids(backend, group(name)).is_empty());
            assert!(ids(backend, both("run", name)).is_empty());
            assert!(ids(backend, both(name, "g")).is_empty());
        }
        assert!(names(backend, "no such prefix").is_empty());
        assert!(lineages(backend, "", Some(i64::MIN), 10).is_empty());
    }
}

fn a_put_replaces_every_field(backend: &mut dyn Backend) {
    let old = draft("run", "id").parent("p").group("g").label("l").sort_key(1.0).meta(b"old");
    let new = draft("run", "id").group("g2").label("l2").sort_key(2.0).meta(b"new").parts(vec![part("b", "u", "new")]);
    save(backend, [old, draft("run", "other").group("g").label("l").sort_key(1.5), new.clone()]);
    assert_eq!(get(backend, "id"), Some(new.0.clone()));
    assert_eq!(headers(backend, lineage("run"), Some(1)), [new.0.header]);
    assert_eq!(newest(backend, "run", Some("l")).as_deref(), Some("other"));
    assert_eq!(newest(backend, "run", Some("l2")).as_deref(), Some("id"));
    assert_eq!(ids(backend, group("g")), ["other"]);
    assert_eq!(ids(backend, group("g2")), ["id"]);
    assert_eq!(ids(backend, both("run", "g")), ["other"]);
    assert_eq!(ids(backend, lineage("run")), ["id", "other"]);
    // The checkpoint is replaced by a checkpoint without meta and without parts.
    let bare = draft("run", "id").sort_key(1.0).meta(b"").parts(Vec::new());
    save(backend, [bare.clone()]);
    assert_eq!(get(backend, "id"), Some(bare.0));
    assert_eq!(newest(backend, "run", Some("l2")), None);
    assert!(ids(backend, group("g2")).is_empty());
}

fn a_put_of_the_same_id_moves_it_to_the_other_lineage(backend: &mut dyn Backend) {
    save(backend, [draft("old", "id").group("g").label("l"), draft("new", "first").group("g").sort_key(-1.0)]);
    save(backend, [draft("new", "id").group("g").label("l")]);
    assert_eq!(get(backend, "id").unwrap().header.lineage, "new");
    assert_eq!(ids(backend, lineage("new")), ["id", "first"]);
    assert!(ids(backend, lineage("old")).is_empty());
    assert_eq!(newest(backend, "old", None), None);
    assert_eq!(newest(backend, "old", Some("l")), None);
    assert!(ids(backend, both("old", "g")).is_empty());
    assert_eq!(ids(backend, group("g")), ["id", "first"]);
    // The moved checkpoint was the only checkpoint of its old lineage, so that lineage has ended.
    assert_eq!(names(backend, ""), ["new"]);
    assert_eq!(lineages(backend, "", None, 10)[0].checkpoints, 2);
}

fn a_lineage_that_keeps_others_goes_on(backend: &mut dyn Backend) {
    save(backend, [draft("old", "stays"), draft("old", "goes").sort_key(1.0), draft("new", "goes")]);
    assert_eq!(names(backend, ""), ["new", "old"]);
    assert_eq!(ids(backend, lineage("old")), ["stays"]);
    assert_eq!(ids(backend, lineage("new")), ["goes"]);
    let old = &lineages(backend, "", None, 10)[1];
    assert_eq!((old.checkpoints, old.newest.id.as_str()), (1, "stays"));
}

fn replacing_makes_it_the_last_saved(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a"), draft("run", "b"), draft("run", "a")]);
    assert_eq!(ids(backend, lineage("run")), ["a", "b"]);
    assert_eq!(lineages(backend, "", None, 10)[0].checkpoints, 2, "replaced and not added");
    // Replacing the only checkpoint of a lineage does not end the lineage. The lineage keeps its place in the listing
    // of lineages.
    save(backend, [draft("other", "c"), draft("later", "d"), draft("other", "c")]);
    assert_eq!(names(backend, ""), ["later", "other", "run"]);
}

fn newest_is_by_rank_then_by_save_order(backend: &mut dyn Backend) {
    save(backend, [draft("run", "high").sort_key(2.0), draft("run", "low").sort_key(1.0)]);
    assert_eq!(newest(backend, "run", None).as_deref(), Some("high"), "the sort key, whatever was saved last");
    save(backend, [draft("run", "tie").sort_key(2.0), draft("elsewhere", "higher").sort_key(9.0)]);
    assert_eq!(newest(backend, "run", None).as_deref(), Some("tie"), "among equals the last saved");
    assert_eq!(ids(backend, lineage("run")), ["tie", "high", "low"]);
    save(backend, [draft("run", "high").sort_key(2.0)]);
    assert_eq!(ids(backend, lineage("run")), ["high", "tie", "low"]);
    assert_eq!(newest(backend, "run", None).as_deref(), Some("high"));
    let whole = backend.answer(&common::newest_query("run", None)).unwrap().into_checkpoint().unwrap();
    assert_eq!(*whole.unwrap(), draft("run", "high").sort_key(2.0).0, "the whole of it");
}

fn newest_by_label(backend: &mut dyn Backend) {
    save(
        backend,
        [
            draft("run", "a1").label("a").sort_key(1.0),
            draft("run", "a2").label("a").sort_key(2.0),
            draft("run", "a2 again").label("a").sort_key(2.0),
            draft("run", "b3").label("b").sort_key(3.0),
            draft("run", "none").sort_key(4.0),
            draft("other", "a5").label("a").sort_key(5.0),
        ],
    );
    assert_eq!(newest(backend, "run", Some("a")).as_deref(), Some("a2 again"));
    assert_eq!(newest(backend, "run", Some("b")).as_deref(), Some("b3"));
    assert_eq!(newest(backend, "other", Some("b")), None);
    assert_eq!(newest(backend, "run", Some("A")), None, "byte by byte");
    apply(backend, vec![remove("a2 again")]).unwrap();
    assert_eq!(newest(backend, "run", Some("a")).as_deref(), Some("a2"));
}

fn an_empty_label_or_group_is_none(backend: &mut dyn Backend) {
    save(backend, [draft("run", "bare"), draft("run", "dressed").group("g").label("l")]);
    assert_eq!(newest(backend, "run", Some("")), None);
    assert!(ids(backend, group("")).is_empty());
    assert!(ids(backend, both("run", "")).is_empty());
    assert_eq!(ids(backend, lineage("run")), ["dressed", "bare"], "without a question for it, it is there");
}

fn lists_by_lineage_group_and_both(backend: &mut dyn Backend) {
    save(
        backend,
        [
            draft("r1", "1").group("g1").sort_key(3.0),
            draft("r2", "2").group("g1").sort_key(1.0),
            draft("r1", "3").group("g2").sort_key(2.0),
            draft("r1", "4").group("g1").sort_key(1.0),
            draft("r2", "5").sort_key(7.0),
        ],
    );
    assert_eq!(ids(backend, lineage("r1")), ["1", "3", "4"]);
    assert_eq!(ids(backend, lineage("r2")), ["5", "2"]);
    assert_eq!(ids(backend, group("g1")), ["1", "4", "2"], "across lineages; equal sort keys by save order");
    assert_eq!(ids(backend, group("g2")), ["3"]);
    assert_eq!(ids(backend, both("r1", "g1")), ["1", "4"]);
    assert_eq!(ids(backend, both("r2", "g1")), ["2"]);
    assert!(ids(backend, both("r2", "g2")).is_empty());
    let expected = draft("r1", "3").group("g2").sort_key(2.0).0.header;
    assert_eq!(headers(backend, both("r1", "g2"), None), [expected], "the whole header");
}

fn limits(backend: &mut dyn Backend) {
    for n in 0..5_i32 {
        let made = draft("run", &n.to_string()).group("g").sort_key(f64::from(n));
        save(backend, [made, draft(&format!("run {n}"), &format!("other {n}"))]);
    }
    for of in [lineage("run"), group("g"), both("run", "g")] {
        let all = headers(backend, of.clone(), None);
        assert_eq!(all.iter().map(|header| header.id.as_str()).collect::<Vec<_>>(), ["4", "3", "2", "1", "0"]);
        for limit in [0, 1, 3, 5, 6, usize::MAX] {
            assert_eq!(headers(backend, of.clone(), Some(limit)), all[..limit.min(5)], "{of:?} {limit}");
        }
    }
    let all = lineages(backend, "", None, usize::MAX);
    assert_eq!(all.len(), 6);
    for limit in [0, 1, 3, 6, 7] {
        assert_eq!(lineages(backend, "", None, limit), all[..limit.min(6)]);
    }
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

fn removing(backend: &mut dyn Backend) {
    apply(backend, vec![remove("unknown")]).unwrap();
    save(backend, [draft("run", "a").group("g").label("l"), draft("run", "b"), draft("other", "c")]);
    apply(backend, vec![remove("a"), remove("a"), remove("unknown")]).unwrap();
    assert_eq!(get(backend, "a"), None);
    assert_eq!(newest(backend, "run", Some("l")), None);
    assert!(ids(backend, group("g")).is_empty());
    assert_eq!(ids(backend, lineage("run")), ["b"]);
    assert_eq!(lineages(backend, "", None, 10)[1].checkpoints, 1);
    apply(backend, vec![remove("b")]).unwrap();
    assert_eq!(names(backend, ""), ["other"], "the last of a lineage ends it");
    // The id of a removed checkpoint can be used again. The new checkpoint contains no data of the removed checkpoint.
    save(backend, [draft("run", "a")]);
    assert_eq!(get(backend, "a"), Some(draft("run", "a").0));
    assert!(ids(backend, group("g")).is_empty());
}

fn the_place_of_a_removed_last_is_not_given_out_again(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a"), draft("run", "b")]);
    apply(backend, vec![remove("b")]).unwrap();
    save(backend, [draft("run", "c")]);
    assert_eq!(ids(backend, lineage("run")), ["c", "a"]);
    // A unit can remove all checkpoints. The save order continues after that unit.
    apply(backend, vec![remove("a"), draft("run", "d").put(), remove("c"), remove("d")]).unwrap();
    save(backend, [draft("run", "e"), draft("run", "f")]);
    assert_eq!(ids(backend, lineage("run")), ["f", "e"]);
    apply(backend, vec![remove("e")]).unwrap();
    save(backend, [draft("run", "e")]);
    assert_eq!(ids(backend, lineage("run")), ["e", "f"]);
}

fn lineages_are_listed_last_begun_first(backend: &mut dyn Backend) {
    save(
        backend,
        [
            draft("first", "1").group("g").label("l").parent("p").sort_key(9.0),
            draft("second", "2").sort_key(1.0),
            draft("first", "3").sort_key(3.0),
            draft("third", "4"),
            draft("second", "5").sort_key(2.0),
        ],
    );
    let found = lineages(backend, "", None, 10);
    assert_eq!(found.iter().map(|line| line.newest.lineage.as_str()).collect::<Vec<_>>(), ["third", "second", "first"]);
    assert_eq!(found.iter().map(|line| line.checkpoints).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!(found[1].newest, draft("second", "5").sort_key(2.0).0.header);
    assert_eq!(found[2].newest, draft("first", "1").group("g").label("l").parent("p").sort_key(9.0).0.header);
    assert!(found.windows(2).all(|pair| pair[0].position > pair[1].position), "greater began later");
}

fn a_listing_of_lineages_goes_on_from_a_position(backend: &mut dyn Backend) {
    for n in 0..7_u8 {
        save(backend, [draft(&n.to_string(), &n.to_string()).group(if n % 2 == 0 { "even" } else { "odd" })]);
    }
    for (prefix, expected) in [("", "6543210"), ("even", "6420"), ("odd", "531"), ("o", "531")] {
        for limit in 1..8 {
            let (mut seen, mut before) = (String::new(), None);
            loop {
                let page = lineages(backend, prefix, before, limit);
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                before = Some(last.position);
                seen.extend(page.iter().map(|line| line.newest.lineage.as_str()));
            }
            assert_eq!(seen, expected, "{prefix:?} by {limit}");
        }
    }
    // If a lineage begins or ends between the queries for two pages, the other lineages keep their places.
    let page = lineages(backend, "", None, 3);
    save(backend, [draft("late", "late")]);
    apply(backend, vec![remove("4"), remove("3")]).unwrap();
    let rest = lineages(backend, "", Some(page[2].position), 10);
    assert_eq!(rest.iter().map(|line| line.newest.id.as_str()).collect::<Vec<_>>(), ["2", "1", "0"]);
}

/// Returns the names of a page of lineages by their activity, and the save number of the last one.
fn active(
    backend: &mut dyn Backend,
    order: ActivityOrder,
    after: Option<Seq>,
    limit: usize,
) -> (Vec<String>, Option<Seq>) {
    let recent = Recent {
        contracts: vec![CONTRACT_ID],
        named_as_group: false,
        matching: String::new(),
        statuses: Vec::new(),
        labels: Labels::default(),
        order,
        after,
        limit,
    };
    let found = backend.answer(&Query::Recent(recent)).unwrap().into_recent().unwrap();
    let last = found.last().map(|found| found.seq);
    (found.into_iter().map(|found| found.newest.lineage).collect(), last)
}

fn lineages_are_listed_by_their_last_activity(backend: &mut dyn Backend) {
    use ActivityOrder::{EarliestFirst, LatestFirst};
    save(backend, [draft("a", "a1").group("a"), draft("b", "b1").group("g"), draft("c", "c1").group("c")]);
    save(backend, [draft("a", "a2").sort_key(2.0).parent("a1").group("a")]);
    let mut other = draft("other", "other");
    other.0.header.contract = ContractId(7);
    save(backend, [other]);
    assert_eq!(active(backend, LatestFirst, None, 9).0, ["a", "c", "b"]);
    assert_eq!(active(backend, EarliestFirst, None, 9).0, ["b", "c", "a"]);
    // The newest checkpoint is the one with the greatest sort key, as everywhere, and not the one that was saved last.
    save(backend, [draft("a", "a0").sort_key(-1.0).group("a"), draft("b", "b0").sort_key(-1.0)]);
    assert_eq!(active(backend, LatestFirst, None, 9).0, ["a", "c", "b"]);
    save(backend, [draft("b", "b1").group("g")]);
    assert_eq!(active(backend, LatestFirst, None, 9).0, ["b", "a", "c"], "saved again");
    apply(backend, vec![remove("a2")]).unwrap();
    assert_eq!(active(backend, LatestFirst, None, 9).0, ["b", "c", "a"], "its newest is now an earlier one");
    apply(backend, vec![remove("c1")]).unwrap();
    assert_eq!(active(backend, EarliestFirst, None, 9).0, ["a", "b"]);
    let named = Recent {
        contracts: vec![CONTRACT_ID],
        named_as_group: true,
        matching: String::new(),
        statuses: Vec::new(),
        labels: Labels::default(),
        order: LatestFirst,
        after: None,
        limit: 9,
    };
    let found = backend.answer(&Query::Recent(named)).unwrap().into_recent().unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0], lineages(backend, "a", None, 9)[0], "as the other listing shows it");
    assert_eq!(found[0].checkpoints, 2);
}

fn pages_by_activity_stay_apart_while_lineages_are_active(backend: &mut dyn Backend) {
    let names: Vec<String> = (0..9).map(|number| format!("run {number}")).collect();
    apply(backend, names.iter().map(|name| draft(name, name).put()).collect::<Vec<_>>()).unwrap();
    for order in [ActivityOrder::LatestFirst, ActivityOrder::EarliestFirst] {
        for limit in 1..11 {
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let (page, last) = active(backend, order, after, limit);
                assert!(page.len() <= limit);
                if page.is_empty() {
                    break;
                }
                seen.extend(page);
                after = last;
            }
            if order == ActivityOrder::LatestFirst {
                seen.reverse();
            }
            assert_eq!(seen, names, "by {limit}");
        }
    }
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

fn the_first_group_decides(backend: &mut dyn Backend) {
    save(
        backend,
        [
            draft("run", "1").group("first"),
            draft("run", "2").group("second"),
            draft("bare", "3"),
            draft("bare", "4").group("second"),
        ],
    );
    assert_eq!(names(backend, "first"), ["run"]);
    assert!(names(backend, "second").is_empty());
    assert_eq!(names(backend, ""), ["bare", "run"]);
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

fn a_lineage_that_begins_anew_is_the_last(backend: &mut dyn Backend) {
    save(backend, [draft("a", "a").group("old"), draft("b", "b")]);
    let before = lineages(backend, "", None, 1)[0].position;
    apply(backend, vec![remove("a")]).unwrap();
    apply(backend, vec![remove("b")]).unwrap();
    save(backend, [draft("b", "b"), draft("a", "a").group("new")]);
    assert_eq!(names(backend, ""), ["a", "b"]);
    assert!(names(backend, "old").is_empty(), "its first checkpoint is another one now");
    assert_eq!(names(backend, "new"), ["a"]);
    assert!(lineages(backend, "", None, 10).iter().all(|line| line.position > before), "no position is used twice");
}

fn a_lineage_that_begins_anew_in_one_unit_is_the_last(backend: &mut dyn Backend) {
    let position = |backend: &mut dyn Backend| lineages(backend, "group", None, 1)[0].position;
    let mut last = 0;
    for round in 0..4 {
        let (before, id) = (format!("{}", round - 1), format!("{round}"));
        let put = draft("run", &id).group("group").put();
        // A removal of what is not there does nothing.
        apply(backend, vec![remove(&before), put]).unwrap();
        let begun = position(backend);
        assert!(begun > last, "round {round}: {begun} after {last}");
        save(backend, [draft("run", &id).group("group").saved_at(7)]);
        assert_eq!(position(backend), begun, "saving its checkpoint again leaves a lineage where it is");
        last = begun;
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
    let mut prune = |contract, rule| {
        let prune = Prune { contract, rule, cursor: Cursor::default(), most: 100 };
        backend.prune(&prune).unwrap().checkpoints
    };
    assert_eq!(prune(Some(effects), Rule::KeepLast(1)), 0);
    assert_eq!(prune(Some(messages), Rule::KeepLast(1)), 0);
    assert_eq!(prune(None, Rule::KeepLast(1)), 2);
    assert_eq!(prune(Some(CONTRACT_ID), Rule::SavedBefore(2)), 1);
    assert_eq!(prune(Some(effects), Rule::SavedBefore(2)), 3);
}

fn contracts_keep_the_same_ids_apart(backend: &mut dyn Backend) {
    let contracts = [ContractId(0), ContractId(1), ContractId(2), ContractId(255)];
    let made = |contract: ContractId| {
        let parts = vec![part("b", "t", vec![contract.0])];
        draft("run", "id").contract(contract).group("g").label("l").parts(parts)
    };
    for contract in contracts {
        save(backend, [made(contract)]);
    }
    let removed = Op::Remove { contract: ContractId(2), id: "id".to_owned() };
    apply(backend, vec![removed, Op::Remove { contract: ContractId(7), id: "id".to_owned() }]).unwrap();
    for contract in contracts {
        let expected = (contract != ContractId(2)).then(|| made(contract).0);
        let list = |of| Query::List { contract, of, before: None, limit: None };
        let get = Query::Get { contract, id: "id".to_owned() };
        assert_eq!(backend.answer(&get).unwrap().into_checkpoint().unwrap().map(|found| *found), expected);
        for label in [None, Some("l".to_owned())] {
            let newest = Query::Newest { contract, lineage: "run".to_owned(), label };
            assert_eq!(backend.answer(&newest).unwrap().into_checkpoint().unwrap().map(|found| *found), expected);
        }
        let header: Vec<_> = expected.into_iter().map(|found| found.header).collect();
        for of in [lineage("run"), group("g"), both("run", "g")] {
            assert_eq!(backend.answer(&list(of)).unwrap().into_headers().unwrap(), header);
        }
        let all = Query::Lineages { contract, group_prefix: "g".to_owned(), before: None, limit: 10 };
        let found = backend.answer(&all).unwrap().into_lineages().unwrap();
        assert_eq!(found.into_iter().map(|line| line.newest).collect::<Vec<_>>(), header);
    }
    assert_eq!(CONTRACT_ID, ContractId(1));
}

fn the_ops_of_a_unit_happen_in_order(backend: &mut dyn Backend) {
    let unit = vec![
        draft("run", "a").put(),
        draft("run", "b").put(),
        remove("a"),
        draft("run", "c").put(),
        draft("other", "c").put(),
        remove("not yet"),
        draft("run", "not yet").put(),
        draft("run", "a").label("again").put(),
    ];
    apply(backend, unit).unwrap();
    assert_eq!(ids(backend, lineage("run")), ["a", "not yet", "b"]);
    assert_eq!(ids(backend, lineage("other")), ["c"]);
    assert_eq!(get(backend, "a"), Some(draft("run", "a").label("again").0));
    assert_eq!(names(backend, ""), ["other", "run"]);
    apply(backend, vec![draft("brief", "x").put(), remove("x")]).unwrap();
    assert_eq!(names(backend, ""), ["other", "run"]);
}

fn the_units_of_a_batch_happen_in_order(backend: &mut dyn Backend) {
    let batch = [
        vec![draft("run", "a").put()],
        vec![remove("a"), draft("run", "b").put()],
        Vec::new(),
        vec![remove("unknown")],
        vec![draft("run", "a").put(), draft("run", "c").put()],
        vec![draft("run", "b").parts(Vec::new()).put()],
    ]
    .map(Unit::from);
    let applied: Vec<Applied> = backend.apply(&batch).into_iter().map(Result::unwrap).collect();
    assert_eq!(applied.iter().map(|applied| applied.appended.len()).collect::<Vec<_>>(), [0; 6], "one result per unit");
    let has_stored = applied.iter().map(|applied| applied.stored_bytes.is_some()).collect::<Vec<_>>();
    assert_eq!(has_stored, [true, true, false, false, true, true], "as much as the unit has put");
    assert_eq!(ids(backend, lineage("run")), ["b", "c", "a"]);
    assert_eq!(get(backend, "b"), Some(draft("run", "b").parts(Vec::new()).0));
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

fn whole_checkpoints_come_in_order(backend: &mut dyn Backend) {
    let large = |id: &str, seed| draft("run", id).parts(vec![part("state", "t", noise(seed, 5000))]);
    let grown = |id: &str| draft("run", id).parts(vec![part("state", "t", [noise(1, 5000), noise(2, 50)].concat())]);
    let all = [
        large("b", 1).sort_key(1.0),
        grown("c").sort_key(2.0),
        large("a", 3).sort_key(0.0),
        draft("run", "d").sort_key(2.0),
    ];
    save(backend, all.clone());
    save(backend, [draft("other", "e"), draft("run", "f").contract(ContractId(2))]);
    let [b, c, a, d] = all.map(|draft| draft.0);
    assert_eq!(whole(backend, lineage("run"), &[]), [a, b, c, d]);
    assert_eq!(whole(backend, lineage("none"), &[]), []);
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

fn written(task: &str, index: i64, claimed_by: Option<&str>, bytes: &str) -> Write {
    Write {
        task: task.to_owned(),
        index,
        claimed_by: claimed_by.map(str::to_owned),
        state: TaskState::default(),
        part: part("channel", "t", bytes),
    }
}

fn write(id: &str, replace: bool, writes: &[Write]) -> Op {
    Op::Write { contract: CONTRACT_ID, id: id.to_owned(), writes: writes.to_vec(), replace, encoded: None }
}

fn claim(id: &str, claimed_by: &str) -> Op {
    Op::Claim { contract: CONTRACT_ID, id: id.to_owned(), claimed_by: claimed_by.to_owned() }
}

fn tuple(backend: &mut dyn Backend, id: &str) -> Option<Box<Tuple>> {
    let query = Query::Tuple { contract: CONTRACT_ID, pick: Pick::Id(id.to_owned()) };
    backend.answer(&query).unwrap().into_tuple().unwrap()
}

fn writes_to(backend: &mut dyn Backend, id: &str) -> Vec<Write> {
    tuple(backend, id).unwrap().writes
}

fn the_first_write_to_a_place_stays_unless_it_is_replaced(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a"), draft("run", "b").sort_key(1.0)]);
    let first = [written("t2", 1, None, "x"), written("t1", 0, None, &"long ".repeat(500))];
    let again = [written("t2", 1, None, "later"), written("t2", 0, None, "y")];
    apply(backend, vec![write("a", false, &first), write("a", false, &again)]).unwrap();
    let [x, long] = first;
    assert_eq!(writes_to(backend, "a"), [x, again[1].clone(), long.clone()], "by task, as they began");
    apply(backend, vec![write("a", true, &again[..1])]).unwrap();
    assert_eq!(writes_to(backend, "a"), [again[0].clone(), again[1].clone(), long]);
    assert_eq!(writes_to(backend, "b"), []);
    let newest = Query::Tuple { contract: CONTRACT_ID, pick: Pick::Newest("run".to_owned()) };
    let found = backend.answer(&newest).unwrap().into_tuple().unwrap().unwrap();
    assert_eq!(found.checkpoint.header.id, "b");
}

fn what_is_claimed_makes_room(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a")]);
    let place = |claimed_by, bytes| written("t", 0, claimed_by, bytes);
    apply(backend, vec![write("a", false, &[place(None, "first")]), claim("a", "b")]).unwrap();
    apply(backend, vec![write("a", false, &[place(None, "second")]), claim("a", "c"), claim("none", "c")]).unwrap();
    apply(backend, vec![write("a", true, &[place(None, "third")])]).unwrap();
    let all = [place(Some("b"), "first"), place(Some("c"), "second"), place(None, "third")];
    assert_eq!(writes_to(backend, "a"), all);
}

fn writes_may_come_before_their_checkpoint_and_go_with_it(backend: &mut dyn Backend) {
    let one = [written("t", 0, None, "x")];
    let all = ["a", "ab", "b", "%"];
    let unit = all.map(|id| write(id, false, &one));
    apply(backend, unit.to_vec()).unwrap();
    assert_eq!(tuple(backend, "a"), None);
    save(backend, all.map(|id| draft(&format!("run of {id}"), id).group("g")));
    save(backend, [draft("run of a", "a").group("g").meta(b"anew")]);
    for id in all {
        assert_eq!(writes_to(backend, id), one, "a checkpoint that is replaced keeps what was written to it");
    }
    apply(backend, vec![Op::RemoveWrites { contract: CONTRACT_ID, prefix: "a".to_owned() }, remove("b")]).unwrap();
    save(backend, [draft("run of b", "b")]);
    assert_eq!(all.map(|id| writes_to(backend, id).len()), [0, 0, 0, 1]);
    apply(backend, vec![remove_lineages("run of %")]).unwrap();
    assert_eq!(names(backend, ""), ["run of b", "run of ab", "run of a"]);
    save(backend, [draft("run", "%")]);
    assert_eq!(writes_to(backend, "%"), [], "a lineage takes along what was written to its checkpoints");
}

fn what_is_inherited_is_the_parents(backend: &mut dyn Backend) {
    let parts = |names: &[&str], version: &str| {
        names.iter().map(|name| part(name, "t", format!("{name} of {version}"))).collect::<Vec<_>>()
    };
    let inheriting = |id: &str, parent: &str, sort_key: f64, inherit: &[&str]| {
        draft("run", id).parent(parent).sort_key(sort_key).parts(parts(&["m"], id)).inherit(inherit)
    };
    save(backend, [draft("run", "a").sort_key(0.0).parts(parts(&["x", "y"], "a"))]);
    save(backend, [draft("run", "b").sort_key(1.0).parts(parts(&["x", "z"], "b"))]);
    save(backend, [inheriting("c", "a", 2.0, &["x", "z", "none"]), inheriting("d", "gone", 3.0, &["x", "a"])]);
    let found = |backend: &mut dyn Backend, id: &str| get(backend, id).unwrap().payload;
    let of = |name: &str, version: &str| part(name, "t", format!("{name} of {version}"));
    let c = found(backend, "c");
    assert_eq!(c.parts, [of("m", "c"), of("x", "a"), of("z", "b")], "in the order of their names");
    assert_eq!(found(backend, "d").parts, [of("m", "d"), of("x", "a")], "the newest that has it is c");
    let like = vec![of("x", "b"), of("z", "none")];
    save(backend, [inheriting("e", "gone", 4.0, &["x", "z"]).like(like)]);
    assert_eq!(found(backend, "e").parts, [of("m", "e"), of("x", "b"), of("z", "b")], "b has the newest that is equal");
    apply(backend, vec![remove("e")]).unwrap();
    save(backend, [inheriting("d", "a", 3.0, &["x"])]);
    for id in ["a", "b", "c"] {
        apply(backend, vec![remove(id)]).unwrap();
    }
    assert_eq!(found(backend, "d").parts, [of("m", "d"), of("x", "a")], "it has them for good");
}

fn a_lineage_is_as_its_writer_knows_it_or_nothing_is_done(backend: &mut dyn Backend) {
    let after = |newest: Option<&str>, id: &str, sort_key: f64| Unit {
        expect: vec![expect("run", newest, id)],
        ops: vec![draft("run", id).sort_key(sort_key).put()],
    };
    let mut done = |units: Vec<Unit>| -> Vec<Option<Code>> {
        backend.apply(&units).into_iter().map(|done| done.err().map(|error| error.code())).collect()
    };
    let conflict = Some(Code::Conflict);
    assert_eq!(
        done(vec![after(Some("a"), "b", 1.0), after(None, "a", 0.0), after(None, "x", 9.0)]),
        [conflict, None, conflict]
    );
    assert_eq!(
        done(vec![after(Some("a"), "b", 1.0), after(Some("a"), "c", 2.0)]),
        [None, conflict],
        "in one batch too"
    );
    assert_eq!(done(vec![after(Some("a"), "b", 1.0)]), [None], "again");
    assert_eq!(done(vec![after(None, "a", 0.0)]), [conflict], "but not what others have gone on from");
    assert_eq!(ids(backend, lineage("run")), ["b", "a"]);
}

fn ancestors_are_those_up_to_what_is_wanted(backend: &mut dyn Backend) {
    let versions = |names: &[&str]| names.iter().map(|name| part(name, "t", *name)).collect::<Vec<_>>();
    save(backend, [draft("run", "a").sort_key(0.0).parts(versions(&["x\0 1", "y\0 1"]))]);
    save(backend, [draft("run", "b").sort_key(1.0).parent("a").parts(versions(&["x\0 2", "x\0y\0 2"]))]);
    save(backend, [draft("run", "c").sort_key(2.0).parent("b").parts(versions(&["z"]))]);
    save(backend, [draft("run", "d").sort_key(3.0).parent("c").parts(versions(&["x\0 4"]))]);
    let named = |index, name| Write {
        task: "t".to_owned(),
        index,
        claimed_by: None,
        state: TaskState::default(),
        part: part(name, "t", ""),
    };
    let writes = [write("b", false, &[named(0, "x"), named(1, "other")]), write("c", false, &[named(0, "x")])];
    apply(backend, writes.to_vec()).unwrap();
    let asked = |backend: &mut dyn Backend, stems: &[&str], limit| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let asked =
            Ancestors { contract: CONTRACT_ID, id: "c".to_owned(), stems: owned(stems), writes: owned(&["x"]), limit };
        let found = backend.answer(&Query::Ancestors(asked)).unwrap().into_tuples().unwrap();
        let shown = |found: Tuple| {
            let parts = found.checkpoint.payload.parts.into_iter().map(|part| part.name).collect::<Vec<_>>().join(",");
            format!("{}: {parts} {}", found.checkpoint.header.id, found.writes.len())
        };
        found.into_iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(asked(backend, &["x"], 9), ["c:  1", "b: x\0 2 1"]);
    assert_eq!(
        asked(backend, &["x", "y"], 9),
        ["c:  1", "b: x\0 2 1", "a: y\0 1 0"],
        "what was found is wanted no more"
    );
    assert_eq!(asked(backend, &["none", "z"], 2), ["c:  1", "b:  1"], "z is no version of anything");
    assert_eq!(asked(backend, &[], 9), [""; 0]);
    save(backend, [draft("run", "a").sort_key(0.0).parent("d")]);
    assert_eq!(asked(backend, &["none"], 9).len(), 9, "in a circle as far as it is let");
}

fn removing_from_a_rank_on(backend: &mut dyn Backend) {
    let from =
        |lineage: &str, sort_key| Op::RemoveFrom { contract: CONTRACT_ID, lineage: lineage.to_owned(), sort_key };
    let heavy = |id: &str, sort_key: f64| heavy("run", id, 1).sort_key(sort_key);
    save(backend, [heavy("a", 0.0), heavy("b", 1.0), heavy("c", 2.0), heavy("d", 3.0)]);
    // This checkpoint is stored as a delta. Its base is removed below.
    save(backend, [common::draft("fork", "e").parent("c").parts(heavy("e", 0.0).0.payload.parts)]);
    apply(backend, vec![from("run", SortKey::from_f64(2.0)), heavy("c", 2.0).put()]).unwrap();
    assert_eq!(ids(backend, lineage("run")), ["c", "b", "a"]);
    assert_eq!(get(backend, "c").unwrap(), heavy("c", 2.0).0);
    assert_eq!(get(backend, "e").unwrap().payload, heavy("e", 0.0).0.payload);
    apply(backend, vec![from("none", SortKey::default()), from("run", SortKey::default())]).unwrap();
    assert_eq!(names(backend, ""), ["fork"]);
    save(backend, [heavy("a", 0.0)]);
    assert_eq!(ids(backend, lineage("run")), ["a"], "a run that was cleared begins anew");
}

fn retention_by_number_goes_by_the_save_order_where_the_header_says_so(backend: &mut dyn Backend) {
    let aged = |id: &str, step: f64, age: f64| {
        let mut draft = draft("run", id).contract(ContractId(2)).age_offset(8);
        draft.0.header.sort_key = SortKey::from_f64(step).then(&SortKey::from_f64(age));
        draft
    };
    let left = |backend: &mut dyn Backend| -> Vec<String> {
        let query = Query::Whole { contract: ContractId(2), of: lineage("run"), prefix: Vec::new() };
        let found = backend.answer(&query).unwrap().into_checkpoints().unwrap();
        found.into_iter().map(|found| found.header.id).collect()
    };
    save(backend, [aged("d", 3.0, 9.0), aged("a", 0.0, 9.0), aged("c", 2.0, 5.0), aged("b", 1.0, 1.0)]);
    let keep_last = |keep, pinned: &str| Op::KeepLast {
        contract: ContractId(2),
        lineage: "run".to_owned(),
        keep,
        pinned: pinned.to_owned(),
    };
    apply(backend, vec![keep_last(3, "d")]).unwrap();
    assert_eq!(left(backend), ["b", "c", "d"], "the first save goes, but not the one that is pinned");
    apply(backend, vec![keep_last(2, "b")]).unwrap();
    assert_eq!(left(backend), ["b", "c"]);
    let prune = Prune { contract: None, rule: Rule::KeepLast(1), cursor: Cursor::default(), most: 10 };
    backend.prune(&prune).unwrap();
    assert_eq!(left(backend), ["b"]);
    assert_eq!(newest(backend, "run", None), None, "another contract's run of that name");
}

fn keep_last(lineage: &str, keep: u64, pinned: &str) -> Op {
    Op::KeepLast { contract: CONTRACT_ID, lineage: lineage.to_owned(), keep, pinned: pinned.to_owned() }
}

/// Prunes batch by batch until nothing is left to prune. Returns the total numbers of removed checkpoints, removed
/// lineages and bytes.
fn prune(backend: &mut dyn Backend, rule: Rule, most: usize) -> (u64, u64, i64) {
    let (mut sum, mut next) = ((0, 0, 0), Some(Cursor::default()));
    while let Some(cursor) = next {
        let done = backend.prune(&Prune { contract: Some(CONTRACT_ID), rule, cursor, most }).unwrap();
        assert!(done.checkpoints <= most as u64);
        sum = (sum.0 + done.checkpoints, sum.1 + done.lineages, sum.2 + done.bytes);
        next = done.next;
    }
    sum
}

fn stats(backend: &mut dyn Backend, contract: Option<ContractId>, largest: usize) -> Stats {
    backend.answer(&Query::Stats { contract, largest, by_status: true }).unwrap().into_stats().unwrap()
}

/// A checkpoint with 10,000 bytes that do not compress.
fn heavy(lineage: &str, id: &str, seed: u64) -> common::Draft {
    draft(lineage, id).parts(vec![part("b", "t", noise(seed, 10_000))])
}

fn a_lineage_keeps_its_newest(backend: &mut dyn Backend) {
    for n in 0..6_u8 {
        let id = n.to_string();
        apply(backend, vec![draft("run", &id).put(), keep_last("run", 3, &id), draft("other", &format!("o{n}")).put()])
            .unwrap();
    }
    assert_eq!(ids(backend, lineage("run")), ["5", "4", "3"]);
    assert_eq!(ids(backend, lineage("other")).len(), 6, "others are left alone");
    apply(backend, vec![keep_last("unknown", 1, "5"), keep_last("run", u64::MAX, "unknown")]).unwrap();
    assert_eq!(ids(backend, lineage("run")), ["5", "4", "3"]);
    apply(backend, vec![keep_last("run", 1, "unknown")]).unwrap();
    assert_eq!(ids(backend, lineage("run")), ["5"]);
    assert_eq!(get(backend, "4"), None);
}

fn the_one_just_saved_is_never_removed_for_its_rank(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a").sort_key(2.0), draft("run", "b").sort_key(3.0)]);
    apply(backend, vec![draft("run", "low").sort_key(1.0).put(), keep_last("run", 2, "low")]).unwrap();
    assert_eq!(ids(backend, lineage("run")), ["b", "low"], "it counts among those that stay");
    apply(backend, vec![draft("run", "c").sort_key(2.5).put(), keep_last("run", 2, "c")]).unwrap();
    assert_eq!(ids(backend, lineage("run")), ["b", "c"], "and has no privilege later");
    apply(backend, vec![draft("run", "lowest").sort_key(0.0).put(), keep_last("run", 1, "lowest")]).unwrap();
    assert_eq!(ids(backend, lineage("run")), ["lowest"]);
}

fn pruning_by_age_goes_by_the_time_of_saving(backend: &mut dyn Backend) {
    // A clock can go back. So only `saved_at` gives the age of a checkpoint. Neither the sort key nor the save order
    // gives the age.
    for (id, sort_key, at) in [("a", 1.0, 50), ("b", 9.0, 10), ("c", 2.0, 30), ("d", 0.0, 29)] {
        save(backend, [draft("run", id).sort_key(sort_key).saved_at(at)]);
    }
    save(backend, [draft("old", "e").saved_at(-5)]);
    assert_eq!(prune(backend, Rule::SavedBefore(30), 10).0, 3);
    assert_eq!(ids(backend, lineage("run")), ["c", "a"]);
    assert_eq!(names(backend, ""), ["run"], "the newest of a lineage goes too");
    assert_eq!(prune(backend, Rule::SavedBefore(30), 10), (0, 0, 0));
    assert_eq!(get(backend, "c").unwrap().header.saved_at, 30);
}

fn pruning_by_number_is_by_lineage(backend: &mut dyn Backend) {
    for n in 0..10_u8 {
        save(backend, [draft("a", &format!("a{n}")).sort_key(f64::from(10 - n)), draft("b", &format!("b{n}"))]);
    }
    save(backend, [draft("c", "c0")]);
    let removed = prune(backend, Rule::KeepLast(2), 3);
    assert_eq!((removed.0, removed.1), (16, 0));
    assert_eq!(ids(backend, lineage("a")), ["a0", "a1"], "by sort key");
    assert_eq!(ids(backend, lineage("b")), ["b9", "b8"], "then by save order");
    assert_eq!(ids(backend, lineage("c")), ["c0"]);
    let removed = prune(backend, Rule::KeepLast(0), 3);
    assert_eq!((removed.0, removed.1), (5, 3));
    assert!(names(backend, "").is_empty());
}

fn pruning_by_bytes_takes_the_first_saved(backend: &mut dyn Backend) {
    for n in 0..20_u64 {
        save(backend, [heavy(if n % 2 == 0 { "a" } else { "b" }, &n.to_string(), n)]);
    }
    save(backend, [heavy("late", "late", 99)]);
    let before = stats(backend, None, 0).total().stored_bytes;
    assert!((210_000..215_000).contains(&before), "{before}");
    let removed = prune(backend, Rule::MaxBytes(100_500), 3);
    assert_eq!((removed.0, removed.1), (11, 0));
    let after = stats(backend, None, 0).total().stored_bytes;
    assert!(after <= 100_500, "{after}");
    assert_eq!(i64::try_from(before - after).unwrap(), removed.2, "the bytes are those that are gone");
    assert_eq!(ids(backend, lineage("a")), ["18", "16", "14", "12"]);
    assert_eq!(ids(backend, lineage("b")), ["19", "17", "15", "13", "11"]);
    assert_eq!(prune(backend, Rule::MaxBytes(100_500), 3), (0, 0, 0));
    // Each lineage keeps its newest checkpoint, even if the limit is too small for that checkpoint.
    prune(backend, Rule::MaxBytes(1), 3);
    assert_eq!(["a", "b", "late"].map(|name| ids(backend, lineage(name))), [["18"], ["19"], ["late"]]);
}

fn a_batch_of_pruning_is_bounded(backend: &mut dyn Backend) {
    for n in 0..30_u8 {
        save(backend, [draft(&format!("run {}", n % 3), &n.to_string())]);
    }
    for (rule, expected) in [(Rule::SavedBefore(1), [4, 4, 4]), (Rule::KeepLast(1), [4, 4, 4])] {
        let mut cursor = Cursor::default();
        let step = |cursor| Prune { contract: None, rule, cursor, most: 4 };
        for expected in expected {
            let done = backend.prune(&step(cursor)).unwrap();
            assert_eq!(done.checkpoints, expected, "{rule:?}");
            cursor = done.next.unwrap();
        }
    }
    assert_eq!(stats(backend, None, 0).total().checkpoints, 6);
}

fn pruning_stays_within_its_contract(backend: &mut dyn Backend) {
    let other = |id: &str| heavy("run", id, 1).contract(ContractId(2));
    save(backend, [heavy("run", "a", 2), heavy("run", "b", 3), other("a"), other("b")]);
    for rule in [Rule::MaxBytes(15_000), Rule::KeepLast(1), Rule::SavedBefore(1)] {
        prune(backend, rule, 10);
    }
    let left = stats(backend, None, 9);
    assert_eq!((left.of(CONTRACT_ID).checkpoints, left.of(ContractId(2)).checkpoints), (0, 2));
    let all = Prune { contract: None, rule: Rule::SavedBefore(1), cursor: Cursor::default(), most: 10 };
    assert_eq!(backend.prune(&all).unwrap().checkpoints, 2);
}

fn what_would_be_removed_is_what_is_removed(backend: &mut dyn Backend) {
    for n in 0..40_u8 {
        let made = heavy(&format!("run {}", n % 4), &n.to_string(), u64::from(n));
        save(backend, [made.saved_at(i64::from(n))]);
    }
    let rules = [Rule::SavedBefore(8), Rule::KeepLast(5), Rule::MaxBytes(120_000)];
    let asked = Query::Prunable { contract: Some(CONTRACT_ID), rules: rules.to_vec() };
    let planned = backend.answer(&asked).unwrap().into_pruned().unwrap();
    assert_eq!(stats(backend, None, 0).total().checkpoints, 40, "asking removes nothing");
    let done = rules.map(|rule| prune(backend, rule, 7));
    assert_eq!(done.map(|done| done.0), [8, 12, 9]);
    assert_eq!(planned.checkpoints, 29);
    assert_eq!(planned.bytes, done.iter().map(|done| done.2).sum::<i64>());
    assert_eq!(planned.next, None);
}

fn the_place_of_a_pruned_last_is_not_given_out_again(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a").saved_at(5), draft("run", "b"), draft("run", "c")]);
    assert_eq!(prune(backend, Rule::SavedBefore(1), 10).0, 2);
    save(backend, [draft("run", "d").saved_at(5)]);
    assert_eq!(ids(backend, lineage("run")), ["d", "a"]);
    assert_eq!(prune(backend, Rule::SavedBefore(9), 10).1, 1);
    save(backend, [draft("run", "e"), draft("run", "f")]);
    assert_eq!(ids(backend, lineage("run")), ["f", "e"]);
}

fn statistics_add_up(backend: &mut dyn Backend) {
    let empty = stats(backend, None, 5);
    assert_eq!((empty.total(), empty.is_estimate, empty.largest.len()), (Sizes::default(), false, 0));
    for n in 0..12_u64 {
        save(backend, [heavy(&format!("run {}", n % 5), &n.to_string(), n), draft("small", &format!("s{n}"))]);
    }
    save(backend, [draft("run 0", "elsewhere").contract(ContractId(2))]);
    let stored = stats(backend, None, 3);
    let all = stored.total();
    assert_eq!((all.checkpoints, all.lineages), (25, 7));
    assert!(all.logical_bytes > 120_000 && all.stored_bytes > 120_000, "{all:?}");
    let shown: Vec<_> = stored.largest.iter().map(|of| (of.lineage.as_str(), of.checkpoints)).collect();
    assert_eq!(shown, [("run 0", 3), ("run 1", 3), ("run 2", 2)], "the largest first");
    let [one, two] = [CONTRACT_ID, ContractId(2)].map(|contract| stored.of(contract));
    assert_eq!([one, two].into_iter().sum::<Sizes>(), all, "{stored:?}");
    assert_eq!((two.checkpoints, two.lineages), (1, 1));
    let [of_one, of_two] = [CONTRACT_ID, ContractId(2)].map(|contract| stats(backend, Some(contract), 10).largest);
    assert_eq!(of_one.iter().map(|of| of.stored_bytes).sum::<u64>(), one.stored_bytes);
    assert_eq!(of_two.len(), 1);
    assert!(stats(backend, Some(ContractId(9)), 10).largest.is_empty());
}

fn vacuum_changes_nothing_that_can_be_asked(backend: &mut dyn Backend) {
    save(backend, [heavy("run", "a", 1), heavy("run", "b", 2), heavy("run", "c", 3)]);
    apply(backend, vec![remove("c")]).unwrap();
    let before = stats(backend, None, 9);
    backend.vacuum().unwrap();
    let after = stats(backend, None, 9);
    assert_eq!(
        Stats { file_bytes: before.file_bytes, log_bytes: before.log_bytes, free_bytes: before.free_bytes, ..after },
        before
    );
    assert_eq!(get(backend, "b"), Some(heavy("run", "b", 2).0));
    save(backend, [draft("run", "d")]);
    assert_eq!(ids(backend, lineage("run")), ["d", "b", "a"]);
}

fn everything_is_there_after_opening_again(place: &Place) {
    let made = draft("run", "a").group("g").label("l").sort_key(-1.5).parent("p");
    let mut backend = (place.open)();
    save(&mut *backend, [made.clone(), draft("run", "b").sort_key(-1.5), draft("other", "c")]);
    apply(&mut *backend, vec![remove("c")]).unwrap();
    drop(backend);
    let mut backend = (place.open)();
    assert_eq!(get(&mut *backend, "a"), Some(made.0));
    assert_eq!(ids(&mut *backend, lineage("run")), ["b", "a"]);
    assert_eq!(names(&mut *backend, ""), ["run"]);
    // c was the last checkpoint. The save number of c and the position of its lineage must not be used again.
    save(&mut *backend, [draft("run", "d").sort_key(-1.5)]);
    assert_eq!(ids(&mut *backend, lineage("run")), ["d", "b", "a"]);
}

fn another_backend_sees_what_was_answered_ok(place: &Place) {
    let (mut one, mut two) = ((place.open)(), (place.open)());
    for n in 0..20_u8 {
        let id = n.to_string();
        apply(&mut *one, vec![draft("run", &id).put(), draft("run", &format!("{id} too")).put()]).unwrap();
        assert_eq!(get(&mut *two, &id), Some(draft("run", &id).0));
        assert_eq!(newest(&mut *two, "run", None), Some(format!("{id} too")));
        std::mem::swap(&mut one, &mut two);
    }
    apply(&mut *one, vec![remove("3")]).unwrap();
    assert_eq!(get(&mut *two, "3"), None);
}

fn one_save_order_across_backends(place: &Place) {
    let mut backends = [(place.open)(), (place.open)(), (place.open)()];
    for n in 0..12_usize {
        save(&mut *backends[n % 3], [draft("run", &n.to_string()).group("g")]);
    }
    // One backend replaces a checkpoint that another backend saved.
    save(&mut *backends[1], [draft("run", "0").group("g")]);
    let expected = ["0", "11", "10", "9", "8", "7", "6", "5", "4", "3", "2", "1"];
    for backend in &mut backends {
        assert_eq!(ids(&mut **backend, lineage("run")), expected);
        assert_eq!(ids(&mut **backend, group("g")), expected);
    }
}

fn a_removed_last_place_is_not_given_out_by_another_backend(place: &Place) {
    let (mut one, mut two) = ((place.open)(), (place.open)());
    save(&mut *one, [draft("run", "a"), draft("run", "b"), draft("run", "c")]);
    apply(&mut *one, vec![remove("c"), remove("b")]).unwrap();
    save(&mut *two, [draft("run", "d")]);
    save(&mut *one, [draft("run", "e")]);
    assert_eq!(ids(&mut *two, lineage("run")), ["e", "d", "a"]);
}

/// A worker that has lost its lease writes under the condition that the lease is still there. The lease's lineage is the
/// one that the worker wrote last, so it still knows the lease as the newest checkpoint.
fn a_condition_sees_what_another_backend_has_done(place: &Place) {
    let changes = {
        let written = [written("task", 0, None, "too late")];
        [
            ("writes", vec![write("a", false, &written)]),
            ("claims", vec![claim("a", "b")]),
            ("writes, then claims", vec![write("a", false, &written), claim("a", "b")]),
            ("a checkpoint", vec![draft("run", "late").put()]),
            ("a checkpoint and writes", vec![draft("run", "late").put(), write("a", false, &written)]),
            ("a removal", vec![remove("a")]),
        ]
    };
    let (mut one, mut two) = ((place.open)(), (place.open)());
    let early = written("early", 0, None, "in time");
    save(&mut *one, [draft("run", "a")]);
    apply(&mut *one, vec![write("a", false, std::slice::from_ref(&early))]).unwrap();
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

fn one_sequence_of_lineages_across_backends(place: &Place) {
    let (mut one, mut two) = ((place.open)(), (place.open)());
    save(&mut *one, [draft("a", "1")]);
    save(&mut *two, [draft("b", "2")]);
    save(&mut *one, [draft("b", "3").sort_key(1.0), draft("c", "4")]);
    apply(&mut *two, vec![remove("1")]).unwrap();
    save(&mut *one, [draft("a", "1")]);
    assert_eq!(names(&mut *two, ""), ["a", "c", "b"]);
    assert_eq!(lineages(&mut *one, "", None, 10), lineages(&mut *two, "", None, 10));
}
