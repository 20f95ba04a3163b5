//! Pending writes as rows. A row holds writes of one task to a checkpoint, and the id of the checkpoint that claimed
//! them.
//!
//! A task has at most one row of unclaimed writes, in which each slot appears once. A claim stores in this row the id
//! of the checkpoint that was made from the writes. The task's next write then begins another row.

use bytes::Bytes;

use crate::codec::{envelope, frame};
use crate::error::{Code, Error, Result};
use crate::record::{Part, Payload, TaskState, Write};

/// Writes of one task that go into the same row.
pub(crate) struct TaskWrites<'a> {
    pub(crate) task: &'a str,
    /// The checkpoint that claimed the writes. Claimed writes become a separate row. Unclaimed writes (`None`) are
    /// merged into the task's unclaimed row, if there is one.
    pub(crate) claimed_by: Option<&'a str>,
    /// The state of the task that the writes report, as a row stores it.
    pub(crate) state: TaskState,
    /// The writes, in their order.
    pub(crate) writes: Vec<&'a Write>,
}

/// Groups writes into rows, in the order in which the rows must be written.
pub(crate) fn by_task(writes: &[Write]) -> Vec<TaskWrites<'_>> {
    let mut rows: Vec<TaskWrites<'_>> = Vec::new();
    for claimed in writes.chunk_by(|a, b| (&a.task, &a.claimed_by) == (&b.task, &b.claimed_by)) {
        if let [Write { task, claimed_by: Some(claimed_by), .. }, ..] = claimed {
            let state = claimed.iter().map(|write| write.state.kept()).collect();
            rows.push(TaskWrites { task, claimed_by: Some(claimed_by), state, writes: claimed.iter().collect() });
        }
    }
    let claimed = rows.len();
    for write in writes.iter().filter(|write| write.claimed_by.is_none()) {
        if let Some(row) = rows.iter_mut().skip(claimed).find(|row| row.task == write.task) {
            row.state |= write.state.kept();
            row.writes.push(write);
        } else {
            let (task, state) = (&write.task, write.state.kept());
            rows.push(TaskWrites { task, claimed_by: None, state, writes: vec![write] });
        }
    }
    rows
}

/// Returns true if one of the writes answers interrupted tasks.
pub(crate) fn answers(writes: &[Write]) -> bool {
    writes.iter().any(|write| write.state.has(TaskState::ANSWERS))
}

/// Merges new writes of a task into the writes of its row. If a slot already has a write, `replace` decides whether the
/// new write replaces it or is left out.
pub(crate) fn merge<'a>(
    mut held: Vec<(i64, Part)>,
    writes: impl IntoIterator<Item = &'a Write>,
    replace: bool,
) -> Vec<(i64, Part)> {
    for write in writes {
        match held.iter_mut().find(|(index, _)| *index == write.index) {
            Some((_, part)) if replace => *part = write.part.clone(),
            Some(_) => {}
            None => held.push((write.index, write.part.clone())),
        }
    }
    held
}

/// Returns the writes that [`Op::Reopen`](crate::op::Op::Reopen) keeps, as unclaimed writes. Takes all writes to a
/// checkpoint in their order.
pub(crate) fn reopen(writes: Vec<Write>) -> Vec<Write> {
    let mut left: Vec<Write> = Vec::new();
    for write in writes {
        let write = Write { claimed_by: None, ..write };
        match left.iter_mut().find(|held| (&held.task, held.index) == (&write.task, write.index)) {
            Some(held) => *held = write,
            None => left.push(write),
        }
    }
    left
}

/// Returns the envelope of a new row. Returns `None` if the writes belong to several tasks, or if one is already
/// claimed.
pub(crate) fn encode(writes: &[Write], replace: bool) -> Option<Bytes> {
    let task = &writes.first()?.task;
    let alone = writes.iter().all(|write| write.task == *task && write.claimed_by.is_none());
    alone.then(|| seal(merge(Vec::new(), writes, replace)).into())
}

/// The envelope of a row: a frame with one part for each write. The part's name consists of the slot and the name.
pub(crate) fn seal(writes: Vec<(i64, Part)>) -> Vec<u8> {
    envelope::seal(&framed(writes))
}

/// The envelope of a row to which writes were added.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if all writes of the row together take more than `largest` bytes.
pub(crate) fn seal_merged(writes: Vec<(i64, Part)>, largest: usize) -> Result<Vec<u8>> {
    let frame = framed(writes);
    frame::refuse_large(&frame, largest)?;
    Ok(envelope::seal(&frame))
}

fn framed(writes: Vec<(i64, Part)>) -> Vec<u8> {
    let named = |(index, part): (i64, Part)| Part { name: format!("{index} {}", part.name), ..part };
    frame::join(&Payload { parts: writes.into_iter().map(named).collect() })
}

/// Opens an envelope of at most `largest` bytes that [`seal`] made. The checkpoint's id and the task are for error
/// messages.
pub(crate) fn open(id: &str, task: &str, body: Vec<u8>, largest: usize) -> Result<Vec<(i64, Part)>> {
    let split = || -> Result<Vec<(i64, Part)>> {
        let damaged = || Error::new(Code::Corrupt, "the slot numbers of its writes cannot be read");
        let slot = |part: Part| {
            let (index, name) = part.name.split_once(' ').ok_or_else(damaged)?;
            Ok((index.parse().map_err(|_| damaged())?, Part { name: name.to_owned(), ..part }))
        };
        frame::split(&envelope::open_on(None, &[body], largest)?.into())?.parts.into_iter().map(slot).collect()
    };
    split().map_err(|error| error.context(&format!("the writes of task {task:?} to {id:?}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::largest;

    proptest! {
        #[test]
        fn any_envelope_is_writes_or_an_error(
            raw in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..60),
                prop::collection::vec((prop_oneof!["-?[0-9]{0,20} .{0,4}", ".{0,8}"], ".{0,4}"), 0..4).prop_map(|named| {
                    let part = |(name, tag)| Part { name, tag, bytes: "content".into() };
                    frame::join(&Payload { parts: named.into_iter().map(part).collect() })
                }),
            ],
            sealed: bool,
        ) {
            let open = |body| open("id", "t", body, largest::MOST);
            match open(if sealed { envelope::seal(&raw) } else { raw }) {
                // A slot number in the input may have leading zeros, so the test encodes the writes again before
                // comparing.
                Ok(held) => prop_assert_eq!(open(seal(held.clone())).unwrap(), held),
                Err(error) => prop_assert!(matches!(error.code(), Code::Corrupt | Code::Unsupported), "{error}"),
            }
        }
    }
}
