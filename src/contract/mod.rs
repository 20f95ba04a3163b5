//! Frameworks' semantics as ops and queries. Each file is one contract, and [`CONTRACTS`] is the one place that lists them.
//! Its space is stored with every checkpoint and never given out again.
//!
//! A contract is called by its name, with named fields that its own enum reads, and with buffers. So what lies between it
//! and its TypeScript knows no contract.

pub mod agentium;
pub mod agentos;
pub mod call;
pub mod fields;
pub mod langgraph;
pub mod response;
mod store;

use self::call::{Call, Request, Tool};
use self::response::Response;
use crate::error::{Error, Result};
use crate::lane::Reply;
use crate::record::Space;
use crate::store::Store;

/// What is known of a contract without knowing which one it is.
#[derive(Clone, Copy, Debug)]
pub struct Contract {
    /// The name by which it is called.
    pub name: &'static str,
    /// Whose checkpoints are its own.
    pub space: Space,
    /// Reads a call: what it asks of the engine.
    pub request: fn(Call<'_>) -> Result<Request>,
    /// Makes what of it works without a store. `None`: nothing does.
    pub tool: Option<fn(&str) -> Result<Box<dyn Tool>>>,
}

/// All contracts.
pub const CONTRACTS: [Contract; 4] =
    [agentos::CONTRACT, agentium::CONTRACT, agentium::storage::CONTRACT, langgraph::CONTRACT];

/// Runs a call of a contract, or of the store itself (`"store"`), on a store. Replies with its response; `None` is null.
pub fn run(store: &Store, call: Call<'_>, reply: Reply<Option<Response>>) {
    match request(call) {
        Ok(request) => request.run(store, reply),
        Err(error) => reply.send(Err(error)),
    }
}

fn request(call: Call<'_>) -> Result<Request> {
    match call.contract() {
        store::NAME => store::request(call),
        contract => (named(contract)?.request)(call),
    }
}

/// Makes something of a contract's that works without a store; which, says a text in JSON.
pub fn tool(contract: &str, which: &str) -> Result<Box<dyn Tool>> {
    match named(contract)?.tool {
        Some(make) => make(which),
        None => Err(Error::invalid(format!("the contract {contract:?} has no tools: please report this"))),
    }
}

fn space_of(contract: &str) -> Result<Space> {
    Ok(named(contract)?.space)
}

fn named(name: &str) -> Result<&'static Contract> {
    const { &CONTRACTS }
        .iter()
        .find(|contract| contract.name == name)
        .ok_or_else(|| Error::invalid(format!("there is no contract {name:?}: please report this")))
}

/// The most bytes an id may have: it is a key of several indexes.
pub const MAX_ID_BYTES: usize = 4096;

/// Refuses what cannot be an id to write with. Looking for such an id is no error: it finds nothing.
pub fn check_id(what: &str, id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::invalid(format!("{what} is empty: give a non-empty string")));
    }
    if id.len() > MAX_ID_BYTES {
        return Err(Error::invalid(format!(
            "{what} has {} bytes, and an id may have at most {MAX_ID_BYTES}: give a shorter one",
            id.len()
        )));
    }
    Ok(())
}
