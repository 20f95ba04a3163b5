//! Converts errors of the server and of the connection into the engine's errors.
//!
//! A message contains the host, the database, the SQLSTATE and the server's primary message. It never contains the
//! DETAIL, which may contain ids, or the statement, its parameters or the URL.

use std::io::ErrorKind;

use rustls::CertificateError;
use tokio_postgres::error::SqlState;

use crate::error::{Code, Error};

pub(super) fn lost(server: &str) -> Error {
    Error::new(Code::Unavailable, format!("the connection to {server} was lost"))
}

/// The error of a server that did not answer in time.
pub(super) fn late(server: &str) -> Error {
    Error::new(Code::Unavailable, format!("{server} did not answer before the busy timeout"))
}

/// The error of a host whose addresses cannot be found.
pub(super) fn unresolved(why: &str, server: &str) -> Error {
    Error::new(Code::Unavailable, format!("cannot connect to {server}: {why}"))
}

/// The error of a failed connection attempt.
pub(super) fn unreachable(error: &tokio_postgres::Error, server: &str) -> Error {
    if let Some(told) = error.as_db_error() {
        // At login, only the URL's `options` can cause these errors, and the server's message would repeat the options.
        if let state @ ("42601" | "42704" | "22023") = told.code().code() {
            let message = format!("{server} rejects the \"options\" of the URL (SQLSTATE {state})");
            return Error::new(Code::InvalidArgument, message).lasting();
        }
        return from_server(error, server);
    }
    let source = std::error::Error::source(error);
    let why = source.map_or_else(|| error.to_string(), ToString::to_string);
    let told = error.to_string();
    if why.contains("password missing") {
        let message = format!(
            "{server} needs a password: pass it in the URL, in the option \"password\", in PGPASSWORD or in the \
             password file"
        );
        return Error::new(Code::Unavailable, message).lasting();
    }
    // A certificate that is rejected now will be rejected later too. A connection that broke may succeed later.
    let insecure = source
        .filter(|_| told.contains("TLS"))
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .filter(|io| io.kind() == ErrorKind::InvalidData);
    let remedy = insecure.map_or("", remedy);
    let refused = Error::new(Code::Unavailable, format!("cannot connect to {server}: {why}{remedy}"));
    // The settings of the server and of the URL do not match.
    let is_setting = why.contains("does not support TLS") || why.contains("channel binding");
    if insecure.is_some() || is_setting { refused.lasting() } else { refused }
}

/// The remedy for a rejected certificate.
fn remedy(error: &std::io::Error) -> &'static str {
    let Some(rustls::Error::InvalidCertificate(why)) = error.get_ref().and_then(|error| error.downcast_ref()) else {
        return "";
    };
    match why {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ": use a host name of the certificate, or sslmode=verify-ca with sslrootcert=<file>"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ": renew it, or set this machine's clock"
        }
        _ => {
            ": name a file with your provider's root certificate, sslrootcert=<file>, or encrypt without checking it, \
             sslmode=no-verify"
        }
    }
}

pub(super) fn from_server(error: &tokio_postgres::Error, server: &str) -> Error {
    let Some(told) = error.as_db_error() else {
        return lost(server);
    };
    let state = told.code();
    let (code, lasting, remedy) = meaning(state);
    let remedy = if remedy.is_empty() { String::new() } else { format!(": {remedy}") };
    let message = format!("{server}: {} (SQLSTATE {}){remedy}", told.message(), state.code());
    let error = Error::new(code, message);
    if lasting { error.lasting() } else { error }
}

/// For an SQLSTATE: the code, whether the error lasts until the user removes the cause, and the remedy.
fn meaning(state: &SqlState) -> (Code, bool, &'static str) {
    match state.code() {
        "40001" | "40P01" | "55P03" | "57014" | "25P03" | "25P04" | "23505" => (Code::Busy, false, "try again"),
        "53300" | "53400" => (Code::Unavailable, false, "use fewer connections, a pooler, or raise max_connections"),
        "53200" => (Code::Unavailable, false, "the server is out of memory"),
        "53100" => (Code::Full, true, "make room on the server's disk"),
        "54000" | "54001" | "22001" | "22023" | "08P01" => (Code::InvalidArgument, true, ""),
        "XX001" | "XX002" | "22P03" => (Code::Corrupt, true, "restore the database from a backup"),
        "42501" => (Code::Unavailable, true, "grant the right to the role"),
        "3D000" => (Code::Unavailable, true, "create the database"),
        "3F000" | "42P01" | "42883" | "42703" | "0A000" | "FP002" => {
            (Code::Unsupported, true, "the schema is not the one of this version")
        }
        other if other.starts_with("28") => (Code::Unavailable, true, "check the user and the password"),
        other if other.starts_with("08") || other.starts_with("57P") || other == "25006" => {
            (Code::Unavailable, false, "")
        }
        _ => (Code::Unavailable, true, ""),
    }
}

/// Returns true if retrying the call may succeed, and the call has stored nothing.
pub(super) fn worth_another_try(error: &Error) -> bool {
    matches!(error.code(), Code::Busy | Code::Unavailable) && error.retryable() && !error.outcome_unknown()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sqlstate_has_a_code() {
        let (again, lasting) = (false, true);
        for (states, code, lasts) in [
            (&["08000", "08006", "57P01", "57P02", "57P03", "57P05", "25006"][..], Code::Unavailable, again),
            (&["40001", "40P01", "55P03", "57014", "25P03", "25P04", "23505"], Code::Busy, again),
            (&["53300", "53400", "53200"], Code::Unavailable, again),
            (&["53100"], Code::Full, lasting),
            (&["54000", "54001", "22001", "22023", "08P01"], Code::InvalidArgument, lasting),
            (&["XX001", "XX002", "22P03"], Code::Corrupt, lasting),
            (&["28000", "28P01", "3D000", "42501"], Code::Unavailable, lasting),
            (&["3F000", "42P01", "42883", "42703", "0A000"], Code::Unsupported, lasting),
            (&["22012", "58030", "XX000", "P0001"], Code::Unavailable, lasting),
        ] {
            for state in states {
                let (found, found_lasts, _) = meaning(&SqlState::from_code(state));
                assert_eq!((found, found_lasts), (code, lasts), "{state}");
            }
        }
        for (state, remedy) in
            [("53300", "max_connections"), ("53100", "room"), ("28P01", "password"), ("42501", "grant")]
        {
            assert!(meaning(&SqlState::from_code(state)).2.contains(remedy), "{state}");
        }
    }
}
