//! Maps: for tests and for runs that need not outlive the process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::Backend;
use crate::error::Result;
use crate::op::{Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{Checkpoint, Header, Lineage, Rank, Seq, Space};

/// Keeps everything in memory, in the order in which queries ask for it.
#[derive(Debug, Default)]
pub struct Memory {
    rows: BTreeMap<Seq, Arc<Checkpoint>>,
    ids: HashMap<(Space, String), Seq>,
    positions: HashMap<(Space, String), i64>,
    lineages: BTreeMap<i64, Line>,
    groups: HashMap<(Space, String), Ordered>,
    last_seq: Seq,
    last_position: i64,
}

/// Save orders by rank: what "newest first" walks backwards.
type Ordered = BTreeSet<(Rank, Seq)>;

#[derive(Debug)]
struct Line {
    space: Space,
    first_group: String,
    order: Ordered,
    labels: HashMap<String, Ordered>,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn put(&mut self, checkpoint: &Checkpoint) {
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
        self.rows.insert(seq, Arc::new(checkpoint.clone()));
        if let Some(old) = replaced {
            self.forget(old);
        }
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
        let Some(row) = self.rows.remove(&seq) else { return };
        let header = &row.header;
        let place = (header.rank.clone(), seq);
        let group = (header.space, header.group.clone());
        if let Some(order) = self.groups.get_mut(&group) {
            order.remove(&place);
            if order.is_empty() {
                self.groups.remove(&group);
            }
        }
        let key = (header.space, header.lineage.clone());
        let Some(position) = self.positions.get(&key).copied() else { return };
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
            self.positions.remove(&key);
        }
    }

    fn remove(&mut self, space: Space, id: &str) {
        if let Some(seq) = self.ids.remove(&(space, id.to_owned())) {
            self.forget(seq);
        }
    }

    fn line(&self, space: Space, name: &str) -> Option<&Line> {
        let position = self.positions.get(&(space, name.to_owned()))?;
        self.lineages.get(position)
    }

    fn newest(&self, order: Option<&Ordered>) -> Option<&Arc<Checkpoint>> {
        order?.last().and_then(|(_, seq)| self.rows.get(seq))
    }

    fn headers(&self, order: Option<&Ordered>, limit: Option<usize>, keep: impl Fn(&Header) -> bool) -> Vec<Header> {
        order
            .into_iter()
            .flat_map(|order| order.iter().rev())
            .filter_map(|(_, seq)| self.rows.get(seq))
            .filter(|row| keep(&row.header))
            .take(limit.unwrap_or(usize::MAX))
            .map(|row| row.header.clone())
            .collect()
    }

    fn list(&self, space: Space, of: &Of, limit: Option<usize>) -> Vec<Header> {
        match of {
            Of::Lineage(lineage) => self.headers(self.line(space, lineage).map(|line| &line.order), limit, |_| true),
            Of::Group(group) => self.headers(self.groups.get(&(space, group.clone())), limit, |_| true),
            Of::LineageInGroup { lineage, group } => {
                let order = self.line(space, lineage).map(|line| &line.order);
                self.headers(order, limit, |header| header.group == *group && !group.is_empty())
            }
        }
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

impl Backend for Memory {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<()>> {
        for op in batch.iter().flatten() {
            match op {
                Op::Put(checkpoint) => self.put(checkpoint),
                Op::Remove { space, id } => self.remove(*space, id),
            }
        }
        batch.iter().map(|_| Ok(())).collect()
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        let whole = |row: Option<&Arc<Checkpoint>>| Answer::Checkpoint(row.map(|row| Box::new((**row).clone())));
        Ok(match query {
            Query::Get { space, id } => whole(self.ids.get(&(*space, id.clone())).and_then(|seq| self.rows.get(seq))),
            Query::Newest { space, lineage, label } => {
                let line = self.line(*space, lineage);
                let order = line.and_then(|line| match label {
                    Some(label) => line.labels.get(label),
                    None => Some(&line.order),
                });
                whole(self.newest(order))
            }
            Query::List { space, of, limit } => Answer::Headers(self.list(*space, of, *limit)),
            Query::Lineages { space, group_prefix, before, limit } => {
                Answer::Lineages(self.lineages(*space, group_prefix, *before, *limit))
            }
        })
    }
}
