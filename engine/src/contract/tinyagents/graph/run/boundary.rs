//! The boundaries between supersteps, and the writes of their checkpoints.

use super::super::definition::NodeId;
use super::super::protocol::{Arrival, Boundary, Command, Origin, TaskId};
use super::super::tasks::Task;
use super::{Here, Run};

impl Run {
    /// Returns the id of a new checkpoint. Later ids of the same run are greater.
    pub(super) fn new_id(&mut self) -> String {
        let id = format!("{}-{:06}", self.options.prefix, self.made);
        self.made += 1;
        id
    }

    /// Makes a new boundary before the current tasks. `ended` are the ended tasks, and their nodes.
    pub(super) fn reach(&mut self, id: String, step: i64, origin: Origin, ended: (Vec<String>, Vec<NodeId>)) {
        let (completed, nodes) = ended;
        let next = || self.tasks.iter().map(|task| task.node);
        // A manual change is stored nowhere else, so its checkpoint is always required.
        let wanted = self.options.persist
            && (origin == Origin::Update
                || self.definition.wants(origin != Origin::Loop, nodes.iter().copied(), next()));
        let memory = nodes.iter().copied().chain(next()).map(|node| self.definition.nodes[node].memory).max();
        if let Some(last) = self.here.replace(Here { id: id.clone(), step, wanted, queued: false }) {
            self.writer.retire(last.id);
        }
        self.tell_boundary(id, step, Some(origin), completed, memory.unwrap_or_default());
    }

    /// Continues from a stored checkpoint without changes.
    pub(super) fn stay(&mut self, id: String, step: i64) {
        self.here = Some(Here { id: id.clone(), step, wanted: true, queued: true });
        self.tell_boundary(id, step, None, Vec::new(), super::super::definition::Consistency::Live);
    }

    fn tell_boundary(
        &mut self,
        id: String,
        step: i64,
        origin: Option<Origin>,
        completed: Vec<String>,
        memory: super::super::definition::Consistency,
    ) {
        let name = |node: &NodeId| self.definition.nodes[*node].name.clone();
        let arrivals = self.arrivals.iter();
        let arrivals = arrivals
            .map(|(node, arrived)| Arrival { node: name(node), arrived: arrived.iter().map(name).collect() })
            .collect();
        let tasks = self.tasks.iter().map(Task::planned).collect();
        let boundary = Boundary { id, step, origin, tasks, completed, arrivals, memory };
        self.commands.push(Command::Boundary { boundary });
    }

    /// Stores the checkpoint of the current boundary, unless it is stored. If it takes over tasks from another
    /// checkpoint, it also takes over their recorded results.
    pub(super) fn store_here(&mut self) {
        let Some(here) = self.here.as_mut().filter(|here| !here.queued) else { return };
        here.queued = true;
        let id = here.id.clone();
        self.writer.put(id.clone(), self.parent.replace(id));
        self.record(self.indices(|task| task.dirty || (task.from.is_some() && task.known())));
    }

    /// Records these tasks as pending writes of the current boundary.
    pub(super) fn record(&mut self, tasks: Vec<TaskId>) {
        let Some(here) = &self.here else { return };
        if tasks.is_empty() {
            return;
        }
        for task in &tasks {
            self.tasks[*task].dirty = false;
        }
        self.writer.record(here.id.clone(), tasks);
    }
}
