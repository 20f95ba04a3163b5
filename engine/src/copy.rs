//! Copies an entire store or some of its lineages to another store, and compares both afterwards.
//!
//! A copy only uses ops and queries, so it works between any two backends. It repeats the visible history: it puts the
//! checkpoints in save order, and creates the lineages in their order.
//!
//! A copy keeps no progress marker in the destination. It first compares the stores, keeps what the destination already
//! has, and continues from there. An interrupted copy continues in the same way as a new one.
//!
//! # Layout
//!
//! | module | what it does |
//! |---|---|
//! | `shared` | what all parts use: both stores, the options, the counts |
//! | `side` | asks a store and waits for the answer |
//! | `convert` | converts the serialized values of the source |
//! | `location` | checks whether two stores are the same |
//! | `items` | reads a store page by page |
//! | `compare` | compares both stores, and finds the data that the destination already has |
//! | `records` | compares the records of logs |
//! | `stages` | goes through the source, and fills the destination |
//! | `page` | collects ops, and applies them as one unit |
//! | `begin` | creates lineages in their order, with their groups and origins |
//! | `logs` | brings the logs of a lineage to the state that a checkpoint names |

mod begin;
mod compare;
mod convert;
mod items;
mod location;
mod logs;
mod page;
mod records;
mod shared;
mod side;
mod stages;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use self::compare::{Comparison, There};
pub use self::convert::{Convert, Value};
pub use self::location::Location;
use self::shared::Shared;
pub use self::shared::{CopyOptions, Counts};
pub use self::side::Name;
use self::side::Side;
use self::stages::Copying;
use crate::error::{Error, Result};
use crate::query::{Of, Query};
use crate::retention::Policy;
use crate::store::Store;

/// The progress of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// True while the two stores are compared. The counts then begin again at 0.
    pub verifying: bool,
    /// True if everything is copied and both stores are equal.
    pub done: bool,
    /// True if data were missing in the destination, so that it was changed.
    pub changed: bool,
    #[serde(flatten)]
    pub counts: Counts,
    /// The data that the destination already had. Zero until the first comparison ends.
    pub there: Counts,
    /// The number of checkpoints that the source had when the call began.
    pub of_checkpoints: u64,
    /// The number of records that the source had when the call began.
    pub of_records: u64,
}

/// A copy between two open stores.
///
/// Each step copies or compares about one page. After an error, the next step compares both stores again and continues.
/// A new `Copy` continues in the same way, also in another process.
pub struct Copy {
    shared: Shared,
    /// The parts to copy, in this order. A part is the entire store (`None`) or a lineage.
    parts: Vec<Option<Name>>,
    state: State,
    /// True if the destination was changed.
    changed: bool,
    /// The data that the destination had before it was changed.
    there: Counts,
    /// The numbers of checkpoints and records in the source.
    of: Option<(u64, u64)>,
}

enum State {
    Begins,
    /// Compares the parts before anything is changed. The first field has the results of the parts before.
    Compares(Vec<There>, Box<Comparison>),
    Copies(Work, Box<Copying>),
    /// Compares a part that was copied.
    Verifies(Work, Box<Comparison>),
    Done(Counts),
}

/// The parts that remain to be copied, and the counts of the equal parts.
struct Work {
    /// The parts that are incomplete in the destination, with their index in `parts`.
    left: VecDeque<(usize, There)>,
    /// The counts of the parts that are equal.
    done: Counts,
}

impl Copy {
    /// Creates a copy. Nothing is read or written before the first step.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the destination has a retention limit.
    pub fn new(from: Arc<Store>, to: Arc<Store>, options: CopyOptions) -> Result<Self> {
        if *to.retention() != Policy::default() {
            return Err(Error::invalid(
                "the destination of a copy has a retention limit, which would remove what is copied: open it without \
                 keepLastN, ttlMs and maxBytes",
            ));
        }
        let (from, to) = (Side::new(from, "the source of the copy"), Side::new(to, "the destination of the copy"));
        let parts = options.lineages.clone();
        let parts = parts.map_or_else(|| vec![None], |names| names.into_iter().map(Some).collect());
        Ok(Self {
            shared: Shared { from, to, options, only: None },
            parts,
            state: State::Begins,
            changed: false,
            there: Counts::default(),
            of: None,
        })
    }

