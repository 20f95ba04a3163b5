//! Removes payloads. If a delta stays but its base is removed, the delta is first stored as a keyframe. Every
//! remaining checkpoint reads back exactly as before.

use std::collections::HashSet;

use crate::cache::CachedPayload;
use crate::codec::plan::Row;
use crate::error::{Code, Result};
use crate::record::Seq;

/// The payloads of a backend, within the current transaction.
pub(crate) trait Payloads {
    /// The payloads that are deltas against one of these bases, except those in `going`.
    fn dependants(&self, bases: &[Seq], going: &HashSet<Seq>) -> Result<Vec<Seq>>;
    /// A description of the payload's checkpoint, for messages.
    fn describe(&self, seq: Seq) -> String;
    /// The raw payload.
    fn load(&self, seq: Seq) -> Result<CachedPayload>;
    /// Stores a payload again as `row`. Returns by how many bytes its stored size grows.
    fn rewrite(&mut self, seq: Seq, row: &Row) -> Result<i64>;
    /// Removes payloads that no remaining payload is built on. Returns their stored size in bytes. `going` holds the
    /// same payloads.
    fn delete(&mut self, seqs: &[Seq], going: &HashSet<Seq>) -> Result<i64>;
}

/// Removes payloads, and returns the total number of stored bytes that this frees. A delta that is removed together
/// with its base is not stored as a keyframe.
pub(crate) fn remove(payloads: &mut impl Payloads, victims: &[Seq]) -> Result<i64> {
    let going: HashSet<Seq> = victims.iter().copied().collect();
    let (mut grown, mut seen) = (0, HashSet::new());
    let mut bases = victims.to_vec();
    while !bases.is_empty() {
        for dependant in payloads.dependants(&std::mem::take(&mut bases), &going)? {
            if !seen.insert(dependant) {
                continue;
            }
            match payloads.load(dependant) {
                Ok(payload) => grown += payloads.rewrite(dependant, &Row::keyframe(&payload.raw))?,
                // The dependant is damaged and stays unchanged. Payloads built on it may be intact, but they need the
                // removed payload. Store them as keyframes too.
                Err(error) if error.code() == Code::Corrupt => bases.push(dependant),
                Err(error) => return Err(error.context(&payloads.describe(dependant))),
            }
        }
    }
    // Delete only after all dependants are stored again, because a dependant is read through its base.
    Ok(payloads.delete(victims, &going)? - grown)
}
