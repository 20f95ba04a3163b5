//! Tests the state machine of workflows with a random host. The host acts in any order. It fails, drains, and crashes
//! between any two actions. The stored checkpoints must always be the beginning of a run. A stored step must not run
//! again. A fork must not change the run that it was forked from.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use forkpoint_engine::contract::agentium::workflow::definition::{Definition, Kind, NodeId, Step};
use forkpoint_engine::contract::agentium::workflow::protocol::{
    Base, Command, ENTRY, Event, How, Mode, OnError, Options, Reason, Slot,
};
use forkpoint_engine::contract::agentium::workflow::run::Run;
use forkpoint_engine::contract::retry::Retry;
use proptest::prelude::*;

/// A state: the ids of the tasks that made it.
type Made = Vec<NodeId>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Checkpoint {
    id: String,
    step_index: i64,
    step_name: String,
    made: Made,
}

/// The stored checkpoints of each run, in the order of its steps.
type Store = BTreeMap<String, Vec<Checkpoint>>;

/// A stream of random choices. The choices decide the host's order, its failures and its crashes.
struct Chance(Vec<u8>);

impl Chance {
    fn draw(&mut self, of: usize) -> usize {
        match self.0.pop() {
            Some(byte) => usize::from(byte) % of,
            // When no choices are left, every action succeeds, and the actions happen in order.
            None => of - 1,
        }
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.draw(times) == 0 && times > 1
    }
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Finished(Made),
    Failed(Reason),
    Crashed,
}

struct Host<'a> {
    store: &'a mut Store,
    definition: Arc<Definition>,
    chance: Chance,
    slots: HashMap<Slot, Made>,
    run_id: String,
    /// True if a replay is running. Until the first step of a replay is stored, it may run stored steps again.
    replaying: bool,
    plain: bool,
}

