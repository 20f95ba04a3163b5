//! What a URL says about encryption.

use super::{Url, must_be};
use crate::error::Result;

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
pub(super) const MODES: &str = "disable, prefer, require, no-verify, verify-ca or verify-full";

impl SslMode {
    /// The mode of a value of `sslmode`: those of Postgres' own programs, and `no-verify` of node-postgres.
    pub(super) fn named(value: &str) -> Option<Self> {
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

impl Url {
    /// Sets `ssl`, which drivers of other programs have. `sslmode` wins, in any order. `true` asks for encryption and leaves
    /// the rest to the default, which verifies another machine.
    pub(super) fn set_ssl(&mut self, value: &str) -> Result<()> {
        let mode = match value {
            "true" | "1" => {
                self.encrypts = true;
                return Ok(());
            }
            "false" | "0" => SslMode::Disable,
            value => SslMode::named(value).ok_or_else(|| must_be("ssl", "true, false, or a value of sslmode"))?,
        };
        self.ssl_mode.get_or_insert(mode);
        Ok(())
    }

    /// How the connection is encrypted. Another machine gets nothing in plain text, unless the URL says so.
    pub fn ssl(&self) -> SslMode {
        match self.ssl_mode {
            None if !self.is_local() => SslMode::VerifyFull,
            None if self.encrypts => SslMode::Require,
            None => SslMode::Prefer,
            // Postgres' own programs verify too if they are told who signs.
            Some(SslMode::Require) if self.ssl_root.is_some() => SslMode::VerifyCa,
            Some(SslMode::Prefer) if !self.is_local() => SslMode::Require,
            Some(mode) => mode,
        }
    }
}
