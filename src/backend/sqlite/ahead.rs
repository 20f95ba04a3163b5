//! What is done for a large put before its turn comes: it is made ready for the place behind what is now the newest of its
//! lineage. If that is another when the turn has come, in this process or any other, the work was in vain and nothing else.

use bytes::Bytes;

use super::payloads;
use crate::backend::Prepare;
use crate::backend::inherit::Inherited;
use crate::codec::frame;
use crate::codec::heads::{Head, Line, SharedHeads};
use crate::record::{Checkpoint, Prepared};

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
    fn prepare(&mut self, checkpoint: &mut Checkpoint) {
        checkpoint.payload.prepared = self.prepared(checkpoint);
    }
}
