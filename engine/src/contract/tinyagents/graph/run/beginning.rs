//! The beginning of a run: the loaded checkpoint and the first tasks.

use super::super::definition::NodeId;
use super::super::frontier::{Arrivals, join};
use super::super::protocol::{Answers, Base, Command, Mode, Origin, Reason, Target};
use super::super::tasks::{Progress, Task};
use super::{End, Phase, Run};

impl Run {
    pub(super) fn start(&mut self) {
        let id = match &self.options.mode {
            Mode::Input if !self.options.persist => return self.enter(),
            Mode::Continue { from, .. } => from.clone(),
            _ => None,
        };
        self.phase = Phase::Loading;
        self.commands.push(Command::Load { id });
    }

    fn enter(&mut self) {
        self.phase = Phase::Entering;
        let routes = match self.options.mode {
            Mode::Input => self.definition.routes([None].into_iter()),
            Mode::Update { as_node: Some(node) } => self.definition.routes([Some(node)].into_iter()),
            _ => Vec::new(),
        };
        self.commands.push(Command::Enter { routes });
    }

    pub(super) fn loaded(&mut self, base: Option<Base>) {
        match (&self.options.mode, base) {
            (Mode::Input, base) => {
                self.parent = base.as_ref().map(|base| base.id.clone());
                self.loaded = base;
                self.enter();
            }
            (_, None) => self.close(End::Failed(Reason::NotFound)),
            (mode, Some(base)) => {
                let changes = match mode {
                    Mode::Continue { update, goto, .. } => *update || !goto.is_empty(),
                    _ => true,
                };
                self.parent = Some(base.id.clone());
                if let Err(message) = self.take_over(&base) {
                    return self.close(End::Failed(Reason::Mismatch { message }));
                }
                self.loaded = Some(base);
                if changes {
                    return self.enter();
                }
                self.go_on(false);
            }
        }
    }

    /// Takes over the tasks and the arrivals of a checkpoint.
    fn take_over(&mut self, base: &Base) -> Result<(), String> {
        for (index, stored) in base.tasks.iter().enumerate() {
            let Some(node) = self.definition.node(&stored.node) else {
                return Err(format!(
                    "checkpoint {:?} continues with node {:?}, which the graph no longer has: restore the node, or \
                     continue from another checkpoint",
                    base.id, stored.node
                ));
            };
            self.tasks.push(Task::of(stored, node, &self.definition, index));
        }
        let known = |name: &String| self.definition.node(name);
        self.arrivals = Arrivals::new();
        for arrival in &base.arrivals {
            if let Some(node) = known(&arrival.node) {
                self.arrivals.insert(node, arrival.arrived.iter().filter_map(known).collect());
            }
        }
        Ok(())
    }

    pub(super) fn entered(&mut self, chosen: Vec<Vec<Target>>) {
        match self.options.mode.clone() {
            Mode::Input => {
                let sources = self.definition.routes([None].into_iter());
                let routed = sources.into_iter().zip(chosen).collect();
                let next = self.definition.next(&mut self.arrivals, vec![(None, Vec::new())], routed);
                let id = self.new_id();
                self.activate(&id, next);
                let step = self.loaded.take().map_or(0, |base| base.step + 1);
                self.reach(id, step, Origin::Input, Default::default());
                if self.eager() && self.here.as_ref().is_some_and(|here| here.wanted) {
                    self.store_here();
                }
                self.advance();
            }
            Mode::Update { as_node } => {
                let mut next = Vec::new();
                if let Some(node) = as_node {
                    self.ran(node);
                    let sources = self.definition.routes([Some(node)].into_iter());
                    let routed = sources.into_iter().zip(chosen).collect();
                    next = self.definition.next(&mut self.arrivals, vec![(Some(node), Vec::new())], routed);
                }
                self.change(next);
                self.store_here();
                self.close(End::Finished);
            }
            Mode::Continue { goto, .. } => {
                self.change(goto);
                self.go_on(true);
            }
        }
    }

