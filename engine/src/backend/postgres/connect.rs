//! Opens connections to a server.

use std::borrow::Cow;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode as Encryption, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, CancelToken, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{late, unreachable, unresolved};
use super::passfile;
use super::prepared::Prepared;
use super::resolve;
use super::tls::client_config;
use super::url::{Ask, SslMode, Url};
use crate::error::{Code, Error, Result};

/// The server's function that waits for the synchronous replicas. It warns if its wait timed out or was canceled. The
/// commit then succeeds, but the replicas may not have it.
const WAITS_FOR_REPLICAS: &str = "SyncRepWaitForLSN";

/// A connection, and its task that reads and writes.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) prepared: Prepared,
    /// True if the server has acknowledged a commit that the synchronous replicas may lack.
    pub(super) unreplicated: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

/// Closes an abandoned connection immediately. Otherwise its task would wait for the remaining answers, and the server
/// would keep the locks of its transaction.
impl Drop for Connected {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connected {
    /// Waits until the connection is lost.
    pub(super) async fn lost(&mut self) {
        // The task cannot be canceled, and a panic of it ends the connection too.
        let _ = (&mut self.task).await;
    }
}

/// Looks up the addresses of a host. Returns a configuration for each address, or the error of the operating system.
/// The driver gets only addresses, because its own lookup would block the runtime: see [`resolve`].
async fn addresses(host: &Config) -> std::result::Result<Vec<Config>, String> {
    let ([], [Host::Tcp(name)]) = (host.get_hostaddrs(), host.get_hosts()) else { return Ok(vec![host.clone()]) };
    let found = resolve::addresses(name).await?;
    let configs = found.into_iter().map(|address| {
        let mut config = host.clone();
        config.hostaddr(address);
        config
    });
    Ok(configs.collect())
}

type Hear = Arc<dyn Fn(&str) + Send + Sync>;

/// Opens connections to one URL.
pub(super) struct Connector {
    /// The hosts, in the order of the URL.
    hosts: Vec<Config>,
    /// The index of the host to try first, which is the host of the last successful connection.
    first: AtomicUsize,
    /// True if the hosts are tried in random order.
    balance: bool,
    /// The maximum time of one connection attempt to one address.
    timeout: Duration,
    /// Asks for the password at each connect.
    ask: Option<Ask>,
    /// True if statements may stay prepared on a direct connection to a server process.
    prepares: bool,
    /// True if the server must accept writes.
    needs_writes: bool,
    tls: MakeRustlsConnect,
    /// Receives the payloads of notifications.
    hear: Option<Hear>,
    /// The hosts and the database, for messages.
    server: String,
}

impl Connector {
    /// Creates a connector. `read_only` is true if the store only reads.
    pub(super) fn new(url: &Url, read_only: bool) -> Result<Self> {
        let mut config = url.config.clone();
        let sessions = url.sessions(read_only)?;
        config.target_session_attrs(sessions);
        if let Some(user) = url.role() {
            config.user(user);
        }
        if url.ask.is_none()
            && config.get_password().is_none()
            && let Some(password) = std::env::var("PGPASSWORD").ok().or_else(|| passfile::password(url))
        {
            config.password(password);
        }
        if config.get_application_name().is_none() {
            config.application_name("forkpoint");
        }
        config.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(Duration::from_secs(30));
        config.ssl_mode(match url.ssl() {
            SslMode::Disable => Encryption::Disable,
            SslMode::Prefer => Encryption::Prefer,
            SslMode::Require | SslMode::NoVerify | SslMode::VerifyCa | SslMode::VerifyFull => Encryption::Require,
        });
        let host = |(at, (host, port)): (usize, &(String, u16))| {
            let mut config = config.clone();
            config.host(host).port(*port);
            if let Some(address) = url.addresses.get(at) {
                config.hostaddr(*address);
            }
            config
        };
        Ok(Self {
            hosts: url.hosts.iter().enumerate().map(host).collect(),
            first: AtomicUsize::new(0),
            balance: url.config.get_load_balance_hosts() == LoadBalanceHosts::Random,
            timeout: url.connect_timeout,
            ask: url.ask.clone(),
            prepares: url.prepares,
            needs_writes: sessions == TargetSessionAttrs::ReadWrite,
            tls: MakeRustlsConnect::new(client_config(url)?),
            hear: None,
            server: url.server_name(),
        })
    }

    /// Calls `hear` with the payload of each notification that a connection receives.
    pub(super) fn hearing(self, hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { hear: Some(Arc::new(hear)), ..self }
    }

    pub(super) fn prepares(&self) -> bool {
        self.prepares
    }

