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

/// The function of the server that waits for the synchronous replicas. It warns if it gave up, for a timeout or because
/// somebody canceled it. The commit then succeeds, and the replicas may not have it.
const WAITS_FOR_REPLICAS: &str = "SyncRepWaitForLSN";

/// A connection, and the task that reads and writes it.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) prepared: Prepared,
    /// True if the server has acknowledged a commit that the synchronous replicas may not have.
    pub(super) unreplicated: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

/// A connection that is given up is closed immediately. Otherwise its task would wait for the answers that are left,
/// and the server would keep the locks of its transaction.
impl Drop for Connected {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Looks up the addresses of a host. Returns a configuration for each of them, or the message of the operating system. The
/// driver gets addresses only: its own lookup would keep the runtime waiting, see [`resolve`].
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

/// Opens connections to one URL.
pub(super) struct Connector {
    /// The hosts, in the order of the URL.
    hosts: Vec<Config>,
    /// The host that is tried first: the last one that accepted a connection.
    first: AtomicUsize,
    /// True if the hosts are tried in a random order.
    balance: bool,
    /// How long an attempt to connect to one address of a host may take.
    timeout: Duration,
    /// Asks for the password at each connect.
    ask: Option<Ask>,
    /// True if statements may stay prepared on a connection that leads to one process of the server.
    prepares: bool,
    /// True if the server must accept writes.
    needs_writes: bool,
    tls: MakeRustlsConnect,
    /// The hosts and the database, for messages.
    place: String,
}

impl Connector {
    /// `read_only` is true if the store only reads.
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
            place: url.place(),
        })
    }

    pub(super) fn prepares(&self) -> bool {
        self.prepares
    }

    /// Returns an error if the store needs a server that accepts writes.
    pub(super) fn refuse_read_only(&self) -> Result<()> {
        let message = || format!("cannot connect to {}: the database accepts no writes", self.place);
        if self.needs_writes { Err(Error::new(Code::Unavailable, message())) } else { Ok(()) }
    }

    pub(super) fn has_others(&self) -> bool {
        self.hosts.len() > 1
    }

    /// The next connection begins with another host, because this one does not answer or accepts no writes.
    pub(super) fn leave(&self) {
        self.first.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Connects to the first host that accepts the connection. A host or an address that stays silent leaves time for the
    /// others. `left` returns the time that the store has for the call.
    pub(super) async fn connect(&self, patience: Duration, left: &dyn Fn() -> Duration) -> Result<Connected> {
        let begun = Instant::now();
        let may_wait = || patience.saturating_sub(begun.elapsed()).min(left());
        let password = self.ask.as_ref().map(|Ask(ask)| ask(&may_wait)).transpose()?;
        let all = self.hosts.len();
        let first = if self.balance { random() } else { self.first.load(Ordering::Relaxed) };
        let mut failed: Option<Error> = None;
        for place in 0..all {
            let at = first.wrapping_add(place) % all;
            let end = Instant::now() + share(patience.saturating_sub(begun.elapsed()), all - place);
            let left = || end.saturating_duration_since(Instant::now());
            let found = timeout(self.timeout.min(left()), addresses(&self.hosts[at])).await;
            let found = found.unwrap_or_else(|_| Err("its name server did not answer in time".to_owned()));
            let mut addresses = match found {
                Ok(addresses) => addresses,
                Err(why) => {
                    failed.get_or_insert_with(|| unresolved(&why, &self.place));
                    continue;
                }
            };
            if self.balance && !addresses.is_empty() {
                let first = random() % addresses.len();
                addresses.rotate_left(first);
            }
            // The driver asks whether a server accepts writes, which takes a round trip. The session asks the only server with other
            // questions.
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
                        let error = unreachable(&error, &self.place);
                        // An error that waiting does not fix says more than a host that is down.
                        if failed.as_ref().is_none_or(Error::retryable) {
                            failed = Some(error);
                        }
                    }
                    Err(_) => {
                        failed.get_or_insert_with(|| late(&self.place));
                    }
                }
            }
        }
        Err(failed.unwrap_or_else(|| late(&self.place)))
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
        let task = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if matches!(message, AsyncMessage::Notice(notice) if notice.routine() == Some(WAITS_FOR_REPLICAS)) {
                    warned.store(true, Ordering::Relaxed);
                }
            }
        });
        Ok(Connected { client, prepared: Prepared::new(false), unreplicated, task })
    }

    /// Asks the server to give up the statement of a connection.
    pub(super) async fn cancel(&self, token: CancelToken) {
        // The server's answer is not known either way.
        let _ = token.cancel_query(self.tls.clone()).await;
    }
}

/// The share of one of `count` attempts in the time that is left for them.
fn share(left: Duration, count: usize) -> Duration {
    left / u32::try_from(count).unwrap_or(u32::MAX)
}

/// A random number, to choose a host.
fn random() -> usize {
    usize::try_from(uuid::Uuid::new_v4().as_u64_pair().0 >> 32).unwrap_or_default()
}