    /// Counts the update as a run of this node, so that a task of the node no longer has to run.
    fn ran(&mut self, node: NodeId) {
        if let Some(task) = self.tasks.iter().position(|task| task.node == node) {
            self.tasks.remove(task);
        }
    }

    /// Adds tasks for these targets. A target without an argument joins its node's task, if one has yet to run.
    fn activate(&mut self, id: &str, targets: Vec<Target>) {
        let waits = |task: &&Task| !matches!(task.progress, Progress::Done(_));
        let mut known: Vec<Target> =
            self.tasks.iter().filter(waits).map(|task| Target { node: task.node, arg: task.arg }).collect();
        let old = known.len();
        for target in targets {
            join(&mut known, target);
        }
        for target in known.drain(old..) {
            let task = Task::new(target, &self.definition, id, self.tasks.len());
            self.tasks.push(task);
        }
    }

    /// Makes a boundary that holds a manual change of the loaded checkpoint.
    fn change(&mut self, next: Vec<Target>) {
        let id = self.new_id();
        let Some(base) = self.loaded.take() else { return };
        if !base.latest {
            self.rename(&id);
        }
        self.activate(&id, next);
        self.reach(id, base.step + 1, Origin::Update, Default::default());
        self.loaded = Some(base);
    }

    /// Gives the tasks of an older checkpoint new ids, because their old ids belong to the past run.
    fn rename(&mut self, id: &str) {
        for index in 0..self.tasks.len() {
            let Task { node, arg, .. } = self.tasks[index];
            self.tasks[index].id = Task::new(Target { node, arg }, &self.definition, id, index).id;
        }
    }

    /// Begins the first superstep of a run that continues from the loaded checkpoint.
    fn go_on(&mut self, changed: bool) {
        let Some(base) = self.loaded.take() else { return };
        let answered = match self.answered(&base) {
            Ok(answered) => answered,
            Err(message) => return self.close(End::Failed(Reason::Mismatch { message })),
        };
        if !changed && base.latest {
            self.stay(base.id, base.step);
        } else if !changed {
            // Older checkpoints never change. New results belong to a copy, which is stored when it is needed.
            let id = self.new_id();
            self.rename(&id);
            self.reach(id, base.step, Origin::Fork, Default::default());
        }
        if !answered.is_empty() {
            for task in &answered {
                self.tasks[*task].progress = Progress::Ready;
                self.tasks[*task].dirty = true;
            }
            self.commands.push(Command::Answer { tasks: answered.clone() });
        }
        if self.eager() && (changed || !answered.is_empty()) {
            self.store_here();
            self.record(self.indices(|task| task.dirty));
        }
        self.advance();
    }

    /// Returns the tasks that get the command's answer. In the latest checkpoint, these are the tasks that wait for an
    /// answer. An older checkpoint may be answered again, so its answered tasks count too.
    fn answered(&self, base: &Base) -> Result<Vec<usize>, String> {
        let Mode::Continue { answers, .. } = &self.options.mode else { return Ok(Vec::new()) };
        let asks = |task: &Task| task.progress == Progress::Asking || (!base.latest && task.gate);
        match answers {
            Answers::None => Ok(Vec::new()),
            Answers::All => Ok(self.indices(asks)),
            Answers::Tasks(ids) => {
                // A task of an older checkpoint already has a new id. The caller knows its id in the checkpoint.
                let is = |id: &String, task: &Task| {
                    task.from.is_some_and(|from| base.tasks[from].task == *id)
                        || self.definition.nodes[task.node].name == *id
                };
                match ids.iter().find(|id| !self.tasks.iter().any(|task| is(id, task))) {
                    Some(id) => Err(format!("checkpoint {:?} has no task {id:?} that could be answered", base.id)),
                    None => Ok(self.indices(|task| asks(task) && ids.iter().any(|id| is(id, task)))),
                }
            }
        }
    }
}
