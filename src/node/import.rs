//! Reading another store's database, on a thread of Node's pool.

use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::{AsyncTask, Either5, Null};
use napi::{Env, Task};
use napi_derive::napi;

use super::values::{Blob, Failure};
use crate::error::Result;
use crate::import::{SavedCheckpoint, SavedWrite, SqliteSaver};

/// A database of `LangGraph`'s `SqliteSaver`.
#[napi]
pub struct NativeSqliteSaver(Arc<Mutex<SqliteSaver>>);

/// A part: name, tag, bytes.
#[napi(array, object_from_js = false)]
pub struct FoundPart(pub String, pub String, pub Blob);

/// A checkpoint: namespace, id, parent's id, the whole of it, metadata.
#[napi(array, object_from_js = false)]
pub struct ImportedCheckpoint(pub String, pub String, pub Option<String>, pub FoundPart, pub FoundPart);

/// A write: task, index, the channel and its value.
#[napi(array, object_from_js = false)]
pub struct ImportedWrite(pub String, pub i64, pub FoundPart);

type Rows = Either5<Null, Vec<String>, Vec<ImportedCheckpoint>, Vec<ImportedWrite>, Vec<Vec<String>>>;

/// What came of a question: the rows, or the error.
#[napi(array, object_from_js = false)]
pub struct Read(pub Rows, pub Option<Failure>);

type Question = Box<dyn FnOnce(&mut SqliteSaver) -> Result<Rows> + Send>;

pub struct Asked {
    saver: Arc<Mutex<SqliteSaver>>,
    question: Option<Question>,
}

impl Task for Asked {
    type Output = Result<Rows>;
    type JsValue = Read;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let mut saver = self.saver.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match self.question.take() {
            Some(question) => question(&mut saver),
            None => Ok(Either5::A(Null)),
        })
    }

    fn resolve(&mut self, _: Env, rows: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(match rows {
            Ok(rows) => Read(rows, None),
            Err(error) => Read(Either5::A(Null), Some(error.into())),
        })
    }
}

#[napi]
impl NativeSqliteSaver {
    #[napi(constructor)]
    pub fn new(path: String) -> Self {
        Self(Arc::new(Mutex::new(SqliteSaver::new(path))))
    }

    /// The threads' ids.
    #[napi]
    pub fn threads(&self) -> AsyncTask<Asked> {
        self.ask(|saver| saver.threads().map(Either5::B))
    }

    /// A page of a thread's checkpoints, by namespace and id, from behind those.
    #[napi]
    pub fn checkpoints(&self, thread: String, namespace: String, id: String, limit: u32) -> AsyncTask<Asked> {
        self.ask(move |saver| {
            let found = saver.checkpoints(&thread, (&namespace, &id), limit)?;
            Ok(Either5::C(found.into_iter().map(checkpoint).collect()))
        })
    }

    /// What was written to a checkpoint.
    #[napi]
    pub fn writes(&self, thread: String, namespace: String, id: String) -> AsyncTask<Asked> {
        self.ask(move |saver| {
            let found = saver.writes(&thread, &namespace, &id)?;
            Ok(Either5::D(found.into_iter().map(write).collect()))
        })
    }

    /// Namespaces and ids of what was written to and is not there.
    #[napi]
    pub fn orphans(&self, thread: String) -> AsyncTask<Asked> {
        self.ask(move |saver| {
            let found = saver.orphans(&thread)?;
            Ok(Either5::E(found.into_iter().map(|(namespace, id)| vec![namespace, id]).collect()))
        })
    }

    fn ask(&self, question: impl FnOnce(&mut SqliteSaver) -> Result<Rows> + Send + 'static) -> AsyncTask<Asked> {
        AsyncTask::new(Asked { saver: Arc::clone(&self.0), question: Some(Box::new(question)) })
    }
}

fn checkpoint(SavedCheckpoint { namespace, id, parent, checkpoint, metadata }: SavedCheckpoint) -> ImportedCheckpoint {
    let part = |(tag, bytes)| FoundPart(String::new(), tag, Blob(bytes));
    ImportedCheckpoint(namespace, id, parent, part(checkpoint), part(metadata))
}

fn write(SavedWrite { task, index, channel, value: (tag, bytes) }: SavedWrite) -> ImportedWrite {
    ImportedWrite(task, index, FoundPart(channel, tag, Blob(bytes)))
}
