//! Removes payloads. If a delta stays but its base is removed, the delta is first stored as a keyframe. So every
//! remaining checkpoint reads back exactly as before (D9).

use std::collections::HashSet;

use crate::cache::CachedPayload;
use crate::codec::plan::Row;
use crate::error::{Code, Result};
use crate::record::Seq;

/// The payloads of a backend, within the current transaction.
pub(crate) trait Payloads {
    /// The payloads that are deltas against this base.
    fn dependants(&self, base: Seq) -> Result<Vec<Seq>>;
    /// A description of the payload's checkpoint, for messages.
    fn describe(&self, seq: Seq) -> String;
    /// The raw payload.
    fn load(&self, seq: Seq) -> Result<CachedPayload>;
    /// Stores a payload again as `row`. Returns the number of bytes by which the stored size of this payload grows.
    fn rewrite(&mut self, seq: Seq, row: &Row) -> Result<i64>;
    /// Removes a payload that is not the base of any remaining payload. Returns the stored size of the removed payload
    /// in bytes.
    fn delete(&mut self, seq: Seq, going: &HashSet<Seq>) -> Result<i64>;
}

/// Removes payloads, and returns the total number of stored bytes that this frees. If a base and its delta are removed
/// together, the delta is not stored as a keyframe.
pub(crate) fn remove(payloads: &mut impl Payloads, victims: &[Seq]) -> Result<i64> {
    let going: HashSet<Seq> = victims.iter().copied().collect();
    let mut freed = 0;
    for victim in victims {
        freed -= rebase_dependants(payloads, *victim, &going)?;
    }
    // Delete the payloads only after all dependants are stored again, because a dependant is read through its base.
    for victim in victims {
        freed += payloads.delete(*victim, &going)?;
    }
    Ok(freed)
}

/// Stores the deltas against a payload as keyframes. Returns the number of bytes by which their stored size grows.
fn rebase_dependants(payloads: &mut impl Payloads, base: Seq, going: &HashSet<Seq>) -> Result<i64> {
    let mut grown = 0;
    let mut bases = vec![base];
    let mut seen = HashSet::from([base]);
    while let Some(base) = bases.pop() {
        for dependant in payloads.dependants(base)? {
            if !seen.insert(dependant) || going.contains(&dependant) {
                continue;
            }
            match payloads.load(dependant) {
                Ok(payload) => grown += payloads.rewrite(dependant, &Row::keyframe(&payload.raw))?,
                // The dependant is damaged and stays unchanged. The payloads built on the dependant may be intact, but
                // they need the payload that is removed. So store them as keyframes too.
                Err(error) if error.code() == Code::Corrupt => bases.push(dependant),
                Err(error) => return Err(error.context(&payloads.describe(dependant))),
            }
        }
    }
    Ok(grown)
}
