//! The limit of a rule about age or size: which checkpoints it removes, and which it spares.

use std::collections::{HashMap, HashSet};

use super::catalog::{Catalog, Entry, Line};
use super::known::{Known, missing};
use super::ledger::{Ledger, signed};
use super::waiting::waiting;
use crate::error::Result;
use crate::record::Seq;

/// The limit of a rule that removes checkpoints in save order, with the state for checking it.
pub(super) struct Limit {
    pub(super) by: By,
    /// The newest checkpoint of each spared lineage, as far as known. It does not change during planning, because the
    /// rule does not remove it.
    newest: HashMap<i64, Option<Seq>>,
    /// What is known about the lineages.
    traits: HashMap<i64, Traits>,
}

/// The facts about a lineage on which a limit depends.
#[derive(Clone, Copy, Default)]
struct Traits {
    has_effects: bool,
    /// True if the rule spares the run because it waits for a person.
    waits: bool,
}

pub(super) enum By {
    /// Removes checkpoints that were saved before this time, in ms since the epoch.
    Time {
        time: i64,
        /// The lineages of leased runs. `None`: not needed so far.
        held: Option<HashSet<i64>>,
        /// True if the rule spares runs that wait for a person.
        spares_waiting: bool,
    },
    /// Removes the earliest saved checkpoints until the stored bytes are within the limit.
    Bytes {
        /// The stored bytes before the first planned removal.
        total: u64,
        /// The maximum number of stored bytes.
        limit: u64,
    },
}

impl Limit {
    pub(super) fn new(by: By) -> Self {
        Self { by, newest: HashMap::new(), traits: HashMap::new() }
    }

    pub(super) fn by_time(time: i64, spares_waiting: bool) -> Self {
        Self::new(By::Time { time, held: None, spares_waiting })
    }

    fn traits_of(&self, lineage: i64) -> Traits {
        self.traits.get(&lineage).copied().unwrap_or_default()
    }

    /// Returns true if the limit is reached, so that nothing more must be removed.
    pub(super) fn holds(&self, known: &mut Known<'_>, ledger: &mut Ledger) -> Result<bool> {
        match self.by {
            By::Time { .. } => Ok(false),
            By::Bytes { total, limit } => Ok(signed(total) - ledger.freed(known)? <= signed(limit)),
        }
    }

    /// Returns false if the rule certainly spares the checkpoint. Does not ask the catalog.
    pub(super) fn may_take(&self, entry: &Entry) -> bool {
        match self.by {
            By::Time { time, .. } => entry.saved_at < time,
            By::Bytes { .. } => true,
        }
    }

    /// Returns true if the rule spares the newest checkpoint and all effects of the lineage. A remaining run needs its
    /// effects.
    fn spares(&self, lineage: i64) -> bool {
        match &self.by {
            By::Time { held, .. } => {
                self.traits_of(lineage).waits || held.as_ref().is_some_and(|held| held.contains(&lineage))
            }
            By::Bytes { .. } => true,
        }
    }

    /// Loads the data that [`Limit::takes`] needs for these lineages.
    pub(super) fn ask(
        &mut self,
        catalog: &dyn Catalog,
        ledger: &Ledger,
        lineages: impl Iterator<Item = i64>,
    ) -> Result<()> {
        if let By::Time { held: held @ None, .. } = &mut self.by {
            *held = Some(super::held::held(catalog)?);
        }
        let lineages: Vec<i64> = lineages.collect();
        self.ask_traits(catalog, &missing(&self.traits, lineages.iter().copied()))?;
        let missing = missing(&self.newest, lineages.into_iter().filter(|lineage| self.spares(*lineage)));
        if !missing.is_empty() {
            self.newest.extend(ledger.newest(catalog, &missing)?);
        }
        Ok(())
    }

    fn ask_traits(&mut self, catalog: &dyn Catalog, lineages: &[i64]) -> Result<()> {
        if lineages.is_empty() {
            return Ok(());
        }
        let lines = catalog.lines(lineages)?;
        let waiting = match self.by {
            By::Time { spares_waiting: true, .. } => waiting(catalog, &lines)?,
            _ => HashSet::new(),
        };
        self.traits.extend(lineages.iter().map(|lineage| (*lineage, Traits::default())));
        let of = |Line { lineage, contract, .. }: &Line| {
            (*lineage, Traits { has_effects: contract.is_effects(), waits: waiting.contains(lineage) })
        };
        self.traits.extend(lines.iter().map(of));
        Ok(())
    }

    /// Returns true if the rule removes this checkpoint while the limit is not reached.
    pub(super) fn takes(&mut self, catalog: &dyn Catalog, ledger: &Ledger, entry: Entry) -> Result<bool> {
        self.ask(catalog, ledger, std::iter::once(entry.lineage))?;
        let stays = self.spares(entry.lineage)
            && (self.traits_of(entry.lineage).has_effects || self.newest.get(&entry.lineage) == Some(&Some(entry.seq)));
        Ok(self.may_take(&entry) && !stays)
    }
}
