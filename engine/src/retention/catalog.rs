//! The queries that retention planning sends to a backend.

use crate::error::Result;
use crate::record::{ContractId, Seq, Status};

/// The fields of a checkpoint that planning uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub seq: Seq,
    /// The position of the checkpoint's lineage.
    pub lineage: i64,
    /// The time of the save, in ms since the epoch.
    pub saved_at: i64,
}

/// The fields of a lineage that planning uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The position of the lineage.
    pub lineage: i64,
    pub contract: ContractId,
    pub name: String,
    pub status: Status,
}

/// A list of checkpoints in save order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedList {
    pub entries: Vec<Entry>,
    /// The save number after which the next list begins. `None`: this is the last list.
    pub next: Option<Seq>,
}

impl SavedList {
    /// Creates a list from the entries of a query for at most `most` checkpoints.
    pub fn new(entries: Vec<Entry>, most: usize) -> Self {
        let next = entries.last().filter(|_| entries.len() == most).map(|entry| entry.seq);
        Self { entries, next }
    }
}

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The save number of the base, if the payload is stored as a delta. `None` if it is stored in full.
    pub base: Option<Seq>,
    /// The stored size, in bytes.
    pub bytes: u64,
}

/// The leases of a store.
#[derive(Debug, Default)]
pub struct Leases {
    /// The time on the store's clock, in ms since the epoch.
    pub now: i64,
    /// For each lease: the time when it was taken or renewed, and its `meta`.
    pub all: Vec<(i64, Vec<u8>)>,
}

/// The number of payloads in one question, if the caller only wants their sum.
const MANY: usize = 4000;

/// The questions that planning asks a backend. All answers come from one snapshot. A question about several checkpoints
/// or lineages is one request to a server.
pub trait Catalog {
    /// Returns at most `most` checkpoints with a save number greater than `after`, in save order, and the start of the
    /// next list. Leaves out exempt checkpoints: see [`Header::exempt`](crate::record::Header::exempt).
    ///
    /// With `before`, the caller only needs checkpoints that were saved before this time. Later ones may be left out.
    fn saved_after(
        &self,
        contract: Option<ContractId>,
        after: Seq,
        before: Option<i64>,
        most: usize,
    ) -> Result<SavedList>;
    /// Returns at most `most` lineage positions greater than `after`, in ascending order. Leaves out lineages of
    /// records: see [`ContractId::has_records`].
    fn lineages_after(&self, contract: Option<ContractId>, after: i64, most: usize) -> Result<Vec<i64>>;
    /// Returns these lineages, in any order. Lineages that are not stored are missing in the answer.
    fn lines(&self, lineages: &[i64]) -> Result<Vec<Line>>;
    /// Returns those of the lineages, by contract and name, whose status is [`Status::Waiting`].
    fn waiting_among(&self, runs: &[(ContractId, String)]) -> Result<Vec<(ContractId, String)>>;
    /// Returns the stored leases, and the time on the store's clock.
    fn leases(&self) -> Result<Leases>;
    /// Returns the positions of a contract's lineages with this name, or with this prefix if `all` is true.
    fn named(&self, contract: ContractId, name: &str, all: bool) -> Result<Vec<i64>>;
    /// The number of checkpoints of each lineage.
    fn counts(&self, lineages: &[i64]) -> Result<Vec<usize>>;
    /// Returns the oldest checkpoints of each lineage, at most the given number. They are ordered by sort key and then
    /// by save order, or by save order alone: see [`Header::age_offset`](crate::record::Header::age_offset).
    fn oldest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>>;
    /// Returns the newest checkpoints of each lineage, at most the given number. They are ordered by sort key and then
    /// by save order, the newest first.
    fn newest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>>;
    /// Returns for each lineage whether it has a checkpoint that depends on its parent.
    fn have_dependents(&self, lineages: &[i64]) -> Result<Vec<bool>>;
    /// Returns the checkpoints that cannot be read without one of these parents. Each pair holds the save number of
    /// the parent and the entry of the child. See
    /// [`Header::depends_on_parent`](crate::record::Header::depends_on_parent).
    fn dependent_on(&self, parents: &[Seq]) -> Result<Vec<(Seq, Entry)>>;
    /// Returns how these payloads are stored. A payload that is missing in the answer is lost, because the store is
    /// damaged.
    fn stored(&self, seqs: &[Seq]) -> Result<Vec<(Seq, Stored)>>;
    /// The total stored size of these payloads, in bytes.
    fn bytes_of(&self, seqs: &[Seq]) -> Result<u64> {
        let sizes =
            seqs.chunks(MANY).map(|seqs| Ok(self.stored(seqs)?.iter().map(|(_, stored)| stored.bytes).sum::<u64>()));
        sizes.sum()
    }
    /// Returns the payloads that are deltas against one of these bases: the number of the base, the number of the
    /// payload, and the payload's stored size in bytes.
    fn deltas_of(&self, bases: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>>;
    /// Returns the stored size of all payloads, in bytes. Returns `None`, without computing the exact size, if it is at
    /// most `limit`.
    fn total(&self, contract: Option<ContractId>, limit: u64) -> Result<Option<u64>>;
}
