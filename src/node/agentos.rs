//! The `AgentOS` contract's calls.

use napi::bindgen_prelude::{Env, Uint8ArraySlice};
use napi_derive::napi;

use super::store::{NativeStore, thrown};
use super::values::{self, Settled};
use crate::contract::agentos::{self, Metadata, REST, STATE, Save};
use crate::query::{Answer, Of, Query};
use crate::record::Part;

/// The space of this contract's checkpoints.
#[napi]
pub const AGENTOS_SPACE: u8 = agentos::SPACE.0;

#[napi]
impl NativeStore {
    /// The fields that the store keeps by themselves, then the parts and their tag. Not an object: its properties cost
    /// several times more to read.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "see above; the macro keeps an expectation from being seen")]
    pub fn agentos_save(
        &self,
        env: &Env,
        ticket: u32,
        id: String,
        run_id: String,
        graph_id: String,
        node_id: String,
        timestamp: f64,
        has_memory_snapshot: bool,
        parent: Option<String>,
        saved_at: i64,
        state_tag: String,
        state: Uint8ArraySlice,
        rest_tag: String,
        rest: Uint8ArraySlice,
    ) -> napi::Result<Option<Settled>> {
        let part = |name: &str, tag, bytes| {
            Ok::<_, napi::Error>(Part { name: name.to_owned(), tag, bytes: self.take(env, bytes)? })
        };
        let unit = agentos::save(Save {
            metadata: Metadata { id, run_id, graph_id, node_id, timestamp, state_size: 0, has_memory_snapshot },
            parent,
            state: part(STATE, state_tag, state)?,
            rest: part(REST, rest_tag, rest)?,
            saved_at,
        });
        Ok(self.apply(ticket, unit))
    }

    #[napi]
    pub fn agentos_delete(&self, ticket: u32, checkpoint_id: String) -> Option<Settled> {
        self.apply(ticket, Ok(agentos::delete(checkpoint_id)))
    }

    #[napi]
    pub fn agentos_get(&self, ticket: u32, checkpoint_id: String) -> Option<Settled> {
        self.one(ticket, agentos::get(checkpoint_id))
    }

    #[napi]
    pub fn agentos_load(&self, ticket: u32, run_id: String, node_id: Option<String>) -> Option<Settled> {
        self.one(ticket, agentos::load(run_id, node_id))
    }

    /// Either id may be missing, but not both. A limit of null is none.
    #[napi]
    pub fn agentos_list(
        &self,
        ticket: u32,
        graph_id: Option<String>,
        run_id: Option<String>,
        limit: Option<u32>,
    ) -> Option<Settled> {
        let of = match (graph_id, run_id) {
            (Some(group), Some(lineage)) => Of::LineageInGroup { lineage, group },
            (Some(group), None) => Of::Group(group),
            (None, run_id) => Of::Lineage(run_id.unwrap_or_default()),
        };
        let query = agentos::list(of, limit.map(|limit| limit as usize));
        let convert = |answer: Answer| values::listing(answer.into_headers()?);
        self.submit(ticket, convert, |store, reply| store.ask(query, reply))
    }

    /// `before` is a cursor that an earlier listing gave.
    #[napi]
    pub fn agentos_runs(
        &self,
        ticket: u32,
        graph_id_prefix: String,
        limit: u32,
        before: Option<i64>,
    ) -> Option<Settled> {
        let query = agentos::runs(graph_id_prefix, before, limit as usize);
        let convert = |answer: Answer| values::runs(answer.into_lineages()?);
        self.submit(ticket, convert, |store, reply| store.ask(query, reply))
    }

    fn one(&self, ticket: u32, query: Query) -> Option<Settled> {
        self.submit(
            ticket,
            |answer: Answer| values::found(answer.into_checkpoint()?),
            |store, reply| {
                store.ask(query, reply);
            },
        )
    }
}

/// What a runtime does with the nodes of a checkpoint.
#[napi(object, object_from_js = false)]
pub struct ResumePlan {
    pub completed: Vec<String>,
    pub skipped: Vec<String>,
    pub replay: Vec<String>,
    pub reexecute: Vec<String>,
}

/// `nodes` and `classes` are the keys and the effect classes of `nodeResults`.
#[napi]
pub fn agentos_resume_plan(
    nodes: Vec<String>,
    classes: Vec<String>,
    visited: Vec<String>,
    skipped: Vec<String>,
) -> napi::Result<ResumePlan, &'static str> {
    let recorded = nodes.into_iter().zip(classes).collect();
    let plan = agentos::resume_plan(recorded, visited, skipped).map_err(thrown)?;
    Ok(ResumePlan { completed: plan.completed, skipped: plan.skipped, replay: plan.replay, reexecute: plan.reexecute })
}
