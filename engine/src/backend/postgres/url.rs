//! The URL of a server: `postgres://user:password@host:port/database?option=value`.
//!
//! The driver parses the URL. This module refuses forms that could put a password into a message, and removes options
//! that the driver does not know.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, TargetSessionAttrs};

pub use self::ssl::{Ssl, SslMode};
use crate::error::{Code, Error, Result};
use crate::options::Migrate;

mod ssl;

/// Asks the user's program for a password. The parameter returns the remaining time, which shrinks when the store is
/// closed.
#[derive(Clone)]
pub struct Ask(pub Arc<Asking>);

type Asking = dyn Fn(&dyn Fn() -> Duration) -> Result<String> + Send + Sync;

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl PartialEq for Ask {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Ask {}

/// A server, or several servers that fail over to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The driver's configuration for any of the hosts: the login, the database and the driver's own options.
    pub(super) config: Config,
    /// The hosts with their ports. A host that begins with a slash is the folder of a Unix socket.
    pub hosts: Vec<(String, u16)>,
    /// The addresses of the hosts. If empty, names are looked up at each connect.
    pub addresses: Vec<IpAddr>,
    /// Asks for the password at each connect. `None`: the password comes from the URL, the variable `PGPASSWORD`, or
    /// the password file.
    pub ask: Option<Ask>,
    /// The encryption of the connection: see [`Url::ssl`].
    pub ssl: Ssl,
    /// The kinds of servers that the URL accepts. `None`: servers that accept writes, see [`Url::sessions`].
    pub(super) sessions: Option<TargetSessionAttrs>,
    /// The maximum time of a connection attempt to one address.
    pub connect_timeout: Duration,
    pub schema: String,
    /// The prefix of the table names.
    pub prefix: String,
    /// Whether tables are created and upgraded. `None`: the store's options decide.
    pub migrate: Option<Migrate>,
    /// True if statements may stay prepared on a direct connection.
    pub prepares: bool,
}

const DEFAULT_PORT: u16 = 5432;

fn wrong(why: &str) -> Error {
    Error::invalid(format!("the URL of the Postgres server is not valid: {why}"))
}

/// Parses a text without hosts. The driver's errors name an option, but no value.
fn driver(text: &str) -> Result<Config> {
    text.parse().map_err(|error: tokio_postgres::Error| match std::error::Error::source(&error) {
        Some(why) => wrong(&why.to_string().replace('`', "\"")),
        None => wrong("it cannot be parsed"),
    })
}

