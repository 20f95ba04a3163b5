//! What lines say: the fields of each kind of line.
//!
//! A line states what is so after it, and never a difference to what was before. So the order of lines in different
//! files has no meaning.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::embed;
use super::line::some;
use crate::backend::logs::{Branch, BranchId, End, Mark};
use crate::backend::tables::{First, TaskRow};
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Header, Part, Payload, Record, Seq, SortKey};

/// The first line of a lineage's file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lineage {
    pub(super) contract: u8,
    pub(super) name: String,
    pub(super) position: i64,
    pub(super) file: u64,
}

/// The first line of the file with the pending writes of a contract.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PendingWrites {
    pub(super) contract: u8,
    pub(super) file: u64,
}

/// What a lineage takes from its first checkpoint.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Begin {
    group: String,
    /// The checkpoint that the lineage was forked from, and the position of the checkpoint's lineage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forked_from: Option<(String, i64)>,
    age_offset: u8,
}

impl From<&First> for Begin {
    fn from(first: &First) -> Self {
        let First { group, origin, age_offset } = first.clone();
        Self { group, forked_from: origin, age_offset }
    }
}

impl From<Begin> for First {
    fn from(Begin { group, forked_from, age_offset }: Begin) -> Self {
        Self { group, origin: forked_from, age_offset }
    }
}

/// A checkpoint. The parts are read on demand.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Checkpointed<'a> {
    pub(super) seq: Seq,
    id: String,
    parent: Option<String>,
    #[serde(default)]
    group: String,
    #[serde(default)]
    label: String,
    sort_key: String,
    saved_at: i64,
    #[serde(default)]
    age_offset: u8,
    #[serde(default)]
    depends_on_parent: bool,
    #[serde(default)]
    exempt: bool,
    #[serde(borrow, default, deserialize_with = "some")]
    meta: Option<&'a RawValue>,
    meta_base64: Option<String>,
    #[serde(default)]
    logs: Vec<Marked>,
    pub(super) bytes: u64,
    #[serde(borrow)]
    parts: &'a RawValue,
}

/// The mark of a checkpoint in a log. Without a branch, the log had no records.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Marked {
    log: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<BranchId>,
    length: u64,
}

/// A part, a write or a record: its fields beside the value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named<'a> {
    name: String,
    index: Option<i64>,
    tag: String,
    #[serde(borrow, default, deserialize_with = "some")]
    value: Option<&'a RawValue>,
    base64: Option<String>,
}

impl Checkpointed<'_> {
    /// The checkpoint without its payload, and its marks.
    pub(super) fn split(&self, contract: ContractId, lineage: &str) -> Result<(Header, Vec<Mark>)> {
        let meta = embed::bytes(self.meta, self.meta_base64.as_deref()).ok_or_else(unreadable)?;
        let header = Header {
            contract,
            lineage: lineage.to_owned(),
            id: self.id.clone(),
            parent: self.parent.clone(),
            group: self.group.clone(),
            label: self.label.clone(),
            sort_key: SortKey(from_hex(&self.sort_key).ok_or_else(unreadable)?),
            saved_at: self.saved_at,
            age_offset: self.age_offset,
            depends_on_parent: self.depends_on_parent,
            exempt: self.exempt,
            meta,
        };
        let mark = |Marked { log, branch, length }: &Marked| Mark {
            log: log.clone(),
            end: branch.map(|branch| End { branch, length: *length }),
        };
        Ok((header, self.logs.iter().map(mark).collect()))
    }

    pub(super) fn payload(&self) -> Result<Payload> {
        let parts: Vec<Named<'_>> = super::line::parse(self.parts.get())?;
        let part = |Named { name, index: _, tag, value, base64 }: Named<'_>| {
            let bytes = embed::bytes(value, base64.as_deref()).ok_or_else(unreadable)?;
            Ok(Part { name, tag, bytes: bytes.into() })
        };
        Ok(Payload { parts: parts.into_iter().map(part).collect::<Result<_>>()? })
    }
}

