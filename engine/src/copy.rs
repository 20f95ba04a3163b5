//! Copies everything from one store to another, and compares both stores afterwards.
//!
//! A copy only uses ops and queries. So it works between any two backends. The copy repeats the history as far as it is
//! still visible: it puts the checkpoints in save order, and creates the lineages in their order.
//!
//! # Layout
//!
//! | module | what it does |
//! |---|---|
//! | `convert` | converts the serialised values of the source |
//! | `shared` | what all stages use: both stores, the options, the counts |
//! | `side` | asks a store and waits for the answer |
//! | `mark` | the progress mark in the destination |
//! | `place` | tells which stores are the same |
//! | `page` | collects ops, and applies them together with the mark as one unit |
//! | `begin` | creates lineages in their order, with their groups and origins |
//! | `logs` | brings the logs of a lineage to the state that a checkpoint names |
//! | `stages` | goes through the source, page by page |
//! | `verify` | reads both stores and compares them |
//! | `earlier` | tells whether the destination has what an earlier copy has left |

mod begin;
mod convert;
mod earlier;
mod logs;
mod mark;
mod page;
mod place;
mod shared;
mod side;
mod stages;
mod verify;

use std::sync::Arc;

use serde::Serialize;

pub use self::convert::{Convert, Value};
use self::earlier::Earlier;
use self::mark::{Mark, Stage};
pub use self::place::Place;
pub use self::shared::{CopyOptions, MARK_CONTRACT};
use self::shared::{Counts, Shared, changed};
use self::side::Side;
use self::stages::Copying;
use self::verify::Verification;
use crate::error::{Code, Error, Result};
use crate::query::Query;
use crate::record::{Saved, Start};
use crate::retention::Policy;
use crate::store::Store;

/// What a copy has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// True while the two stores are compared. The counts then begin again at 0.
    pub verifying: bool,
    /// True if everything is copied and both stores are equal.
    pub done: bool,
    /// The number of lineages.
    pub lineages: u64,
    /// The number of checkpoints.
    pub checkpoints: u64,
    /// The number of pending writes.
    pub writes: u64,
    /// The number of records of logs. A record that several checkpoints and logs share is counted once.
    pub records: u64,
    /// The number of bytes of all payloads, writes and records.
    pub bytes: u64,
    /// The number of checkpoints that the source had when the call began.
    pub of_checkpoints: u64,
    /// The number of records that the source had when the call began.
    pub of_records: u64,
}

/// A copy between two open stores.
///
/// Each step copies or compares about one page. After an error, the next step reads the progress from the destination
/// and goes on from there. So does another `Copy`, also in another process.
pub struct Copy {
    shared: Shared,
    state: State,
    /// The checkpoints and the records of the source.
    of: Option<(u64, u64)>,
}

enum State {
    Begins,
    /// Compares a destination that differs with the source, which may have more since an earlier copy.
    Follows(Box<Earlier>),
    /// Looks for lineages whose origins need care, before the copy begins. The field is the position of the last lineage.
    Scans(Option<i64>, Box<Copying>),
    Copies(Box<Copying>),
    /// Compares the stores. `None`: the destination has no mark, because it had content when the copy began.
    Verifies(Box<Verification>, Option<Box<Mark>>),
    Done(Counts),
}

impl Copy {
    /// A copy from a store to another one. Nothing is read or written before the first step.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the destination removes checkpoints by itself.
    pub fn new(from: Arc<Store>, to: Arc<Store>, options: CopyOptions) -> Result<Self> {
        if *to.retention() != Policy::default() {
            return Err(Error::invalid(
                "the destination of a copy has a retention limit, which would remove what is copied: open it without \
                 keepLastN, ttlMs and maxBytes",
            ));
        }
        let (from, to) = (Side::new(from, "the source of the copy"), Side::new(to, "the destination of the copy"));
        Ok(Self { shared: Shared { from, to, options }, state: State::Begins, of: None })
    }

    /// Converts the values of the source. The destination is compared with the converted values.
    #[must_use]
    pub fn converting(mut self, convert: Convert) -> Self {
        self.shared.from.convert = Some(Arc::new(convert));
        self
    }

    /// Copies or compares about one page. Blocks until this is done.
    pub fn step(&mut self) -> Result<Progress> {
        if self.of.is_none() {
            self.of = Some(self.shared.totals()?);
        }
        // After an error, the state stays `Begins`.
        let state = std::mem::replace(&mut self.state, State::Begins);
        self.state = self.shared.step(state)?;
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        let (verifying, counts) = match &self.state {
            State::Begins => (false, Counts::default()),
            State::Follows(earlier) => (true, earlier.mark().done),
            State::Scans(_, copying) | State::Copies(copying) => (false, copying.counts()),
            State::Verifies(verification, _) => (true, verification.counts),
            State::Done(counts) => (true, *counts),
        };
        let Counts { lineages, checkpoints, writes, records, bytes } = counts;
        let (of_checkpoints, of_records) = self.of.unwrap_or_default();
        let done = matches!(self.state, State::Done(_));
        Progress { verifying, done, lineages, checkpoints, writes, records, bytes, of_checkpoints, of_records }
    }
}

