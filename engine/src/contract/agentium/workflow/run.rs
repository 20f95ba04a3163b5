//! One run of a workflow, as a state machine. It stores a checkpoint after each top-level step.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::definition::{Definition, Kind, NodeId};
use super::fit::{self, after};
use super::protocol::{Base, Command, ENTRY, Event, How, Mode, OnError, Options, Reason, Slot};

/// The activity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Loading,
    Mutating,
    /// The run is storing a checkpoint: the index of the next step, and the slot of the state before it.
    Storing(usize, Slot),
    Stepping,
    Ended,
}

/// The activity of a step, which determines the events that it expects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doing {
    #[default]
    Nothing,
    /// The step is running the attempt with this number.
    Running(u32),
    /// The step is waiting before the attempt with this number.
    Waiting(u32),
    Asking,
    Merging,
}

/// The progress of one step.
#[derive(Clone, Debug, Default)]
struct State {
    input: Slot,
    output: Slot,
    doing: Doing,
    /// In a condition, the index of the next contained step. In parallel steps, the number of contained steps that have
    /// ended.
    position: usize,
}

#[derive(Debug)]
pub struct Run {
    definition: Arc<Definition>,
    options: Options,
    phase: Phase,
    base: Option<Base>,
    /// The index of the top-level step that is running.
    step: usize,
    /// True if the next checkpoint removes the run's later checkpoints.
    rewind: bool,
    states: Vec<State>,
    /// The steps that wait for an event.
    busy: BTreeSet<NodeId>,
    drained: bool,
    failing: Option<Reason>,
    commands: Vec<Command>,
}

impl Run {
    /// Creates a run. [`Event::Started`] starts it.
    pub fn new(definition: Arc<Definition>, options: Options) -> Self {
        let states = vec![State::default(); definition.nodes.len()];
        Self {
            definition,
            options,
            phase: Phase::New,
            base: None,
            step: 0,
            rewind: false,
            states,
            busy: BTreeSet::new(),
            drained: false,
            failing: None,
            commands: Vec::new(),
        }
    }

    /// Handles an event and returns the next commands.
    ///
    /// An event that no step expects changes nothing, such as an event of an abandoned attempt.
    pub fn on(&mut self, event: Event) -> Vec<Command> {
        match (self.phase, event) {
            (Phase::Ended, _) => {}
            (_, Event::DrainRequested) => self.drain(),
            (_, Event::Aborted) => self.abort(),
            (Phase::New, Event::Started) => self.start(),
            (Phase::Loading, Event::Loaded { base }) => self.loaded(base),
            (Phase::Mutating, Event::Mutated) => self.branch(),
            (Phase::Storing(next, slot), Event::Stored) => self.stored(next, slot),
            (_, Event::Broke) => self.end(Reason::Host),
            (Phase::Stepping, event) => self.stepping(event),
            _ => {}
        }
        std::mem::take(&mut self.commands)
    }

    fn start(&mut self) {
        if self.drained {
            return self.end(Reason::Drained);
        }
        let from = match &self.options.mode {
            Mode::Plain => return self.next(0, ENTRY),
            // The run begins again, so its earlier checkpoints and effects go.
            Mode::Fresh => {
                self.rewind = true;
                return self.store_initial();
            }
            Mode::Resume => None,
            Mode::Replay { from } | Mode::Branch { from, .. } => Some(from.clone()),
        };
        self.phase = Phase::Loading;
        self.commands.push(Command::Load { id: from });
    }

    fn store_initial(&mut self) {
        self.store(-1, "initial".to_owned(), ENTRY);
    }

    fn loaded(&mut self, base: Option<Base>) {
        let Some(base) = base else {
            return match &self.options.mode {
                Mode::Replay { from } | Mode::Branch { from, .. } => self.end(Reason::NotFound { id: from.clone() }),
                // A run whose work was undone may have effects left, and shares their results.
                _ => self.store_initial(),
            };
        };
        if let Err(mismatch) = fit::check(&self.definition, &base, self.options.force) {
            return self.end(Reason::Mismatch { message: mismatch });
        }
        let next = after(base.step_index);
        match self.options.mode {
            Mode::Branch { mutate, .. } => {
                self.base = Some(base);
                if !mutate {
                    return self.branch();
                }
                self.phase = Phase::Mutating;
                self.commands.push(Command::Mutate);
            }
            Mode::Replay { .. } => {
                self.options.run_id = base.run_id;
                self.rewind = true;
                self.next(next, ENTRY);
            }
            _ => self.next(next, ENTRY),
        }
    }

