//! The backend: reads the commits of all processes, and commits batches.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::folder;
use super::index::Index;
use super::journal::Known;
use super::lock::{Kind, Lock};
use super::names::Names;
use super::options::Options;
use super::plan::plan;
use crate::backend::interface::Backend;
use crate::backend::lazy::Opener;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::op::{Applied, Unit};
use crate::options::{Durability, Migrate, Options as StoreOptions};
use crate::query::{Answer, Query};
use crate::record::Notice;
use crate::retention::{Prune, Pruned};

/// The maximum number of attempts of a query. It restarts if another process rewrites a file.
const ATTEMPTS: usize = 10;

/// One user of a folder. Several users, in one process or in many, may share a folder.
#[derive(Debug)]
pub struct Jsonl {
    pub(super) folder: PathBuf,
    pub(super) lock: Lock,
    pub(super) durability: Durability,
    pub(super) names: Names,
    /// The index of the folder. `None` if the folder must be read from its beginning.
    pub(super) index: Option<Index>,
    pub(super) notice: Option<Notice>,
    /// The files that grew since the last sweep.
    pub(super) grown: Vec<u64>,
    pub(super) read_only: bool,
}

impl Jsonl {
    /// Opens a folder. Creates it if it does not exist.
    pub fn open(options: &Options) -> Result<Self> {
        Self::open_folder(options)
            .map_err(|error| error.context(&format!("cannot open \"{}\"", options.path.display())))
    }

    fn open_folder(options: &Options) -> Result<Self> {
        if options.migrate == Migrate::Never && !options.read_only {
            folder::find(&options.path)?;
        }
        let folder = if options.read_only { folder::find(&options.path)? } else { folder::prepare(&options.path)? };
        let mut opened = Self {
            lock: Lock::open(folder.join(folder::LOCK), options.read_only, options.busy_timeout)?,
            folder,
            durability: options.durability,
            names: options.names,
            index: None,
            notice: None,
            grown: Vec::new(),
            read_only: options.read_only,
        };
        if options.read_only {
            return Ok(opened);
        }
        if !opened.folder.join(folder::JOURNAL).exists() {
            let _held = opened.lock.wait(Kind::Exclusive)?;
            if !opened.folder.join(folder::JOURNAL).exists() {
                Known::default().rewrite(&opened.folder, opened.durability != Durability::Off)?;
            }
        }
        // A process that holds the lock to write has already tidied up.
        if let Some(_held) = opened.lock.attempt(Kind::Exclusive)? {
            match opened.refresh_to_write() {
                Ok(index) => index.tidy()?,
                // Do not fail: the first call reports the damage, and a check lists it.
                Err(error) if error.code() == Code::Corrupt => {}
                Err(error) => return Err(error),
            }
        }
        Ok(opened)
    }

    /// Reads the commits of other processes. The caller has the lock.
    pub(super) fn refresh(&mut self) -> Result<&mut Index> {
        let mut index = self.index.take().unwrap_or_else(|| Index::new(&self.folder));
        // An error drops the index, so the next refresh reads everything again.
        index.refresh(&self.folder)?;
        Ok(self.index.insert(index))
    }

    /// Reads the commits of other processes. The caller has an exclusive lock.
    pub(super) fn refresh_to_write(&mut self) -> Result<&mut Index> {
        let known = &self.refresh()?.known;
        known.format.require_writable()?;
        let lost = known.lost;
        if lost > 0 {
            self.notice = Some(lost_notice(lost, &self.folder));
        }
        let Some(index) = &mut self.index else { return Err(Error::poisoned()) };
        if lost > 0 {
            index.known.cut_off(&self.folder)?;
        }
        Ok(index)
    }

    /// Changes the folder under an exclusive lock, with an up-to-date index. After an error, the folder is read again.
    pub(super) fn change<T>(&mut self, work: impl FnOnce(&mut Index) -> Result<T>) -> Result<T> {
        let _held = self.lock.wait(Kind::Exclusive)?;
        self.refresh_to_write()?;
        let Some(mut index) = self.index.take() else { return Err(Error::poisoned()) };
        let done = work(&mut index)?;
        self.index = Some(index);
        Ok(done)
    }

