//! A statement and its parameters.

use std::sync::Arc;

use super::value::Value;

#[derive(Debug)]
pub(super) struct Statement {
    pub(super) text: Arc<str>,
    /// The parameters. `None`: the text is a script without parameters and rows.
    pub(super) values: Option<Vec<Value>>,
    /// True if the statement may stay prepared, because it finds its rows by indexes for all parameters.
    pub(super) keep: bool,
    /// True if a failure counts as an empty result. Only for statements outside a transaction.
    pub(super) may_fail: bool,
}

impl Statement {
    pub(super) fn new(text: impl Into<Arc<str>>, values: Option<Vec<Value>>, keep: bool) -> Self {
        Self { text: text.into(), values, keep, may_fail: false }
    }
}
