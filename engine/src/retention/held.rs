//! The leased runs. A rule about age spares their newest checkpoints and their effects, because the process that has
//! the lease continues from there.
//!
//! A lease names the lineages of its run, so that retention need not know a contract.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::catalog::{Catalog, Leases};
use crate::error::{Lessee, Result};
use crate::record::{ContractId, Header};

/// The contract whose checkpoints are leases.
pub const LEASES: ContractId = ContractId(8);
/// The contract whose checkpoints are requests about leases. A request is in a lineage with the name of the lease's
/// lineage. The id makes the checkpoints records: see [`ContractId::has_records`].
pub const REQUESTS: ContractId = ContractId(86);

/// Lineages of a leased run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owned {
    pub contract: u8,
    /// The name of the lineage.
    pub name: String,
    /// True if the run also has all lineages whose names begin with `name`: its namespaces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

/// The fields of a lease that the engine reads.
#[derive(Deserialize)]
struct Lease {
    until: i64,
    #[serde(default)]
    holder: String,
    #[serde(default)]
    passive: bool,
    #[serde(default)]
    owned: Vec<Owned>,
}

/// Returns the process whose lease forbids other writes. `None`: the lease allows them, has expired, or is damaged.
pub fn lessee(lease: &Header, now: i64) -> Option<Lessee> {
    let Lease { until, holder, passive, .. } = serde_json::from_slice(&lease.meta).ok()?;
    (!passive && is_valid(lease.saved_at, until, now)).then(|| Lessee { id: lease.id.clone(), holder, until })
}

/// Returns true if a lease that was taken or renewed at `saved_at` is valid now. A lease from the future is not valid,
/// because the clock was set back.
pub fn is_valid(saved_at: i64, until: i64, now: i64) -> bool {
    let ttl = until.saturating_sub(saved_at);
    now < until && now.saturating_add(ttl) >= saved_at
}

/// The positions of the lineages of leased runs, including their effects. Asks one question for each leased run: there
/// are only as many as working processes.
pub(super) fn held(catalog: &dyn Catalog) -> Result<HashSet<i64>> {
    let Leases { now, all } = catalog.leases()?;
    let mut held = HashSet::new();
    for (saved_at, meta) in all {
        // Retention must not fail because of one damaged lease.
        let Ok(Lease { until, owned, .. }) = serde_json::from_slice(&meta) else { continue };
        if !is_valid(saved_at, until, now) {
            continue;
        }
        for Owned { contract, name, all } in owned {
            let contract = ContractId(contract);
            held.extend(catalog.named(contract, &name, all)?);
            held.extend(catalog.named(contract.effects(), &name, all)?);
        }
    }
    Ok(held)
}