impl Host<'_> {
    fn play(&mut self, options: Options) -> End {
        self.run_id.clone_from(&options.run_id);
        self.replaying = matches!(options.mode, Mode::Replay { .. });
        self.plain = options.mode == Mode::Plain;
        self.slots = HashMap::from([(ENTRY, Vec::new())]);
        let mut run = Run::new(Arc::clone(&self.definition), options);
        let mut todo: Vec<Event> = vec![Event::Started];
        loop {
            if self.chance.once_in(40) {
                return End::Crashed;
            }
            if self.chance.once_in(50) {
                todo.push(Event::DrainRequested);
            }
            if self.chance.once_in(90) {
                todo.push(Event::Aborted);
            }
            assert!(!todo.is_empty(), "the run waits for nothing");
            let event = todo.remove(self.chance.draw(todo.len()));
            // Some events are sent twice, because the outcome of a step must have no effect when it is repeated.
            // `Stored` is not sent twice, because a store reports it only once.
            if event != Event::Stored && self.chance.once_in(20) {
                todo.push(event.clone());
            }
            for command in run.on(event) {
                if self.chance.once_in(60) {
                    return End::Crashed;
                }
                match self.act(command) {
                    Ok(events) => todo.extend(events),
                    Err(end) => {
                        for late in todo {
                            assert_eq!(run.on(late), [], "nothing follows the end");
                        }
                        return end;
                    }
                }
                check_chains(self.store, &self.definition);
            }
        }
    }

    fn act(&mut self, command: Command) -> Result<Option<Event>, End> {
        Ok(match command {
            Command::Load { id } => {
                let found = match &id {
                    Some(id) => self.store.values().flatten().find(|checkpoint| checkpoint.id == *id),
                    None => self.store.get(&self.run_id).and_then(|chain| chain.last()),
                };
                let base = found.cloned().map(|found| {
                    self.slots.insert(ENTRY, found.made);
                    let run_id = found.id.rsplit_once(':').unwrap().0.to_owned();
                    if self.replaying {
                        self.run_id.clone_from(&run_id);
                    }
                    Base { id: found.id, run_id, step_index: found.step_index, step_name: found.step_name }
                });
                Some(Event::Loaded { base })
            }
            Command::Mutate => Some(Event::Mutated),
            Command::Store { id, step_index, step_name, slot, rewind } => {
                if self.chance.once_in(30) {
                    return Ok(Some(Event::Broke));
                }
                assert!(!self.plain);
                assert_eq!(id.rsplit_once(':').unwrap().0, self.run_id);
                let made = self.slots[&slot].clone();
                let chain = self.store.entry(self.run_id.clone()).or_default();
                if rewind {
                    chain.retain(|checkpoint| checkpoint.step_index < step_index);
                }
                assert!(chain.iter().all(|checkpoint| checkpoint.id != id), "{id} is overwritten without being asked");
                chain.push(Checkpoint { id, step_index, step_name, made: made.clone() });
                self.replaying = false;
                self.slots = HashMap::from([(slot, made)]);
                Some(Event::Stored)
            }
            Command::Keep { slot } => {
                let made = self.slots[&slot].clone();
                self.slots = HashMap::from([(slot, made)]);
                None
            }
            Command::Run { step: node, attempt, slot: input } => {
                self.check_not_stored(node);
                self.check_attempt(node, attempt);
                if self.chance.once_in(4) {
                    return Ok(Some(Event::Threw { step: node, attempt }));
                }
                let mut made = self.slots[&input].clone();
                made.push(node);
                self.slots.insert(node + 1, made);
                Some(Event::Ran { step: node, attempt })
            }
            Command::Evaluate { step: node, attempt, slot: input } => {
                self.check_not_stored(node);
                self.check_attempt(node, attempt);
                assert!(self.slots.contains_key(&input));
                Some(match self.chance.draw(8) {
                    0 => Event::Threw { step: node, attempt },
                    drawn => Event::Evaluated { step: node, attempt, holds: drawn > 2 },
                })
            }
            Command::Wait { step: node, attempt, ms } => {
                assert_eq!(ms.to_bits(), self.retry_of(node).wait_ms(attempt).to_bits());
                assert!(ms > 0.0);
                Some(Event::Waited { step: node })
            }
            Command::Ask { step: node } => Some(Event::Decided { step: node, go_on: self.chance.draw(2) == 0 }),
            Command::Merge { step: node, base, branches } => {
                if self.chance.once_in(9) {
                    return Ok(Some(Event::Conflicted { step: node }));
                }
                let base = self.slots[&base].clone();
                let mut merged = base.clone();
                for branch in branches {
                    merged.extend(&self.slots[&branch][base.len()..]);
                }
                self.slots.insert(node + 1, merged);
                Some(Event::Merged { step: node })
            }
            Command::Began { .. } | Command::Ended { .. } | Command::Cancel => None,
            Command::Finish { slot } => return Err(End::Finished(self.slots[&slot].clone())),
            Command::Fail { why: reason } => return Err(End::Failed(reason)),
        })
    }

    /// The retry rule of a step: its own, or the workflow's if it has none.
    fn retry_of(&self, node: NodeId) -> Retry {
        self.definition.nodes[node].step.retry.unwrap_or(self.definition.retry)
    }

    /// Checks that a step is not tried more often than its rule says.
    fn check_attempt(&self, node: NodeId, attempt: u32) {
        let own = self.retry_of(node);
        assert!(attempt <= own.max_retries, "step {node} is tried for the {attempt}th time, with {own:?}");
    }

    /// Checks that a stored step does not run again. A replay may run a stored step again.
    fn check_not_stored(&self, node: NodeId) {
        if self.replaying || self.plain {
            return;
        }
        let step = step_of(&self.definition, node);
        let stored = self.store.get(&self.run_id).and_then(|chain| chain.last()).unwrap();
        assert_eq!(stored.step_index + 1, step, "step {step} runs on top of {stored:?}");
    }
}

