//! The optimistic write: stores a batch of saves in one round trip.
//!
//! It assumes that each lineage's newest checkpoint is the remembered one, that a checkpoint without a parent begins a
//! new lineage, and that new ids are free. One round trip has the locks, a statement that stores only if all of this is
//! true, and the commit. If nothing was stored, [`super::write`] stores the batch.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;

use super::batch::{Batch, Memory};
use super::heads::{Head, Heads};
use super::key::{self, Name, number};
use super::notify::Changes;
use super::optimistic_rows::{LOCK, LOOK, Needed, NewLineage, Put, STORE, STORE_AND_CLAIM, columns, needed_columns};
use super::payloads::tip;
use super::session::Session;
use super::status::{self, Touched};
use super::transaction::Transaction;
use super::value::values;
use super::writes::{Claims, Rows};
use crate::backend::header::flags_and_sum;
use crate::backend::inherit::resolve_from_parent;
use crate::backend::number::signed;
use crate::cache::{CachedPayload, NewEntry, PayloadCache};
use crate::codec::frame;
use crate::codec::plan::{Base, Effort, plan};
use crate::error::{Code, Error, Result};
use crate::op::{Applied, Expect, Must, Op, Unit};
use crate::record::{Bound, ContractId, Draft, Header, Labels, PayloadKey, Seq};
use crate::retention::LEASES;

/// The maximum size of a payload, in bytes. A larger payload would be costly to send twice if an assumption is wrong.
const LARGEST: usize = 16 << 20;

/// Writes and claims that one pair of statements stores: first the writes, then the claims.
#[derive(Default)]
struct Stage {
    writes: Rows,
    claims: Claims,
}

/// The content of an optimistic write, and its assumptions.
struct OptimisticWrite<'a> {
    heads: &'a Heads,
    cache: &'a PayloadCache,
    call: i64,
    /// The lineages that the batch relies on, with the expected save numbers and random numbers of their newest
    /// checkpoints.
    lineages: BTreeMap<i64, (Seq, i64)>,
    /// The lineages that begin with the batch. In a head, a negative number is the index of its lineage here.
    new_lineages: Vec<NewLineage>,
    /// Other lineages that must not exist, because the batch removes them.
    absent: Vec<Name>,
    /// The same for a batch that stores no checkpoint. [`LOOK`] verifies it.
    absent_at_look: Vec<Name>,
    /// The heads after the puts so far. The save number of a put is not known yet: a negative number is its index in
    /// `puts`.
    moved: HashMap<Name, Head>,
    puts: Vec<Put>,
    ids: HashSet<Name>,
    /// True if the batch stores a checkpoint.
    has_puts: bool,
    stages: Vec<Stage>,
    touched: Touched,
    /// Checkpoints whose lineages are locked, because writes to them change a status.
    told: Vec<Name>,
    /// Rows that must exist and that no head verifies. Their lineages are locked.
    needed: Vec<Needed>,
    /// For each id, the stage of its last write or claim, and true if that was a claim.
    last: HashMap<Name, (usize, bool)>,
}

/// An optimistic write does not support the batch.
struct Unsupported;

