//! Removes payloads. A delta whose base is removed is stored as a keyframe first, so that every checkpoint that stays reads back
//! exactly as before (D9).

use std::collections::HashSet;

use crate::cache::CachedPayload;
use crate::codec::plan::Row;
use crate::error::{Code, Result};
use crate::record::Seq;

/// The payloads of a backend, in a transaction under way.
pub(crate) trait Payloads {
    /// The payloads that are deltas against that one.
    fn dependants(&self, base: Seq) -> Result<Vec<Seq>>;
    /// What messages call the checkpoint of that payload.
    fn describe(&self, seq: Seq) -> String;
    /// The raw payload.
    fn load(&self, seq: Seq) -> Result<CachedPayload>;
    /// Stores a payload anew. Returns by how many bytes it takes more.
    fn rewrite(&mut self, seq: Seq, row: &Row) -> Result<i64>;
    /// Removes a payload; nothing that stays is built on it. Returns the bytes that it took.
    fn delete(&mut self, seq: Seq, going: &HashSet<Seq>) -> Result<i64>;
}

/// Removes payloads, and tells by how many bytes the others and they take less. A base and its dependant that go together cost no
/// keyframe.
pub(crate) fn remove(payloads: &mut impl Payloads, victims: &[Seq]) -> Result<i64> {
    let going: HashSet<Seq> = victims.iter().copied().collect();
    let mut freed = 0;
    for victim in victims {
        freed -= rebase_dependants(payloads, *victim, &going)?;
    }
    // Only now: the dependants have been read through their bases.
    for victim in victims {
        freed += payloads.delete(*victim, &going)?;
    }
    Ok(freed)
}

/// Stores what is built on a payload as keyframes. Returns by how many bytes that takes more.
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
                // It is damaged and stays so. What is built on it may be whole, and needs what is removed here.
                Err(error) if error.code() == Code::Corrupt => bases.push(dependant),
                Err(error) => return Err(error.context(&payloads.describe(dependant))),
            }
        }
    }
    Ok(grown)
}
