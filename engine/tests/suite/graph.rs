//! Tests the state machine of graphs with a random graph and a random host. The host acts in any order. It fails,
//! drains, and crashes between any two actions. A task whose result is recorded must not run again. No task may be lost.
//! A run that was interrupted in any way must end with the same state as a run without interruptions.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use forkpoint_engine::contract::retry::Retry;
use forkpoint_engine::contract::tinyagents::graph::definition::{
    Barrier, Definition, Edge, Effect, Node, NodeId, NodePolicy, Policy, Source,
};
use forkpoint_engine::contract::tinyagents::graph::protocol::{
    Answers, Arrival, Base, Boundary, Command, Durability, Event, Mode, Options, Origin, Reason, Stored, Target, TaskId,
};
use forkpoint_engine::contract::tinyagents::graph::run::Run;
use proptest::prelude::*;

/// A state: the updates of the tasks that made it.
type State = Vec<String>;

/// What is known about a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    done: Option<(String, Vec<Target>)>,
    interrupts: usize,
    answers: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Checkpoint {
    id: String,
    parent: Option<String>,
    step: i64,
    origin: Option<Origin>,
    state: State,
    /// The name, the id and the argument of each task.
    tasks: Vec<(String, String, Option<usize>)>,
    arrivals: Vec<Arrival>,
}

/// The stored checkpoints in the order of insertion, and what is recorded about their tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Store {
    checkpoints: Vec<Checkpoint>,
    writes: BTreeMap<(String, String), Known>,
}

impl Store {
    fn get(&self, id: &str) -> Option<&Checkpoint> {
        self.checkpoints.iter().find(|checkpoint| checkpoint.id == id)
    }

    fn latest(&self) -> Option<&Checkpoint> {
        self.checkpoints.last()
    }
}

/// A stream of random choices. The choices decide the host's order, its failures and its crashes.
struct Chance(Vec<u8>);

impl Chance {
    fn draw(&mut self, of: usize) -> usize {
        match self.0.pop() {
            Some(byte) => usize::from(byte) % of,
            // When no choices are left, every action succeeds, and the actions happen in order.
            None => 0,
        }
    }

    fn once_in(&mut self, times: usize) -> bool {
        !self.0.is_empty() && self.draw(times) == times - 1
    }
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Finished(State),
    Suspended,
    Failed(Reason),
    Crashed,
}

/// What the host does later: it stores something, and then reports an event.
enum Later {
    Event(Event),
    Put(u64, Box<Checkpoint>, Vec<(String, Known)>),
    Record(u64, String, Vec<(String, Known)>),
}

/// A graph with nodes that behave in the same way on every run.
#[derive(Clone, Debug)]
struct Graph {
    definition: Arc<Definition>,
    /// The number of questions that each node asks.
    asks: Vec<usize>,
    salt: u64,
}

/// A state of this length or longer leads no node back.
const LONG: usize = 10;

impl Graph {
    fn hash(&self, about: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.salt, about).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the nodes that a node, or a conditional edge, chooses in a state.
    fn choose(&self, from: Source, state: &State, which: &str) -> Vec<Target> {
        let least = if state.len() >= LONG { from.map_or(0, |node| node + 1) } else { 0 };
        let count = self.definition.nodes.len();
        let hash = self.hash((from, state, which));
        let mut chosen = Vec::new();
        for turn in 0..hash % 3 {
            let picked = self.hash((hash, turn));
            let span = count.saturating_sub(least);
            if span > 0 {
                let node = least + usize::try_from(picked % 64).unwrap() % span;
                let arg = (picked % 128 < 40).then(|| usize::try_from(picked % 5).unwrap());
                chosen.push(Target { node, arg });
            }
        }
        chosen
    }
}

struct Host<'a> {
    graph: &'a Graph,
    store: &'a mut Store,
    chance: Chance,
    durability: Durability,
    state: State,
    /// What is known about the tasks of the loaded checkpoint.
    loaded: Vec<Known>,
    boundaries: HashMap<String, (Boundary, State, Vec<Known>)>,
    here: String,
    over: bool,
    todo: Vec<Later>,
}

