//! Contracts: the checkpoint interfaces of the supported frameworks, expressed as ops and queries of the engine.
//!
//! Each contract is one module, and [`CONTRACTS`] is the only list of contracts. Every checkpoint stores the id of its
//! contract. The id of a contract is never used for another contract.
//!
//! A call consists of the name of its contract, its own name, named fields and buffers. Each contract reads the fields
//! into its own enum. So the code between a contract and its TypeScript is the same for all contracts.
//!
//! Every call may also have the field `fence`, which names a lease ([`lease::Fence`]). The call then writes only while the
//! lease is held. With the field `measure: true`, the response to a call that writes a unit is what the unit has cost.

pub mod agentium;
pub mod agentos;
pub mod call;
pub mod fields;
pub mod helix;
mod inspect;
pub mod langgraph;
pub mod lease;
pub mod response;
pub mod retry;
mod store;
pub mod thread;
pub mod tinyagents;

use self::call::{RawCall, Request, Tool};
use self::response::Response;
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Header, Part};
use crate::store::Store;
use crate::worker::Reply;

/// A contract, as the code that is common to all contracts sees it.
#[derive(Clone, Copy, Debug)]
pub struct Contract {
    /// The name of the contract in calls.
    pub name: &'static str,
    /// The id that is stored with the contract's checkpoints.
    pub id: ContractId,
    /// Reads a call and returns the request to the engine.
    pub request: fn(RawCall<'_>) -> Result<Request>,
    /// Makes the contract's tools, which work without a store. `None`: the contract has no tools.
    pub tool: Option<MakeTool>,
    /// Converts the engine's names of a lineage and a checkpoint into the users' names. A name is `None` if it is not
    /// known.
    pub name_of: fn(Option<String>, Option<String>) -> Names,
    /// Converts the users' names of a run into the engine's name of the lineage. The namespace is empty if the contract
    /// has none.
    pub lineage_of: fn(run: &str, ns: &str) -> String,
    /// Converts the users' names of a run and a checkpoint into the engine's id of the checkpoint.
    pub id_of: fn(run: &str, ns: &str, id: &str) -> String,
    /// Reads the fields of a header that people see.
    pub show: fn(&Header) -> Result<Shown>,
}

/// The fields of a checkpoint that people see without a look at its payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// A name of the checkpoint: the node, the step or the status.
    pub label: Option<String>,
    /// What several runs share: the graph.
    pub group: Option<String>,
    /// The contract's own time, in ms since the epoch.
    pub at: Option<f64>,
    /// What the contract keeps beside the state, as a JSON object.
    pub meta: Option<serde_json::Value>,
    /// The same, if only the contract's serializer can read it.
    pub serialized: Option<Part>,
    /// The status of a run whose newest checkpoint this is.
    pub status: Option<&'static str>,
}

/// The names that the framework's users know: of the run, its namespace and the checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The id of the run, thread or session.
    pub run: Option<String>,
    /// The namespace in the run, if the contract has namespaces.
    pub ns: Option<String>,
    /// The id of the checkpoint.
    pub id: Option<String>,
}

impl Names {
    /// The value of `lineage_of` for a contract that uses the engine's names unchanged.
    fn same_lineage(run: &str, _: &str) -> String {
        run.to_owned()
    }

    /// The value of `id_of` for a contract that uses the engine's names unchanged.
    fn same_id(_: &str, _: &str, id: &str) -> String {
        id.to_owned()
    }

    /// The value of `name_of` for a contract that uses the engine's names unchanged.
    fn same(lineage: Option<String>, id: Option<String>) -> Self {
        Self { run: lineage, ns: None, id }
    }
}

/// Makes a tool. The argument selects the tool, in JSON.
pub type MakeTool = fn(&str) -> Result<Box<dyn Tool>>;

/// All contracts.
pub const CONTRACTS: [Contract; 8] = [
    agentos::CONTRACT,
    agentium::CONTRACT,
    agentium::storage::CONTRACT,
    langgraph::CONTRACT,
    helix::CONTRACT,
    helix::SESSIONS,
    tinyagents::CONTRACT,
    lease::CONTRACT,
];

/// The name of each contract.
pub const NAMES: [(ContractId, &str); CONTRACTS.len()] = {
    let mut names = [(ContractId(0), ""); CONTRACTS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = (CONTRACTS[at].id, CONTRACTS[at].name);
        at += 1;
    }
    names
};

/// The contracts whose data a copy of a store leaves out, because they belong to living processes.
pub const NOT_COPIED: [ContractId; 1] = [lease::CONTRACT_ID];

/// Runs a call of a contract, or of the store itself (`"store"`). Replies with the response. `None` becomes null.
pub fn run(store: &Store, call: RawCall<'_>, reply: Reply<Option<Response>>) {
    let measure = call.is_measured();
    match request(call) {
        Ok(request) => request.run(store, measure, reply),
        Err(error) => reply.send(Err(error)),
    }
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let fence = call.fence()?;
    let request = match call.contract() {
        store::NAME => store::request(call),
        inspect::NAME => inspect::request(call),
        contract => (named(contract)?.request)(call),
    }?;
    Ok(match fence {
        Some(fence) => request.on_condition(fence.into()),
        None => request,
    })
}

/// Makes a tool of a contract, which works without a store. `which` selects the tool, in JSON.
pub fn tool(contract: &str, which: &str) -> Result<Box<dyn Tool>> {
    match named(contract)?.tool {
        Some(make) => make(which),
        None => Err(Error::invalid(format!("the contract {contract:?} has no tools: please report this"))),
    }
}

