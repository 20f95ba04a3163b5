//! Contracts: the checkpoint interfaces of the supported frameworks, expressed as ops and queries of the engine.
//!
//! Each contract is one module, and `registry` is the only list of contracts. Every checkpoint stores the id of its
//! contract. The id of a contract is never used for another contract.
//!
//! A call consists of the name of its contract, its own name, named fields and buffers. Each contract reads the fields
//! into its own enum. The code between a contract and its TypeScript is the same for all contracts.
//!
//! Every call may also have the field `fence`, a condition on the lease of a run (`fence::Fence`). The call
//! writes only if the condition holds. With `measure: true`, a call that writes a unit responds with the unit's cost.

pub mod agentium;
pub mod agentos;
pub mod ai;
pub mod call;
pub mod claude_agent_sdk;
mod cursor;
mod effect;
mod entry;
mod fence;
pub mod fields;
pub mod helix;
mod ids;
mod incarnation;
mod inspect;
pub mod langgraph;
pub mod lease;
pub mod mastra;
pub mod mcp;
pub mod openai_agents;
pub mod program;
mod registry;
pub mod response;
pub mod retry;
mod rows;
mod store;
pub mod thread;
pub mod tinyagents;
mod types;
mod words;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use self::call::{Collect, RawCall, Request, Tool, read_json};
pub use self::entry::{Contract, Names, Shown};
use self::fields::{BEGUN, FENCE, MEASURE, Value};
pub use self::ids::MAX_ID_BYTES;
pub use self::lease::heard_as_json;
pub use self::registry::{CONTRACTS, EFFECTS, NAMES, NOT_COPIED, lineage_of};
use self::registry::{contract_of, named};
use self::response::Response;
use self::types::CallTypes;
pub use self::words::words;
use crate::error::{Error, Result};
use crate::op::{Applied, Op, Unit};
use crate::query::{Answer, Query};
use crate::record::{ContractId, Labels, Notice};
use crate::retention::Owned;
use crate::store::Store;
use crate::worker::Reply;

/// Runs a call of a contract, or of the store itself (`"store"`), and replies with the response. `None` becomes null.
/// With `at_once`, a query may be answered on this thread, before the function returns: see [`Store::answer_at_once`].
pub fn run(store: &Store, call: RawCall<'_>, at_once: bool, reply: Reply<Option<Response>>) {
    let asks = |name| call.common(name) == Some(&Value::Bool(true));
    let tell = Tell { cost: asks(MEASURE), incarnation: asks(BEGUN) };
    match request(call, &store.options().labels) {
        Ok(Request::Apply(unit) | Request::Undo(unit)) => store.apply(unit, applied(tell, reply)),
        Ok(Request::Import(unit)) => store.apply_saved(unit, applied(tell, reply)),
        Ok(Request::Ask(query, respond)) => {
            let reply = then(reply, respond);
            match at_once.then(|| store.answer_at_once(&query)).flatten() {
                Some(answer) => reply.send(Ok(answer)),
                None => store.ask(query, reply),
            }
        }
        Ok(Request::LookAtEach(queries, collect, beside)) => look_at_each(store, queries, collect, beside, reply),
        Ok(Request::Prune(prune)) => store.prune(prune, then(reply, |pruned| Response::json(&pruned).map(Some))),
        Ok(Request::Check(cursor, limit, respond)) => store.check(cursor, limit, then(reply, respond)),
        Ok(Request::Migrate) => store.migrate(then(reply, |()| Ok(None))),
        Ok(Request::Vacuum) => store.vacuum(then(reply, |()| Ok(None))),
        Ok(Request::Ready) => {
            store.ready(then(reply, |notice: Option<Notice>| notice.as_ref().map(Response::json).transpose()));
        }
        Ok(Request::Close) => store.close(then(reply, |()| Ok(None))),
        Err(error) => reply.send(Err(error)),
    }
}

/// The response that the caller of a change wants.
struct Tell {
    cost: bool,
    incarnation: bool,
}

/// Replies to a change: with null, with the incarnation of the run, or with the cost of the change.
fn applied(Tell { cost, incarnation }: Tell, reply: Reply<Option<Response>>) -> Reply<Applied> {
    let queued = Instant::now();
    then(reply, move |applied: Applied| match applied.lineage {
        _ if cost => Response::json(&Cost::new(queued, &applied)).map(Some),
        Some(lineage) if incarnation => Response::json(&lineage).map(Some),
        _ => Ok(None),
    })
}

/// `labels` are for runs that begin.
fn request(call: RawCall<'_>, labels: &Labels) -> Result<Request> {
    let fence = match call.common(FENCE) {
        Some(Value::Text(fence)) => Some(read_json::<fence::Fence>(fence)?),
        _ => None,
    };
    let mut request = match call.contract() {
        store::NAME => store::request(call),
        inspect::NAME => inspect::request(call),
        effect::NAME => effect::request(call),
        contract => (named(contract)?.request)(call),
    }?;
    let removes_effects = !matches!(request, Request::Undo(_));
    if let Request::Apply(unit) | Request::Import(unit) | Request::Undo(unit) = &mut request {
        if removes_effects {
            effect::follow(unit);
        }
        lease::own(unit, lineages_of)?;
        if !labels.is_empty() {
            label(unit, labels);
        }
        fence::guard(fence, unit);
    }
    Ok(request)
}

