//! The backend: a connection to a database file, and what a full disk and an idle store need.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::connection::{connect, set_journal};
use super::identity::{Claim, Watch, one_copy_at_a_time};
use super::options::{Journal, Options};
use super::raw::{RawPayloads, compress};
use super::read_only::ReadOnly;
use super::reserve::{Reserve, is_full, reserve_only};
use super::wal::Checkpointer;
use super::{file, locks, log_damage, new_file, read, retention, schema, totals, vfs, write};
use crate::backend::batch::{self, Failure};
use crate::backend::interface::Backend;
use crate::backend::lazy::Opener;
use crate::backend::pre_encoder::PreEncoder;
use crate::cache::PayloadCache;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::op::{Applied, Op, Unit};
use crate::options::{Durability, Options as StoreOptions};
use crate::query::{Answer, Query};
use crate::record::Notice;
use crate::retention::{Cursor, Prune, Pruned, Rule};

/// The oldest `SQLite` version without the WAL-reset bug. This bug loses commits when two connections checkpoint at
/// the same time.
const OLDEST_SQLITE: i32 = 3_051_003;

/// One connection to one database file. Several connections, also in several processes, may use the same file.
#[derive(Debug)]
pub struct Sqlite {
    /// This field is declared before `connection`, so that the connection of its thread closes first. The last
    /// connection to close removes the WAL.
    checkpointer: Option<Checkpointer>,
    pub(super) connection: Connection,
    /// This field is declared after `connection`, because the last connection to close removes the reserve.
    reserve: Reserve,
    journal: Journal,
    /// How long one call may wait for locks.
    patience: Duration,
    notice: Option<Notice>,
    cache: PayloadCache,
    /// The number of saves through this connection since the connection last checked whether the running totals need
    /// folding. The number starts at the threshold, so that the first sweep checks the totals.
    uncounted: usize,
    raw: RawPayloads,
    watch: Watch,
    /// This field is declared last, because the claim must end after the connections have closed the file.
    #[expect(dead_code, reason = "held for its end")]
    claim: Claim,
}

impl Sqlite {
    /// Opens the database file. Creates it if it does not exist.
    pub fn open(options: &Options) -> Result<Self> {
        Self::open_with(options, PayloadCache::new(options.cache_bytes))
    }

    /// Opens the database file with a payload cache that other connections to the same file share.
    pub fn open_with(options: &Options, cache: PayloadCache) -> Result<Self> {
        vfs::within(options.busy_timeout, || Self::open_file(options, cache))
            .map_err(|error| file::lasting(error, &options.path))
            .map_err(|error| error.context(&format!("cannot open \"{}\"", options.path.display())))
    }

