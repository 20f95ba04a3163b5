//! Frameworks' semantics as ops and queries. Each file is one contract, and [`CONTRACTS`] is the one place that lists them.
//! Its id is stored with every checkpoint and never given out again.
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

use self::call::{RawCall, Request, Tool};
use self::response::Response;
use crate::error::{Code, Error, Result};
use crate::record::ContractId;
use crate::store::Store;
use crate::worker::Reply;

/// What is known of a contract without knowing which one it is.
#[derive(Clone, Copy, Debug)]
pub struct Contract {
    /// The name by which it is called.
    pub name: &'static str,
    /// Whose checkpoints are its own.
    pub id: ContractId,
    /// Reads a call: what it asks of the engine.
    pub request: fn(RawCall<'_>) -> Result<Request>,
    /// Makes what of it works without a store. `None`: nothing does.
    pub tool: Option<MakeTool>,
    /// What its users call a lineage and a checkpoint, as far as both are known.
    pub name_of: fn(Option<String>, Option<String>) -> Names,
}

/// What the users of a contract call something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The run, the thread, the session.
    pub run: Option<String>,
    /// The namespace in it, where the contract has some.
    pub ns: Option<String>,
    /// The checkpoint.
    pub id: Option<String>,
}

impl Names {
    /// For a contract whose names are those of the engine.
    fn same(lineage: Option<String>, id: Option<String>) -> Self {
        Self { run: lineage, ns: None, id }
    }
}

/// Makes a tool; which, says a text in JSON.
pub type MakeTool = fn(&str) -> Result<Box<dyn Tool>>;

/// All contracts.
pub const CONTRACTS: [Contract; 4] =
    [agentos::CONTRACT, agentium::CONTRACT, agentium::storage::CONTRACT, langgraph::CONTRACT];

/// Runs a call of a contract, or of the store itself (`"store"`), on a store. Replies with its response; `None` is null.
pub fn run(store: &Store, call: RawCall<'_>, reply: Reply<Option<Response>>) {
    match request(call) {
        Ok(request) => request.run(store, reply),
        Err(error) => reply.send(Err(error)),
    }
}

fn request(call: RawCall<'_>) -> Result<Request> {
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

fn id_of(contract: &str) -> Result<ContractId> {
    Ok(named(contract)?.id)
}

/// The contract with that id.
fn contract_of(id: ContractId) -> Option<&'static Contract> {
    const { &CONTRACTS }.iter().find(|contract| contract.id == id)
}

fn named(name: &str) -> Result<&'static Contract> {
    const { &CONTRACTS }
        .iter()
        .find(|contract| contract.name == name)
        .ok_or_else(|| Error::invalid(format!("there is no contract {name:?}: please report this")))
}

/// The most bytes an id may have: it is a key of several indexes.
pub const MAX_ID_BYTES: usize = 4096;

/// The fields of a stored checkpoint cannot be read.
fn damaged(id: &str) -> Error {
    let message = format!("checkpoint {id:?}: its stored metadata is damaged; restore the file from a backup");
    Error::new(Code::Corrupt, message)
}

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
    fn no_two_contracts_share_a_name_or_an_id() {
        let names: HashSet<_> = CONTRACTS.iter().map(|contract| contract.name).chain([store::NAME]).collect();
        let contracts: HashSet<_> = CONTRACTS.iter().map(|contract| contract.id).collect();
        assert_eq!((names.len(), contracts.len()), (CONTRACTS.len() + 1, CONTRACTS.len()));
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
