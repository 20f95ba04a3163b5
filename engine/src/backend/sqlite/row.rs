//! Finds, reads and verifies the rows of checkpoints.
//!
//! An index only finds the number of a row. The row is then read by this number, its header's checksum is verified, and
//! it is compared with the query. A damaged index or row yields `CORRUPT`, never a wrong checkpoint.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row, params};
use xxhash_rust::xxh3::xxh3_64;

use super::ids::{StoredIds, id, restore};
use super::lineage::{self, LineageRow};
use super::statement::{all, each, execute, first, one};
use crate::backend::header::{DEPENDS_ON_PARENT, EXEMPT, flags_and_sum, status_in};
use crate::check::About;
use crate::error::{Code, Error, Result};
use crate::names;
use crate::record::{ContractId, Header, Seq, SortKey};

/// The columns that [`verified`] reads, in this order. A listing selects only these, because each further column costs
/// as much time as looking up the row.
macro_rules! columns {
    () => {
        "c.seq, c.lin, c.saved_at, c.flags, c.sum, c.id, c.parent, c.grp, c.label, c.sort_key, c.meta, c.logs"
    };
}

/// The columns for a statement that finds a single row: those of `columns!`, the hash of the id, and the columns of the
/// lineage.
macro_rules! columns_of_one {
    () => {
        concat!(columns!(), ", c.id_hash, l.contract, l.name, l.age_offset")
    };
}

/// A verified checkpoint row without its payload.
#[derive(Clone, Debug)]
pub(super) struct HeaderRow {
    pub seq: Seq,
    pub lin: i64,
    pub header: Header,
    /// The content of the column `logs`.
    pub logs: Option<Vec<u8>>,
}

/// Returns the hash of contract and id, which is the key of the index of ids.
pub(super) fn id_hash(contract: ContractId, id: &str) -> i64 {
    let mut short = [0; 128];
    let hash = match short.get_mut(..=id.len()) {
        Some(bytes) => {
            bytes[0] = contract.0;
            bytes[1..].copy_from_slice(id.as_bytes());
            xxh3_64(bytes)
        }
        None => xxh3_64(&[&[contract.0], id.as_bytes()].concat()),
    };
    hash.cast_signed()
}

/// The `CORRUPT` error for an index that does not agree with its table.
pub(super) fn index_damaged(what: &str) -> Error {
    let message = format!("{what}: an index leads to a different or missing row: restore a backup");
    Error::new(Code::Corrupt, message)
}

/// Reads and verifies the row `seq`.
pub(super) fn read(connection: &Connection, seq: Seq) -> Result<Option<HeaderRow>> {
    let from = concat!(
        "SELECT ",
        columns_of_one!(),
        " FROM checkpoint AS c LEFT JOIN lineage AS l ON l.lin = c.lin WHERE c.seq = ?"
    );
    Ok(found(connection, from, [seq])?.pop().flatten())
}