impl Url {
    /// Parses a URL whose scheme is `postgres` or `postgresql`. `rest` is the text after the scheme and its colon.
    pub fn parse(rest: &str) -> Result<Self> {
        let rest = rest.strip_prefix("//").ok_or_else(|| wrong("it must begin with \"postgres://\""))?;
        if rest.contains('#') {
            return Err(wrong("it has a \"#\": write \"%23\" in a user, a password or a name"));
        }
        match decoded(rest) {
            None => {
                return Err(wrong(
                    "it has a \"%\" that is not followed by two hexadecimal digits of UTF-8: write \"%25\" for the character",
                ));
            }
            Some(text) if text.contains('\0') => return Err(wrong("it contains a NUL character")),
            Some(_) => {}
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        if database.contains('@') {
            return Err(wrong("it has an \"@\" after a \"/\": write \"%2F\" for a slash in a password"));
        }
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        if login.contains('@') {
            return Err(wrong("it has two \"@\": write \"%40\" in a user or a password"));
        }
        let mut url = Self {
            config: Config::new(),
            hosts: Vec::new(),
            addresses: Vec::new(),
            ask: None,
            ssl: Ssl::default(),
            sessions: None,
            connect_timeout: Duration::from_secs(5),
            schema: "forkpoint".to_owned(),
            prefix: String::new(),
            migrate: None,
            prepares: true,
        };
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            url.hosts.push(host_and_port(host).ok_or_else(|| wrong("one of its hosts or ports is not valid"))?);
        }
        // The driver takes everything before the first "@" as the login.
        let login = if login.is_empty() { String::new() } else { format!("{login}@") };
        let mut text = format!("postgres://{login}/{database}?");
        let mut ports = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, raw) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (decoded(key).unwrap_or_default(), decoded(raw).unwrap_or_default());
            match (&*key, &*value) {
                ("user", _) if value.contains(':') => {
                    return Err(must_be(&key, "the name of a role, without a password"));
                }
                (
                    "application_name" | "options" | "channel_binding" | "load_balance_hosts" | "user" | "password"
                    | "dbname",
                    _,
                ) => {
                    text.extend([&*key, "=", &raw.replace('@', "%40"), "&"]);
                }
                // Set the ports later: the hosts may come after them.
                ("port", _) => ports = Some(value),
                _ => url.set(&key, &value)?,
            }
        }
        url.config = driver(&text)?;
        if url.hosts.is_empty() {
            url.hosts.push(("localhost".to_owned(), DEFAULT_PORT));
        }
        if let Some(ports) = ports {
            url.set_ports(&ports)?;
        }
        // Messages name the database. In other clients, the name may be an entire URL with its password.
        if url.config.get_dbname().is_some_and(|name| name.contains(['/', '@', '='])) {
            return Err(wrong("the name of its database has a \"/\", an \"@\" or a \"=\""));
        }
        if !url.addresses.is_empty() && url.addresses.len() != url.hosts.len() {
            return Err(wrong("\"hostaddr\" must have one address for each host"));
        }
        Ok(url)
    }

    /// Sets an option that the driver does not know. Errors name the key, but not the value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "sslmode" | "ssl" | "sslrootcert" => self.ssl.set(key, value).map_err(|expected| must_be(key, expected))?,
            "target_session_attrs" => {
                self.sessions = Some(match value {
                    "read-write" | "primary" => TargetSessionAttrs::ReadWrite,
                    "read-only" | "standby" => TargetSessionAttrs::ReadOnly,
                    "any" => TargetSessionAttrs::Any,
                    _ => return Err(must_be(key, "read-write, read-only or any")),
                });
            }
            "connect_timeout" => {
                let seconds: u64 = value.parse().map_err(|_| must_be(key, "a number of seconds"))?;
                self.connect_timeout = Duration::from_secs(if seconds == 0 { 30 } else { seconds });
            }
            "hostaddr" => {
                let parsed: std::result::Result<_, _> = value.split(',').map(str::parse).collect();
                self.addresses = parsed.map_err(|_| must_be(key, "a list of IP addresses"))?;
            }
            "host" => {
                self.hosts = value.split(',').map(|host| (host.to_owned(), DEFAULT_PORT)).collect();
                if !self.hosts.iter().all(|(host, _)| is_host(host)) {
                    return Err(must_be(key, "a list of hosts, without ports, users and passwords"));
                }
            }
            "schema" => self.schema = name(key, value)?,
            "prefix" if value.is_empty() => self.prefix.clear(),
            "prefix" => self.prefix = name(key, value)?,
            "migrate" => {
                self.migrate = Some(Migrate::parse(value)?);
            }
            // Either option can disable it.
            "prepare" => match value {
                "auto" => {}
                "never" => self.prepares = false,
                _ => return Err(must_be(key, "auto or never")),
            },
            "pgbouncer" => self.prepares &= value == "false",
            "statement_cache_size" => self.prepares &= value != "0",
            "sslcert" | "sslkey" => {
                let message = format!(
                    "the option \"{key}\" of the Postgres URL is not supported: use a password, and \"sslrootcert\" for the certificate \
                     that the server's is signed with"
                );
                return Err(Error::new(Code::Unsupported, message));
            }
            // Accepted and ignored: options of other drivers and poolers, and of the operating system.
            "pool_timeout"
            | "connection_limit"
            | "pool_mode"
            | "socket_timeout"
            | "keepalives"
            | "keepalives_idle"
            | "keepalives_interval"
            | "keepalives_count"
            | "tcp_user_timeout"
            | "gssencmode"
            | "client_encoding"
            | "sslsni"
            | "sslnegotiation"
            | "supa"
            | "workaround"
            | "uselibpqcompat" => {}
            _ => {
                // Name only plain words: anything else may be part of a password.
                let plain = key.len() <= 60 && key.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'_');
                let named = if plain { format!(", \"{key}\"") } else { String::new() };
                return Err(Error::invalid(format!(
                    "the Postgres URL has an option that is not known{named}: remove it"
                )));
            }
        }
        Ok(())
    }

    /// Sets the ports of the hosts. A single port is for all hosts.
    fn set_ports(&mut self, value: &str) -> Result<()> {
        let port = |text: &str| text.parse().ok().filter(|port| *port > 0);
        let ports: Vec<Option<u16>> = value.split(',').map(port).collect();
        for (at, (_, port)) in self.hosts.iter_mut().enumerate() {
            let given = ports.get(at).or(ports.first().filter(|_| ports.len() == 1)).copied().flatten();
            *port = given.ok_or_else(|| {
                Error::invalid("the option \"port\" of the Postgres URL must be one port, or one for each host")
            })?;
        }
        Ok(())
    }

    /// The encryption of the connection.
    pub fn ssl(&self) -> SslMode {
        self.ssl.mode(self.is_local())
    }

    /// The name of the role on the server.
    pub(super) fn role(&self) -> Option<String> {
        let environment = || ["PGUSER", "USER", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
        let given = self.config.get_user().filter(|name| !name.is_empty());
        given.map(str::to_owned).or_else(environment).filter(|name| !name.is_empty())
    }

    /// The name of the database on the server, if it is known.
    pub(super) fn database(&self) -> Option<String> {
        self.config.get_dbname().filter(|name| !name.is_empty()).map(str::to_owned).or_else(|| self.role())
    }

    /// A text that identifies the tables of a server. It contains no secret.
    pub fn identity(&self) -> String {
        format!(
            "{}, schema \"{}\"{}",
            self.server_name(),
            self.schema,
            if self.prefix.is_empty() { String::new() } else { format!(", prefix \"{}\"", self.prefix) }
        )
    }

    /// Returns true if all hosts are on this machine.
    pub fn is_local(&self) -> bool {
        self.hosts.iter().all(|(host, _)| is_local(host)) && self.addresses.iter().all(std::net::IpAddr::is_loopback)
    }

    /// The kinds of servers that a store accepts. By default they must accept writes, because some hosts of a cluster
    /// may be replicas. A read-only store also accepts a replica, if the URL has only one host.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL asks for a replica, and the store is not read-only.
    pub(super) fn sessions(&self, read_only: bool) -> Result<TargetSessionAttrs> {
        match self.sessions {
            None if read_only && self.hosts.len() == 1 => Ok(TargetSessionAttrs::Any),
            None => Ok(TargetSessionAttrs::ReadWrite),
            Some(TargetSessionAttrs::ReadOnly) if !read_only => Err(Error::invalid(
                "the Postgres URL asks for a server that accepts no writes (target_session_attrs): open the store with readOnly, or \
                 remove the option",
            )),
            Some(sessions) => Ok(sessions),
        }
    }

    /// The host and the database, for messages.
    pub fn server_name(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect();
        let database = self.database().unwrap_or_else(|| "postgres".to_owned());
        format!("the Postgres server at {}/{}", hosts.join(","), database.escape_debug())
    }
}

