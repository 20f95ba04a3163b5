//! Every backend against a model that a reader can check at a glance: random sequences of everything that can be asked
//! of a backend, with few names so that they meet often, must be answered as the model answers them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod common;

use common::{draft, noise, part, sqlite};
use forkpoint::backend::Backend;
use forkpoint::backend::memory::Memory;
use forkpoint::backend::sqlite::{Durability, Journal};
use forkpoint::codec::frame;
use forkpoint::error::Code;
use forkpoint::op::{Op, Unit};
use forkpoint::query::{Ancestors, Answer, Of, Pick, Query};
use forkpoint::record::{
    Checkpoint, DIFFERENCE, Header, Lineage, LineageStats, Part, Rank, Space, Stats, Tuple, Write,
};
use forkpoint::retention::{Cursor, Prune, Rule};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The contract, read aloud: a list in save order, walked from end to end for every answer.
#[derive(Default)]
struct Model {
    /// In save order, the last saved at the end.
    saved: Vec<Checkpoint>,
    /// In the order in which they began: space, name, the group of the first checkpoint, position.
    begun: Vec<(Space, String, String, i64)>,
    positions: i64,
    /// In the order in which each place was first written: the checkpoint, and what was written to it.
    writes: Vec<(Space, String, Write)>,
}

impl Model {
    /// Whether it was done.
    fn apply(&mut self, unit: &Unit) -> bool {
        for op in unit {
            match op {
                Op::Expect { space, lineage, newest, or } => {
                    let found = self.newest_first(*space, |header| header.lineage == *lineage);
                    let found = found.first().map(|found| found.header.id.clone());
                    if found != *newest && found.as_ref() != Some(or) {
                        return false;
                    }
                }
                Op::Put(checkpoint) => {
                    let header = &checkpoint.header;
                    if !self.begun.iter().any(|(space, name, ..)| (*space, name) == (header.space, &header.lineage)) {
                        self.positions += 1;
                        let first = (header.space, header.lineage.clone(), header.group.clone(), self.positions);
                        self.begun.push(first);
                    }
                    let whole = self.whole_of(checkpoint);
                    self.saved.retain(|old| (old.header.space, &old.header.id) != (header.space, &header.id));
                    self.saved.push(whole);
                }
                Op::Remove { space, id } => self.remove(|header| (header.space, &header.id) == (*space, id)),
                Op::RemoveGroup { space, group } => {
                    self.remove(|header| (header.space, &header.group) == (*space, group) && !group.is_empty());
                }
                Op::Release { space, id } => {
                    let (mine, others) =
                        self.writes.drain(..).partition::<Vec<_>, _>(|(of, to, _)| (*of, to) == (*space, id));
                    self.writes = others;
                    let mut left: Vec<(Space, String, Write)> = Vec::new();
                    for (of, to, mut write) in mine {
                        write.owner = None;
                        let same = |(.., held): &&mut (Space, String, Write)| {
                            (&held.task, held.index) == (&write.task, write.index)
                        };
                        match left.iter_mut().find(same) {
                            Some((.., held)) => held.part = write.part,
                            None => left.push((of, to, write)),
                        }
                    }
                    // By task, as they began.
                    while let Some((.., first)) = left.first().cloned() {
                        let (mine, others) =
                            left.into_iter().partition::<Vec<_>, _>(|(.., write)| write.task == first.task);
                        self.writes.extend(mine);
                        left = others;
                    }
                }
                Op::Write { space, id, writes, replace, .. } => {
                    for write in writes.iter().filter(|write| write.owner.is_some()) {
                        self.writes.push((*space, id.clone(), write.clone()));
                    }
                    for write in writes.iter().filter(|write| write.owner.is_none()) {
                        let taken = self.writes.iter_mut().find(|(of, to, held)| {
                            (*of, to, &held.task, held.index) == (*space, id, &write.task, write.index)
                                && held.owner.is_none()
                        });
                        match taken {
                            Some((.., held)) if *replace => held.part = write.part.clone(),
                            Some(_) => {}
                            None => {
                                let mine = |(of, to, held): &(Space, String, Write)| {
                                    (*of, to, &held.task, &held.owner) == (*space, id, &write.task, &None)
                                };
                                let end = self.writes.iter().rposition(mine).map_or(self.writes.len(), |last| last + 1);
                                self.writes.insert(end, (*space, id.clone(), write.clone()));
                            }
                        }
                    }
                }
                Op::Claim { space, id, owner } => {
                    for (of, to, write) in &mut self.writes {
                        if (*of, &*to) == (*space, id) && write.owner.is_none() {
                            write.owner = Some(owner.clone());
                        }
                    }
                }
                Op::RemoveWrites { space, prefix } => {
                    self.writes.retain(|(of, id, _)| of != space || !id.starts_with(prefix));
                }
                Op::RemoveFrom { space, lineage, rank } => {
                    self.remove(|header| (header.space, &header.lineage) == (*space, lineage) && header.rank >= *rank);
                }
                Op::KeepLast { space, lineage, keep, pinned } => {
                    let others =
                        self.youngest_first(*space, |header| header.lineage == *lineage && header.id != *pinned);
                    let pinned = self.newest_first(*space, |header| header.lineage == *lineage && header.id == *pinned);
                    let keep = usize::try_from(*keep).unwrap() - pinned.len();
                    let gone: Vec<String> = others.into_iter().skip(keep).map(|row| row.header.id.clone()).collect();
                    let gone = self.closed(|header| header.space == *space && gone.contains(&header.id));
                    self.remove(|header| gone.contains(&(header.space, header.id.clone())));
                }
            }
            self.end_lineages();
        }
        true
    }

