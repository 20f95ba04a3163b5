//! Rebuilds a payload from its chain of rows: the payload's own row, the row of its base, the row of that base's base,
//! and so on. The last row is a keyframe.

use bytes::Bytes;

use crate::cache::{CachedPayload, NewEntry, PayloadCache};
use crate::codec::envelope;
use crate::codec::plan::MAX_DEPTH;
use crate::error::{Code, Error, Result};
use crate::record::{PayloadKey, Seq};

/// One row of a chain.
#[derive(Debug)]
pub(crate) struct Link {
    /// The save number of the payload that `body` is a delta against. `None`: `body` is a keyframe.
    pub(crate) base: Option<Seq>,
    /// The sealed bytes: see [`envelope`].
    pub(crate) body: Vec<u8>,
}

/// If more than this many deltas lie between a payload and a cached payload, the payload halfway between them is cached
/// too. Reading a history backwards then applies each delta a few times, and not once for every later payload.
const FAR: usize = 8;

/// Returns the raw payload with the save number `seq`, from the cache or from its chain of rows.
///
/// `sum` reads the checksum that a row stores, to confirm a cached payload. `fetch` reads one row. All rows must come
/// from one snapshot. The checksum of a rebuilt payload is verified: the result is the saved bytes or `CORRUPT`.
pub(crate) fn rebuild(
    seq: Seq,
    cache: &PayloadCache,
    mut sum: impl FnMut(Seq) -> Result<Option<u64>>,
    mut fetch: impl FnMut(Seq) -> Result<Option<Link>>,
) -> Result<CachedPayload> {
    let mut chain: Vec<(Seq, Vec<u8>)> = Vec::new();
    let (mut below, mut bytes) = (None, 0);
    let mut next = Some(seq);
    while let Some(link) = next {
        if cache.may_have(link)
            && let Some(sum) = sum(link)?
            && let Some(cached) = cache.get(PayloadKey { seq: link, sum })
        {
            if link == seq {
                return Ok(cached);
            }
            below = Some(cached.raw);
            break;
        }
        // A base is older than its delta, so a healthy chain ends. The limit stops the walk in a damaged file.
        if chain.len() > 2 * usize::try_from(MAX_DEPTH).unwrap_or(0) {
            return Err(Error::new(
                Code::Corrupt,
                "the payload's bases refer to each other in a circle: restore a backup",
            ));
        }
        let Some(Link { base, body }) = fetch(link)? else { break };
        bytes += body.len();
        // In a healthy chain, all deltas together take about as many bytes as the keyframe.
        if bytes > cache.largest().saturating_mul(4) {
            return Err(Error::new(Code::Corrupt, "the payload's bases are impossibly large: restore a backup"));
        }
        chain.push((link, body));
        next = base;
    }
    open(below.as_deref(), &chain, cache)
}

