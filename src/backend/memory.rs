//! Maps: for tests and for runs that need not outlive the process.

mod catalog;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::Backend;
use super::ancestors;
use super::inherit::Inherited;
use crate::codec::frame;
use crate::error::Result;
use crate::op::{self, Op, Unit};
use crate::query::{Answer, Of, Pick, Query};
use crate::record::{Checkpoint, Header, Lineage, LineageStats, Rank, Seq, Space, Stats, Tuple, Write};
use crate::retention::{self, Entry, Ledger, Prune, Pruned};

/// Keeps everything in memory, in the order in which queries ask for it.
#[derive(Debug, Default)]
pub struct Memory {
    rows: BTreeMap<Seq, Row>,
    ids: HashMap<(Space, String), Seq>,
    positions: HashMap<(Space, String), i64>,
    lineages: BTreeMap<i64, Line>,
    groups: HashMap<(Space, String), Ordered>,
    writes: BTreeMap<(Space, String), Vec<Write>>,
    last_seq: Seq,
    last_position: i64,
}

/// Save orders by rank: what "newest first" walks backwards.
type Ordered = BTreeSet<(Rank, Seq)>;

#[derive(Debug)]
struct Row {
    checkpoint: Arc<Checkpoint>,
    /// The position of its lineage.
    lineage: i64,
    /// What the payload takes, framed as everywhere.
    bytes: u64,
}

#[derive(Debug)]
struct Line {
    space: Space,
    first_group: String,
    order: Ordered,
    labels: HashMap<String, Ordered>,
}

impl Row {
    fn entry(&self, seq: Seq) -> Entry {
        Entry { seq, lineage: self.lineage, saved_at: self.checkpoint.header.saved_at }
    }
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn op(&mut self, op: &Op) -> Result<()> {
        match op {
            Op::Put(checkpoint) => self.put(checkpoint),
            Op::Expect { space, lineage, newest, or } => {
                let found = self.newest(self.line(*space, lineage).map(|line| &line.order));
                op::expect(found.map(|found| &*found.header.id), newest.as_deref(), or)?;
            }
            Op::Remove { space, id } => self.remove(*space, id),
            Op::RemoveFrom { space, lineage, rank } => self.remove_from(*space, lineage, rank),
            Op::RemoveGroup { space, group } => self.remove_group(*space, group),
            Op::Write { space, id, writes, replace, .. } => self.write(*space, id, writes, *replace),
            Op::Claim { space, id, owner } => self.claim(*space, id, owner),
            Op::Release { space, id } => {
                if let Some(held) = self.writes.remove(&(*space, id.clone())) {
                    self.write(*space, id, &op::release(held), false);
                }
            }
            Op::RemoveWrites { space, prefix } => {
                self.writes.retain(|(of, id), _| of != space || !id.starts_with(prefix));
            }
            Op::KeepLast { space, lineage, keep, pinned } => self.keep_last(*space, lineage, *keep, pinned)?,
        }
        Ok(())
    }

    fn put(&mut self, given: &Checkpoint) {
        let checkpoint = self.whole_of(given);
        let header = &checkpoint.header;
        // The lineage first: replacing its only checkpoint must not end it and begin it anew.
        let position = self.position(header);
        self.last_seq += 1;
        let (seq, place) = (self.last_seq, (header.rank.clone(), self.last_seq));
        if let Some(line) = self.lineages.get_mut(&position) {
            line.order.insert(place.clone());
            if !header.label.is_empty() {
                line.labels.entry(header.label.clone()).or_default().insert(place.clone());
            }
        }
        if !header.group.is_empty() {
            self.groups.entry((header.space, header.group.clone())).or_default().insert(place);
        }
        let replaced = self.ids.insert((header.space, header.id.clone()), seq);
        let bytes = frame::length(&checkpoint.payload) as u64;
        self.rows.insert(seq, Row { checkpoint: Arc::new(checkpoint), lineage: position, bytes });
        if let Some(old) = replaced {
            self.forget(old);
        }
    }