    /// With what it has from its parent, or from the newest of its lineage that has it.
    fn whole_of(&self, given: &Checkpoint) -> Checkpoint {
        let mut whole = given.clone();
        let Header { space, lineage, parent, .. } = &given.header;
        let parents = self.newest_first(*space, |header| Some(&header.id) == parent.as_ref());
        let others = self.newest_first(*space, |header| header.lineage == *lineage);
        let wanted = std::mem::take(&mut whole.payload.inherit);
        let like = std::mem::take(&mut whole.payload.like);
        for name in &wanted {
            let like = like.iter().find(|part| part.name == *name);
            let named: Vec<&Part> = others.iter().filter_map(|from| from.payload.part(name)).collect();
            let parents = parents.iter().find_map(|from| from.payload.part(name));
            let equal = named.iter().find(|part| like.is_none_or(|like| like == **part));
            whole.payload.parts.extend(parents.or(equal.or(named.first()).copied()).cloned());
        }
        if !wanted.is_empty() {
            whole.payload.parts.sort_by(|a, b| a.name.cmp(&b.name));
        }
        whole
    }

    /// A checkpoint takes what was written to it along.
    fn remove(&mut self, goes: impl Fn(&Header) -> bool) {
        for gone in self.saved.extract_if(.., |row| goes(&row.header)) {
            self.writes.retain(|(space, id, _)| (*space, id) != (gone.header.space, &gone.header.id));
        }
    }

    fn end_lineages(&mut self) {
        let saved = &self.saved;
        self.begun.retain(|(space, name, ..)| {
            saved.iter().any(|row| (row.header.space, &row.header.lineage) == (*space, name))
        });
    }

    /// Applies a rule, and tells how many checkpoints and lineages went.
    fn prune(&mut self, space: Option<Space>, rule: Rule) -> (usize, usize) {
        let before = (self.saved.len(), self.begun.len());
        let of = |header: &Header| space.is_none_or(|space| header.space == space);
        match rule {
            Rule::SavedBefore(time) => {
                let gone = self.closed(|header| of(header) && header.saved_at < time);
                self.remove(|header| gone.contains(&(header.space, header.id.clone())));
            }
            Rule::KeepLast(keep) => {
                for (space, lineage, ..) in self.begun.clone() {
                    let rows = self.youngest_first(space, |header| header.lineage == lineage).into_iter();
                    let gone: Vec<_> =
                        rows.skip(usize::try_from(keep).unwrap()).map(|row| row.header.id.clone()).collect();
                    let gone = self.closed(|header| header.space == space && of(header) && gone.contains(&header.id));
                    self.remove(|header| gone.contains(&(header.space, header.id.clone())));
                }
            }
            Rule::MaxBytes(_) => unreachable!("what payloads take is each backend's own: tests/retention.rs"),
        }
        self.end_lineages();
        (before.0 - self.saved.len(), before.1 - self.begun.len())
    }

