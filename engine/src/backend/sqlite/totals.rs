//! Running totals, so that statistics need not read every row.
//!
//! The stored totals include the rows up to a stored number. The few rows with greater numbers are counted when
//! statistics are read. A save does not write the totals. A removal corrects them in the same transaction. From time to
//! time, [`fold`] adds the uncounted rows to the stored totals.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::chain::Chain;
use super::error::from_commit;
use super::logs::Removed;
use super::schema::LateIndex;
use super::statement::{each, number};
use super::watch::Watch;
use super::{labels, logs, setting};
use crate::codec::varint;
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Seq};

/// The number of uncounted saves at which the totals are folded.
pub(super) const WORTH_FOLDING: usize = 512;

/// The number of lineages at which a file gets indexes of statuses and labels. A smaller number is quickly scanned.
const WORTH_AN_INDEX: i64 = 1_000;

/// The counts and sizes of one contract's checkpoints, lineages and log records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub checkpoints: i64,
    pub lineages: i64,
    pub logical_bytes: i64,
    pub stored_bytes: i64,
    pub records: i64,
    pub record_bytes: i64,
}

/// The totals of all contracts, and the greatest row numbers that the totals include.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Checkpoints up to this number are counted.
    pub seq: Seq,
    /// Lineages up to this number are counted.
    pub lin: i64,
    /// Records of logs up to this number are counted.
    pub record: i64,
    /// The counts of each contract, by contract number.
    pub contracts: BTreeMap<u8, Counts>,
}

impl Totals {
    /// Reads the stored totals. Rows that were saved after the last fold are not included.
    pub(super) fn read(connection: &Connection) -> Result<Self> {
        let Some(value) = setting::get(connection, setting::TOTALS)? else { return Ok(Self::default()) };
        Self::decode(&value)
            .ok_or_else(|| Error::new(Code::Corrupt, "the running totals cannot be read: restore a backup"))
    }

    /// Reads the stored totals and adds the rows that were saved after the last fold.
    pub(super) fn now(connection: &Connection) -> Result<Self> {
        let mut totals = Self::read(connection)?;
        totals.catch_up(connection)?;
        Ok(totals)
    }

    /// Stores the totals.
    pub(super) fn write(&self, connection: &Connection) -> Result<()> {
        setting::set(connection, setting::TOTALS, &self.encode())
    }

    fn contract(&mut self, contract: ContractId) -> &mut Counts {
        self.contracts.entry(contract.0).or_default()
    }

    /// Subtracts a removed checkpoint, if the totals include it. `size` is the raw size of its payload and `stored` its
    /// stored size, in bytes.
    pub(super) fn removed(&mut self, contract: ContractId, seq: Seq, size: i64, stored: i64) {
        if seq <= self.seq {
            let counts = self.contract(contract);
            counts.checkpoints -= 1;
            counts.logical_bytes -= size;
            counts.stored_bytes -= stored;
        }
    }

    /// Adds `grown` bytes for a payload that was stored again, if the totals include its checkpoint.
    pub(super) fn rewritten(&mut self, contract: ContractId, seq: Seq, grown: i64) {
        if seq <= self.seq {
            self.contract(contract).stored_bytes += grown;
        }
    }

    /// Subtracts a removed lineage, if the totals include it.
    pub(super) fn ended(&mut self, contract: ContractId, lin: i64) {
        if lin <= self.lin {
            self.contract(contract).lineages -= 1;
        }
    }

    /// Subtracts removed records of logs, if the totals include them.
    pub(super) fn records_removed(&mut self, connection: &Connection, removed: &[Removed]) -> Result<()> {
        for Removed { contract, bytes, .. } in removed.iter().filter(|removed| removed.num <= self.record) {
            let counts = self.contracts.entry(contract.0).or_default();
            counts.records -= 1;
            counts.record_bytes -= bytes;
        }
        // SQLite reuses the numbers of the last records of the table after their removal. Lower `record` to the last
        // remaining number, so that new records are counted too.
        self.record = self.record.min(logs::last_record(connection)?);
        Ok(())
    }