    /// With the parts that it has from others.
    fn whole_of(&self, given: &Checkpoint) -> Checkpoint {
        let mut checkpoint = given.clone();
        let mut found = Inherited::of(&mut checkpoint.payload);
        if found.is_complete() {
            return checkpoint;
        }
        let Header { space, lineage, parent, .. } = &given.header;
        let payload = |seq: &Seq| self.rows.get(seq).map(|row| &row.checkpoint.payload);
        let parent = parent.as_ref().and_then(|id| self.ids.get(&(*space, id.clone()))).and_then(payload);
        if let Some(parent) = parent {
            found.take_parents(parent);
        }
        let newest = self.line(*space, lineage).into_iter().flat_map(|line| line.order.iter().rev());
        for from in newest.filter_map(|(_, seq)| payload(seq)) {
            if found.is_complete() {
                break;
            }
            found.take(from);
        }
        found.into_payload(&mut checkpoint.payload);
        checkpoint
    }

    fn write(&mut self, space: Space, id: &str, writes: &[Write], replace: bool) {
        let held = self.writes.entry((space, id.to_owned())).or_default();
        let (owned, free): (Vec<&Write>, _) = writes.iter().partition(|write| write.owner.is_some());
        held.extend(owned.into_iter().cloned());
        for write in free {
            let place =
                |held: &&mut Write| held.owner.is_none() && (&held.task, held.index) == (&write.task, write.index);
            match held.iter_mut().find(place) {
                Some(held) if replace => held.part = write.part.clone(),
                Some(_) => {}
                None => {
                    // What a task wrote stands together until somebody owns it.
                    let mine = |held: &Write| held.owner.is_none() && held.task == write.task;
                    let end = held.iter().rposition(mine).map_or(held.len(), |last| last + 1);
                    held.insert(end, Write { owner: None, ..write.clone() });
                }
            }
        }
    }

    fn claim(&mut self, space: Space, id: &str, owner: &str) {
        for write in self.writes.get_mut(&(space, id.to_owned())).into_iter().flatten() {
            write.owner.get_or_insert_with(|| owner.to_owned());
        }
    }

    fn remove_group(&mut self, space: Space, group: &str) {
        let places = self.groups.get(&(space, group.to_owned())).filter(|_| !group.is_empty());
        let victims: Vec<Seq> = places.into_iter().flatten().map(|(_, seq)| *seq).collect();
        self.remove_all(&victims);
    }

    fn tuple(&self, space: Space, pick: &Pick) -> Option<Box<Tuple>> {
        let checkpoint = match pick {
            Pick::Id(id) => self.ids.get(&(space, id.clone())).and_then(|seq| self.checkpoint(*seq)),
            Pick::Newest(lineage) => self.newest(self.line(space, lineage).map(|line| &line.order)),
        }?;
        let writes = self.writes.get(&(space, checkpoint.header.id.clone())).cloned().unwrap_or_default();
        Some(Box::new(Tuple { checkpoint: (**checkpoint).clone(), writes }))
    }

    fn position(&mut self, header: &Header) -> i64 {
        let key = (header.space, header.lineage.clone());
        if let Some(position) = self.positions.get(&key) {
            return *position;
        }
        self.last_position += 1;
        let line = Line {
            space: header.space,
            first_group: header.group.clone(),
            order: Ordered::new(),
            labels: HashMap::new(),
        };
        self.lineages.insert(self.last_position, line);
        self.positions.insert(key, self.last_position);
        self.last_position
    }

    /// Drops the row and its places, but not its id.
    fn forget(&mut self, seq: Seq) {
        let Some(Row { checkpoint, lineage: position, .. }) = self.rows.remove(&seq) else { return };
        let header = &checkpoint.header;
        let place = (header.rank.clone(), seq);
        let group = (header.space, header.group.clone());
        if let Some(order) = self.groups.get_mut(&group) {
            order.remove(&place);
            if order.is_empty() {
                self.groups.remove(&group);
            }
        }
        let Some(line) = self.lineages.get_mut(&position) else { return };
        line.order.remove(&place);
        if let Some(order) = line.labels.get_mut(&header.label) {
            order.remove(&place);
            if order.is_empty() {
                line.labels.remove(&header.label);
            }
        }
        if line.order.is_empty() {
            self.lineages.remove(&position);
            self.positions.remove(&(header.space, header.lineage.clone()));
        }
    }

