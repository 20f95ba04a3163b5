//! Copies a checkpoint into a new lineage.

use super::logs::Logs;
use super::value::values;
use super::write::{Put, Writing};
use crate::backend::logs as log;
use crate::backend::marks::decode_marks;
use crate::error::Result;
use crate::names;
use crate::op::Fork;
use crate::record::Order;

impl Writing<'_> {
    pub(super) fn fork(&mut self, fork: &Fork) -> Result<()> {
        let Fork { contract, source, id, lineage, .. } = fork;
        let Some(found) = self.row(*contract, source)? else { return Err(fork.no_source()) };
        if let Some(copy) = self.row(*contract, id)? {
            return fork.check_sent_again(&copy.header.lineage, copy.header.parent.as_deref());
        }
        let line = self.lineage(*contract, lineage)?;
        let begun =
            "SELECT EXISTS (SELECT 1 FROM @checkpoint WHERE lin = $1) OR EXISTS (SELECT 1 FROM @log WHERE lin = $1)";
        if self.open.one(begun, values![line.lin])?.is_some_and(|row| row.get(0)) {
            return Err(fork.lineage_taken());
        }
        let raw = self
            .payloads
            .load(found.seq, found.key())
            .map_err(|error| error.context(&names::checkpoint(*contract, source)))?
            .raw;
        let marks = Logs(self.open).copy(*contract, &decode_marks(found.logs.as_deref())?)?;
        let header = fork.header(&found.header);
        let (named, labels) = (marks.clone(), &fork.labels);
        let (header, order) = (&header, Order::SortKey);
        let copy = Put { header, order, raw, encoded: None, marks: named, parent: Some(found), labels };
        self.store(&line, copy)?;
        log::fork(&mut Logs(self.open), line.lin, &marks)
    }
}
