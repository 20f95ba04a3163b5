//! A connection to a server, for one thread. Statements are pipelined: they are sent without waiting for earlier
//! answers, so that a transaction takes as few round trips as its reads allow.
//!
//! Statements declare their parameter types. Behind a pooler they are unnamed, because it may run each transaction on
//! another connection. On a direct connection, frequent statements stay prepared.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::join;
use futures_util::stream::{FuturesOrdered, StreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::connect::{Connected, Connector};
use super::direct;
use super::error::{from_server, late, lost};
use super::names::Names;
use super::prepared::{self, Prepared};
use super::statement::Statement;
use super::value::Value;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::options::Durability;

/// Receives the rows of a statement, one at a time.
pub(super) type Each<'a> = &'a mut dyn FnMut(&Row);

/// Runs a statement. Returns its rows, or passes them to `each`.
async fn run(
    Connected { client, prepared, .. }: &Connected,
    statement: &Statement,
    each: Option<Each<'_>>,
) -> std::result::Result<Vec<Row>, tokio_postgres::Error> {
    let Some(values) = &statement.values else {
        return client.batch_execute(&statement.text).await.map(|()| Vec::new());
    };
    if statement.keep
        && each.is_none()
        && let Some(prepared) = prepared.get(&statement.text)
    {
        let params: Vec<_> = values.iter().map(|value| value.typed().0).collect();
        return client.query(&prepared, &params).await;
    }
    let params = values.iter().map(Value::typed);
    let Some(each) = each else { return client.query_typed(&statement.text, &params.collect::<Vec<_>>()).await };
    let mut rows = pin!(client.query_typed_raw(&statement.text, params).await?);
    while let Some(row) = rows.next().await {
        each(&row?);
    }
    Ok(Vec::new())
}

/// Runs the statements. Returns the rows of each. The last statement's rows go to `each`, if given.
async fn answers(
    connected: &Connected,
    statements: &[Statement],
    mut each: Option<Each<'_>>,
) -> std::result::Result<Vec<Vec<Row>>, tokio_postgres::Error> {
    let last = statements.len().saturating_sub(1);
    let each_of = |(at, one)| run(connected, one, if at == last { each.take() } else { None });
    let mut answers: FuturesOrdered<_> = statements.iter().enumerate().map(each_of).collect();
    let (mut found, mut failed) = (Vec::with_capacity(statements.len()), None);
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(rows) => found.push(rows),
            Err(error) if statements[found.len()].may_fail && is_only_an_error(&error) => found.push(Vec::new()),
            // Later failures follow from the first one.
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(found), Err)
}

/// True if the connection stays usable after this error.
fn is_only_an_error(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|told| matches!(told.parsed_severity(), Some(Severity::Error)))
}

/// Prepares the statements that are used again.
async fn prepare(Connected { client, prepared, .. }: &Connected, statements: &[Statement]) {
    let prepares: FuturesOrdered<_> = statements
        .iter()
        .filter_map(|one| {
            one.values.as_ref().filter(|_| one.keep && prepared.uses(&one.text)).map(|values| (one, values))
        })
        .map(|(one, values)| prepared.prepare(client, &one.text, values))
        .collect();
    prepares.collect::<()>().await;
}

/// After this time without use, the session checks whether the server has closed the connection.
const SILENCE: Duration = Duration::from_secs(10);

/// The minimum time that the server gets for an answer, even with a shorter busy timeout.
const LEAST_ANSWER_TIME: Duration = Duration::from_secs(2);

/// The maximum time that a call waits for the server while the store is being closed.
const PATIENCE_AT_EXIT: Duration = Duration::from_secs(5);

/// The patience of a call that ends only with the store: 10 years.
pub(super) const UNTIL_CLOSED: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The interval at which a waiting call checks whether the store is being closed.
const LOOK_FOR_CLOSING: Duration = Duration::from_millis(100);

pub(super) struct Session {
    runtime: Runtime,
    connector: Arc<Connector>,
    client: RefCell<Option<Connected>>,
    /// The time of the last use of the connection.
    used: Cell<Instant>,
    /// True if the state of the connection is unknown.
    pub(super) broken: Cell<bool>,
    pub(super) names: Names,
    /// The statements with the names of the tables filled in, by the address of the template.
    texts: RefCell<HashMap<(usize, usize), Arc<str>>>,
    durability: Cell<Durability>,
    /// True if, by default, the role's commits are acknowledged before the server and its synchronous replicas have
    /// synced them.
    commits_early: Cell<bool>,
    /// True if only a prepared statement failed, so that the call is sent again immediately.
    pub(super) outdated: Cell<bool>,
    /// The maximum time of a call.
    pub(super) patience: Cell<Duration>,
    /// The start of the current call.
    begun: Cell<Instant>,
    /// Set when the store is being closed.
    closing: Arc<Deadline>,
    /// The time at which this session noticed that the store is being closed.
    closing_since: Cell<Option<Instant>>,
}

