//! Keys of maps: a contract's number and the bytes of a name.

use super::value::{Value, values};
use crate::record::ContractId;

/// A contract, and an id or a name within it.
pub(super) type Name = (i16, Vec<u8>);

/// The number of a contract in the database.
pub(super) fn number(contract: ContractId) -> i16 {
    i16::from(contract.0)
}

pub(super) fn name(contract: ContractId, text: &str) -> Name {
    (number(contract), text.as_bytes().to_vec())
}

/// Names as parameters of a statement: the contracts, and the names.
pub(super) fn columns<'a>(names: impl IntoIterator<Item = &'a Name>) -> Vec<Value> {
    let (contracts, names): (Vec<i16>, Vec<Vec<u8>>) = names.into_iter().cloned().unzip();
    values![contracts, names]
}
