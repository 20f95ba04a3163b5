//! Decides what a workflow does next. Each run is a state machine without I/O: the host reports events, and the machine
//! answers with commands.
//!
//! The host has the states, the user's functions, the store, the clock and the random numbers. The machine makes all
//! decisions, so a workflow behaves the same on every store, and a test can simulate a crash between any two commands.

pub mod definition;
mod fit;
pub mod protocol;
pub mod run;

use std::sync::Arc;

use serde::Deserialize;
use ts_rs::TS;

use self::definition::{Definition, Step};
use self::protocol::{Command, Event, Options};
use self::run::Run;
use crate::contract::call::{Tool, read_json};
use crate::contract::entry::ToolMaker;
use crate::contract::response::Response;
use crate::contract::retry::Retry;
use crate::contract::types::CallTypes;
use crate::error::Result;

/// The tools of the contract.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Which {
    Run { steps: Vec<Step>, retry: Retry, options: Options },
}

pub(super) const TOOL: ToolMaker = ToolMaker { make: tool, types: CallTypes::tool::<Which, Event, Command>() };

fn tool(which: &str) -> Result<Box<dyn Tool>> {
    let Which::Run { steps, retry, options } = read_json(which)?;
    let definition = Definition::new(steps, retry)?;
    Ok(Box::new(Run::new(Arc::new(definition), options)))
}

/// Each call passes an event and returns commands.
impl Tool for Run {
    fn call(&mut self, event: &str) -> Result<Response> {
        Response::json(&self.on(read_json(event)?))
    }
}