/// Appends a checkpoint's line, without its end.
pub(super) fn push_checkpoint(
    out: &mut String,
    seq: Seq,
    header: &Header,
    marks: &[Mark],
    bytes: u64,
    payload: &Payload,
) {
    let Header { id, parent, group, label, sort_key, saved_at, age_offset, depends_on_parent, exempt, meta, .. } =
        header;
    push(out, format_args!("{{\"checkpoint\":{{\"seq\":{seq},\"id\":"));
    embed::push_text(out, id);
    for (name, text) in [("parent", parent.as_ref()), ("group", Some(group)), ("label", Some(label))] {
        if let Some(text) = text.filter(|text| name == "parent" || !text.is_empty()) {
            push(out, format_args!(",\"{name}\":"));
            embed::push_text(out, text);
        }
    }
    out.push_str(",\"sortKey\":\"");
    sort_key.0.iter().for_each(|byte| push(out, format_args!("{byte:02x}")));
    push(out, format_args!("\",\"savedAt\":{saved_at}"));
    if *age_offset != 0 {
        push(out, format_args!(",\"ageOffset\":{age_offset}"));
    }
    for (name, is) in [("dependsOnParent", *depends_on_parent), ("exempt", *exempt)] {
        if is {
            push(out, format_args!(",\"{name}\":true"));
        }
    }
    out.push(',');
    embed::push_named(out, ["meta", "metaBase64"], meta);
    if !marks.is_empty() {
        let shown = |mark: &Mark| {
            let Mark { log, end } = mark.clone();
            Marked { log, branch: end.map(|end| end.branch), length: end.map_or(0, |end| end.length) }
        };
        push_json(out, ",\"logs\":", &marks.iter().map(shown).collect::<Vec<_>>());
    }
    push(out, format_args!(",\"bytes\":{bytes},\"parts\":["));
    for (at, Part { name, tag, bytes }) in payload.parts.iter().enumerate() {
        out.push_str(if at == 0 { "{\"name\":" } else { ",{\"name\":" });
        embed::push_text(out, name);
        out.push(',');
        embed::push(out, tag, bytes);
        out.push('}');
    }
    out.push_str("]}");
}

/// A checkpoint was removed.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Removed {
    pub(super) seq: Seq,
    pub(super) id: String,
}

/// The save time of a checkpoint was set.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Touched {
    pub(super) seq: Seq,
    pub(super) id: String,
    pub(super) saved_at: i64,
}

/// A branch of log records was created.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Branched {
    pub(super) id: BranchId,
    /// The name of the log that the branch was created for.
    pub(super) log: String,
    /// The branch and the length of the end after which this branch continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<(BranchId, u64)>,
}

impl Branched {
    pub(super) fn new(id: BranchId, log: &str, branch: Branch) -> Self {
        Self { id, log: log.to_owned(), parent: branch.parent.map(|end| (end.branch, end.length)) }
    }

    pub(super) fn branch(&self, contract: ContractId) -> Branch {
        Branch { contract, parent: self.parent.map(|(branch, length)| End { branch, length }) }
    }
}

/// The records of a branch from a position on were removed.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cut {
    pub(super) branch: BranchId,
    pub(super) from: u64,
}

/// The end of a log. Without an end, the log has no records.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    pub(super) log: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<BranchId>,
    length: u64,
}

impl Head {
    pub(super) fn new(log: &str, end: Option<End>) -> Self {
        let length = end.map_or(0, |end| end.length);
        Self { log: log.to_owned(), branch: end.map(|end| end.branch), length }
    }

    pub(super) fn end(&self) -> Option<End> {
        self.branch.map(|branch| End { branch, length: self.length })
    }
}

