//! Conditions on names that an index answers.
//!
//! An index has at most the first 1,000 bytes of a name. Names are UTF-8, in which the byte FF is never used. All
//! names that begin with a prefix are between the prefix and the prefix with this byte.

/// True if a column begins with a prefix.
macro_rules! begins_with {
    ($column:literal, $prefix:literal) => {
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
             AND substr(",
            $column,
            ", 1, octet_length(",
            $prefix,
            ")) = ",
            $prefix
        )
    };
}
pub(super) use begins_with;

/// True if a column, whose index has its beginning, has this value.
macro_rules! is_name {
    ($column:literal, $value:literal) => {
        concat!("substr(", $column, ", 1, 1000) = substr(", $value, ", 1, 1000) AND ", $column, " = ", $value)
    };
}
pub(super) use is_name;
