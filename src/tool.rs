//! The native object behind a tool. A tool is a part of a contract that needs no store.

use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::pool::{Work, on_pool};
use crate::values::{Value, thrown, value};
use forkpoint_engine::contract;
use forkpoint_engine::contract::call::Tool;
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::error::Result;

type Shared = Arc<Mutex<Box<dyn Tool>>>;

/// A tool of a contract: for example, a state machine, or a reader of another store's file.
#[napi]
pub struct NativeTool(Shared);

#[napi]
impl NativeTool {
    /// Creates a tool of a contract. `which` selects the tool, in JSON.
    #[napi(constructor)]
    pub fn new(contract: String, which: String) -> napi::Result<Self, &'static str> {
        contract::tool(&contract, &which).map(|tool| Self(Arc::new(Mutex::new(tool)))).map_err(thrown)
    }

    /// Runs a call on this thread. Throws the call's error.
    #[napi]
    pub fn call(&self, call: String) -> napi::Result<Value, &'static str> {
        run(&self.0, &call).map(|response| value(Some(response))).map_err(thrown)
    }

    /// Runs a call on a thread of Node's thread pool. The calls of one tool run one at a time.
    #[napi]
    pub fn call_on_pool(&self, call: String) -> AsyncTask<Work> {
        let tool = Arc::clone(&self.0);
        on_pool(move || run(&tool, &call))
    }
}

fn run(tool: &Shared, call: &str) -> Result<Response> {
    tool.lock().unwrap_or_else(PoisonError::into_inner).call(call)
}
