//! The backend: a connection to a database file, with handling of a full disk and of idle time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::changes::Changes;
use super::error::from_commit;
use super::identity::Claim;
use super::options::{Journal, Options};
use super::raw::{RawPayloads, compress};
use super::read_only::ReadOnly;
use super::reserve::{Reserve, is_full, reserve_only};
use super::verify::Verify;
use super::wal::Checkpointer;
use super::watch::{StoreFiles, Watch};
use super::{connection, from_memory, locks, read, retention, schema, totals, vfs, write};
use crate::backend::batch::{self, Failure};
use crate::backend::interface::Backend;
use crate::backend::lazy::Opener;
use crate::backend::pre_encoder::PreEncoder;
use crate::cache::PayloadCache;
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::op::{Applied, Op, Unit};
use crate::options::{Migrate, Options as StoreOptions};
use crate::query::{Answer, Query};
use crate::record::Notice;
use crate::retention::{Cursor, Prune, Pruned, Rule};

/// One connection to a database file. Several connections, in one process or in many, may use the same file.
#[derive(Debug)]
pub struct Sqlite {
    /// Declared before `connection`, so that the checkpointer's connection closes first. The last connection to close
    /// removes the WAL.
    pub(super) checkpointer: Option<Checkpointer>,
    pub(super) connection: Connection,
    pub(super) changes: Changes,
    /// Declared after `connection`, because the last connection to close removes the reserve.
    pub(super) reserve: Reserve,
    pub(super) journal: Journal,
    /// The maximum time that one call waits for locks.
    pub(super) patience: Duration,
    pub(super) notice: Option<Notice>,
    pub(super) cache: PayloadCache,
    /// The number of saves through this connection since it last checked the running totals for folding. Starts at the
    /// threshold, so that the first sweep checks.
    pub(super) uncounted: usize,
    pub(super) raw: RawPayloads,
    pub(super) secure_delete: bool,
    /// True if the log may still contain deleted data that must be overwritten.
    pub(super) unclean: bool,
    pub(super) watch: Watch,
    /// Declared last, because the claim must end after the connections have closed the file.
    #[expect(dead_code, reason = "held for its end")]
    pub(super) claim: Claim,
}

