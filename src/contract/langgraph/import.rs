//! Imports a database of `LangGraph`'s `SqliteSaver` (`@langchain/langgraph-checkpoint-sqlite`).
//!
//! The import only reads the database, in one snapshot. It copies serialized bytes unchanged, because only the
//! serializer can interpret them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Row, params};
use serde::{Deserialize, Serialize};

use crate::backend::sqlite::from_sqlite;
use crate::contract::call::{Tool, read_json};
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::error::{Code, Error, Result};
use crate::record::Part;

/// A database of a `SqliteSaver`. The first call opens the database.
#[derive(Debug)]
pub struct SqliteSaver {
    path: PathBuf,
    connection: Option<Connection>,
}

/// A serialized value: the serializer's tag and the bytes.
pub type Typed = (String, Vec<u8>);

/// A row of `checkpoints`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedCheckpoint {
    /// `checkpoint_ns`.
    pub namespace: String,
    /// `checkpoint_id`.
    pub id: String,
    /// `parent_checkpoint_id`.
    pub parent: Option<String>,
    /// `checkpoint`: the complete serialized checkpoint.
    pub checkpoint: Typed,
    /// `metadata`.
    pub metadata: Typed,
}

/// A row of `writes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedWrite {
    /// `task_id`.
    pub task: String,
    /// `idx`.
    pub index: i64,
    /// `channel`.
    pub channel: String,
    /// `value`.
    pub value: Typed,
}

impl SqliteSaver {
    /// A reader of the database at this path. The first call opens the database.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), connection: None }
    }

    /// Lists all threads, including threads that have writes but no checkpoints.
    pub fn threads(&mut self) -> Result<Vec<String>> {
        self.all("SELECT thread_id FROM checkpoints UNION SELECT thread_id FROM writes", [], |row| row.get(0))
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

    /// Lists the checkpoints that have writes but do not exist, as pairs of namespace and id.
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
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(open(&self.path)?),
        };
        connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, read)?.collect())
            .map_err(|error| failed(&self.path, error))
    }
}

fn failed(path: &Path, error: rusqlite::Error) -> Error {
    from_sqlite(error).context(&format!("cannot read \"{}\"", path.display()))
}

/// Adds the thread to the error.
fn in_thread(thread: &str) -> impl Fn(Error) -> Error {
    move |error| error.context(&format!("thread {thread:?}"))
}

pub(super) fn tool(which: &str) -> Result<Box<dyn Tool>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Which {
        SqliteSaver { path: PathBuf },
    }
    let Which::SqliteSaver { path } = read_json(which)?;
    Ok(Box::new(SqliteSaver::new(path)))
}

/// The importer's calls, as `ts/langgraph/wire.ts` declares them. A page of checkpoints begins after `namespace` and
/// `id`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    Threads {},
    Checkpoints { thread_id: String, namespace: String, id: String, limit: u32 },
    Writes { thread_id: String, namespace: String, id: String },
    Orphans { thread_id: String },
}

#[derive(Serialize)]
struct FoundCheckpoint {
    namespace: String,
    id: String,
    parent: Option<String>,
    checkpoint: PackedPart,
    metadata: PackedPart,
}

/// A write in a response. The channel is the name of the write's part.
#[derive(Serialize)]
struct FoundWrite {
    task: String,
    index: i64,
    part: PackedPart,
}

#[derive(Serialize)]
struct Orphan {
    namespace: String,
    id: String,
}

/// JavaScript calls this tool on Node's thread pool, because the tool reads from a disk.
impl Tool for SqliteSaver {
    fn call(&mut self, call: &str) -> Result<Response> {
        let mut response = ResponseBuilder::default();
        let mut part = |name, (tag, bytes): Typed| response.part(Part { name, tag, bytes: bytes.into() });
        match read_json(call)? {
            Call::Threads {} => Response::json(&self.threads()?),
            Call::Checkpoints { thread_id, namespace, id, limit } => {
                let found = self.checkpoints(&thread_id, (&namespace, &id), limit)?.into_iter();
                let found: Vec<_> = found
                    .map(|SavedCheckpoint { namespace, id, parent, checkpoint, metadata }| FoundCheckpoint {
                        namespace,
                        id,
                        parent,
                        checkpoint: part(String::new(), checkpoint),
                        metadata: part(String::new(), metadata),
                    })
                    .collect();
                response.finish(&found)
            }
            Call::Writes { thread_id, namespace, id } => {
                let found = self.writes(&thread_id, &namespace, &id)?.into_iter();
                let found: Vec<_> = found
                    .map(|SavedWrite { task, index, channel, value }| FoundWrite {
                        task,
                        index,
                        part: part(channel, value),
                    })
                    .collect();
                response.finish(&found)
            }
            Call::Orphans { thread_id } => {
                let found = self.orphans(&thread_id)?.into_iter();
                Response::json(&found.map(|(namespace, id)| Orphan { namespace, id }).collect::<Vec<_>>())
            }
        }
    }
}

fn open(path: &Path) -> Result<Connection> {
    let shown = path.display();
    let failed = |error| failed(path, error);
    if !path.is_file() {
        return Err(Error::new(Code::NotFound, format!("there is no file \"{shown}\" to import: check the path")));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(Duration::from_secs(30)).map_err(failed)?;
    // The transaction stays open until the connection is closed, so all reads see one snapshot.
    connection.execute_batch("BEGIN").map_err(failed)?;
    let has = |table: &str, column: &str| {
        let sql = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?";
        connection.query_row(sql, [table, column], |_| Ok(())).optional().map(|found| found.is_some())
    };
    let mut known = true;
    for table in ["checkpoints", "writes"] {
        for column in ["thread_id", "checkpoint_ns", "checkpoint_id", "type"] {
            known = known && has(table, column).map_err(failed)?;
        }
    }
    if known {
        Ok(connection)
    } else {
        Err(Error::new(
            Code::Unsupported,
            format!(
                "\"{shown}\" is not a database of LangGraph's SqliteSaver: its tables \"checkpoints\" and \"writes\" are \
                 missing. Give the file that the saver wrote"
            ),
        ))
    }
}

fn tag(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(row.get::<_, Option<String>>(column)?.unwrap_or_else(|| "json".to_owned()))
}

/// Reads the bytes of a BLOB. The value may also be a TEXT that an earlier version of the saver has written.
fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    })
}
