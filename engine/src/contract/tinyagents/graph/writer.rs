//! The writes of a run, in order.

use std::collections::{BTreeMap, VecDeque};

use super::protocol::{Command, TaskId, WriteId};

/// A write that has not been sent to the host.
#[derive(Debug)]
enum Write {
    Put { id: String, parent: Option<String> },
    Record { id: String, tasks: Vec<TaskId> },
}

impl Write {
    fn id(&self) -> &str {
        match self {
            Self::Put { id, .. } | Self::Record { id, .. } => id,
        }
    }
}

/// A write that the host is storing.
#[derive(Debug)]
struct Sent {
    id: String,
    put: bool,
}

/// Sends writes to the host in order. While a checkpoint is being stored, nothing else is sent. No write is stored
/// before its checkpoint, and no checkpoint before its parent. After a failure, nothing is sent.
#[derive(Debug, Default)]
pub(super) struct Writer {
    queue: VecDeque<Write>,
    sent: BTreeMap<WriteId, Sent>,
    count: WriteId,
    failed: bool,
    /// Boundaries of earlier supersteps that writes may still refer to.
    retired: Vec<String>,
}

impl Writer {
    pub(super) fn put(&mut self, id: String, parent: Option<String>) {
        self.queue.push_back(Write::Put { id, parent });
    }

    pub(super) fn record(&mut self, id: String, tasks: Vec<TaskId>) {
        if let Some(Write::Record { id: last, tasks: joined }) = self.queue.back_mut()
            && *last == id
        {
            return joined.extend(tasks);
        }
        self.queue.push_back(Write::Record { id, tasks });
    }

    /// Records that the run has left this boundary.
    pub(super) fn retire(&mut self, id: String) {
        self.retired.push(id);
    }

    /// The number of writes that are not stored.
    pub(super) fn backlog(&self) -> usize {
        if self.failed { self.sent.len() } else { self.queue.len() + self.sent.len() }
    }

    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// Handles the outcome of a write. Returns false if the host is not storing this write.
    pub(super) fn settle(&mut self, write: WriteId, stored: bool) -> bool {
        if self.sent.remove(&write).is_none() {
            return false;
        }
        if !stored {
            self.failed = true;
        }
        true
    }

    /// Sends the writes that are allowed now, and drops the boundaries that no write refers to.
    pub(super) fn pump(&mut self, commands: &mut Vec<Command>) {
        if self.failed {
            self.queue.clear();
        }
        while let Some(next) = self.queue.front() {
            let put = matches!(next, Write::Put { .. });
            // A checkpoint need not wait for the records of earlier tasks, because it replaces them.
            if self.sent.values().any(|sent| sent.put || !put) {
                break;
            }
            let Some(next) = self.queue.pop_front() else { break };
            let write = self.count;
            self.count += 1;
            self.sent.insert(write, Sent { id: next.id().to_owned(), put });
            commands.push(match next {
                Write::Put { id, parent } => Command::Put { write, id, parent },
                Write::Record { id, tasks } => Command::Record { write, id, tasks },
            });
        }
        let (queue, sent) = (&self.queue, &self.sent);
        self.retired.retain(|id| {
            let named = queue.iter().any(|write| write.id() == id) || sent.values().any(|sent| sent.id == *id);
            if !named {
                commands.push(Command::Drop { id: id.clone() });
            }
            named
        });
    }
}
