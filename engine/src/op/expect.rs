//! The conditions of a unit.

use std::borrow::Borrow;

use crate::error::{Code, Error, Result, quote};
use crate::record::{ContractId, Header, SortKey, Write};
use crate::retention::{LEASES, lessee};

/// A condition of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The newest checkpoint of the lineage has the id `newest`. Otherwise the unit fails with [`Code::Conflict`].
    Newest {
        contract: ContractId,
        lineage: String,
        /// `None`: the lineage has no checkpoint.
        newest: Option<String>,
        /// The id of the checkpoint that the unit puts. A newest checkpoint with this id also satisfies the condition,
        /// so that a repeated put succeeds.
        or: String,
    },
    /// The newest checkpoint of the lineage has the sort key `newest`. Otherwise the unit fails with
    /// [`Code::Conflict`]. If ids are reused, a sort key that ends with a random number still identifies one save.
    NewestSave {
        contract: ContractId,
        lineage: String,
        /// `None`: the lineage has no checkpoint.
        newest: Option<SortKey>,
        /// The sort key of the checkpoint that the unit puts. It is accepted too, so that a repeated put succeeds.
        or: SortKey,
    },
    /// The checkpoint with this id satisfies `must`.
    Checkpoint {
        contract: ContractId,
        id: String,
        must: Must,
        /// The unit's error if the condition is false.
        otherwise: Error,
    },
    /// The checkpoint `id` or any checkpoint of `lineage` is stored. One of the two suffices.
    Stored {
        contract: ContractId,
        /// `None`: only `lineage` counts.
        id: Option<String>,
        /// `None`: only `id` counts.
        lineage: Option<String>,
        /// The unit's error if neither is stored.
        otherwise: Error,
    },
    /// The lineage still has this position ([`Start::position`](crate::record::Start::position)). Positions are never
    /// reused, so the lineage was not deleted and begun again after the writer read the position.
    Incarnation {
        contract: ContractId,
        lineage: String,
        position: i64,
        /// The unit's error if the lineage is not stored or has another position.
        otherwise: Error,
    },
    /// No process holds the lease of a run. Otherwise the unit fails with [`Code::Conflict`] and the holder
    /// ([`Error::lessee`]).
    Unleased {
        /// The lineage of the run's lease: see [`LEASES`].
        lineage: String,
        /// The name of the run in the error.
        run: String,
        /// The ids of leases that do not count, because they are the caller's, or their process has ended.
        except: Vec<String>,
    },
    /// No process holds the lease of the run of this checkpoint, as in [`Self::Unleased`]. A checkpoint that does not
    /// exist satisfies the condition.
    UnleasedRunOf {
        contract: ContractId,
        id: String,
        /// The lineage of the lease is this text and the lineage of the checkpoint.
        prefix: String,
        except: Vec<String>,
    },
    /// No unclaimed write of this task to this checkpoint has this slot. Otherwise the unit fails with
    /// [`Code::Conflict`]. If two units write to the slot, the first one wins. The checkpoint must exist.
    FreeSlot { contract: ContractId, id: String, task: String, index: i64 },
}

/// A condition on one checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Must {
    /// The checkpoint exists and was saved at this time or later, in ms since the epoch.
    BeSavedSince(i64),
    /// The checkpoint does not exist, or was saved before this time, in ms since the epoch.
    NotBeSavedSince(i64),
    /// The checkpoint exists and has this sort key.
    HaveSortKey(SortKey),
    /// The checkpoint exists, and its meta begins with these bytes.
    HaveMeta(Vec<u8>),
    /// The checkpoint belongs to this lineage, or does not exist.
    BelongTo(String),
}