fn step_of(definition: &Definition, mut node: NodeId) -> i64 {
    while let Some(parent) = definition.nodes[node].step.parent {
        node = parent;
    }
    i64::try_from(definition.top.iter().position(|top| *top == node).unwrap()).unwrap()
}

/// Checks that every chain is the beginning of a run: no step is missing, each state is the previous state plus the
/// result of its step, and no task occurs twice.
fn check_chains(store: &Store, definition: &Definition) {
    for chain in store.values() {
        for pair in chain.windows(2) {
            let [before, after] = pair else { unreachable!() };
            assert_eq!(before.step_index + 1, after.step_index, "{chain:#?}");
            let new = after.made.strip_prefix(&before.made[..]).expect("a state goes on from the one before");
            assert!(new.iter().all(|node| step_of(definition, *node) == after.step_index), "{chain:#?}");
        }
        let mut seen = chain.last().unwrap().made.clone();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), chain.last().unwrap().made.len(), "{chain:#?}");
    }
}

/// A tree of steps.
#[derive(Clone, Debug)]
enum Tree {
    Task,
    Condition(Vec<Tree>),
    Parallel(Vec<Tree>),
}

fn tree() -> impl Strategy<Value = Tree> {
    Just(Tree::Task).prop_recursive(3, 10, 4, |inner| {
        let parts = prop::collection::vec(inner, 0..4);
        prop_oneof![
            2 => Just(Tree::Task),
            1 => parts.clone().prop_map(Tree::Condition),
            1 => parts.prop_map(Tree::Parallel),
        ]
    })
}

fn flatten(trees: &[Tree], parent: Option<NodeId>, prefix: &str, into: &mut Vec<Step>) {
    for (at, tree) in trees.iter().enumerate() {
        let (kind, parts): (Kind, &[Tree]) = match tree {
            Tree::Task => (Kind::Task, &[]),
            Tree::Condition(parts) => (Kind::Condition, parts),
            Tree::Parallel(parts) => (Kind::Parallel, parts),
        };
        let (id, name) = (into.len(), format!("{prefix}{at}"));
        into.push(Step { name: name.clone(), kind, parent, retry: None });
        flatten(parts, Some(id), &format!("{name}."), into);
    }
}

fn definition(trees: &[Tree], retry: Retry) -> Definition {
    let mut steps = Vec::new();
    flatten(trees, None, "s", &mut steps);
    Definition::new(steps, retry).unwrap()
}

fn on_error(number: u8) -> OnError {
    [OnError::Fail, OnError::Continue, OnError::Ask][usize::from(number) % 3]
}

fn plays() -> impl Strategy<Value = Vec<(u8, u8, Vec<u8>)>> {
    prop::collection::vec((any::<u8>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..120)), 1..8)
}