    /// Which of those may go: none to which one that stays is a difference.
    fn closed(&self, goes: impl Fn(&Header) -> bool) -> Vec<(Space, String)> {
        let named = |header: &Header| (header.space, header.id.clone());
        let mut gone: Vec<_> = self.saved.iter().map(|row| &row.header).filter(|header| goes(header)).collect();
        loop {
            let staying = |of: &Header| {
                self.saved.iter().map(|row| &row.header).any(|child| {
                    (child.space, &child.lineage) == (of.space, &of.lineage)
                        && child.space == Space::LANGGRAPH
                        && child.label == DIFFERENCE
                        && child.parent.as_ref() == Some(&of.id)
                        && !gone.iter().any(|other| named(other) == named(child))
                })
            };
            let kept: Vec<_> = gone.iter().copied().filter(|header| !staying(header)).collect();
            if kept.len() == gone.len() {
                return gone.into_iter().map(named).collect();
            }
            gone = kept;
        }
    }

    /// Without what each backend has of its own.
    fn stats(&self, space: Option<Space>) -> Stats {
        let mut stats = Stats::default();
        for (of, name, ..) in self.begun.iter().filter(|(of, ..)| space.is_none_or(|space| space == *of)) {
            let rows = self.newest_first(*of, |header| header.lineage == *name);
            let lineage = LineageStats {
                space: *of,
                lineage: name.clone(),
                checkpoints: rows.len() as u64,
                logical_bytes: rows.iter().map(|row| frame::length(&row.payload) as u64).sum(),
                stored_bytes: 0,
            };
            stats.count(lineage, usize::MAX);
        }
        stats
    }

    /// Those that pass, newest first: sorting is stable, so among equal ranks the save order stays.
    fn newest_first(&self, space: Space, keep: impl Fn(&Header) -> bool) -> Vec<&Checkpoint> {
        let mut found: Vec<&Checkpoint> =
            self.saved.iter().filter(|row| row.header.space == space && keep(&row.header)).collect();
        found.sort_by(|a, b| a.header.rank.cmp(&b.header.rank));
        found.reverse();
        found
    }

    /// The same, but by age before the rank.
    fn youngest_first(&self, space: Space, keep: impl Fn(&Header) -> bool) -> Vec<&Checkpoint> {
        let mut found = self.newest_first(space, keep);
        found.sort_by(|a, b| b.header.rank.age(space).cmp(a.header.rank.age(space)));
        found
    }

    fn tuple(&self, found: &Checkpoint) -> Tuple {
        let to = (found.header.space, &found.header.id);
        let writes = self.writes.iter().filter(|(space, id, _)| (*space, id) == to);
        Tuple { checkpoint: found.clone(), writes: writes.map(|(.., write)| write.clone()).collect() }
    }

