//! The underlying error of an engine error: an error of the operating system or of a library.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};

/// The underlying error of an [`Error`](super::Error). It includes the name and the number of the error in its library
/// or operating system.
///
/// Two causes are equal if their names, numbers and texts are equal.
#[derive(Debug)]
pub struct Cause {
    source: Box<dyn Error + Send + Sync>,
    code: Option<&'static str>,
    number: Option<i32>,
}

impl Cause {
    /// Wraps `source`. `code` and `number` are the name and the number of `source` in its own library or system.
    pub fn new(source: impl Error + Send + Sync + 'static, code: Option<&'static str>, number: Option<i32>) -> Self {
        Self { source: Box::new(source), code, number }
    }

    /// The underlying error itself.
    pub fn source(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.source
    }

    /// The name of the error, such as `ENOSPC` or the name of a library's result code. `None` if the error has no
    /// name.
    pub fn code(&self) -> Option<&'static str> {
        self.code
    }

    /// The number of the error in its own library or system. `None` if the error has no number.
    pub fn number(&self) -> Option<i32> {
        self.number
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        let (code, number) = (io_name(&error), error.raw_os_error());
        Self::new(error, code, number)
    }
}

/// Shows the text of the underlying error.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        (self.code, self.number) == (other.code, other.number) && self.to_string() == other.to_string()
    }
}

impl Eq for Cause {}

/// The POSIX name of an operating system error. The error kinds of `std` cover Windows too.
fn io_name(error: &io::Error) -> Option<&'static str> {
    #[cfg(unix)]
    if let Some(name) = rustix::io::Errno::from_io_error(error).and_then(errno_name) {
        return Some(name);
    }
    Some(match error.kind() {
        ErrorKind::NotFound => "ENOENT",
        ErrorKind::PermissionDenied => "EACCES",
        ErrorKind::AlreadyExists => "EEXIST",
        ErrorKind::WouldBlock => "EAGAIN",
        ErrorKind::NotADirectory => "ENOTDIR",
        ErrorKind::IsADirectory => "EISDIR",
        ErrorKind::ReadOnlyFilesystem => "EROFS",
        ErrorKind::StaleNetworkFileHandle => "ESTALE",
        ErrorKind::StorageFull => "ENOSPC",
        ErrorKind::QuotaExceeded => "EDQUOT",
        ErrorKind::FileTooLarge => "EFBIG",
        ErrorKind::ResourceBusy => "EBUSY",
        ErrorKind::InvalidFilename => "ENAMETOOLONG",
        ErrorKind::OutOfMemory => "ENOMEM",
        ErrorKind::Interrupted => "EINTR",
        ErrorKind::TimedOut => "ETIMEDOUT",
        _ => return None,
    })
}

/// The names of errors for which `std` has no separate error kind.
#[cfg(unix)]
fn errno_name(errno: rustix::io::Errno) -> Option<&'static str> {
    use rustix::io::Errno;
    Some(match errno {
        Errno::PERM => "EPERM",
        Errno::IO => "EIO",
        Errno::NXIO => "ENXIO",
        Errno::LOOP => "ELOOP",
        Errno::MFILE => "EMFILE",
        Errno::NFILE => "ENFILE",
        _ => return None,
    })
}
