//! The importer's calls.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::saver::{SavedCheckpoint, SavedWrite, SqliteSaver, Typed};
use super::split::split;
use crate::contract::call::{Tool, read_json};
use crate::contract::entry::ToolMaker;
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::contract::types::CallTypes;
use crate::error::Result;
use crate::record::Part;

/// The maximum number of checkpoints in a page.
const PAGE: usize = 128;

/// A page ends after this number of bytes of checkpoints and writes.
const PAGE_BYTES: usize = 2 << 20;

/// The tools of the contract.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum Which {
    SqliteSaver { path: PathBuf },
}

pub(in crate::contract::langgraph) const TOOL: ToolMaker =
    ToolMaker { make: tool, types: CallTypes::tool::<Which, Call, Responses>() };

fn tool(which: &str) -> Result<Box<dyn Tool>> {
    let Which::SqliteSaver { path } = read_json(which)?;
    Ok(Box::new(SqliteSaver::new(path)))
}

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Lists all threads, or the existing threads of `of`. The last active thread comes last.
    Threads { of: Option<Vec<String>> },
    /// Reads a page of the checkpoints of these threads, with their writes. The page begins after a namespace and an id
    /// of the first thread. With `split`, checkpoints are split into parts where possible.
    Page { threads: Vec<String>, namespace: String, id: String, split: bool },
    /// Reads the writes to a checkpoint, which need not exist.
    Writes { thread_id: String, namespace: String, id: String },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    threads: Vec<String>,
    page: Vec<FoundThread>,
    writes: Vec<FoundWrite>,
}

/// The part of a page that belongs to a thread.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundThread {
    thread_id: String,
    checkpoints: Vec<FoundCheckpoint>,
    /// The missing checkpoints that have writes. Only listed with the last checkpoint of the thread.
    orphans: Vec<Orphan>,
    /// True if the page has the last checkpoint of the thread.
    ended: bool,
}

#[derive(Serialize, TS)]
struct FoundCheckpoint {
    namespace: String,
    id: String,
    parent: Option<String>,
    /// True if `parts` has a part for each channel. Otherwise the only part is the entire checkpoint.
    split: bool,
    parts: Vec<PackedPart>,
    metadata: PackedPart,
    writes: Vec<FoundWrite>,
}

#[derive(Serialize, TS)]
struct Orphan {
    namespace: String,
    id: String,
    writes: Vec<FoundWrite>,
}

/// A write in a response. The channel is the name of the write's part.
#[derive(Serialize, TS)]
struct FoundWrite {
    task: String,
    index: i64,
    part: PackedPart,
}

/// A response that counts the bytes of its parts.
#[derive(Default)]
struct Page {
    response: ResponseBuilder,
    bytes: usize,
}

impl Page {
    fn part(&mut self, part: Part) -> PackedPart {
        self.bytes += part.bytes.len();
        self.response.part(part)
    }

    fn typed(&mut self, name: String, (tag, bytes): Typed) -> PackedPart {
        self.part(Part { name, tag, bytes: bytes.into() })
    }

    fn writes(&mut self, found: Vec<SavedWrite>) -> Vec<FoundWrite> {
        let write =
            |SavedWrite { task, index, channel, value }| FoundWrite { task, index, part: self.typed(channel, value) };
        found.into_iter().map(write).collect()
    }

    fn checkpoint(&mut self, found: SavedCheckpoint, writes: Vec<SavedWrite>, split_it: bool) -> FoundCheckpoint {
        let SavedCheckpoint { namespace, id, parent, checkpoint, metadata } = found;
        let parts = if split_it && checkpoint.0 == "json" { split(&checkpoint.1) } else { None };
        let split = parts.is_some();
        let parts = match parts {
            Some(parts) => parts.into_iter().map(|part| self.part(part)).collect(),
            None => vec![self.typed(String::new(), checkpoint)],
        };
        let metadata = self.typed(String::new(), metadata);
        FoundCheckpoint { namespace, id, parent, split, parts, metadata, writes: self.writes(writes) }
    }
}

impl SqliteSaver {
    fn page(&mut self, threads: Vec<String>, mut after: (String, String), split: bool) -> Result<Response> {
        let (mut page, mut rows, mut found) = (Page::default(), 0, Vec::new());
        for thread_id in threads {
            let mut thread = FoundThread { thread_id, checkpoints: Vec::new(), orphans: Vec::new(), ended: false };
            while rows < PAGE && page.bytes < PAGE_BYTES && !thread.ended {
                // Read a few rows at a time, because a row may be large.
                let some = self.checkpoints(&thread.thread_id, (&after.0, &after.1), SOME)?;
                thread.ended = some.len() < SOME as usize;
                rows += some.len();
                for row in some {
                    after = (row.namespace.clone(), row.id.clone());
                    let writes = self.writes(&thread.thread_id, &row.namespace, &row.id)?;
                    thread.checkpoints.push(page.checkpoint(row, writes, split));
                }
            }
            if thread.ended {
                for (namespace, id) in self.orphans(&thread.thread_id)? {
                    let writes = self.writes(&thread.thread_id, &namespace, &id)?;
                    thread.orphans.push(Orphan { namespace, id, writes: page.writes(writes) });
                }
                after = (String::new(), String::new());
            }
            let full = !thread.ended;
            if thread.ended || !thread.checkpoints.is_empty() {
                found.push(thread);
            }
            if full {
                break;
            }
        }
        page.response.finish(&found)
    }
}

/// The number of rows in one read.
const SOME: u32 = 16;

/// JavaScript calls this tool on Node's thread pool, because it reads from a disk.
impl Tool for SqliteSaver {
    fn call(&mut self, call: &str) -> Result<Response> {
        match read_json(call)? {
            Call::Threads { of: None } => Response::json(&self.threads()?),
            Call::Threads { of: Some(of) } => Response::json(&self.existing(of)?),
            Call::Page { threads, namespace, id, split } => self.page(threads, (namespace, id), split),
            Call::Writes { thread_id, namespace, id } => {
                let mut page = Page::default();
                let found = self.writes(&thread_id, &namespace, &id)?;
                let found = page.writes(found);
                page.response.finish(&found)
            }
        }
    }
}
