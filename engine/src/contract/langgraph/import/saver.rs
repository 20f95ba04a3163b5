//! Reads the tables of a `SqliteSaver`.

use crate::backend::sqlite::unchanged::Unchanged;
use crate::codec::largest;
use crate::error::{Code, Error, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A database of a `SqliteSaver`. The first call opens the database.
#[derive(Debug)]
pub struct SqliteSaver {
    path: PathBuf,
    file: Option<Unchanged>,
}

/// A serialized value: the serializer's tag and the bytes.
pub type Typed = (String, Vec<u8>);

/// A row of `checkpoints`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedCheckpoint {
    /// `checkpoint_ns`.
    pub namespace: String,
    pub id: String,
    /// `parent_checkpoint_id`.
    pub parent: Option<String>,
    /// `checkpoint`: the complete serialized checkpoint.
    pub checkpoint: Typed,
    pub metadata: Typed,
}

/// A row of `writes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedWrite {
    /// `task_id`.
    pub task: String,
    /// `idx`.
    pub index: i64,
    pub channel: String,
    pub value: Typed,
}

impl SqliteSaver {
    /// A reader of the database at this path. The first call opens the database.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None }
    }

    /// Lists all threads, including threads with writes but no checkpoints. The last active thread comes last: ids of
    /// checkpoints sort by time.
    pub fn threads(&mut self) -> Result<Vec<String>> {
        let sql = "SELECT thread_id FROM (
                     SELECT thread_id, iif(checkpoint_ns = '', checkpoint_id, '') AS id FROM checkpoints
                     UNION ALL SELECT DISTINCT thread_id, '' FROM writes)
                   GROUP BY thread_id ORDER BY max(id), thread_id";
        self.all(sql, [], |row| row.get(0))
    }

    /// Lists those of `threads` that exist, in the order of [`Self::threads`].
    pub fn existing(&mut self, threads: Vec<String>) -> Result<Vec<String>> {
        let sql = "SELECT max(id) FROM (
                     SELECT iif(checkpoint_ns = '', checkpoint_id, '') AS id FROM checkpoints WHERE thread_id = ?1
                     UNION ALL SELECT '' WHERE EXISTS (SELECT 1 FROM writes WHERE thread_id = ?1))";
        let mut found = BTreeSet::new();
        for thread in threads {
            let last: Vec<Option<String>> = self.all(sql, [&thread], |row| row.get(0)).map_err(in_thread(&thread))?;
            found.extend(last.into_iter().flatten().map(|last| (last, thread.clone())));
        }
        Ok(found.into_iter().map(|(_, thread)| thread).collect())
    }

    /// Reads a page of a thread's checkpoints, ordered by namespace and id. The page begins after the namespace and
    /// the id in `after`.
    pub fn checkpoints(&mut self, thread: &str, after: (&str, &str), limit: u32) -> Result<Vec<SavedCheckpoint>> {
        let sql =
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints
                   WHERE thread_id = ? AND (checkpoint_ns, checkpoint_id) > (?, ?)
                   ORDER BY checkpoint_ns, checkpoint_id LIMIT ?";
        self.all(sql, params![thread, after.0, after.1, limit], |row| {
            let tag = tag(row, 3)?;
            Ok(SavedCheckpoint {
                namespace: row.get(0)?,
                id: row.get(1)?,
                parent: row.get::<_, Option<String>>(2)?.filter(|parent| !parent.is_empty()),
                checkpoint: (tag.clone(), bytes(row, 4)?),
                metadata: (tag, bytes(row, 5)?),
            })
        })
        .map_err(in_thread(thread))
    }

    /// Reads the writes to a checkpoint, in the order in which they were written. The checkpoint need not exist.
    pub fn writes(&mut self, thread: &str, namespace: &str, id: &str) -> Result<Vec<SavedWrite>> {
        let sql = "SELECT task_id, idx, channel, type, value FROM writes
                   WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY rowid";
        self.all(sql, params![thread, namespace, id], |row| {
            let value = (tag(row, 3)?, bytes(row, 4)?);
            Ok(SavedWrite { task: row.get(0)?, index: row.get(1)?, channel: row.get(2)?, value })
        })
        .map_err(in_thread(thread))
    }

    /// Lists the missing checkpoints that have writes, as pairs of namespace and id.
    pub fn orphans(&mut self, thread: &str) -> Result<Vec<(String, String)>> {
        let sql = "SELECT DISTINCT checkpoint_ns, checkpoint_id FROM writes
                   WHERE thread_id = ?1 AND NOT EXISTS (
                     SELECT 1 FROM checkpoints WHERE checkpoints.thread_id = ?1
                     AND checkpoints.checkpoint_ns = writes.checkpoint_ns
                     AND checkpoints.checkpoint_id = writes.checkpoint_id)";
        self.all(sql, params![thread], |row| Ok((row.get(0)?, row.get(1)?))).map_err(in_thread(thread))
    }

    fn all<T>(
        &mut self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(&self.path)?),
        };
        let found = file
            .connection()
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, read)?.collect())
            .map_err(|error| failed(&self.path, error));
        // Another program may have changed the file, which may also be the cause of an error.
        if !file.is_current(&self.path) {
            let message =
                format!("another program wrote to \"{}\" during the import: import again", self.path.display());
            return Err(Error::new(Code::Busy, message));
        }
        found
    }
}

/// How long the import waits for another process's lock.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens the database of a saver. A transaction lasts as long as the connection, so all reads see one snapshot.
fn open(path: &Path) -> Result<Unchanged> {
    let shown = path.display();
    if !path.is_file() {
        return Err(Error::new(Code::NotFound, format!("there is no file \"{shown}\" to import: check the path")));
    }
    let file = Unchanged::open(path, PATIENCE, largest::MOST)
        .map_err(|error| error.context(&format!("cannot read \"{shown}\"")))?;
    let begin = file.connection().execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema");
    begin.map_err(|error| failed(path, error))?;
    if is_known(file.connection()).map_err(|error| failed(path, error))? {
        return Ok(file);
    }
    Err(Error::new(
        Code::Unsupported,
        format!(
            "\"{shown}\" is not a database of LangGraph's SqliteSaver: its tables \"checkpoints\" and \"writes\" are \
             missing. Pass the file that the saver wrote"
        ),
    ))
}

/// Returns true if the database has the tables of a `SqliteSaver`.
fn is_known(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?";
    for table in ["checkpoints", "writes"] {
        for column in ["thread_id", "checkpoint_ns", "checkpoint_id", "type"] {
            if connection.query_row(sql, [table, column], |_| Ok(())).optional()?.is_none() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn failed(path: &Path, error: rusqlite::Error) -> Error {
    Error::from(error).context(&format!("cannot read \"{}\"", path.display()))
}

/// Adds the thread to the error.
fn in_thread(thread: &str) -> impl Fn(Error) -> Error {
    move |error| error.context(&format!("thread {thread:?}"))
}

fn tag(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(row.get::<_, Option<String>>(column)?.unwrap_or_else(|| "json".to_owned()))
}

/// Reads the bytes of a BLOB, or of a TEXT that an earlier version of the saver wrote.
fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    })
}
