//! Conditions on names that use an index.
//!
//! An index contains at most the first 1,000 bytes of a name. Names are UTF-8, which never contains the byte FF. All
//! names that begin with a prefix are between the prefix and the prefix followed by this byte.

/// True if a column begins with a prefix. Always uses the index.
macro_rules! begins_with {
    ($column:literal, $prefix:literal) => {
        $crate::backend::postgres::prefix::begins_with!($column, $prefix, "", "")
    };
    ($column:literal, $prefix:literal, $before:literal, $behind:literal) => {
        concat!(
            "substr(",
            $column,
            ", 1, 1000) >= substr(",
            $prefix,
            ", 1, 1000)
             AND substr(",
            $column,
            ", 1, 1000) <= substr(",
            $prefix,
            " || '\\xff'::bytea, 1, 1000)
             AND ",
            $before,
            "substr(",
            $column,
            ", 1, octet_length(",
            $prefix,
            ")) = ",
            $prefix,
            $behind
        )
    };
}
pub(super) use begins_with;

/// Joins the rows of a table that begin with one of several prefixes: `w.prefix`, of the contract `w.contract`. Without
/// `OFFSET 0`, the planner would scan a large table, and compare each row with all prefixes.
macro_rules! join_beginning {
    ($key:literal, $table:literal, $column:literal) => {
        concat!(
            "CROSS JOIN LATERAL (SELECT o.",
            $key,
            " FROM ",
            $table,
            " AS o WHERE o.contract = w.contract AND ",
            $crate::backend::postgres::prefix::begins_with!($column, "w.prefix"),
            " OFFSET 0) AS o"
        )
    };
}
pub(super) use join_beginning;

/// As [`begins_with`], for a statement that may read many rows. The planner would estimate that a plain equality is
/// true for one row of 200, and look up rows one by one. `coalesce` gives it a better estimate.
macro_rules! begins_with_many {
    ($column:literal, $prefix:literal) => {
        $crate::backend::postgres::prefix::begins_with!($column, $prefix, "coalesce(", ", false)")
    };
}
pub(super) use begins_with_many;

/// True if a column has this value. The column's index contains only the beginning of values.
macro_rules! is_name {
    ($column:literal, $value:literal) => {
        concat!("substr(", $column, ", 1, 1000) = substr(", $value, ", 1, 1000) AND ", $column, " = ", $value)
    };
}
pub(super) use is_name;
