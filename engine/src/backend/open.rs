//! Opens the backend of a target.

use std::sync::Arc;

use super::interface::Backend;
use super::jsonl;
use super::lazy::Opener;
use super::memory::Memory;
#[cfg(feature = "postgres")]
use super::postgres;
use super::sqlite;
use crate::deadline::Deadline;
use crate::options::Options;
use crate::target::Target;

/// The way in which a store uses a target.
pub(crate) enum Access {
    /// On the calling thread.
    Inline(Box<dyn Backend>),
    /// On the store's threads. Each opens its own backend.
    Threads(Opener),
}

/// Returns the access to a target. Opens nothing yet. A backend that is opened after `deadline` is set waits no longer
/// than the deadline.
pub(crate) fn open(target: &Target, options: &Options, deadline: &Arc<Deadline>) -> Access {
    match target {
        Target::Memory => Access::Inline(Box::new(Memory::new())),
        Target::Sqlite(path) => Access::Threads(sqlite::opener(path, options, deadline)),
        Target::Jsonl(path) => Access::Threads(jsonl::opener(path, options, deadline)),
        #[cfg(feature = "postgres")]
        Target::Postgres(url) => Access::Threads(postgres::opener(url, options, deadline)),
    }
}
