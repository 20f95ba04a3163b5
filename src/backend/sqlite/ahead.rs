//! What is done for a large op before its turn comes. A put is made ready for the place behind what is now the newest of its
//! lineage, writes for a task that has not written yet. If that is otherwise when the turn has come, whichever process has done
//! it, the work was in vain and nothing else.

use bytes::Bytes;

use super::{payloads, writes};
use crate::backend::Prepare;
use crate::backend::inherit::Inherited;
use crate::codec::frame;
use crate::codec::heads::{Head, Line, SharedHeads};
use crate::op::Op;
use crate::record::{Checkpoint, Prepared};

/// To compare and compress so many bytes takes longer than to hand them from thread to thread.
const LARGE: usize = 256 << 10;

/// Knows what the database holds from the cache of recent payloads alone.
#[derive(Debug)]
pub struct Ahead {
    heads: SharedHeads,
}

impl Ahead {
    /// Prepares for backends that have this cache.
    pub fn new(heads: SharedHeads) -> Self {
        Self { heads }
    }

    fn prepared(&self, checkpoint: &Checkpoint) -> Option<Prepared> {
        let header = &checkpoint.header;
        let newest = self.heads.newest(header.space, &header.lineage);
        if checkpoint.payload.inherit.is_empty() {
            // Where nothing is kept it is not known whether there is a newest.
            let raw = Bytes::from(frame::join(&checkpoint.payload));
            return self.heads.holds(raw.len()).then(|| payloads::prepare(raw, newest.as_ref().map(both)));
        }
        let newest = newest.filter(|(line, _)| header.parent.as_ref() == Some(&line.id))?;
        let (line, head) = both(&newest);
        let mut payload = checkpoint.payload.clone();
        let mut found = Inherited::of(&mut payload);
        found.take_parents(&frame::split(&head.raw).ok()?);
        if !found.is_complete() {
            return None;
        }
        found.into_payload(&mut payload);
        let prepared = payloads::prepare(frame::join(&payload).into(), Some((line, head)));
        Some(Prepared { parent: Some(line.seq), ..prepared })
    }
}

fn both((line, head): &(Line, Head)) -> (&Line, &Head) {
    (line, head)
}

impl Prepare for Ahead {
    fn takes_long(&self, op: &Op) -> bool {
        match op {
            Op::Put(checkpoint) if checkpoint.payload.inherit.is_empty() => checkpoint.payload.len() >= LARGE,
            Op::Put(checkpoint) => {
                // Most of it may be its parent's.
                let Checkpoint { header, payload } = &**checkpoint;
                payload.len() + self.heads.newest_length(header.space, &header.lineage) >= LARGE
            }
            Op::Write { writes, .. } => writes.iter().map(|write| write.part.bytes.len()).sum::<usize>() >= LARGE,
            _ => false,
        }
    }

    fn prepare(&self, op: &mut Op) {
        match op {
            Op::Put(checkpoint) => checkpoint.payload.prepared = self.prepared(checkpoint),
            Op::Write { writes, replace, prepared, .. } => *prepared = writes::prepare(writes, *replace),
            _ => {}
        }
    }
}