    fn open_file(options: &Options, cache: PayloadCache) -> Result<Self> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            let message = format!(
                "SQLite {} can lose commits when two connections checkpoint at the same time: build Forkpoint with SQLite 3.51.3 or later",
                rusqlite::version()
            );
            return Err(Error::new(Code::Unsupported, message));
        }
        let (path, mut connection, claim, lacks_log) = Self::connect(options)?;
        let network = file::network(&path);
        let journal = options.journal.unwrap_or(if network.is_some() { Journal::Rollback } else { Journal::Wal });
        let synchronous = match (options.durability, journal) {
            (Durability::Full, Journal::Wal) => "FULL",
            // With a rollback journal, removing the journal file commits the transaction. EXTRA also syncs the
            // directory after the removal.
            (Durability::Full, Journal::Rollback) => "EXTRA",
            (Durability::Normal, _) => "NORMAL",
            (Durability::Off, _) => "OFF",
        };
        let prepared = Self::prepare(&mut connection, journal, synchronous, options.busy_timeout);
        // Also if this failed: closing a connection does not give back the locks of its failed unlocks.
        locks::release(&connection, journal);
        prepared?;
        new_file::end(&path);

        let network = network.filter(|_| journal == Journal::Rollback);
        let notice = lacks_log.or_else(|| network.map(|kind| file::on_network(&path, kind)));
        let checkpointer =
            (journal == Journal::Wal).then(|| Checkpointer::new(path.clone(), synchronous, options.busy_timeout));
        let (reserve, patience, watch) = (Reserve::new(&path), options.busy_timeout, Watch::new(&path));
        Ok(Self {
            checkpointer,
            connection,
            reserve,
            journal,
            patience,
            notice,
            cache,
            uncounted: totals::WORTH_FOLDING,
            raw: RawPayloads::new(options.raw_in_a_hurry),
            watch,
            claim,
        })
    }

    /// Sets the journal, and creates the tables if they are missing.
    fn prepare(connection: &mut Connection, journal: Journal, synchronous: &str, busy_timeout: Duration) -> Result<()> {
        let state = schema::inspect(connection)?;
        set_journal(connection, journal, busy_timeout)?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        if state != schema::State::Ready {
            schema::create(connection)?;
        }
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        Ok(())
    }

    /// Connects to the file. Refuses a database of another program or of a newer version, before anything can change
    /// the file.
    ///
    /// The last part of the result says that the tables of the file are in a log that is missing, if they are.
    fn connect(options: &Options) -> Result<(PathBuf, Connection, Claim, Option<Notice>)> {
        // Open one file at a time. `file::prepare` closes a file after creating it. Closing any descriptor of a file
        // drops the locks that other connections of this process have on the file.
        static OPENING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let _one_copy_at_a_time = options.alone_in_process.then(one_copy_at_a_time);
        let path = file::prepare(&options.path)?;
        let claim = Claim::new(&path, options.alone_in_process)?;
        // Inspect the file without locks first, so that no WAL is created beside a file that is refused. Other errors
        // are ignored here: the real connection below reports them.
        let state = file::peek(&path).map(|connection| schema::inspect(&connection));
        if let Ok(Err(error)) = &state
            && error.code() == Code::Unsupported
        {
            return Err(error.clone());
        }
        let lacks_log = match state {
            Ok(Ok(schema::State::Lacks(0))) => new_file::begin(&path, &claim),
            _ => None,
        };
        if options.durability == Durability::Full {
            log_damage::refuse(&path)?;
        }
        let connection = connect(&path, options.busy_timeout)?;
        Ok((path, connection, claim, lacks_log))
    }

    /// Does the work of one call. Before and after it, the connection holds no lock.
    fn call<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        locks::release(&self.connection, self.journal);
        let done = vfs::within(self.patience, || work(self));
        locks::release(&self.connection, self.journal);
        done
    }

    /// Applies the units in one transaction.
    fn commit(&mut self, batch: &[Unit]) -> Result<Vec<Applied>, Failure> {
        self.watch.check().map_err(Failure::Whole)?;
        let effort = self.raw.effort(batch.len());
        let (applied, raw_bytes) = write::transaction(&mut self.connection, &self.cache, batch, effort)?;
        self.raw.add(raw_bytes);
        // Check the file after the commit: a save to a file that was removed or replaced is not acknowledged.
        self.watch.look().map_err(Failure::Whole)?;
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.after_commit(&self.connection, batch.len());
        }
        let saves = |op: &&Op| matches!(op, Op::Put(_) | Op::Fork(_) | Op::Append { .. });
        self.uncounted += batch.iter().flat_map(|unit| &unit.ops).filter(saves).count();
        Ok(applied)
    }

    fn apply_batch(&mut self, units: &[Unit]) -> Vec<Result<Applied>> {
        batch::apply(units, |units| self.commit(units))
    }

    /// Applies the units. If the disk is full, makes room and applies what frees room or needs no more of it.
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

    /// Removes one batch of the rule. If the disk is full, makes room and removes smaller batches.
    fn prune_or_make_room(&mut self, prune: &Prune) -> Result<Pruned> {
        let mut most = prune.most;
        loop {
            let pruned = write::prune(&mut self.connection, &self.cache, &Prune { most, ..*prune });
            if !is_full(&pruned) || most <= 1 {
                if most < prune.most {
                    self.truncate_log();
                }
                self.reserve.keep();
                return pruned;
            }
            self.make_room();
            most = (most / 8).max(1);
        }
    }

    /// Gives the room of the reserve and of the log to the database.
    fn make_room(&mut self) {
        self.reserve.release();
        self.truncate_log();
    }

    fn truncate_log(&self) {
        if self.journal == Journal::Wal {
            // If this fails, the caller sees that the disk is still full.
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }

    /// Returns true if the unit removes only, or if the database has enough free pages for it.
    fn fits(&self, unit: &Unit) -> bool {
        let adds = |op: &Op| matches!(op, Op::Put(_) | Op::Fork(_) | Op::Append { .. } | Op::Write { .. });
        if !unit.ops.iter().any(adds) {
            return true;
        }
        // The b-trees may need some pages more than the data.
        let needed = 2 * unit.ops.iter().map(Op::weight).sum::<usize>() + (32 << 10);
        let number = |name| retention::pragma(&self.connection, name);
        let free = number("freelist_count").and_then(|count| Ok(count * number("page_size")?)).unwrap_or(0);
        free >= needed as u64
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

impl Backend for Sqlite {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        self.call(|backend| backend.apply_or_make_room(batch))
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        self.watch.look()?;
        self.call(|backend| read::answer(&backend.connection, &backend.cache, query))
    }

    fn takes_long(&self, query: &Query) -> bool {
        read::takes_long(query)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.watch.look()?;
        self.call(|backend| {
            if let Rule::MaxBytes(_) = prune.rule
                && prune.cursor == Cursor::default()
            {
                // What only waits to be compressed must not count against the limit.
                while compress(&mut backend.connection, &backend.cache, &|| false)? {}
            }
            backend.prune_or_make_room(prune)
        })
    }

    fn rest(&mut self, wanted: &dyn Fn() -> bool) -> Result<bool> {
        if !self.raw.may_be_left || self.reserve.lacks() {
            return Ok(false);
        }
        self.watch.look()?;
        // Never wait for another process: it writes, so the database is not idle.
        let left =
            self.call(|all| vfs::within(Duration::ZERO, || compress(&mut all.connection, &all.cache, wanted)))?;
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
            if backend.uncounted >= totals::WORTH_FOLDING {
                totals::fold(&mut backend.connection)?;
                backend.uncounted = 0;
            }
            Ok(false)
        })
    }

    fn close(&mut self) -> Result<()> {
        self.watch.look_now()
    }

    fn closing(&mut self, deadline: Instant) {
        // An error is harmless, because the busy timeout then stays unchanged.
        self.patience = deadline.saturating_duration_since(Instant::now());
        let _ = self.connection.busy_timeout(self.patience);
    }

    fn vacuum(&mut self) -> Result<()> {
        self.watch.look()?;
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.stop();
        }
        self.call(|backend| retention::vacuum(&backend.connection)).map_err(|error| error.context("vacuum"))
    }

    fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }
}

