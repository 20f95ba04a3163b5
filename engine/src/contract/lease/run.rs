//! Runs that can be leased, and the lineages of their leases.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::entry::Names;
use crate::contract::ids::check_id;
use crate::contract::thread;
use crate::error::Result;

/// Identifies a run of any contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Run {
    /// The name of the run's contract.
    pub space: String,
    /// The id of the run or thread.
    pub run: String,
    /// The namespace in the thread. Empty for the thread itself, and for contracts without namespaces.
    #[serde(default)]
    pub ns: String,
}

/// A suffix for the contract's name in the lineage of a namespace. No contract's name contains it.
const NAMESPACE: &str = "/ns";

impl Run {
    /// The run of a lease's lineage.
    pub(in crate::contract) fn of_lineage(lineage: String) -> Self {
        let space = lineage.split(['/', '\0']).next().unwrap_or_default().to_owned();
        let Names { run, ns, .. } = name_of(Some(lineage), None);
        Self { space, run: run.unwrap_or_default(), ns: ns.unwrap_or_default() }
    }

    /// The lineage of the run's lease: the name of the contract, NUL, and the id of the run. Namespaces have separate
    /// lineages, which no run's id can produce.
    pub(in crate::contract) fn lineage(&self) -> Result<String> {
        check_id("the id of the run", &self.run)?;
        let Self { space, run, ns } = self;
        let name = if ns.is_empty() { run.clone() } else { thread::lineage(run, ns) };
        Ok(Self::prefix(space, ns) + &name)
    }

    /// The prefix of the lineages of all leases of a contract's runs without a namespace, or of those with one.
    pub(super) fn prefix(space: &str, ns: &str) -> String {
        format!("{space}{}\0", if ns.is_empty() { "" } else { NAMESPACE })
    }
}

/// Returns the names of a run for the lineage of its lease.
pub(super) fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let of = lineage.map(|lineage| match lineage.split_once('\0') {
        Some((space, of)) if space.ends_with(NAMESPACE) => match thread::split(of) {
            Some((thread, namespace)) => (thread.to_owned(), Some(namespace.to_owned())),
            None => (of.to_owned(), None),
        },
        Some((_, run)) => (run.to_owned(), None),
        None => (lineage, None),
    });
    let (run, ns) = of.map_or((None, None), |(run, ns)| (Some(run), ns));
    Names { run, ns, id }
}