    fn answer(&self, query: &Query) -> Answer {
        let one = |found: Option<&&Checkpoint>| Answer::Checkpoint(found.map(|row| Box::new((*row).clone())));
        match query {
            Query::Get { space, id } => one(self.newest_first(*space, |header| header.id == *id).first()),
            Query::Newest { space, lineage, label: None } => {
                one(self.newest_first(*space, |header| header.lineage == *lineage).first())
            }
            Query::Newest { space, lineage, label: Some(label) } => {
                let keep = |header: &Header| header.lineage == *lineage && header.label == *label && !label.is_empty();
                one(self.newest_first(*space, keep).first())
            }
            Query::Whole { space, of, prefix } => {
                let mut found = self.newest_first(*space, |header| is_of(header, of));
                found.retain(|row| row.header.rank.0.starts_with(prefix));
                Answer::Checkpoints(found.into_iter().rev().cloned().collect())
            }
            Query::Tuple { space, pick } => {
                let found = self.newest_first(*space, |header| match pick {
                    Pick::Id(id) => header.id == *id,
                    Pick::Newest(lineage) => header.lineage == *lineage,
                });
                Answer::Tuple(found.first().map(|found| Box::new(self.tuple(found))))
            }
            Query::Ancestors(Ancestors { space, id, stems, writes, limit }) => {
                let get = |id: &String| self.newest_first(*space, |header| header.id == *id).first().copied();
                let mut wanted = stems.clone();
                let mut found = Vec::new();
                let mut at = get(id);
                while let Some(row) = at.filter(|_| !wanted.is_empty() && found.len() < *limit) {
                    let mut tuple = self.tuple(row);
                    let stem = |part: &Part| part.name.rsplit_once('\0').map(|(stem, _)| stem.to_owned());
                    tuple.checkpoint.payload.parts.retain(|part| stem(part).is_some_and(|stem| wanted.contains(&stem)));
                    tuple.writes.retain(|write| writes.contains(&write.part.name));
                    wanted.retain(|name| {
                        !tuple.checkpoint.payload.parts.iter().any(|part| stem(part).as_ref() == Some(name))
                    });
                    found.push(tuple);
                    at = row.header.parent.as_ref().and_then(get);
                }
                Answer::Tuples(found)
            }
            Query::List { space, of, before, limit } => {
                let mut found = self.newest_first(*space, |header| is_of(header, of));
                found.retain(|row| before.as_ref().is_none_or(|before| row.header.rank < *before));
                let found = found.into_iter().map(|row| row.header.clone());
                Answer::Headers(found.take(limit.unwrap_or(usize::MAX)).collect())
            }
            Query::Lineages { space, group_prefix, before, limit } => {
                let found = self.begun.iter().rev().filter(|(of, _, group, position)| {
                    of == space && group.starts_with(group_prefix) && before.is_none_or(|before| *position < before)
                });
                let shown = found.map(|(_, name, _, position)| {
                    let rows = self.newest_first(*space, |header| header.lineage == *name);
                    let newest = rows[0].header.clone();
                    Lineage { position: *position, checkpoints: rows.len() as u64, newest }
                });
                Answer::Lineages(shown.take(*limit).collect())
            }
            Query::Stats { .. } | Query::Prunable { .. } => unreachable!("steps of their own"),
        }
    }
}

