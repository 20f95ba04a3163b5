//! Changes the labels of a lineage.

use super::labels;
use super::value::values;
use super::write::Writing;
use crate::error::Result;
use crate::op::Op;
use crate::record::{ContractId, LabelChanges};

impl Writing<'_> {
    pub(super) fn set_labels(&self, contract: ContractId, lineage: &str, changes: &LabelChanges) -> Result<()> {
        let lin = match self.line(contract, lineage)? {
            Some(line) if self.newest(&line)?.0 => line.lin,
            _ => return Err(Op::nothing_to_label(lineage)),
        };
        let before = labels::of(self.open, lin)?;
        let after = before.changed(changes)?;
        if after != before {
            let sql = "UPDATE @lineage SET labels = $2 WHERE lin = $1";
            self.open.later(sql, values![lin, labels::column(&after)]);
        }
        Ok(())
    }
}
