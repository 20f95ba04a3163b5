//! The fields of each kind of line.
//!
//! A line states what is true after it, not a difference. The order of lines in different files has no meaning.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::embed::{self, Base64};
use super::line::{self, At, Sum, unreadable};
use crate::backend::logs::{BranchId, End, Mark};
use crate::backend::tables::{First, Row, TaskRow};
use crate::error::Result;
use crate::record::{ContractId, Header, Labels, Part, Payload, Record, Seq, SortKey, Status, TaskState};

/// A line of a data file, without its checksum. `P` is the form of a checkpoint's parts.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(super) enum Line<'a, P = Vec<Named<'a>>> {
    /// The first line of a lineage's file.
    Lineage {
        contract: u8,
        name: Cow<'a, str>,
        position: i64,
        file: u64,
    },
    /// The first line of the file with the pending writes of a contract.
    PendingWrites {
        contract: u8,
        file: u64,
    },
    /// The properties that the lineage takes from its first checkpoint.
    Begin {
        group: Cow<'a, str>,
        /// The checkpoint that the lineage was forked from, and the position of the checkpoint's lineage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<(String, i64)>,
        age_offset: u8,
    },
    /// The labels of the lineage.
    Labels(Labels),
    /// The lineage has ended. The file stays, because other lineages share its records.
    Ended(bool),
    #[serde(borrow)]
    Checkpoint(Checkpointed<'a, P>),
    /// A checkpoint was removed.
    Removed {
        seq: Seq,
        id: Cow<'a, str>,
    },
    /// The save time of a checkpoint was set.
    Touched {
        seq: Seq,
        id: Cow<'a, str>,
        saved_at: i64,
    },
    /// A branch of records was created for this log. It continues after `parent`: a branch and a length.
    Branch {
        id: BranchId,
        log: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<(BranchId, u64)>,
    },
    BranchRemoved(BranchId),
    #[serde(borrow)]
    Record(Recorded<'a>),
    /// The records of a branch were removed from this position on.
    Cut {
        branch: BranchId,
        from: u64,
    },
    /// The end of a log.
    Head(LogEnd<'a>),
    #[serde(borrow)]
    Writes(TaskWrites<'a>),
    /// A row of pending writes was claimed.
    Claimed {
        checkpoint: Cow<'a, str>,
        row: usize,
        by: Cow<'a, str>,
    },
    /// The pending writes of a checkpoint were removed.
    Unwritten {
        checkpoint: Cow<'a, str>,
    },
}

impl<'a> Line<'a> {
    pub(super) fn begin(First { group, origin, age_offset }: &'a First) -> Self {
        Self::Begin { group: group.into(), forked_from: origin.clone(), age_offset: *age_offset }
    }

    pub(super) fn branch(id: BranchId, log: &'a str, parent: Option<End>) -> Self {
        Self::Branch { id, log: log.into(), parent: parent.map(|end| (end.branch, end.length)) }
    }
}

/// A parsed line with its checksum.
struct Summed<'a, P>(Line<'a, P>);

impl<'de: 'a, 'a, P: Deserialize<'de>> Deserialize<'de> for Summed<'a, P> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields<'a, P>(PhantomData<Line<'a, P>>);

        impl<'de: 'a, 'a, P: Deserialize<'de>> Visitor<'de> for Fields<'a, P> {
            type Value = Summed<'a, P>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a line")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let line = Line::deserialize(MapAccessDeserializer::new(&mut map))?;
                map.next_entry::<&str, Sum>()?;
                Ok(Summed(line))
            }
        }

        from.deserialize_map(Fields(PhantomData))
    }
}

/// Parses a line without verifying its checksum.
pub(super) fn parse<'a, P: Deserialize<'a>>(text: &'a str) -> Result<Line<'a, P>> {
    line::parse::<Summed<'a, P>>(text).map(|Summed(line)| line)
}

/// Verifies and parses a line without its line break. Also returns its checksum.
pub(super) fn read<'a, P: Deserialize<'a>>(bytes: &'a [u8], at: At) -> Result<(Line<'a, P>, Sum)> {
    let (text, sum) = line::verify(bytes, at)?;
    Ok((parse(text)?, sum))
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Checkpointed<'a, P> {
    pub(super) seq: Seq,
    id: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_default")]
    group: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "is_default")]
    label: Cow<'a, str>,
    sort_key: String,
    saved_at: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    age_offset: u8,
    #[serde(default, skip_serializing_if = "is_default")]
    depends_on_parent: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    exempt: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    status: Status,
    #[serde(borrow, default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    meta_base64: Option<Base64<'a>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logs: Vec<LogEnd<'a>>,
    bytes: u64,
    parts: P,
}

/// A log and its end. Without a branch, the log has no records.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogEnd<'a> {
    log: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<BranchId>,
    length: u64,
}

/// A part or a write.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<i64>,
    name: Cow<'a, str>,
    tag: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    base64: Option<Base64<'a>>,
}

impl<'a> LogEnd<'a> {
    pub(super) fn new(log: &'a str, end: Option<End>) -> Self {
        Self { log: log.into(), branch: end.map(|end| end.branch), length: end.map_or(0, |end| end.length) }
    }
}

impl From<LogEnd<'_>> for Mark {
    fn from(LogEnd { log, branch, length }: LogEnd<'_>) -> Self {
        Self { log: log.into_owned(), end: branch.map(|branch| End { branch, length }) }
    }
}

impl<'a> Named<'a> {
    fn new(index: Option<i64>, Part { name, tag, bytes }: &'a Part) -> Self {
        let (value, base64) = embed::fields(bytes);
        Self { index, name: name.into(), tag: tag.into(), value, base64 }
    }