fn is_of(header: &Header, of: &Of) -> bool {
    match of {
        Of::Space => true,
        Of::Lineage(lineage) => header.lineage == *lineage,
        Of::Group(group) => header.group == *group && !group.is_empty(),
        Of::LineageInGroup { lineage, group } => {
            header.lineage == *lineage && header.group == *group && !group.is_empty()
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Unit>),
    Ask(Query),
    /// Asks for lineages, from where the last such page ended if there was one.
    Page {
        space: Space,
        group_prefix: String,
        limit: usize,
    },
    /// Asks what a rule would remove, then has it removed in batches of at most so many.
    Prune {
        space: Option<Space>,
        rule: Rule,
        most: usize,
    },
    Stats(Option<Space>),
    /// Closes the backend and opens another on the same database, where there is one.
    Reopen,
}

fn space() -> impl Strategy<Value = Space> {
    prop_oneof![4 => Just(Space(1)), 1 => Just(Space(2)), 3 => Just(Space::LANGGRAPH)]
}

fn name(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(names).prop_map(str::to_owned)
}

fn id() -> impl Strategy<Value = String> {
    name(&["a", "b", "c", "d", "e", "%", "a\0"])
}

fn run() -> impl Strategy<Value = String> {
    name(&["r1", "r2", "r3", "_"])
}

/// Empty is what has none, and what a question for it must not find.
fn word() -> impl Strategy<Value = String> {
    name(&["", "x", "xy", "x\0", "%"])
}

/// Payloads of several sizes. Many have most bytes in common, as those of a run do: what a backend makes of that, and of
/// a parent that is gone, is another payload now or is the checkpoint itself, must not be seen.
fn parts(version: u32) -> Vec<Part> {
    let small = part("v", "t", version.to_le_bytes());
    let at = usize::try_from(version).unwrap() % 3000;
    let common = noise(1, 3000);
    match version % 5 {
        0 => Vec::new(),
        1 => vec![small],
        2 => vec![part("v", "t", version.to_string().repeat(300)), part("", "", "")],
        3 => vec![part("common", "t", common), small],
        _ => vec![part("common", "t", [&common[..at], &version.to_le_bytes(), &common[at..]].concat())],
    }
}

/// A number, and sometimes another behind it: in a space whose ranks end in an age, that.
fn rank() -> impl Strategy<Value = Rank> {
    let number = || prop::sample::select(&[-1.5, -0.0, 0.0, 1.0, 1.25][..]).prop_map(Rank::from_f64);
    (number(), prop::option::of(number())).prop_map(|(rank, age)| age.iter().fold(rank, Rank::then))
}

fn put() -> impl Strategy<Value = Op> {
    let rank = rank();
    let parent = prop::option::of(id());
    // The last number tells one put of an id from the next.
    let label = prop_oneof![word(), Just(DIFFERENCE.to_owned())];
    (space(), run(), id(), parent, word(), label, rank, 0..5_i64, any::<u32>()).prop_map(
        |(space, run, id, parent, group, label, rank, saved_at, version)| {
            let mut made = draft(&run, &id).space(space).group(&group).label(&label).parts(parts(version));
            made.0.header.rank = rank;
            made.0.header.parent = parent;
            made.0.header.saved_at = saved_at;
            // Names of parts that some payloads have; one has two of a name, and one that none has.
            made.0.payload.inherit = match version % 7 {
                0 => vec!["common".to_owned()],
                1 => vec![String::new(), "v".to_owned(), "none".to_owned()],
                _ => Vec::new(),
            };
            made.0.payload.parts.extend((version % 2 == 0).then(|| part("w\0 1", "t", version.to_string())));
            // What some of them look like, as one of the payloads has it or as none has.
            if version % 3 == 0 {
                made.0.payload.like = parts(version / 2).into_iter().take(2).collect();
            }
            made.meta(&version.to_le_bytes()).put()
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let keep_last = (space(), run(), 1..4_u64, id()).prop_map(|(space, lineage, keep, pinned)| Op::KeepLast {
        space,
        lineage,
        keep,
        pinned,
    });
    let from = prop_oneof![1 => Just(Rank::default()), 3 => rank()];
    let remove_from = (space(), run(), from).prop_map(|(space, lineage, rank)| Op::RemoveFrom { space, lineage, rank });
    let remove = (space(), id()).prop_map(|(space, id)| Op::Remove { space, id });
    let remove_group = (space(), word()).prop_map(|(space, group)| Op::RemoveGroup { space, group });
    let owner = prop::option::weighted(0.2, id());
    let writes = prop::collection::vec((name(&["t1", "t2"]), -2..3_i64, any::<u16>(), owner), 0..4);
    let write = (space(), id(), writes, any::<bool>()).prop_map(|(space, id, writes, replace)| {
        let made = writes.into_iter().map(|(task, index, version, owner)| {
            let bytes = noise(u64::from(version), usize::from(version) % 700);
            Write { task, index, owner, part: part(&format!("channel {index}"), "t", bytes) }
        });
        Op::Write { space, id, writes: made.collect(), replace, prepared: None }
    });
    let release = (space(), id()).prop_map(|(space, id)| Op::Release { space, id });
    let claim = (space(), id(), id()).prop_map(|(space, id, owner)| Op::Claim { space, id, owner });
    let remove_writes =
        (space(), name(&["", "a", "a\0", "%", "b"])).prop_map(|(space, prefix)| Op::RemoveWrites { space, prefix });
    prop_oneof![
        20 => put(),
        8 => remove,
        4 => keep_last,
        2 => remove_from,
        1 => remove_group,
        8 => write,
        4 => claim,
        2 => release,
        1 => remove_writes,
    ]
}

fn prune() -> impl Strategy<Value = Step> {
    let rule = prop_oneof![(0..6_i64).prop_map(Rule::SavedBefore), (0..4_u64).prop_map(Rule::KeepLast)];
    (prop::option::of(space()), rule, 1..4_usize).prop_map(|(space, rule, most)| Step::Prune { space, rule, most })
}

fn query() -> impl Strategy<Value = Query> {
    let limit = || prop_oneof![Just(None), (0..4_usize).prop_map(Some), Just(Some(usize::MAX))];
    let of = prop_oneof![
        Just(Of::Space),
        run().prop_map(Of::Lineage),
        word().prop_map(Of::Group),
        (run(), word()).prop_map(|(lineage, group)| Of::LineageInGroup { lineage, group }),
    ];
    let prefix = (rank(), 0..9_usize).prop_map(|(rank, length)| rank.0[..length.min(rank.0.len())].to_vec());
    prop_oneof![
        (space(), of.clone(), prefix).prop_map(|(space, of, prefix)| Query::Whole { space, of, prefix }),
        (space(), id()).prop_map(|(space, id)| Query::Get { space, id }),
        (space(), run(), prop::option::of(word())).prop_map(|(space, lineage, label)| Query::Newest {
            space,
            lineage,
            label
        }),
        (space(), prop_oneof![id().prop_map(Pick::Id), run().prop_map(Pick::Newest)])
            .prop_map(|(space, pick)| Query::Tuple { space, pick }),
        (space(), id(), 0..4_usize, 0..6_usize).prop_map(|(space, id, wanted, limit)| Query::Ancestors(Ancestors {
            space,
            id,
            stems: ["w", "none", "w"].iter().take(wanted).map(|stem| (*stem).to_owned()).collect(),
            writes: vec!["channel 0".to_owned(), "channel 1".to_owned()],
            limit,
        })),
        (space(), of, prop::option::of(rank()), limit()).prop_map(|(space, of, before, limit)| Query::List {
            space,
            of,
            before,
            limit
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let unit = || {
        let expect = (space(), run(), prop::option::of(id()), id())
            .prop_map(|(space, lineage, newest, or)| Op::Expect { space, lineage, newest, or });
        (prop::option::weighted(0.4, expect), prop::collection::vec(op(), 0..4))
            .prop_map(|(expect, ops)| expect.into_iter().chain(ops).collect::<Unit>())
    };
    prop_oneof![
        6 => unit().prop_map(|unit| Step::Apply(vec![unit])),
        2 => prop::collection::vec(unit(), 0..5).prop_map(Step::Apply),
        6 => query().prop_map(Step::Ask),
        4 => (space(), word(), 0..4_usize)
            .prop_map(|(space, group_prefix, limit)| Step::Page { space, group_prefix, limit }),
        1 => prune(),
        1 => prop::option::of(space()).prop_map(Step::Stats),
        1 => Just(Step::Reopen),
    ]
}

/// Where one side's last page of lineages ended. Positions are each backend's own, so each side goes on from its own.
type Place = Option<i64>;

fn page(answer: Answer, cursor: &mut Place) -> Vec<(u64, Header)> {
    let page = answer.into_lineages().unwrap();
    *cursor = page.last().map(|last| last.position);
    page.into_iter().map(|line| (line.checkpoints, line.newest)).collect()
}

/// Everything there is, asked in as many ways as there are.
fn everything() -> Vec<Query> {
    let mut all = Vec::new();
    for space in [Space(1), Space(2), Space::LANGGRAPH] {
        for id in ["a", "b", "c", "d", "e", "%", "a\0"] {
            all.push(Query::Get { space, id: id.to_owned() });
            all.push(Query::Tuple { space, pick: Pick::Id(id.to_owned()) });
        }
        for run in ["r1", "r2", "r3", "_"] {
            all.push(Query::List { space, of: Of::Lineage(run.to_owned()), before: None, limit: None });
            all.push(Query::Whole { space, of: Of::Lineage(run.to_owned()), prefix: Vec::new() });
        }
    }
    all
}

fn check(steps: &[Step], mut open: impl FnMut() -> Option<Box<dyn Backend>>) -> Result<(), TestCaseError> {
    let mut backend = open().unwrap();
    let mut model = Model::default();
    let (mut ours, mut theirs): (Place, Place) = (None, None);
    let asks = everything().into_iter().map(Step::Ask);
    for step in steps.iter().cloned().chain([Step::Reopen]).chain(asks) {
        match step {
            Step::Apply(batch) => {
                let expected: Vec<_> =
                    batch.iter().map(|unit| if model.apply(unit) { Ok(()) } else { Err(Code::Conflict) }).collect();
                let done: Vec<_> =
                    backend.apply(&batch).into_iter().map(|done| done.map_err(|error| error.code())).collect();
                prop_assert_eq!(done, expected);
            }
            Step::Ask(query) => {
                prop_assert_eq!(backend.answer(&query), Ok(model.answer(&query)), "{:?}", query);
            }
            Step::Page { space, group_prefix, limit } => {
                let query = |before| Query::Lineages { space, group_prefix: group_prefix.clone(), before, limit };
                let answer = backend.answer(&query(theirs)).unwrap();
                let expected = page(model.answer(&query(ours)), &mut ours);
                prop_assert_eq!(page(answer, &mut theirs), expected, "{:?} {:?} {}", space, group_prefix, limit);
            }
            Step::Prune { space, rule, most } => {
                let asked = Query::Prunable { space, rules: vec![rule] };
                let planned = backend.answer(&asked).unwrap().into_pruned().unwrap();
                let (mut checkpoints, mut lineages) = (0, 0);
                let mut next = Some(Cursor::default());
                while let Some(cursor) = next {
                    let done = backend.prune(&Prune { space, rule, cursor, most }).unwrap();
                    prop_assert!(done.checkpoints <= most as u64);
                    checkpoints += done.checkpoints;
                    lineages += done.lineages;
                    next = done.next;
                }
                prop_assert_eq!((planned.checkpoints, planned.lineages), (checkpoints, lineages), "as planned");
                let expected = model.prune(space, rule);
                prop_assert_eq!((checkpoints, lineages), (expected.0 as u64, expected.1 as u64), "{:?}", rule);
            }
            Step::Stats(space) => {
                let asked = Query::Stats { space, largest: usize::MAX };
                let mut stats = backend.answer(&asked).unwrap().into_stats().unwrap();
                let parts: u64 = stats.largest.iter().map(|lineage| lineage.stored_bytes).sum();
                prop_assert_eq!(parts, stats.stored_bytes, "the whole is the sum of its parts");
                (stats.stored_bytes, stats.file_bytes) = (0, None);
                stats.largest.iter_mut().for_each(|lineage| lineage.stored_bytes = 0);
                stats.largest.sort_by(|a, b| (a.space, &a.lineage).cmp(&(b.space, &b.lineage)));
                prop_assert_eq!(stats, model.stats(space));
            }
            Step::Reopen => {
                if let Some(opened) = open() {
                    backend = opened;
                }
            }
        }
    }
    Ok(())
}

/// The same sequences in every run, unless `PROPTEST_RNG_SEED` asks for others and `PROPTEST_CASES` for more.
fn config(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(0x0f0c_4b01);
    }
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    config
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..80)
}

fn check_file(steps: &[Step], journal: Journal) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.db");
    // What is synced when is not the question here.
    check(steps, || Some(Box::new(sqlite(&path, journal, Durability::Off).unwrap())))?;
    prop_assert_eq!(common::integrity(&path), "ok");
    Ok(())
}

proptest! {
    #![proptest_config(config(1000))]
    #[test]
    fn memory_answers_as_the_model(steps in steps()) {
        let mut memory: Option<Box<dyn Backend>> = Some(Box::new(Memory::new()));
        check(&steps, || memory.take())?;
    }
}

proptest! {
    #![proptest_config(config(150))]
    #[test]
    fn sqlite_answers_as_the_model(steps in steps()) {
        check_file(&steps, Journal::Wal)?;
    }

    #[test]
    fn sqlite_with_a_rollback_journal_answers_as_the_model(steps in steps()) {
        check_file(&steps, Journal::Rollback)?;
    }
}
