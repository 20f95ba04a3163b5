//! The conditions of a unit.

use std::borrow::Borrow;

use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Header, SortKey, Write};

/// A condition of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The newest checkpoint of a lineage is the one that the writer knows. Otherwise the unit fails with
    /// [`Code::Conflict`].
    Newest {
        contract: ContractId,
        lineage: String,
        /// The expected id of the newest checkpoint. `None` expects that the lineage has no checkpoint.
        newest: Option<String>,
        /// The id of the checkpoint that the writer puts. The expectation also accepts this id as the id of the newest
        /// checkpoint, so that a repeated put succeeds.
        or: String,
    },
    /// The newest checkpoint of a lineage is the save that the writer knows. A sort key that ends with a random number names
    /// one save, also where ids come again. Otherwise the unit fails with [`Code::Conflict`].
    NewestSave {
        contract: ContractId,
        lineage: String,
        /// The sort key of the save. `None` expects that the lineage has no checkpoint.
        newest: Option<SortKey>,
        /// The sort key of the checkpoint that the writer puts, so that a repeated put succeeds.
        or: SortKey,
    },
    /// The checkpoint with this id is as expected.
    Checkpoint {
        contract: ContractId,
        id: String,
        must: Must,
        /// The error of the unit if the checkpoint is not as expected.
        otherwise: Error,
    },
    /// What the new data belongs to is stored: the checkpoint `id`, or any checkpoint of `lineage`. One of the two suffices.
    Stored {
        contract: ContractId,
        /// `None`: a checkpoint of the lineage is needed.
        id: Option<String>,
        /// `None`: the checkpoint is needed.
        lineage: Option<String>,
        /// The error of the unit if neither is stored.
        otherwise: Error,
    },
    /// The lineage has this position ([`Start::position`](crate::record::Start::position)), which no other lineage ever gets. So it
    /// was neither deleted nor begun again since the writer has learned the position.
    Incarnation {
        contract: ContractId,
        lineage: String,
        position: i64,
        /// The error of the unit if the lineage is not stored, or has another position.
        otherwise: Error,
    },
    /// No unclaimed write of this task to this checkpoint has this slot. Otherwise the unit fails with [`Code::Conflict`]. Of
    /// two units that store a write there, the first one wins. The checkpoint exists.
    FreeSlot { contract: ContractId, id: String, task: String, index: i64 },
}

/// What a writer expects of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Must {
    /// The checkpoint exists, and was saved at this time or later. Times are in ms since the epoch.
    BeSavedSince(i64),
    /// The checkpoint does not exist, or was saved before this time.
    NotBeSavedSince(i64),
    /// The checkpoint exists and has this sort key.
    HaveSortKey(SortKey),
    /// The checkpoint exists, and its meta begins with these bytes.
    HaveMeta(Vec<u8>),
    /// The checkpoint belongs to this lineage, or does not exist.
    BelongTo(String),
}

