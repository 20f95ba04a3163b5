//! The `LangGraph` contract's calls.

use napi::bindgen_prelude::{Env, Uint8ArraySlice};
use napi_derive::napi;

use super::store::NativeStore;
use super::values::{self, Packed, Packing, Settled};
use crate::contract::langgraph::{self, Described, Place, Put};
use crate::error::Result;
use crate::query::Answer;
use crate::record::{Header, Lineage, Part, Tuple, Write};

/// The space of this contract's checkpoints.
#[napi]
pub const LANGGRAPH_SPACE: u8 = langgraph::SPACE.0;

/// What is known of a checkpoint without its payload: thread, namespace, id, parent's id, metadata, when it was saved, whether
/// it cannot be read without its parent.
type Listed = (String, String, String, Option<String>, Packed, i64, bool);

/// A write: task, index, the id of the checkpoint that owns it, the channel and its value.
type FoundWrite = (String, i64, Option<String>, Packed);

/// A checkpoint with what was written to it.
type FoundTuple = (Listed, Vec<Packed>, Vec<FoundWrite>);

/// A namespace of a thread: where a listing goes on behind it, how many checkpoints it has, the latest of them.
type FoundThread = (String, u64, Listed);

#[napi]
impl NativeStore {
    /// The parts are three lists: their names, tags and bytes. `inherit` names those that are the parent's. Behind the first
    /// `given` stand those that only tell what an inherited one looks like.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "an object's properties cost several times more to read")]
    pub fn langgraph_put(
        &self,
        env: &Env,
        ticket: u32,
        thread: String,
        namespace: String,
        id: String,
        parent: Option<String>,
        names: Vec<String>,
        tags: Vec<String>,
        bytes: Vec<Uint8ArraySlice>,
        inherit: Vec<String>,
        given: u32,
        metadata_tag: String,
        metadata: Uint8ArraySlice,
        saved_at: i64,
        difference: bool,
        only: bool,
    ) -> napi::Result<Option<Settled>> {
        let mut parts = self.parts(env, names, tags, bytes)?;
        let like = parts.split_off((given as usize).min(parts.len()));
        let unit = langgraph::put(Put {
            place: Place { thread, namespace, id },
            parent,
            parts,
            inherit,
            like,
            metadata: (metadata_tag, metadata.to_vec()),
            saved_at,
            difference,
            only,
        });
        Ok(self.apply(ticket, unit))
    }

    /// The writes are five lists: their indexes, channels, tags and bytes, and, for copies, the ids of their owners, empty where
    /// they have none.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "as above")]
    pub fn langgraph_put_writes(
        &self,
        env: &Env,
        ticket: u32,
        thread: String,
        namespace: String,
        id: String,
        task: String,
        indexes: Vec<i64>,
        channels: Vec<String>,
        tags: Vec<String>,
        bytes: Vec<Uint8ArraySlice>,
        replace: bool,
        owners: Option<Vec<String>>,
    ) -> napi::Result<Option<Settled>> {
        let parts = self.parts(env, channels, tags, bytes)?;
        let mut owners = owners.unwrap_or_default().into_iter();
        let mut owner = || owners.next().filter(|owner| !owner.is_empty());
        let write = |(index, part)| Write { task: task.clone(), index, owner: owner(), part };
        let writes = indexes.into_iter().zip(parts).map(write).collect();
        Ok(self.apply(ticket, langgraph::put_writes(&Place { thread, namespace, id }, writes, replace)))
    }

    /// Without an id: the latest.
    #[napi]
    pub fn langgraph_get(&self, ticket: u32, thread: String, namespace: String, id: Option<String>) -> Option<Settled> {
        let convert = |answer: Answer| match answer.into_tuple()? {
            Some(found) => {
                let mut packing = Packing::default();
                let found = tuple(*found, &mut packing)?;
                packing.close(serde_json::to_string(&found))
            }
            None => Ok(values::NOTHING),
        };
        let query = langgraph::get_tuple(thread, namespace, id);
        self.submit(ticket, convert, |store, reply| store.ask(query, reply))
    }

