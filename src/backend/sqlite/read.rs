//! Queries as statements. Ids are bound, never spliced; each statement walks one index, newest first.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::error::from_sqlite;
use super::payloads;
use super::retention::{self, Shelf};
use super::writes;
use crate::backend::ancestors;
use crate::codec::frame;
use crate::codec::heads::SharedHeads;
use crate::error::Result;
use crate::query::{Answer, Of, Pick, Query};
use crate::record::{Checkpoint, Header, Lineage, Rank, Seq, Space, Tuple};
use crate::retention::preview;

/// What [`header`] reads, in its order; a query may select more behind it, from the tenth column on.
macro_rules! header_columns {
    () => {
        "space, name, id, parent, checkpoint.grp, label, rank, meta, saved_at"
    };
}

pub(super) fn answer(connection: &Connection, heads: &SharedHeads, query: &Query) -> Result<Answer> {
    match query {
        Query::Get { space, id } => get(connection, heads, *space, id).map(Answer::Checkpoint),
        Query::Newest { space, lineage, label } => {
            newest(connection, heads, *space, lineage, label.as_deref()).map(Answer::Checkpoint)
        }
        Query::Tuple { space, pick } => tuple(connection, heads, *space, pick).map(Answer::Tuple),
        Query::Ancestors(asked) => {
            let snapshot = connection.unchecked_transaction().map_err(from_sqlite)?;
            let get = |id: &str| tuple_of(&snapshot, asked.space, get(&snapshot, heads, asked.space, id)?);
            ancestors::walk(asked, get).map(Answer::Tuples)
        }
        Query::List { space, of, before, limit } => {
            list(connection, *space, of, before.as_ref(), *limit).map(Answer::Headers).map_err(from_sqlite)
        }
        Query::Whole { space, of, prefix } => whole(connection, *space, of, prefix).map(Answer::Checkpoints),
        Query::Lineages { space, group_prefix, before, limit } => {
            lineages(connection, *space, group_prefix, *before, *limit).map(Answer::Lineages).map_err(from_sqlite)
        }
        Query::Stats { space, largest } => {
            retention::stats(connection, *space, *largest).map(Answer::Stats).map_err(from_sqlite)
        }
        Query::Prunable { space, rules } => {
            let snapshot = connection.unchecked_transaction().map_err(from_sqlite)?;
            preview(&Shelf(&snapshot), *space, rules).map(Answer::Pruned)
        }
    }
}

// CROSS JOIN keeps the order of the tables: SQLite must not begin with the lineages.

fn get(connection: &Connection, heads: &SharedHeads, space: Space, id: &str) -> Result<Option<Box<Checkpoint>>> {
    let sql = concat!(
        "SELECT ",
        header_columns!(),
        ", seq FROM checkpoint CROSS JOIN lineage USING (lin) WHERE id = ? AND space = ?"
    );
    one(connection, heads, sql, params![id, space.0])
}

fn newest(
    connection: &Connection,
    heads: &SharedHeads,
    space: Space,
    lineage: &str,
    label: Option<&str>,
) -> Result<Option<Box<Checkpoint>>> {
    let Some(label) = label else {
        let sql = concat!(
            "SELECT ",
            header_columns!(),
            ", seq FROM lineage CROSS JOIN checkpoint USING (lin)
             WHERE space = ? AND name = ? ORDER BY rank DESC, seq DESC LIMIT 1"
        );
        return one(connection, heads, sql, params![space.0, lineage]);
    };
    // Not empty: the index leaves out what has no label, and so must the question.
    let sql = concat!(
        "SELECT ",
        header_columns!(),
        ", seq FROM lineage CROSS JOIN checkpoint USING (lin)
         WHERE space = ? AND name = ? AND label = ? AND label <> '' ORDER BY rank DESC, seq DESC LIMIT 1"
    );
    one(connection, heads, sql, params![space.0, lineage, label])
}

fn tuple(connection: &Connection, heads: &SharedHeads, space: Space, pick: &Pick) -> Result<Option<Box<Tuple>>> {
    let snapshot = connection.unchecked_transaction().map_err(from_sqlite)?;
    let checkpoint = match pick {
        Pick::Id(id) => get(&snapshot, heads, space, id)?,
        Pick::Newest(lineage) => newest(&snapshot, heads, space, lineage, None)?,
    };
    Ok(tuple_of(&snapshot, space, checkpoint)?.map(Box::new))
}

/// With what was written to it.
fn tuple_of(snapshot: &Connection, space: Space, checkpoint: Option<Box<Checkpoint>>) -> Result<Option<Tuple>> {
    let Some(checkpoint) = checkpoint else { return Ok(None) };
    let writes = writes::of(snapshot, space, &checkpoint.header.id)?;
    Ok(Some(Tuple { checkpoint: *checkpoint, writes }))
}

fn one(
    connection: &Connection,
    heads: &SharedHeads,
    sql: &str,
    params: impl Params,
) -> Result<Option<Box<Checkpoint>>> {
    // One snapshot for the row and its payload's chain, unless the caller has one.
    let own =
        connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose().map_err(from_sqlite)?;
    let snapshot = own.as_deref().unwrap_or(connection);
    let found = snapshot
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.query_row(params, |row| Ok((header(row)?, row.get::<_, Seq>(9)?))).optional()
        })
        .map_err(from_sqlite)?;
    let Some((header, seq)) = found else { return Ok(None) };
    checkpoint(snapshot, heads, header, seq).map(Box::new).map(Some)
}

