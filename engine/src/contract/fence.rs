//! The fence of a call: the condition on the lease of a run under which the call may write.
//!
//! A leased run takes the writes of its holder only. A call without a fence may write to runs that no process has
//! leased.

use serde::Deserialize;

use super::entry::{Contract, Names};
use super::lease::{CONTRACT_ID, REQUESTS_ID, Run, held_still};
use super::program;
use super::registry::{CONTRACTS, contract_of};
use crate::op::{Expect, Op, Unit};
use crate::record::ContractId;

/// A condition on the lease of a run. If it is false, the call writes nothing and fails with a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Fence {
    /// The writer still holds this lease: it was neither taken nor released.
    Held {
        of: Run,
        id: String,
        /// The ids of other leases that the writer holds.
        #[serde(default)]
        own: Vec<String>,
    },
    /// The lease has not changed since the caller read it. A call that removes a run checks its lease this way.
    Unheld {
        of: Run,
        /// The id of the lease that the caller read. `None`: there was none.
        seen: Option<String>,
        /// True if the call ends this lease. Its holder can then write no more.
        ends: bool,
    },
    /// No process holds a lease of the run. The lease with this id does not count, because its process has ended.
    Ended { ended: String },
    /// No process holds a lease of the run. The leases with these ids do not count, because the caller holds them.
    Own { own: Vec<String> },
}

/// Adds the condition of the fence to the unit.
pub(super) fn guard(fence: Option<Fence>, unit: &mut Unit) {
    let expect = match fence {
        None => return unleased(unit, &[]),
        Some(Fence::Ended { ended }) => return unleased(unit, &[ended]),
        Some(Fence::Own { own }) => return unleased(unit, &own),
        Some(Fence::Held { of, id, own }) => {
            except(unit, std::slice::from_ref(&id));
            except(unit, &own);
            held_still(&of, id)
        }
        Some(Fence::Unheld { of, seen, ends }) => {
            // A run with an id that no lease can have is not leased.
            let Ok(lineage) = of.lineage() else { return };
            if let Some(id) = seen.clone().filter(|_| ends) {
                unit.ops.push(Op::Remove { contract: CONTRACT_ID, id });
            }
            let or = seen.clone().unwrap_or_default();
            Expect::Newest { contract: CONTRACT_ID, lineage, newest: seen, or }
        }
    };
    unit.expect.insert(0, expect);
}

/// Requires that no process has leased a run that the unit writes to. The lease of a thread covers its namespaces.
fn unleased(unit: &mut Unit, own: &[String]) {
    except(unit, own);
    let mut leases: Vec<(String, String)> = Vec::new();
    for of in unit.ops.iter().filter_map(run_of) {
        let thread = (!of.ns.is_empty()).then(|| Run { ns: String::new(), ..of.clone() });
        for of in thread.into_iter().chain([of]) {
            // A run with an id that no lease can have is not leased.
            let Ok(lineage) = of.lineage() else { continue };
            if leases.iter().all(|(known, _)| *known != lineage) {
                leases.push((lineage, of.run));
            }
        }
    }
    let expect = |(lineage, run)| Expect::Unleased { lineage, run, except: own.to_vec() };
    unit.expect.splice(0..0, leases.into_iter().map(expect));
}

/// Makes the conditions on the runs of checkpoints ignore the leases with these ids.
fn except(unit: &mut Unit, ids: &[String]) {
    for expect in &mut unit.expect {
        if let Expect::UnleasedRunOf { except, .. } = expect {
            except.extend_from_slice(ids);
        }
    }
}

/// The run that an op writes to. `None`: the op tells no run, or may change a leased run.
fn run_of(op: &Op) -> Option<Run> {
    let (contract, lineage, id) = match op {
        Op::Put(draft) => (draft.header.contract, Some(&draft.header.lineage), None),
        Op::Fork(fork) => (fork.contract, Some(&fork.lineage), None),
        Op::Append { contract, lineage, .. }
        | Op::RemoveFrom { contract, lineage, .. }
        | Op::Truncate { contract, lineage, .. }
        | Op::RemoveLogs { contract, lineage }
        | Op::RemoveLineages { contract, prefix: lineage } => (*contract, Some(lineage), None),
        Op::Write { contract, id, .. } => (*contract, None, Some(id)),
        // These accompany another op of the same run, have a condition of their own, or change nothing that a run reads.
        Op::Claim { .. }
        | Op::Reopen { .. }
        | Op::RemoveWrites { .. }
        | Op::Touch { .. }
        | Op::Remove { .. }
        | Op::KeepLast { .. }
        | Op::SetLabels { .. } => return None,
    };
    let of = leasable(contract)?;
    let Names { run, ns, .. } = (of.name_of)(lineage.cloned(), id.cloned());
    Some(Run { space: of.space().to_owned(), run: run?, ns: ns.unwrap_or_default() })
}

/// The contract whose runs have data of the contract `id`.
fn leasable(id: ContractId) -> Option<&'static Contract> {
    if [CONTRACT_ID, REQUESTS_ID, program::CONTRACT_ID].contains(&id) {
        return None;
    }
    let of_anchor = const { &CONTRACTS }.iter().find(|contract| contract.anchor == id && contract.id != id);
    of_anchor.or_else(|| contract_of(id))
}
