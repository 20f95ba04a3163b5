//! Rebuilds a payload from the chain of rows that it is stored in.

use bytes::Bytes;

use super::envelope;
use super::plan::MAX_DEPTH;
use crate::cache::{CachedPayload, NewEntry, PayloadCache};
use crate::error::{Code, Error, Result};
use crate::record::Seq;

/// A row of a chain.
#[derive(Debug)]
pub struct Link {
    /// The payload that the body is a delta against; `None`: a keyframe.
    pub base: Option<Seq>,
    /// The envelope.
    pub body: Vec<u8>,
}

/// The raw payload saved under that number, from the cache or from its chain of rows. `fetch` reads a row, all of one snapshot.
///
/// The payload's checksum is verified: the right bytes, or `CORRUPT`.
pub fn rebuild(
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
        // A base is older than what is built on it, so this ends. A damaged file must not change that.
        if chain.len() > 2 * usize::try_from(MAX_DEPTH).unwrap_or(0) {
            return Err(Error::new(Code::Corrupt, "the payload's chain of bases does not end: restore a backup"));
        }
        let Some(Link { base, body }) = fetch(link)? else { break };
        chain.push(body);
        next = base;
    }
    let payload = CachedPayload::from(Bytes::from(envelope::open_on(below.as_deref(), &chain)?));
    cache.keep([NewEntry { seq, payload: payload.clone(), supersedes: None, tip: None }]);
    Ok(payload)
}
