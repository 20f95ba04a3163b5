//! Notifications for other stores about the leases and requests that a batch changes: see [`super::listener`].
//!
//! The batch's own transaction sends them, so that they arrive only if it is committed. A transaction with a notification
//! takes a lock of the entire database while it commits. Other batches send none, and the end of a lease is told only if
//! a request waits for it.

use xxhash_rust::xxh3::xxh3_64;

use super::key::{Name, columns, name, number};
use super::names::Names;
use super::transaction::Transaction;
use super::value::{Value, values};
use crate::events::Heard;
use crate::op::{Op, Unit};
use crate::retention::{LEASES, REQUESTS};

/// Notifies about the lineages of some checkpoints (`$2`, `$3`) that are leases with requests, or requests, and about
/// others (`$4`, `$5`). The payload is the hexadecimal name of the lineage. A payload is limited to 7,999 bytes, and a
/// longer name is replaced by nothing.
const TELL: &str = "SELECT pg_notify($1, CASE WHEN octet_length(name) < 4000 THEN encode(name, 'hex') ELSE '' END) FROM (
    SELECT l.name FROM unnest($2, $3) AS w(contract, id)
      JOIN @checkpoint AS c ON c.contract = w.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(w.id), 1, 16) AND c.id = w.id
      JOIN @lineage AS l ON l.lin = c.lin
    WHERE EXISTS (
      SELECT FROM @lineage AS r
      WHERE r.contract = $6 AND substr(sha256(r.name), 1, 16) = substr(sha256(l.name), 1, 16) AND r.name = l.name)
    UNION SELECT w.name FROM unnest($4, $5) AS w(contract, name)) AS changed";

/// The leases and requests that a batch changes.
#[derive(Default)]
pub(super) struct Changes {
    /// The removed leases and requests.
    removed: Vec<Name>,
    /// The leases about which requests are stored.
    pub(super) leases: Vec<Name>,
}

impl Changes {
    pub(super) fn of(units: &[Unit]) -> Self {
        let mut changes = Self::default();
        for unit in units {
            // Nobody waits for the lease that another one replaces, or for the request that gets the lease.
            let takes = unit.ops.iter().any(|op| matches!(op, Op::Put(draft) if draft.header.contract == LEASES));
            for op in &unit.ops {
                match op {
                    Op::Put(draft) if draft.header.contract == REQUESTS => {
                        changes.leases.push(name(LEASES, &draft.header.lineage));
                    }
                    Op::Remove { contract, id } if !takes && [LEASES, REQUESTS].contains(contract) => {
                        changes.removed.push(name(*contract, id));
                    }
                    _ => {}
                }
            }
        }
        changes
    }

    /// Queues the notifications. The transaction must have locked the leases, and not yet changed anything: a request
    /// that is stored later finds the lease released.
    pub(super) fn tell(&self, open: &Transaction<'_>) {
        if self.removed.is_empty() && self.leases.is_empty() {
            return;
        }
        let mut given = vec![Value::Text(channel(&open.session.names))];
        given.extend([&self.removed, &self.leases].into_iter().flat_map(columns));
        given.extend(values![number(REQUESTS)]);
        open.later(TELL, given);
    }
}

/// The channel of the stores with these tables.
pub(super) fn channel(Names { schema, prefix }: &Names) -> String {
    format!("forkpoint_{:016x}", xxh3_64(format!("{schema}\0{prefix}").as_bytes()))
}

/// Reads the payload of a notification.
pub(super) fn heard(payload: &str) -> Heard {
    let bytes = payload.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let name = bytes.collect::<Option<Vec<u8>>>().and_then(|bytes| String::from_utf8(bytes).ok());
    Heard::Changed(name.filter(|name| !name.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_the_hexadecimal_name_of_a_lineage() {
        assert_eq!(heard("6c670072756e"), Heard::Changed(Some("lg\0run".to_owned())));
        // A name that was too long, and payloads of others.
        for payload in ["", "zz", "ff", "é"] {
            assert_eq!(heard(payload), Heard::Changed(None), "{payload:?}");
        }
    }

    #[test]
    fn other_tables_have_another_channel() {
        let channel =
            |schema: &str, prefix: &str| channel(&Names { schema: schema.to_owned(), prefix: prefix.to_owned() });
        // Stores of all releases must agree.
        assert_eq!(channel("forkpoint", ""), "forkpoint_d8d0481d38f5ad6a");
        assert_ne!(channel("a", "b"), channel("ab", ""));
    }
}
