//! The rows of lineages.

use tokio_postgres::Row;

use super::key::number;
use super::prefix::begins_with;
use super::transaction::Transaction;
use super::value::values;
use super::{labels, row, status};
use crate::backend::number::unsigned;
use crate::error::Result;
use crate::record::{ContractId, Header, Labels, Status};

#[derive(Clone, Debug)]
pub(super) struct LineageRow {
    /// The number of the lineage. This number is also the lineage's position in listings.
    pub(super) lin: i64,
    pub(super) contract: ContractId,
    pub(super) name: String,
    /// The byte offset in a sort key at which the age begins.
    pub(super) age_offset: u8,
    /// The origin of a fork: the id of a checkpoint of another lineage, and the number of that lineage.
    pub(super) origin: Option<(String, i64)>,
    pub(super) status: Status,
}

/// The columns that [`LineageRow::read`] reads, in this order, from `lineage AS l`.
macro_rules! columns {
    () => {
        "l.lin, l.contract, l.name, l.age_offset, l.origin, l.origin_lin, l.status"
    };
}
pub(super) use columns;

impl LineageRow {
    /// Reads a row. `first` is the index of the first column.
    pub(super) fn read(row: &Row, first: usize) -> Result<Self> {
        Ok(Self {
            lin: row.get(first),
            contract: row::contract(row, first + 1)?,
            name: row::text(row, first + 2)?,
            age_offset: u8::try_from(row.get::<_, i16>(first + 3)).unwrap_or(u8::MAX),
            origin: row::opt_text(row, first + 4)?.zip(row.get(first + 5)),
            status: status::read(row, first + 6),
        })
    }
}

pub(super) fn find(open: &Transaction<'_>, contract: ContractId, name: &str) -> Result<Option<LineageRow>> {
    const SQL: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM @lineage AS l WHERE contract = $1 AND substr(sha256(name), 1, 16) = substr(sha256($2), 1, 16) AND name = $2"
    );
    open.one(SQL, values![number(contract), name])?.map(|row| LineageRow::read(&row, 0)).transpose()
}

pub(super) fn read(open: &Transaction<'_>, lin: i64) -> Result<Option<LineageRow>> {
    const SQL: &str = concat!("SELECT ", columns!(), " FROM @lineage AS l WHERE lin = $1");
    open.one(SQL, values![lin])?.map(|row| LineageRow::read(&row, 0)).transpose()
}

pub(super) fn count(open: &Transaction<'_>, lin: i64) -> Result<u64> {
    let found = open.one("SELECT count(*) FROM @checkpoint WHERE lin = $1", values![lin])?;
    Ok(found.map_or(0, |row| unsigned(row.get(0))))
}

/// The lineages whose names begin with the prefix, in the order of their numbers.
pub(super) fn with_prefix(open: &Transaction<'_>, contract: ContractId, prefix: &str) -> Result<Vec<LineageRow>> {
    const SQL: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM @lineage AS l WHERE contract = $1 AND ",
        begins_with!("name", "$2"),
        " ORDER BY lin"
    );
    open.query(SQL, values![number(contract), prefix])?.iter().map(|row| LineageRow::read(row, 0)).collect()
}

/// Sets the properties that a lineage takes from its first checkpoint.
pub(super) fn describe(
    open: &Transaction<'_>,
    lin: i64,
    header: &Header,
    origin: Option<(String, i64)>,
    labels: &Labels,
) {
    let (origin, origin_lin) = origin.unzip();
    open.later(
        "UPDATE @lineage SET grp = $2, age_offset = $3, origin = $4, origin_lin = $5, labels = $6 WHERE lin = $1",
        values![
            lin,
            &header.group,
            i16::from(header.age_offset),
            origin.as_deref(),
            origin_lin,
            labels::column(labels)
        ],
    );
}

/// Removes the lineages that have neither checkpoints nor logs.
pub(super) fn end_empty(open: &Transaction<'_>, lins: &[i64]) {
    open.later(
        "DELETE FROM @lineage AS l WHERE l.lin = ANY($1)
           AND NOT EXISTS (SELECT 1 FROM @checkpoint AS c WHERE c.lin = l.lin)
           AND NOT EXISTS (SELECT 1 FROM @log AS o WHERE o.lin = l.lin)",
        values![lins.to_vec()],
    );
}