/// The checkpoint that a condition looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// The newest checkpoint of this lineage.
    Newest(ContractId, &'a str),
    Id(ContractId, &'a str),
}

impl Expect {
    /// The checkpoints that the condition looks at, or whose lineage it looks at. The first one that is stored decides.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = Subject<'_>> {
        let both = match self {
            Self::Newest { contract, lineage, .. }
            | Self::NewestSave { contract, lineage, .. }
            | Self::Incarnation { contract, lineage, .. } => [None, Some(Subject::Newest(*contract, lineage))],
            Self::Checkpoint { contract, id, .. } | Self::FreeSlot { contract, id, .. } => {
                [Some(Subject::Id(*contract, id)), None]
            }
            Self::Stored { contract, id, lineage, .. } => [
                id.as_ref().map(|id| Subject::Id(*contract, id)),
                lineage.as_ref().map(|lineage| Subject::Newest(*contract, lineage)),
            ],
        };
        both.into_iter().flatten()
    }

    /// Checks the condition. `find` returns the stored header of a subject.
    pub(crate) fn check_with<H: Borrow<Header>>(
        &self,
        find: impl FnMut(Subject<'_>) -> Result<Option<H>>,
    ) -> Result<()> {
        match self.subjects().map(find).find_map(Result::transpose).transpose() {
            // A damaged checkpoint is stored.
            Err(error) if error.code() == Code::Corrupt && matches!(self, Self::Stored { .. }) => Ok(()),
            found => self.check(found?.as_ref().map(Borrow::borrow)),
        }
    }

    /// The lineage whose position decides. `None`: something else decides.
    pub(crate) fn line(&self) -> Option<(ContractId, &str)> {
        match self {
            Self::Incarnation { contract, lineage, .. } => Some((*contract, lineage)),
            _ => None,
        }
    }

    /// Checks a condition that looks at a lineage. `found` is the position of the stored lineage.
    pub(crate) fn check_line(&self, found: Option<i64>) -> Result<()> {
        match self {
            Self::Incarnation { position, otherwise, .. } if found != Some(*position) => Err(otherwise.clone()),
            _ => Ok(()),
        }
    }

    /// The checkpoint whose writes decide. `None`: the checkpoints of [`Self::subjects`] decide.
    pub(crate) fn writes(&self) -> Option<(ContractId, &str)> {
        match self {
            Self::FreeSlot { contract, id, .. } => Some((*contract, id)),
            _ => None,
        }
    }

    /// Checks a condition that looks at writes. `found` are the stored writes of the condition's subject.
    pub(crate) fn check_writes(&self, found: &[Write]) -> Result<()> {
        match self {
            Self::FreeSlot { id, task, index, .. } => {
                let is_here =
                    |write: &Write| write.claimed_by.is_none() && write.task == *task && write.index == *index;
                if !found.iter().any(is_here) {
                    return Ok(());
                }
                let message = format!(
                    "another writer has written to slot {index} of checkpoint {id:?} before: read the checkpoint and try again"
                );
                Err(Error::new(Code::Conflict, message))
            }
            _ => self.check(None),
        }
    }

    /// Checks a condition that looks at a checkpoint. `found` is the stored header of the condition's subject.
    pub(crate) fn check(&self, found: Option<&Header>) -> Result<()> {
        match self {
            Self::Newest { lineage, newest, or, .. } => {
                let found = found.map(|header| &*header.id);
                if found == newest.as_deref() || found == Some(or) {
                    return Ok(());
                }
                let quoted = |id: Option<&str>| id.map_or_else(|| "none".to_owned(), |id| format!("{id:?}"));
                let message = format!(
                    "checkpoint {or:?}: the newest checkpoint of {lineage:?} is {}, not {} as expected, because another \
                     writer has continued: read the newest checkpoint and try again",
                    quoted(found),
                    quoted(newest.as_deref())
                );
                Err(Error::new(Code::Conflict, message))
            }
            Self::NewestSave { lineage, newest, or, .. } => {
                let sort_key = found.map(|header| &header.sort_key);
                if sort_key == newest.as_ref() || sort_key == Some(or) {
                    return Ok(());
                }
                let found = found.map_or_else(
                    || "it has no checkpoint any more".to_owned(),
                    |header| format!("its newest checkpoint is {:?}", header.id),
                );
                let message = format!(
                    "another writer has continued {lineage:?}, begun it again or deleted it: {found}. Nothing was stored: read the newest checkpoint and try again"
                );
                Err(Error::new(Code::Conflict, message))
            }
            Self::Checkpoint { must, otherwise, .. } => {
                let holds = match must {
                    Must::BeSavedSince(time) => found.is_some_and(|header| header.saved_at >= *time),
                    Must::NotBeSavedSince(time) => found.is_none_or(|header| header.saved_at < *time),
                    Must::HaveSortKey(sort_key) => found.is_some_and(|header| header.sort_key == *sort_key),
                    Must::HaveMeta(bytes) => found.is_some_and(|header| header.meta.starts_with(bytes)),
                    Must::BelongTo(lineage) => found.is_none_or(|header| header.lineage == *lineage),
                };
                if holds { Ok(()) } else { Err(otherwise.clone()) }
            }
            Self::Stored { otherwise, .. } => found.map(drop).ok_or_else(|| otherwise.clone()),
            Self::FreeSlot { .. } => self.check_writes(&[]),
            Self::Incarnation { .. } => self.check_line(None),
        }
    }
}
