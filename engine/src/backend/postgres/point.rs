//! Reads one checkpoint. All statements of such a read are sent together, in one round trip. Several reads take two.

use tokio_postgres::Row;

use super::checkpoint::whole;
use super::key::number;
use super::payloads::{self, Held, chain};
use super::prefix::is_name;
use super::row::{HeaderRow, columns_with_sum, select_by_id, select_labelled, select_newest};
use super::session::Session;
use super::transaction::Transaction;
use super::value::{Value, values};
use super::writes::{self, columns as write_columns};
use crate::cache::{CachedPayload, PayloadCache};
use crate::error::{Error, Result};
use crate::query::{Answer, Pick, Query};
use crate::record::{ContractId, Seq, Tuple};

/// Selects the writes to the checkpoint whose id `$found` selects.
macro_rules! writes_to {
    ($found:expr) => {
        concat!(
            "SELECT ",
            write_columns!(),
            " FROM (",
            $found,
            ") AS found JOIN @write AS w ON w.contract = $1 AND ",
            is_name!("w.id", "found.id"),
            " ORDER BY w.num"
        )
    };
}

/// The statements of a read, for the row, the chain of payloads, and the writes.
type Statements = [&'static str; 3];

const BY_ID: Statements =
    [select_by_id!(columns_with_sum!()), chain!(select_by_id!("c.seq"), "$3"), writes_to!(select_by_id!("c.id"))];
const NEWEST: Statements =
    [select_newest!(columns_with_sum!()), chain!(select_newest!("c.seq"), "$3"), writes_to!(select_newest!("c.id"))];
const LABELLED: Statements = [
    select_labelled!(columns_with_sum!()),
    chain!(select_labelled!("c.seq"), "$4"),
    writes_to!(select_labelled!("c.id")),
];

/// A read of one checkpoint.
pub(super) struct Point {
    contract: ContractId,
    statements: Statements,
    values: Vec<Value>,
    held: Held,
    /// True if the answer includes the pending writes.
    tuple: bool,
}

impl Point {
    /// Returns true if the query asks for one checkpoint.
    pub(super) fn is(query: &Query) -> bool {
        matches!(query, Query::Get { .. } | Query::Newest { .. } | Query::Tuple { .. })
    }

    /// Returns the read for a query, or `None` if the query does not ask for one checkpoint.
    pub(super) fn of(query: &Query, cache: &PayloadCache) -> Option<Self> {
        let (contract, pick, label, tuple) = match query {
            Query::Get { contract, id } => (*contract, Pick::Id(id.clone()), None, false),
            Query::Newest { contract, lineage, label } => {
                (*contract, Pick::Newest(lineage.clone()), label.as_deref(), false)
            }
            Query::Tuple { contract, pick } => (*contract, pick.clone(), None, true),
            _ => return None,
        };
        let held = Held::new(cache, Seq::MAX);
        let (statements, values, held) = match (&pick, label) {
            (Pick::Id(id), _) => (BY_ID, values![number(contract), id], held),
            (Pick::Newest(lineage), None) => {
                (NEWEST, values![number(contract), lineage], held.and_newest(cache, contract, lineage))
            }
            (Pick::Newest(lineage), Some(label)) => {
                (LABELLED, values![number(contract), lineage, label], held.and_newest(cache, contract, lineage))
            }
        };
        Some(Self { contract, statements, values, held, tuple })
    }

    /// Adds the statements of the read to the next round trip.
    pub(super) fn ask(&self, open: &Transaction<'_>) {
        let [row, chain, _] = self.statements;
        open.later(row, self.values.clone());
        let mut values = self.values.clone();
        values.push(self.held.seqs().into());
        open.later(chain, values);
        self.ask_for_writes(open);
    }

    /// Builds the answer from the rows of the statements.
    pub(super) fn answer(&self, cache: &PayloadCache, found: Vec<Vec<Row>>) -> Result<Answer> {
        let [row, chain, written] = <[Vec<Row>; 3]>::try_from(found).map_err(|_| Error::poisoned())?;
        let Some(row) = row.first() else { return Ok(self.none()) };
        let row = HeaderRow::read_with_sum(row)?;
        let payload = self.held.rebuild(cache, row.seq, Some(row.call), &chain);
        self.whole(row, payload, &written, cache.largest())
    }

    fn ask_for_writes(&self, open: &Transaction<'_>) {
        if self.tuple {
            open.later(self.statements[2], self.values.clone());
        } else {
            open.later("SELECT", Vec::new());
        }
    }

    fn none(&self) -> Answer {
        if self.tuple { Answer::Tuple(None) } else { Answer::Checkpoint(None) }
    }

    fn whole(&self, row: HeaderRow, payload: Result<CachedPayload>, written: &[Row], largest: usize) -> Result<Answer> {
        let checkpoint = whole(row.header, payload, row.logs.as_deref())?;
        if !self.tuple {
            return Ok(Answer::Checkpoint(Some(Box::new(checkpoint))));
        }
        let writes = writes::merged(self.contract, &checkpoint.header.id, written, largest)?;
        Ok(Answer::Tuple(Some(Box::new(Tuple { checkpoint, writes }))))
    }
}

/// Answers several reads in two round trips, from one snapshot. A payload that several others use is sent once.
pub(super) fn answer_all(session: &Session, cache: &PayloadCache, points: &[Point]) -> Result<Vec<Result<Answer>>> {
    let open = Transaction::read(session, true);
    for point in points {
        open.later(point.statements[0], point.values.clone());
        point.ask_for_writes(&open);
    }
    let found = open.flush()?;
    let mut found = found.into_iter().skip(1);
    let mut next = || found.next().unwrap_or_default();
    let read: Vec<(Option<Result<HeaderRow>>, Vec<Row>)> =
        points.iter().map(|_| (next().first().map(HeaderRow::read_with_sum), next())).collect();
    let wanted: Vec<&HeaderRow> = read.iter().filter_map(|(row, _)| row.as_ref()?.as_ref().ok()).collect();
    open.end_with_next();
    let mut payloads = payloads::load_all(&open, cache, &wanted)?.into_iter();
    let answer = |(point, (row, written)): (&Point, (Option<Result<HeaderRow>>, Vec<Row>))| {
        let Some(row) = row else { return Ok(point.none()) };
        let row = row?;
        let payload = payloads.next().unwrap_or_else(|| Err(Error::poisoned()));
        point.whole(row, payload, &written, cache.largest())
    };
    Ok(points.iter().zip(read).map(answer).collect())
}