    fn remove(&mut self, space: Space, id: &str) {
        if let Some(seq) = self.ids.get(&(space, id.to_owned())) {
            self.remove_all(&[*seq]);
        }
    }

    fn remove_from(&mut self, space: Space, lineage: &str, rank: &Rank) {
        let places = self.line(space, lineage).map(|line| line.order.range((rank.clone(), Seq::MIN)..));
        let victims: Vec<Seq> = places.into_iter().flatten().map(|(_, seq)| *seq).collect();
        self.remove_all(&victims);
    }

    /// Removes what was planned, and tells the bytes and the lineages that went with it.
    fn remove_all(&mut self, victims: &[Seq]) -> (i64, u64) {
        let (mut bytes, lineages) = (0, self.lineages.len());
        for seq in victims {
            let Some(row) = self.rows.get(seq) else { continue };
            let header = &row.checkpoint.header;
            bytes += i64::try_from(row.bytes).unwrap_or(i64::MAX);
            let id = (header.space, header.id.clone());
            self.ids.remove(&id);
            self.writes.remove(&id);
            self.forget(*seq);
        }
        (bytes, (lineages - self.lineages.len()) as u64)
    }

    fn keep_last(&mut self, space: Space, lineage: &str, keep: u64, pinned: &str) -> Result<()> {
        let Some(position) = self.positions.get(&(space, lineage.to_owned())) else { return Ok(()) };
        let pinned = self.ids.get(&(space, pinned.to_owned())).copied();
        let victims = Ledger::default().beyond(self, *position, keep, pinned, usize::MAX)?;
        self.remove_all(&victims.iter().map(|entry| entry.seq).collect::<Vec<_>>());
        Ok(())
    }

    fn stats(&self, space: Option<Space>, largest: usize) -> Stats {
        let mut stats = Stats::default();
        for line in self.lineages.values().filter(|line| space.is_none_or(|space| line.space == space)) {
            let rows = || line.order.iter().filter_map(|(_, seq)| self.rows.get(seq));
            let Some(first) = rows().next() else { continue };
            let bytes = rows().map(|row| row.bytes).sum();
            let lineage = LineageStats {
                space: line.space,
                lineage: first.checkpoint.header.lineage.clone(),
                checkpoints: line.order.len() as u64,
                logical_bytes: bytes,
                stored_bytes: bytes,
            };
            stats.count(lineage, largest);
        }
        stats
    }

    fn line(&self, space: Space, name: &str) -> Option<&Line> {
        let position = self.positions.get(&(space, name.to_owned()))?;
        self.lineages.get(position)
    }

    fn checkpoint(&self, seq: Seq) -> Option<&Arc<Checkpoint>> {
        self.rows.get(&seq).map(|row| &row.checkpoint)
    }

    fn newest(&self, order: Option<&Ordered>) -> Option<&Arc<Checkpoint>> {
        order?.last().and_then(|(_, seq)| self.checkpoint(*seq))
    }

