//! Rebuilds a payload from its chain of rows. The chain begins with the payload's own row. The row of the base follows,
//! then the row of that base's base, and so on. The last row is a keyframe.

use bytes::Bytes;

use super::envelope;
use super::plan::MAX_DEPTH;
use crate::cache::{CachedPayload, NewEntry, PayloadCache};
use crate::error::{Code, Error, Result};
use crate::record::Seq;

/// One row of a chain.
#[derive(Debug)]
pub(crate) struct Link {
    /// The number of the payload that `body` is a delta against. `None`: `body` is a keyframe.
    pub(crate) base: Option<Seq>,
    /// The sealed bytes: see [`envelope`].
    pub(crate) body: Vec<u8>,
}

/// Returns the raw payload with the number `seq`, from the cache or from its chain of rows.
///
/// `fetch` reads one row. All rows must come from one snapshot. If a payload is rebuilt from rows, its checksum is
/// verified. So the result is the saved bytes or `CORRUPT`.
pub(crate) fn rebuild(
    seq: Seq,
    cache: &PayloadCache,
    mut fetch: impl FnMut(Seq) -> Result<Option<Link>>,
) -> Result<CachedPayload> {
    let mut chain: Vec<Vec<u8>> = Vec::new();
    let mut below = None;
    let mut next = Some(seq);
    while let Some(link) = next {
        if let Some(cached) = cache.get(link) {
            if link == seq {
                return Ok(cached);
            }
            below = Some(cached.raw);
            break;
        }
        // A base is always older than its delta, so a healthy chain ends. The limit stops the walk in a damaged file.
        if chain.len() > 2 * usize::try_from(MAX_DEPTH).unwrap_or(0) {
            return Err(Error::new(
                Code::Corrupt,
                "the payload's bases refer to each other in a circle: restore a backup",
            ));
        }
        let Some(Link { base, body }) = fetch(link)? else { break };
        chain.push(body);
        next = base;
    }
    let payload = CachedPayload::from(Bytes::from(envelope::open_on(below.as_deref(), &chain)?));
    cache.keep([NewEntry { seq, payload: payload.clone(), supersedes: None, tip: None }]);
    Ok(payload)
}