/// A record of a log.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recorded<'a> {
    pub(super) branch: BranchId,
    #[serde(rename = "log")]
    _log: String,
    pub(super) at: u64,
    pub(super) key: Option<String>,
    pub(super) size: u64,
    tag: String,
    #[serde(borrow, default, deserialize_with = "some")]
    value: Option<&'a RawValue>,
    base64: Option<String>,
}

impl Recorded<'_> {
    pub(super) fn record(self) -> Result<Record> {
        let bytes = embed::bytes(self.value, self.base64.as_deref()).ok_or_else(unreadable)?;
        Ok(Record { key: self.key, tag: self.tag, bytes: bytes.into() })
    }
}

/// Appends a record's line, without its end.
pub(super) fn push_record(out: &mut String, branch: BranchId, log: &str, at: u64, record: &Record) {
    push(out, format_args!("{{\"record\":{{\"branch\":{branch},\"log\":"));
    embed::push_text(out, log);
    push(out, format_args!(",\"at\":{at},"));
    if let Some(key) = &record.key {
        out.push_str("\"key\":");
        embed::push_text(out, key);
        out.push(',');
    }
    push(out, format_args!("\"size\":{},", record.bytes.len()));
    embed::push(out, &record.tag, &record.bytes);
    out.push('}');
}

/// A row of the pending writes of a checkpoint.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TaskWrites<'a> {
    pub(super) checkpoint: String,
    /// The index of the row among the rows of the checkpoint.
    pub(super) row: usize,
    task: String,
    claimed_by: Option<String>,
    #[serde(borrow)]
    writes: Vec<Named<'a>>,
}

impl TaskWrites<'_> {
    pub(super) fn into_row(self) -> Result<TaskRow> {
        let part = |Named { name, index, tag, value, base64 }: Named<'_>| {
            let bytes = embed::bytes(value, base64.as_deref()).ok_or_else(unreadable)?;
            Ok((index.ok_or_else(unreadable)?, Part { name, tag, bytes: bytes.into() }))
        };
        let parts = self.writes.into_iter().map(part).collect::<Result<_>>()?;
        Ok(TaskRow { task: self.task, claimed_by: self.claimed_by, parts })
    }
}

/// Appends the line of a row of pending writes, without its end.
pub(super) fn push_writes(out: &mut String, checkpoint: &str, at: usize, row: &TaskRow) {
    out.push_str("{\"writes\":{\"checkpoint\":");
    embed::push_text(out, checkpoint);
    push(out, format_args!(",\"row\":{at},\"task\":"));
    embed::push_text(out, &row.task);
    if let Some(claimed_by) = &row.claimed_by {
        out.push_str(",\"claimedBy\":");
        embed::push_text(out, claimed_by);
    }
    out.push_str(",\"writes\":[");
    for (nth, (index, Part { name, tag, bytes })) in row.parts.iter().enumerate() {
        push(out, format_args!("{}{{\"index\":{index},\"name\":", if nth == 0 { "" } else { "," }));
        embed::push_text(out, name);
        out.push(',');
        embed::push(out, tag, bytes);
        out.push('}');
    }
    out.push_str("]}");
}

/// A row of pending writes was claimed.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claimed {
    pub(super) checkpoint: String,
    pub(super) row: usize,
    pub(super) by: String,
}

/// The pending writes of a checkpoint were removed.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unwritten {
    pub(super) checkpoint: String,
}

/// Appends a line of this kind, without its end.
pub(super) fn push_line(out: &mut String, kind: &str, fields: &impl Serialize) {
    push(out, format_args!("{{\"{kind}\":"));
    push_json(out, "", fields);
}

fn push_json(out: &mut String, before: &str, value: &impl Serialize) {
    out.push_str(before);
    // The types of lines can all be written as JSON.
    out.push_str(&serde_json::to_string(value).unwrap_or_default());
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a text does not fail.
    let _ = out.write_fmt(text);
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

pub(super) fn unreadable() -> Error {
    Error::new(Code::Corrupt, "the line does not say what it should")
}