/// Stores the batch in one round trip. Returns `None` if nothing was stored, because the batch has other changes than
/// saves, or because an assumption was wrong.
pub(super) fn store(session: &Session, memory: &Memory, batch: Batch<'_>) -> Result<Option<Vec<Applied>>> {
    let Batch { units, call } = batch;
    let (cache, heads) = (&memory.cache, &mut *memory.heads.borrow_mut());
    let has_puts = units.iter().flat_map(|unit| &unit.ops).any(|op| matches!(op, Op::Put(_)));
    let mut write = OptimisticWrite::new(heads, cache, call, has_puts);
    let Ok(mut applied) = units.iter().map(|unit| write.unit(unit)).collect::<Result<Vec<_>, _>>() else {
        return Ok(None);
    };
    let OptimisticWrite {
        lineages,
        new_lineages,
        absent,
        absent_at_look,
        puts,
        mut stages,
        touched,
        mut told,
        needed,
        ..
    } = write;
    // Only the statement that stores checkpoints verifies heads. Without it, conditions on heads would not be verified.
    if puts.is_empty() && !(lineages.is_empty() && absent.is_empty()) {
        return Ok(None);
    }
    let open = Transaction::write(session, true);
    let first = puts.first().map(|put| (put.head.header.contract, put.head.header.id.clone()));
    let changes = Changes::of(units);
    let mut named = changes.leases.clone();
    for (contract, id, name, _) in &needed {
        told.extend(id.iter().map(|id| (*contract, id.clone())));
        named.extend(name.iter().map(|name| (*contract, name.clone())));
    }
    if !(lineages.is_empty() && told.is_empty() && named.is_empty()) {
        let mut locked = values![lineages.keys().copied().collect::<Vec<_>>()];
        locked.extend([&told, &named].into_iter().flat_map(key::columns));
        open.later(LOCK, locked);
    }
    changes.tell(&open);
    let looked = (!(needed.is_empty() && absent_at_look.is_empty())).then(|| {
        let at = open.count();
        let mut values = needed_columns(needed);
        values.extend(key::columns(&absent_at_look));
        open.later(LOOK, values);
        at
    });
    let at = open.count();
    if first.is_some() {
        let mut values = columns(&lineages, &new_lineages, &absent, &puts, call);
        // Claims that come after writes of the batch need a separate statement.
        match stages.first_mut().filter(|stage| stage.writes.is_empty() && !stage.claims.is_empty()) {
            Some(stage) => {
                values.extend(std::mem::take(&mut stage.claims).into_values());
                open.later(STORE_AND_CLAIM, values);
            }
            None => open.later(STORE, values),
        }
    }
    let guard = || match &first {
        Some((contract, id)) => values![id, number(*contract), call],
        None => values!["", 0_i16, call],
    };
    for Stage { writes, claims } in stages {
        if !writes.is_empty() {
            writes.store(&open, guard());
        }
        if !claims.is_empty() {
            claims.store(&open, guard());
        }
    }
    touched.refresh(&open);
    let answers = open.commit()?;
    let missing =
        |at: usize| answers.get(at).and_then(|rows| rows.first()).is_none_or(|row| !row.get::<_, &str>(0).is_empty());
    if looked.is_some_and(missing) {
        return Ok(None);
    }
    if first.is_none() {
        return Ok(Some(applied));
    }
    let seqs: Vec<(Seq, i64)> = answers.get(at).into_iter().flatten().map(|row| (row.get(0), row.get(1))).collect();
    if seqs.len() != puts.len() {
        // Others have written the lineages, so assume nothing until the database was read again.
        for Head { header, .. } in puts.iter().map(|put| &put.head) {
            // A lineage without a remembered head was not new after all. This does not mean that others share it.
            if heads.of(header.contract, &header.lineage).is_some() {
                heads.doubt(header.contract, &header.lineage);
            }
        }
        return Ok(None);
    }
    for unit in &mut applied {
        let index = unit.lineage.and_then(|index| usize::try_from(index).ok());
        unit.lineage = index.and_then(|index| seqs.get(index)).map(|(_, lin)| *lin);
    }
    learn(cache, heads, puts, &seqs);
    Ok(Some(applied))
}

/// Remembers the stored checkpoints.
fn learn(cache: &PayloadCache, heads: &mut Heads, puts: Vec<Put>, seqs: &[(Seq, i64)]) {
    let seq_of = |seq_or_index: Seq| {
        if seq_or_index < 0 {
            usize::try_from(-seq_or_index - 1).ok().and_then(|at| seqs.get(at)).map(|(seq, _)| *seq)
        } else {
            Some(seq_or_index)
        }
    };
    let mut kept = Vec::with_capacity(puts.len());
    for (put, (seq, lin)) in puts.into_iter().zip(seqs) {
        let Put { mut head, payload, supersedes, .. } = put;
        head.base.key.seq = *seq;
        head.lin = *lin;
        let supersedes = supersedes.and_then(seq_of);
        let tip = tip(&head.header, payload.raw.len(), head.base);
        kept.push(NewEntry { key: head.base.key, payload, supersedes, tip });
        let later = heads
            .of(head.header.contract, &head.header.lineage)
            .is_none_or(|newest| head.header.sort_key >= newest.header.sort_key);
        if later {
            heads.put(head);
        }
    }
    cache.keep(kept);
}

