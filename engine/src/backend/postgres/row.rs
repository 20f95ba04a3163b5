//! Finds, reads and verifies the rows of checkpoints.

use tokio_postgres::Row;

use super::key::number;
use super::transaction::Transaction;
use super::value::{Value, values};
use crate::backend::header::{DEPENDS_ON_PARENT, EXEMPT, flags_and_sum, status_in};
use crate::codec::envelope;
use crate::error::{Code, Error, Result};
use crate::names;
use crate::record::{ContractId, Header, PayloadKey, Seq, SortKey};

/// The columns that [`HeaderRow::read`] reads, in this order, from `checkpoint AS c` and `lineage AS l`.
macro_rules! columns {
    () => {
        "c.seq, c.lin, c.contract, c.call, c.saved_at, c.flags, c.sum, c.id, c.parent, c.grp, c.label, c.sort_key, c.meta, c.logs, \
         l.name, CASE l.contract WHEN c.contract THEN l.age_offset END"
    };
}
pub(super) use columns;

/// The columns that [`HeaderRow::read_with_sum`] reads, in this order, from `checkpoint AS c` and `lineage AS l`.
macro_rules! columns_with_sum {
    () => {
        concat!(
            $crate::backend::postgres::row::columns!(),
            ", (SELECT substr(y.body, 1, 9) FROM @payload AS y WHERE y.seq = c.seq)"
        )
    };
}
pub(super) use columns_with_sum;

/// A verified checkpoint row without its payload.
#[derive(Clone, Debug)]
pub(super) struct HeaderRow {
    pub(super) seq: Seq,
    pub(super) lin: i64,
    /// A random number, equal in the checkpoint's row and in its payload's row.
    pub(super) call: i64,
    pub(super) header: Header,
    /// The content of the column `logs`.
    pub(super) logs: Option<Vec<u8>>,
    /// The checksum of the payload, if the statement has read it.
    pub(super) sum: Option<u64>,
}

/// The checksum of a payload, from a column with the first bytes of the payload's body.
pub(super) fn sum(row: &Row, column: usize) -> Option<u64> {
    row.get::<_, Option<&[u8]>>(column).and_then(envelope::sum)
}

pub(super) fn text(row: &Row, column: usize) -> Result<String> {
    String::from_utf8(row.get::<_, Vec<u8>>(column)).map_err(|_| not_text())
}

pub(super) fn opt_text(row: &Row, column: usize) -> Result<Option<String>> {
    row.get::<_, Option<Vec<u8>>>(column).map(String::from_utf8).transpose().map_err(|_| not_text())
}

fn not_text() -> Error {
    Error::new(Code::Corrupt, "a stored name is not UTF-8: restore the database from a backup")
}

pub(super) fn contract(row: &Row, column: usize) -> Result<ContractId> {
    let number: i16 = row.get(column);
    u8::try_from(number).map(ContractId).map_err(|_| {
        Error::new(Code::Corrupt, format!("{number} is not a known framework: restore the database from a backup"))
    })
}

impl HeaderRow {
    /// Reads and verifies a row that has the columns of [`columns`].
    pub(super) fn read(row: &Row) -> Result<Self> {
        let seq: Seq = row.get(0);
        if row.get::<_, Option<&[u8]>>(14).is_none() {
            let message =
                format!("checkpoint row {seq}: the row of its run is missing: restore the database from a backup");
            return Err(Error::new(Code::Corrupt, message));
        }
        let Some(age_offset) = row.get::<_, Option<i16>>(15) else {
            let message = format!(
                "checkpoint row {seq}: its run belongs to another framework: restore the database from a backup"
            );
            return Err(Error::new(Code::Corrupt, message));
        };
        let flags: i16 = row.get(5);
        let header = Header {
            contract: contract(row, 2)?,
            lineage: text(row, 14)?,
            id: text(row, 7)?,
            parent: opt_text(row, 8)?,
            group: text(row, 9)?,
            label: text(row, 10)?,
            sort_key: SortKey(row.get(11)),
            saved_at: row.get(4),
            age_offset: u8::try_from(age_offset).unwrap_or(u8::MAX),
            depends_on_parent: flags & DEPENDS_ON_PARENT != 0,
            exempt: flags & EXEMPT != 0,
            status: status_in(flags),
            meta: row.get(12),
        };
        let (call, logs): (i64, Option<Vec<u8>>) = (row.get(3), row.get(13));
        if flags_and_sum(call, &header, logs.as_deref()) != (flags, row.get(6)) {
            let message = format!(
                "{}: its row {seq} does not match its checksum: restore the database from a backup",
                names::checkpoint(header.contract, &header.id)
            );
            return Err(Error::new(Code::Corrupt, message));
        }
        Ok(Self { seq, lin: row.get(1), call, header, logs, sum: None })
    }