    /// Changes the store. Commits all changes of `work` or none.
    fn write<T>(&mut self, work: impl FnOnce(&mut Index) -> T) -> Result<T> {
        let (names, durability) = (self.names, self.durability);
        let mut grown = std::mem::take(&mut self.grown);
        let done = self.change(|index| {
            let done = work(index);
            let changes = std::mem::take(&mut index.tables.changes);
            let plan = plan(index, names, changes);
            grown.extend(plan.drafts.keys());
            index.commit(durability, plan)?;
            Ok(done)
        });
        self.grown = grown;
        done
    }

    /// Returns the index, with everything that was committed before the call.
    pub(super) fn read(&mut self) -> Result<&Index> {
        let current = match &self.index {
            Some(index) => index.known.is_current(&self.folder)?,
            None => false,
        };
        if !current {
            let held = self.lock.wait(Kind::Shared)?;
            let lost = self.refresh()?.known.lost;
            if lost > 0 && self.read_only {
                self.notice = Some(lost_notice(lost, &self.folder));
            } else if lost > 0 {
                drop(held);
                let _held = self.lock.wait(Kind::Exclusive)?;
                self.index = None;
                self.refresh_to_write()?;
            }
        }
        self.index.as_ref().ok_or_else(Error::poisoned)
    }
}

fn lost_notice(lost: u64, folder: &Path) -> Notice {
    let commits = if lost == 1 { "commit was" } else { "commits were" };
    let message = format!(
        "\"{}\": the last {lost} {commits} lost, because they were not synced before the power failed: see the option \"durability\"",
        folder.display()
    );
    Notice { code: "FORKPOINT_COMMITS_LOST", message }
}

fn answer(index: &Index, query: &Query) -> Result<Answer> {
    match query {
        Query::All(queries) => {
            Ok(Answer::All(queries.iter().map(|query| answer(index, query)).collect::<Result<_>>()?))
        }
        Query::Format => Ok(Answer::Format(Some(index.known.format.known()))),
        Query::Stats { .. } => {
            let mut stats = index.tables.answer(query)?.into_stats()?;
            stats.file_bytes = Some(index.known.bytes());
            Ok(Answer::Stats(stats))
        }
        _ => index.tables.answer(query),
    }
}

impl Backend for Jsonl {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        match self.write(|index| batch.iter().map(|unit| index.tables.unit(unit)).collect::<Vec<_>>()) {
            Ok(applied) => applied,
            Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        if let Query::Check { cursor, limit } = query {
            return self.check(cursor, *limit).map(|page| Answer::Checked(Box::new(page)));
        }
        for _ in 0..ATTEMPTS {
            let error = match answer(self.read()?, query) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            // Another process may have replaced a file since the index was refreshed.
            let current = self.index.as_ref().map(|index| index.known.is_current(&self.folder)).transpose()?;
            if current == Some(true) {
                return Err(error);
            }
        }
        answer(self.read()?, query)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.write(|index| index.tables.prune(prune))?
    }

    fn sweep(&mut self) -> Result<bool> {
        let grown = std::mem::take(&mut self.grown);
        self.compact_some(&grown).map(|()| false)
    }

    fn vacuum(&mut self) -> Result<()> {
        self.compact_all().map_err(|error| error.context("vacuum"))
    }

    fn closing(&mut self, deadline: Instant) {
        self.lock.closing(deadline);
    }

    fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }
}

/// Returns the access of a store to a folder.
pub(crate) fn opener(path: &Path, options: &StoreOptions, deadline: &Arc<Deadline>) -> Opener {
    let jsonl = Options {
        durability: options.durability,
        busy_timeout: options.busy_timeout,
        names: options.contract_names,
        read_only: options.read_only,
        migrate: options.migrate,
        ..Options::new(path)
    };
    let deadline = Arc::clone(deadline);
    let open = move || {
        let jsonl = Options { busy_timeout: deadline.limit(jsonl.busy_timeout), ..jsonl.clone() };
        Ok(Box::new(Jsonl::open(&jsonl)?) as Box<dyn Backend>)
    };
    Opener { open: Arc::new(open), pre_encoder: None, sweeps_apart: false, reads_apart: false, listen: None }
}
