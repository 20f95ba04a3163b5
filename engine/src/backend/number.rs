//! Converts between the signed numbers of a database and the unsigned numbers of the engine.

/// Converts a count or a size for a database. Real values always fit.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a stored count or size. A negative value, from a damaged database, counts as 0.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