    /// Stores the first checkpoint of a branch, with the step index of the checkpoint that the branch starts from.
    fn branch(&mut self) {
        if let Some(base) = self.base.take() {
            self.store(base.step_index, base.step_name, ENTRY);
        }
    }

    fn store(&mut self, step_index: i64, step_name: String, slot: Slot) {
        self.phase = Phase::Storing(after(step_index), slot);
        let run_id = &self.options.run_id;
        let id = if step_index < 0 { format!("{run_id}:initial") } else { format!("{run_id}:step-{}", step_index + 1) };
        let rewind = std::mem::take(&mut self.rewind);
        self.commands.push(Command::Store { id, step_index, step_name, slot, rewind });
    }

    fn stored(&mut self, next: usize, slot: Slot) {
        match self.failing.take() {
            Some(reason) => self.end(reason),
            None => self.next(next, slot),
        }
    }

    /// Begins a top-level step. If no step is left, ends the run.
    fn next(&mut self, step: usize, slot: Slot) {
        let Some(node) = self.definition.top.get(step).copied() else {
            self.phase = Phase::Ended;
            return self.commands.push(Command::Finish { slot });
        };
        if self.drained {
            return self.end(Reason::Drained);
        }
        self.phase = Phase::Stepping;
        self.step = step;
        self.enter(node, slot);
    }

    fn stepping(&mut self, event: Event) {
        let (node, expected) = match event {
            Event::Ran { step: node, attempt }
            | Event::Threw { step: node, attempt }
            | Event::Evaluated { step: node, attempt, .. } => (node, Doing::Running(attempt)),
            Event::Waited { step: node } => match self.states.get(node).map(|state| state.doing) {
                Some(Doing::Waiting(attempt)) => (node, Doing::Waiting(attempt)),
                _ => return,
            },
            Event::Decided { step: node, .. } => (node, Doing::Asking),
            Event::Merged { step: node } | Event::Conflicted { step: node } => (node, Doing::Merging),
            _ => return,
        };
        if self.states.get(node).is_none_or(|state| state.doing != expected) {
            return;
        }
        self.states[node].doing = Doing::Nothing;
        self.busy.remove(&node);
        if self.failing.is_some() {
            return self.end_if_idle();
        }
        let input = self.states[node].input;
        match (event, expected) {
            (Event::Ran { .. } | Event::Merged { .. }, _) => self.leave(node, node + 1, How::Done),
            (Event::Evaluated { holds: true, .. }, _) => self.go_on(node, input),
            (Event::Evaluated { holds: false, .. }, _) => self.leave(node, input, How::Skipped),
            (Event::Threw { attempt, .. }, _) => self.retry(node, attempt),
            (_, Doing::Waiting(attempt)) => self.attempt(node, attempt),
            (Event::Conflicted { .. }, _) => self.exhausted(node),
            (Event::Decided { go_on: true, .. }, _) => self.leave(node, input, How::Failed),
            _ => self.fail(Reason::Step { step: node }),
        }
    }

    fn enter(&mut self, node: NodeId, input: Slot) {
        self.states[node] = State { input, output: input, ..State::default() };
        self.commands.push(Command::Began { step: node });
        match self.definition.nodes[node].step.kind {
            Kind::Task | Kind::Condition => self.attempt(node, 0),
            Kind::Parallel => {
                let definition = Arc::clone(&self.definition);
                let branches = &definition.nodes[node].children;
                if branches.is_empty() {
                    return self.leave(node, input, How::Done);
                }
                for branch in branches {
                    self.enter(*branch, input);
                }
            }
        }
    }

    fn attempt(&mut self, node: NodeId, attempt: u32) {
        let input = self.states[node].input;
        self.begin(node, Doing::Running(attempt));
        self.commands.push(match self.definition.nodes[node].step.kind {
            Kind::Condition => Command::Evaluate { step: node, attempt, slot: input },
            _ => Command::Run { step: node, attempt, slot: input },
        });
    }

    fn begin(&mut self, node: NodeId, doing: Doing) {
        self.states[node].doing = doing;
        self.busy.insert(node);
    }

