//! The encryption options of a URL.

use std::path::PathBuf;

/// The encryption of the connection, and the verification of the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never encrypts.
    Disable,
    /// Encrypts if the server can. Verifies nothing.
    Prefer,
    /// Encrypts. Verifies nothing.
    Require,
    /// Like `Require`, but chosen explicitly, so that no warning is needed.
    NoVerify,
    /// Encrypts, and verifies the signer of the certificate.
    VerifyCa,
    /// Encrypts, and verifies the signer of the certificate and that it names the host.
    VerifyFull,
}

/// The values of `sslmode`, for messages.
const MODES: &str = "disable, prefer, require, no-verify, verify-ca or verify-full";

impl SslMode {
    /// Parses a value of `sslmode`: those of Postgres' own programs, and `no-verify` of node-postgres.
    fn named(value: &str) -> Option<Self> {
        Some(match value {
            "disable" => Self::Disable,
            "prefer" | "allow" => Self::Prefer,
            "require" => Self::Require,
            "no-verify" => Self::NoVerify,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }
}

/// The encryption options of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ssl {
    /// `None`: `verify-full`, or `prefer` if all hosts are on this machine.
    mode: Option<SslMode>,
    /// True if the URL has `ssl=true`: connections to this machine are encrypted too.
    encrypts: bool,
    /// The file with the signers' certificates. `None`: the system's certificates.
    pub root: Option<PathBuf>,
}

impl Ssl {
    /// Sets `sslmode`, `ssl` or `sslrootcert`. `ssl` comes from other drivers; `sslmode` overrides it, in any order.
    /// `ssl=true` asks for encryption, and leaves the verification to the default.
    ///
    /// # Errors
    ///
    /// The error is a description of valid values.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        match (key, value) {
            ("sslrootcert", value) => self.root = (value != "system").then(|| PathBuf::from(value)),
            ("ssl", "true" | "1") => self.encrypts = true,
            ("ssl", "false" | "0") => _ = self.mode.get_or_insert(SslMode::Disable),
            ("ssl", value) => {
                let mode = SslMode::named(value).ok_or("true, false, or a value of sslmode")?;
                self.mode.get_or_insert(mode);
            }
            (_, value) => self.mode = Some(SslMode::named(value).ok_or(MODES)?),
        }
        Ok(())
    }

    /// The encryption of the connection. By default, nothing is sent to another machine in plain text.
    pub(super) fn mode(&self, is_local: bool) -> SslMode {
        match self.mode {
            None if !is_local => SslMode::VerifyFull,
            None if self.encrypts => SslMode::Require,
            None => SslMode::Prefer,
            // Postgres' own programs also verify the signer if its certificate is given.
            Some(SslMode::Require) if self.root.is_some() => SslMode::VerifyCa,
            Some(SslMode::Prefer) if !is_local => SslMode::Require,
            Some(mode) => mode,
        }
    }
}