    fn part(self) -> Result<Part> {
        let bytes = embed::bytes((self.value, self.base64))?.into();
        Ok(Part { name: self.name.into_owned(), tag: self.tag.into_owned(), bytes })
    }
}

impl<'a> Checkpointed<'a, Vec<Named<'a>>> {
    pub(super) fn new<K>(seq: Seq, row: &'a Row<K>, payload: &'a Payload) -> Self {
        let Row { header, marks, bytes, .. } = row;
        let (meta, meta_base64) = embed::fields(&header.meta);
        Self {
            seq,
            id: (&header.id).into(),
            parent: header.parent.as_deref().map(Cow::from),
            group: (&header.group).into(),
            label: (&header.label).into(),
            sort_key: to_hex(&header.sort_key.0),
            saved_at: header.saved_at,
            age_offset: header.age_offset,
            depends_on_parent: header.depends_on_parent,
            exempt: header.exempt,
            status: header.status,
            meta,
            meta_base64,
            logs: marks.iter().map(|mark| LogEnd::new(&mark.log, mark.end)).collect(),
            bytes: *bytes,
            parts: payload.parts.iter().map(|part| Named::new(None, part)).collect(),
        }
    }

    pub(super) fn payload(self) -> Result<Payload> {
        Ok(Payload { parts: self.parts.into_iter().map(Named::part).collect::<Result<_>>()? })
    }
}

impl<P> Checkpointed<'_, P> {
    /// The checkpoint's row for the tables, with the position of its parts.
    pub(super) fn row<K>(self, contract: ContractId, lineage: (i64, &str), payload: K) -> Result<Arc<Row<K>>> {
        let header = Header {
            contract,
            lineage: lineage.1.to_owned(),
            id: self.id.into_owned(),
            parent: self.parent.map(Cow::into_owned),
            group: self.group.into_owned(),
            label: self.label.into_owned(),
            sort_key: SortKey(from_hex(&self.sort_key).ok_or_else(unreadable)?),
            saved_at: self.saved_at,
            age_offset: self.age_offset,
            depends_on_parent: self.depends_on_parent,
            exempt: self.exempt,
            status: self.status,
            meta: embed::bytes((self.meta, self.meta_base64))?,
        };
        let marks = self.logs.into_iter().map(Mark::from).collect();
        Ok(Arc::new(Row { header, payload, marks, lineage: lineage.0, bytes: self.bytes }))
    }
}

/// A record of a log.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recorded<'a> {
    pub(super) branch: BranchId,
    log: Cow<'a, str>,
    pub(super) at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<Cow<'a, str>>,
    pub(super) size: u64,
    tag: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    base64: Option<Base64<'a>>,
}

impl<'a> Recorded<'a> {
    pub(super) fn new(branch: BranchId, log: &'a str, at: u64, record: &'a Record) -> Self {
        let Record { key, tag, bytes } = record;
        let (value, base64) = embed::fields(bytes);
        let (key, size) = (key.as_deref().map(Cow::from), bytes.len() as u64);
        Self { branch, log: log.into(), at, key, size, tag: tag.into(), value, base64 }
    }

    pub(super) fn record(self) -> Result<Record> {
        let bytes = embed::bytes((self.value, self.base64))?.into();
        Ok(Record { key: self.key.map(Cow::into_owned), tag: self.tag.into_owned(), bytes })
    }
}

/// A row of the pending writes of a checkpoint.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TaskWrites<'a> {
    pub(super) checkpoint: Cow<'a, str>,
    /// The index of the row among the rows of the checkpoint.
    pub(super) row: usize,
    task: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimed_by: Option<Cow<'a, str>>,
    /// The state of the task that the writes report: see [`TaskState`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    state: Vec<Told>,
    #[serde(borrow)]
    writes: Vec<Named<'a>>,
}

impl<'a> TaskWrites<'a> {
    pub(super) fn new(
        checkpoint: &'a str,
        row: usize,
        TaskRow { task, claimed_by, state, parts }: &'a TaskRow,
    ) -> Self {
        let writes = parts.iter().map(|(index, part)| Named::new(Some(*index), part)).collect();
        let (task, claimed_by) = (task.into(), claimed_by.as_deref().map(Cow::from));
        let state = Told::ALL.into_iter().filter(|told| state.has(told.flag())).collect();
        Self { checkpoint: checkpoint.into(), row, task, claimed_by, state, writes }
    }

    pub(super) fn into_row(self) -> Result<TaskRow> {
        let part = |named: Named<'_>| Ok((named.index.ok_or_else(unreadable)?, named.part()?));
        let parts = self.writes.into_iter().map(part).collect::<Result<_>>()?;
        let state = self.state.into_iter().map(Told::flag).collect();
        Ok(TaskRow { task: self.task.into_owned(), claimed_by: self.claimed_by.map(Cow::into_owned), state, parts })
    }
}

/// A flag of a [`TaskState`].
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum Told {
    Ended,
    Failed,
    Asks,
    Handled,
}

impl Told {
    const ALL: [Self; 4] = [Self::Ended, Self::Failed, Self::Asks, Self::Handled];

    fn flag(self) -> TaskState {
        match self {
            Self::Ended => TaskState::ENDED,
            Self::Failed => TaskState::FAILED,
            Self::Asks => TaskState::ASKS,
            Self::Handled => TaskState::HANDLED,
        }
    }
}

/// Reads a field that is present as `Some`, even if its value is null.
pub(super) fn some<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn to_hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a text does not fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}