impl Shared {
    fn step(&self, state: State) -> Result<State> {
        match state {
            State::Begins => self.begin(),
            State::Follows(mut earlier) => {
                if !earlier.step(self)? {
                    return Ok(State::Follows(earlier));
                }
                let (mark, ops) = earlier.into_parts();
                let after = mark.existing;
                Ok(State::Scans(after, Box::new(Copying::new(mark).beginning_with(ops))))
            }
            State::Scans(after, copying) => self.scan(after, copying),
            State::Copies(mut copying) => {
                copying.step(self)?;
                Ok(goes_on(*copying))
            }
            State::Verifies(mut verification, mark) => {
                let equal = match verification.step(self) {
                    // The source may have more than the destination has of an earlier copy.
                    Err(error) if mark.is_none() && error.code() == Code::Conflict => {
                        return Ok(State::Follows(Box::new(Earlier::new(&self.options.source))));
                    }
                    outcome => outcome?,
                };
                if !equal {
                    return Ok(State::Verifies(verification, mark));
                }
                if let Some(mark) = mark {
                    self.to.apply(mark.removal())?;
                }
                Ok(State::Done(verification.counts))
            }
            State::Done(counts) => Ok(State::Done(counts)),
        }
    }

    /// The numbers of checkpoints and records of the source.
    fn totals(&self) -> Result<(u64, u64)> {
        let count = |contract| {
            let stats = self.from.ask(Query::Stats { contract, largest: 0 })?.into_stats()?;
            Ok::<_, Error>((stats.checkpoints, stats.records))
        };
        let (mut checkpoints, mut records) = count(None)?;
        for contract in self.options.left_out {
            let left_out = count(Some(*contract))?;
            checkpoints = checkpoints.saturating_sub(left_out.0);
            records = records.saturating_sub(left_out.1);
        }
        Ok((checkpoints, records))
    }

    fn begin(&self) -> Result<State> {
        if Mark::read(&self.from)?.is_some() {
            let message = "the source is the destination of a copy that has not ended: finish that copy first";
            return Err(Error::new(Code::Conflict, message));
        }
        match Mark::read(&self.to)? {
            Some(mark) => {
                self.check_same_source(&mark)?;
                Ok(goes_on(Copying::resumed(self, mark)?))
            }
            None if self.is_empty()? => {
                let copying = Copying::new(Mark::new(&self.options.source, Stage::Saves));
                Ok(State::Scans(None, Box::new(copying)))
            }
            // It may be a copy that has ended.
            None => Ok(State::Verifies(Box::new(Verification::new()), None)),
        }
    }

    /// Checks that the begun copy is one of this source, and that the source still has what was copied last.
    fn check_same_source(&self, mark: &Mark) -> Result<()> {
        if mark.source != self.options.source {
            let message = "the destination holds a begun copy of another store: finish that copy, or give an empty \
                           destination";
            return Err(Error::new(Code::Conflict, message));
        }
        if let (Some(seq), Some((contract, id))) = (mark.after, &mark.last) {
            let query = Query::Saves { after: Some(seq - 1), bytes: 1 };
            let found = self.from.ask(query)?.into_saves()?;
            let named = |saved: &Saved| {
                let header = &saved.checkpoint.header;
                saved.seq == seq && (header.contract.0, &header.id) == (*contract, id)
            };
            if !found.first().is_some_and(named) {
                return Err(changed(&format!("checkpoint {}", crate::error::quote(id))));
            }
        }
        Ok(())
    }

    /// Returns true if the destination has nothing that a copy would bring.
    fn is_empty(&self) -> Result<bool> {
        let mut after = None;
        loop {
            let found = self.to.starts(after)?;
            let Some(last) = found.last() else { break };
            after = Some(last.position);
            if found.iter().any(|start| !self.leaves_out(start.contract)) {
                return Ok(false);
            }
        }
        let mut after = None;
        loop {
            let found = self.to.ask(Query::Writes { after, bytes: self.options.page_bytes })?.into_writes()?;
            let Some(last) = found.last() else { return Ok(true) };
            after = Some((last.contract, last.id.clone()));
            if found.iter().any(|written| !self.leaves_out(written.contract)) {
                return Ok(false);
            }
        }
    }

    /// Looks at the origins of a page of lineages. If one of them needs it, all lineages are created before the first
    /// checkpoint is copied: see [`begin`].
    fn scan(&self, after: Option<i64>, copying: Box<Copying>) -> Result<State> {
        let found = self.from.starts(after)?;
        let Some(last) = found.last() else { return Ok(State::Copies(copying)) };
        for start in found.iter().filter(|start| !self.leaves_out(start.contract)) {
            if self.needs_care(start)? {
                return Ok(State::Copies(Box::new(copying.with_care())));
            }
        }
        Ok(State::Scans(Some(last.position), copying))
    }

    /// Returns true if the origin of a lineage is a later lineage, or a checkpoint that belongs to another lineage now.
    fn needs_care(&self, start: &Start) -> Result<bool> {
        let Some(origin) = start.first.as_ref().and_then(|first| first.origin.as_ref()) else { return Ok(false) };
        if origin.position > start.position {
            return Ok(true);
        }
        let found = self.from.lineage_of(start.contract, &origin.id)?;
        Ok(found.is_some_and(|lineage| Some(lineage) != origin.lineage))
    }
}

fn goes_on(copying: Copying) -> State {
    if copying.stage() == Stage::Verify {
        return State::Verifies(Box::new(Verification::new()), Some(Box::new(copying.into_mark())));
    }
    State::Copies(Box::new(copying))
}
