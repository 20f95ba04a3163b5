//! The engine's error type. Each error has one of a few codes, and the code tells the caller what to do. The message
//! describes the failure. The cause holds the error of the operating system or of a library.

mod cause;

use std::fmt;
use std::sync::Arc;

pub use self::cause::Cause;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller should do about an [`Error`]. The names are public API: `ForkpointError.code` in JavaScript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The requested item does not exist: check the id.
    NotFound,
    /// The call itself is wrong: change the arguments.
    InvalidArgument,
    /// The store was closed: open the store again.
    Closed,
    /// Stored bytes are damaged: restore a backup. The engine never returns wrong bytes.
    Corrupt,
    /// Another writer changed the data first: read again and decide again.
    Conflict,
    /// Another process held the database for longer than the busy timeout: try again.
    Busy,
    /// The device has no free space: free some space.
    Full,
    /// The storage cannot be reached or failed: the message says why.
    Unavailable,
    /// This build or file does not support the call: the message names an alternative.
    Unsupported,
}

impl Code {
    /// The public name, as JavaScript sees it.
    pub const fn name(self) -> &'static str {
        match self {
            Code::NotFound => "NOT_FOUND",
            Code::InvalidArgument => "INVALID_ARGUMENT",
            Code::Closed => "CLOSED",
            Code::Corrupt => "CORRUPT",
            Code::Conflict => "CONFLICT",
            Code::Busy => "BUSY",
            Code::Full => "FULL",
            Code::Unavailable => "UNAVAILABLE",
            Code::Unsupported => "UNSUPPORTED",
        }
    }
}

/// An error: what failed, for which id, and the remedy. Messages never quote stored state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    message: String,
    retryable: bool,
    outcome_unknown: bool,
    cause: Option<Arc<Cause>>,
    lessee: Option<Arc<Lessee>>,
}

/// The process that works on a run: the content of its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lessee {
    /// The id of the lease.
    pub id: String,
    /// Names the process, for people.
    pub holder: String,
    /// The time at which the lease expires, in ms since the epoch.
    pub until: i64,
}

/// The maximum length of a message, in bytes. The longest ids that a store accepts fit in it.
const LONGEST_MESSAGE: usize = 32 << 10;

/// Cuts the middle out of a message that is too long. A damaged id may have any length.
pub(crate) fn shortened(message: String) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message;
    }
    let (begin, rest) = message.as_bytes().split_at(LONGEST_MESSAGE / 2);
    let end = &rest[rest.len() - LONGEST_MESSAGE / 2..];
    format!("{}…{}", String::from_utf8_lossy(begin), String::from_utf8_lossy(end))
}

impl Error {
    /// Creates an error. The code determines whether the error is retryable.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let retryable = matches!(code, Code::Busy | Code::Unavailable);
        Self { code, message: shortened(message.into()), retryable, outcome_unknown: false, cause: None, lessee: None }
    }

    /// Creates the error for a call with wrong arguments.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// Creates the error for a call on a closed store.
    pub fn closed() -> Self {
        Self::new(Code::Closed, "the store is closed: open a new one to continue")
    }

    /// The error for a store whose thread panicked. A panic is a bug in the engine. This store handle accepts no more
    /// writes.
    pub fn poisoned() -> Self {
        let message = "the store's thread panicked, and the store accepts no more calls: close it and open it again. \
                       All writes that were acknowledged before are stored";
        Self::new(Code::Unavailable, message).lasting()
    }

    /// Marks the outcome of the write as unknown: the write may or may not be on disk. The caller may save the
    /// same id again.
    #[must_use]
    pub fn with_outcome_unknown(mut self) -> Self {
        self.outcome_unknown = true;
        self
    }

    /// Reuses the error for another call. Nothing was sent for that call, so its outcome is known.
    #[must_use]
    pub(crate) fn for_another_call(mut self) -> Self {
        self.outcome_unknown = false;
        self
    }

    /// Marks the error as lasting: the same call fails again until the user removes the cause.
    #[must_use]
    pub fn lasting(mut self) -> Self {
        self.retryable = false;
        self
    }

    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(Arc::new(cause.into()));
        self
    }

    /// Adds the process whose lease forbids the write.
    #[must_use]
    pub(crate) fn with_lessee(mut self, lessee: Lessee) -> Self {
        self.lessee = Some(Arc::new(lessee));
        self
    }

    /// Prepends the place of the failure to the message.
    #[must_use]
    pub fn context(mut self, what: &str) -> Self {
        self.message = shortened(format!("{what}: {}", self.message));
        self
    }

    /// Returns the process whose lease forbids the write.
    pub fn lessee(&self) -> Option<&Lessee> {
        self.lessee.as_deref()
    }

    /// Returns the code, which tells the caller what to do.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns true if stored bytes are damaged, or written in a format that this version does not know.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self.code, Code::Corrupt | Code::Unsupported)
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns true if the same call may succeed later without any change by the caller.
    pub fn retryable(&self) -> bool {
        self.retryable
    }

    /// Returns true if a failed write may nevertheless be on disk.
    pub fn outcome_unknown(&self) -> bool {
        self.outcome_unknown
    }

    /// The underlying error, if it is known.
    pub fn cause(&self) -> Option<&Cause> {
        self.cause.as_deref()
    }
}

/// Quotes an id for a message. Shortens a long id.
pub(crate) fn quote(id: &str) -> String {
    const MOST: usize = 100;
    match id.char_indices().nth(MOST) {
        Some((end, _)) => format!("\"{}...\"", id[..end].escape_debug()),
        None => format!("{id:?}"),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause().map(|cause| cause.source() as _)
    }
}
