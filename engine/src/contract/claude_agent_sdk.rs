//! The sessions of the Claude Agent SDK: transcripts that grow.
//!
//! A session is a lineage, named by its project and its id. Its logs are its transcripts: [`MAIN`], and one for each
//! subpath. Its only checkpoint is the *row*. The row's save time is the session's `mtime`, its meta the summary as
//! JSON, and its sort key its version. Every change of the main transcript expects the version that it read, and stores
//! the next one. So a summary that is not empty covers all entries, even if several processes append.
//!
//! A subagent may append before the main transcript. The row then has the label `NO_MAIN`. So inspectors, totals and
//! retention reach each session that has data, but lists of the SDK do not show this one yet.
//!
//! An entry is a record with its `uuid` as key, so an entry that is sent twice is stored once.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::call::{PackedRecords, RawCall, Request};
use super::entry::{Contract, Names, Shown};
use super::ids::{check_id, damaged};
use super::incarnation::is_incarnation;
use super::response::{Listed, PackedPart, Response, ResponseBuilder};
use super::thread;
use super::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, LogEnd, LogMust, Must, Op, Unit};
use crate::query::{Answer, LogRange, Of, Query};
use crate::record::{ContractId, Header, SortKey};

pub const CONTRACT_ID: ContractId = ContractId(10);
pub const CONTRACT: Contract = Contract {
    noun: "session",
    name_of,
    lineage_of: |session, project| thread::lineage(project, session),
    id_of: |session, project, _| thread::lineage(project, session),
    single: true,
    records_of: Some(|session, project, _| main_log(thread::lineage(project, session))),
    remove: Some(|session, project| delete(thread::lineage(project, session))),
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("claude-agent-sdk", CONTRACT_ID, request, show)
};

/// The log of the main transcript. The name of any other log begins with a colon.
pub const MAIN: &str = "main";
const SUBPATH: char = ':';
/// The label of the row of a session that has no main transcript yet.
const NO_MAIN: &str = "no main transcript";

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Appends entries. The buffer holds them in order. In the transcript of a subpath, entries that it already has are
    /// left out. For the main transcript, fails with [`Code::Conflict`] if it already has an entry. `row`: the row to
    /// store, always for the main transcript, and for a subpath if the session has none. `known`: fails with
    /// [`Code::Conflict`] if the session has no row, because it was removed. `incarnation`: the session must have this
    /// incarnation.
    Append {
        of: Session,
        subpath: Option<String>,
        entries: PackedRecords,
        row: Option<Row>,
        known: bool,
        #[serde(default)]
        #[ts(type = "Exact | undefined")]
        incarnation: Option<i64>,
    },
    /// Keeps the first `length` entries.
    Truncate { of: Session, subpath: Option<String>, length: u64, row: Option<Row> },
    /// Removes a session. With `seen`, only if its row still has this version.
    Remove { of: Session, seen: Option<u64> },
    /// Removes the transcript of a subpath.
    RemoveSubpath { of: Session, subpath: String },
    /// Reads the entries from position `skip` on.
    Entries { of: Session, subpath: Option<String>, skip: u64, limit: usize },
    /// Reads the row of a session.
    Session { of: Session },
    /// Lists the sessions of a project, or all. `before` is the cursor of the last session on the previous page.
    Sessions { project: Option<String>, before: Option<i64>, limit: usize },
    /// Lists the subpaths of a session.
    Subpaths { of: Session },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    append: (),
    truncate: (),
    remove: (),
    remove_subpath: (),
    entries: Option<Entries>,
    session: Option<FoundRow>,
    sessions: Vec<Listed<FoundRow>>,
    subpaths: Vec<String>,
}

#[derive(Debug, Deserialize, TS)]
struct Session {
    project: String,
    session: String,
}

/// The row that a change of a transcript stores.
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Row {
    /// The version of the row that the change is based on. `None`: there is no row.
    seen: Option<u64>,
    version: u64,
    mtime: i64,
    /// The summary as JSON text. Empty: unknown.
    summary: String,
}

