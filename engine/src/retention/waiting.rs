//! The runs that wait for a person. A rule about age spares their newest checkpoints and their effects, because the run
//! continues from there after the answer.
//!
//! A lineage stores its own status. For the effects of a run and for the namespaces of a thread, the status of the run
//! itself decides: a subgraph may keep an old question after its graph has gone another way.

use std::collections::HashSet;

use super::catalog::{Catalog, Line};
use crate::error::Result;
use crate::record::{ContractId, Status};

/// Returns those of the lineages whose run waits. Asks at most one question.
pub(super) fn waiting(catalog: &dyn Catalog, lines: &[Line]) -> Result<HashSet<i64>> {
    let mut found = HashSet::new();
    let mut others = Vec::new();
    for line in lines {
        match run_of(line.contract, &line.name) {
            Some(run) => others.push((line.lineage, run)),
            None if line.status == Status::Waiting => drop(found.insert(line.lineage)),
            None => {}
        }
    }
    if others.is_empty() {
        return Ok(found);
    }
    let runs: HashSet<_> = others.iter().map(|(_, run)| run.clone()).collect();
    let waiting: HashSet<_> = catalog.waiting_among(&Vec::from_iter(runs))?.into_iter().collect();
    found.extend(others.into_iter().filter(|(_, run)| waiting.contains(run)).map(|(lineage, _)| lineage));
    Ok(found)
}

/// The lineage of the run that a lineage belongs to. `None`: it is the run's own.
fn run_of(contract: ContractId, name: &str) -> Option<(ContractId, String)> {
    let of = contract.of_runs();
    let run = if of.has_namespaces() { thread(name).unwrap_or(name) } else { name };
    ((of, run) != (contract, name)).then(|| (of, run.to_owned()))
}

/// The beginning of a namespace's name, which is the name of the thread's own lineage: see
/// [`ContractId::has_namespaces`].
fn thread(name: &str) -> Option<&str> {
    let (length, _) = name.split_once(':')?;
    name.get(..length.len() + 1 + length.parse::<usize>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_and_namespaces_belong_to_a_run() {
        let (plain, thread) = (ContractId(1), ContractId(4));
        assert_eq!(run_of(plain, "1:a|b"), None, "a name that only looks like a namespace");
        assert_eq!(run_of(plain.effects(), "1:a|b"), Some((plain, "1:a|b".to_owned())));
        let own = Some((thread, "3:a:b".to_owned()));
        assert_eq!(run_of(thread, "3:a:b"), None);
        assert_eq!(run_of(thread, "3:a:bnode:1"), own);
        assert_eq!(run_of(thread.effects(), "3:a:b"), own);
        assert_eq!(run_of(thread.effects(), "3:a:bnode:1"), own);
        for damaged in ["", "a", "9:a", "99999999999999999999:a", "1:é", "-1:a"] {
            assert_eq!(run_of(thread, damaged), None, "{damaged}");
        }
    }
}
