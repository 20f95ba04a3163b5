//! The target of a store: `memory:`, a path, `sqlite:` or `jsonl:` and a path, or the URL of a Postgres server.

use std::path::PathBuf;

use crate::backend::disk::folder_of;
#[cfg(feature = "postgres")]
use crate::backend::postgres::url::Url;
use crate::error::{Code, Error, Result};

/// The location of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `memory:` means a new store in memory. The store ends when its handle is closed.
    Memory,
    /// A path, or `sqlite:` and a path, means an `SQLite` file. The stored path is absolute.
    Sqlite(PathBuf),
    /// `jsonl:` and a path means a folder of text files. The stored path is absolute.
    Jsonl(PathBuf),
    /// `postgres:` or `postgresql:` and a URL means tables on a Postgres server.
    #[cfg(feature = "postgres")]
    Postgres(Box<Url>),
}

impl Target {
    /// Parses a target. A text with an unknown URL scheme is refused, not treated as a file name.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` if the parent directory does not exist. Opening fails with the same error, but only later.
    pub fn parse(text: &str) -> Result<Self> {
        if text.contains('\0') {
            return Err(Error::invalid(
                "the target contains a NUL character, which a path cannot contain: remove the character",
            ));
        }
        // The text may contain a password, so no message quotes it.
        let lower = text.to_ascii_lowercase();
        let url = lower.find("postgres").and_then(|at| lower.get(at..)).unwrap_or_default();
        let has_login = url.contains(':') && url.contains('@');
        if has_login && !["postgres:", "postgresql:"].iter().any(|scheme| text.starts_with(scheme)) {
            let message = "the target looks like the URL of a Postgres server, but does not begin with \"postgres://\": pass only the URL";
            return Err(Error::invalid(message));
        }
        let (kind, path): (fn(PathBuf) -> Self, &str) = match scheme(text) {
            None => (Target::Sqlite, text),
            Some(("memory", "")) => return Ok(Target::Memory),
            Some(("memory", _)) => {
                return Err(Error::invalid("nothing may follow the colon of \"memory:\": pass \"memory:\""));
            }
            #[cfg(feature = "postgres")]
            Some(("postgres" | "postgresql", url)) => {
                return Url::parse(url).map(|url| Target::Postgres(Box::new(url)));
            }
            Some(("sqlite", path)) => (Target::Sqlite, path.strip_prefix("//").unwrap_or(path)),
            Some(("jsonl", path)) => (Target::Jsonl, path.strip_prefix("//").unwrap_or(path)),
            Some((other, _)) => {
                return Err(Error::new(
                    Code::Unsupported,
                    format!(
                        "no backend for \"{other}:\": pass a file path, \"sqlite:<path>\", \"jsonl:<folder>\", \"memory:\" or \
                         \"postgres://<host>/<database>\" (a file name with a colon in it: \"./{other}:…\")"
                    ),
                ));
            }
        };
        let is_file = !matches!(scheme(text), Some(("jsonl", _)));
        if path.is_empty() {
            return Err(Error::invalid(
                "the target is empty: pass a file path, \"sqlite:<path>\", \"jsonl:<folder>\" or \"memory:\"",
            ));
        }
        if path == ":memory:" {
            return Err(Error::invalid("\":memory:\" is not a target: for a store in memory, pass \"memory:\""));
        }
        if is_file && names_directory(path) {
            return Err(Error::invalid(format!("\"{path}\" is the path of a directory: pass the path of a file")));
        }
        // Make the path absolute now: the working directory may change before the first use.
        let path = std::path::absolute(path)
            .map_err(|error| Error::invalid(format!("the path cannot be made absolute: {error}")).with_cause(error))?;
        folder_of(&path).map_err(|error| error.context(&format!("cannot open \"{}\"", path.display())))?;
        Ok(kind(path))
    }
}

/// Returns true if the path ends with a separator, or with `.` or `..`. Making a path absolute removes some of these.
fn names_directory(path: &str) -> bool {
    matches!(path.rsplit(std::path::is_separator).next(), Some("" | "." | ".."))
}

/// Splits a text into its URL scheme and the rest. Returns `None` if the text has no scheme. A single letter before
/// the colon is a Windows drive and not a scheme.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut letters = scheme.chars();
    let starts = letters.next().is_some_and(|first| first.is_ascii_alphabetic());
    let goes_on = letters.all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    (starts && goes_on && scheme.len() > 1).then_some((scheme, rest))
}
