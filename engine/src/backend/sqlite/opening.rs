//! Opens a database file: checks it, sets its journal, and creates its tables.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::backend::Sqlite;
use super::changes::Changes;
use super::connection::{connect, set_journal};
use super::identity::{Claim, one_copy_at_a_time};
use super::options::{Journal, Options};
use super::raw::RawPayloads;
use super::reserve::Reserve;
use super::user_version::UserVersion;
use super::wal::Checkpointer;
use super::wal_index::refuse_missing_log;
use super::watch::{StoreFiles, Watch, note_unsynced};
use super::{file, known_schema, limits, locks, log_damage, log_owner, new_file, schema, steps, totals, vfs};
use crate::cache::PayloadCache;
use crate::error::{Code, Error, Result};
use crate::options::{Durability, Migrate};
use crate::record::Notice;

fn without_tables() -> Error {
    let message =
        "there is no such database, and \"migrate\" is \"never\": check the path, or make it with another setting";
    Error::new(Code::NotFound, message).lasting()
}

/// The oldest `SQLite` version without the WAL-reset bug, which loses commits when two connections checkpoint at the
/// same time.
const OLDEST_SQLITE: i32 = 3_051_003;

impl Sqlite {
    /// Opens the database file. Creates it if it does not exist.
    pub fn open(options: &Options) -> Result<Self> {
        Self::open_with(options, PayloadCache::new(options.cache_bytes))
    }

    /// Opens the database file with a payload cache that other connections to the same file share.
    pub fn open_with(options: &Options, cache: PayloadCache) -> Result<Self> {
        Self::open_in(options, cache, &StoreFiles::default())
    }

    /// Opens another connection of a store. All connections must use the files that the first one has found.
    pub(super) fn open_in(options: &Options, cache: PayloadCache, store: &StoreFiles) -> Result<Self> {
        vfs::within(options.busy_timeout, || Self::open_file(options, cache, store))
            .map_err(|error| file::lasting(error, &options.path))
            .map_err(|error| error.context(&format!("cannot open \"{}\"", options.path.display())))
    }

    fn open_file(options: &Options, cache: PayloadCache, store: &StoreFiles) -> Result<Self> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            let message = format!(
                "SQLite {} can lose commits when two connections checkpoint at the same time: build Forkpoint with SQLite 3.51.3 or later",
                rusqlite::version()
            );
            return Err(Error::new(Code::Unsupported, message));
        }
        let (path, connection, claim, lacks_log) = Self::connect(options)?;
        let network = file::network(&path);
        let journal = options.journal.unwrap_or(if network.is_some() { Journal::Rollback } else { Journal::Wal });
        let synchronous = match (options.durability, journal) {
            (Durability::Full, Journal::Wal) => "FULL",
            // With a rollback journal, removing the journal commits the transaction. EXTRA also syncs the directory
            // after the removal.
            (Durability::Full, Journal::Rollback) => "EXTRA",
            (Durability::Normal, _) => "NORMAL",
            (Durability::Off, _) => "OFF",
        };
        let state = Self::inspect_to_write(&connection);
        let prepared =
            steps::within(&connection, || Self::prepare(&connection, state, &path, journal, synchronous, options));
        // Release locks even after a failure: closing a connection does not release locks that it failed to unlock.
        locks::release(&connection, journal);
        prepared?;
        let watch = Watch::new(&path, journal, options.durability, store)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        new_file::end(&path);

        let network = network.filter(|_| journal == Journal::Rollback);
        let notice = lacks_log.or_else(|| network.map(|kind| file::on_network(&path, kind)));
        let checkpointer =
            (journal == Journal::Wal).then(|| Checkpointer::new(&watch, synchronous, options.busy_timeout));
        let (reserve, patience) = (Reserve::new(&path), options.busy_timeout);
        Ok(Self {
            checkpointer,
            connection,
            changes: Changes::of_new_connection(),
            reserve,
            journal,
            patience,
            notice,
            cache: cache.up_to(options.largest_payload),
            uncounted: totals::WORTH_FOLDING,
            secure_delete: options.secure_delete,
            unclean: false,
            raw: RawPayloads::new(options.raw_in_a_hurry),
            watch,
            claim,
        })
    }

    /// Determines the tables of a file. Fails if this release may not write to it.
    fn inspect_to_write(connection: &Connection) -> Result<schema::State> {
        steps::within_schema(connection, || {
            let state = known_schema::inspect(connection)?;
            schema::require_writable(connection).map(|()| state)
        })
    }

    /// Sets the journal, and creates the tables if they are missing. `state` is the outcome of the inspection.
    fn prepare(
        connection: &Connection,
        state: Result<schema::State>,
        path: &Path,
        journal: Journal,
        synchronous: &str,
        options: &Options,
    ) -> Result<()> {
        // A database without its log may look damaged. A database without a log must get no WAL index.
        let has_log = || connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
        if state.is_err() || has_log()? == "wal" {
            refuse_missing_log(connection, path)?;
        }
        if state? == schema::State::Empty && options.migrate == Migrate::Never {
            return Err(without_tables());
        }
        connection.pragma_update(None, "synchronous", synchronous)?;
        // FAST overwrites removed data only in pages that are written anyway.
        let overwrite = if options.secure_delete { "ON" } else { "FAST" };
        connection.pragma_update_and_check(None, "secure_delete", overwrite, |_| Ok(()))?;
        if options.durability != Durability::Full {
            note_unsynced(connection, path)?;
        }
        set_journal(connection, journal, options.busy_timeout)?;
        schema::prepare(connection, options.migrate)
    }

    /// Connects to the file. Refuses a database of another program or a newer version, before changing the file.
    ///
    /// The last part of the result is a notice if the tables of the file are in a missing log.
    fn connect(options: &Options) -> Result<(PathBuf, Connection, Claim, Option<Notice>)> {
        // Open one file at a time: `file::prepare` closes the file that it has created. Closing any descriptor of a
        // file drops the locks of this process's other connections to it.
        static OPENING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let _one_copy_at_a_time = options.alone_in_process.then(one_copy_at_a_time);
        if options.migrate == Migrate::Never && matches!(fs::exists(&options.path), Ok(false)) {
            return Err(without_tables());
        }
        let path = file::prepare(&options.path)?;
        let claim = Claim::new(&path, options.alone_in_process)?;
        // Inspect the file without locks first, so that no WAL is created beside a refused file. Ignore other errors
        // here: the real connection below reports them.
        let state = limits::peek(&path).map(|connection| Self::inspect_to_write(&connection));
        // If there is a log, it may contain newer tables. The real connection then decides, before it changes anything.
        if let Ok(Err(error)) = &state
            && error.code() == Code::Unsupported
            && !file::has(&path, "-wal")
        {
            return Err(error.clone());
        }
        let lacks_log = match state {
            Ok(Ok(schema::State::Empty)) if options.migrate != Migrate::Never => new_file::begin(&path, &claim),
            _ => None,
        };
        // A database that this process already has open needs no recovery.
        let checked = claim.if_only(|| {
            log_owner::refuse_foreign(&path)?;
            match options.durability {
                Durability::Full => log_damage::refuse(&path, UserVersion::of_file(&path).unwrap_or_default()),
                Durability::Normal | Durability::Off => Ok(()),
            }
        });
        checked.transpose()?;
        let connection = connect(&path, options.busy_timeout, options.largest_payload)?;
        Ok((path, connection, claim, lacks_log))
    }
}
