//! Work on a thread of Node's thread pool.

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Task};
use napi_derive::napi;

use crate::values::{Failure, Value, settled};
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::error::Result;

/// Work that is done once.
pub struct Work(Box<dyn FnMut() -> Result<Response> + Send>);

/// Runs this work on a thread of the pool.
pub fn on_pool(work: impl FnMut() -> Result<Response> + Send + 'static) -> AsyncTask<Work> {
    AsyncTask::new(Work(Box::new(work)))
}

/// The outcome of the work: the value or the error.
#[napi(array, object_from_js = false)]
pub struct PoolOutcome(pub Value, pub Option<Failure>);

impl Task for Work {
    type Output = Result<Response>;
    type JsValue = PoolOutcome;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok((self.0)())
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> napi::Result<Self::JsValue> {
        let (value, failure) = settled(outcome.map(Some));
        Ok(PoolOutcome(value, failure))
    }
}
