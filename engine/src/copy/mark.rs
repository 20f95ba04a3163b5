//! The progress mark: a checkpoint in the destination that says how far a copy is. It changes in the same unit as the
//! content, so it is always right. It is removed when the copy has ended.

use serde::{Deserialize, Serialize};

use super::shared::{Counts, MARK_CONTRACT};
use super::side::Side;
use crate::error::{Code, Error, Result};
use crate::op::{Expect, Must, Op, Unit};
use crate::record::{Checkpoint, Header, Payload, Seq, SortKey};

/// The id and the lineage of the mark.
const NAME: &str = "copy";

/// The version of the mark. A version of Forkpoint that places other things under the same names needs another one.
const VERSION: u32 = 1;

/// What is copied at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// All lineages are created. Most copies begin with [`Stage::Saves`] instead.
    Begin,
    /// The lineages whose origins were created after them get these origins.
    Describe,
    /// The checkpoints, in save order.
    Saves,
    /// The logs get the records that they have now.
    Settle,
    /// The pending writes.
    Writes,
    /// Everything is copied. The stores are compared.
    Verify,
}

/// A log of which a part is copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Partial {
    pub(super) contract: u8,
    pub(super) lineage: String,
    pub(super) log: String,
    /// The checkpoint whose records are being copied. `None`: the records that the log has now.
    pub(super) at: Option<String>,
    /// The number of records of the log in the destination.
    pub(super) length: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    version: u32,
    /// See [`CopyOptions::source`](super::shared::CopyOptions::source).
    pub(super) source: String,
    /// The number of units of the copy so far. Of two copies to the same destination, one fails.
    turn: u64,
    pub(super) stage: Stage,
    /// All lineages of the source up to this position exist in the destination.
    pub(super) created: i64,
    /// The save number of the last checkpoint that was copied.
    pub(super) after: Option<Seq>,
    /// The contract and the id of this checkpoint.
    pub(super) last: Option<(u8, String)>,
    /// The position of the last lineage that [`Stage::Describe`] or [`Stage::Settle`] has finished.
    pub(super) settled: Option<i64>,
    /// The contract and the id of the last checkpoint whose pending writes were copied.
    pub(super) written: Option<(u8, String)>,
    pub(super) partial: Option<Partial>,
    /// The position of the last lineage of an earlier copy after which this one goes on: see
    /// [`Earlier`](super::earlier::Earlier). `None`: the destination was empty.
    #[serde(default)]
    pub(super) existing: Option<i64>,
    pub(super) done: Counts,
}

impl Mark {
    pub(super) fn new(source: &str, stage: Stage) -> Self {
        Self {
            version: VERSION,
            source: source.to_owned(),
            turn: 0,
            stage,
            created: i64::MIN,
            after: None,
            last: None,
            settled: None,
            written: None,
            partial: None,
            existing: None,
            done: Counts::default(),
        }
    }

    /// Reads the mark of a store. `None`: no copy to this store is under way.
    pub(super) fn read(side: &Side) -> Result<Option<Self>> {
        let Some(found) = side.get(MARK_CONTRACT, NAME)? else { return Ok(None) };
        let unknown = || {
            let message = "the progress mark of a copy was written by another version of forkpoint: finish the copy \
                           with that version, or give an empty destination";
            Error::new(Code::Unsupported, message)
        };
        let mark: Self = serde_json::from_slice(&found.header.meta).map_err(|_| unknown())?;
        if mark.version == VERSION { Ok(Some(mark)) } else { Err(unknown()) }
    }

    /// A unit of the copy: the ops and the mark after them. The unit fails if another copy has gone on meanwhile.
    pub(super) fn advance(&mut self, mut ops: Vec<Op>) -> Result<Unit> {
        let expect = self.expect();
        self.turn += 1;
        let header = Header {
            contract: MARK_CONTRACT,
            lineage: NAME.to_owned(),
            id: NAME.to_owned(),
            parent: None,
            group: String::new(),
            label: String::new(),
            sort_key: turn_key(self.turn),
            saved_at: 0,
            age_offset: 0,
            depends_on_parent: false,
            exempt: true,
            meta: serde_json::to_vec(self)
                .map_err(|error| Error::invalid(format!("the progress of a copy cannot be written: {error}")))?,
        };
        let checkpoint = Checkpoint { header, payload: Payload::default(), logs: Vec::new() };
        ops.push(Op::Put(Box::new(checkpoint.into())));
        Ok(Unit { expect: vec![expect], ops })
    }

    /// The unit that ends the copy.
    pub(super) fn removal(&self) -> Unit {
        Unit { expect: vec![self.expect()], ops: vec![Op::Remove { contract: MARK_CONTRACT, id: NAME.to_owned() }] }
    }

    fn expect(&self) -> Expect {
        if self.turn == 0 {
            let (lineage, or) = (NAME.to_owned(), String::new());
            return Expect::Newest { contract: MARK_CONTRACT, lineage, newest: None, or };
        }
        let message = "another copy to this destination is under way: wait for its end";
        Expect::Checkpoint {
            contract: MARK_CONTRACT,
            id: NAME.to_owned(),
            must: Must::HaveSortKey(turn_key(self.turn)),
            otherwise: Error::new(Code::Conflict, message),
        }
    }
}

fn turn_key(turn: u64) -> SortKey {
    SortKey(turn.to_be_bytes().to_vec())
}
