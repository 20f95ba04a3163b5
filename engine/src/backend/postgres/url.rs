//! The URL of a server: `postgres://user:password@host:port/database?option=value`.
//!
//! The user and the password are cut off before anything else sees the text, so that no message can contain them.

use std::path::PathBuf;
use std::time::Duration;

use super::password::{Password, Secret};
use crate::error::{Error, Result};

/// How the connection is encrypted, and what of the server's certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never encrypts.
    Disable,
    /// Encrypts if the server can. Verifies nothing.
    Prefer,
    /// Encrypts. Verifies nothing.
    Require,
    /// Encrypts, and verifies who signed the certificate.
    VerifyCa,
    /// Encrypts, and verifies who signed the certificate and that it has the name of the host.
    VerifyFull,
}

/// Whether the login proves that nobody stands between the store and the server, by the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Never.
    Disable,
    /// If the connection is encrypted and the server can.
    Prefer,
    /// Always. A server that cannot is refused.
    Require,
}

/// Which servers of the list may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Only a server that accepts writes.
    ReadWrite,
    /// Any server.
    Any,
}

/// A server, or several servers that fail over to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The hosts with their ports. A host that begins with a slash is the folder of a Unix socket.
    pub hosts: Vec<(String, u16)>,
    /// The addresses of the hosts. Empty: their names are looked up at each connect.
    pub addresses: Vec<std::net::IpAddr>,
    /// The role.
    pub user: Option<String>,
    /// The password. `None`: from the variable `PGPASSWORD`, or from the password file.
    pub password: Option<Password>,
    /// The database.
    pub database: Option<String>,
    /// How the connection is encrypted. `None`: `verify-full`, or `prefer` if all hosts are on this machine.
    pub ssl_mode: Option<SslMode>,
    /// Whether the login is bound to the server's certificate.
    pub binding: Binding,
    /// The file with the certificates of the signers. `None`: those of the system.
    pub ssl_root: Option<PathBuf>,
    /// The name under which the server lists the connection.
    pub application: Option<String>,
    /// How long a connection attempt to one host may take.
    pub connect_timeout: Duration,
    /// Which servers of the list may be used.
    pub sessions: Sessions,
    /// True if the hosts are tried in a random order.
    pub balance: bool,
    /// Settings that the server applies to the session.
    pub options: Option<String>,
    /// The schema of the tables.
    pub schema: String,
    /// The beginning of the tables' names.
    pub prefix: String,
    /// True if the tables are made when they are missing.
    pub migrates: bool,
}

const DEFAULT_PORT: u16 = 5432;