    /// A page of a checkpoint and its ancestors: those channels' values and writes.
    #[napi]
    pub fn langgraph_ancestors(
        &self,
        ticket: u32,
        thread: String,
        namespace: String,
        id: String,
        channels: Vec<String>,
        limit: u32,
    ) -> Option<Settled> {
        let convert = |answer: Answer| {
            let mut packing = Packing::default();
            let found = answer.into_tuples()?.into_iter().map(|found| tuple(found, &mut packing));
            let found: Vec<FoundTuple> = found.collect::<Result<_>>()?;
            packing.close(serde_json::to_string(&found))
        };
        let query = langgraph::ancestors(&Place { thread, namespace, id }, channels, limit as usize);
        self.submit(ticket, convert, |store, reply| store.ask(query, reply))
    }

    /// A page of a listing, the newest id first.
    #[napi]
    pub fn langgraph_list(
        &self,
        ticket: u32,
        thread: Option<String>,
        namespace: Option<String>,
        before: Option<String>,
        limit: u32,
    ) -> Option<Settled> {
        let convert = |answer: Answer| {
            let mut packing = Packing::default();
            let found = answer.into_headers()?.into_iter().map(|header| listed(&header, &mut packing));
            let found: Vec<Listed> = found.collect::<Result<_>>()?;
            packing.close(serde_json::to_string(&found))
        };
        let query = langgraph::list(thread, namespace, before, limit as usize);
        self.submit(ticket, convert, |store, reply| store.ask(query, reply))
    }

    /// A page of namespaces of threads. `before` is a cursor that an earlier page gave.
    #[napi]
    pub fn langgraph_threads(&self, ticket: u32, before: Option<i64>, limit: u32) -> Option<Settled> {
        let convert = |answer: Answer| {
            let mut packing = Packing::default();
            let found = answer.into_lineages()?.into_iter().map(|lineage| thread(&lineage, &mut packing));
            let found: Vec<FoundThread> = found.collect::<Result<_>>()?;
            packing.close(serde_json::to_string(&found))
        };
        let query = langgraph::threads(before, limit as usize);
        self.submit(ticket, convert, |store, reply| store.ask(query, reply))
    }

    #[napi]
    pub fn langgraph_delete_thread(&self, ticket: u32, thread: String) -> Option<Settled> {
        self.apply(ticket, Ok(langgraph::delete_thread(&thread)))
    }

    /// Removes checkpoints of a thread, all of them or none: two lists, their namespaces and ids. The first `removed` of them go;
    /// what was written to the others is pending again.
    #[napi]
    pub fn langgraph_delete(
        &self,
        ticket: u32,
        thread: String,
        namespaces: Vec<String>,
        ids: Vec<String>,
        removed: u32,
    ) -> Option<Settled> {
        let place = |(namespace, id)| Place { thread: thread.clone(), namespace, id };
        let mut places: Vec<_> = namespaces.into_iter().zip(ids).map(place).collect();
        let left = places.split_off((removed as usize).min(places.len()));
        self.apply(ticket, Ok(langgraph::delete(places, left)))
    }

    fn parts(
        &self,
        env: &Env,
        names: Vec<String>,
        tags: Vec<String>,
        bytes: Vec<Uint8ArraySlice<'_>>,
    ) -> napi::Result<Vec<Part>> {
        let part = |((name, tag), bytes)| Ok(Part { name, tag, bytes: self.take(env, bytes)? });
        names.into_iter().zip(tags).zip(bytes).map(part).collect()
    }
}

fn listed(header: &Header, packing: &mut Packing) -> Result<Listed> {
    let Described { place, parent, metadata: (tag, bytes), difference } = langgraph::describe(header)?;
    let metadata = packing.part(Part { name: String::new(), tag, bytes: bytes.into() });
    Ok((place.thread, place.namespace, place.id, parent, metadata, header.saved_at, difference))
}

fn thread(lineage: &Lineage, packing: &mut Packing) -> Result<FoundThread> {
    Ok((lineage.position.to_string(), lineage.checkpoints, listed(&lineage.newest, packing)?))
}

fn tuple(Tuple { checkpoint, writes }: Tuple, packing: &mut Packing) -> Result<FoundTuple> {
    let place = langgraph::describe(&checkpoint.header)?.place;
    let listed = listed(&checkpoint.header, packing)?;
    let parts = packing.parts(checkpoint.payload);
    let write = |write: Write| {
        let owner = write.owner.and_then(|key| langgraph::owner_id(&place, &key));
        (write.task, write.index, owner, packing.part(write.part))
    };
    Ok((listed, parts, writes.into_iter().map(write).collect()))
}
