//! The native object of a backup or a restore of a store.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::pool::{Work, on_pool};
use crate::store::NativeStore;
use crate::values::thrown;
use forkpoint_engine::backend::sqlite;
use forkpoint_engine::backend::sqlite::backup::{Progress, backup};
use forkpoint_engine::backend::sqlite::restore::restore;
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::error::{Code, Error};
use forkpoint_engine::target::Target;

/// The state that the working thread shares with JavaScript's thread.
#[derive(Default)]
struct Shared {
    progress: Mutex<Option<Progress>>,
    cancelled: AtomicBool,
}

#[derive(Clone)]
enum Job {
    Backup { to: PathBuf, overwrite: bool },
    Restore { from: PathBuf },
}

/// A backup of a store, or a restore into it.
#[napi]
pub struct NativeBackup {
    of: sqlite::Options,
    job: Job,
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
        Self::of(of, store, Job::Backup { to: Path::new(&to).to_owned(), overwrite })
    }

    /// Creates the object of a restore.
    #[napi(factory)]
    pub fn restore(store: &NativeStore, from: String) -> napi::Result<Self, &'static str> {
        let of = match &store.target {
            Target::Sqlite(path) => Ok(sqlite::Options::new(path)),
            Target::Memory => Err("memory: has no file: use copyStore() to copy the backup into it".to_owned()),
            Target::Jsonl(_) => {
                Err("a folder of text files is restored by copying it back while no process uses it".to_owned())
            }
            Target::Postgres(_) => {
                Err("a Postgres server is restored with its own program: pg_restore --clean --dbname=<url> backup.dump"
                    .to_owned())
            }
        };
        Self::of(of, store, Job::Restore { from: Path::new(&from).to_owned() })
    }

    fn of(of: Result<sqlite::Options, String>, store: &NativeStore, job: Job) -> napi::Result<Self, &'static str> {
        let of = of.map_err(|message| thrown(Error::new(Code::Unsupported, message)))?;
        let of = sqlite::Options { largest_payload: store.store().options().largest_payload(), ..of };
        Ok(Self { of, job, shared: Arc::default() })
    }

    /// Runs the backup or restore on a thread of Node's thread pool. The outcome is a report in JSON.
    #[napi]
    pub fn run(&self) -> AsyncTask<Work> {
        let (of, job) = (self.of.clone(), self.job.clone());
        let shared = Arc::clone(&self.shared);
        on_pool(move || {
            let mut watch = |progress| {
                *shared.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
                if shared.cancelled.load(Ordering::Relaxed) {
                    return Err(Error::new(Code::Closed, "it was cancelled"));
                }
                Ok(())
            };
            match &job {
                Job::Backup { to, overwrite } => Response::json(&backup(&of, to, *overwrite, &mut watch)?),
                Job::Restore { from } => Response::json(&restore(from, &of, &mut watch)?),
            }
        })
    }

    /// The progress in JSON. `None` before the first page.
    #[napi]
    pub fn progress(&self) -> napi::Result<Option<String>, &'static str> {
        let progress = *self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.map(|progress| Response::json(&progress).map(|response| response.text)).transpose().map_err(thrown)
    }

    /// Cancels the work, which soon fails. A cancelled backup leaves no file, and a cancelled restore changes nothing.
    #[napi]
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }
}