/// Reads and verifies the rows that a statement finds. It must select the columns of [`columns_of_one`]. An item is
/// `None` if an index entry leads to no row.
fn found(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<Option<HeaderRow>>> {
    all(connection, sql, params, |row| {
        if row.get_ref(0)? == ValueRef::Null {
            return Ok(None);
        }
        let lineage = match row.get::<_, Option<u8>>(13)? {
            Some(contract) => Some((ContractId(contract), row.get(14)?, row.get(15)?)),
            None => None,
        };
        verified(row, lineage, Some(row.get(12)?)).map(Some)
    })
}

/// Returns the newest row of a lineage, optionally with the label `label`. One statement looks up the lineage's name,
/// the newest index entry and the row.
pub(super) fn newest(
    connection: &Connection,
    contract: ContractId,
    name: &str,
    label: Option<&str>,
) -> Result<Option<HeaderRow>> {
    // An empty label means no label, so a lookup by an empty label finds nothing.
    let sql = concat!(
        "SELECT ",
        columns_of_one!(),
        " FROM lineage AS n INDEXED BY lineage_name
         CROSS JOIN checkpoint AS i INDEXED BY checkpoint_lineage ON i.lin = n.lin
         LEFT JOIN checkpoint AS c ON c.seq = i.seq LEFT JOIN lineage AS l ON l.lin = c.lin
         WHERE n.contract = ?1 AND n.name = ?2 AND (?3 IS NULL OR i.label = ?3 AND i.label <> '')
         ORDER BY i.sort_key DESC, i.seq DESC LIMIT 1"
    );
    let what = || names::run(contract, name);
    let rows = found(connection, sql, params![contract.0, name, label]).map_err(|error| error.context(&what()))?;
    let fits = |header: &Header| {
        (header.contract, &*header.lineage) == (contract, name) && label.is_none_or(|label| header.label == label)
    };
    match rows.into_iter().next() {
        None => Ok(None),
        Some(Some(row)) if fits(&row.header) => Ok(Some(row)),
        Some(_) => Err(index_damaged(&what())),
    }
}

/// Reads and verifies the rows to which an index leads, and adds them to `found` in the order of the index. `from` is
/// the statement that reads the index and selects `seq`, and `params` are its parameters.
pub(super) fn indexed_rows(
    connection: &Connection,
    from: &str,
    params: impl Params,
    found: &mut Vec<HeaderRow>,
) -> Result<()> {
    let sql = format!("SELECT {} FROM ({from}) AS i LEFT JOIN checkpoint AS c ON c.seq = i.seq", columns!());
    let mut lineages: HashMap<i64, Option<LineageRow>> = HashMap::new();
    each(connection, &sql, params, |row| {
        let lin: Option<i64> = row.get(1)?;
        let lineage = match lineages.entry(lin.ok_or_else(|| index_damaged("a listing"))?) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let read = lineage::read(connection, *new.key())?;
                new.insert(read)
            }
        };
        let lineage = lineage.as_ref().map(|lineage| (lineage.contract, lineage.name.clone(), lineage.age_offset));
        found.push(verified(row, lineage, None)?);
        Ok(())
    })
}

/// Reads a row, and verifies its lineage and its checksum. `lineage` has the header fields from the lineage's row. If
/// `hash` is given, verifies that it matches the column `id_hash`, which the checksum does not cover because the
/// contract and the id determine it.
fn verified(row: &Row<'_>, lineage: Option<(ContractId, String, u8)>, hash: Option<i64>) -> Result<HeaderRow> {
    let (seq, lin, flags, logs) = (row.get(0)?, row.get(1)?, row.get::<_, i64>(3)?, row.get::<_, Option<Vec<u8>>>(11)?);
    let (group, sort_key): (String, Vec<u8>) = (row.get(7)?, row.get(9)?);
    let (id, parent) = restore(flags, (row.get(5)?, row.get(6)?), &group, &sort_key);
    let Some((contract, lineage, age_offset)) = lineage else {
        let message = format!("checkpoint {id:?}: the row of its run is missing: restore a backup");
        return Err(Error::new(Code::Corrupt, message));
    };
    let header = Header {
        contract,
        lineage,
        id,
        parent,
        group,
        label: row.get(8)?,
        sort_key: SortKey(sort_key),
        saved_at: row.get(2)?,
        age_offset,
        depends_on_parent: flags & i64::from(DEPENDS_ON_PARENT) != 0,
        exempt: flags & i64::from(EXEMPT) != 0,
        status: i16::try_from(flags).map(status_in).unwrap_or_default(),
        meta: row.get(10)?,
    };
    let id = &header.id;
    let computed = flags_and_sum(seq, &header, logs.as_deref());
    if (i64::from(computed.0) | StoredIds::of(&header).flags, computed.1) != (flags, row.get(4)?)
        || hash.is_some_and(|hash| id_hash(contract, id) != hash)
    {
        let what = names::checkpoint(contract, id);
        let message = format!("{what}: its row {seq} does not match its checksum: restore a backup");
        return Err(Error::new(Code::Corrupt, message));
    }
    Ok(HeaderRow { seq, lin, header, logs })
}

