//! The native object behind a tool. A tool is a part of a contract that needs no store.

use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::{AsyncTask, Either3, Null};
use napi::{Env, Task};
use napi_derive::napi;

use crate::values::{Failure, Value, thrown, value};
use forkpoint_engine::contract;
use forkpoint_engine::contract::call::Tool;
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::error::Result;

type Shared = Arc<Mutex<Box<dyn Tool>>>;

/// A tool of a contract: for example, a state machine or the reader of another store's file.
#[napi]
pub struct NativeTool(Shared);

#[napi]
impl NativeTool {
    /// Makes a tool of a contract. `which` selects the tool, in JSON.
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
    pub fn call_on_pool(&self, call: String) -> AsyncTask<PoolCall> {
        let tool = Arc::clone(&self.0);
        PoolCall::task(move || run(&tool, &call))
    }
}

fn run(tool: &Shared, call: &str) -> Result<Response> {
    tool.lock().unwrap_or_else(PoisonError::into_inner).call(call)
}

/// A call on a thread of Node's thread pool.
pub struct PoolCall(Box<dyn FnMut() -> Result<Response> + Send>);

impl PoolCall {
    /// `call` runs once.
    pub fn task(call: impl FnMut() -> Result<Response> + Send + 'static) -> AsyncTask<Self> {
        AsyncTask::new(Self(Box::new(call)))
    }
}

/// The outcome of a call on the thread pool: the value or the error.
#[napi(array, object_from_js = false)]
pub struct PoolOutcome(pub Value, pub Option<Failure>);

impl Task for PoolCall {
    type Output = Result<Response>;
    type JsValue = PoolOutcome;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok((self.0)())
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(match outcome {
            Ok(response) => PoolOutcome(value(Some(response)), None),
            Err(error) => PoolOutcome(Either3::A(Null), Some(error.into())),
        })
    }
}
