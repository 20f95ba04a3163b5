//! Numbers of a database, which are signed, and numbers of the engine, which are not.

/// A count or a size as a database stores it. No real value is too large.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A stored count or size. A damaged database may have a negative value, which counts as 0.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
