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
use crate::message::{QUEUE_BYTES, WriterMessage, send};
use crate::op::{LogEnd, Op, Unit};
use crate::record::ContractId;
use crate::worker::Worker;

/// The thread, and what is on its way through it.
pub(crate) struct Encoder {
    worker: Worker<(WriterMessage, Footprint)>,
    encodes: Arc<dyn PreEncode>,
    in_flight: Arc<InFlight>,
}

impl Encoder {
    /// What comes out goes to the writer.
    pub(crate) fn start(pre_encoder: Arc<dyn PreEncode>, writer: Arc<Worker<WriterMessage>>) -> Result<Self> {
        let in_flight = Arc::new(InFlight::default());
        let encodes = Arc::clone(&pre_encoder);
        let left = Arc::clone(&in_flight);
        let work = move |batch: Vec<(WriterMessage, Footprint)>| {
            for (mut message, footprint) in batch {
                if let WriterMessage::Apply(unit, _) = &mut message {
                    unit.ops.iter_mut().filter(|op| encodes.takes_long(op)).for_each(|op| encodes.encode(op));
                }
                send(&writer, message);
                // Only now: what is let past from here on comes after it.
                left.lock().leave(&footprint);
            }
        };
        Ok(Self { worker: Worker::start("forkpoint-encoder", QUEUE_BYTES, work)?, encodes: pre_encoder, in_flight })
    }

    /// Takes the message if it is to be prepared, or must come after something that is; gives it back if it may go on.
    pub(crate) fn take(&self, message: WriterMessage) -> Option<WriterMessage> {
        let large =
            matches!(&message, WriterMessage::Apply(unit, _) if unit.ops.iter().any(|op| self.encodes.takes_long(op)));
        let mut in_flight = self.in_flight.lock();
        if !large && in_flight.messages == 0 {
            return Some(message);
        }
        let footprint = Footprint::by(&message);
        if !large && !in_flight.meets(&footprint) {
            return Some(message);
        }
        in_flight.enter(&footprint);
        drop(in_flight);
        let weight = message.weight();
        if let Err(((message, footprint), error)) = self.worker.push((message, footprint), weight) {
            self.in_flight.lock().leave(&footprint);
            message.refuse(error);
        }
        None
    }

    /// Whether nothing is on its way.
    pub(crate) fn idle(&self) -> bool {
        self.in_flight.lock().messages == 0
    }

    /// Takes nothing more; what is here still goes on.
    pub(crate) fn close(&self) {
        self.worker.close();
    }

    /// Waits until everything handed in so far has gone on.
    pub(crate) fn drain(&self) {
        self.worker.drain();
    }

    /// Waits until the thread is gone.
    pub(crate) fn join(&self) {
        self.worker.join();
    }
}

/// What is on its way through the encoder.
#[derive(Default)]
struct InFlight(Mutex<Counts>);

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Counts {
    messages: usize,
    /// How many of the messages let nothing past them.
    barriers: usize,
    /// How many of the messages touch what has this number.
    names: HashMap<u64, usize>,
}

impl Counts {
    fn meets(&self, footprint: &Footprint) -> bool {
        self.messages > 0
            && (footprint.follows
                || self.barriers > 0
                || footprint.names.iter().any(|name| self.names.contains_key(name)))
    }

    fn enter(&mut self, footprint: &Footprint) {
        self.messages += 1;
        self.barriers += usize::from(footprint.barrier);
        for name in &footprint.names {
            *self.names.entry(*name).or_default() += 1;
        }
    }

    fn leave(&mut self, footprint: &Footprint) {
        self.messages -= 1;
        self.barriers -= usize::from(footprint.barrier);
        for name in &footprint.names {
            if let Some(count) = self.names.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.names.remove(name);
                }
            }
        }
    }
}

/// What a message has to do with others.
#[derive(Debug, Default)]
struct Footprint {
    /// It comes after everything before it.
    follows: bool,
    /// Everything after it comes after it.
    barrier: bool,
    /// The lineages and checkpoints that it names, by a number that two may share: then one waits in vain.
    names: Vec<u64>,
}

impl Footprint {
    fn by(message: &WriterMessage) -> Self {
        match message {
            WriterMessage::Apply(unit, _) => Self::by_unit(unit),
            WriterMessage::Open(_) | WriterMessage::Work(_) | WriterMessage::Ask(_) => {
                Self { follows: true, ..Self::default() }
            }
            WriterMessage::Close(_) => Self { follows: true, barrier: true, ..Self::default() },
        }
    }

    fn by_unit(unit: &Unit) -> Self {
        let mut footprint = Self::default();
        if let Some(expect) = &unit.expect {
            footprint.lineage(expect.contract, &expect.lineage);
        }
        for op in &unit.ops {
            match op {
                Op::Put(draft) => {
                    let header = &draft.header;
                    footprint.lineage(header.contract, &header.lineage);
                    footprint.checkpoint(header.contract, &header.id);
                    header.parent.iter().for_each(|parent| footprint.checkpoint(header.contract, parent));
                }
                Op::Fork(fork) => {
                    footprint.lineage(fork.contract, &fork.lineage);
                    footprint.checkpoint(fork.contract, &fork.source);
                    footprint.checkpoint(fork.contract, &fork.id);
                }
                Op::Truncate { contract, lineage, to: LogEnd::Checkpoint(id), .. } => {
                    footprint.lineage(*contract, lineage);
                    footprint.checkpoint(*contract, id);
                }
                Op::RemoveFrom { contract, lineage, .. }
                | Op::Append { contract, lineage, .. }
                | Op::Truncate { contract, lineage, .. }
                | Op::RemoveLogs { contract, lineage } => footprint.lineage(*contract, lineage),
                Op::KeepLast { contract, lineage, pinned, .. } => {
                    footprint.lineage(*contract, lineage);
                    footprint.checkpoint(*contract, pinned);
                }
                Op::Write { contract, id, .. } | Op::Reopen { contract, id } => footprint.checkpoint(*contract, id),
                Op::Claim { contract, id, claimed_by } => {
                    footprint.checkpoint(*contract, id);
                    footprint.checkpoint(*contract, claimed_by);
                }
                // Their names do not tell which lineages they touch.
                Op::Remove { .. } | Op::RemoveLineages { .. } | Op::RemoveWrites { .. } => {
                    (footprint.follows, footprint.barrier) = (true, true);
                }
            }
        }
        footprint
    }

    fn lineage(&mut self, contract: ContractId, name: &str) {
        self.name(("lineage", contract, name));
    }

    fn checkpoint(&mut self, contract: ContractId, id: &str) {
        self.name(("checkpoint", contract, id));
    }

    fn name(&mut self, name: impl Hash) {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.names.push(hasher.finish());
    }
}
