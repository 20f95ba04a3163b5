//! The rows of chats: newest version, running stream and metadata. A row is a checkpoint with its chat's id.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::{Buffers, PartName};
use crate::contract::ids::{check_id, damaged};
use crate::contract::response::{PackedPart, ResponseBuilder};
use crate::contract::thread;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op};
use crate::query::Query;
use crate::record::{Checkpoint, ContractId, Header, SortKey};

pub(super) const ID: ContractId = ContractId(20);

/// The group of all rows. An index lists a group in order.
pub(super) const ALL: &str = "chats";

/// The sort key of all rows. Equal sort keys keep the rows in save order, independent of clocks.
fn saved_last() -> SortKey {
    SortKey::from_f64(f64::MAX).then(&SortKey::from_version(0))
}

/// The revision of a row: the time of the chat's last change, and a unique number. The meta of a row begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct Revision {
    /// In ms since the epoch.
    updated_at: f64,
    number: u64,
}

impl Revision {
    fn text(self) -> String {
        format!("{} {} ", self.updated_at, self.number)
    }

    fn must(self) -> Must {
        Must::HaveMeta(self.text().into_bytes())
    }

    /// Splits the revision from the beginning of a row's meta.
    fn take(text: &str) -> Option<(Self, &str)> {
        let (updated_at, rest) = text.split_once(' ')?;
        let (number, rest) = rest.split_once(' ')?;
        Some((Self { updated_at: updated_at.parse().ok()?, number: number.parse().ok()? }, rest))
    }
}

/// The part of a row's meta after the revision. A NUL and the index of the metadata follow: a JSON object.
#[derive(Debug, Deserialize, Serialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Head {
    /// The newest version. 0: there is none.
    version: u64,
    #[ts(type = "null | string")]
    stream: Option<String>,
    /// The last answer that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional = nullable)]
    answer: Option<BegunAnswer>,
}

/// An answer of a chat, from the save that named its stream as the running one.
#[derive(Debug, Deserialize, Serialize, TS)]
#[serde(deny_unknown_fields)]
struct BegunAnswer {
    stream: String,
    /// The newest version at that time.
    from: u64,
    /// The assistant's message at its end, which the answer may continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional = nullable)]
    last: Option<LastMessage>,
    /// True if the answer was interrupted and then saved.
    settled: bool,
}

#[derive(Debug, Deserialize, Serialize, TS)]
#[serde(deny_unknown_fields)]
struct LastMessage {
    id: String,
    /// The number of its parts.
    parts: u64,
}

/// The row that a change stores.
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewRow {
    pub chat: String,
    revision: Revision,
    /// The revision of the row that the change is based on. `None`: there was no row.
    seen: Option<Revision>,
    head: Head,
    /// The index of the metadata, as JSON.
    index: String,
    metadata: Option<PartName>,
    pub saved_at: i64,
}

impl NewRow {
    pub(super) fn expect(&self) -> Expect {
        has_revision(&self.chat, self.seen)
    }

    pub(super) fn put(self, buffers: &mut Buffers) -> Result<Op> {
        let Self { chat, revision, head, index, metadata, saved_at, .. } = self;
        check_id("the chat's id", &chat)?;
        let head = serde_json::to_string(&head)
            .map_err(|error| Error::invalid(format!("the row of the chat cannot be written: {error}")))?;
        let meta = format!("{}{head}\0{index}", revision.text()).into_bytes();
        let header = Header {
            group: ALL.to_owned(),
            sort_key: saved_last(),
            saved_at,
            exempt: true,
            meta,
            ..Header::new(ID, chat.clone(), chat)
        };
        Ok(Op::put(header, buffers.parts(metadata.into_iter().collect())?))
    }
}

/// The condition that the row of a chat has this revision. `None`: the chat must not exist.
pub(super) fn has_revision(chat: &str, revision: Option<Revision>) -> Expect {
    let must = revision.map_or(Must::NotBeSavedSince(i64::MIN), Revision::must);
    let otherwise =
        Error::new(Code::Conflict, format!("chat {} was changed by another writer: try again", quote(chat)));
    Expect::Checkpoint { contract: ID, id: chat.to_owned(), must, otherwise }
}

/// A row in a response.
#[derive(Serialize, TS)]
pub(super) struct FoundRow {
    chat: String,
    revision: Revision,
    #[serde(flatten)]
    head: Head,
    index: String,
    /// The incarnation of the chat, if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Exact")]
    incarnation: Option<i64>,
    metadata: Vec<PackedPart>,
}

/// Finds the row of a chat, and the incarnation of the chat.
pub(super) fn row(chat: String) -> [Query; 2] {
    [Query::Get { contract: ID, id: chat.clone() }, Query::Start { contract: ID, lineage: chat }]
}

impl FoundRow {
    pub(super) fn of(self, incarnation: Option<i64>) -> Self {
        Self { incarnation, ..self }
    }

    pub(super) fn read(Checkpoint { header, payload, .. }: Checkpoint, response: &mut ResponseBuilder) -> Result<Self> {
        let mut meta = &header.meta[..];
        let mut read = || {
            let (revision, head) = Revision::take(thread::take_text(&mut meta)?)?;
            Some((revision, serde_json::from_str(head).ok()?, String::from_utf8(meta.to_vec()).ok()?))
        };
        let (revision, head, index) = read().ok_or_else(|| damaged(&header.id))?;
        let (chat, metadata) = (header.id, response.parts(payload));
        Ok(Self { chat, revision, head, index, incarnation: None, metadata })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_revision_is_not_the_beginning_of_another_number() {
        let revision = Revision { updated_at: 1_732_000_000_000.5, number: 7 };
        let meta = format!("{}{{\"version\":3,\"stream\":null}}\0{{}}", revision.text()).into_bytes();
        let row = Header { meta, ..Header::new(ID, "chat", "chat") };
        assert!(has_revision("chat", Some(revision)).check(Some(&row)).is_ok());
        for number in [0, 70] {
            assert!(has_revision("chat", Some(Revision { number, ..revision })).check(Some(&row)).is_err());
        }
    }
}
