//! The native object behind a copy from one store to another.

use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::{AsyncTask, Either3, Null};
use napi::{Env, Task};
use napi_derive::napi;

use crate::store::NativeStore;
use crate::tool::PoolOutcome;
use crate::values::{thrown, value};
use forkpoint_engine::contract;
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::copy::{Copy, CopyOptions, Place, Progress};
use forkpoint_engine::error::{Error, Result};
use forkpoint_engine::target::Target;

/// A copy from one open store to another one.
#[napi]
pub struct NativeCopy(Arc<Mutex<Copy>>);

#[napi]
impl NativeCopy {
    #[napi(constructor)]
    pub fn new(from: &NativeStore, to: &NativeStore) -> napi::Result<Self, &'static str> {
        let begin = || {
            let source = Place::of(&from.target, from.store())?;
            if source.is(&Place::of(&to.target, to.store())?) {
                return Err(Error::invalid(
                    "the source and the destination are the same store: give another destination",
                ));
            }
            let options = CopyOptions {
                source: source.name(),
                left_out: &contract::NOT_COPIED,
                page_bytes: CopyOptions::PAGE_BYTES,
            };
            Copy::new(Arc::clone(from.store()), Arc::clone(to.store()), options)
        };
        begin().map(|copy| Self(Arc::new(Mutex::new(copy)))).map_err(thrown)
    }

    /// Copies or compares about one page, on a thread of Node's thread pool. The outcome is the progress in JSON.
    #[napi]
    pub fn step(&self) -> AsyncTask<Step> {
        AsyncTask::new(Step(Arc::clone(&self.0)))
    }
}

/// The path of the file or folder that a target names. `None` for a store that has no path.
#[napi]
pub fn path_of_target(target: String) -> napi::Result<Option<String>, &'static str> {
    let path = match Target::parse(&target).map_err(thrown)? {
        Target::Memory | Target::Postgres(_) => None,
        Target::Sqlite(path) | Target::Jsonl(path) => Some(path.to_string_lossy().into_owned()),
    };
    Ok(path)
}

pub struct Step(Arc<Mutex<Copy>>);

impl Task for Step {
    type Output = Result<Progress>;
    type JsValue = PoolOutcome;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).step())
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(match outcome.and_then(|progress| Response::json(&progress)) {
            Ok(response) => PoolOutcome(value(Some(response)), None),
            Err(error) => PoolOutcome(Either3::A(Null), Some(error.into())),
        })
    }
}