proptest! {
    #![proptest_config(crate::common::same_cases(3000, 0x0f0c_4b01))]
    #[test]
    fn a_run_survives_everything(
        trees in prop::collection::vec(tree(), 0..6),
        retry in (0..3_u32, prop::sample::select(&[0.0, 5.0][..])),
        own in prop::collection::vec(prop::option::of(0..4_u32), 0..8),
        plays in plays(),
    ) {
        let retry = Retry { max_retries: retry.0, backoff_ms: retry.1 };
        let mut definition = definition(&trees, retry);
        for (node, own) in definition.nodes.iter_mut().zip(own) {
            node.step.retry = own.map(|max_retries| Retry { max_retries, backoff_ms: f64::from(max_retries) });
        }
        let definition = Arc::new(definition);
        let mut store = Store::new();
        let mut new_runs = 0;
        for (mode, chosen, chances) in plays {
            let known: Vec<Checkpoint> = store.values().flatten().cloned().collect();
            let picked = known.get(usize::from(chosen) % known.len().max(1)).map(|checkpoint| checkpoint.id.clone());
            let from = picked.unwrap_or_else(|| "nothing".to_owned());
            let mode = match mode % 8 {
                0 => Mode::Fresh,
                1 => Mode::Replay { from: from.clone() },
                2 | 3 => Mode::Branch { from: from.clone(), mutate: mode % 2 == 0 },
                4 => Mode::Plain,
                _ => Mode::Resume,
            };
            let run_id = if matches!(mode, Mode::Branch { .. } | Mode::Plain) {
                new_runs += 1;
                format!("fork:{new_runs}")
            } else {
                "run".to_owned()
            };
            let before = store.clone();
            let options = Options { run_id: run_id.clone(), mode: mode.clone(), force: false, on_error: on_error(chosen) };
            let mut host = Host {
                store: &mut store,
                definition: Arc::clone(&definition),
                chance: Chance(chances),
                slots: HashMap::new(),
                run_id: String::new(),
                replaying: false,
                plain: false,
            };
            let end = host.play(options);
            let touched = host.run_id.clone();
            for (run, chain) in &before {
                prop_assert!(*run == touched || store[run] == *chain, "{:?} changed {}", mode, run);
            }
            match (&end, &mode) {
                (End::Finished(_), Mode::Plain) => prop_assert_eq!(&before, &store),
                (End::Finished(made), _) => {
                    let last = store[&touched].last().unwrap();
                    prop_assert_eq!(&last.made, made);
                    prop_assert_eq!(last.step_index + 1, i64::try_from(definition.top.len()).unwrap());
                }
                (End::Failed(Reason::NotFound { id }), _) => prop_assert!(*id == from && known.is_empty()),
                (End::Failed(Reason::Mismatch { message: why }), _) => panic!("{why}"),
                _ => {}
            }
            if matches!(mode, Mode::Branch { .. }) && let Some(chain) = store.get(&touched) {
                let base = known.iter().find(|checkpoint| checkpoint.id == from).unwrap();
                prop_assert_eq!((chain[0].step_index, &chain[0].made), (base.step_index, &base.made));
            }
        }
        // At the end, a new process finishes every run. After that, a second attempt must have nothing to do.
        let runs: Vec<String> = store.keys().cloned().collect();
        for run_id in runs {
            for _ in 0..2 {
                let before = store[&run_id].clone();
                let mut host = Host {
                    store: &mut store,
                    definition: Arc::clone(&definition),
                    chance: Chance(Vec::new()),
                    slots: HashMap::new(),
                    run_id: String::new(),
                    replaying: false,
                    plain: false,
                };
                let options =
                    Options { run_id: run_id.clone(), mode: Mode::Resume, force: false, on_error: OnError::Fail };
                prop_assert!(matches!(host.play(options), End::Finished(_)));
                prop_assert_eq!(&store[&run_id][..before.len()], &before[..], "what was stored stays");
                prop_assert_eq!(store[&run_id].last().unwrap().step_index + 1, i64::try_from(definition.top.len()).unwrap());
            }
        }
    }
}

fn tasks(count: usize, retry: Retry) -> Arc<Definition> {
    Arc::new(definition(&vec![Tree::Task; count], retry))
}

fn begun(definition: &Arc<Definition>, on_error: OnError) -> Run {
    let options = Options { run_id: "r".to_owned(), mode: Mode::Plain, force: false, on_error };
    let mut run = Run::new(Arc::clone(definition), options);
    run.on(Event::Started);
    run
}

#[test]
fn a_task_cannot_contain_steps() {
    let step = |kind, parent| Step { name: "s".to_owned(), kind, parent, retry: None };
    assert!(Definition::new(vec![step(Kind::Task, None), step(Kind::Task, Some(0))], Retry::default()).is_err());
    assert!(Definition::new(vec![step(Kind::Task, Some(0))], Retry::default()).is_err());
    let steps = vec![step(Kind::Parallel, None), step(Kind::Task, Some(0)), step(Kind::Task, None)];
    let definition = Definition::new(steps, Retry::default()).unwrap();
    assert_eq!((definition.top, definition.nodes[0].children.clone()), (vec![0, 2], vec![1]));
}