    /// Converts the source's values. The destination is compared with the converted values.
    #[must_use]
    pub fn converting(mut self, convert: Convert) -> Self {
        self.shared.from.convert = Some(Arc::new(convert));
        self
    }

    /// Copies or compares about one page. Blocks until this is done.
    pub fn step(&mut self) -> Result<Progress> {
        if self.of.is_none() {
            self.of = Some(self.totals()?);
        }
        // After an error, the state stays `Begins`.
        self.state = match std::mem::replace(&mut self.state, State::Begins) {
            State::Begins => {
                self.state = self.compare(Vec::new());
                return self.step();
            }
            State::Compares(mut found, mut comparison) => {
                if comparison.step(&self.shared)? {
                    found.push(comparison.into_found());
                    self.compare(found)
                } else {
                    State::Compares(found, comparison)
                }
            }
            State::Copies(work, mut copying) => {
                if copying.step(&self.shared)? {
                    State::Verifies(work, Box::new(Comparison::new(true)))
                } else {
                    State::Copies(work, copying)
                }
            }
            State::Verifies(mut work, mut comparison) => {
                if comparison.step(&self.shared)? {
                    work.done = work.done + comparison.found().counts;
                    self.go_on(work)
                } else {
                    State::Verifies(work, comparison)
                }
            }
            State::Done(counts) => State::Done(counts),
        };
        Ok(self.progress())
    }

    /// Compares the next part. After the last comparison, starts to copy the incomplete parts.
    fn compare(&mut self, found: Vec<There>) -> State {
        if let Some(part) = self.parts.get(found.len()) {
            self.shared.only.clone_from(part);
            return State::Compares(found, Box::new(Comparison::new(false)));
        }
        let mut work = Work { left: VecDeque::new(), done: Counts::default() };
        let there = found.iter().fold(Counts::default(), |sum, there| sum + there.counts);
        // After an error, the data that this copy has added do not count as data that were there.
        if !self.changed {
            self.there = there;
        }
        for (number, there) in found.into_iter().enumerate() {
            if there.less {
                work.left.push_back((number, there));
            } else {
                work.done = work.done + there.counts;
            }
        }
        self.go_on(work)
    }

    /// Copies the next part.
    fn go_on(&mut self, mut work: Work) -> State {
        let Some((number, there)) = work.left.pop_front() else { return State::Done(work.done) };
        self.shared.only.clone_from(&self.parts[number]);
        self.changed = true;
        State::Copies(work, Box::new(Copying::after(there)))
    }

    fn progress(&self) -> Progress {
        let (verifying, counts) = match &self.state {
            State::Begins => (false, Counts::default()),
            State::Compares(found, comparison) => {
                let counts = found.iter().fold(comparison.found().counts, |sum, there| sum + there.counts);
                (comparison.found().any || found.iter().any(|there| there.any), counts)
            }
            State::Copies(work, copying) => (false, work.done + copying.counts()),
            State::Verifies(work, comparison) => (true, work.done + comparison.found().counts),
            State::Done(counts) => (true, *counts),
        };
        let (of_checkpoints, of_records) = self.of.unwrap_or_default();
        let done = matches!(self.state, State::Done(_));
        Progress { verifying, done, changed: self.changed, counts, there: self.there, of_checkpoints, of_records }
    }

    /// Returns the numbers of checkpoints and records to copy.
    fn totals(&self) -> Result<(u64, u64)> {
        let Shared { from, options, .. } = &self.shared;
        let (mut checkpoints, mut records) = (0, 0);
        if options.lineages.is_none() {
            let stats = from.ask(Query::Stats { contract: None, largest: 0, by_status: false })?.into_stats()?;
            let is_left_out = |of| options.left_out.contains(&of) || options.effects.contains(&of);
            let copied = stats.sum(|contract| !is_left_out(contract));
            (checkpoints, records) = (copied.checkpoints, copied.records);
        }
        for (contract, lineage) in options.lineages.iter().flatten() {
            let (contract, lineage) = (*contract, lineage.clone());
            let logs = from.ask(Query::Logs { contract, lineage: lineage.clone() })?.into_logs()?;
            records += logs.iter().map(|log| log.length).sum::<u64>();
            if !contract.is_effects() {
                checkpoints += from.ask(Query::Count { contract, of: Of::Lineage(lineage) })?.into_count()?;
            }
        }
        Ok((checkpoints, records))
    }
}