fn must_be(key: &str, expected: &str) -> Error {
    Error::invalid(format!("the option \"{key}\" of the Postgres URL must be {expected}"))
}

/// Checks the name of a schema, or a prefix of table names.
fn name(what: &str, text: &str) -> Result<String> {
    let mut letters = text.chars();
    let first = letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_');
    let rest = letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if first && rest && text.len() <= 31 {
        return Ok(text.to_owned());
    }
    let message = format!(
        "the option \"{what}\" must begin with a lower-case letter or an underscore, followed by at most 30 more of these or digits"
    );
    Err(Error::invalid(message))
}

fn is_local(host: &str) -> bool {
    host.starts_with('/')
        || host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn host_and_port(text: &str) -> Option<(String, u16)> {
    let config: Config = format!("postgres://{text}/").parse().ok()?;
    let host = match config.get_hosts() {
        [Host::Tcp(name)] => name.clone(),
        #[cfg(unix)]
        [Host::Unix(folder)] => folder.to_str()?.to_owned(),
        _ => return None,
    };
    let port = config.get_ports().first().copied().filter(|port| *port > 0)?;
    is_host(&host).then_some((host, port))
}

/// Returns true for a name, an address, or a socket's folder, which may have a colon: `/cloudsql/project:region:name`.
fn is_host(text: &str) -> bool {
    let others = if text.starts_with('/') { "-._/:" } else { "-._/" };
    let plain = |character: char| character.is_alphanumeric() || others.contains(character);
    (!text.is_empty() && text.chars().all(plain)) || text.parse::<std::net::Ipv6Addr>().is_ok()
}

/// Decodes percent-encoding. Returns `None` if the text is not valid.
fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let value = digit(bytes.next()?)? * 16 + digit(bytes.next()?)?;
        out.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests;
