//! Payloads in rows: whole, or as the difference to the payload of another row.
//!
//! A delta names its base by save number. What was saved under a number never changes (a rewrite as a keyframe holds the same
//! bytes), so a base that exists is the base that the delta was made against, whichever process did what in between. A
//! base that is removed leaves its direct dependants as keyframes, in the same transaction.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, params};

use super::error::from_sqlite;
use super::retention::Shelf;
use crate::codec::heads::{Head, Kept, Line, SharedHeads};
use crate::codec::{delta, envelope};
use crate::error::{Code, Error, Result};
use crate::record::{Header, Prepared, Seq};
use crate::retention::Catalog;

/// Below this many bytes a delta saves less than it costs.
const WORTH_A_DELTA: usize = 1024;
/// A reader applies no more deltas than this.
const MAX_DEPTH: i64 = 256;
/// Of so many bytes, it is remembered whose newest payload one is: the next of that lineage may be prepared.
const WORTH_A_LINE: usize = 64 << 10;

/// A payload to store.
pub(super) struct New<'a> {
    pub(super) seq: Seq,
    pub(super) header: &'a Header,
    pub(super) raw: Bytes,
    /// What was made of it ahead of its turn.
    pub(super) prepared: Option<&'a Prepared>,
    /// The payload that it is likely to resemble; it must exist.
    pub(super) base: Option<Seq>,
    /// The payload that is less likely to be asked for, now that there is this one.
    pub(super) supersedes: Option<Seq>,
}

/// The payloads of a transaction under way.
pub(super) struct Payloads<'a> {
    connection: &'a Connection,
    heads: &'a SharedHeads,
    /// What this transaction has written: nobody else may see it yet.
    written: BTreeMap<Seq, Kept>,
}

impl<'a> Payloads<'a> {
    pub(super) fn new(connection: &'a Connection, heads: &'a SharedHeads) -> Self {
        Self { connection, heads, written: BTreeMap::new() }
    }

    pub(super) fn store(&mut self, new: New) -> Result<()> {
        let New { seq, header, raw, prepared, base, supersedes } = new;
        let (delta, fruitless) = match base {
            Some(base) if raw.len() >= WORTH_A_DELTA => self.delta(&raw, base, prepared)?,
            _ => (None, 0),
        };
        let row = match (delta, prepared) {
            (Some(row), _) => row,
            (None, Some(Prepared { is_delta: false, body, .. })) => Row::whole(body.clone()),
            (None, _) => Row::whole(envelope::seal(&raw).into()),
        };
        self.execute(
            "INSERT INTO payload (seq, base, depth, room, size, body) VALUES (?, ?, ?, ?, ?, ?)",
            params![seq, row.base, row.depth, row.room, number(raw.len() as u64), &row.body[..]],
        )?;
        let line = (raw.len() >= WORTH_A_LINE).then(|| {
            let line = Line { seq, id: header.id.clone(), depth: row.depth, room: row.room };
            ((header.space, header.lineage.clone()), line)
        });
        self.written.insert(seq, Kept { seq, head: Head { raw, fruitless }, replaces: supersedes, line });
        Ok(())
    }

    /// The row of a delta against that base, if one is worth it, and how often in a row it has been in vain to look for one.
    fn delta(&self, raw: &[u8], base: Seq, prepared: Option<&Prepared>) -> Result<(Option<Row>, u32)> {
        let found = self
            .connection
            .prepare_cached("SELECT depth, room FROM payload WHERE seq = ?")
            .and_then(|mut statement| {
                statement.query_row([base], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).optional()
            })
            .map_err(from_sqlite)?;
        let Some((depth, room)) = found.filter(|(depth, room)| takes_more(*depth, *room)) else {
            return Ok((None, 0));
        };
        let (body, fruitless) = match prepared.filter(|prepared| prepared.base == Some(base)) {
            Some(Prepared { is_delta, body, fruitless, .. }) => (is_delta.then(|| body.clone()), *fruitless),
            None => match self.load(base) {
                Ok(head) => difference(&head, raw),
                // A base that is damaged must not keep new checkpoints from being saved.
                Err(error) if error.code() == Code::Corrupt => (None, 0),
                Err(error) => return Err(error),
            },
        };
        let row = body.map(|body| Row { base: Some(base), depth: depth + 1, room: room - length(&body), body });
        Ok((row.filter(|row| row.room >= 0), fruitless))
    }

