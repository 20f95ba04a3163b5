//! The tool with which JavaScript drives a run: each call passes an event and returns commands.

use std::sync::Arc;

use serde::Deserialize;

use super::definition::Definition;
use super::protocol::{Event, Options};
use super::run::Run;
use crate::contract::call::{Tool, read_json};
use crate::contract::response::Response;
use crate::error::Result;

/// The tools of the contract, as `ts/tinyagents/graph-wire.ts` declares them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Which {
    Run { graph: Definition, options: Options },
}

pub(in crate::contract::tinyagents) fn tool(which: &str) -> Result<Box<dyn Tool>> {
    let Which::Run { graph, options } = read_json(which)?;
    let graph = graph.check()?;
    graph.check_nodes(options.mode.nodes())?;
    Ok(Box::new(Run::new(Arc::new(graph), options)))
}

impl Tool for Run {
    fn call(&mut self, event: &str) -> Result<Response> {
        let event: Event = read_json(event)?;
        self.definition().check_nodes(event.nodes())?;
        Response::json(&self.on(event))
    }
}