/// The lineages of a run, or of one of its namespaces, and the lineages of its other data.
fn lineages_of(space: &str, run: &str, ns: &str) -> Vec<Owned> {
    let of_space = CONTRACTS.iter().filter(|contract| contract.space() == space);
    let owned = of_space.map(|contract| {
        let name = (contract.lineage_of)(run, ns);
        let all = ns.is_empty() && (contract.name_of)(Some(name.clone()), None).ns.is_some();
        Owned { contract: contract.id.0, name, all }
    });
    owned.collect()
}

/// Labels the runs that a unit begins, but not the namespaces of a graph.
fn label(unit: &mut Unit, labels: &Labels) {
    let is_run = |id: ContractId, lineage: &String| match contract_of(id) {
        Some(contract) if contract.subgraphs => {
            (contract.name_of)(Some(lineage.clone()), None).ns.as_deref() == Some("")
        }
        contract => contract.is_some() && !id.is_effects() && ![lease::CONTRACT_ID, program::CONTRACT_ID].contains(&id),
    };
    for op in &mut unit.ops {
        match op {
            Op::Put(draft) if is_run(draft.header.contract, &draft.header.lineage) => draft.labels.clone_from(labels),
            Op::Fork(fork) if is_run(fork.contract, &fork.lineage) => fork.labels.clone_from(labels),
            _ => {}
        }
    }
}

/// A reply that converts its outcome with `respond` and passes the result to `reply`.
fn then<T: 'static>(
    reply: Reply<Option<Response>>,
    respond: impl FnOnce(T) -> Result<Option<Response>> + Send + 'static,
) -> Reply<T> {
    Reply::new(move |outcome: Result<T>| reply.send(outcome.and_then(respond)))
}

/// The collected answers to several queries.
struct Collected {
    collect: Box<dyn Collect>,
    /// The number of answers that are missing.
    missing: usize,
    failed: Option<Error>,
    /// `None` after replying.
    reply: Option<Reply<Option<Response>>>,
}

impl Collected {
    fn take(&mut self, index: usize, answer: Result<Answer>) {
        self.missing -= 1;
        if self.failed.is_none() {
            self.failed = self.collect.take(index, answer).err();
        }
        self.reply_if_complete();
    }

    fn reply_if_complete(&mut self) {
        if self.missing == 0
            && let Some(reply) = self.reply.take()
        {
            let finish = || self.collect.finish().map(Some);
            reply.send(self.failed.take().map_or_else(finish, Err));
        }
    }
}

fn look_at_each(
    store: &Store,
    queries: Vec<Query>,
    collect: Box<dyn Collect>,
    beside: bool,
    reply: Reply<Option<Response>>,
) {
    let mut collected = Collected { collect, missing: queries.len(), failed: None, reply: Some(reply) };
    collected.reply_if_complete();
    let collected = Arc::new(Mutex::new(collected));
    for (index, query) in queries.into_iter().enumerate() {
        let collected = Arc::clone(&collected);
        let take = move |answer| collected.lock().unwrap_or_else(PoisonError::into_inner).take(index, answer);
        if beside { store.ask_beside(query, Reply::new(take)) } else { store.ask(query, Reply::new(take)) }
    }
}

/// The cost of a unit, and the run that it wrote to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    /// See [`Applied::stored_bytes`].
    stored_bytes: Option<u64>,
    /// The incarnation of the run that the unit wrote to: see [`Applied::lineage`].
    incarnation: Option<i64>,
    /// The time in the queue, in ms.
    queue_ms: Option<f64>,
    /// The time until the batch was durable, in ms.
    commit_ms: Option<f64>,
    /// The number of units in the batch.
    batch: Option<usize>,
}

impl Cost {
    /// The cost of a unit. `queued` is the time at which it entered the queue.
    fn new(queued: Instant, applied: &Applied) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        Self {
            stored_bytes: applied.stored_bytes,
            incarnation: applied.lineage,
            queue_ms: applied.commit.map(|commit| ms(commit.began.saturating_duration_since(queued))),
            commit_ms: applied.commit.map(|commit| ms(commit.took)),
            batch: applied.commit.map(|commit| commit.units),
        }
    }
}

/// Makes a tool of a contract, which works without a store. `which` selects the tool, in JSON.
pub fn tool(contract: &str, which: &str) -> Result<Box<dyn Tool>> {
    match named(contract)?.tool {
        Some(tool) => (tool.make)(which),
        None => Err(Error::invalid(format!("the framework {contract:?} has no tools: please report this"))),
    }
}

/// The TypeScript types of all calls and of all tools' messages. A release build has none.
pub fn call_types() -> String {
    let of_all = [
        (store::NAME, store::CALL_TYPES),
        (inspect::NAME, inspect::CALL_TYPES),
        (effect::NAME, effect::CALL_TYPES),
        (rows::NAME, rows::CALL_TYPES),
    ];
    let of_all = of_all.map(|(name, calls)| (name, calls, CallTypes::NONE));
    let of_each = CONTRACTS
        .iter()
        .map(|contract| (contract.name, contract.call_types, contract.tool.map_or(CallTypes::NONE, |tool| tool.types)));
    types::module(of_all.into_iter().chain(of_each))
}