    /// Removes payloads, and tells by how many bytes the others and they take less. Only what stays is written anew: a base
    /// and its dependant that go together cost no keyframe.
    pub(super) fn remove(&mut self, victims: &[Seq]) -> Result<i64> {
        let going: HashSet<Seq> = victims.iter().copied().collect();
        let rows = Shelf(self.connection);
        let mut freed = 0;
        for (dependant, bytes) in victims.iter().map(|seq| rows.dependants(*seq)).collect::<Result<Vec<_>>>()?.concat()
        {
            if going.contains(&dependant) {
                continue;
            }
            let row = match self.load(dependant) {
                Ok(head) => Row::whole(envelope::seal(&head.raw).into()),
                // Damaged, and it stays so: the removal of another must not fail for it.
                Err(error) if error.code() == Code::Corrupt => continue,
                Err(error) => return Err(error),
            };
            self.execute(
                "UPDATE payload SET base = NULL, depth = 0, room = ?, body = ? WHERE seq = ?",
                params![row.room, &row.body[..], dependant],
            )?;
            freed += number(bytes) - length(&row.body);
        }
        // Only now: what was written anew has been read through them.
        for seq in victims {
            freed += rows.stored(*seq)?.map_or(0, |stored| number(stored.bytes));
            self.written.remove(seq);
            self.execute("DELETE FROM payload WHERE seq = ?", params![seq])?;
        }
        Ok(freed)
    }

    pub(super) fn load(&self, seq: Seq) -> Result<Head> {
        match self.written.get(&seq) {
            Some(Kept { head, .. }) => Ok(head.clone()),
            None => load(self.connection, self.heads, seq),
        }
    }

    fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<()> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params))
            .map(drop)
            .map_err(from_sqlite)
    }

    /// What was written, for [`SharedHeads::keep`] once it is committed.
    pub(super) fn finish(self) -> Vec<Kept> {
        self.written.into_values().collect()
    }
}

struct Row {
    base: Option<Seq>,
    depth: i64,
    room: i64,
    body: Bytes,
}

impl Row {
    /// Deltas may then take as much again, so that a reader reads at most twice a whole payload.
    fn whole(body: Bytes) -> Self {
        Self { base: None, depth: 0, room: length(&body), body }
    }
}

/// Whether a chain may go on.
fn takes_more(depth: i64, room: i64) -> bool {
    depth < MAX_DEPTH && room > 0
}

/// The sealed difference to that base, if one is worth it, and how often in a row it has been in vain to look for one.
fn difference(base: &Head, raw: &[u8]) -> (Option<Bytes>, u32) {
    match base.promising().then(|| delta::encode(&base.raw, raw)).flatten() {
        Some(delta) => (Some(envelope::seal_delta(raw, &delta).into()), 0),
        None => (None, base.fruitless + 1),
    }
}

/// A payload as it will be stored if `newest` is its lineage's newest when its turn comes; without one, if it is the first of its
/// lineage.
pub(super) fn prepare(raw: Bytes, newest: Option<(&Line, &Head)>) -> Prepared {
    let base = newest.map(|(line, _)| line.seq);
    let (delta, fruitless) = match newest {
        Some((line, head)) if takes_more(line.depth, line.room) => {
            let (delta, fruitless) = difference(head, &raw);
            (delta.filter(|delta| length(delta) <= line.room), fruitless)
        }
        _ => (None, 0),
    };
    let is_delta = delta.is_some();
    let body = delta.unwrap_or_else(|| envelope::seal(&raw).into());
    Prepared { raw, parent: None, base, is_delta, body, fruitless }
}

fn length(body: &Bytes) -> i64 {
    number(body.len() as u64)
}

fn number(bytes: u64) -> i64 {
    // No payload has 2^63 bytes.
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The raw payload saved under that number, from memory or from its chain of rows. Within one snapshot.
pub(super) fn load(connection: &Connection, heads: &SharedHeads, seq: Seq) -> Result<Head> {
    if let Some(head) = heads.get(seq) {
        return Ok(head);
    }
    let mut statement =
        connection.prepare_cached("SELECT base, body FROM payload WHERE seq = ?").map_err(from_sqlite)?;
    let mut chain: Vec<Vec<u8>> = Vec::new();
    let mut below = None;
    let mut next = Some(seq);
    while let Some(link) = next {
        if let Some(head) = heads.get(link) {
            below = Some(head.raw);
            break;
        }
        // Bases are older than what is built on them, so this ends; a damaged file must not change that.
        if chain.len() > 2 * usize::try_from(MAX_DEPTH).unwrap_or(0) {
            return Err(Error::new(Code::Corrupt, "the payload's chain of bases does not end: restore a backup"));
        }
        let row = statement.query_row([link], |row| Ok((row.get(0)?, row.get(1)?))).optional().map_err(from_sqlite)?;
        let Some((base, body)) = row else { break };
        chain.push(body);
        next = base;
    }
    let head = Head::from(Bytes::from(envelope::open_on(below.as_deref(), &chain)?));
    heads.keep([Kept { seq, head: head.clone(), replaces: None, line: None }]);
    Ok(head)
}