fn id_of(contract: &str) -> Result<ContractId> {
    Ok(named(contract)?.id)
}

/// Returns the contract with this id.
fn contract_of(id: ContractId) -> Option<&'static Contract> {
    const { &CONTRACTS }.iter().find(|contract| contract.id == id)
}

fn named(name: &str) -> Result<&'static Contract> {
    const { &CONTRACTS }
        .iter()
        .find(|contract| contract.name == name)
        .ok_or_else(|| Error::invalid(format!("there is no contract {name:?}: please report this")))
}

/// The maximum number of bytes in an id. The limit is small because several indexes have the id as their key.
pub const MAX_ID_BYTES: usize = 4096;

/// Returns the error for a stored checkpoint whose fields cannot be read.
fn damaged(id: &str) -> Error {
    let message = format!("checkpoint {id:?}: its stored metadata is damaged; restore the file from a backup");
    Error::new(Code::Corrupt, message)
}

/// Refuses an id that must not be written, because it is empty or too long. Only writes check ids. A read with such an
/// id finds nothing.
///
/// The error message uses `what` as the name of the id.
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::mpsc;

    use super::fields::{Shape, Value};
    use super::*;
    use crate::error::Code;
    use crate::store::Options;
    use crate::target::Target;

    fn call(store: &Store, contract: &str, call: &str, fields: &[(&str, &str)], buffers: usize) -> Result<String> {
        let names = fields.iter().map(|(name, _)| (*name).to_owned()).collect();
        let shape = Shape { contract: contract.to_owned(), call: call.to_owned(), names };
        let value = |text: &str| match text.parse() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::Text(text.to_owned()),
        };
        let values = fields.iter().map(|(_, text)| value(text)).collect();
        let (sent, replies) = mpsc::channel();
        let reply = Reply::new(move |outcome| sent.send(outcome).unwrap());
        run(store, RawCall::new(&shape, values, vec![b"bytes"[..].into(); buffers]), reply);
        Ok(replies.recv().unwrap()?.map_or_else(String::new, |response| response.text))
    }

    #[test]
    fn a_call_with_a_fence_writes_only_while_the_lease_is_held() {
        let store = Store::open(&Target::Memory, Options::default()).unwrap();
        let of = r#"{"space":"agentos","run":"r","ns":""}"#;
        let holding = r#"{"holder":"h","until":9,"from":null,"attempts":1}"#;
        let take = [("of", of), ("id", "one"), ("holding", holding), ("savedAt", "1")];
        call(&store, "lease", "take", &take, 0).unwrap();
        let fence = format!(r#"{{"of":{of},"id":"one"}}"#);
        let key = [("fence", &*fence), ("key", "k"), ("namespace", "n")];
        let set = [&key[..], &[("tag", "json"), ("savedAt", "5")]].concat();
        call(&store, "storage", "set", &set, 1).unwrap();
        assert!(call(&store, "lease", "read", &[("of", of)], 0).unwrap().contains(r#""id":"one","token":1,"#));
        call(&store, "lease", "release", &[("id", "one")], 0).unwrap();
        for (name, fields, buffers) in [("set", &set[..], 1), ("delete", &key[..], 0)] {
            let error = call(&store, "storage", name, fields, buffers).unwrap_err();
            assert_eq!(error.code(), Code::Conflict);
            assert!(error.message().contains("the lease of run \"r\" was lost"), "{error}");
        }
        // A call that only reads needs no lease.
        assert!(call(&store, "storage", "get", &key, 0).unwrap().contains(r#""key":"k""#));
        let damaged = [&[("fence", "{}")], &set[1..]].concat();
        assert_eq!(call(&store, "storage", "set", &damaged, 1).unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn no_two_contracts_share_a_name_or_an_id() {
        let names: HashSet<_> =
            CONTRACTS.iter().map(|contract| contract.name).chain([store::NAME, inspect::NAME]).collect();
        let contracts: HashSet<_> = CONTRACTS.iter().map(|contract| contract.id).collect();
        assert_eq!((names.len(), contracts.len()), (CONTRACTS.len() + 2, CONTRACTS.len()));
    }

    #[test]
    fn a_call_is_named_by_its_contract_and_so_are_its_fields() {
        let store = Store::open(&Target::Memory, Options::default()).unwrap();
        let key = [("key", "k"), ("namespace", "n")];
        let set = [&key[..], &[("tag", "json"), ("savedAt", "5")]].concat();
        assert_eq!(call(&store, "storage", "set", &set, 1).unwrap(), "");
        let found = call(&store, "storage", "get", &key, 0).unwrap();
        assert_eq!(found, r#"{"key":"k","parts":[["value","json",0,0,5]]}"#);
        let stats = [("contract", "storage"), ("largest", "0")];
        assert!(call(&store, "store", "stats", &stats, 0).unwrap().contains(r#""checkpoints":1,"#));
        for (contract, name, fields, buffers, why) in [
            ("storage", "set", &set[..], 0, "buffers"),
            ("storage", "set", &set[1..], 1, "`key`"),
            ("storage", "get", &set[..], 0, "`tag`"),
            ("storage", "put", &set[..], 1, "`put`"),
            ("other", "get", &key[..], 0, "\"other\""),
            ("store", "stats", &[("contract", "other"), ("largest", "0")], 0, "\"other\""),
        ] {
            let error = call(&store, contract, name, fields, buffers).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(error.message().contains(why), "{error}");
        }
    }
}
