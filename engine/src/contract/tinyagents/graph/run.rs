//! One run of a graph, as a state machine. Tasks run in supersteps. Between two supersteps is a boundary, which may
//! have a checkpoint.

mod beginning;
mod boundary;

use std::sync::Arc;

use super::definition::{Definition, Policy};
use super::frontier::{Arrivals, Left};
use super::protocol::{Base, Command, Durability, Event, Options, Origin, Reason, Target, TaskId};
use super::tasks::{Doing, Progress, Task};
use super::writer::Writer;

/// The activity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Loading,
    /// The host makes the first state of the run.
    Entering,
    /// At a boundary. The next superstep begins when there is room for its writes.
    Blocked,
    Stepping,
    /// The host folds the updates of a superstep.
    Committing,
    /// The run ends when its last writes are stored.
    Closing,
    Ended,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Finished,
    Suspended(Vec<TaskId>),
    Failed(Reason),
}

/// The boundary at which the current superstep began.
#[derive(Clone, Debug)]
struct Here {
    id: String,
    step: i64,
    /// True if the policies require its checkpoint.
    wanted: bool,
    /// True if its checkpoint is stored or in the queue.
    queued: bool,
}

/// The maximum number of unfinished writes of a run with [`Durability::Async`].
const MAX_BACKLOG: usize = 32;

#[derive(Debug)]
pub struct Run {
    definition: Arc<Definition>,
    options: Options,
    phase: Phase,
    loaded: Option<Base>,
    here: Option<Here>,
    /// The id of the checkpoint that will be the parent of the next one.
    parent: Option<String>,
    tasks: Vec<Task>,
    arrivals: Arrivals,
    supersteps: u64,
    /// The number of boundaries that this run has made.
    made: u64,
    drained: bool,
    failing: Option<Reason>,
    end: Option<End>,
    writer: Writer,
    commands: Vec<Command>,
}

impl Run {
    /// Creates a run. [`Event::Started`] starts it.
    pub fn new(definition: Arc<Definition>, mut options: Options) -> Self {
        let update = matches!(options.mode, super::protocol::Mode::Update { .. });
        options.persist &= update || definition.checkpoint != Policy::None;
        Self {
            definition,
            options,
            phase: Phase::New,
            loaded: None,
            here: None,
            parent: None,
            tasks: Vec::new(),
            arrivals: Arrivals::new(),
            supersteps: 0,
            made: 0,
            drained: false,
            failing: None,
            end: None,
            writer: Writer::default(),
            commands: Vec::new(),
        }
    }

    pub(super) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Handles an event and returns the next commands.
    ///
    /// An event that nothing expects changes nothing, such as an event of an abandoned attempt.
    pub fn on(&mut self, event: Event) -> Vec<Command> {
        match (self.phase, event) {
            (Phase::Ended, _) => {}
            (_, Event::DrainRequested) => self.drain(),
            (_, Event::Aborted) => self.abort(),
            (_, Event::Written { write }) => self.written(write, true),
            (_, Event::WriteFailed { write }) => self.written(write, false),
            (Phase::New, Event::Started) => self.start(),
            (Phase::Loading, Event::Loaded { base }) => self.loaded(base),
            (Phase::Entering, Event::Made { routes }) => self.entered(routes),
            (Phase::Committing, Event::Made { routes }) => self.committed(routes),
            (Phase::Loading | Phase::Entering | Phase::Committing, Event::Broke) => {
                self.close(End::Failed(Reason::Host));
            }
            (Phase::Stepping, event) => self.stepping(event),
            _ => {}
        }
        self.writer.pump(&mut self.commands);
        if self.phase == Phase::Closing && self.writer.backlog() == 0 {
            self.closed();
        }
        std::mem::take(&mut self.commands)
    }

    fn eager(&self) -> bool {
        self.options.persist && self.options.durability != Durability::Exit
    }