#[test]
fn waits_double_and_end() {
    let retry = Retry { max_retries: 100, backoff_ms: 10.0 };
    let waits = [0, 1, 2, 3, u32::MAX].map(|attempt| retry.wait_ms(attempt).to_bits());
    assert_eq!(waits, [10.0, 20.0, 40.0, 80.0, 2_147_483_647.0].map(f64::to_bits));
    assert_eq!(Retry::default().wait_ms(50).to_bits(), 0);
}

#[test]
fn a_failed_branch_ends_the_run_when_the_others_have_ended() {
    let parallel =
        Arc::new(definition(&[Tree::Parallel(vec![Tree::Task; 3])], Retry { max_retries: 1, backoff_ms: 5.0 }));
    let mut run = begun(&parallel, OnError::Fail);
    assert_eq!(run.on(Event::Threw { step: 1, attempt: 0 }), [Command::Wait { step: 1, attempt: 0, ms: 5.0 }]);
    assert_eq!(run.on(Event::Threw { step: 2, attempt: 0 }), [Command::Wait { step: 2, attempt: 0, ms: 5.0 }]);
    assert_eq!(run.on(Event::Waited { step: 2 }), [Command::Run { step: 2, attempt: 1, slot: ENTRY }]);
    assert_eq!(run.on(Event::Threw { step: 2, attempt: 1 }), [Command::Cancel], "3 still runs; 1 waits no longer");
    assert_eq!(run.on(Event::Waited { step: 1 }), []);
    assert_eq!(run.on(Event::Ran { step: 3, attempt: 0 }), [Command::Fail { why: Reason::Step { step: 2 } }]);
}

#[test]
fn a_branch_that_failed_is_left_out_of_the_merge() {
    let parallel = Arc::new(definition(&[Tree::Parallel(vec![Tree::Task; 3])], Retry::default()));
    let mut run = begun(&parallel, OnError::Continue);
    run.on(Event::Ran { step: 3, attempt: 0 });
    run.on(Event::Threw { step: 2, attempt: 0 });
    let merge = Command::Merge { step: 0, base: ENTRY, branches: vec![2, 4] };
    assert_eq!(run.on(Event::Ran { step: 1, attempt: 0 }).last(), Some(&merge));
    let mut run = begun(&parallel, OnError::Continue);
    run.on(Event::Threw { step: 1, attempt: 0 });
    run.on(Event::Threw { step: 2, attempt: 0 });
    let alone = [Command::Keep { slot: 4 }, Command::Finish { slot: 4 }];
    assert!(run.on(Event::Ran { step: 3, attempt: 0 }).ends_with(&alone), "it is the result");
}

#[test]
fn the_last_step_ends_the_run_drained_or_not() {
    let mut run = begun(&tasks(1, Retry::default()), OnError::Fail);
    run.on(Event::DrainRequested);
    let end = [Command::Ended { step: 0, how: How::Done }, Command::Keep { slot: 1 }, Command::Finish { slot: 1 }];
    assert_eq!(run.on(Event::Ran { step: 0, attempt: 0 }), end);
}

#[test]
fn an_abort_ends_the_run_at_once_but_not_before_what_is_being_stored() {
    let mut run = begun(&tasks(1, Retry::default()), OnError::Fail);
    assert_eq!(run.on(Event::Aborted), [Command::Cancel, Command::Fail { why: Reason::Aborted }]);
    assert_eq!(run.on(Event::Ran { step: 0, attempt: 0 }), []);
    let options = Options { run_id: "r".to_owned(), mode: Mode::Fresh, force: false, on_error: OnError::Fail };
    let mut run = Run::new(tasks(1, Retry::default()), options);
    assert!(matches!(run.on(Event::Started)[..], [Command::Store { .. }]));
    assert_eq!(run.on(Event::Aborted), []);
    assert_eq!(run.on(Event::Stored), [Command::Fail { why: Reason::Aborted }]);
}