    /// Adds the rows that were saved since the totals were stored.
    fn catch_up(&mut self, connection: &Connection) -> Result<()> {
        let sql = "SELECT seq, chain, length(body), contract
                   FROM checkpoint CROSS JOIN lineage USING (lin) WHERE seq > ? ORDER BY seq";
        each(connection, sql, [self.seq], |row| {
            self.seq = row.get(0)?;
            let size = Chain::size_of(self.seq, row.get_ref(1)?.as_blob()?);
            let counts = self.contracts.entry(row.get(3)?).or_default();
            counts.checkpoints += 1;
            counts.logical_bytes += size;
            counts.stored_bytes += row.get::<_, i64>(2)?;
            Ok(())
        })?;
        each(connection, "SELECT lin, contract FROM lineage WHERE lin > ? ORDER BY lin", [self.lin], |row| {
            self.lin = row.get(0)?;
            self.contracts.entry(row.get(1)?).or_default().lineages += 1;
            Ok(())
        })?;
        if !logs::present(connection)? {
            return Ok(());
        }
        let sql = "SELECT num, contract, length(body)
                   FROM record CROSS JOIN log_branch USING (branch) WHERE num > ? ORDER BY num";
        each(connection, sql, [self.record], |row| {
            self.record = row.get(0)?;
            let counts = self.contracts.entry(row.get(1)?).or_default();
            counts.records += 1;
            counts.record_bytes += row.get::<_, i64>(2)?;
            Ok(())
        })
    }

    fn encode(&self) -> Vec<u8> {
        let contracts = self.contracts.iter().flat_map(|(contract, counts)| {
            let Counts { checkpoints, lineages, logical_bytes, stored_bytes, records, record_bytes } = *counts;
            [i64::from(*contract), checkpoints, lineages, logical_bytes, stored_bytes, records, record_bytes]
        });
        let mut out = Vec::new();
        for number in [self.seq, self.lin, self.record].into_iter().chain(contracts) {
            varint::write(&mut out, u64::try_from(number).unwrap_or(0));
        }
        out
    }

    fn decode(mut value: &[u8]) -> Option<Self> {
        let [seq, lin, record] = numbers(&mut value)?;
        let mut contracts = BTreeMap::new();
        while !value.is_empty() {
            let [contract, checkpoints, lineages, logical_bytes, stored_bytes, records, record_bytes] =
                numbers(&mut value)?;
            let counts = Counts { checkpoints, lineages, logical_bytes, stored_bytes, records, record_bytes };
            contracts.insert(u8::try_from(contract).ok()?, counts);
        }
        Some(Self { seq, lin, record, contracts })
    }
}

fn numbers<const N: usize>(value: &mut &[u8]) -> Option<[i64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = i64::try_from(varint::read(value)?).ok()?;
    }
    Some(numbers)
}

/// Adds the rows since the last fold to the stored totals, in one transaction. Does nothing if there are fewer than
/// [`WORTH_FOLDING`] such checkpoints or records, as estimated from the greatest numbers. Also builds the indexes of
/// statuses and labels if the file has many lineages.
pub(super) fn fold(connection: &Connection, watch: &mut Watch) -> Result<()> {
    let totals = Totals::read(connection)?;
    let last = number(connection, "SELECT coalesce(max(seq), 0) FROM checkpoint", [])?;
    let uncounted = (last - totals.seq).max(logs::last_record(connection)? - totals.record);
    if usize::try_from(uncounted).is_ok_and(|uncounted| uncounted >= WORTH_FOLDING) {
        let transaction = watch.begin(connection)?;
        let totals = Totals::now(&transaction)?;
        totals.write(&transaction)?;
        // Build them here, because a read-only command cannot.
        let lineages: i64 = totals.contracts.values().map(|counts| counts.lineages).sum();
        let is_worth_it = lineages >= WORTH_AN_INDEX;
        if is_worth_it && !LateIndex::Status.exists(&transaction)? {
            LateIndex::Status.build(&transaction)?;
        }
        if is_worth_it && !labels::are_indexed(&transaction)? {
            labels::build(&transaction)?;
        }
        transaction.commit().map_err(from_commit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_come_back() {
        let counts = |from| Counts {
            checkpoints: from,
            lineages: from + 1,
            logical_bytes: i64::MAX,
            stored_bytes: from + 2,
            records: from + 3,
            record_bytes: from + 4,
        };
        let contracts = BTreeMap::from([(0, counts(0)), (255, counts(1 << 40))]);
        let totals = Totals { seq: 1, lin: 2, record: 3, contracts };
        let mut value = totals.encode();
        assert_eq!(Totals::decode(&value), Some(totals));
        value.pop();
        assert_eq!(Totals::decode(&value), None);
        assert_eq!(Totals::decode(&[1, 2]), None);
        assert_eq!(Totals::decode(&[1, 2, 3]), Some(Totals { seq: 1, lin: 2, record: 3, ..Totals::default() }));
    }
}