    /// At a boundary: begins the next superstep, or ends the run.
    fn advance(&mut self) {
        self.phase = Phase::Blocked;
        if self.writer.failed() {
            return self.close(End::Failed(Reason::Host));
        }
        if self.tasks.is_empty() {
            return self.close(End::Finished);
        }
        if self.drained {
            return self.close(End::Failed(Reason::Drained));
        }
        let ready: Vec<TaskId> = self.indices(|task| task.progress == Progress::Ready);
        if ready.is_empty() {
            return self.settle();
        }
        if self.supersteps >= self.definition.max_supersteps {
            return self.close(End::Failed(Reason::Limit { supersteps: self.supersteps }));
        }
        let backlog = self.writer.backlog();
        match self.options.durability {
            Durability::Sync if backlog > 0 => return,
            Durability::Async if backlog >= MAX_BACKLOG => return,
            _ => {}
        }
        self.supersteps += 1;
        self.phase = Phase::Stepping;
        self.commands.push(Command::Begin { step: self.here.as_ref().map_or(0, |here| here.step) + 1 });
        for task in ready {
            self.attempt(task, 0);
        }
    }

    fn indices(&self, is: impl Fn(&Task) -> bool) -> Vec<TaskId> {
        self.tasks.iter().enumerate().filter(|(_, task)| is(task)).map(|(index, _)| index).collect()
    }

    fn attempt(&mut self, task: TaskId, attempt: u32) {
        self.tasks[task].doing = Doing::Running(attempt);
        self.commands.push(Command::Run { task, attempt });
    }

    fn stepping(&mut self, event: Event) {
        let (id, expected) = match event {
            Event::Ran { task, attempt, .. }
            | Event::Interrupted { task, attempt }
            | Event::Stopped { task, attempt }
            | Event::Threw { task, attempt } => (task, Doing::Running(attempt)),
            Event::Waited { task, attempt } => (task, Doing::Waiting(attempt)),
            _ => return,
        };
        let several = self.tasks.len() > 1;
        let Some(task) = self.tasks.get_mut(id).filter(|task| task.doing == expected) else { return };
        task.doing = Doing::Nothing;
        match event {
            Event::Ran { goto, .. } => {
                let node = &self.definition.nodes[task.node];
                task.progress = Progress::Done(goto);
                task.dirty = !node.repeats();
                if several || node.once() {
                    self.record_early(id);
                }
            }
            Event::Interrupted { .. } => {
                task.progress = Progress::Asking;
                (task.gate, task.dirty) = (true, true);
                if self.eager() {
                    self.store_here();
                    self.record(vec![id]);
                }
            }
            Event::Stopped { .. } => self.drained = true,
            Event::Threw { attempt, .. } => self.retry(id, attempt),
            Event::Waited { attempt, .. } => self.attempt(id, attempt),
            _ => {}
        }
        self.settle();
    }

    /// Records a task while other tasks of its superstep may still run.
    fn record_early(&mut self, task: TaskId) {
        if self.eager() && self.here.as_ref().is_some_and(|here| here.wanted || here.queued) {
            self.store_here();
            self.record(vec![task]);
        }
    }

    fn retry(&mut self, id: TaskId, attempt: u32) {
        let retry = self.definition.nodes[self.tasks[id].node].retry;
        if self.failing.is_some() {
            return;
        }
        if attempt >= retry.max_retries {
            self.tasks[id].dirty = true;
            return self.fail(Reason::Task { task: id });
        }
        let ms = retry.wait_ms(attempt);
        if ms <= 0.0 {
            return self.attempt(id, attempt + 1);
        }
        // The process will end soon. The task does not wait for its next attempt; resuming the run tries it again.
        if self.drained {
            return;
        }
        self.tasks[id].doing = Doing::Waiting(attempt + 1);
        self.commands.push(Command::Wait { task: id, attempt, ms });
    }

    /// Ends the superstep if none of its tasks runs or waits.
    fn settle(&mut self) {
        if !matches!(self.phase, Phase::Stepping | Phase::Blocked)
            || self.tasks.iter().any(|task| task.doing != Doing::Nothing)
        {
            return;
        }
        if let Some(reason) = self.failing.take() {
            return self.close(End::Failed(reason));
        }
        if self.tasks.iter().any(|task| task.progress == Progress::Ready) {
            return self.close(End::Failed(Reason::Drained));
        }
        let asking = self.indices(|task| task.progress == Progress::Asking);
        if !asking.is_empty() {
            return self.close(End::Suspended(asking));
        }
        self.phase = Phase::Committing;
        let routes = self.definition.routes(self.tasks.iter().map(|task| Some(task.node)));
        self.commands.push(Command::Commit { routes });
    }