/// What a store needs to use a database file.
pub(crate) fn opener(path: &Path, options: &StoreOptions, deadline: &Arc<Deadline>) -> Opener {
    let deadline = Arc::clone(deadline);
    if options.read_only {
        let (path, cache_bytes, patience) = (path.to_owned(), options.cache_bytes, options.busy_timeout);
        let open = move || {
            let opened = ReadOnly::open(&path, deadline.limit(patience), cache_bytes)?;
            Ok(Box::new(opened) as Box<dyn Backend>)
        };
        return Opener { open: Arc::new(open), pre_encoder: None };
    }
    let sqlite = Options {
        durability: options.durability,
        busy_timeout: options.busy_timeout,
        cache_bytes: options.cache_bytes,
        // Payloads that wait to be compressed would make a limit on bytes remove more.
        raw_in_a_hurry: options.retention.max_bytes.is_none(),
        alone_in_process: true,
        ..Options::new(path)
    };
    let cache = PayloadCache::new(sqlite.cache_bytes);
    let pre_encoder = Arc::new(PreEncoder::new(cache.clone()));
    let open = move || {
        let sqlite = Options { busy_timeout: deadline.limit(sqlite.busy_timeout), ..sqlite.clone() };
        Ok(Box::new(Sqlite::open_with(&sqlite, cache.clone())?) as Box<dyn Backend>)
    };
    Opener { open: Arc::new(open), pre_encoder: Some(pre_encoder) }
}
