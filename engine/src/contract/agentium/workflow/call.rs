//! The tool with which JavaScript drives a run: each call passes an event and returns commands.

use std::sync::Arc;

use serde::Deserialize;

use super::definition::{Definition, Step};
use super::protocol::Options;
use super::run::Run;
use crate::contract::call::{Tool, read_json};
use crate::contract::response::Response;
use crate::contract::retry::Retry;
use crate::error::Result;

/// The tools of the contract, as `ts/contracts/agentium/wire.ts` declares them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Which {
    Run { steps: Vec<Step>, retry: Retry, options: Options },
}

pub(in crate::contract::agentium) fn tool(which: &str) -> Result<Box<dyn Tool>> {
    let Which::Run { steps, retry, options } = read_json(which)?;
    let definition = Definition::new(steps, retry)?;
    Ok(Box::new(Run::new(Arc::new(definition), options)))
}

impl Tool for Run {
    fn call(&mut self, event: &str) -> Result<Response> {
        Response::json(&self.on(read_json(event)?))
    }
}