/// Identifies a damaged row as far as possible: the contract and the lineage's name if the lineage's row is intact, and
/// the id if it matches its hash.
pub(super) fn claims(connection: &Connection, seq: Seq) -> About {
    let lineage = lineage_of(connection, seq).ok().flatten().and_then(|lin| lineage::read(connection, lin).ok()?);
    let contract = lineage.as_ref().map(|lineage| lineage.contract);
    let sql = concat!("SELECT ", id!("c"), ", id_hash FROM checkpoint AS c WHERE seq = ?");
    let id: Result<Option<(String, i64)>> = one(connection, sql, [seq], |row| Ok((row.get(0)?, row.get(1)?)));
    let is_whole = |(id, hash): &(String, i64)| contract.is_some_and(|contract| id_hash(contract, id) == *hash);
    let id = id.ok().flatten().filter(is_whole).map(|(id, _)| id);
    About { contract, lineage: lineage.map(|lineage| lineage.name), id }
}

/// Returns the save numbers in the index of ids for the hash of an id, newest first. Different ids may have the same
/// hash.
pub(super) fn indexed(connection: &Connection, contract: ContractId, id: &str) -> Result<Vec<Seq>> {
    let sql = "SELECT seq FROM checkpoint INDEXED BY checkpoint_id WHERE id_hash = ? ORDER BY seq DESC";
    all(connection, sql, [id_hash(contract, id)], first)
}

/// The verified row of the checkpoint with the id. One statement looks up the hash and the row.
pub(super) fn by_id(connection: &Connection, contract: ContractId, id: &str) -> Result<Option<HeaderRow>> {
    let sql = concat!(
        "SELECT ",
        columns_of_one!(),
        " FROM checkpoint AS i INDEXED BY checkpoint_id
         LEFT JOIN checkpoint AS c ON c.seq = i.seq LEFT JOIN lineage AS l ON l.lin = c.lin
         WHERE i.id_hash = ? ORDER BY i.seq DESC"
    );
    let what = || names::checkpoint(contract, id);
    let hash = id_hash(contract, id);
    for row in found(connection, sql, [hash]).map_err(|error| error.context(&what()))? {
        let row = row.ok_or_else(|| index_damaged(&what()))?;
        if (row.header.contract, &*row.header.id) == (contract, id) {
            return Ok(Some(row));
        }
        // Skip a row with another id but the same hash. If the row has another hash, the index is damaged.
        if id_hash(row.header.contract, &row.header.id) != hash {
            return Err(index_damaged(&what()));
        }
    }
    Ok(None)
}

/// Sets the save time of a checkpoint to a later time.
pub(super) fn touch(connection: &Connection, contract: ContractId, id: &str, saved_at: i64) -> Result<()> {
    let Some(mut row) = by_id(connection, contract, id)? else { return Ok(()) };
    if row.header.saved_at >= saved_at {
        return Ok(());
    }
    row.header.saved_at = saved_at;
    let (_, sum) = flags_and_sum(row.seq, &row.header, row.logs.as_deref());
    let sql = "UPDATE checkpoint SET saved_at = ?, sum = ? WHERE seq = ?";
    execute(connection, sql, params![saved_at, sum, row.seq]).map(drop)
}

/// Returns the save numbers of damaged rows that can still be identified as this checkpoint. They cannot be read, but
/// removed.
pub(super) fn damaged_by_id(connection: &Connection, contract: ContractId, id: &str) -> Result<Vec<Seq>> {
    let mut found = indexed(connection, contract, id)?;
    found.retain(|seq| {
        let claims = claims(connection, *seq);
        claims.contract == Some(contract) && claims.id.as_deref() == Some(id)
    });
    Ok(found)
}

/// Returns the number of a row's lineage. The row is not verified.
pub(super) fn lineage_of(connection: &Connection, seq: Seq) -> Result<Option<i64>> {
    one(connection, "SELECT lin FROM checkpoint WHERE seq = ?", [seq], first)
}
