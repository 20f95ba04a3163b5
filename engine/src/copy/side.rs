//! One of the two stores of a copy. A copy has its own thread, so it may wait for answers.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use super::convert::Convert;
use crate::error::{Error, Result};
use crate::op::{Applied, Unit};
use crate::query::{Answer, Query};
use crate::record::{Checkpoint, ContractId, LogRun, Start};
use crate::store::Store;
use crate::worker::Reply;

/// The name of a lineage.
pub type Name = (ContractId, String);

/// A store, and its name in messages.
pub(super) struct Side {
    store: Arc<Store>,
    what: &'static str,
    /// Converts the values of the store's answers.
    pub(super) convert: Option<Arc<Convert>>,
}

/// A requested answer.
pub(super) struct Pending {
    answer: Receiver<Result<Answer>>,
    what: &'static str,
    convert: Option<Arc<Convert>>,
}

impl Pending {
    pub(super) fn wait(self) -> Result<Answer> {
        let mut answer = received(&self.answer, self.what)?;
        if let Some(convert) = &self.convert {
            convert.answer(&mut answer)?;
        }
        Ok(answer)
    }
}

impl Side {
    pub(super) fn new(store: Arc<Store>, what: &'static str) -> Self {
        Self { store, what, convert: None }
    }

    /// Asks a query without waiting for the answer.
    pub(super) fn request(&self, query: Query) -> Pending {
        let (sent, answer) = channel();
        self.store.ask(query, reply(sent));
        Pending { answer, what: self.what, convert: self.convert.clone() }
    }

    pub(super) fn ask(&self, query: Query) -> Result<Answer> {
        self.request(query).wait()
    }

    /// Sends several queries at the same time.
    pub(super) fn ask_all(&self, queries: Vec<Query>) -> Result<Vec<Answer>> {
        if queries.is_empty() {
            return Ok(Vec::new());
        }
        match self.ask(Query::All(queries))? {
            Answer::All(all) => Ok(all),
            _ => Err(Error::poisoned()),
        }
    }

    pub(super) fn apply(&self, unit: Unit) -> Result<Applied> {
        let (sent, applied) = channel();
        self.store.apply_saved(unit, reply(sent));
        received(&applied, self.what)
    }

    /// The lineage with this name.
    pub(super) fn start(&self, (contract, lineage): &Name) -> Result<Option<Start>> {
        let query = Query::Start { contract: *contract, lineage: lineage.clone() };
        Ok(self.ask(query)?.into_starts()?.pop())
    }

    /// The stretches of a log: see [`Query::LogRuns`].
    pub(super) fn log_runs(&self, lineage: &Name, log: &str, at: Option<&str>) -> Result<Vec<LogRun>> {
        self.ask(log_runs(lineage, log, at))?.into_log_runs()
    }

    pub(super) fn get(&self, contract: ContractId, id: &str) -> Result<Option<Checkpoint>> {
        Ok(self.ask(Query::Get { contract, id: id.to_owned() })?.into_checkpoint()?.map(|found| *found))
    }

    /// The name of the lineage that a checkpoint belongs to.
    pub(super) fn lineage_of(&self, contract: ContractId, id: &str) -> Result<Option<String>> {
        Ok(self.get(contract, id)?.map(|found| found.header.lineage))
    }
}

/// The query for the stretches of a log, or of the part of it that the checkpoint `at` names.
pub(super) fn log_runs((contract, lineage): &Name, log: &str, at: Option<&str>) -> Query {
    let (lineage, log, at) = (lineage.clone(), log.to_owned(), at.map(str::to_owned));
    Query::LogRuns { contract: *contract, lineage, log, at }
}

fn reply<T: Send + 'static>(sent: std::sync::mpsc::Sender<Result<T>>) -> Reply<T> {
    Reply::new(move |outcome| {
        // Sending fails if the copy was dropped and no longer waits.
        let _ = sent.send(outcome);
    })
}

fn received<T>(outcome: &Receiver<Result<T>>, what: &str) -> Result<T> {
    // A reply is always sent, even if the store's thread panics.
    outcome.recv().unwrap_or_else(|_| Err(Error::poisoned())).map_err(|error| error.context(what))
}
