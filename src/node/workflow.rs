//! The workflow's state machine: events in, commands out.

use std::sync::Arc;

use napi_derive::napi;

use super::store::thrown;
use crate::error::Error;
use crate::workflow::definition::{Definition, Kind, Retry, Step};
use crate::workflow::protocol::{Base, Command, Event, How, Mode, OnError, Options, Reason};
use crate::workflow::run::Run;

/// The steps of a workflow.
#[napi]
pub struct NativeWorkflow {
    definition: Arc<Definition>,
}

#[napi]
impl NativeWorkflow {
    /// One entry a step, parents before their parts; a parent of -1 is none.
    #[napi(constructor)]
    pub fn new(
        names: Vec<String>,
        kinds: Vec<String>,
        parents: Vec<i32>,
        max_retries: u32,
        backoff_ms: f64,
    ) -> napi::Result<Self, &'static str> {
        let steps = names.into_iter().zip(kinds).zip(parents).map(|((name, kind), parent)| {
            let kind = match kind.as_str() {
                "condition" => Kind::Condition,
                "parallel" => Kind::Parallel,
                _ => Kind::Task,
            };
            Step { name, kind, parent: usize::try_from(parent).ok() }
        });
        let definition = Definition::new(steps.collect(), Retry { max_retries, backoff_ms }).map_err(thrown)?;
        Ok(Self { definition: Arc::new(definition) })
    }
}

/// A command: what to do, three numbers, two texts, slots. Which of them it has stands in `ts/agentium/execution.ts`.
type Told = (&'static str, f64, f64, f64, Option<String>, Option<String>, Vec<usize>);

#[napi]
pub struct NativeRun {
    run: Run,
}

#[napi]
impl NativeRun {
    /// `mode` is `plain`, `fresh`, `resume`, `replay`, `branch` or `mutate`; the last three have a checkpoint, `from`.
    #[napi(constructor)]
    pub fn new(
        workflow: &NativeWorkflow,
        run_id: String,
        mode: String,
        from: Option<String>,
        force: bool,
        on_error: String,
    ) -> napi::Result<Self, &'static str> {
        let from = from.unwrap_or_default();
        let mode = match mode.as_str() {
            "plain" => Mode::Plain,
            "fresh" => Mode::Fresh,
            "resume" => Mode::Resume,
            "replay" => Mode::Replay(from),
            "branch" => Mode::Branch { from, mutate: false },
            "mutate" => Mode::Branch { from, mutate: true },
            other => return Err(thrown(Error::invalid(format!("a run has no mode {other:?}")))),
        };
        let on_error = match on_error.as_str() {
            "continue" => OnError::Continue,
            "ask" => OnError::Ask,
            _ => OnError::Fail,
        };
        let options = Options { run_id, mode, force, on_error };
        Ok(Self { run: Run::new(Arc::clone(&workflow.definition), options) })
    }

    /// What to do now that this has happened: an event by its name, the step that it is about, its attempt, and its answer.
    /// In JSON: a command has a few numbers, texts and slots, in an order of its own.
    #[napi]
    pub fn on(
        &mut self,
        event: String,
        step: Option<u32>,
        attempt: Option<u32>,
        yes: Option<bool>,
    ) -> napi::Result<String, &'static str> {
        let node = step.unwrap_or_default() as usize;
        let attempt = attempt.unwrap_or_default();
        let yes = yes.unwrap_or_default();
        let event = match event.as_str() {
            "started" => Event::Started,
            "missing" => Event::Loaded(None),
            "mutated" => Event::Mutated,
            "stored" => Event::Stored,
            "ran" => Event::Ran(node, attempt),
            "evaluated" => Event::Evaluated(node, attempt, yes),
            "threw" => Event::Threw(node, attempt),
            "waited" => Event::Waited(node),
            "decided" => Event::Decided(node, yes),
            "merged" => Event::Merged(node),
            "conflicted" => Event::Conflicted(node),
            "broke" => Event::Broke,
            "drain" => Event::DrainRequested,
            "aborted" => Event::Aborted,
            other => return Err(thrown(Error::invalid(format!("a run knows no event {other:?}")))),
        };
        tell(self.run.on(event))
    }

    /// A checkpoint was found.
    #[napi]
    pub fn loaded(
        &mut self,
        id: String,
        run_id: String,
        step_index: i64,
        step_name: String,
    ) -> napi::Result<String, &'static str> {
        tell(self.run.on(Event::Loaded(Some(Base { id, run_id, step_index, step_name }))))
    }
}

fn tell(commands: Vec<Command>) -> napi::Result<String, &'static str> {
    let told: Vec<Told> = commands.into_iter().map(told).collect();
    serde_json::to_string(&told)
        .map_err(|error| thrown(Error::invalid(format!("the commands cannot be told: {error}"))))
}

#[expect(clippy::cast_precision_loss, reason = "no workflow has 2^53 steps")]
fn told(command: Command) -> Told {
    let number = |number: usize| number as f64;
    let plain = |what| (what, 0.0, 0.0, 0.0, None, None, Vec::new());
    let about = |what, step: usize| (what, number(step), 0.0, 0.0, None, None, Vec::new());
    match command {
        Command::Load(id) => ("load", 0.0, 0.0, 0.0, id, None, Vec::new()),
        Command::Mutate => plain("mutate"),
        Command::Store { id, step_index, step_name, slot, rewind } => {
            let rewind = if rewind { 1.0 } else { 0.0 };
            ("store", step_index as f64, number(slot), rewind, Some(id), Some(step_name), Vec::new())
        }
        Command::Keep(slot) => about("keep", slot),
        Command::Began(step) => about("began", step),
        Command::Run(step, attempt, slot) => {
            ("run", number(step), attempt.into(), number(slot), None, None, Vec::new())
        }
        Command::Evaluate(step, attempt, slot) => {
            ("evaluate", number(step), attempt.into(), number(slot), None, None, Vec::new())
        }
        Command::Wait(step, attempt, ms) => ("wait", number(step), attempt.into(), ms, None, None, Vec::new()),
        Command::Ask(step) => about("ask", step),
        Command::Merge(step, base, branches) => ("merge", number(step), number(base), 0.0, None, None, branches),
        Command::Ended(step, how) => {
            let how = match how {
                How::Done => "done",
                How::Skipped => "skipped",
                How::Failed => "error",
            };
            ("ended", number(step), 0.0, 0.0, Some(how.to_owned()), None, Vec::new())
        }
        Command::Cancel => plain("cancel"),
        Command::Finish(slot) => about("finish", slot),
        Command::Fail(reason) => {
            let (what, step, text) = match reason {
                Reason::NotFound(id) => ("missing", 0, Some(id)),
                Reason::Mismatch(why) => ("mismatch", 0, Some(why)),
                Reason::Step(step) => ("step", step, None),
                Reason::Host => ("host", 0, None),
                Reason::Drained => ("drained", 0, None),
                Reason::Aborted => ("aborted", 0, None),
            };
            ("fail", number(step), 0.0, 0.0, Some(what.to_owned()), text, Vec::new())
        }
    }
}
