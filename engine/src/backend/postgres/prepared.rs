//! The statements that a connection keeps prepared, so that the server parses and plans each of them once.
//!
//! A statement is prepared at its second use, in the same round trip.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Statement};

use super::value::Value;

enum Text {
    Used,
    BeingPrepared,
    Prepared(Statement),
}

/// The prepared statements of a connection.
pub(super) struct Prepared {
    /// True if the connection leads directly to a server process, which keeps prepared statements.
    is_direct: Cell<bool>,
    kept: RefCell<HashMap<Arc<str>, Text>>,
}

/// The planner settings of a connection that keeps plans. A plan is made once for all parameters and all table sizes,
/// and each kept statement finds a few rows by an index. Plans must not depend on the number of rows at planning time,
/// which is small in a new database.
pub(super) const SETTINGS: [&str; 5] =
    ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit", "plan_cache_mode"];

/// Asks for the role's setting, for the process of the connection, and whether the server accepts no writes. If the
/// process has the number `$1`, sets the planner settings for kept plans.
pub(super) const ASK: &str = "SELECT current_setting('synchronous_commit') NOT IN ('on', 'remote_apply'), is_direct,
       CASE WHEN is_direct THEN
         concat(set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false),
                set_config('enable_mergejoin', 'off', false), set_config('jit', 'off', false),
                set_config('plan_cache_mode', 'force_generic_plan', false)) END,
       current_setting('transaction_read_only') = 'on'
     FROM (SELECT coalesce(pg_backend_pid() = $1, false) AS is_direct) AS process";

impl Prepared {
    pub(super) fn new(is_direct: bool) -> Self {
        Self { is_direct: Cell::new(is_direct), kept: RefCell::default() }
    }

    pub(super) fn is_direct(&self) -> bool {
        self.is_direct.get()
    }

    /// Returns the prepared statement of a text.
    pub(super) fn get(&self, text: &Arc<str>) -> Option<Statement> {
        match self.kept.borrow().get(text) {
            Some(Text::Prepared(statement)) => Some(statement.clone()),
            _ => None,
        }
    }

    /// Records a use of a text. Returns true if the text should be prepared now.
    pub(super) fn uses(&self, text: &Arc<str>) -> bool {
        if !self.is_direct() {
            return false;
        }
        let mut kept = self.kept.borrow_mut();
        let Some(found) = kept.get_mut(text) else {
            kept.insert(Arc::clone(text), Text::Used);
            return false;
        };
        let is_used = matches!(found, Text::Used);
        if is_used {
            *found = Text::BeingPrepared;
        }
        is_used
    }

    /// Prepares a text. If this fails, the server continues to parse the statement at each use.
    pub(super) async fn prepare(&self, client: &Client, text: &Arc<str>, values: &[Value]) {
        let types: Vec<Type> = values.iter().map(|value| value.typed().1).collect();
        let prepared = client.prepare_typed(text, &types).await;
        self.kept.borrow_mut().insert(Arc::clone(text), prepared.map_or(Text::Used, Text::Prepared));
    }

    /// Returns true if a statement failed only because it was prepared. Then prepares nothing more, so that the same
    /// call can be sent again.
    pub(super) fn outdated(&self, error: &Error) -> bool {
        let Some(state) = error.code() else { return false };
        // The statement does not exist, or another statement has its name: the connection uses a pooler after all.
        let is_lost = [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT].contains(state);
        // The tables have changed, so that the plan would return other column types.
        if !is_lost && *state != SqlState::FEATURE_NOT_SUPPORTED {
            return false;
        }
        if is_lost {
            self.is_direct.set(false);
        }
        self.kept.take().into_values().any(|text| matches!(text, Text::Prepared(_)))
    }
}
