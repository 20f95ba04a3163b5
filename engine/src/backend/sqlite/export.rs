//! Reads the entire database, page by page.

use rusqlite::{Connection, params};

use super::lineage::{self, Origin as OriginRow};
use super::row::{self, index_damaged};
use super::statement::all;
use super::{payloads, writes as pending};
use crate::backend::number::signed;
use crate::cache::PayloadCache;
use crate::error::Result;
use crate::record::{ContractId, FirstCheckpoint, Labels, Origin, Saved, Seq, Start, Written};

pub(super) fn saves(
    connection: &Connection,
    cache: &PayloadCache,
    after: Option<Seq>,
    bytes: usize,
) -> Result<Vec<Saved>> {
    // Many payloads of a page are deltas against payloads of the same page. A separate cache leaves the store's cache
    // to the store's saves.
    let cache = cache.separate(usize::MAX);
    let sql = "SELECT seq FROM checkpoint NOT INDEXED WHERE seq > ? ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([after.unwrap_or(Seq::MIN)])?;
    let (mut found, mut size) = (Vec::new(), 0);
    while size < bytes.max(1)
        && let Some(row) = rows.next()?
    {
        let seq = row.get(0)?;
        let row = row::read(connection, seq)?.ok_or_else(|| index_damaged("a page of checkpoints"))?;
        let saved = Saved { seq, lineage: row.lin, checkpoint: payloads::checkpoint(connection, &cache, row)? };
        size += saved.weight();
        found.push(saved);
    }
    Ok(found)
}

pub(super) fn starts(connection: &Connection, after: Option<i64>, limit: usize) -> Result<Vec<Start>> {
    let sql =
        "SELECT lin, EXISTS (SELECT 1 FROM checkpoint INDEXED BY checkpoint_lineage WHERE checkpoint.lin = lineage.lin)
               FROM lineage NOT INDEXED WHERE lin > ? ORDER BY lin LIMIT ?";
    all(connection, sql, params![after.unwrap_or(i64::MIN), signed(limit as u64)], |row| {
        let (lin, has_checkpoints) = (row.get(0)?, row.get(1)?);
        let row = lineage::read(connection, lin)?.ok_or_else(|| index_damaged(&format!("run number {lin}")))?;
        let origin = match row.origin.as_ref().filter(|_| has_checkpoints) {
            Some(OriginRow { id, lin }) => {
                let lineage = lineage::read(connection, *lin)?.map(|row| row.name);
                Some(Origin { id: id.clone(), position: *lin, lineage })
            }
            None => None,
        };
        let labels =
            if has_checkpoints { row.whole_labels().ok_or_else(|| row.damaged_labels())? } else { Labels::default() };
        let first = FirstCheckpoint { group: row.group, age_offset: row.age_offset, origin };
        let first = has_checkpoints.then_some(first);
        Ok(Start { position: lin, contract: row.contract, name: row.name, first, labels })
    })
}

/// Opens no row of more than `largest` bytes.
pub(super) fn writes(
    connection: &Connection,
    after: Option<&(ContractId, String)>,
    bytes: usize,
    largest: usize,
) -> Result<Vec<Written>> {
    let sql = "SELECT DISTINCT contract, id FROM write INDEXED BY write_id WHERE (contract, id) > (?, ?)
               ORDER BY contract, id";
    let (contract, id) = after.map_or((-1, ""), |(contract, id)| (i64::from(contract.0), id));
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![contract, id])?;
    let (mut found, mut size) = (Vec::new(), 0);
    while size < bytes.max(1)
        && let Some(row) = rows.next()?
    {
        let (contract, id) = (ContractId(row.get(0)?), row.get::<_, String>(1)?);
        let writes = pending::of(connection, contract, &id, largest)?;
        let written = Written { contract, id, writes };
        size += written.weight();
        found.push(written);
    }
    Ok(found)
}