impl Sqlite {
    /// Does the work of one call. The connection holds no lock before and after it.
    fn call<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        locks::release(&self.connection, self.journal);
        let done = vfs::within(self.patience, || work(self));
        locks::release(&self.connection, self.journal);
        done
    }

    /// Applies the units in one transaction.
    fn commit(&mut self, batch: &[Unit]) -> Result<Vec<Applied>, Failure> {
        let effort = self.raw.effort(batch.len());
        let transaction = self.watch.begin(&self.connection).map_err(Failure::Whole)?;
        let (applied, raw_bytes) = write::transaction(transaction, &self.cache, batch, effort)?;
        self.raw.add(raw_bytes);
        // A save to a removed or replaced file is not acknowledged, although it may be found later.
        self.watch.look(&self.connection).map_err(|error| Failure::Whole(error.with_outcome_unknown()))?;
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.after_commit(&self.connection, batch.len());
        }
        self.clean(batch.iter().flat_map(|unit| &unit.ops).any(Op::removes));
        let saves = |op: &&Op| matches!(op, Op::Put(_) | Op::Fork(_) | Op::Append { .. });
        self.uncounted += batch.iter().flat_map(|unit| &unit.ops).filter(saves).count();
        Ok(applied)
    }

    fn apply_batch(&mut self, units: &[Unit]) -> Vec<Result<Applied>> {
        batch::apply(units, |units| self.commit(units))
    }

    /// Applies the units. If the disk is full, makes room, and applies the units that free room or fit into free pages.
    fn apply_or_make_room(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        let mut outcomes = if self.reserve.lacks() {
            batch.iter().map(|_| Err(reserve_only())).collect()
        } else {
            self.apply_batch(batch)
        };
        if outcomes.iter().any(is_full) {
            self.make_room();
            for (unit, outcome) in batch.iter().zip(&mut outcomes).filter(|(_, outcome)| is_full(outcome)) {
                if self.fits(unit) {
                    *outcome =
                        self.apply_batch(std::slice::from_ref(unit)).pop().unwrap_or_else(|| Err(reserve_only()));
                    self.truncate_log();
                }
            }
        }
        self.reserve.keep();
        outcomes
    }

    /// Removes one batch of a rule. If the disk is full, makes room and removes smaller batches.
    fn prune_or_make_room(&mut self, prune: &Prune) -> Result<Pruned> {
        let mut most = prune.most;
        loop {
            let pruned = self
                .watch
                .begin(&self.connection)
                .and_then(|transaction| write::prune(transaction, &self.cache, &Prune { most, ..*prune }));
            if !is_full(&pruned) || most <= 1 {
                if most < prune.most {
                    self.truncate_log();
                }
                self.reserve.keep();
                self.clean(pruned.as_ref().is_ok_and(|pruned| pruned.checkpoints > 0));
                return pruned;
            }
            self.make_room();
            most = (most / 8).max(1);
        }
    }

    /// Frees the space of the reserve and of the log for the database.
    fn make_room(&mut self) {
        self.reserve.release();
        self.truncate_log();
    }

    /// Removes deleted data from the log, if the store must overwrite it. If a reader of another process still needs
    /// the log, a later commit or sweep tries again.
    fn clean(&mut self, removed: bool) {
        self.unclean |= removed && self.secure_delete && self.journal == Journal::Wal;
        if self.unclean {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            let busy = self.connection.query_row(sql, [], |row| row.get::<_, bool>("busy"));
            self.unclean = busy.unwrap_or(true);
        }
    }

    fn truncate_log(&self) {
        if self.journal == Journal::Wal {
            // If this fails, the caller sees that the disk is still full.
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }

    /// Returns true if the unit only removes, or if the database has enough free pages for it.
    fn fits(&self, unit: &Unit) -> bool {
        let adds = |op: &Op| matches!(op, Op::Put(_) | Op::Fork(_) | Op::Append { .. } | Op::Write { .. });
        if !unit.ops.iter().any(adds) {
            return true;
        }
        // The b-trees may need a few pages more than the data.
        let needed = 2 * unit.ops.iter().map(Op::weight).sum::<usize>() + (32 << 10);
        let number = |name| retention::pragma(&self.connection, name);
        let free = number("freelist_count").and_then(|count| Ok(count * number("page_size")?)).unwrap_or(0);
        free >= needed as u64
    }

    pub(super) fn path(&self) -> &Path {
        self.watch.path()
    }

    /// Changes the header of the file in one transaction.
    pub(super) fn change(&mut self, change: impl FnOnce(&Connection) -> Result<()>) -> Result<()> {
        let transaction = self.watch.begin(&self.connection)?;
        change(&transaction)?;
        transaction.commit().map_err(from_commit)
    }

    pub fn journal(&self) -> Journal {
        self.journal
    }

    /// Returns the value of a pragma as text, for tests and diagnosis.
    pub fn pragma(&self, name: &str) -> Result<String> {
        let value = self.connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))?;
        Ok(match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        })
    }
}

impl Verify for Sqlite {
    fn connection(&mut self) -> Result<&Connection> {
        Ok(&self.connection)
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // The next opening reports the loss.
        let _ = self.watch.end(&self.connection);
    }
}