impl Host<'_> {
    fn play(&mut self, mode: Mode, prefix: String) -> End {
        let options = Options { mode, durability: self.durability, persist: true, prefix };
        let mut run = Run::new(Arc::clone(&self.graph.definition), options);
        self.todo = vec![Later::Event(Event::Started)];
        loop {
            if self.chance.once_in(40) {
                return End::Crashed;
            }
            if self.chance.once_in(60) {
                self.todo.push(Later::Event(Event::DrainRequested));
            }
            if self.chance.once_in(90) {
                self.todo.push(Later::Event(Event::Aborted));
            }
            assert!(!self.todo.is_empty(), "the run waits for nothing");
            let next = self.chance.draw(self.todo.len());
            let event = match self.todo.remove(next) {
                Later::Event(event) => event,
                Later::Put(write, ..) | Later::Record(write, ..) if self.chance.once_in(25) => {
                    Event::WriteFailed { write }
                }
                Later::Put(write, checkpoint, known) => {
                    self.put(*checkpoint, known);
                    Event::Written { write }
                }
                Later::Record(write, id, known) => {
                    self.record(&id, known);
                    Event::Written { write }
                }
            };
            if self.chance.once_in(50) {
                return End::Crashed;
            }
            let commands = run.on(event.clone());
            let about_a_task = matches!(event, Event::Ran { .. } | Event::Threw { .. } | Event::Waited { .. });
            if about_a_task && !commands.iter().any(|command| matches!(command, Command::Begin { .. })) {
                assert_eq!(run.on(event), [], "an event counts once");
            }
            for command in commands {
                if let Some(end) = self.act(command) {
                    for late in self.todo.drain(..) {
                        match late {
                            Later::Event(late) => assert_eq!(run.on(late), [], "nothing follows the end"),
                            _ => panic!("the run ended before a write"),
                        }
                    }
                    return end;
                }
            }
        }
    }

    fn put(&mut self, checkpoint: Checkpoint, known: Vec<(String, Known)>) {
        assert!(self.store.get(&checkpoint.id).is_none(), "{} is put twice", checkpoint.id);
        if let Some(parent) = &checkpoint.parent {
            assert!(self.store.get(parent).is_some(), "{} is stored before its parent", checkpoint.id);
        }
        let id = checkpoint.id.clone();
        self.store.checkpoints.push(checkpoint);
        self.record(&id, known);
    }

    fn record(&mut self, id: &str, known: Vec<(String, Known)>) {
        assert!(self.store.get(id).is_some(), "writes of {id}, which is not stored");
        for (task, known) in known {
            self.store.writes.insert((id.to_owned(), task), known);
        }
    }

    fn known(&mut self, task: TaskId) -> (&Boundary, &State, &mut Known) {
        let (boundary, state, known) = self.boundaries.get_mut(&self.here).unwrap();
        (boundary, state, &mut known[task])
    }

    fn then(&mut self, event: Event) {
        self.todo.push(Later::Event(event));
    }

    fn act(&mut self, command: Command) -> Option<End> {
        match command {
            Command::Load { id } => {
                if self.chance.once_in(40) {
                    self.then(Event::Broke);
                    return None;
                }
                let found = match &id {
                    Some(id) => self.store.get(id),
                    None => self.store.latest(),
                };
                let base = found.cloned().map(|found| self.base(&found));
                self.then(Event::Loaded { base });
            }
            Command::Enter { routes } => {
                if self.state.is_empty() {
                    self.state = vec!["input".to_owned()];
                }
                self.made(&routes);
            }
            Command::Commit { routes } => {
                if self.chance.once_in(30) {
                    self.then(Event::Broke);
                    return None;
                }
                let (_, state, known) = &self.boundaries[&self.here];
                let updates = known.iter().map(|known| known.done.as_ref().expect("all tasks have ended").0.clone());
                self.state = state.iter().cloned().chain(updates).collect();
                self.made(&routes);
            }
            Command::Boundary { boundary } => {
                let known = boundary.tasks.iter();
                let known = known.map(|task| task.from.map_or_else(Known::default, |from| self.loaded[from].clone()));
                self.here.clone_from(&boundary.id);
                self.boundaries.insert(boundary.id.clone(), (boundary.clone(), self.state.clone(), known.collect()));
            }
            Command::Answer { tasks } => {
                for task in tasks {
                    let (_, _, known) = self.known(task);
                    known.answers = known.interrupts;
                    known.done = None;
                }
            }
            Command::Begin { .. } => {
                assert!(!self.over, "a superstep begins after the last checkpoint");
                let (boundary, ..) = &self.boundaries[&self.here];
                let stored = self.store.get(&boundary.id).is_some();
                if self.durability == Durability::Sync {
                    assert!(self.todo.iter().all(|later| matches!(later, Later::Event(_))), "a write is not stored");
                    let lazy = boundary.origin == Some(Origin::Fork);
                    let every = self.graph.definition.checkpoint == Policy::EveryNode;
                    let own = self.graph.definition.nodes.iter().all(|node| node.checkpoint.is_none());
                    assert!(stored || lazy || !every || !own, "a superstep begins before {} is stored", boundary.id);
                }
            }
            Command::Run { task, attempt } => self.run(task, attempt),
            Command::Wait { task, attempt, ms } => {
                assert!(ms > 0.0);
                self.then(Event::Waited { task, attempt: attempt + 1 });
            }
            Command::Put { write, id, parent } => {
                self.over |= self.durability == Durability::Exit;
                let (boundary, state, known) = &self.boundaries[&id];
                let checkpoint = Checkpoint {
                    id,
                    parent,
                    step: boundary.step,
                    origin: boundary.origin,
                    state: state.clone(),
                    tasks: boundary
                        .tasks
                        .iter()
                        .map(|task| (self.name(task.node), task.task.clone(), task.arg))
                        .collect(),
                    arrivals: boundary.arrivals.clone(),
                };
                let known = boundary.tasks.iter().zip(known).map(|(task, known)| (task.task.clone(), known.clone()));
                let known = known.filter(|(_, known)| *known != Known::default()).collect();
                self.todo.push(Later::Put(write, Box::new(checkpoint), known));
            }
            Command::Record { write, id, tasks } => {
                self.over |= self.durability == Durability::Exit;
                let (boundary, _, known) = &self.boundaries[&id];
                let known = tasks.iter().map(|task| (boundary.tasks[*task].task.clone(), known[*task].clone()));
                self.todo.push(Later::Record(write, id.clone(), known.collect()));
            }
            Command::Drop { id } => {
                self.boundaries.remove(&id).expect("a boundary is dropped once");
            }
            Command::Cancel => {}
            Command::Finish => return Some(End::Finished(self.state.clone())),
            Command::Suspend { tasks } => {
                self.check_questions(&tasks);
                return Some(End::Suspended);
            }
            Command::Fail { why } => return Some(End::Failed(why)),
        }
        None
    }

    /// Checks that the questions of these tasks are stored.
    fn check_questions(&mut self, tasks: &[TaskId]) {
        assert!(!tasks.is_empty());
        for task in tasks {
            let here = self.here.clone();
            let (boundary, _, known) = self.known(*task);
            assert!(known.interrupts > known.answers);
            let key = (here, boundary.tasks[*task].task.clone());
            let known = known.clone();
            assert_eq!(self.store.writes[&key], known, "the question is stored");
        }
    }

    fn name(&self, node: NodeId) -> String {
        self.graph.definition.nodes[node].name.clone()
    }

    fn made(&mut self, routes: &[Source]) {
        let routes = routes.iter().map(|source| self.graph.choose(*source, &self.state, "route")).collect();
        self.then(Event::Made { routes });
    }

    fn base(&mut self, found: &Checkpoint) -> Base {
        self.state.clone_from(&found.state);
        let known = |task: &String| self.store.writes.get(&(found.id.clone(), task.clone())).cloned();
        self.loaded = found.tasks.iter().map(|(_, task, _)| known(task).unwrap_or_default()).collect();
        let tasks = found.tasks.iter().zip(&self.loaded).map(|((node, task, arg), known)| Stored {
            node: node.clone(),
            task: task.clone(),
            arg: *arg,
            done: known.done.as_ref().map(|(_, goto)| goto.clone()),
            interrupts: known.interrupts,
            answers: known.answers,
        });
        Base {
            id: found.id.clone(),
            step: found.step,
            latest: self.store.latest().unwrap().id == found.id,
            tasks: tasks.collect(),
            arrivals: found.arrivals.clone(),
        }
    }

    fn run(&mut self, task: TaskId, attempt: u32) {
        let graph = self.graph;
        let throws = self.chance.once_in(6);
        let stops = self.chance.once_in(60);
        let here = self.here.clone();
        let recorded = {
            let key = (here, self.known(task).0.tasks[task].task.clone());
            self.store.writes.get(&key).is_some_and(|known| known.done.is_some())
        };
        let (boundary, state, known) = self.known(task);
        let planned = &boundary.tasks[task];
        let node = planned.node;
        let repeats = matches!(graph.definition.nodes[node].effect, Some(Effect::Pure | Effect::Read));
        assert!(repeats || !recorded || boundary.origin.is_none() && known.done.is_none(), "{planned:?} runs again");
        assert!(known.interrupts <= known.answers, "{planned:?} runs without an answer");
        let event = if throws {
            Event::Threw { task, attempt }
        } else if stops {
            Event::Stopped { task, attempt }
        } else if known.answers < graph.asks[node] {
            known.interrupts = known.answers + 1;
            Event::Interrupted { task, attempt }
        } else {
            let update = format!("{node}/{:?}@{:x}", planned.arg, graph.hash(state));
            let goto = graph.choose(Some(node), state, "goto");
            known.done = Some((update, goto.clone()));
            Event::Ran { task, attempt, goto }
        };
        self.then(event);
    }
}

