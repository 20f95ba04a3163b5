//! Sifts checkpoints: looks for texts in their bytes, which takes much less time than to read their values.

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

/// What the bytes of a value must contain, if the value has the text that is searched for. `ts/inspect/search-pattern.ts` makes
/// it.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Sieve {
    /// Whether upper and lower case are the same in ASCII.
    ignore_case: bool,
    kinds: Vec<Kind>,
    /// The texts in the name of a part, or in the meta of a checkpoint that keeps its value there. One of them is enough.
    names: Vec<Vec<u8>>,
}

/// The serializers that write a text in the same way.
#[derive(Deserialize, TS)]
#[serde(deny_unknown_fields)]
struct Kind {
    tags: Vec<String>,
    /// One of them is enough. An empty one is in all bytes.
    needles: Vec<Vec<u8>>,
}

/// Bytes to look for.
enum Needle {
    Exact(Box<Finder<'static>>),
    /// Upper and lower case are the same. Has no upper case itself. `rarest` is the index of the byte to look for first.
    AnyCase {
        needle: Vec<u8>,
        rarest: usize,
    },
}

/// Bytes that many texts have, the most frequent first.
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

/// Reads checkpoints and tells in which of them a value may have the text. `before` is the checkpoint before the first one, if
/// both are of one run: what a checkpoint has in common with the one before it is not looked at again.
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
        // A query for one checkpoint travels together with others.
        queries.push(if all.len() == 1 { all.remove(0) } else { Query::All(all) });
    }
    Ok(Request::LookAtEach(queries, Box::new(sifter), beside))
}

struct Sifter {
    /// The contract and the lineage of each checkpoint.
    lineages: Vec<(&'static Contract, String)>,
    /// The number of checkpoints that are only compared with the next one.
    skip: usize,
    needles: Vec<Vec<Needle>>,
    /// The index of the needles for each tag.
    kinds: HashMap<String, usize>,
    names: Vec<Needle>,
    /// The index of the checkpoint that was sifted last, and its parts.
    last: Option<(usize, Vec<Part>)>,
    sifted: Sifted,
}

/// The response.
#[derive(Default, Serialize)]
struct Sifted {
    /// The indexes of the checkpoints that may have the text.
    found: Vec<usize>,
    /// How often a part was not looked at, because its tag belongs to no kind.
    unread: BTreeMap<String, usize>,
    /// The number of checkpoints that cannot be read.
    damaged: usize,
    /// The size of what was read, in bytes.
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
            // It was removed meanwhile. Its run may have a newer one, which the caller reads.
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
