//! A statement and its parameters.

use std::sync::Arc;

use super::value::Value;

#[derive(Debug)]
pub(super) struct Statement {
    pub(super) text: Arc<str>,
    /// The parameters. `None`: the text holds statements without parameters and without answers.
    pub(super) values: Option<Vec<Value>>,
    /// True if the statement may stay prepared: it finds its rows by indexes, whatever its parameters are.
    pub(super) keep: bool,
    /// True if a failure of the statement means no rows. It must not belong to a transaction.
    pub(super) may_fail: bool,
}

impl Statement {
    pub(super) fn new(text: impl Into<Arc<str>>, values: Option<Vec<Value>>, keep: bool) -> Self {
        Self { text: text.into(), values, keep, may_fail: false }
    }
}