impl Url {
    /// Parses a URL whose scheme is `postgres` or `postgresql`. `rest` is the text after the scheme and its colon.
    pub fn parse(rest: &str) -> Result<Self> {
        let wrong = |why: &str| Error::invalid(format!("the URL of the Postgres server is not valid: {why}"));
        let rest = rest.strip_prefix("//").ok_or_else(|| wrong("it must begin with \"postgres://\""))?;
        let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, query)| (rest, query));
        if query.contains('#') || rest.contains('#') {
            return Err(wrong("it has a \"#\": write \"%23\" in a user, a password or a name"));
        }
        let (authority, database) =
            rest.split_once('/').map_or((rest, None), |(authority, path)| (authority, Some(path)));
        if database.is_some_and(|database| database.contains('@')) {
            return Err(wrong("it has an \"@\" after a \"/\": write \"%2F\" for a slash in a password"));
        }
        let (login, hosts) = match authority.split_once('@') {
            None => (None, authority),
            Some((_, hosts)) if hosts.contains('@') => {
                return Err(wrong("it has two \"@\": write \"%40\" in a user or a password"));
            }
            Some((login, hosts)) => (Some(login), hosts),
        };
        let decode = |what: &str, text: &str| {
            decoded(text).ok_or_else(|| wrong(&format!("its {what} has a \"%\" that is not followed by two hexadecimal digits of UTF-8: write \"%25\" for the character")))
        };
        let (user, password) = match login {
            None => (None, None),
            Some(login) => {
                let (user, password) =
                    login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
                let user = Some(decode("user", user)?).filter(|user| !user.is_empty());
                (
                    user,
                    password
                        .map(|password| decode("password", password).map(|text| Password::Text(Secret(text))))
                        .transpose()?,
                )
            }
        };
        let database = database.map(|path| decode("database", path)).transpose()?.filter(|name| !name.is_empty());
        let mut url = Self {
            hosts: Vec::new(),
            addresses: Vec::new(),
            user,
            password,
            database,
            ssl_mode: None,
            binding: Binding::Prefer,
            ssl_root: None,
            application: None,
            connect_timeout: Duration::from_secs(5),
            sessions: Sessions::ReadWrite,
            balance: false,
            options: None,
            schema: "forkpoint".to_owned(),
            prefix: String::new(),
            migrates: true,
        };
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            url.hosts.push(host_and_port(host).ok_or_else(|| wrong("one of its hosts or ports is not valid"))?);
        }
        let mut ports = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (decode("options", key)?, decode("options", value)?);
            // The ports are those of the hosts, which may be named later.
            if key == "port" {
                ports = Some(value);
            } else {
                url.set(&key, &value)?;
            }
        }
        if url.hosts.is_empty() {
            url.hosts.push(("localhost".to_owned(), DEFAULT_PORT));
        }
        if let Some(ports) = ports {
            url.set_ports(&ports)?;
        }
        // Messages name the database. Other clients take a whole URL with its password here.
        if url.database.as_ref().is_some_and(|name| name.contains(['/', '@', '='])) {
            return Err(wrong("the name of its database has a \"/\", an \"@\" or a \"=\""));
        }
        let secret = url.password.iter().filter_map(|password| match password {
            Password::Text(Secret(text)) => Some(text),
            Password::Asked(_) => None,
        });
        let texts = url.user.iter().chain(url.database.iter()).chain(url.application.iter()).chain(url.options.iter());
        if texts.chain(secret).any(|text| text.contains('\0')) {
            return Err(wrong("it contains a NUL character"));
        }
        if !url.addresses.is_empty() && url.addresses.len() != url.hosts.len() {
            return Err(wrong("\"hostaddr\" must have one address for each host"));
        }
        Ok(url)
    }

    /// Sets an option. The errors name the key and never the value.
    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let wrong =
            |expected: &str| Error::invalid(format!("the option \"{key}\" of the Postgres URL must be {expected}"));
        match key {
            "sslmode" => {
                self.ssl_mode = Some(match value {
                    "disable" => SslMode::Disable,
                    "prefer" | "allow" => SslMode::Prefer,
                    "require" => SslMode::Require,
                    "verify-ca" => SslMode::VerifyCa,
                    "verify-full" => SslMode::VerifyFull,
                    _ => return Err(wrong("disable, prefer, require, verify-ca or verify-full")),
                });
            }
            "sslrootcert" => self.ssl_root = (value != "system").then(|| PathBuf::from(value)),
            "application_name" => self.application = Some(value.to_owned()),
            "connect_timeout" => {
                let seconds: u64 = value.parse().map_err(|_| wrong("a number of seconds"))?;
                self.connect_timeout = Duration::from_secs(if seconds == 0 { 30 } else { seconds });
            }
            "target_session_attrs" => {
                self.sessions = match value {
                    "read-write" | "primary" => Sessions::ReadWrite,
                    "any" => Sessions::Any,
                    _ => return Err(wrong("read-write or any")),
                };
            }
            "load_balance_hosts" => {
                self.balance = match value {
                    "disable" => false,
                    "random" => true,
                    _ => return Err(wrong("disable or random")),
                };
            }
            "options" => self.options = Some(value.to_owned()),
            "hostaddr" => {
                let parsed: std::result::Result<_, _> = value.split(',').map(str::parse).collect();
                self.addresses = parsed.map_err(|_| wrong("a list of IP addresses"))?;
            }
            "host" => {
                let hosts: Vec<_> = value.split(',').map(|host| (host.to_owned(), DEFAULT_PORT)).collect();
                if !hosts.iter().all(|(host, _)| is_host(host)) {
                    return Err(wrong("a list of hosts, without ports, users and passwords"));
                }
                self.hosts = hosts;
            }
            "channel_binding" => {
                self.binding = match value {
                    "disable" => Binding::Disable,
                    "prefer" => Binding::Prefer,
                    "require" => Binding::Require,
                    _ => return Err(wrong("disable, prefer or require")),
                };
            }
            "user" if value.contains(':') => return Err(wrong("the name of a role, without a password")),
            "user" => self.user = Some(value.to_owned()),
            "password" => self.password = Some(Password::Text(Secret(value.to_owned()))),
            "schema" => self.set_schema(value)?,
            "prefix" => self.set_prefix(value)?,
            "migrate" => self.set_migrate(value)?,
            "dbname" => self.database = Some(value.to_owned()),
            // Hints for other clients and poolers, and settings of the operating system that need no change.
            "pgbouncer"
            | "pool_timeout"
            | "connection_limit"
            | "pool_mode"
            | "keepalives"
            | "keepalives_idle"
            | "keepalives_interval"
            | "keepalives_count"
            | "tcp_user_timeout"
            | "gssencmode"
            | "client_encoding"
            | "sslcert"
            | "sslkey"
            | "sslsni"
            | "supa"
            | "uselibpqcompat" => {
                if matches!(key, "sslcert" | "sslkey") {
                    return Err(Error::new(
                        crate::error::Code::Unsupported,
                        format!("the option \"{key}\" of the Postgres URL is not supported: use a password"),
                    ));
                }
            }
            _ => {
                // What is no plain word may be a part of a password.
                let plain = key.len() <= 60 && key.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'_');
                let named = if plain { format!(", \"{key}\"") } else { String::new() };
                return Err(Error::invalid(format!(
                    "the Postgres URL has an option that is not known{named}: remove it"
                )));
            }
        }
        Ok(())
    }

    /// Sets the ports of the hosts. One port is that of all hosts.
    fn set_ports(&mut self, value: &str) -> Result<()> {
        let ports: Vec<Option<u16>> = value.split(',').map(port).collect();
        for (at, (_, port)) in self.hosts.iter_mut().enumerate() {
            let given = ports.get(at).or(ports.first().filter(|_| ports.len() == 1)).copied().flatten();
            *port = given.ok_or_else(|| {
                Error::invalid("the option \"port\" of the Postgres URL must be one port, or one for each host")
            })?;
        }
        Ok(())
    }

    /// Sets the schema of the tables.
    pub fn set_schema(&mut self, schema: &str) -> Result<()> {
        self.schema = name("schema", schema)?;
        Ok(())
    }

    /// Sets the beginning of the tables' names.
    pub fn set_prefix(&mut self, prefix: &str) -> Result<()> {
        self.prefix = if prefix.is_empty() { String::new() } else { name("prefix", prefix)? };
        Ok(())
    }

    /// Sets whether the tables are made when they are missing: `auto` or `never`.
    pub fn set_migrate(&mut self, migrate: &str) -> Result<()> {
        self.migrates = match migrate {
            "auto" => true,
            "never" => false,
            _ => return Err(Error::invalid("the option \"migrate\" must be \"auto\" or \"never\"")),
        };
        Ok(())
    }

    /// The name of the role on the server.
    pub(super) fn role(&self) -> Option<String> {
        let environment = || ["PGUSER", "USER", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
        self.user.clone().or_else(environment).filter(|name| !name.is_empty())
    }

    /// A text that only the same tables of the same server have. It holds no secret.
    pub fn identity(&self) -> String {
        format!(
            "{}, schema \"{}\"{}",
            self.place(),
            self.schema,
            if self.prefix.is_empty() { String::new() } else { format!(", prefix \"{}\"", self.prefix) }
        )
    }

    /// Returns true if all hosts are on this machine.
    pub fn is_local(&self) -> bool {
        self.hosts.iter().all(|(host, _)| is_local(host)) && self.addresses.iter().all(std::net::IpAddr::is_loopback)
    }

    /// How the connection is encrypted. Another machine gets nothing in plain text, unless the URL says so.
    pub fn ssl(&self) -> SslMode {
        match self.ssl_mode {
            None if self.is_local() => SslMode::Prefer,
            None => SslMode::VerifyFull,
            Some(SslMode::Prefer) if !self.is_local() => SslMode::Require,
            Some(mode) => mode,
        }
    }

    /// The host and the database, for messages.
    pub fn place(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect();
        let database = self.database.clone().or_else(|| self.role()).unwrap_or_else(|| "postgres".to_owned());
        format!("the Postgres server at {}/{}", hosts.join(","), database.escape_debug())
    }
}