    /// What it is about, in order, and the group that each must be of as well.
    fn order<'a>(&'a self, space: Space, of: &'a Of) -> (Cow<'a, Ordered>, Option<&'a String>) {
        let of_line = |lineage| self.line(space, lineage).map_or_else(Cow::default, |line| Cow::Borrowed(&line.order));
        match of {
            Of::Space => {
                let lines = self.lineages.values().filter(|line| line.space == space);
                (Cow::Owned(lines.flat_map(|line| line.order.iter().cloned()).collect()), None)
            }
            Of::Lineage(lineage) => (of_line(lineage), None),
            Of::Group(group) => {
                let order = self.groups.get(&(space, group.clone()));
                (order.map_or_else(Cow::default, Cow::Borrowed), Some(group))
            }
            Of::LineageInGroup { lineage, group } => (of_line(lineage), Some(group)),
        }
    }

    fn list(&self, space: Space, of: &Of, before: Option<&Rank>, limit: Option<usize>) -> Vec<Header> {
        let (order, group) = self.order(space, of);
        let end = before.map_or(Bound::Unbounded, |rank| Bound::Excluded((rank.clone(), Seq::MIN)));
        order
            .range((Bound::Unbounded, end))
            .rev()
            .filter_map(|(_, seq)| self.checkpoint(*seq))
            .filter(|row| group.is_none_or(|group| row.header.group == *group && !group.is_empty()))
            .take(limit.unwrap_or(usize::MAX))
            .map(|row| row.header.clone())
            .collect()
    }

    fn whole(&self, space: Space, of: &Of, prefix: &[u8]) -> Vec<Checkpoint> {
        let (order, group) = self.order(space, of);
        order
            .range((Rank(prefix.to_vec()), Seq::MIN)..)
            .take_while(|(rank, _)| rank.0.starts_with(prefix))
            .filter_map(|(_, seq)| self.checkpoint(*seq))
            .filter(|row| group.is_none_or(|group| row.header.group == *group && !group.is_empty()))
            .map(|row| (**row).clone())
            .collect()
    }

    fn lineages(&self, space: Space, group_prefix: &str, before: Option<i64>, limit: usize) -> Vec<Lineage> {
        self.lineages
            .range(..before.unwrap_or(i64::MAX))
            .rev()
            .filter(|(_, line)| line.space == space && line.first_group.starts_with(group_prefix))
            .filter_map(|(position, line)| {
                let newest = self.newest(Some(&line.order))?;
                Some(Lineage {
                    position: *position,
                    checkpoints: line.order.len() as u64,
                    newest: newest.header.clone(),
                })
            })
            .take(limit)
            .collect()
    }
}

/// Payloads are whole, so none depends on another.
impl Backend for Memory {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<()>> {
        let one = |unit: &Unit| unit.iter().try_for_each(|op| self.op(op));
        batch.iter().map(one).collect()
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        let plan = retention::plan(self, prune, &mut Ledger::default())?;
        let (bytes, lineages) = self.remove_all(&plan.victims);
        Ok(plan.done(bytes, lineages))
    }

    fn vacuum(&mut self) -> Result<()> {
        Ok(())
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        let whole = |row: Option<&Arc<Checkpoint>>| Answer::Checkpoint(row.map(|row| Box::new((**row).clone())));
        Ok(match query {
            Query::Get { space, id } => {
                whole(self.ids.get(&(*space, id.clone())).and_then(|seq| self.checkpoint(*seq)))
            }
            Query::Newest { space, lineage, label } => {
                let line = self.line(*space, lineage);
                let order = line.and_then(|line| match label {
                    Some(label) => line.labels.get(label),
                    None => Some(&line.order),
                });
                whole(self.newest(order))
            }
            Query::Tuple { space, pick } => Answer::Tuple(self.tuple(*space, pick)),
            Query::Ancestors(asked) => {
                let get = |id: &str| Ok(self.tuple(asked.space, &Pick::Id(id.to_owned())).map(|found| *found));
                Answer::Tuples(ancestors::walk(asked, get)?)
            }
            Query::List { space, of, before, limit } => Answer::Headers(self.list(*space, of, before.as_ref(), *limit)),
            Query::Whole { space, of, prefix } => Answer::Checkpoints(self.whole(*space, of, prefix)),
            Query::Lineages { space, group_prefix, before, limit } => {
                Answer::Lineages(self.lineages(*space, group_prefix, *before, *limit))
            }
            Query::Stats { space, largest } => Answer::Stats(self.stats(*space, *largest)),
            Query::Prunable { space, rules } => Answer::Pruned(retention::preview(self, *space, rules)?),
        })
    }
}
