//! Encodes large ops before their turn comes: a put as it is stored if its lineage's newest payload stays what it is now, writes
//! as they are stored if their task has not written yet. If that has changed when the turn comes, in whichever process, the work
//! was in vain and nothing else.

use bytes::Bytes;

use crate::backend::{PreEncode, encode_writes, resolve_from_parent};
use crate::cache::{CachedPayload, LineageTip, PayloadCache};
use crate::codec::frame;
use crate::codec::plan::{Base, plan};
use crate::op::Op;
use crate::record::{Draft, Encoded, Seq};

/// Comparing and compressing so many bytes takes longer than handing them from thread to thread.
const LARGE: usize = 256 << 10;

/// Knows what the database holds from the cache of recent payloads alone.
#[derive(Debug)]
pub struct PreEncoder {
    cache: PayloadCache,
}

impl PreEncoder {
    /// Encodes for backends that have this cache.
    pub fn new(cache: PayloadCache) -> Self {
        Self { cache }
    }

    fn encoded(&self, draft: &Draft) -> Option<Encoded> {
        let header = &draft.header;
        let newest = self.cache.newest(header.contract, &header.lineage);
        if draft.inherit.is_empty() {
            let raw = Bytes::from(frame::join(&draft.payload));
            // Where nothing is cached it is not known whether there is a newest.
            return self.cache.holds(raw.len()).then(|| encode(raw, newest, None)).flatten();
        }
        let (tip, newest) = newest.filter(|(tip, _)| header.parent.as_ref() == Some(&tip.id))?;
        let whole = resolve_from_parent(draft, &frame::split(&newest.raw).ok()?)?;
        let parent = Some(tip.seq);
        encode(frame::join(&whole).into(), Some((tip, newest)), parent)
    }
}

/// A payload as it will be stored if that is its lineage's newest when its turn comes; without one, if it is the first of its
/// lineage.
fn encode(raw: Bytes, newest: Option<(LineageTip, CachedPayload)>, parent: Option<Seq>) -> Option<Encoded> {
    let (tip, newest) = newest.unzip();
    let base = tip.map(|tip| Base { seq: tip.seq, depth: tip.depth, budget: tip.budget });
    // The base is at hand, so this cannot fail.
    let load = |_| Ok(newest.unwrap_or_else(|| Bytes::new().into()));
    let (row, misses) = plan(&raw, base, None, load).ok()?;
    Some(Encoded { raw, parent, base: base.map(|base| base.seq), is_delta: row.base.is_some(), body: row.body, misses })
}

impl PreEncode for PreEncoder {
    fn takes_long(&self, op: &Op) -> bool {
        match op {
            Op::Put(draft) if draft.inherit.is_empty() => draft.len() >= LARGE,
            Op::Put(draft) => {
                // Most of it may be its parent's.
                let header = &draft.header;
                draft.len() + self.cache.newest_length(header.contract, &header.lineage) >= LARGE
            }
            Op::Write { writes, .. } => writes.iter().map(|write| write.part.bytes.len()).sum::<usize>() >= LARGE,
            _ => false,
        }
    }

    fn encode(&self, op: &mut Op) {
        match op {
            Op::Put(draft) => draft.encoded = self.encoded(draft),
            Op::Write { writes, replace, encoded, .. } => *encoded = encode_writes(writes, *replace),
            _ => {}
        }
    }
}