    fn committed(&mut self, routes: Vec<Vec<Target>>) {
        let ended = std::mem::take(&mut self.tasks);
        let sources = self.definition.routes(ended.iter().map(|task| Some(task.node)));
        let (mut left, mut completed, mut nodes) = (Vec::<Left>::new(), Vec::new(), Vec::new());
        for task in ended {
            let Progress::Done(goto) = task.progress else { continue };
            left.push((Some(task.node), goto));
            completed.push(task.id);
            nodes.push(task.node);
        }
        let next = self.definition.next(&mut self.arrivals, left, sources.into_iter().zip(routes).collect());
        let id = self.new_id();
        let tasks = next.into_iter().enumerate();
        self.tasks = tasks.map(|(index, target)| Task::new(target, &self.definition, &id, index)).collect();
        let step = self.here.as_ref().map_or(0, |here| here.step) + 1;
        self.reach(id, step, Origin::Loop, (completed, nodes));
        if self.eager() && self.here.as_ref().is_some_and(|here| here.wanted) {
            self.store_here();
        }
        self.advance();
    }

    fn written(&mut self, write: u64, stored: bool) {
        if !self.writer.settle(write, stored) {
            return;
        }
        // With `Durability::Async`, the run handles the failure at its next boundary.
        if !stored && self.phase == Phase::Stepping && self.options.durability != Durability::Async {
            self.fail(Reason::Host);
            return self.settle();
        }
        if self.phase == Phase::Blocked {
            self.advance();
        }
    }

    fn drain(&mut self) {
        self.drained = true;
        match self.phase {
            Phase::New => self.close(End::Failed(Reason::Drained)),
            Phase::Stepping => {
                for task in &mut self.tasks {
                    if matches!(task.doing, Doing::Waiting(_)) {
                        task.doing = Doing::Nothing;
                    }
                }
                self.settle();
            }
            _ => {}
        }
    }

    /// Ends the run immediately. Only the writes in the queue are still stored.
    fn abort(&mut self) {
        if self.phase == Phase::Closing {
            return;
        }
        if self.phase == Phase::Stepping {
            self.commands.push(Command::Cancel);
        }
        self.close(End::Failed(Reason::Aborted));
    }

    /// Fails the run. No further task begins, and the run ends with its last running task.
    fn fail(&mut self, reason: Reason) {
        if self.failing.is_some() {
            return;
        }
        self.failing = Some(reason);
        for task in &mut self.tasks {
            if matches!(task.doing, Doing::Waiting(_)) {
                task.doing = Doing::Nothing;
            }
        }
        self.commands.push(Command::Cancel);
    }

    /// Stores the remaining writes, then ends the run.
    fn close(&mut self, end: End) {
        self.phase = Phase::Closing;
        if self.options.persist && !self.writer.failed() {
            let lazy = self.options.durability == Durability::Exit;
            let wanted = self.here.as_ref().is_some_and(|here| here.wanted);
            if matches!(end, End::Suspended(_)) || (lazy && wanted) {
                self.store_here();
            }
            if self.here.as_ref().is_some_and(|here| here.queued) {
                self.record(self.indices(|task| task.dirty));
            }
        }
        self.end = Some(end);
    }

    fn closed(&mut self) {
        let end = match self.end.take() {
            Some(End::Finished | End::Suspended(_) | End::Failed(Reason::Drained)) if self.writer.failed() => {
                End::Failed(Reason::Host)
            }
            Some(end) => end,
            None => return,
        };
        self.phase = Phase::Ended;
        self.commands.push(match end {
            End::Finished => Command::Finish,
            End::Suspended(tasks) => Command::Suspend { tasks },
            End::Failed(why) => Command::Fail { why },
        });
    }
}
