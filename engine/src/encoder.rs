//! The encoder thread compares and compresses large units before they are queued for the writer, so that other callers
//! need not wait. An encoded unit takes memory until it is written. The thread therefore waits when it is too far ahead
//! of the writer.
//!
//! Small units go directly to the writer, so they may be committed before an earlier large unit. Two kinds of messages
//! wait until the encoder has sent all of its messages to the writer: a message that touches the same lineage or
//! checkpoint as a message in the encoder, and a message that must run after every message that was queued earlier.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ahead::Ahead;
use crate::backend::PreEncode;
use crate::error::Result;
use crate::message::{Apply, WriterMessage, send};
use crate::op::{Expect, LogEnd, Op, Subject, Unit};
use crate::record::ContractId;
use crate::worker::Worker;

/// The encoder thread, and the footprints of the messages in it.
pub(crate) struct Encoder {
    worker: Worker<(WriterMessage, Footprint)>,
    encodes: Arc<dyn PreEncode>,
    in_flight: Arc<InFlight>,
}

impl Encoder {
    /// Starts the encoder thread. The thread encodes messages and sends them to the writer.
    pub(crate) fn start(pre_encoder: Arc<dyn PreEncode>, writer: Arc<Worker<WriterMessage>>) -> Result<Self> {
        let in_flight = Arc::new(InFlight::default());
        let encodes = Arc::clone(&pre_encoder);
        let shared = Arc::clone(&in_flight);
        let ahead = Arc::new(Ahead::default());
        let work = move |batch: Vec<(WriterMessage, Footprint)>| {
            for (mut message, footprint) in batch {
                if let WriterMessage::Apply(apply) = &mut message {
                    encode(&*encodes, apply, &ahead);
                }
                send(&writer, message);
                // Call `leave` only after this message was sent. A later message that bypasses the encoder is then
                // queued behind it.
                shared.lock().leave(&footprint);
            }
        };
        Ok(Self { worker: Worker::start("forkpoint-encoder", work)?, encodes: pre_encoder, in_flight })
    }

    /// Takes the message if it must be encoded, or if it must wait for a message in the encoder. Otherwise returns the
    /// message, and the caller sends it directly to the writer.
    pub(crate) fn take(&self, message: WriterMessage) -> Option<WriterMessage> {
        let is_large = |unit: &Unit| unit.ops.iter().any(|op| self.encodes.size_if_long(op).is_some());
        let large = matches!(&message, WriterMessage::Apply(apply) if is_large(&apply.unit));
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
        if let Err(((message, footprint), error)) = self.worker.push((message, footprint)) {
            self.in_flight.lock().leave(&footprint);
            message.refuse(error);
        }
        None
    }

    /// Returns true if the encoder has no messages.
    pub(crate) fn idle(&self) -> bool {
        self.in_flight.lock().messages == 0
    }

    /// Stops accepting messages. Messages in the encoder still go to the writer.
    pub(crate) fn close(&self) {
        self.worker.close();
    }

    /// Waits until all messages sent so far were passed to the writer.
    pub(crate) fn drain(&self) {
        self.worker.drain();
    }

    /// Waits for the thread to end.
    pub(crate) fn join(&self) {
        self.worker.join();
    }
}

/// Encodes the large ops of a unit, as soon as `ahead` has room for them.
fn encode(encodes: &dyn PreEncode, Apply { unit, lead, .. }: &mut Apply, ahead: &Arc<Ahead>) {
    let sizes: Vec<_> = unit.ops.iter().map(|op| encodes.size_if_long(op)).collect();
    let size: usize = sizes.iter().flatten().sum();
    if size == 0 {
        return;
    }
    // An encoded op is about as large as the joined one, or smaller. Reserve the bytes of all ops together, because
    // they are released together when the unit is written.
    let lead = lead.insert(ahead.reserve(2 * size));
    for (op, _) in unit.ops.iter_mut().zip(sizes).filter(|(_, size)| size.is_some()) {
        encodes.encode(op);
    }
    lead.set(unit.ops.iter().map(Op::encoded_bytes).sum());
}

/// The messages that the encoder has not sent to the writer yet.
#[derive(Default)]
struct InFlight(Mutex<Counts>);

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        // No code that can panic runs under this lock, so ignore poisoning.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Counts {
    messages: usize,
    /// The number of barriers in the encoder. A barrier is a message that all later messages wait for.
    barriers: usize,
    /// For each hash of a name, the number of messages that touch the named lineage or checkpoint.
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

/// The order that a message needs in relation to other messages.
#[derive(Debug, Default)]
struct Footprint {
    /// True if the message waits for all earlier messages.
    follows: bool,
    /// True if all later messages wait for this message.
    barrier: bool,
    /// The hashes of the names of the lineages and checkpoints that the message touches. A hash collision only causes
    /// needless waiting.
    names: Vec<u64>,
}

impl Footprint {
    fn by(message: &WriterMessage) -> Self {
        match message {
            WriterMessage::Apply(apply) => Self::by_unit(&apply.unit),
            WriterMessage::Work(..) | WriterMessage::Ask(_) => Self { follows: true, ..Self::default() },
            WriterMessage::Close(_) => Self { follows: true, barrier: true, ..Self::default() },
        }
    }

    fn by_unit(unit: &Unit) -> Self {
        let mut footprint = Self::default();
        for subject in unit.expect.iter().flat_map(Expect::subjects) {
            match subject {
                Subject::Newest(contract, lineage) => footprint.lineage(contract, lineage),
                Subject::Id(contract, id) => footprint.checkpoint(contract, id),
            }
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
                | Op::RemoveLogs { contract, lineage }
                | Op::SetLabels { contract, lineage, .. } => footprint.lineage(*contract, lineage),
                Op::KeepLast { contract, lineage, pinned, .. } => {
                    footprint.lineage(*contract, lineage);
                    footprint.checkpoint(*contract, pinned);
                }
                Op::Touch { contract, id, .. } | Op::Write { contract, id, .. } | Op::Reopen { contract, id } => {
                    footprint.checkpoint(*contract, id);
                }
                Op::Claim { contract, id, claimed_by } => {
                    footprint.checkpoint(*contract, id);
                    footprint.checkpoint(*contract, claimed_by);
                }
                // The names in these ops do not show which lineages the ops touch.
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
