//! Batches of units: one transaction, or one for each unit if one of them fails.

use crate::error::{Error, Result};
use crate::op::{Applied, Unit};

/// The part of a transaction that failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// One unit failed. The other units may succeed when each is applied alone.
    Unit(Error),
    /// Beginning or committing the transaction failed. The error applies to all units.
    Whole(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unit(error) | Failure::Whole(error) => error,
        }
    }
}

/// Applies the units with `commit`, which commits all of its units or none. If one unit fails, each unit is applied
/// alone, so that the other units succeed.
pub(super) fn apply(
    batch: &[Unit],
    mut commit: impl FnMut(&[Unit]) -> Result<Vec<Applied>, Failure>,
) -> Vec<Result<Applied>> {
    match commit(batch) {
        Ok(applied) => applied.into_iter().map(Ok).collect(),
        Err(Failure::Unit(_)) if batch.len() > 1 => {
            batch.iter().map(|unit| Ok(commit(std::slice::from_ref(unit))?.pop().unwrap_or_default())).collect()
        }
        Err(failure) => {
            let error = Error::from(failure);
            batch.iter().map(|_| Err(error.clone())).collect()
        }
    }
}
