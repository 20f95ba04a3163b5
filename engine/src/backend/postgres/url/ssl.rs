//! What a URL says about encryption.

use std::path::PathBuf;

/// How the connection is encrypted, and what of the server's certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never encrypts.
    Disable,
    /// Encrypts if the server can. Verifies nothing.
    Prefer,
    /// Encrypts. Verifies nothing.
    Require,
    /// As `Require`. The URL says by name that nothing is verified, so no warning repeats it.
    NoVerify,
    /// Encrypts, and verifies who signed the certificate.
    VerifyCa,
    /// Encrypts, and verifies who signed the certificate and that it has the name of the host.
    VerifyFull,
}

/// The values of `sslmode`, for messages.
const MODES: &str = "disable, prefer, require, no-verify, verify-ca or verify-full";

impl SslMode {
    /// The mode of a value of `sslmode`: those of Postgres' own programs, and `no-verify` of node-postgres.
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

/// What a URL says about encryption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ssl {
    /// `None`: `verify-full`, or `prefer` if all hosts are on this machine.
    mode: Option<SslMode>,
    /// True if the URL says `ssl=true`: this machine's servers must encrypt too.
    encrypts: bool,
    /// The file with the certificates of the signers. `None`: those of the system.
    pub root: Option<PathBuf>,
}

impl Ssl {
    /// Sets `sslmode`, `ssl` or `sslrootcert`. `ssl` comes from drivers of other programs. `sslmode` wins over it, in any
    /// order. `ssl=true` asks for encryption and leaves the rest to the default, which verifies another machine.
    ///
    /// # Errors
    ///
    /// Returns what the value must be.
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

    /// How the connection is encrypted. Another machine gets nothing in plain text, unless the URL says so.
    pub(super) fn mode(&self, is_local: bool) -> SslMode {
        match self.mode {
            None if !is_local => SslMode::VerifyFull,
            None if self.encrypts => SslMode::Require,
            None => SslMode::Prefer,
            // Postgres' own programs verify too if they are told who signs.
            Some(SslMode::Require) if self.root.is_some() => SslMode::VerifyCa,
            Some(SslMode::Prefer) if !is_local => SslMode::Require,
            Some(mode) => mode,
        }
    }
}
