//! Reads, finds, inserts and removes the rows of the table `lineage`.

use std::ops::Range;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::schema::LateIndex;
use super::statement::{all, execute, first, one};
use super::{labels, setting, statement, status};
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Header, Labels, Status};

/// A row of the table `lineage`. Only its status and labels are updated; [`describe`] deletes and inserts the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineageRow {
    /// The number of the lineage. This number is also the lineage's position in listings.
    pub lin: i64,
    pub contract: ContractId,
    pub name: String,
    /// The group of the lineage's first checkpoint.
    pub group: String,
    /// The byte offset in a sort key at which the age begins.
    pub age_offset: u8,
    /// The checkpoint of another lineage that the lineage was forked from.
    pub origin: Option<Origin>,
    pub status: Status,
    /// The content of the column with the labels.
    pub sealed_labels: Option<Vec<u8>>,
}

/// The checkpoint that a lineage was forked from: its id and the number of its lineage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub id: String,
    pub lin: i64,
}

impl LineageRow {
    /// The row of a lineage, from the header of its first checkpoint.
    fn new(lin: i64, header: &Header, origin: Option<Origin>, labels: &Labels) -> Self {
        let Header { contract, lineage, group, age_offset, status, .. } = header;
        let (name, group) = (lineage.clone(), group.clone());
        let (age_offset, status, sealed_labels) = (*age_offset, *status, labels::sealed(lin, labels));
        Self { lin, contract: *contract, name, group, age_offset, origin, status, sealed_labels }
    }

    fn sum(&self) -> i64 {
        let Self { lin, contract, name, group, age_offset, origin, status: _, sealed_labels: _ } = self;
        let sum = Sum::new().int(*lin).int(contract.0.into()).text(name).text(group).int((*age_offset).into());
        sum.opt_text(origin.as_ref().map(|origin| &*origin.id))
            .opt_int(origin.as_ref().map(|origin| origin.lin))
            .finish()
    }

    /// The labels, or `None` if they are damaged.
    pub(super) fn whole_labels(&self) -> Option<Labels> {
        labels::opened(self.lin, self.sealed_labels.as_deref())
    }

    pub(super) fn damaged_labels(&self) -> Error {
        let message = format!("run {:?}: its labels do not match their checksum: set its labels again", self.name);
        Error::new(Code::Corrupt, message)
    }

    /// The labels, or none if they are damaged.
    pub(super) fn labels(&self) -> Labels {
        self.whole_labels().unwrap_or_default()
    }
}

/// Selects the columns that [`verified`] reads. `from` has the table `lineage` as `l`.
macro_rules! select {
    ($from:literal) => {
        concat!(
            "SELECT l.lin, l.contract, l.name, l.grp, l.age_offset, l.origin, l.origin_lin, l.sum, l.status, l.labels FROM ",
            $from
        )
    };
}

/// Reads a row and verifies its checksum.
fn verified(connection: &Connection, row: &Row<'_>) -> Result<LineageRow> {
    let (lin, contract) = (row.get(0)?, ContractId(row.get(1)?));
    let (name, group, age_offset) = (row.get(2)?, row.get(3)?, row.get(4)?);
    let origin = row.get::<_, Option<String>>(5)?.zip(row.get(6)?).map(|(id, lin)| Origin { id, lin });
    let status = match status::opened(lin, row.get(8)?) {
        Some(status) => status,
        None => status::derived(connection, lin)?,
    };
    let lineage = LineageRow { lin, contract, name, group, age_offset, origin, status, sealed_labels: row.get(9)? };
    if lineage.sum() == row.get::<_, i64>(7)? {
        return Ok(lineage);
    }
    let message = format!("run {:?}: its row {lin} does not match its checksum: restore a backup", lineage.name);
    Err(Error::new(Code::Corrupt, message))
}

/// Reads the lineage with the number `lin` and verifies its checksum.
pub(super) fn read(connection: &Connection, lin: i64) -> Result<Option<LineageRow>> {
    let mut found = None;
    statement::until(connection, select!("lineage AS l WHERE l.lin = ?"), params![lin], |row| {
        found = Some(verified(connection, row)?);
        Ok(true)
    })?;
    Ok(found)
}

/// Finds a lineage by its name, in one statement, and verifies its row.
pub(super) fn find(connection: &Connection, contract: ContractId, name: &str) -> Result<Option<LineageRow>> {
    let sql = select!(
        "lineage AS i INDEXED BY lineage_name LEFT JOIN lineage AS l ON l.lin = i.lin WHERE i.contract = ? AND i.name = ?"
    );
    let mut found = None;
    statement::until(connection, sql, params![contract.0, name], |row| {
        let is_there = row.get_ref(0)? != ValueRef::Null;
        let lineage = if is_there { Some(verified(connection, row)?) } else { None };
        let lineage = lineage.filter(|row| row.contract == contract && row.name == name);
        found = Some(lineage.ok_or_else(|| {
            let message = format!("run {name:?}: the index of names leads to the wrong row: restore a backup");
            Error::new(Code::Corrupt, message)
        })?);
        Ok(true)
    })?;
    Ok(found)
}