impl Session {
    pub(super) fn new(
        connector: Arc<Connector>,
        names: Names,
        patience: Duration,
        closing: Arc<Deadline>,
    ) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(|error| {
            Error::new(Code::Unavailable, "the runtime of the connection cannot be made").with_cause(error)
        })?;
        let now = Instant::now();
        Ok(Self {
            runtime,
            connector,
            client: RefCell::new(None),
            used: Cell::new(now),
            broken: Cell::new(false),
            names,
            texts: RefCell::default(),
            durability: Cell::new(Durability::Full),
            commits_early: Cell::new(false),
            outdated: Cell::new(false),
            patience: Cell::new(patience),
            begun: Cell::new(now),
            closing,
            closing_since: Cell::new(None),
        })
    }

    /// Sets the failures that commits must survive.
    pub(super) fn set_durability(&self, durability: Durability) {
        self.durability.set(durability);
    }

    /// The value of `synchronous_commit` for a transaction. `None`: the role's value is right.
    pub(super) fn sync(&self) -> Option<&'static str> {
        match self.durability.get() {
            Durability::Full => self.commits_early.get().then_some("on"),
            Durability::Normal | Durability::Off => Some("off"),
        }
    }

    /// Begins a call. All statements of a call together may take the session's patience.
    pub(super) fn begin_call(&self) {
        self.begun.set(Instant::now());
    }

    /// Returns the remaining time of the current call. Closing the store shortens it.
    pub(super) fn left(&self) -> Duration {
        let now = Instant::now();
        let mut end = self.begun.get() + self.patience.get();
        if let Some(closing) = self.closing.get() {
            let since = self.closing_since.get().unwrap_or(now);
            self.closing_since.set(Some(since));
            end = end.min(closing).min(since.max(self.begun.get()) + PATIENCE_AT_EXIT);
        }
        end.saturating_duration_since(now)
    }

    /// Returns how long the current server may keep the call waiting. If there are other servers, they get half.
    pub(super) fn left_here(&self) -> Duration {
        if self.connector.has_others() { self.left() / 2 } else { self.left() }
    }

    /// Waits for the server. Returns `None` if it takes too long. A busy timeout of 0 waits for the network, but not
    /// for locks.
    async fn in_time<T>(&self, most: Duration, work: impl Future<Output = T>) -> Option<T> {
        let begun = Instant::now();
        let mut work = pin!(work);
        loop {
            let waited = begun.elapsed();
            let left = most.saturating_sub(waited).min(self.left()).max(LEAST_ANSWER_TIME.saturating_sub(waited));
            match timeout(left.min(LOOK_FOR_CLOSING), &mut work).await {
                Ok(done) => return Some(done),
                Err(_) if left <= LOOK_FOR_CLOSING => return None,
                Err(_) => {}
            }
        }
    }

    /// Waits before another attempt of the same call.
    pub(super) fn pause(&self, time: Duration) {
        let time = time.min(self.left());
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }

    pub(super) fn text(&self, template: &'static str) -> Arc<str> {
        let mut texts = self.texts.borrow_mut();
        Arc::clone(
            texts
                .entry((template.as_ptr() as usize, template.len()))
                .or_insert_with(|| self.names.fill(template).into()),
        )
    }

    /// Connects if there is no connection.
    pub(super) fn connect(&self) -> Result<()> {
        self.runtime.block_on(async {
            if self.used.get().elapsed() > SILENCE && self.client.borrow().is_some() {
                // The connection's task runs only while this thread waits. Let it notice what the server has done.
                tokio::task::yield_now().await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let usable = self.client.borrow().as_ref().is_some_and(|connected| !connected.client.is_closed());
            if usable && !self.broken.get() {
                return Ok(());
            }
            self.client.take();
            let begun = Instant::now();
            let patience = self.left().max(LEAST_ANSWER_TIME);
            let left = || self.left().max(LEAST_ANSWER_TIME.saturating_sub(begun.elapsed()));
            let connected = self.in_time(patience, self.connector.connect(patience, &left)).await;
            let mut connected = connected.unwrap_or_else(|| Err(late(self.connector.server())))?;
            let process = if self.connector.prepares() { direct::process(&connected.client).await } else { None };
            let process = process.map(i64::from);
            let given: [(&(dyn ToSql + Sync), Type); 1] = [(&process, Type::INT8)];
            let found = connected.client.query_typed(prepared::ASK, &given);
            let found = self.in_time(patience, found).await.ok_or_else(|| late(self.connector.server()))?;
            let found = found.map_err(|error| from_server(&error, self.connector.server()))?;
            let found = found.first().ok_or_else(|| lost(self.connector.server()))?;
            if found.get(3) {
                self.connector.refuse_read_only()?;
            }
            self.commits_early.set(found.get(0));
            connected.prepared = Prepared::new(found.get(1));
            self.client.replace(Some(connected));
            self.broken.set(false);
            Ok(())
        })
    }

    /// True if the connection leads directly to a server process.
    pub(super) fn is_direct(&self) -> bool {
        self.client.borrow().as_ref().is_some_and(|connected| connected.prepared.is_direct())
    }

    /// Sends the statements together. Returns the rows of each. The last statement's rows go to `each`, if given.
    pub(super) fn send(&self, statements: &[Statement], each: Option<Each<'_>>) -> Result<Vec<Vec<Row>>> {
        let sent = self.exchange(statements, each);
        if self.broken.get() && self.client.take().is_some() {
            // Poll once, so that the aborted task ends.
            self.runtime.block_on(tokio::task::yield_now());
        }
        sent
    }

    fn exchange(&self, statements: &[Statement], each: Option<Each<'_>>) -> Result<Vec<Vec<Row>>> {
        let client = self.client.borrow();
        let server = self.connector.server();
        let Some(connected) = client.as_ref() else { return Err(lost(server)) };
        let Connected { client, prepared, unreplicated, .. } = connected;
        let sent = self.runtime.block_on(async {
            let answers = answers(connected, statements, each);
            // Polled first, so the statements are sent before the preparations.
            let work = async { join(answers, prepare(connected, statements)).await.0 };
            self.in_time(self.left_here(), work).await
        });
        self.used.set(Instant::now());
        match sent {
            // Treat the commit as one whose answer was lost: the next attempt finds it, and waits for the replicas.
            Some(Ok(_)) if unreplicated.load(Ordering::Relaxed) => {
                self.broken.set(true);
                Err(lost(server))
            }
            Some(Ok(rows)) => Ok(rows),
            Some(Err(error)) => {
                // A server that has become a replica accepts no writes, but another host may.
                let is_replica = error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION);
                // A fatal error closes the connection, and may be the answer to a commit that succeeded.
                self.broken.set(client.is_closed() || !is_only_an_error(&error) || is_replica);
                if is_replica {
                    self.connector.leave();
                }
                if prepared.outdated(&error) {
                    self.outdated.set(true);
                    return Err(Error::new(Code::Busy, format!("{server} has changed: try again")));
                }
                Err(from_server(&error, server))
            }
            None => {
                self.broken.set(true);
                self.cancel(client);
                self.connector.leave();
                Err(late(server))
            }
        }
    }

    /// Asks the server to cancel the running statement of this connection.
    fn cancel(&self, client: &Client) {
        let token = client.cancel_token();
        let connector = Arc::clone(&self.connector);
        let cancel = async move { connector.cancel(token).await };
        // An unreachable server cancels the statement when it notices that the connection is closed.
        let _ = self.runtime.block_on(async { timeout(Duration::from_secs(1), cancel).await });
    }

    /// Runs a statement outside of a transaction.
    pub(super) fn query(&self, template: &'static str, values: Vec<Value>) -> Result<Vec<Row>> {
        self.connect()?;
        let found = self.send(&[Statement::new(self.text(template), Some(values), false)], None)?;
        Ok(found.into_iter().next_back().unwrap_or_default())
    }

    /// Runs a statement without parameters, with a patience of its own.
    pub(super) fn run(&self, text: &str, patience: Duration) -> Result<()> {
        self.connect()?;
        let patience = self.patience.replace(patience);
        let done = self.send(&[Statement::new(self.names.fill(text), None, false)], None);
        self.patience.set(patience);
        done.map(drop)
    }

    /// The error of a server that did not answer in time.
    pub(super) fn late(&self) -> Error {
        late(self.connector.server())
    }

    /// The error of a lost connection.
    pub(super) fn lost(&self) -> Error {
        lost(self.connector.server())
    }

    /// Sends the end of a transaction without changes. Does not wait for the answer.
    pub(super) fn roll_back(&self) {
        let client = self.client.borrow();
        let Some(Connected { client, .. }) = client.as_ref() else { return };
        self.runtime.block_on(async {
            let mut end = pin!(client.batch_execute("ROLLBACK"));
            // The connection's task sends it while this one yields. Later answers follow its answer.
            poll_fn(|context| {
                let _ = end.as_mut().poll(context);
                Poll::Ready(())
            })
            .await;
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        });
    }
}