impl<'a> OptimisticWrite<'a> {
    fn new(heads: &'a Heads, cache: &'a PayloadCache, call: i64, has_puts: bool) -> Self {
        Self {
            heads,
            cache,
            call,
            lineages: BTreeMap::new(),
            new_lineages: Vec::new(),
            absent: Vec::new(),
            absent_at_look: Vec::new(),
            moved: HashMap::new(),
            puts: Vec::new(),
            ids: HashSet::new(),
            has_puts,
            stages: Vec::new(),
            touched: Touched::default(),
            told: Vec::new(),
            needed: Vec::new(),
            last: HashMap::new(),
        }
    }
}

impl OptimisticWrite<'_> {
    /// Adds a unit to the optimistic write. Returns the results of the unit if the write succeeds.
    fn unit(&mut self, unit: &Unit) -> Result<Applied, Unsupported> {
        let mut applied = Applied::default();
        unit.expect.iter().try_for_each(|expect| self.expect(expect, unit))?;
        unit.ops.iter().try_for_each(|op| match op {
            Op::Put(draft) => {
                applied.stored(self.put(draft)?);
                // The index of the put. The answer of the statement has the lineage.
                applied.lineage = Some(signed(self.puts.len() as u64) - 1);
                Ok(())
            }
            Op::Write { contract, id, writes, replace, encoded } => {
                if status::tells(writes) {
                    self.told.push(key::name(*contract, id));
                }
                self.touched.written(*contract, id, writes);
                self.stage(*contract, id, false).writes.add(*contract, id, writes, *replace, encoded.as_deref());
                Ok(())
            }
            Op::Claim { contract, id, claimed_by } => {
                self.touched.add(*contract, id);
                self.stage(*contract, id, true).claims.add(*contract, id, claimed_by);
                Ok(())
            }
            Op::RemoveFrom { contract, lineage, sort_key } if sort_key.0.is_empty() => self.remove(*contract, lineage),
            Op::RemoveLogs { contract, lineage } => self.remove(*contract, lineage),
            _ => Err(Unsupported),
        })?;
        Ok(applied)
    }

    /// Checks a condition against the remembered heads. If it seems false, the database must decide.
    fn expect(&mut self, expect: &Expect, unit: &Unit) -> Result<(), Unsupported> {
        let holds = match expect {
            Expect::Newest { contract, lineage, .. } | Expect::NewestSave { contract, lineage, .. } => {
                let begins = |op: &Op| matches!(op, Op::Put(draft) if draft.header.contract == *contract && draft.header.lineage == *lineage);
                match self.head(*contract, lineage) {
                    Some(head) => expect.check(Some(&head.header)),
                    // The statement verifies that the lineage does not exist.
                    None if unit.ops.iter().any(begins) => expect.check(None),
                    None => return Err(Unsupported),
                }
            }
            Expect::Checkpoint { contract, id, must, .. } => {
                let is_new = |op: &Op| matches!(op, Op::Put(draft) if draft.header.contract == *contract && draft.header.id == *id);
                let is_known =
                    self.ids.contains(&key::name(*contract, id)) || self.heads.with_id(*contract, id).is_some();
                if !is_known && unit.ops.iter().any(is_new) {
                    // The statement verifies that the id is free.
                    expect.check(None)
                } else if matches!(must, Must::BeSavedSince(i64::MIN)) {
                    self.need(*contract, Some(id), None);
                    Ok(())
                } else if matches!(must, Must::NotBeSavedSince(_)) {
                    // The remembered time may be too early.
                    return Err(Unsupported);
                } else {
                    let head = self.heads.with_id(*contract, id).cloned().ok_or(Unsupported)?;
                    let head = self
                        .head(*contract, &head.header.lineage)
                        .filter(|head| head.header.id == *id)
                        .ok_or(Unsupported)?;
                    expect.check(Some(&head.header))
                }
            }
            Expect::Stored { contract, id, lineage, .. } => {
                self.need(*contract, id.as_deref(), lineage.as_deref());
                Ok(())
            }
            Expect::Incarnation { contract, lineage, position, .. } => {
                // Only the statement that stores checkpoints verifies a head.
                let head = if self.has_puts { self.head(*contract, lineage) } else { None };
                if head.is_none() {
                    let name = lineage.as_bytes().to_vec();
                    self.needed.push((number(*contract), None, Some(name), Some(*position)));
                }
                head.map_or(Ok(()), |head| expect.check_line(Some(head.lin)))
            }
            // The statement verifies that there is no lease. If there is one, even an expired one, the database must decide.
            Expect::Unleased { lineage, .. } => {
                let lease = key::name(LEASES, lineage);
                if self.has_puts { &mut self.absent } else { &mut self.absent_at_look }.push(lease);
                Ok(())
            }
            Expect::FreeSlot { .. } | Expect::UnleasedRunOf { .. } => return Err(Unsupported),
        };
        holds.map_err(|_| Unsupported)
    }

    /// Requires that the checkpoint with this id, or any checkpoint of the lineage, exists. The statement that stores
    /// checkpoints verifies heads. [`LOOK`] verifies the rest.
    fn need(&mut self, contract: ContractId, id: Option<&str>, lineage: Option<&str>) {
        let name = |text: &str| key::name(contract, text);
        let is_put = id.is_some_and(|id| self.ids.contains(&name(id)))
            || lineage.is_some_and(|lineage| self.moved.contains_key(&name(lineage)));
        if is_put || self.has_puts && self.is_verified(contract, id, lineage) {
            return;
        }
        let bytes = |text: &str| text.as_bytes().to_vec();
        self.needed.push((number(contract), id.map(bytes), lineage.map(bytes), None));
    }

    fn is_verified(&mut self, contract: ContractId, id: Option<&str>, lineage: Option<&str>) -> bool {
        let known = id.and_then(|id| self.heads.with_id(contract, id)).map(|head| head.header.lineage.clone());
        let has_id =
            known.and_then(|lineage| self.head(contract, &lineage)).is_some_and(|head| Some(&*head.header.id) == id);
        has_id || lineage.is_some_and(|lineage| self.head(contract, lineage).is_some())
    }

    /// Returns the head of a lineage, after the puts so far. The statement verifies it.
    fn head(&mut self, contract: ContractId, lineage: &str) -> Option<Head> {
        let name = key::name(contract, lineage);
        if let Some(head) = self.moved.get(&name) {
            return Some(head.clone());
        }
        let head = self.heads.of(contract, lineage)?;
        self.lineages.insert(head.lin, (head.base.key.seq, head.call));
        Some(head.clone())
    }

    /// Adds a checkpoint. Returns the stored size of its payload, in bytes.
    fn put(&mut self, draft: &Draft) -> Result<u64, Unsupported> {
        let head = self.head(draft.header.contract, &draft.header.lineage);
        let bound = head.as_ref().map(|head| match &head.header {
            old if old.id == draft.header.id => Bound::Replaced(&old.sort_key),
            newest => Bound::Newest(&newest.sort_key),
        });
        let header = &*draft.header.placed(draft.order, bound);
        let begins = head.is_none();
        if !draft.logs.is_empty()
            || begins && (header.parent.is_some() || self.heads.is_shared(header.contract, &header.lineage))
            || head.as_ref().is_some_and(|head| head.header.age_offset != header.age_offset)
            || !self.ids.insert(key::name(header.contract, &header.id))
        {
            return Err(Unsupported);
        }
        let parent =
            head.as_ref().filter(|head| header.parent.as_ref() == Some(&head.header.id)).map(|head| head.base.key);
        let encoded = draft.encoded.as_ref().filter(|encoded| match encoded.parent {
            None => draft.inherit.is_empty(),
            Some(key) => parent == Some(key),
        });
        let raw: Bytes = match encoded {
            Some(encoded) => encoded.raw.clone(),
            None if draft.inherit.is_empty() => frame::join(&draft.payload).into(),
            None => {
                let parent = self.payload(parent.ok_or(Unsupported)?).ok_or(Unsupported)?;
                let parent = frame::split(&parent.raw).map_err(|_| Unsupported)?;
                frame::join(&resolve_from_parent(draft, &parent).ok_or(Unsupported)?).into()
            }
        };
        let unknown = || Error::new(Code::Unavailable, "the payload is not in memory");
        let old_head = head.as_ref().filter(|head| head.header.id == header.id);
        // The rest of the lineage is known only if the new checkpoint is its newest. A replaced delta would have to
        // become a keyframe, because its base is not known.
        if old_head
            .is_some_and(|old| old.base.key.seq < 0 || old.base.depth > 0 || header.sort_key < old.header.sort_key)
        {
            return Err(Unsupported);
        }
        let replaces = old_head.map(|old| old.base.key.seq);
        let base = head.as_ref().filter(|_| replaces.is_none()).map(|head| head.base);
        let planned = plan(&raw, base, encoded, Effort::Full, self.cache.largest(), |key| {
            self.payload(key).map(CachedPayload::into_base).ok_or_else(unknown)
        });
        let (row, misses) = planned.map_err(|_| Unsupported)?;
        if row.body.len() > LARGEST {
            return Err(Unsupported);
        }
        let index = -(signed(self.puts.len() as u64) + 1);
        let base = Base { key: row.key(index), depth: row.depth, budget: row.budget };
        let (flags, sum) = flags_and_sum(self.call, header, None);
        let mut known = header.clone();
        let meta = std::mem::take(&mut known.meta);
        let lin = head.as_ref().map_or_else(|| self.begin(header, &draft.labels), |head| head.lin);
        let new = Head { lin, call: self.call, header: known, base };
        let supersedes = head.as_ref().map(|head| head.base.key.seq);
        let newest = head.filter(|head| new.header.sort_key < head.header.sort_key).unwrap_or_else(|| new.clone());
        self.moved.insert(key::name(header.contract, &header.lineage), newest);
        self.touched.add(header.contract, &header.id);
        let stored = row.body.len() as u64;
        let payload = CachedPayload { raw, misses };
        self.puts.push(Put { head: new, meta, flags, sum, row, payload, replaces, supersedes });
        Ok(stored)
    }

    /// Removes a lineage, or its logs. The statement verifies that there is nothing to remove.
    fn remove(&mut self, contract: ContractId, lineage: &str) -> Result<(), Unsupported> {
        let name = key::name(contract, lineage);
        if self.moved.contains_key(&name) || self.heads.of(contract, lineage).is_some() {
            return Err(Unsupported);
        }
        self.absent.push(name);
        Ok(())
    }

    /// Begins a lineage with its first checkpoint. Returns its negative index.
    fn begin(&mut self, header: &Header, labels: &Labels) -> i64 {
        self.new_lineages.push(NewLineage {
            contract: header.contract,
            name: header.lineage.clone(),
            group: header.group.clone(),
            age_offset: header.age_offset,
            status: header.status,
            labels: labels.clone(),
        });
        -signed(self.new_lineages.len() as u64)
    }

    /// Returns a payload from memory.
    fn payload(&self, key: PayloadKey) -> Option<CachedPayload> {
        if key.seq >= 0 {
            return self.cache.get(key);
        }
        self.puts.get(usize::try_from(-key.seq - 1).ok()?).map(|put| put.payload.clone())
    }

    /// Returns the stage for a write to the checkpoint `id`, or for a claim of its writes. Both must follow an earlier
    /// claim: a write after a claim is not claimed, and a statement claims an id once.
    fn stage(&mut self, contract: ContractId, id: &str, claims: bool) -> &mut Stage {
        let last = self.last.entry(key::name(contract, id)).or_insert((0, false));
        let at = last.0 + usize::from(last.1);
        *last = (at, claims);
        if self.stages.len() <= at {
            self.stages.resize_with(at + 1, Stage::default);
        }
        &mut self.stages[at]
    }
}