    fn retry(&mut self, node: NodeId, attempt: u32) {
        let retry = self.definition.retry_of(node);
        if attempt >= retry.max_retries {
            return self.exhausted(node);
        }
        let ms = retry.wait_ms(attempt);
        if ms <= 0.0 {
            return self.attempt(node, attempt + 1);
        }
        // The process will end soon. The step does not wait for its next attempt; resuming the run tries it again.
        if self.drained {
            return self.fail(Reason::Drained);
        }
        self.begin(node, Doing::Waiting(attempt + 1));
        self.commands.push(Command::Wait { step: node, attempt, ms });
    }

    fn exhausted(&mut self, node: NodeId) {
        match self.options.on_error {
            OnError::Fail => self.fail(Reason::Step { step: node }),
            OnError::Continue => self.leave(node, self.states[node].input, How::Failed),
            OnError::Ask => {
                self.begin(node, Doing::Asking);
                self.commands.push(Command::Ask { step: node });
            }
        }
    }

    /// Begins the next contained step of a condition that is true. After the last contained step, ends the condition.
    fn go_on(&mut self, node: NodeId, slot: Slot) {
        let position = self.states[node].position;
        match self.definition.nodes[node].children.get(position).copied() {
            Some(child) => {
                self.states[node].position += 1;
                self.enter(child, slot);
            }
            None => self.leave(node, slot, How::Done),
        }
    }

    /// Ends a step. The slot `output` contains the result of the step.
    fn leave(&mut self, node: NodeId, output: Slot, how: How) {
        self.states[node].output = output;
        self.commands.push(Command::Ended { step: node, how });
        match self.definition.nodes[node].step.parent {
            None => self.step_done(node, output),
            Some(parent) if self.definition.nodes[parent].step.kind == Kind::Condition => self.go_on(parent, output),
            Some(parent) => self.branch_done(parent),
        }
    }

    fn branch_done(&mut self, parent: NodeId) {
        self.states[parent].position += 1;
        let input = self.states[parent].input;
        let branches = &self.definition.nodes[parent].children;
        if self.states[parent].position < branches.len() {
            return;
        }
        // The merge leaves out branches without changes.
        let changed: Vec<Slot> =
            branches.iter().map(|branch| self.states[*branch].output).filter(|slot| *slot != input).collect();
        match changed[..] {
            [] => self.leave(parent, input, How::Done),
            [only] => self.leave(parent, only, How::Done),
            _ => {
                self.begin(parent, Doing::Merging);
                self.commands.push(Command::Merge { step: parent, base: input, branches: changed });
            }
        }
    }

    fn step_done(&mut self, node: NodeId, output: Slot) {
        if self.options.mode == Mode::Plain {
            self.commands.push(Command::Keep { slot: output });
            return self.next(self.step + 1, output);
        }
        let name = self.definition.nodes[node].step.name.clone();
        let index = i64::try_from(self.step).unwrap_or(i64::MAX);
        self.store(index, name, output);
    }

    fn drain(&mut self) {
        self.drained = true;
        let waits = |node: &NodeId| matches!(self.states[*node].doing, Doing::Waiting(_));
        if self.phase == Phase::Stepping && self.failing.is_none() && self.busy.iter().any(waits) {
            self.fail(Reason::Drained);
        }
    }

    fn abort(&mut self) {
        match self.phase {
            // Storing a checkpoint cannot be cancelled. The run ends when the checkpoint is stored.
            Phase::Storing(..) => self.failing = Some(Reason::Aborted),
            Phase::Stepping => {
                self.commands.push(Command::Cancel);
                self.end(Reason::Aborted);
            }
            _ => self.end(Reason::Aborted),
        }
    }

    /// Fails the run. No further step begins, and the run ends with its last running step.
    fn fail(&mut self, reason: Reason) {
        self.failing.get_or_insert(reason);
        let states = &mut self.states;
        self.busy.retain(|node| !matches!(states[*node].doing, Doing::Waiting(_)));
        states.iter_mut().filter(|state| matches!(state.doing, Doing::Waiting(_))).for_each(|state| {
            state.doing = Doing::Nothing;
        });
        self.commands.push(Command::Cancel);
        self.end_if_idle();
    }

    fn end_if_idle(&mut self) {
        if self.busy.is_empty()
            && let Some(reason) = self.failing.take()
        {
            self.end(reason);
        }
    }

    fn end(&mut self, reason: Reason) {
        self.phase = Phase::Ended;
        self.commands.push(Command::Fail { why: reason });
    }
}