/// The checkpoint that a condition checks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// The newest checkpoint of this lineage.
    Newest(ContractId, &'a str),
    Id(ContractId, &'a str),
}

impl Expect {
    /// The checkpoints that the condition concerns, directly or by their lineage. The first stored one decides.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = Subject<'_>> {
        let both = match self {
            Self::Newest { contract, lineage, .. }
            | Self::NewestSave { contract, lineage, .. }
            | Self::Incarnation { contract, lineage, .. } => [None, Some(Subject::Newest(*contract, lineage))],
            Self::Unleased { lineage, .. } => [None, Some(Subject::Newest(LEASES, lineage))],
            Self::Checkpoint { contract, id, .. }
            | Self::FreeSlot { contract, id, .. }
            | Self::UnleasedRunOf { contract, id, .. } => [Some(Subject::Id(*contract, id)), None],
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
            // A damaged checkpoint also counts as stored.
            Err(error) if error.code() == Code::Corrupt && matches!(self, Self::Stored { .. }) => Ok(()),
            found => self.check(found?.as_ref().map(Borrow::borrow)),
        }
    }

    /// The lineage whose position the condition checks. `None` for all other conditions.
    pub(crate) fn line(&self) -> Option<(ContractId, &str)> {
        match self {
            Self::Incarnation { contract, lineage, .. } => Some((*contract, lineage)),
            _ => None,
        }
    }

    /// Checks a condition on a lineage. `found` is the position of the stored lineage.
    pub(crate) fn check_line(&self, found: Option<i64>) -> Result<()> {
        match self {
            Self::Incarnation { position, otherwise, .. } if found != Some(*position) => Err(otherwise.clone()),
            _ => Ok(()),
        }
    }

    /// The lineage of the lease that the condition checks. `None` for all other conditions.
    pub(crate) fn lease(&self) -> Option<&str> {
        match self {
            Self::Unleased { lineage, .. } => Some(lineage),
            _ => None,
        }
    }

    /// The checkpoint whose run must not be leased. `None` for all other conditions.
    pub(crate) fn unleased_run_of(&self) -> Option<(ContractId, &str)> {
        match self {
            Self::UnleasedRunOf { contract, id, .. } => Some((*contract, id)),
            _ => None,
        }
    }

    /// The condition on the lease of the run that the checkpoint of [`Self::unleased_run_of`] belongs to.
    pub(crate) fn of_run(&self, run: &str) -> Option<Self> {
        let Self::UnleasedRunOf { prefix, except, .. } = self else { return None };
        Some(Self::Unleased { lineage: format!("{prefix}{run}"), run: run.to_owned(), except: except.clone() })
    }

    /// Checks a condition on a lease. `found` is the stored lease, and `now` reads the store's clock.
    pub(crate) fn check_lease(&self, found: Option<&Header>, now: impl FnOnce() -> Result<i64>) -> Result<()> {
        let (Self::Unleased { run, except, .. }, Some(found)) = (self, found) else { return Ok(()) };
        if except.contains(&found.id) {
            return Ok(());
        }
        let Some(lessee) = lessee(found, now()?) else { return Ok(()) };
        let message = format!(
            "run {} is leased by {}: nothing was stored. Only the holder of the lease may write to the run, until it ends",
            quote(run),
            lessee.holder
        );
        Err(Error::new(Code::Conflict, message).with_lessee(lessee))
    }

    /// The checkpoint whose writes the condition checks. `None`: the condition checks [`Self::subjects`].
    pub(crate) fn writes(&self) -> Option<(ContractId, &str)> {
        match self {
            Self::FreeSlot { contract, id, .. } => Some((*contract, id)),
            _ => None,
        }
    }

    /// Checks a condition on writes. `found` are the stored writes of the checkpoint.
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

    /// Checks a condition on a checkpoint. `found` is the stored header of the checkpoint.
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
            // The backends check leases with their clocks: see `check_lease`.
            Self::Unleased { .. } | Self::UnleasedRunOf { .. } => Ok(()),
            Self::FreeSlot { .. } => self.check_writes(&[]),
            Self::Incarnation { .. } => self.check_line(None),
        }
    }
}
