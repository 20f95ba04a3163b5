//! Decides what a graph does next. Each run is a state machine without I/O: the host reports events, and the machine
//! answers with commands.
//!
//! The host has the states, the user's functions, the checkpointer and the clock. The state machine makes all decisions:
//! which tasks run, what is stored and when, and how a run continues after a crash. So a graph behaves in the same way
//! with every checkpointer, and a test can simulate a crash between any two commands.

pub mod definition;
mod frontier;
pub mod protocol;
pub mod run;
mod tasks;
mod writer;

use std::sync::Arc;

use serde::Deserialize;

use self::definition::Definition;
use self::protocol::{Event, Options};
use self::run::Run;
use crate::contract::call::{Tool, read_json};
use crate::contract::response::Response;
use crate::error::Result;

/// The tools of the contract, as `ts/contracts/tinyagents/graph/wire.ts` declares them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Which {
    Run { graph: Definition, options: Options },
}

pub(super) fn tool(which: &str) -> Result<Box<dyn Tool>> {
    let Which::Run { graph, options } = read_json(which)?;
    let graph = graph.check()?;
    graph.check_nodes(options.mode.nodes())?;
    Ok(Box::new(Run::new(Arc::new(graph), options)))
}

/// Each call passes an event and returns commands.
impl Tool for Run {
    fn call(&mut self, event: &str) -> Result<Response> {
        let event: Event = read_json(event)?;
        self.definition().check_nodes(event.nodes())?;
        Response::json(&self.on(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    const GRAPH: &str = r#"{"nodes":[{"name":"a","effect":null,"checkpoint":null}],"edges":[{"from":null,"to":0}],
        "barriers":[],"conditional":[null],"maxSupersteps":9}"#;

    fn run(mode: &str) -> Result<Box<dyn Tool>> {
        let options = format!(r#"{{"mode":{mode},"durability":"sync","persist":false,"prefix":"p"}}"#);
        tool(&format!(r#"{{"run":{{"graph":{GRAPH},"options":{options}}}}}"#))
    }

    #[test]
    fn a_node_outside_the_graph_is_refused() {
        let mut machine = run(r#"{"kind":"input"}"#).unwrap();
        machine.call(r#"{"event":"started"}"#).unwrap();
        let made = |node: u32| format!(r#"{{"event":"made","routes":[[{{"node":{node},"arg":null}}]]}}"#);
        assert_eq!(machine.call(&made(1)).err().map(|error| error.code()), Some(Code::InvalidArgument));
        machine.call(&made(0)).unwrap();
        assert_eq!(run(r#"{"kind":"update","asNode":1}"#).err().map(|error| error.code()), Some(Code::InvalidArgument));
    }
}
