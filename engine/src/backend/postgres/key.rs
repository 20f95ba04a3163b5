//! How statements and maps find a row by its name: by the contract's number and the bytes of the name.

use crate::record::ContractId;

/// What an index holds of an id or a name. An entry of an index has at most 2,704 bytes, and an id may have 4,096.
macro_rules! key {
    ($name:literal) => {
        concat!("sha256(", $name, ")")
    };
}
pub(super) use key;

/// A contract, and an id or a name within it.
pub(super) type Name = (i16, Vec<u8>);

/// The number of a contract in the database.
pub(super) fn number(contract: ContractId) -> i16 {
    i16::from(contract.0)
}

pub(super) fn name(contract: ContractId, text: &str) -> Name {
    (number(contract), text.as_bytes().to_vec())
}