    /// Reads and verifies a row that has the columns of [`columns_with_sum`].
    pub(super) fn read_with_sum(row: &Row) -> Result<Self> {
        Ok(Self { sum: sum(row, 16), ..Self::read(row)? })
    }

    /// The key of the payload, if its checksum was read.
    pub(super) fn key(&self) -> Option<PayloadKey> {
        self.sum.map(|sum| PayloadKey { seq: self.seq, sum })
    }
}

/// Selects the checkpoint with the id `$2` of the contract `$1`.
macro_rules! select_by_id {
    ($($columns:tt)*) => {
        concat!(
            "SELECT ",
            $($columns)*,
            " FROM @checkpoint AS c LEFT JOIN @lineage AS l USING (lin)
             WHERE c.contract = $1 AND substr(sha256(c.id), 1, 16) = substr(sha256($2), 1, 16) AND c.id = $2"
        )
    };
}
pub(super) use select_by_id;

/// Selects the newest checkpoint of the lineage `$2` of the contract `$1` for which the condition is true.
macro_rules! select_newest {
    ($columns:expr $(, $condition:literal)?) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM @lineage AS l JOIN @checkpoint AS c USING (lin)
             WHERE l.contract = $1 AND substr(sha256(l.name), 1, 16) = substr(sha256($2), 1, 16) AND l.name = $2",
            $($condition,)?
            " ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT 1"
        )
    };
}
pub(super) use select_newest;

/// Selects the newest checkpoint with the label `$3` of the lineage `$2` of the contract `$1`.
macro_rules! select_labelled {
    ($columns:expr) => {
        $crate::backend::postgres::row::select_newest!(
            $columns,
            " AND substr(sha256(c.label), 1, 16) = substr(sha256($3), 1, 16) AND c.label = $3 AND c.label <> ''"
        )
    };
}
pub(super) use select_labelled;

/// The row of the checkpoint with this id.
pub(super) fn by_id(open: &Transaction<'_>, contract: ContractId, id: &str) -> Result<Option<HeaderRow>> {
    let found = open.one(select_by_id!(columns_with_sum!()), values![number(contract), id])?;
    found.as_ref().map(HeaderRow::read_with_sum).transpose()
}

/// The row with this save number.
pub(super) fn by_seq(open: &Transaction<'_>, seq: Seq) -> Result<Option<HeaderRow>> {
    const SQL: &str =
        concat!("SELECT ", columns!(), " FROM @checkpoint AS c LEFT JOIN @lineage AS l USING (lin) WHERE c.seq = $1");
    open.one(SQL, values![seq])?.as_ref().map(HeaderRow::read).transpose()
}

/// Sets the save time of a checkpoint to a later time.
pub(super) fn touch(open: &Transaction<'_>, mut row: HeaderRow, saved_at: i64) {
    if row.header.saved_at < saved_at {
        row.header.saved_at = saved_at;
        let (_, sum) = flags_and_sum(row.call, &row.header, row.logs.as_deref());
        open.later("UPDATE @checkpoint SET saved_at = $1, sum = $2 WHERE seq = $3", values![saved_at, sum, row.seq]);
    }
}

pub(super) fn numbers(rows: &[Row]) -> Vec<i64> {
    rows.iter().map(|row| row.get(0)).collect()
}

/// Converts a limit to a parameter. No limit becomes null.
pub(super) fn limit(most: usize) -> Value {
    i64::try_from(most).ok().filter(|most| *most < i64::MAX).into()
}
