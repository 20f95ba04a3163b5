//! The native object of a copy between two stores.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use napi::Status;
use napi::bindgen_prelude::{AsyncTask, Function, Uint8Array};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;

use crate::pool::{Work, on_pool};
use crate::store::NativeStore;
use crate::values::thrown;
use forkpoint_engine::contract;
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::copy::{Convert, Copy, CopyOptions, Location, Value};
use forkpoint_engine::error::{Code, Error, Result};
use forkpoint_engine::target::Target;

/// A copy from one open store to another.
#[napi]
pub struct NativeCopy(Arc<Mutex<Copy>>);

#[napi]
impl NativeCopy {
    #[napi(constructor)]
    pub fn new(
        from: &NativeStore,
        to: &NativeStore,
        convert: Option<Function<Vec<SerializedValue>, Vec<SerializedValue>>>,
        tags: Vec<String>,
        runs: Option<Vec<RunName>>,
    ) -> napi::Result<Self, &'static str> {
        let convert = convert.map(in_javascript).transpose().map_err(|error| thrown(Error::invalid(error.reason)))?;
        let begin = || {
            if Location::of(&from.target, from.store())?.is(&Location::of(&to.target, to.store())?) {
                return Err(Error::invalid(
                    "the source and the destination are the same store: use another destination",
                ));
            }
            let lineage = |RunName { space, run, ns }: RunName| contract::lineage_of(&space, &run, &ns);
            let options = CopyOptions {
                left_out: &contract::NOT_COPIED,
                effects: &contract::EFFECTS,
                lineages: runs.map(|runs| runs.into_iter().map(lineage).collect::<Result<_>>()).transpose()?,
                page_bytes: CopyOptions::PAGE_BYTES,
            };
            let copy = Copy::new(Arc::clone(from.store()), Arc::clone(to.store()), options)?;
            Ok(match convert {
                Some(convert) => copy.converting(Convert { tags, convert }),
                None => copy,
            })
        };
        begin().map(|copy| Self(Arc::new(Mutex::new(copy)))).map_err(thrown)
    }

    /// Copies or compares about one page, on a thread of Node's thread pool. The outcome is the progress in JSON.
    #[napi]
    pub fn step(&self) -> AsyncTask<Work> {
        let copy = Arc::clone(&self.0);
        on_pool(move || Response::json(&copy.lock().unwrap_or_else(PoisonError::into_inner).step()?))
    }
}

/// The name of a run. The namespace is empty for contracts without namespaces.
#[napi(object)]
pub struct RunName {
    pub space: String,
    pub run: String,
    pub ns: String,
}

/// A serialized value: the name of its serializer, and its bytes.
#[napi(object)]
pub struct SerializedValue {
    pub tag: String,
    pub bytes: Uint8Array,
}

type Call = ThreadsafeFunction<Vec<SerializedValue>, Vec<SerializedValue>, Vec<SerializedValue>, Status, false, true>;

type Converting = Box<dyn Fn(Vec<Value>) -> Result<Vec<Value>> + Send + Sync>;

/// Converts values with a JavaScript function. The thread of the pool waits for the result.
fn in_javascript(convert: Function<Vec<SerializedValue>, Vec<SerializedValue>>) -> napi::Result<Converting> {
    let call: Call = convert.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
    Ok(Box::new(move |values| {
        let (sent, converted) = channel();
        let values = values.into_iter().map(|(tag, bytes)| SerializedValue { tag, bytes: Vec::from(bytes).into() });
        let mode = ThreadsafeFunctionCallMode::NonBlocking;
        call.call_with_return_value(values.collect(), mode, move |converted, _| {
            // Sending fails if the copy was dropped and no longer waits.
            let _ = sent.send(converted.map(|values| {
                let value = |SerializedValue { tag, bytes }: SerializedValue| (tag, bytes.to_vec().into());
                values.into_iter().map(value).collect()
            }));
            Ok(())
        });
        // The channel closes without a value if the environment ends.
        let ended = |_| Error::new(Code::Closed, "the copy was stopped, because its JavaScript thread ended");
        converted.recv().map_err(ended)?.map_err(|error: napi::Error| Error::invalid(error.reason))
    }))
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