fn graphs() -> impl Strategy<Value = Graph> {
    let effect = prop_oneof![
        4 => Just(None),
        1 => prop::sample::select(&[Effect::Pure, Effect::Read, Effect::Write, Effect::Human][..]).prop_map(Some),
    ];
    let node = (effect, 0..3_u32, any::<bool>(), prop_oneof![4 => Just(0_usize), 1 => Just(1), 1 => Just(2)]);
    (prop::collection::vec(node, 1..6), prop::collection::vec(any::<u8>(), 24), any::<u64>()).prop_map(
        |(nodes, bytes, salt)| {
            let count = nodes.len();
            let asks = nodes.iter().map(|(.., asks)| *asks).collect();
            let nodes = nodes.into_iter().enumerate().map(|(at, (effect, max_retries, waits, _))| Node {
                name: format!("n{at}"),
                effect,
                retry: Retry { max_retries, backoff_ms: if waits { 5.0 } else { 0.0 } },
                ..Node::default()
            });
            let mut bytes = bytes.into_iter().map(usize::from);
            let mut draw = |of: usize| bytes.next().unwrap() % of;
            let mut definition = Definition { nodes: nodes.collect(), max_supersteps: 10_000, ..Definition::default() };
            definition.edges.push(Edge { from: None, to: draw(count) });
            for _ in 0..draw(6) {
                let (from, to) = (draw(count), draw(count));
                if from < to {
                    definition.edges.push(Edge { from: Some(from), to });
                }
            }
            for _ in 0..draw(3) {
                let to = draw(count);
                if to > 1 {
                    definition.barriers.push(Barrier { from: vec![draw(to), to - 1], to });
                }
            }
            let conditional = (0..draw(3)).map(|_| Some(draw(count + 1)).filter(|node| *node < count));
            definition.conditional = conditional.collect();
            Graph { definition: Arc::new(definition.check().unwrap()), asks, salt }
        },
    )
}

