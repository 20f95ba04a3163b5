//! The Agentium contract's calls: its checkpoint store and its storage driver.

use napi::bindgen_prelude::{Env, Uint8ArraySlice};
use napi_derive::napi;

use super::store::NativeStore;
use super::values::{self, Packed, Packing, Settled};
use crate::contract::agentium::{self, REST, STATE, Save, Step, storage};
use crate::error::Result;
use crate::query::{Answer, Query};
use crate::record::{Checkpoint, Header, Part};

/// The space of this contract's checkpoints.
#[napi]
pub const AGENTIUM_SPACE: u8 = agentium::SPACE.0;
/// The space of its storage driver's values.
#[napi]
pub const STORAGE_SPACE: u8 = storage::SPACE.0;

#[napi]
impl NativeStore {
    /// As `agentosSave`: the fields, then the parts and their tag.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "an object's properties cost several times more to read")]
    pub fn agentium_save(
        &self,
        env: &Env,
        ticket: u32,
        id: String,
        run_id: String,
        step_index: f64,
        step_name: String,
        created_at: f64,
        parent: Option<String>,
        rewind: bool,
        saved_at: i64,
        state_tag: String,
        state: Uint8ArraySlice,
        rest_tag: String,
        rest: Uint8ArraySlice,
    ) -> napi::Result<Option<Settled>> {
        let part = |name: &str, tag, bytes| {
            Ok::<_, napi::Error>(Part { name: name.to_owned(), tag, bytes: self.take(env, bytes)? })
        };
        let unit = agentium::save(Save {
            step: Step { id, run_id, step_index, step_name, created_at, state_size: 0 },
            parent,
            rewind,
            state: part(STATE, state_tag, state)?,
            rest: part(REST, rest_tag, rest)?,
            saved_at,
        });
        Ok(self.apply(ticket, unit))
    }

    #[napi]
    pub fn agentium_delete(&self, ticket: u32, checkpoint_id: String) -> Option<Settled> {
        self.apply(ticket, Ok(agentium::delete(checkpoint_id)))
    }

    #[napi]
    pub fn agentium_clear(&self, ticket: u32, run_id: String) -> Option<Settled> {
        self.apply(ticket, Ok(agentium::clear(run_id)))
    }

    #[napi]
    pub fn agentium_load(&self, ticket: u32, checkpoint_id: String) -> Option<Settled> {
        self.whole(ticket, agentium::load(checkpoint_id), ids)
    }

    #[napi]
    pub fn agentium_latest(&self, ticket: u32, run_id: String) -> Option<Settled> {
        self.whole(ticket, agentium::latest(run_id), ids)
    }

    #[napi]
    pub fn agentium_list(&self, ticket: u32, run_id: String) -> Option<Settled> {
        self.wholes(ticket, agentium::list(run_id), ids)
    }

    /// The steps of a run, the last one first, in JSON: id, step index, step name, created at, state size.
    #[napi]
    pub fn agentium_timeline(&self, ticket: u32, run_id: String) -> Option<Settled> {
        let convert = |answer: Answer| {
            let listed: Result<Vec<_>> = answer
                .into_headers()?
                .into_iter()
                .map(|header| {
                    let step = agentium::step(header)?;
                    Ok((step.id, step.step_index, step.step_name, step.created_at, step.state_size))
                })
                .collect();
            values::json(serde_json::to_string(&listed?))
        };
        self.submit(ticket, convert, |store, reply| store.ask(agentium::timeline(run_id), reply))
    }

    /// A page of runs, in JSON: cursor, run id, how many checkpoints, and of the latest id, step index, step name, created
    /// at, state size. `before` is a cursor that an earlier page gave.
    #[napi]
    pub fn agentium_runs(&self, ticket: u32, limit: u32, before: Option<i64>) -> Option<Settled> {
        let convert = |answer: Answer| {
            let listed: Result<Vec<_>> = answer
                .into_lineages()?
                .into_iter()
                .map(|lineage| {
                    let Step { id, run_id, step_index, step_name, created_at, state_size } =
                        agentium::step(lineage.newest)?;
                    let latest = (id, step_index, step_name, created_at, state_size);
                    Ok((lineage.position.to_string(), run_id, lineage.checkpoints, latest))
                })
                .collect();
            values::json(serde_json::to_string(&listed?))
        };
        let query = agentium::runs(before, limit as usize);
        self.submit(ticket, convert, |store, reply| store.ask(query, reply))
    }

    #[napi]
    #[allow(clippy::too_many_arguments, reason = "as above")]
    pub fn storage_set(
        &self,
        env: &Env,
        ticket: u32,
        namespace: String,
        key: String,
        saved_at: i64,
        tag: String,
        value: Uint8ArraySlice,
    ) -> napi::Result<Option<Settled>> {
        let value = Part { name: storage::VALUE.to_owned(), tag, bytes: self.take(env, value)? };
        Ok(self.apply(ticket, storage::set(&namespace, key, value, saved_at)))
    }

    #[napi]
    pub fn storage_delete(&self, ticket: u32, namespace: String, key: String) -> Option<Settled> {
        self.apply(ticket, Ok(storage::delete(&namespace, &key)))
    }

    #[napi]
    pub fn storage_get(&self, ticket: u32, namespace: String, key: String) -> Option<Settled> {
        self.whole(ticket, storage::get(&namespace, &key), key_of)
    }

    #[napi]
    pub fn storage_list(&self, ticket: u32, namespace: String, prefix: String) -> Option<Settled> {
        self.wholes(ticket, storage::list(&namespace, prefix), key_of)
    }

    fn whole(&self, ticket: u32, query: Query, names: Names) -> Option<Settled> {
        let convert = move |answer: Answer| match answer.into_checkpoint()? {
            Some(found) => {
                let mut packing = Packing::default();
                let found = named(*found, names, &mut packing)?;
                packing.close(serde_json::to_string(&found))
            }
            None => Ok(values::NOTHING),
        };
        self.submit(ticket, convert, |store, reply| store.ask(query, reply))
    }

    fn wholes(&self, ticket: u32, query: Query, names: Names) -> Option<Settled> {
        let convert = move |answer: Answer| {
            let mut packing = Packing::default();
            let found = answer.into_checkpoints()?.into_iter().map(|found| named(found, names, &mut packing));
            let found: Vec<Named> = found.collect::<Result<_>>()?;
            packing.close(serde_json::to_string(&found))
        };
        self.submit(ticket, convert, |store, reply| store.ask(query, reply))
    }
}

/// What JavaScript is told of a header.
type Names = fn(Header) -> Result<Vec<String>>;

/// A checkpoint of which only some names matter, in an order of its contract's.
type Named = (Vec<String>, Vec<Packed>);

fn named(found: Checkpoint, names: Names, packing: &mut Packing) -> Result<Named> {
    Ok((names(found.header)?, packing.parts(found.payload)))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of such a function")]
fn ids(header: Header) -> Result<Vec<String>> {
    Ok(vec![header.id, header.lineage])
}

fn key_of(header: Header) -> Result<Vec<String>> {
    Ok(vec![storage::key(header)?])
}