impl Backend for Sqlite {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        self.call(|backend| backend.apply_or_make_room(batch))
    }

    fn only_reads(&mut self) -> Result<()> {
        self.call(|backend| Ok(connection::read_with_small_cache(&backend.connection)?))
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        let mut answer = Err(Error::poisoned());
        self.answer_all(std::slice::from_ref(query), &mut |told| answer = told);
        answer
    }

    fn answer_all(&mut self, queries: &[Query], tell: &mut dyn FnMut(Result<Answer>)) {
        if let Err(error) = self.watch.look_sometimes(&self.connection) {
            return queries.iter().for_each(|_| tell(Err(error.clone())));
        }
        self.call(|backend| read::answer_all(&backend.connection, backend.changes, &backend.cache, queries, tell));
    }

    fn answer_at_once(&mut self, query: &Query) -> Option<Answer> {
        // With a rollback journal, a read may have to roll back a killed process's changes, or wait for the network.
        if self.journal != Journal::Wal || self.watch.look_sometimes(&self.connection).is_err() {
            return None;
        }
        let Self { connection, changes, cache, .. } = self;
        let answer = || from_memory::within(|| read::answer_at_once(connection, *changes, cache, query));
        let answer = vfs::within(Duration::ZERO, answer);
        locks::release(&self.connection, self.journal);
        answer.ok()
    }

    fn has_one_lock(&self) -> bool {
        true
    }

    fn takes_long(&self, query: &Query) -> bool {
        read::takes_long(&self.connection, query)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.call(|backend| {
            if let Rule::MaxBytes(_) = prune.rule
                && prune.cursor == Cursor::default()
            {
                // Compress all waiting payloads first, so that their raw size does not count against the limit.
                while compress(&backend.connection, &mut backend.watch, &backend.cache, &|| false)? {}
            }
            backend.prune_or_make_room(prune)
        })
    }

    fn rest(&mut self, wanted: &dyn Fn() -> bool) -> Result<bool> {
        if !self.raw.may_be_left || self.reserve.lacks() {
            return Ok(false);
        }
        // Never wait for another process: if it writes, the database is not idle.
        let left = self.call(|all| {
            vfs::within(Duration::ZERO, || compress(&all.connection, &mut all.watch, &all.cache, wanted))
        })?;
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.copy_when_due(&self.connection);
        }
        self.reserve.keep();
        if !left {
            self.raw.none_left();
        }
        Ok(left)
    }

    fn sweep(&mut self) -> Result<bool> {
        self.call(|backend| {
            // An idle store also checks that its log still exists, while the log can be rescued.
            backend.watch.look_sometimes(&backend.connection)?;
            backend.clean(false);
            if backend.uncounted >= totals::WORTH_FOLDING {
                totals::fold(&backend.connection, &mut backend.watch)?;
                backend.uncounted = 0;
            }
            Ok(false)
        })
    }

    fn close(&mut self) -> Result<()> {
        self.watch.end(&self.connection)
    }

    fn closing(&mut self, deadline: Instant) {
        // An error is harmless: the busy timeout stays unchanged.
        self.patience = deadline.saturating_duration_since(Instant::now());
        let _ = self.connection.busy_timeout(self.patience);
    }

    fn vacuum(&mut self) -> Result<()> {
        self.watch.look(&self.connection)?;
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.stop();
        }
        self.call(|backend| retention::vacuum(&backend.connection)).map_err(|error| error.context("vacuum"))
    }

    fn migrate(&mut self) -> Result<()> {
        self.watch.look(&self.connection)?;
        self.call(|backend| schema::prepare(&backend.connection, Migrate::Auto))
    }

    fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }
}

/// Returns the access of a store to a database file.
pub(crate) fn opener(path: &Path, options: &StoreOptions, deadline: &Arc<Deadline>) -> Opener {
    let deadline = Arc::clone(deadline);
    if options.read_only {
        let (path, options) = (path.to_owned(), options.clone());
        let open = move || {
            let cache = PayloadCache::new(options.cache_bytes).up_to(options.largest_payload());
            let opened = ReadOnly::open_with(&path, deadline.limit(options.busy_timeout), cache)?;
            Ok(Box::new(opened) as Box<dyn Backend>)
        };
        return Opener {
            open: Arc::new(open),
            pre_encoder: None,
            sweeps_apart: false,
            reads_apart: true,
            listen: None,
        };
    }
    let sqlite = Options {
        durability: options.durability,
        busy_timeout: options.busy_timeout,
        cache_bytes: options.cache_bytes,
        largest_payload: options.largest_payload(),
        // Otherwise, a limit on bytes would remove more because of uncompressed payloads.
        raw_in_a_hurry: options.retention.max_bytes.is_none(),
        secure_delete: options.secure_delete,
        alone_in_process: true,
        migrate: options.migrate,
        ..Options::new(path)
    };
    let (cache, files) = (PayloadCache::new(sqlite.cache_bytes), StoreFiles::default());
    let pre_encoder = Arc::new(PreEncoder::new(cache.clone().up_to(sqlite.largest_payload)));
    let open = move || {
        let sqlite = Options { busy_timeout: deadline.limit(sqlite.busy_timeout), ..sqlite.clone() };
        Ok(Box::new(Sqlite::open_in(&sqlite, cache.clone(), &files)?) as Box<dyn Backend>)
    };
    Opener {
        open: Arc::new(open),
        pre_encoder: Some(pre_encoder),
        sweeps_apart: false,
        reads_apart: true,
        listen: None,
    }
}