fn host<'a>(graph: &'a Graph, store: &'a mut Store, durability: Durability, chances: Vec<u8>) -> Host<'a> {
    Host {
        graph,
        store,
        chance: Chance(chances),
        durability,
        state: State::new(),
        loaded: Vec::new(),
        boundaries: HashMap::new(),
        here: String::new(),
        over: false,
        todo: Vec::new(),
    }
}

fn resume(from: Option<String>) -> Mode {
    Mode::Continue { from, update: false, goto: Vec::new(), answers: Answers::All }
}

/// Runs until the graph has finished. Returns the final state.
fn finish(graph: &Graph, store: &mut Store, durability: Durability, name: &str) -> State {
    for attempt in 0..10_000 {
        let mode = if store.latest().is_none() { Mode::Input } else { resume(None) };
        match host(graph, store, durability, Vec::new()).play(mode, format!("{name}{attempt:05}")) {
            End::Finished(state) => return state,
            End::Suspended => {}
            end => panic!("{end:?}"),
        }
    }
    panic!("the graph does not end");
}

/// Checks that the latest checkpoint has an unbroken line of ancestors, each one superstep older.
fn check_line(store: &Store, durability: Durability) {
    let mut next = store.latest();
    while let Some(checkpoint) = next {
        next = checkpoint.parent.as_ref().map(|parent| store.get(parent).expect("a parent is stored"));
        if let Some(parent) = next {
            let copied = checkpoint.origin == Some(Origin::Fork);
            match durability {
                Durability::Exit => assert!(parent.step <= checkpoint.step, "{checkpoint:#?}"),
                _ => assert_eq!(parent.step + i64::from(!copied), checkpoint.step, "{checkpoint:#?}"),
            }
            assert!(checkpoint.state.starts_with(&parent.state), "{checkpoint:#?} has lost updates of {parent:#?}");
        }
    }
}