/// Checks the name of a schema, or the beginning of names.
fn name(what: &str, text: &str) -> Result<String> {
    let mut letters = text.chars();
    let first = letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_');
    let rest = letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if first && rest && text.len() <= 31 {
        return Ok(text.to_owned());
    }
    let message = format!(
        "the option \"{what}\" must begin with a lower-case letter or an underscore, and go on with at most 30 of these and digits"
    );
    Err(Error::invalid(message))
}

fn is_local(host: &str) -> bool {
    host.starts_with('/')
        || host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn host_and_port(text: &str) -> Option<(String, u16)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        address.parse::<std::net::Ipv6Addr>().ok()?;
        return match rest.strip_prefix(':') {
            None if rest.is_empty() => Some((address.to_owned(), DEFAULT_PORT)),
            None => None,
            Some(number) => Some((address.to_owned(), port(number)?)),
        };
    }
    let (host, number) = match text.split_once(':') {
        None => (text, DEFAULT_PORT),
        Some((host, number)) => (host, port(number)?),
    };
    let host = decoded(host)?;
    is_host(&host).then_some((host, number))
}

/// Returns true for a name, an address, or the folder of a socket.
fn is_host(text: &str) -> bool {
    let plain = |character: char| character.is_alphanumeric() || "-._/".contains(character);
    (!text.is_empty() && text.chars().all(plain)) || text.parse::<std::net::Ipv6Addr>().is_ok()
}

fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

/// Decodes `%` and two digits. Returns `None` if the text is not valid.
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