impl Session {
    fn lineage(&self) -> String {
        thread::lineage(&self.project, &self.session)
    }

    fn checked(&self) -> Result<String> {
        check_id("projectKey", &self.project)?;
        check_id("sessionId", &self.session)?;
        let lineage = self.lineage();
        check_id("projectKey and sessionId together", &lineage)?;
        Ok(lineage)
    }

    /// The condition that the row has this version, or does not exist.
    fn expect(&self, seen: Option<u64>) -> Expect {
        let must =
            seen.map_or(Must::NotBeSavedSince(i64::MIN), |version| Must::HaveSortKey(SortKey::from_version(version)));
        let message =
            format!("session {} was changed by another writer: read it again and retry", quote(&self.session));
        Expect::Checkpoint {
            contract: CONTRACT_ID,
            id: self.lineage(),
            must,
            otherwise: Error::new(Code::Conflict, message),
        }
    }

    /// The condition that the session has a row.
    fn is_stored(&self) -> Expect {
        let message = format!("session {} was removed, so nothing was stored", quote(&self.session));
        let (id, otherwise) = (Some(self.lineage()), Error::new(Code::Conflict, message));
        Expect::Stored { contract: CONTRACT_ID, id, lineage: None, otherwise }
    }

    /// A unit that changes a transcript and stores the row. `label`: see [`NO_MAIN`].
    fn unit(&self, change: Op, row: Option<Row>, label: &str) -> Unit {
        let Some(Row { seen, version, mtime, summary }) = row else { return vec![change].into() };
        let header = Header {
            sort_key: SortKey::from_version(version),
            saved_at: mtime,
            group: thread::prefix(&self.project),
            label: label.to_owned(),
            // Retention does not know that the transcripts belong to the row. The store removes complete sessions.
            exempt: true,
            meta: summary.into_bytes(),
            ..Header::new(CONTRACT_ID, self.lineage(), self.lineage())
        };
        Unit { expect: vec![self.expect(seen)], ops: vec![change, Op::put(header, Vec::new())] }
    }
}

fn log_of(subpath: Option<&str>) -> Result<String> {
    let Some(subpath) = subpath else { return Ok(MAIN.to_owned()) };
    check_id("subpath", subpath)?;
    Ok(format!("{SUBPATH}{subpath}"))
}

/// Removes a session with all its transcripts.
pub fn delete(lineage: String) -> Unit {
    let row = Op::RemoveFrom { contract: CONTRACT_ID, lineage: lineage.clone(), sort_key: SortKey::default() };
    vec![row, Op::RemoveLogs { contract: CONTRACT_ID, lineage }].into()
}