fn plays() -> impl Strategy<Value = Vec<(u8, u8, Vec<u8>)>> {
    prop::collection::vec((any::<u8>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..160)), 1..8)
}

fn durabilities() -> impl Strategy<Value = Durability> {
    prop::sample::select(&[Durability::Sync, Durability::Async, Durability::Exit][..])
}

proptest! {
    #![proptest_config(crate::common::same_cases(2000, 0x0f0c_4b02))]
    #[test]
    fn a_run_survives_everything(graph in graphs(), durability in durabilities(), plays in plays()) {
        let expected = finish(&graph, &mut Store::default(), Durability::Sync, "expected");
        let mut store = Store::default();
        for (number, (_, _, chances)) in plays.into_iter().enumerate() {
            let mode = if store.latest().is_none() { Mode::Input } else { resume(None) };
            let before = store.clone();
            let end = host(&graph, &mut store, durability, chances).play(mode, format!("play{number:03}"));
            prop_assert_eq!(&store.checkpoints[..before.checkpoints.len()], &before.checkpoints[..]);
            match end {
                End::Finished(state) => {
                    prop_assert_eq!(&state, &expected);
                    prop_assert_eq!(&store.latest().unwrap().state, &expected);
                    prop_assert_eq!(store.latest().unwrap().tasks.len(), 0);
                }
                End::Crashed if durability == Durability::Exit => {
                    prop_assert!(store.checkpoints.len() <= before.checkpoints.len() + 1);
                }
                End::Failed(Reason::Mismatch { message }) => panic!("{message}"),
                End::Failed(reason @ (Reason::NotFound | Reason::Limit { .. })) => panic!("{reason:?}"),
                _ => {}
            }
            check_line(&store, durability);
        }
        prop_assert_eq!(&finish(&graph, &mut store, durability, "rest"), &expected);
        check_line(&store, durability);
        let before = store.clone();
        prop_assert_eq!(&finish(&graph, &mut store, durability, "again"), &expected);
        prop_assert_eq!(store, before, "a finished run has nothing to do");
    }

    #[test]
    fn an_older_checkpoint_can_be_continued_and_never_changes(
        graph in graphs(),
        durability in durabilities(),
        plays in plays(),
    ) {
        let mut store = Store::default();
        let expected = finish(&graph, &mut store, Durability::Sync, "first");
        for (number, (chosen, _, chances)) in plays.into_iter().enumerate() {
            let from = store.checkpoints[usize::from(chosen) % store.checkpoints.len()].id.clone();
            let before = store.clone();
            let mode = resume(Some(from.clone()));
            let end = host(&graph, &mut store, durability, chances).play(mode, format!("play{number:03}"));
            if let End::Finished(state) = end {
                prop_assert_eq!(&state, &expected);
            }
            prop_assert_eq!(&store.checkpoints[..before.checkpoints.len()], &before.checkpoints[..]);
            let latest = before.latest().unwrap();
            for ((id, task), known) in &before.writes {
                prop_assert!(*id == latest.id || store.writes[&(id.clone(), task.clone())] == *known);
            }
            check_line(&store, durability);
        }
        prop_assert_eq!(&finish(&graph, &mut store, durability, "rest"), &expected);
    }
}

