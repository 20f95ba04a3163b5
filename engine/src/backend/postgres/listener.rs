//! Listens for the notifications of other stores: see [`super::notify`].
//!
//! A session's connection runs only while its thread waits for an answer. The connection that listens therefore has its
//! own thread, and exists only while somebody needs it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use futures_util::future::select;
use tokio::runtime::Builder;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_postgres::types::{ToSql, Type};

use super::connect::{Connected, Connector, spread};
use super::direct;
use super::error::{from_server, late};
use super::names::Names;
use super::notify::{channel, heard};
use super::url::Url;
use crate::backend::listening::{Listen, Listening, Tell};
use crate::error::Result;
use crate::events::Heard;

/// The maximum time of a connection attempt, and of each statement.
const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum time until a test notification arrives.
const TEST: Duration = Duration::from_secs(5);
/// The pause before the first attempt to connect again. Each later one is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Returns the function that starts listeners. It starts none behind a pooler, which passes no notifications on, and
/// would leave a connection that listens to its other clients.
pub(super) fn listen(url: &Url) -> Listen {
    let url = Arc::new(url.clone());
    let pooled = Arc::new(AtomicBool::new(!url.prepares));
    Arc::new(move |tell| {
        if pooled.load(Ordering::Relaxed) {
            return None;
        }
        let (url, pooled) = (Arc::clone(&url), Arc::clone(&pooled));
        let (stop, stopped) = watch::channel(());
        let run = move || run(&url, &pooled, stopped, tell);
        // Without a thread, the callers look from time to time.
        let thread = thread::Builder::new().name("forkpoint-listener".to_owned()).spawn(run).ok()?;
        Some(Listening { stop: Box::new(stop), thread })
    })
}

fn run(url: &Url, pooled: &AtomicBool, mut stopped: watch::Receiver<()>, tell: Tell) {
    let Ok(runtime) = Builder::new_current_thread().enable_io().enable_time().build() else { return };
    let Ok(listener) = Listener::new(url, stopped.clone(), tell) else { return };
    let work = async {
        let mut pause = FIRST_PAUSE;
        while !listener.is_stopped() {
            match listener.listen().await {
                // The connection was lost.
                Ok(Found::Direct) => pause = FIRST_PAUSE,
                Ok(Found::Pooler) => return pooled.store(true, Ordering::Relaxed),
                Err(_) => pause = (2 * pause).min(LONGEST_PAUSE),
            }
            sleep(spread(pause)).await;
        }
    };
    runtime.block_on(select(pin!(work), pin!(stopped.changed())));
}

/// What a connection has led to.
enum Found {
    Direct,
    Pooler,
}

struct Listener {
    connector: Connector,
    channel: String,
    stopped: watch::Receiver<()>,
    tell: Arc<Tell>,
    /// The payload of the test notification, which is not the name of a lineage.
    test: String,
    arrived: Arc<Notify>,
}

impl Listener {
    fn new(url: &Url, stopped: watch::Receiver<()>, tell: Tell) -> Result<Self> {
        let (tell, arrived) = (Arc::new(tell), Arc::new(Notify::new()));
        let test = format!("test {}", uuid::Uuid::new_v4());
        let hear = {
            let (tell, arrived, test) = (Arc::clone(&tell), Arc::clone(&arrived), test.clone());
            move |payload: &str| match payload {
                _ if payload == test => arrived.notify_one(),
                // The test of another store.
                _ if payload.starts_with("test ") => {}
                _ => tell(heard(payload)),
            }
        };
        let connector = Connector::new(url, false)?.hearing(hear);
        Ok(Self { connector, channel: channel(&Names::of(url)), stopped, tell, test, arrived })
    }

    fn is_stopped(&self) -> bool {
        self.stopped.has_changed().is_err()
    }

    async fn connect(&self) -> Result<Connected> {
        let left = || if self.is_stopped() { Duration::ZERO } else { PATIENCE };
        self.in_time(PATIENCE, self.connector.connect(PATIENCE, &left)).await?
    }

    async fn in_time<T>(&self, most: Duration, work: impl Future<Output = T>) -> Result<T> {
        timeout(most, work).await.map_err(|_| late(self.connector.server()))
    }

    /// Connects, listens, and returns when the connection is lost.
    async fn listen(&self) -> Result<Found> {
        let mut connected = self.connect().await?;
        let failed = |error| from_server(&error, self.connector.server());
        let process = direct::process(&connected.client).await;
        let asked = connected.client.query_typed("SELECT pg_backend_pid()", &[]);
        let found = self.in_time(PATIENCE, asked).await?.map_err(failed)?;
        if process.is_none() || found.first().map(|row| row.get(0)) != process {
            return Ok(Found::Pooler);
        }
        let listening = format!("LISTEN {}", self.channel);
        self.in_time(PATIENCE, connected.client.batch_execute(&listening)).await?.map_err(failed)?;
        self.test().await?;
        (self.tell)(Heard::Works(true));
        connected.lost().await;
        (self.tell)(Heard::Works(false));
        Ok(Found::Direct)
    }

    /// Sends a notification on another connection, and waits until it arrives.
    async fn test(&self) -> Result<()> {
        let other = self.connect().await?;
        let given: [(&(dyn ToSql + Sync), Type); 2] = [(&self.channel, Type::TEXT), (&self.test, Type::TEXT)];
        let sent = other.client.query_typed("SELECT pg_notify($1, $2)", &given);
        let sent = self.in_time(PATIENCE, sent).await?;
        sent.map_err(|error| from_server(&error, self.connector.server()))?;
        self.in_time(TEST, self.arrived.notified()).await
    }
}
