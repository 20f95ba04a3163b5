//! A transaction on a connection. Statements are queued until an answer is needed, and then sent together.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tokio_postgres::Row;

use super::prepared::SETTINGS;
use super::session::{Each, Session};
use super::statement::Statement;
use super::value::Value;
use crate::error::Result;

pub(super) struct Transaction<'a> {
    pub(super) session: &'a Session,
    writes: bool,
    /// True if each statement finds a few rows by an index, so that statements may stay prepared.
    is_small: bool,
    /// The queued statements.
    waiting: RefCell<Vec<Statement>>,
    sent: Cell<bool>,
    /// True if the next round trip ends the transaction.
    ending: Cell<bool>,
    ended: Cell<bool>,
}

impl<'a> Transaction<'a> {
    /// Begins a read-only transaction with one snapshot. It is sent with the first statement that needs an answer.
    pub(super) fn read(session: &'a Session, is_small: bool) -> Self {
        Self::new(session, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(), false, is_small)
    }

    /// Begins a write transaction, which may wait for locks. Its commit is as durable as the store promises.
    pub(super) fn write(session: &'a Session, is_small: bool) -> Self {
        let patience = session.left_here().as_millis().clamp(1, i32::MAX as u128);
        let begin = format!("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {patience}");
        Self::new(session, begin, true, is_small)
    }

    fn new(session: &'a Session, begin: String, writes: bool, is_small: bool) -> Self {
        Self {
            session,
            writes,
            is_small,
            waiting: RefCell::new(vec![Statement::new(begin, None, false)]),
            sent: Cell::new(false),
            ending: Cell::new(false),
            ended: Cell::new(false),
        }
    }

    /// Limits the transaction's idle time, so that a worker that has lost its network does not keep its locks.
    pub(super) fn release_when_idle(&self) {
        self.script("SET LOCAL idle_in_transaction_session_timeout = 30000");
    }
}

impl Transaction<'_> {
    /// Runs a statement and returns its rows.
    pub(super) fn query(&self, template: &'static str, values: Vec<Value>) -> Result<Vec<Row>> {
        self.later(template, values);
        Ok(self.flush()?.pop().unwrap_or_default())
    }

    /// Runs a statement. Passes each row to `each` when it arrives, so that not all rows are in memory.
    pub(super) fn for_each(&self, template: &'static str, values: Vec<Value>, each: Each<'_>) -> Result<()> {
        self.later(template, values);
        self.flush_to(Some(each)).map(drop)
    }

    /// Sends the queued statements. Returns the rows of the last `N`.
    pub(super) fn last<const N: usize>(&self) -> Result<[Vec<Row>; N]> {
        let mut found = self.flush()?;
        let last = found.split_off(found.len().saturating_sub(N));
        <[Vec<Row>; N]>::try_from(last).map_err(|_| self.session.lost())
    }

    /// Runs a statement and returns its first row.
    pub(super) fn one(&self, template: &'static str, values: Vec<Value>) -> Result<Option<Row>> {
        Ok(self.query(template, values)?.into_iter().next())
    }

    /// Queues a statement and drops its answer. If it fails, the next statement returns its error.
    pub(super) fn later(&self, template: &'static str, values: Vec<Value>) {
        self.later_text(self.session.text(template), values);
    }

    /// Like [`Transaction::later`], for a text with the table names filled in.
    pub(super) fn later_text(&self, text: Arc<str>, values: Vec<Value>) {
        self.waiting.borrow_mut().push(Statement::new(text, Some(values), self.is_small));
    }

    /// Queues statements without parameters. If one fails, the next statement returns its error.
    pub(super) fn script(&self, text: &str) {
        self.waiting.borrow_mut().push(Statement::new(text, None, false));
    }

    /// Sends the queued statements. Returns the rows of each.
    pub(super) fn flush(&self) -> Result<Vec<Vec<Row>>> {
        self.flush_to(None)
    }

    /// Like [`Transaction::flush`]. The last statement's rows go to `each`, if given.
    fn flush_to(&self, each: Option<Each<'_>>) -> Result<Vec<Vec<Row>>> {
        if !self.sent.get() {
            self.session.connect()?;
            self.sent.set(true);
            // Only a connection can tell its settings.
            if let Some(begin) = self.waiting.borrow_mut().first_mut() {
                begin.text = format!("{}{}", begin.text, self.settings()).into();
            }
        }
        let mut waiting = self.waiting.take();
        if !self.ending.get() {
            return self.session.send(&waiting, each);
        }
        waiting.push(Statement::new("COMMIT", None, false));
        self.ended.set(true);
        let mut found = self.session.send(&waiting, each)?;
        found.pop();
        Ok(found)
    }

    /// The settings to append to the text that begins the transaction.
    fn settings(&self) -> String {
        let mut text = String::new();
        if let Some(sync) = self.session.sync().filter(|_| self.writes) {
            text.extend(["; SET LOCAL synchronous_commit = ", sync]);
        }
        if !self.is_small && self.session.is_direct() {
            text.extend(SETTINGS.iter().flat_map(|name| ["; SET LOCAL ", name, " TO DEFAULT"]));
        }
        text
    }

    /// Ends the transaction, which has no changes, together with the next statements, so that the end needs no separate
    /// round trip.
    pub(super) fn end_with_next(&self) {
        self.ending.set(true);
    }

    pub(super) fn count(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Sends the queued statements and commits. Returns the rows of each statement.
    ///
    /// # Errors
    ///
    /// If the connection is lost during the commit, the outcome is unknown. Without a connection, nothing was sent.
    pub(super) fn commit(self) -> Result<Vec<Vec<Row>>> {
        self.finish().map_err(|error| {
            if self.sent.get() && self.session.broken.get() { error.with_outcome_unknown() } else { error }
        })
    }

    /// Sends the queued statements and ends a transaction without changes. Returns the rows of each statement.
    pub(super) fn finish(&self) -> Result<Vec<Vec<Row>>> {
        self.end_with_next();
        self.flush()
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.ended.get() && self.sent.get() && !self.session.broken.get() {
            self.session.roll_back();
        }
    }
}