/// Returns the steps whose checkpoints are put while a graph of nodes, one after the other, runs without failures.
fn puts(nodes: Vec<Node>, checkpoint: Policy, durability: Durability) -> Vec<i64> {
    let edges = (0..nodes.len()).map(|to| Edge { from: to.checked_sub(1), to }).collect();
    let definition = Definition { nodes, edges, checkpoint, max_supersteps: 100, ..Definition::default() };
    let options = Options { mode: Mode::Input, durability, persist: true, prefix: "p".to_owned() };
    let mut run = Run::new(Arc::new(definition), options);
    let (mut steps, mut puts) = (HashMap::new(), Vec::new());
    let mut todo = vec![Event::Started];
    while let Some(event) = todo.pop() {
        for command in run.on(event) {
            match command {
                Command::Load { .. } => todo.push(Event::Loaded { base: None }),
                Command::Enter { .. } | Command::Commit { .. } => todo.push(Event::Made { routes: Vec::new() }),
                Command::Boundary { boundary } => drop(steps.insert(boundary.id, boundary.step)),
                Command::Run { task, attempt } => todo.push(Event::Ran { task, attempt, goto: Vec::new() }),
                Command::Put { write, id, .. } => {
                    puts.push(steps[&id]);
                    todo.push(Event::Written { write });
                }
                Command::Record { write, .. } => todo.push(Event::Written { write }),
                _ => {}
            }
        }
    }
    puts
}

#[test]
fn the_policies_decide_which_boundaries_are_stored() {
    use NodePolicy::{After, Before, Both};
    let with = |policy: [Option<NodePolicy>; 3]| {
        policy.map(|checkpoint| Node { name: "n".to_owned(), checkpoint, ..Node::default() }).into()
    };
    let none = Some(NodePolicy::None);
    for (policy, graph, durability, expected) in [
        ([None, None, None], Policy::EveryNode, Durability::Sync, &[0, 1, 2, 3][..]),
        ([None, None, None], Policy::EveryNode, Durability::Async, &[0, 1, 2, 3]),
        ([None, None, None], Policy::EveryNode, Durability::Exit, &[3]),
        ([None, none, None], Policy::EveryNode, Durability::Sync, &[0, 1, 3]),
        ([None, Some(Before), None], Policy::EveryNode, Durability::Sync, &[0, 1, 3]),
        ([None, None, None], Policy::Explicit, Durability::Sync, &[]),
        ([None, Some(After), None], Policy::Explicit, Durability::Sync, &[2]),
        ([Some(Before), None, Some(Both)], Policy::Explicit, Durability::Sync, &[0, 2, 3]),
        ([Some(Both), Some(Both), None], Policy::None, Durability::Sync, &[]),
    ] {
        assert_eq!(puts(with(policy), graph, durability), expected, "{policy:?} {graph:?} {durability:?}");
    }
}
