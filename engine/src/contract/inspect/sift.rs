//! Searches the bytes of checkpoints for texts. This is much faster than reading their values.

use std::collections::{BTreeMap, HashMap};

use memchr::memchr2_iter;
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::read::{At, Everything, everything};
use crate::contract::call::{Collect, Request};
use crate::contract::entry::Contract;
use crate::contract::registry::named;
use crate::contract::response::Response;
use crate::error::{Code, Error, Result};
use crate::query::{Answer, Query};
use crate::record::{Part, Record, Tuple};

/// The bytes that a value must contain if it contains the wanted text. `ts/inspect/search-pattern.ts` creates it.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Sieve {
    /// True if ASCII letters match in upper and lower case.
    ignore_case: bool,
    kinds: Vec<Kind>,
    /// The texts for names of parts, and for the meta of a checkpoint that keeps its value there. One match suffices.
    names: Vec<Vec<u8>>,
}

/// Serializers that write texts in the same way.
#[derive(Deserialize, TS)]
#[serde(deny_unknown_fields)]
struct Kind {
    tags: Vec<String>,
    /// One match suffices. An empty needle matches all bytes.
    needles: Vec<Vec<u8>>,
}

/// Bytes to look for.
enum Needle {
    Exact(Box<Finder<'static>>),
    /// Matches upper and lower case. The needle is in lower case. `rarest` is the index of the byte to look for first.
    AnyCase {
        needle: Vec<u8>,
        rarest: usize,
    },
}

/// Frequent bytes in texts, the most frequent first.
const FREQUENT: &[u8] = b"\0 etaoinshrdlucmfwypvbgkjxqz";

impl Needle {
    fn new(bytes: &[u8], ignore_case: bool) -> Self {
        if !ignore_case || !bytes.iter().any(u8::is_ascii_alphabetic) {
            return Self::Exact(Box::new(Finder::new(bytes).into_owned()));
        }
        let needle = bytes.to_ascii_lowercase();
        let rank = |byte: &u8| FREQUENT.iter().position(|frequent| frequent == byte).unwrap_or(usize::MAX);
        let rarest = (0..needle.len()).max_by_key(|at| rank(&needle[*at])).unwrap_or_default();
        Self::AnyCase { needle, rarest }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Exact(finder) => finder.find(bytes).is_some(),
            Self::AnyCase { needle, rarest } => {
                let byte = needle[*rarest];
                memchr2_iter(byte, byte.to_ascii_uppercase(), bytes).any(|at| {
                    let found = at.checked_sub(*rarest).and_then(|from| bytes.get(from..from + needle.len()));
                    found.is_some_and(|found| found.eq_ignore_ascii_case(needle))
                })
            }
        }
    }
}

fn any_in(needles: &[Needle], bytes: &[u8]) -> bool {
    needles.iter().any(|needle| needle.is_in(bytes))
}

/// Finds the checkpoints whose values may contain the text. `before` is the checkpoint before the first one, in the
/// same run. Bytes that a checkpoint shares with the previous one are not searched again.
pub(super) fn sift(of: &[At], before: Option<&At>, sieve: &Sieve, beside: bool) -> Result<Request> {
    let needles = |all: &[Vec<u8>]| all.iter().map(|bytes| Needle::new(bytes, sieve.ignore_case)).collect::<Vec<_>>();
    let mut sifter = Sifter {
        lineages: Vec::with_capacity(of.len()),
        skip: before.iter().len(),
        needles: Vec::with_capacity(sieve.kinds.len()),
        kinds: HashMap::new(),
        names: needles(&sieve.names),
        last: None,
        sifted: Sifted::default(),
    };
    for Kind { tags, needles: all } in &sieve.kinds {
        sifter.kinds.extend(tags.iter().map(|tag| (tag.clone(), sifter.needles.len())));
        sifter.needles.push(needles(all));
    }
    let mut queries = Vec::with_capacity(of.len());
    for at in before.into_iter().chain(of) {
        let contract = named(&at.space)?;
        let mut all = everything(contract, at);
        sifter.lineages.push((contract, (contract.lineage_of)(&at.run, &at.ns)));
        // A single query can share a round trip with others, unlike `Query::All`.
        queries.push(if all.len() == 1 { all.remove(0) } else { Query::All(all) });
    }
    Ok(Request::LookAtEach(queries, Box::new(sifter), beside))
}

