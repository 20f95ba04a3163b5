//! The native object behind a backup of a store.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::store::NativeStore;
use crate::tool::PoolCall;
use crate::values::thrown;
use forkpoint_engine::backend::sqlite;
use forkpoint_engine::backend::sqlite::backup::{Progress, backup};
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::error::{Code, Error};
use forkpoint_engine::target::Target;

/// What the thread of a backup and JavaScript's thread share.
#[derive(Default)]
struct Shared {
    progress: Mutex<Option<Progress>>,
    cancelled: AtomicBool,
}

/// A backup of a store.
#[napi]
pub struct NativeBackup {
    of: sqlite::Options,
    to: PathBuf,
    overwrite: bool,
    shared: Arc<Shared>,
}

#[napi]
impl NativeBackup {
    #[napi(constructor)]
    pub fn new(store: &NativeStore, to: String, overwrite: bool) -> napi::Result<Self, &'static str> {
        let of = match &store.target {
            Target::Sqlite(path) => Ok(sqlite::Options::new(path)),
            Target::Memory => {
                Err("memory: has no file: use copyStore() to copy the store into a database file".to_owned())
            }
            Target::Jsonl(_) => {
                Err("a folder of text files is backed up by copying it while no process uses it, or with copyStore()"
                    .to_owned())
            }
            Target::Postgres(url) => Err(format!(
                "a Postgres server is backed up with its own program: pg_dump --format=custom --schema={} --file=backup.dump",
                url.schema
            )),
        };
        let of = of.map_err(|message| thrown(Error::new(Code::Unsupported, message)))?;
        Ok(Self { of, to: Path::new(&to).to_owned(), overwrite, shared: Arc::default() })
    }

    /// Makes the backup, on a thread of Node's thread pool. The outcome is the finished backup in JSON.
    #[napi]
    pub fn run(&self) -> AsyncTask<PoolCall> {
        let (of, to, overwrite) = (self.of.clone(), self.to.clone(), self.overwrite);
        let shared = Arc::clone(&self.shared);
        PoolCall::task(move || {
            let mut watch = |progress| {
                *shared.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
                if shared.cancelled.load(Ordering::Relaxed) {
                    return Err(Error::new(Code::Closed, "the backup was cancelled"));
                }
                Ok(())
            };
            Response::json(&backup(&of, &to, overwrite, &mut watch)?)
        })
    }

    /// The progress in JSON. `None` before the first page.
    #[napi]
    pub fn progress(&self) -> napi::Result<Option<String>, &'static str> {
        let progress = *self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.map(|progress| Response::json(&progress).map(|response| response.text)).transpose().map_err(thrown)
    }

    /// Ends the backup soon. It then fails, and leaves no file.
    #[napi]
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }
}