/// With its payload. In the snapshot that the header is of.
fn checkpoint(connection: &Connection, heads: &SharedHeads, header: Header, seq: Seq) -> Result<Checkpoint> {
    let payload = payloads::load(connection, heads, seq)
        .and_then(|head| frame::split(&head.raw))
        .map_err(|error| error.context(&format!("checkpoint {:?}", header.id)))?;
    Ok(Checkpoint { header, payload })
}

fn whole(connection: &Connection, space: Space, of: &Of, prefix: &[u8]) -> Result<Vec<Checkpoint>> {
    let snapshot = connection.unchecked_transaction().map_err(from_sqlite)?;
    // A payload is most often the difference to the one before. They are in the answer, so keeping them takes no memory.
    let heads = SharedHeads::new(usize::MAX);
    let headers = whole_headers(&snapshot, space, of, prefix).map_err(from_sqlite)?;
    headers.into_iter().map(|(header, seq)| checkpoint(&snapshot, &heads, header, seq)).collect()
}

/// The rows that a listing is about, each with its number, by one index. `?1` to `?3` are the space, the lineage and the group;
/// what follows says `?4` and `?5`.
fn rows_of(of: &Of, follows: &str) -> String {
    let from = match of {
        Of::Space => "checkpoint CROSS JOIN lineage USING (lin) WHERE space = ?1",
        Of::Lineage(_) => "lineage CROSS JOIN checkpoint USING (lin) WHERE space = ?1 AND name = ?2",
        Of::Group(_) => {
            "checkpoint CROSS JOIN lineage USING (lin)
             WHERE checkpoint.grp = ?3 AND checkpoint.grp <> '' AND space = ?1"
        }
        Of::LineageInGroup { .. } => {
            "lineage CROSS JOIN checkpoint USING (lin)
             WHERE space = ?1 AND name = ?2 AND checkpoint.grp = ?3 AND checkpoint.grp <> ''"
        }
    };
    format!("SELECT {}, seq FROM {from} AND {follows}", header_columns!())
}

fn names(of: &Of) -> (Option<&str>, Option<&str>) {
    match of {
        Of::Space => (None, None),
        Of::Lineage(lineage) => (Some(lineage), None),
        Of::Group(group) => (None, Some(group)),
        Of::LineageInGroup { lineage, group } => (Some(lineage), Some(group)),
    }
}

fn list(
    connection: &Connection,
    space: Space,
    of: &Of,
    before: Option<&Rank>,
    limit: Option<usize>,
) -> rusqlite::Result<Vec<Header>> {
    let end = if before.is_some() { "rank < ?4" } else { "?4 IS NULL" };
    let sql = rows_of(of, &format!("{end} ORDER BY rank DESC, seq DESC LIMIT ?5"));
    // A negative LIMIT is none.
    let limit = limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let (lineage, group) = names(of);
    let params = params![space.0, lineage, group, before.map(|rank| &rank.0), limit];
    connection.prepare_cached(&sql)?.query_map(params, header)?.collect()
}

fn whole_headers(snapshot: &Connection, space: Space, of: &Of, prefix: &[u8]) -> rusqlite::Result<Vec<(Header, Seq)>> {
    let (lineage, group) = names(of);
    let mut statement = snapshot.prepare_cached(&rows_of(of, "rank >= ?4 ORDER BY rank, seq"))?;
    let mut rows = statement.query(params![space.0, lineage, group, prefix])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let header = header(row)?;
        // Ranks with a prefix stand together: behind the last of them there is no other.
        if !header.rank.0.starts_with(prefix) {
            break;
        }
        found.push((header, row.get(9)?));
    }
    Ok(found)
}

fn lineages(
    connection: &Connection,
    space: Space,
    group_prefix: &str,
    before: Option<i64>,
    limit: usize,
) -> rusqlite::Result<Vec<Lineage>> {
    // One snapshot for the walk and the look-ups in it.
    let snapshot = connection.unchecked_transaction()?;
    let mut walk =
        snapshot.prepare_cached("SELECT lin, grp FROM lineage WHERE lin < ? AND space = ? ORDER BY lin DESC")?;
    let mut newest = snapshot.prepare_cached(concat!(
        "SELECT ",
        header_columns!(),
        " FROM lineage CROSS JOIN checkpoint USING (lin)
         WHERE lin = ? ORDER BY rank DESC, seq DESC LIMIT 1"
    ))?;
    let mut count = snapshot.prepare_cached("SELECT count(*) FROM checkpoint WHERE lin = ?")?;
    let mut rows = walk.query(params![before.unwrap_or(i64::MAX), space.0])?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        // Here and not in SQL, where a prefix is a pattern or a function that stops at NUL.
        if !row.get_ref(1)?.as_bytes()?.starts_with(group_prefix.as_bytes()) {
            continue;
        }
        let position: i64 = row.get(0)?;
        found.push(Lineage {
            position,
            checkpoints: u64::try_from(count.query_row([position], |row| row.get::<_, i64>(0))?).unwrap_or(0),
            newest: newest.query_row([position], header)?,
        });
    }
    Ok(found)
}

fn header(row: &Row<'_>) -> rusqlite::Result<Header> {
    Ok(Header {
        space: Space(row.get(0)?),
        lineage: row.get(1)?,
        id: row.get(2)?,
        parent: row.get(3)?,
        group: row.get(4)?,
        label: row.get(5)?,
        rank: Rank(row.get(6)?),
        meta: row.get(7)?,
        saved_at: row.get(8)?,
    })
}