struct Sifter {
    /// The contract and the lineage of each checkpoint.
    lineages: Vec<(&'static Contract, String)>,
    /// The number of leading checkpoints that are only compared with the next one.
    skip: usize,
    needles: Vec<Vec<Needle>>,
    /// The index of the needles, by tag.
    kinds: HashMap<String, usize>,
    names: Vec<Needle>,
    /// The last searched checkpoint, by its index, and its parts.
    last: Option<(usize, Vec<Part>)>,
    sifted: Sifted,
}

/// The result of a search.
#[derive(Default, Serialize, TS)]
pub(super) struct Sifted {
    /// The indexes of the checkpoints that may have the text.
    found: Vec<usize>,
    /// The number of parts that were not searched because no kind has their tag.
    unread: BTreeMap<String, usize>,
    /// The number of checkpoints that cannot be read.
    damaged: usize,
    /// The number of bytes read.
    bytes: usize,
}

impl Collect for Sifter {
    fn take(&mut self, index: usize, answer: Result<Answer>) -> Result<()> {
        let answers = match answer {
            Ok(Answer::All(answers)) => answers,
            Ok(answer) => vec![answer],
            Err(error) if matches!(error.code(), Code::Corrupt | Code::Unsupported) => {
                self.sifted.damaged += usize::from(index >= self.skip);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let Some((contract, lineage)) = self.lineages.get(index) else { return Err(Error::poisoned()) };
        let contract = *contract;
        match Everything::of(lineage, answers)? {
            Some(found) => self.sift(index, contract, found),
            // The checkpoint was removed. Its run may have a newer one, so the caller must read it.
            None if index >= self.skip => self.sifted.found.push(index - self.skip),
            None => {}
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Response> {
        self.sifted.found.sort_unstable();
        Response::json(&self.sifted)
    }
}

impl Sifter {
    fn sift(&mut self, index: usize, contract: &Contract, found: Everything) {
        let Everything { tuple: Tuple { checkpoint, writes }, records } = found;
        let mut parts = checkpoint.payload.parts;
        parts.extend(writes.into_iter().map(|write| write.part));
        let record = |Record { tag, bytes, .. }| Part { name: String::new(), tag, bytes: bytes.into() };
        parts.extend(records.into_iter().flat_map(|page| page.records).map(record));
        self.sifted.bytes += parts.iter().map(|part| part.bytes.len()).sum::<usize>();
        if index >= self.skip {
            let is_before = |(at, _): &&(usize, Vec<Part>)| {
                at + 1 == index
                    && self
                        .lineages
                        .get(*at)
                        .is_some_and(|(of, lineage)| of.id == contract.id && *lineage == self.lineages[index].1)
            };
            let known = self.last.as_ref().filter(is_before).map_or(&[][..], |(_, parts)| parts);
            let mut may_have = parts.is_empty() && any_in(&self.names, &checkpoint.header.meta);
            for part in parts.iter().filter(|part| !known.contains(part)) {
                match self.kinds.get(&part.tag) {
                    Some(kind) => may_have = may_have || any_in(&self.needles[*kind], &part.bytes),
                    None => *self.sifted.unread.entry(part.tag.clone()).or_default() += 1,
                }
                may_have = may_have || any_in(&self.names, part.name.as_bytes());
            }
            if may_have {
                self.sifted.found.push(index - self.skip);
            }
        }
        self.last = Some((index, parts));
    }
}