    /// Returns an error if the store needs a server that accepts writes.
    pub(super) fn refuse_read_only(&self) -> Result<()> {
        let message = || format!("cannot connect to {}: the database accepts no writes", self.server);
        if self.needs_writes { Err(Error::new(Code::Unavailable, message())) } else { Ok(()) }
    }

    pub(super) fn has_others(&self) -> bool {
        self.hosts.len() > 1
    }

    /// Begins the next connection with another host, because this host does not answer or accepts no writes.
    pub(super) fn leave(&self) {
        self.first.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// Connects to the first host that accepts the connection. A silent host or address leaves time for the others.
    /// `left` returns the remaining time of the call.
    pub(super) async fn connect(&self, patience: Duration, left: &dyn Fn() -> Duration) -> Result<Connected> {
        let begun = Instant::now();
        let may_wait = || patience.saturating_sub(begun.elapsed()).min(left());
        let password = self.ask.as_ref().map(|Ask(ask)| ask(&may_wait)).transpose()?;
        let all = self.hosts.len();
        let first = if self.balance { random() } else { self.first.load(Ordering::Relaxed) };
        let mut failed: Option<Error> = None;
        for nth in 0..all {
            let at = first.wrapping_add(nth) % all;
            let end = Instant::now() + share(patience.saturating_sub(begun.elapsed()), all - nth);
            let left = || end.saturating_duration_since(Instant::now());
            let found = timeout(self.timeout.min(left()), addresses(&self.hosts[at])).await;
            let found = found.unwrap_or_else(|_| Err("its name server did not answer in time".to_owned()));
            let mut addresses = match found {
                Ok(addresses) => addresses,
                Err(why) => {
                    failed.get_or_insert_with(|| unresolved(&why, &self.server));
                    continue;
                }
            };
            if self.balance && !addresses.is_empty() {
                let first = random() % addresses.len();
                addresses.rotate_left(first);
            }
            // With several hosts, the driver checks whether the server accepts writes, which takes a round trip. With
            // one host, the session checks it together with other questions.
            if let ([address], 1, true) = (&mut addresses[..], all, self.needs_writes) {
                address.target_session_attrs(TargetSessionAttrs::Any);
            }
            for (tried, address) in addresses.iter().enumerate() {
                let most = self.timeout.min(share(left(), addresses.len() - tried));
                match timeout(most, self.connect_to(address, password.as_deref())).await {
                    Ok(Ok(connected)) => {
                        self.first.store(at, Ordering::Relaxed);
                        return Ok(connected);
                    }
                    Ok(Err(error)) => {
                        let error = unreachable(&error, &self.server);
                        // A lasting error tells more than a host that is down.
                        if failed.as_ref().is_none_or(Error::retryable) {
                            failed = Some(error);
                        }
                    }
                    Err(_) => {
                        failed.get_or_insert_with(|| late(&self.server));
                    }
                }
            }
        }
        Err(failed.unwrap_or_else(|| late(&self.server)))
    }

    async fn connect_to(
        &self,
        host: &Config,
        password: Option<&str>,
    ) -> std::result::Result<Connected, tokio_postgres::Error> {
        let mut config = Cow::Borrowed(host);
        if let Some(password) = password {
            config.to_mut().password(password);
        }
        let (client, mut connection) = config.connect(self.tls.clone()).await?;
        let unreplicated = Arc::new(AtomicBool::new(false));
        let warned = Arc::clone(&unreplicated);
        let hear = self.hear.clone();
        let task = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                match message {
                    AsyncMessage::Notice(notice) if notice.routine() == Some(WAITS_FOR_REPLICAS) => {
                        warned.store(true, Ordering::Relaxed);
                    }
                    AsyncMessage::Notification(told) => hear.iter().for_each(|hear| hear(told.payload())),
                    _ => {}
                }
            }
        });
        Ok(Connected { client, prepared: Prepared::new(false), unreplicated, task })
    }

    /// Asks the server to cancel the running statement of a connection.
    pub(super) async fn cancel(&self, token: CancelToken) {
        // Ignore the outcome: the server reports nothing.
        let _ = token.cancel_query(self.tls.clone()).await;
    }
}

/// Divides the remaining time among `count` attempts. Returns the share of one.
fn share(left: Duration, count: usize) -> Duration {
    left / u32::try_from(count).unwrap_or(u32::MAX)
}

/// A random number, to choose a host.
fn random() -> usize {
    usize::try_from(uuid::Uuid::new_v4().as_u64_pair().0 >> 32).unwrap_or_default()
}

/// Returns a random time between half of this time and this time, so that stores do not retry together.
pub(super) fn spread(time: Duration) -> Duration {
    let random = u32::from(uuid::Uuid::new_v4().as_bytes()[0]);
    time / 2 + time / 2 * random / 256
}