/// Opens the chain of a payload, its own row first, and caches the payload. If `below` is given, the last row of
/// the chain is a delta against the raw bytes `below`.
///
/// Also caches a payload that other payloads are likely to build on: the keyframe, or the payload halfway down a long
/// chain. Its checksum is verified too. If the checksum is wrong, the payload is not cached, and the requested payload
/// may still be intact.
pub(crate) fn open(below: Option<&[u8]>, chain: &[(Seq, Vec<u8>)], cache: &PayloadCache) -> Result<CachedPayload> {
    let shared = match below {
        None => chain.len().saturating_sub(1),
        Some(_) if chain.len() > FAR => chain.len() / 2,
        Some(_) => 0,
    };
    let opened = |below: Option<&[u8]>, chain: &[(Seq, Vec<u8>)]| {
        let bodies: Vec<&[u8]> = chain.iter().map(|(_, body)| &body[..]).collect();
        envelope::open_on(below, &bodies, cache.largest()).map(Bytes::from)
    };
    let keep = |chain: &[(Seq, Vec<u8>)], raw: &Bytes| {
        let key = chain.first().and_then(|(seq, body)| Some(PayloadKey { seq: *seq, sum: envelope::sum(body)? }));
        let payload = CachedPayload::from(raw.clone());
        cache.keep(key.map(|key| NewEntry { key, payload, supersedes: None, tip: None }));
    };
    let (above, rest) = chain.split_at(shared);
    let raw = if shared > 0
        && let Ok(raw) = opened(below, rest)
    {
        keep(rest, &raw);
        opened(Some(&raw), above)?
    } else {
        opened(below, chain)?
    };
    keep(chain, &raw);
    Ok(raw.into())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::codec::delta;

    /// A history of payloads, and the rows of its only chain. The first payload is the keyframe.
    struct Run {
        payloads: Vec<Vec<u8>>,
        rows: HashMap<Seq, (Option<Seq>, Vec<u8>)>,
    }

    impl Run {
        fn growing(steps: u16) -> Self {
            let mut payloads: Vec<Vec<u8>> = vec![(0_u16..4000).flat_map(u16::to_le_bytes).collect()];
            let mut rows = HashMap::from([(1, (None, envelope::seal(&payloads[0])))]);
            for step in 0..steps {
                let before = payloads[payloads.len() - 1].clone();
                let mut next = before.clone();
                next.splice(100..110, (step..step + 40).flat_map(|word| word.wrapping_mul(40_503).to_be_bytes()));
                let made = delta::encode(&before, &next).unwrap();
                let seq = Seq::from(step) + 1;
                rows.insert(seq + 1, (Some(seq), envelope::seal_delta(&next, &made)));
                payloads.push(next);
            }
            Self { payloads, rows }
        }

        fn newest(&self) -> Seq {
            Seq::try_from(self.payloads.len()).unwrap()
        }

        fn payload(&self, seq: Seq) -> &[u8] {
            &self.payloads[usize::try_from(seq).unwrap() - 1]
        }

        /// Reads a payload, and returns it with the number of rows that were read for it.
        fn read(&self, seq: Seq, cache: &PayloadCache) -> (Result<CachedPayload>, usize) {
            let mut read = 0;
            let fetch = |seq| {
                read += 1;
                Ok(self.rows.get(&seq).map(|(base, body)| Link { base: *base, body: body.clone() }))
            };
            let sum = |seq| Ok(self.rows.get(&seq).and_then(|(_, body)| envelope::sum(body)));
            (rebuild(seq, cache, sum, fetch), read)
        }
    }

    #[test]
    fn a_history_that_is_read_backwards_reads_each_row_a_few_times() {
        let run = Run::growing(256);
        for (capacity, most) in [(usize::MAX, 10), (40 * run.payloads[256].len(), 12)] {
            let cache = PayloadCache::new(capacity);
            let mut all = 0;
            for seq in (1..=run.newest()).rev() {
                let (found, read) = run.read(seq, &cache);
                assert!(found.unwrap().raw == run.payload(seq), "payload {seq}");
                all += read;
            }
            assert!(all < most * run.payloads.len(), "{all} rows for {} payloads", run.payloads.len());
        }
    }

    #[test]
    fn the_keyframe_of_a_payload_that_was_read_is_not_read_again() {
        let run = Run::growing(20);
        let cache = PayloadCache::new(usize::MAX);
        assert_eq!(run.read(21, &cache).1, 21);
        let (found, read) = run.read(20, &cache);
        assert!(found.unwrap().raw == run.payload(20));
        assert_eq!(read, 19, "all but the keyframe");
        assert_eq!(run.read(1, &cache).1, 0);
        assert!(run.read(1, &cache).0.unwrap().raw == run.payload(1));
    }

    /// Only the checksum of a row is damaged, so the payloads above the row can still be rebuilt.
    #[test]
    fn a_damaged_payload_is_not_cached_for_its_neighbours() {
        let newest = 31;
        for damaged in 1..newest {
            let mut run = Run::growing(30);
            run.rows.get_mut(&damaged).unwrap().1[3] ^= 1;
            let cache = PayloadCache::new(usize::MAX);
            for seq in (1..=newest).rev() {
                match run.read(seq, &cache).0 {
                    Ok(found) => assert!(seq != damaged && found.raw == run.payload(seq), "payload {seq}"),
                    Err(error) => assert_eq!((seq, error.code()), (damaged, Code::Corrupt)),
                }
            }
        }
    }
}