pub fn main_log(lineage: String) -> LogRange {
    LogRange::whole(CONTRACT_ID, lineage, MAIN)
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CONTRACT_ID;
    Ok(match call {
        Call::Append { of, subpath, entries, row, known, incarnation } => {
            let (lineage, log) = (of.checked()?, log_of(subpath.as_deref())?);
            let (must, label) = if subpath.is_none() { (LogMust::LackTheKeys, "") } else { (LogMust::BeAny, NO_MAIN) };
            let append = Op::Append { contract, lineage, log, records: entries.records(&mut buffers)?, must };
            let mut unit = of.unit(append, row, label);
            unit.expect.extend(known.then(|| of.is_stored()));
            unit.expect.extend(
                incarnation.map(|position| is_incarnation(contract, of.lineage(), position, "session", &of.session)),
            );
            Request::Apply(unit)
        }
        Call::Truncate { of, subpath, length, row } => {
            let (lineage, log) = (of.checked()?, log_of(subpath.as_deref())?);
            Request::Apply(of.unit(Op::Truncate { contract, lineage, log, to: LogEnd::Length(length) }, row, ""))
        }
        Call::Remove { of, seen } => {
            let expect = seen.map(|version| of.expect(Some(version))).into_iter().collect();
            Request::Apply(Unit { expect, ..delete(of.lineage()) })
        }
        Call::RemoveSubpath { of, subpath } => {
            let (lineage, log) = (of.lineage(), log_of(Some(&subpath))?);
            Request::Apply(vec![Op::Truncate { contract, lineage, log, to: LogEnd::Length(0) }].into())
        }
        Call::Entries { of, subpath, skip, limit } => {
            let log = log_of(subpath.as_deref())?;
            Request::ask(Query::Log(LogRange { log, skip, limit, ..main_log(of.lineage()) }), entries)
        }
        Call::Session { of } => {
            let start = Query::Start { contract, lineage: of.lineage() };
            let row = Query::List { contract, of: Of::Lineage(of.lineage()), before: None, limit: Some(1) };
            Request::ask(Query::All(vec![row, start]), |answer| {
                let [row, start] = answer.into_all()?;
                let incarnation = start.into_position()?;
                Response::one(row.into_headers()?.pop(), |header, _| {
                    Ok(FoundRow { incarnation, ..FoundRow::read(&header)? })
                })
            })
        }
        Call::Sessions { project, before, limit } => {
            let group_prefix = project.as_deref().map_or_else(String::new, thread::prefix);
            Request::ask(Query::Lineages { contract, group_prefix, before, limit }, |answer| {
                Response::lineages(answer, |newest| FoundRow::read(&newest))
            })
        }
        Call::Subpaths { of } => Request::ask(Query::Logs { contract, lineage: of.lineage() }, subpaths),
    })
}

/// The entries of a transcript.
#[derive(Serialize, TS)]
struct Entries {
    /// The number of all entries of the transcript.
    total: u64,
    entries: Vec<PackedPart>,
}

fn entries(answer: Answer) -> Result<Option<Response>> {
    let page = answer.into_log()?.filter(|page| page.length > 0);
    Response::one(page, |page, response: &mut ResponseBuilder| {
        Ok(Entries { total: page.length, entries: response.records(page.records) })
    })
}

/// A row in a response.
#[derive(Serialize, TS)]
struct FoundRow {
    project: String,
    session: String,
    version: u64,
    mtime: i64,
    /// The summary as JSON text. Empty: unknown.
    summary: String,
    /// True if the session has a main transcript.
    main: bool,
    /// The incarnation of the session, if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Exact")]
    incarnation: Option<i64>,
}

impl FoundRow {
    fn read(header: &Header) -> Result<Self> {
        let read = || {
            let (project, session) = thread::split(&header.lineage)?;
            let version = header.sort_key.version()?;
            let summary = String::from_utf8(header.meta.clone()).ok()?;
            let (project, session) = (project.to_owned(), session.to_owned());
            let main = header.label != NO_MAIN;
            Some(Self { project, session, version, mtime: header.saved_at, summary, main, incarnation: None })
        };
        read().ok_or_else(|| damaged(&header.id))
    }
}

fn subpaths(answer: Answer) -> Result<Option<Response>> {
    let logs = answer.into_logs()?.into_iter();
    Response::json(&logs.filter_map(|mark| Some(mark.log.strip_prefix(SUBPATH)?.to_owned())).collect::<Vec<_>>())
        .map(Some)
}

/// The run is the session, and the namespace is its project.
#[expect(clippy::needless_pass_by_value, reason = "the shape that every contract has")]
fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let (project, session) = lineage.as_deref().or(id.as_deref()).and_then(thread::split).unzip();
    let session = session.map(str::to_owned);
    Names { id: id.as_ref().and(session.clone()), run: session, ns: project.map(str::to_owned) }
}

fn show(header: &Header) -> Result<Shown> {
    let FoundRow { project, summary, mtime, .. } = FoundRow::read(header)?;
    #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
    let at = Some(mtime as f64);
    let meta = serde_json::from_str(&summary).ok();
    Ok(Shown { group: Some(project), at, meta, ..Shown::default() })
}
