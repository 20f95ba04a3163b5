//! Appends records to logs, and cuts logs.

use super::logs::Logs;
use super::row;
use super::write::Writing;
use crate::backend::logs::{self as log, LogName};
use crate::backend::marks::decode_marks;
use crate::error::Result;
use crate::op::{Appended, LogEnd, LogMust};
use crate::record::{ContractId, Record};

impl Writing<'_> {
    pub(super) fn append(
        &mut self,
        contract: ContractId,
        lineage: &str,
        name: &str,
        records: &[Record],
        must: LogMust,
    ) -> Result<Appended> {
        let line = self.lineage(contract, lineage)?;
        let of = LogName { contract, lin: line.lin, lineage, log: name };
        let appended = log::append(&mut Logs(self.open), of, records, must)?;
        if self.unused.contains(&line.lin) && appended.length > 0 {
            self.begins(line.lin);
        }
        self.end_empty(&[line.lin]);
        Ok(appended)
    }

    pub(super) fn truncate(&mut self, contract: ContractId, lineage: &str, name: &str, to: &LogEnd) -> Result<()> {
        let line = self.line(contract, lineage)?;
        let of = |lin| LogName { contract, lin, lineage, log: name };
        match (to, line) {
            (LogEnd::Length(_), None) => Ok(()),
            (LogEnd::Length(length), Some(line)) => {
                log::truncate(&mut Logs(self.open), of(line.lin), *length)?;
                self.end_empty(&[line.lin]);
                Ok(())
            }
            (LogEnd::Checkpoint(id), line) => match (row::by_id(self.open, contract, id)?, line) {
                (Some(found), Some(line)) if found.lin == line.lin => {
                    let marks = decode_marks(found.logs.as_deref())?;
                    log::rewind(&mut Logs(self.open), of(line.lin), id, &marks)
                }
                _ => Err(log::no_such_checkpoint(lineage, name, id)),
            },
        }
    }
}
