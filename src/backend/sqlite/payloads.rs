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
use crate::codec::heads::{Head, SharedHeads};
use crate::codec::{delta, envelope};
use crate::error::{Code, Error, Result};
use crate::record::Seq;
use crate::retention::Catalog;

/// Below this many bytes a delta saves less than it costs.
const WORTH_A_DELTA: usize = 1024;
/// A reader applies no more deltas than this.
const MAX_DEPTH: i64 = 256;

/// A payload to store.
pub(super) struct New {
    pub(super) seq: Seq,
    pub(super) raw: Bytes,
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
    written: BTreeMap<Seq, (Head, Option<Seq>)>,
}

impl<'a> Payloads<'a> {
    pub(super) fn new(connection: &'a Connection, heads: &'a SharedHeads) -> Self {
        Self { connection, heads, written: BTreeMap::new() }
    }

    pub(super) fn store(&mut self, new: New) -> Result<()> {
        let New { seq, raw, base, supersedes } = new;
        let (delta, fruitless) = match base {
            Some(base) if raw.len() >= WORTH_A_DELTA => self.delta(&raw, base)?,
            _ => (None, 0),
        };
        let row = delta.unwrap_or_else(|| Row::keyframe(&raw));
        self.execute(
            "INSERT INTO payload (seq, base, depth, room, size, body) VALUES (?, ?, ?, ?, ?, ?)",
            params![seq, row.base, row.depth, row.room, number(raw.len() as u64), row.body],
        )?;
        self.written.insert(seq, (Head { raw, fruitless }, supersedes));
        Ok(())
    }

    /// The row of a delta against that base, if one is worth it, and how often in a row it has been in vain to look for one.
    fn delta(&self, raw: &[u8], base: Seq) -> Result<(Option<Row>, u32)> {
        let found = self
            .connection
            .prepare_cached("SELECT depth, room FROM payload WHERE seq = ?")
            .and_then(|mut statement| {
                statement.query_row([base], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).optional()
            })
            .map_err(from_sqlite)?;
        let Some((depth, room)) = found.filter(|(depth, room)| *depth < MAX_DEPTH && *room > 0) else {
            return Ok((None, 0));
        };
        // A base that is damaged must not keep new checkpoints from being saved.
        let base_head = match self.load(base) {
            Ok(head) => head,
            Err(error) if error.code() == Code::Corrupt => return Ok((None, 0)),
            Err(error) => return Err(error),
        };
        let delta = base_head.promising().then(|| delta::encode(&base_head.raw, raw)).flatten();
        let Some(delta) = delta else { return Ok((None, base_head.fruitless + 1)) };
        let body = envelope::seal_delta(raw, &delta);
        let room = room - number(body.len() as u64);
        Ok(((room >= 0).then_some(Row { base: Some(base), depth: depth + 1, room, body }), 0))
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
                Ok(head) => Row::keyframe(&head.raw),
                // Damaged, and it stays so: the removal of another must not fail for it.
                Err(error) if error.code() == Code::Corrupt => continue,
                Err(error) => return Err(error),
            };
            self.execute(
                "UPDATE payload SET base = NULL, depth = 0, room = ?, body = ? WHERE seq = ?",
                params![row.room, row.body, dependant],
            )?;
            freed += number(bytes) - number(row.body.len() as u64);
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
            Some((head, _)) => Ok(head.clone()),
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

    /// What was written, for [`SharedHeads::keep_all`] once it is committed.
    pub(super) fn finish(self) -> Vec<(Seq, Head, Option<Seq>)> {
        self.written.into_iter().map(|(seq, (head, supersedes))| (seq, head, supersedes)).collect()
    }
}

struct Row {
    base: Option<Seq>,
    depth: i64,
    room: i64,
    body: Vec<u8>,
}

impl Row {
    /// Deltas may then take as much again, so that a reader reads at most twice a whole payload.
    fn keyframe(raw: &[u8]) -> Self {
        let body = envelope::seal(raw);
        Self { base: None, depth: 0, room: number(body.len() as u64), body }
    }
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
    heads.keep(seq, head.clone());
    Ok(head)
}
