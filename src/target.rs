//! The target of a store: `memory:`, a path, `sqlite:` and a path, or `jsonl:` and a path.

use std::path::PathBuf;

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
}

impl Target {
    /// Parses a target. A text with an unknown URL scheme is refused and never treated as a file name.
    pub fn parse(text: &str) -> Result<Self> {
        if text.contains('\0') {
            return Err(Error::invalid(
                "the target contains a NUL character, which a path cannot contain: remove the character",
            ));
        }
        let (kind, path): (fn(PathBuf) -> Self, &str) = match scheme(text) {
            None => (Target::Sqlite, text),
            Some(("memory", "")) => return Ok(Target::Memory),
            Some(("memory", _)) => {
                return Err(Error::invalid("nothing may follow the colon of \"memory:\": give \"memory:\""));
            }
            Some(("sqlite", path)) => (Target::Sqlite, path.strip_prefix("//").unwrap_or(path)),
            Some(("jsonl", path)) => (Target::Jsonl, path.strip_prefix("//").unwrap_or(path)),
            Some((other, _)) => {
                return Err(Error::new(
                    Code::Unsupported,
                    format!(
                        "no backend for \"{other}:\": give a file path, \"sqlite:<path>\", \"jsonl:<folder>\" or \
                         \"memory:\" (a file name with a colon in it: \"./{other}:…\")"
                    ),
                ));
            }
        };
        if path.is_empty() {
            return Err(Error::invalid(
                "the target is empty: give a file path, \"sqlite:<path>\", \"jsonl:<folder>\" or \"memory:\"",
            ));
        }
        if path == ":memory:" {
            return Err(Error::invalid("\":memory:\" is not a target: for a store in memory, give \"memory:\""));
        }
        // Make the path absolute now: the working directory may change before the first use.
        std::path::absolute(path)
            .map(kind)
            .map_err(|error| Error::invalid(format!("the path cannot be made absolute: {error}")).with_cause(error))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls() {
        let here = std::env::current_dir().unwrap();
        let file = |path: &str| Target::Sqlite(here.join(path));
        assert_eq!(Target::parse("memory:").unwrap(), Target::Memory);
        assert_eq!(Target::parse("agent.db").unwrap(), file("agent.db"));
        assert_eq!(Target::parse("sqlite:agent.db").unwrap(), file("agent.db"));
        assert_eq!(Target::parse("sqlite:./a/agent.db").unwrap(), file("a/agent.db"));
        assert_eq!(Target::parse("sqlite:///tmp/a.db").unwrap(), Target::Sqlite("/tmp/a.db".into()));
        assert_eq!(Target::parse("./odd:name?mode=memory.db").unwrap(), file("odd:name?mode=memory.db"));
        assert_eq!(Target::parse("jsonl:runs").unwrap(), Target::Jsonl(here.join("runs")));
        assert_eq!(Target::parse("jsonl:///tmp/runs").unwrap(), Target::Jsonl("/tmp/runs".into()));
        assert_eq!(Target::parse("10:30.db").unwrap(), file("10:30.db"));
    }

    #[test]
    fn what_is_not_a_target_is_refused() {
        let code = |text| Target::parse(text).unwrap_err().code();
        assert_eq!(code(""), Code::InvalidArgument);
        assert_eq!(code("sqlite:"), Code::InvalidArgument);
        assert_eq!(code("jsonl:"), Code::InvalidArgument);
        assert_eq!(code(":memory:"), Code::InvalidArgument);
        assert_eq!(code("memory:x"), Code::InvalidArgument);
        assert_eq!(code("a\0b"), Code::InvalidArgument);
        assert_eq!(code("postgres://localhost/x"), Code::Unsupported);
        assert_eq!(code("https://example.org"), Code::Unsupported);
    }
}
