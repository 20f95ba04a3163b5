//! Calls of a backend and of a store.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use forkpoint_engine::backend::sqlite::Options;

use super::prelude::*;

/// Applies a unit and returns the outcomes of its appends.
pub(crate) fn appended(backend: &mut dyn Backend, unit: impl Into<Unit>) -> Vec<Appended> {
    apply(backend, unit).unwrap().appended
}

/// The range of a whole log: either the present log, or the log as the checkpoint `at` keeps it.
pub(crate) fn log_range(lineage: &str, log: &str, at: Option<&str>) -> LogRange {
    LogRange {
        contract: CONTRACT_ID,
        lineage: lineage.to_owned(),
        log: log.to_owned(),
        at: at.map(str::to_owned),
        from: LogSide::First,
        skip: 0,
        limit: usize::MAX,
    }
}

pub(crate) fn page(backend: &mut dyn Backend, range: LogRange) -> Option<LogPage> {
    backend.answer(&Query::Log(range)).unwrap().into_log().unwrap()
}

/// Returns the contents of all records of a log.
pub(crate) fn log(backend: &mut dyn Backend, lineage: &str, log: &str) -> Vec<String> {
    contents(&page(backend, log_range(lineage, log, None)).unwrap())
}

/// Returns the contents of the records of a log that a checkpoint keeps.
pub(crate) fn log_at(backend: &mut dyn Backend, lineage: &str, log: &str, checkpoint: &str) -> Option<Vec<String>> {
    page(backend, log_range(lineage, log, Some(checkpoint))).as_ref().map(contents)
}

/// Returns the contents of a page's records. The page must hold the whole log.
fn contents(page: &LogPage) -> Vec<String> {
    assert_eq!((page.start, page.length), (0, page.records.len() as u64));
    page.records.iter().map(|record| String::from_utf8(record.bytes.to_vec()).unwrap()).collect()
}

/// The logs of a lineage.
pub(crate) fn logs(backend: &mut dyn Backend, lineage: &str) -> Vec<(String, u64)> {
    let query = Query::Logs { contract: CONTRACT_ID, lineage: lineage.to_owned() };
    let found = backend.answer(&query).unwrap().into_logs().unwrap();
    found.into_iter().map(|mark| (mark.log, mark.length)).collect()
}

/// Applies one unit.
pub(crate) fn apply(backend: &mut dyn Backend, unit: impl Into<Unit>) -> Result<Applied> {
    let mut outcomes = backend.apply(&[unit.into()]);
    assert_eq!(outcomes.len(), 1, "one result per unit");
    outcomes.remove(0)
}

/// Saves checkpoints. Each checkpoint has a unit of its own.
pub(crate) fn save<const N: usize>(backend: &mut dyn Backend, drafts: [Draft; N]) {
    for draft in drafts {
        apply(backend, vec![draft.put()]).unwrap();
    }
}

pub(crate) fn get_query(id: &str) -> Query {
    Query::Get { contract: CONTRACT_ID, id: id.to_owned() }
}

pub(crate) fn get(backend: &mut dyn Backend, id: &str) -> Option<Checkpoint> {
    try_get(backend, id).unwrap()
}

pub(crate) fn try_get(backend: &mut dyn Backend, id: &str) -> Result<Option<Checkpoint>> {
    Ok(backend.answer(&get_query(id))?.into_checkpoint()?.map(|found| *found))
}

pub(crate) fn newest_query(lineage: &str, label: Option<&str>) -> Query {
    Query::Newest { contract: CONTRACT_ID, lineage: lineage.to_owned(), label: label.map(str::to_owned) }
}

/// Returns the id of the newest checkpoint.
pub(crate) fn newest(backend: &mut dyn Backend, lineage: &str, label: Option<&str>) -> Option<String> {
    let answer = backend.answer(&newest_query(lineage, label)).unwrap();
    answer.into_checkpoint().unwrap().map(|found| found.header.id)
}

pub(crate) fn lineage(name: &str) -> Of {
    Of::Lineage(name.to_owned())
}

pub(crate) fn group(name: &str) -> Of {
    Of::Group(name.to_owned())
}

pub(crate) fn both(lineage: &str, group: &str) -> Of {
    Of::LineageInGroup { lineage: lineage.to_owned(), group: group.to_owned() }
}

pub(crate) fn list_query(of: Of, limit: Option<usize>) -> Query {
    Query::List { contract: CONTRACT_ID, of, before: None, limit }
}

pub(crate) fn headers(backend: &mut dyn Backend, of: Of, limit: Option<usize>) -> Vec<Header> {
    backend.answer(&list_query(of, limit)).unwrap().into_headers().unwrap()
}

/// Returns the ids of a whole listing, in the order of the listing.
pub(crate) fn ids(backend: &mut dyn Backend, of: Of) -> Vec<String> {
    headers(backend, of, None).into_iter().map(|header| header.id).collect()
}

pub(crate) fn lineages(
    backend: &mut dyn Backend,
    group_prefix: &str,
    before: Option<i64>,
    limit: usize,
) -> Vec<Lineage> {
    let query = Query::Lineages { contract: CONTRACT_ID, group_prefix: group_prefix.to_owned(), before, limit };
    backend.answer(&query).unwrap().into_lineages().unwrap()
}

/// Returns the names of all lineages whose group begins with this prefix, in the order of the listing.
pub(crate) fn names(backend: &mut dyn Backend, group_prefix: &str) -> Vec<String> {
    lineages(backend, group_prefix, None, usize::MAX).into_iter().map(|lineage| lineage.newest.lineage).collect()
}

/// False for writes whose checkpoint has not come, which is no damage.
pub(crate) fn is_damage(found: &Finding) -> bool {
    (found.code, found.severity) != (FindingCode::Orphan, Severity::Note)
}

/// Runs a full check and returns the damage that it has found.
pub(crate) fn findings(backend: &mut dyn Backend) -> Vec<Finding> {
    check(backend, 1000).1
}

/// Makes an asynchronous call and does not wait for the outcome. The channel receives the outcome.
pub(crate) fn pending<T: Send + 'static>(hand_in: impl FnOnce(Reply<T>)) -> Receiver<Result<T>> {
    let (sent, outcome) = channel();
    // A failed send is ignored, because the test may have dropped the receiver.
    hand_in(Reply::new(move |outcome| drop(sent.send(outcome))));
    outcome
}

/// Makes an asynchronous call, waits for the outcome, and returns it.
pub(crate) fn call<T: Send + 'static>(hand_in: impl FnOnce(Reply<T>)) -> Result<T> {
    pending(hand_in).recv().unwrap()
}

pub(crate) fn store_get(store: &Store, id: &str) -> Result<Option<Checkpoint>> {
    let answer: Answer = call(|reply| store.ask(get_query(id), reply))?;
    Ok(answer.into_checkpoint()?.map(|found| *found))
}

pub(crate) fn store_ids(store: &Store, of: Of) -> Result<Vec<String>> {
    let answer: Answer = call(|reply| store.ask(list_query(of, None), reply))?;
    Ok(answer.into_headers()?.into_iter().map(|header| header.id).collect())
}

/// Opens a SQLite backend on the file at `path`.
pub(crate) fn sqlite(path: &Path, journal: Journal, durability: Durability) -> Result<Sqlite> {
    Sqlite::open(&Options { journal: Some(journal), durability, ..Options::new(path) })
}

/// Returns the result of `PRAGMA integrity_check`. The connection does not use the engine.
pub(crate) fn integrity(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}