/// Calls `walk` with the lineages of a contract that have these numbers and groups with this prefix, in descending
/// order, until it returns true. Returns true if it did.
pub(super) fn newest_first(
    connection: &Connection,
    contract: ContractId,
    numbers: Range<i64>,
    group_prefix: &str,
    walk: &mut impl FnMut(LineageRow) -> Result<bool>,
) -> Result<bool> {
    let sql = select!("lineage AS l NOT INDEXED WHERE l.lin >= ? AND l.lin < ? AND l.contract = ? ORDER BY l.lin DESC");
    let mut is_over = false;
    statement::until(connection, sql, params![numbers.start, numbers.end, contract.0], |row| {
        // Compare the prefix in Rust: SQL patterns have wildcards, and SQL text functions stop at a NUL.
        let is_wanted = row.get_ref(3)?.as_bytes()?.starts_with(group_prefix.as_bytes());
        is_over = is_wanted && walk(verified(connection, row)?)?;
        Ok(is_over)
    })?;
    Ok(is_over)
}

/// Finds the number of a lineage in the index of names. The row of the lineage is not read.
pub(super) fn indexed(connection: &Connection, contract: ContractId, name: &str) -> Result<Option<i64>> {
    let sql = "SELECT lin FROM lineage INDEXED BY lineage_name WHERE contract = ? AND name = ?";
    one(connection, sql, params![contract.0, name], first)
}

/// Returns the lineages whose names begin with `prefix`, ordered by name.
pub(super) fn with_prefix(connection: &Connection, contract: ContractId, prefix: &str) -> Result<Vec<LineageRow>> {
    let sql = "SELECT lin, name FROM lineage INDEXED BY lineage_name WHERE contract = ? AND name >= ? ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![contract.0, prefix])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        // Compare the prefix here, because SQL would treat it as a pattern. Names with the same prefix are adjacent in
        // this order.
        let (lin, name): (i64, String) = (row.get(0)?, row.get(1)?);
        if !name.starts_with(prefix) {
            break;
        }
        let Some(lineage) =
            read(connection, lin)?.filter(|lineage| (lineage.contract, &lineage.name) == (contract, &name))
        else {
            let message = format!("runs of {prefix:?}: the index of names leads to the wrong row: restore a backup");
            return Err(Error::new(Code::Corrupt, message));
        };
        found.push(lineage);
    }
    Ok(found)
}

/// The numbers of the lineages that were forked from the lineage `origin`, newest first.
pub(super) fn began_from(connection: &Connection, origin: i64) -> Result<Vec<i64>> {
    let sql = if LateIndex::Forks.exists(connection)? {
        "SELECT lin FROM lineage INDEXED BY lineage_origin WHERE origin_lin = ? ORDER BY lin DESC"
    } else {
        "SELECT lin FROM lineage NOT INDEXED WHERE origin_lin = ? ORDER BY lin DESC"
    };
    all(connection, sql, [origin], first)
}

/// Inserts a new lineage with the number `lin`, from the header of its first checkpoint.
pub(super) fn begin(
    connection: &Connection,
    lin: i64,
    header: &Header,
    origin: Option<Origin>,
    labels: &Labels,
) -> Result<LineageRow> {
    let row = insert(connection, LineageRow::new(lin, header, origin, labels))?;
    labels::index(connection, lin, labels)?;
    Ok(row)
}

/// Replaces the row of a lineage that had only logs, when its first checkpoint is saved. The new row has the
/// checkpoint's group, age offset and origin, and these labels.
pub(super) fn describe(
    connection: &Connection,
    before: &LineageRow,
    header: &Header,
    origin: Option<Origin>,
    labels: &Labels,
) -> Result<LineageRow> {
    let lin = before.lin;
    execute(connection, "DELETE FROM lineage WHERE lin = ?", [lin])?;
    labels::forget(connection, lin, before.sealed_labels.as_deref())?;
    let row = insert(connection, LineageRow::new(lin, header, origin, labels))?;
    labels::index(connection, lin, labels)?;
    Ok(row)
}

/// Inserts a new lineage with the number `lin` that has a log but no checkpoint yet.
pub(super) fn begin_with_log(
    connection: &Connection,
    lin: i64,
    contract: ContractId,
    name: &str,
) -> Result<LineageRow> {
    let name = name.to_owned();
    let (group, status, sealed_labels) = (String::new(), Status::Unknown, None);
    insert(connection, LineageRow { lin, contract, name, group, age_offset: 0, origin: None, status, sealed_labels })
}

/// Selects the greatest number of a lineage.
const LAST: &str = "SELECT coalesce(max(lin), 0) FROM lineage";

/// Returns the last lineage number that was used.
pub(super) fn last(connection: &Connection) -> Result<i64> {
    setting::last(connection, LAST, setting::LIN_FLOOR)
}

fn insert(connection: &Connection, row: LineageRow) -> Result<LineageRow> {
    let LineageRow { lin, contract, name, group, age_offset, origin, status, sealed_labels } = &row;
    let (id, origin_lin) = (origin.as_ref().map(|origin| &origin.id), origin.as_ref().map(|origin| origin.lin));
    let sql = "INSERT INTO lineage (lin, contract, name, grp, age_offset, origin, origin_lin, sum, status, labels)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let status_column = status::sealed(*lin, *status);
    let sum = row.sum();
    let values = params![lin, contract.0, name, group, age_offset, id, origin_lin, sum, status_column, sealed_labels];
    execute(connection, sql, values)?;
    Ok(row)
}

/// Removes the row of a lineage that has neither checkpoints nor logs. If it has the greatest number that was ever used,
/// stores this number as the floor, so that it is not reused. The floor never sinks.
pub(super) fn end(connection: &Connection, row: &LineageRow) -> Result<()> {
    let lin = row.lin;
    if lin == last(connection)? {
        setting::set_number(connection, setting::LIN_FLOOR, lin)?;
    }
    labels::forget(connection, lin, row.sealed_labels.as_deref())?;
    execute(connection, "DELETE FROM lineage WHERE lin = ?", [lin]).map(drop)
}
