//! The thread that prepares large units before they are queued to be written, so that no other caller waits while they are
//! compared and compressed.
//!
//! Small units go to the writer at once, and so may be committed before a large one that was handed in earlier. What touches
//! a lineage or a checkpoint that something in here touches comes after it, and so does whatever must see all that was
//! handed in before it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backend::PreEncode;
use crate::error::Result;
use crate::lane::Lane;
use crate::op::{LogEnd, Op, Unit};
use crate::record::Space;
use crate::task::{QUEUE_BYTES, Task, hand_in};

/// The thread, and what is on its way through it.
pub(crate) struct Encoder {
    lane: Lane<(Task, Touched)>,
    encodes: Arc<dyn PreEncode>,
    way: Arc<Way>,
}

impl Encoder {
    /// What comes out goes to the writer.
    pub(crate) fn start(pre_encoder: Arc<dyn PreEncode>, writer: Arc<Lane<Task>>) -> Result<Self> {
        let way = Arc::new(Way::default());
        let encodes = Arc::clone(&pre_encoder);
        let left = Arc::clone(&way);
        let work = move |batch: Vec<(Task, Touched)>| {
            for (mut task, touched) in batch {
                if let Task::Apply(unit, _) = &mut task {
                    unit.ops.iter_mut().filter(|op| encodes.takes_long(op)).for_each(|op| encodes.encode(op));
                }
                hand_in(&writer, task);
                // Only now: what is let past from here on comes after it.
                left.lock().leave(&touched);
            }
        };
        Ok(Self { lane: Lane::start("forkpoint-encoder", QUEUE_BYTES, work)?, encodes: pre_encoder, way })
    }

    /// Takes the task if it is to be prepared, or must come after something that is; gives it back if it may go on.
    pub(crate) fn take(&self, task: Task) -> Option<Task> {
        let large = matches!(&task, Task::Apply(unit, _) if unit.ops.iter().any(|op| self.encodes.takes_long(op)));
        let mut way = self.way.lock();
        if !large && way.tasks == 0 {
            return Some(task);
        }
        let touched = Touched::by(&task);
        if !large && !way.meets(&touched) {
            return Some(task);
        }
        way.enter(&touched);
        drop(way);
        let weight = task.weight();
        if let Err(((task, touched), error)) = self.lane.push((task, touched), weight) {
            self.way.lock().leave(&touched);
            task.refuse(error);
        }
        None
    }

    /// Whether nothing is on its way.
    pub(crate) fn idle(&self) -> bool {
        self.way.lock().tasks == 0
    }

    /// Takes nothing more; what is here still goes on.
    pub(crate) fn close(&self) {
        self.lane.close();
    }

    /// Waits until everything handed in so far has gone on.
    pub(crate) fn drain(&self) {
        self.lane.drain();
    }

    /// Waits until the thread is gone.
    pub(crate) fn join(&self) {
        self.lane.join();
    }
}

/// What is on its way through the encoder.
#[derive(Default)]
struct Way(Mutex<Taken>);

impl Way {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Taken {
    tasks: usize,
    /// How many of the tasks let nothing past them.
    walls: usize,
    /// How many of the tasks touch what has this number.
    names: HashMap<u64, usize>,
}

impl Taken {
    fn meets(&self, touched: &Touched) -> bool {
        self.tasks > 0
            && (touched.follows || self.walls > 0 || touched.names.iter().any(|name| self.names.contains_key(name)))
    }

    fn enter(&mut self, touched: &Touched) {
        self.tasks += 1;
        self.walls += usize::from(touched.wall);
        for name in &touched.names {
            *self.names.entry(*name).or_default() += 1;
        }
    }

    fn leave(&mut self, touched: &Touched) {
        self.tasks -= 1;
        self.walls -= usize::from(touched.wall);
        for name in &touched.names {
            if let Some(count) = self.names.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.names.remove(name);
                }
            }
        }
    }
}

/// What a task has to do with others.
#[derive(Debug, Default)]
struct Touched {
    /// It comes after everything before it.
    follows: bool,
    /// Everything after it comes after it.
    wall: bool,
    /// The lineages and checkpoints that it names, by a number that two may share: then one waits in vain.
    names: Vec<u64>,
}

impl Touched {
    fn by(task: &Task) -> Self {
        match task {
            Task::Apply(unit, _) => Self::by_unit(unit),
            Task::Open(_) | Task::Work(_) | Task::Ask(_) => Self { follows: true, ..Self::default() },
            Task::Close(_) => Self { follows: true, wall: true, ..Self::default() },
        }
    }

    fn by_unit(unit: &Unit) -> Self {
        let mut touched = Self::default();
        if let Some(expect) = &unit.expect {
            touched.lineage(expect.space, &expect.lineage);
        }
        for op in &unit.ops {
            match op {
                Op::Put(draft) => {
                    let header = &draft.header;
                    touched.lineage(header.space, &header.lineage);
                    touched.checkpoint(header.space, &header.id);
                    header.parent.iter().for_each(|parent| touched.checkpoint(header.space, parent));
                }
                Op::Fork(fork) => {
                    touched.lineage(fork.space, &fork.lineage);
                    touched.checkpoint(fork.space, &fork.source);
                    touched.checkpoint(fork.space, &fork.id);
                }
                Op::Truncate { space, lineage, to: LogEnd::Checkpoint(id), .. } => {
                    touched.lineage(*space, lineage);
                    touched.checkpoint(*space, id);
                }
                Op::RemoveFrom { space, lineage, .. }
                | Op::Append { space, lineage, .. }
                | Op::Truncate { space, lineage, .. }
                | Op::RemoveLogs { space, lineage } => touched.lineage(*space, lineage),
                Op::KeepLast { space, lineage, pinned, .. } => {
                    touched.lineage(*space, lineage);
                    touched.checkpoint(*space, pinned);
                }
                Op::Write { space, id, .. } | Op::Release { space, id } => touched.checkpoint(*space, id),
                Op::Claim { space, id, owner } => {
                    touched.checkpoint(*space, id);
                    touched.checkpoint(*space, owner);
                }
                // Their names do not tell which lineages they touch.
                Op::Remove { .. } | Op::RemoveLineages { .. } | Op::RemoveWrites { .. } => {
                    (touched.follows, touched.wall) = (true, true);
                }
            }
        }
        touched
    }

    fn lineage(&mut self, space: Space, name: &str) {
        self.name(("lineage", space, name));
    }

    fn checkpoint(&mut self, space: Space, id: &str) {
        self.name(("checkpoint", space, id));
    }

    fn name(&mut self, name: impl Hash) {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.names.push(hasher.finish());
    }
}
