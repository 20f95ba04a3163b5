//! Encodes large ops before the writer processes them.
//!
//! A put is encoded against the newest payload of its lineage, and writes as the first row of their task. If another
//! save has changed either in the meantime, the backend encodes the op again. The only cost is the time for the first
//! encoding.

use bytes::Bytes;

use super::inherit::resolve_from_parent;
use super::interface::PreEncode;
use super::writes::encode as encode_writes;
use crate::cache::{CachedPayload, LineageTip, PayloadCache};
use crate::codec::frame;
use crate::codec::plan::{Base, Effort, plan};
use crate::op::Op;
use crate::record::{Draft, Encoded, PayloadKey};

/// The minimum size of a large op, in bytes. Comparing and compressing a large op takes longer than passing it to
/// another thread.
const LARGE: usize = 256 << 10;

/// Encodes ops against recent payloads. Reads only the cache, never the database.
#[derive(Debug)]
pub struct PreEncoder {
    cache: PayloadCache,
}

impl PreEncoder {
    /// Creates a pre-encoder for backends that share this cache.
    pub fn new(cache: PayloadCache) -> Self {
        Self { cache }
    }

    fn encoded(&self, draft: &Draft) -> Option<Encoded> {
        let header = &draft.header;
        let newest = self.cache.newest(header.contract, &header.lineage);
        if draft.inherit.is_empty() {
            let raw = Bytes::from(frame::join(&draft.payload));
            // If the payload is too large for the cache, the cache cannot tell whether the lineage already has a newest
            // payload.
            return self.cache.holds(raw.len()).then(|| self.encode_raw(raw, newest, None)).flatten();
        }
        let (tip, newest) = newest.filter(|(tip, _)| header.parent.as_ref() == Some(&tip.id))?;
        let whole = resolve_from_parent(draft, &frame::split(&newest.raw).ok()?)?;
        let parent = Some(tip.key);
        self.encode_raw(frame::join(&whole).into(), Some((tip, newest)), parent)
    }

    /// Encodes a payload for storage, optimistically: `newest` must still be the newest payload of the lineage when the
    /// payload is stored. `None`: the payload must be the first of its lineage.
    fn encode_raw(
        &self,
        raw: Bytes,
        newest: Option<(LineageTip, CachedPayload)>,
        parent: Option<PayloadKey>,
    ) -> Option<Encoded> {
        let (tip, newest) = newest.unzip();
        let base = tip.map(|tip| Base { key: tip.key, depth: tip.depth, budget: tip.budget });
        // The base is already loaded, so this function fails only if the payload is too large. The backend refuses it.
        let load = |_| Ok(newest.map(CachedPayload::into_base).unwrap_or_default());
        let (row, misses) = plan(&raw, base, None, Effort::Full, self.cache.largest(), load).ok()?;
        let base = base.map(|base| base.key);
        Some(Encoded { raw, parent, base, is_delta: row.base.is_some(), body: row.body, misses })
    }
}

impl PreEncode for PreEncoder {
    fn size_if_long(&self, op: &Op) -> Option<usize> {
        let size = match op {
            Op::Put(draft) if draft.inherit.is_empty() => draft.len(),
            Op::Put(draft) => {
                // Inherited parts count too, because most of the payload may come from the parent.
                let header = &draft.header;
                draft.len() + self.cache.newest_length(header.contract, &header.lineage)
            }
            Op::Write { writes, .. } => writes.iter().map(|write| write.part.bytes.len()).sum::<usize>(),
            _ => 0,
        };
        (size >= LARGE).then_some(size)
    }

    fn encode(&self, op: &mut Op) {
        match op {
            Op::Put(draft) => draft.encoded = self.encoded(draft),
            Op::Write { writes, replace, encoded, .. } => *encoded = encode_writes(writes, *replace),
            _ => {}
        }
    }
}
