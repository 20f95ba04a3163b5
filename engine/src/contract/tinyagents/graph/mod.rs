//! Decides what a graph does next. Each run is a state machine without I/O: the host reports events, and the machine
//! answers with commands.
//!
//! The host has the states, the user's functions, the checkpointer and the clock. The machine makes all decisions:
//! which tasks run, what is stored and when, and how a run continues after a crash. A graph behaves the same with every
//! checkpointer, and a test can simulate a crash between any two commands.

pub mod definition;
mod frontier;
pub mod protocol;
pub mod run;
mod tasks;
mod writer;

use std::sync::Arc;

use serde::Deserialize;
use ts_rs::TS;

use self::definition::Definition;
use self::protocol::{Command, Event, Options};
use self::run::Run;
use crate::contract::call::{Tool, read_json};
use crate::contract::entry::ToolMaker;
use crate::contract::response::Response;
use crate::contract::types::CallTypes;
use crate::error::Result;

/// The tools of the contract.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Which {
    Run { graph: Definition, options: Options },
}

pub(super) const TOOL: ToolMaker = ToolMaker { make: tool, types: CallTypes::tool::<Which, Event, Command>() };

fn tool(which: &str) -> Result<Box<dyn Tool>> {
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
