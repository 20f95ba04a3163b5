//! Stores each payload in the row of its checkpoint, as a keyframe or as a delta against another row's payload.
//!
//! A delta refers to its base by save number. While the database goes forward, the payload of a save number never
//! changes: a payload that is rewritten as a keyframe has the same raw bytes. A restored database goes back and reuses
//! numbers. A cached payload is therefore used only if the row's checksum matches.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use rusqlite::{Connection, MAIN_DB, ffi, params};

use super::chain::{self, Chain};
use super::ids::StoredIds;
use super::row::{self, HeaderRow};
use super::setting;
use super::statement::{execute, first, one};
use super::totals::Totals;
use crate::backend::chain::{Link, rebuild};
use crate::backend::header::flags_and_sum;
use crate::backend::logs::Mark;
use crate::backend::marks::decode_marks;
use crate::backend::number::signed;
use crate::backend::rebase::{self, Payloads as _};
use crate::cache::{CachedPayload, LineageTip, NewEntry, PayloadCache};
use crate::check::About;
use crate::codec::plan::{Base, Effort, Row, plan};
use crate::codec::{envelope, frame};
use crate::error::{Code, Error, Result};
use crate::names;
use crate::record::{Checkpoint, ContractId, Encoded, Header, Payload, PayloadKey, Seq};

/// The minimum size of a payload, in raw bytes, for which the cache keeps a tip. The next payload of the lineage can
/// then be encoded ahead of time.
const WORTH_A_TIP: usize = 64 << 10;

/// The maximum size of the payloads that a transaction keeps in memory, in bytes. Checkpoints of a small batch may
/// inherit much larger payloads.
const MOST_IN_MEMORY: usize = 32 << 20;

/// A checkpoint to store.
pub(super) struct New<'a> {
    pub seq: Seq,
    pub lin: i64,
    pub header: &'a Header,
    /// The content of the column `logs`.
    pub logs: Option<Vec<u8>>,
    pub raw: Bytes,
    /// The encoded payload, if it was encoded ahead of time.
    pub encoded: Option<&'a Encoded>,
    /// A similar payload, which becomes the base if a delta is worthwhile.
    pub base: Option<Seq>,
    /// The newest payload of the lineage before this save. It is rarely read afterwards.
    pub supersedes: Option<Seq>,
}

/// The keyframes that a transaction has stored raw.
#[derive(Debug, Default)]
struct Raw {
    first: Option<Seq>,
    bytes: u64,
}

/// The payloads as seen by an open write transaction.
pub(super) struct Payloads<'a> {
    connection: &'a Connection,
    cache: &'a PayloadCache,
    effort: Effort,
    /// The keyframes that this transaction has stored raw.
    raw: Raw,
    /// The newest payloads that this transaction has stored. They are added to the shared cache only after the commit.
    stored: BTreeMap<Seq, NewEntry>,
    /// The size of the payloads in `stored`, in bytes.
    in_memory: usize,
    /// The stored size of the payloads that the current unit has stored, in bytes. `None`: no payload was stored.
    stored_bytes: Option<u64>,
    /// The running totals. `None` until a removal or a rewrite corrects them.
    totals: Option<Totals>,
    /// The bases whose dependant lists already lack the payloads of the current removal.
    relisted: HashSet<Seq>,
}

impl<'a> Payloads<'a> {
    pub(super) fn new(connection: &'a Connection, cache: &'a PayloadCache, effort: Effort) -> Self {
        Self {
            connection,
            cache,
            effort,
            raw: Raw::default(),
            stored: BTreeMap::new(),
            in_memory: 0,
            stored_bytes: None,
            totals: None,
            relisted: HashSet::new(),
        }
    }

    /// The maximum size of a payload, in bytes.
    pub(super) fn largest(&self) -> usize {
        self.cache.largest()
    }

    /// Stores a checkpoint with its payload.
    pub(super) fn store(&mut self, new: New<'_>) -> Result<()> {
        let New { seq, lin, header, logs, raw, encoded, base, supersedes } = new;
        let base = base.map(|base| self.base(base)).transpose()?.flatten();
        let (row, misses) = plan(&raw, base, encoded, self.effort, self.largest(), |key| {
            self.cache.get(key).map_or_else(|| self.load(key.seq), Ok).map(CachedPayload::into_base)
        })?;
        let key = row.key(seq);
        let next_sibling = match row.base {
            Some(base) => chain::link(self.connection, base, seq)?,
            None => None,
        };
        let size = signed(raw.len() as u64);
        let Row { base, depth, budget, body } = row;
        if self.effort == Effort::Quick && Row::is_raw(base, size, signed(body.len() as u64)) {
            self.raw.first.get_or_insert(seq);
            self.raw.bytes += body.len() as u64;
        }
        let chain = Chain { base, depth, budget, size, first_dependant: None, next_sibling, is_wide: false };
        let (flags, sum) = flags_and_sum(seq, header, logs.as_deref());
        let Header { contract, id, group, label, sort_key, saved_at, meta, .. } = header;
        let ids = StoredIds::of(header);
        execute(
            self.connection,
            "INSERT INTO checkpoint
               (seq, lin, id_hash, saved_at, flags, chain, sum, id, parent, grp, label, sort_key, meta, logs, body)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                seq,
                lin,
                row::id_hash(*contract, id),
                saved_at,
                i64::from(flags) | ids.flags,
                chain.encode(seq),
                sum,
                ids.id,
                ids.parent,
                group,
                label,
                sort_key.0,
                meta,
                logs,
                &body[..]
            ],
        )?;
        let tip = (raw.len() >= WORTH_A_TIP).then(|| {
            let tip = LineageTip { key, id: id.clone(), depth, budget };
            ((*contract, header.lineage.clone()), tip)
        });
        self.remember(seq, NewEntry { key, payload: CachedPayload { raw, misses }, supersedes, tip });
        *self.stored_bytes.get_or_insert(0) += body.len() as u64;
        Ok(())
    }

    /// Keeps a stored payload in memory, for the next payload of its lineage. Drops older payloads if necessary: they
    /// can be read from their rows.
    fn remember(&mut self, seq: Seq, entry: NewEntry) {
        self.in_memory += entry.payload.raw.len();
        self.stored.insert(seq, entry);
        while self.in_memory > MOST_IN_MEMORY && self.stored.len() > 1 {
            let Some((_, oldest)) = self.stored.pop_first() else { break };
            self.in_memory -= oldest.payload.raw.len();
        }
    }

    /// Returns a payload as a base for the next payload. A damaged payload cannot be a base.
    fn base(&self, seq: Seq) -> Result<Option<Base>> {
        let found = chain::read(self.connection, seq)
            .and_then(|chain| Ok(chain.zip(sum(self.connection, seq)?)))
            .or_else(|error| if error.code() == Code::Corrupt { Ok(None) } else { Err(error) })?;
        let base = |(chain, sum): (Chain, u64)| Base {
            key: PayloadKey { seq, sum },
            depth: chain.depth,
            budget: chain.budget,
        };
        Ok(found.map(base))
    }

    /// Returns true if the row still has this payload.
    pub(super) fn has(&self, key: PayloadKey) -> Result<bool> {
        Ok(sum(self.connection, key.seq)? == Some(key.sum))
    }

    /// Removes checkpoints with their payloads. Returns the number of freed bytes minus the number of bytes by which
    /// remaining payloads grew.
    pub(super) fn remove(&mut self, victims: &[Seq]) -> Result<i64> {
        self.relisted.clear();
        rebase::remove(self, victims)
    }

    /// Returns the stored size of the payloads since the last call, in bytes. `None`: there are none.
    pub(super) fn take_stored_bytes(&mut self) -> Option<u64> {
        self.stored_bytes.take()
    }

    /// Loads the payload of a stored checkpoint and splits it into its parts.
    pub(super) fn parts(&self, row: &HeaderRow) -> Result<Payload> {
        let split = self.load(row.seq).and_then(|payload| frame::split(&payload.raw));
        split.map_err(|error| error.context(&names::checkpoint(row.header.contract, &row.header.id)))
    }

    /// Returns the running totals for correction. The first call reads them from the database.
    pub(super) fn totals(&mut self) -> Result<&mut Totals> {
        match &mut self.totals {
            Some(totals) => Ok(totals),
            empty => Ok(empty.insert(Totals::read(self.connection)?)),
        }
    }

    /// Writes the corrected totals, and the note about raw payloads. Must be the last change of the transaction.
    /// Returns the stored payloads, which the caller adds to the cache after the commit, and the size of the raw
    /// payloads in bytes.
    pub(super) fn finish(self) -> Result<(Vec<NewEntry>, u64)> {
        if let Some(first) = self.raw.first {
            setting::note_raw(self.connection, first)?;
        }
        if let Some(totals) = &self.totals {
            totals.write(self.connection)?;
        }
        Ok((self.stored.into_values().collect(), self.raw.bytes))
    }

    /// The contract of a row, its column `chain`, and the stored size of its payload in bytes.
    fn sizes(&self, seq: Seq) -> Result<Option<(ContractId, Vec<u8>, i64)>> {
        let sql = "SELECT coalesce(contract, 0), chain, length(body)
                   FROM checkpoint LEFT JOIN lineage USING (lin) WHERE seq = ?";
        one(self.connection, sql, [seq], |row| Ok((ContractId(row.get(0)?), row.get(1)?, row.get(2)?)))
    }
}

impl rebase::Payloads for Payloads<'_> {
    fn dependants(&self, bases: &[Seq], going: &HashSet<Seq>) -> Result<Vec<Seq>> {
        let mut found = Vec::new();
        for base in bases {
            found.extend(chain::dependants(self.connection, *base)?.into_iter().filter(|seq| !going.contains(seq)));
        }
        Ok(found)
    }

    fn describe(&self, seq: Seq) -> String {
        match row::claims(self.connection, seq) {
            About { contract: Some(contract), id: Some(id), .. } => names::checkpoint(contract, &id),
            _ => format!("row {seq}"),
        }
    }

    fn load(&self, seq: Seq) -> Result<CachedPayload> {
        match self.stored.get(&seq) {
            Some(NewEntry { payload, .. }) => Ok(payload.clone()),
            None => load(self.connection, self.cache, seq),
        }
    }

    fn rewrite(&mut self, seq: Seq, row: &Row) -> Result<i64> {
        let Some((contract, chain, before)) = self.sizes(seq)? else { return Ok(0) };
        let chain = match Chain::decode(seq, &chain) {
            Ok(chain) => Chain { base: None, depth: 0, budget: row.budget, next_sibling: None, ..chain }.encode(seq),
            Err(_) => Chain::damaged_keyframe(&chain),
        };
        execute(
            self.connection,
            "UPDATE checkpoint SET chain = ?, body = ? WHERE seq = ?",
            params![chain, &row.body[..], seq],
        )?;
        let grown = signed(row.body.len() as u64) - before;
        self.totals()?.rewritten(contract, seq, grown);
        Ok(grown)
    }

    fn delete(&mut self, seqs: &[Seq], going: &HashSet<Seq>) -> Result<i64> {
        seqs.iter().try_fold(0, |bytes, seq| Ok(bytes + self.delete_one(*seq, going)?))
    }
}

impl Payloads<'_> {
    fn delete_one(&mut self, seq: Seq, going: &HashSet<Seq>) -> Result<i64> {
        let Some((contract, chain, bytes)) = self.sizes(seq)? else { return Ok(0) };
        // A damaged row can be removed. Its size is unknown, so subtract 0: the totals also counted it as 0, unless it
        // was damaged later.
        let (base, size) = match Chain::decode(seq, &chain) {
            Ok(chain) => (chain.base, chain.size),
            Err(_) => (chain::listed_under(self.connection, seq)?, 0),
        };
        if let Some(base) = base.filter(|base| !going.contains(base))
            && self.relisted.insert(base)
        {
            chain::unlink(self.connection, base, going)?;
        }
        execute(self.connection, "DELETE FROM checkpoint WHERE seq = ?", params![seq])?;
        if let Some(entry) = self.stored.remove(&seq) {
            self.in_memory -= entry.payload.raw.len();
        }
        self.totals()?.removed(contract, seq, size, bytes);
        Ok(bytes)
    }
}

/// Builds the checkpoint of a row: loads its payload and decodes its marks.
pub(super) fn checkpoint(connection: &Connection, cache: &PayloadCache, row: HeaderRow) -> Result<Checkpoint> {
    let HeaderRow { seq, header, logs, .. } = row;
    let payload = load(connection, cache, seq)
        .and_then(|payload| frame::split(&payload.raw))
        .map_err(|error| error.context(&names::checkpoint(header.contract, &header.id)))?;
    let marks = decode_marks(logs.as_deref())?;
    Ok(Checkpoint { header, payload, logs: marks.iter().map(Mark::shown).collect() })
}

/// Loads the raw payload with this save number, from the cache or from its chain of rows. The caller holds a snapshot.
pub(super) fn load(connection: &Connection, cache: &PayloadCache, seq: Seq) -> Result<CachedPayload> {
    rebuild(seq, cache, |seq| sum(connection, seq), |seq| fetch(connection, seq))
}

/// Reads the checksum of a payload, without the rest of its body. Returns `None` if the row is missing or damaged.
pub(super) fn sum(connection: &Connection, seq: Seq) -> Result<Option<u64>> {
    let head: Option<([u8; envelope::SUM_END], usize)> = head(connection, seq)?;
    Ok(head.and_then(|(head, length)| envelope::sum(&head[..length])))
}

/// Reads the base that a row names, and the length that its body claims, without the rest of the body. Returns `None`
/// if the row is missing or damaged, or if the payload is longer than `largest` bytes.
pub(super) fn claim(connection: &Connection, seq: Seq, largest: usize) -> Result<Option<(Option<Seq>, usize)>> {
    let column: Option<Vec<u8>> = one(connection, "SELECT chain FROM checkpoint WHERE seq = ?", [seq], first)?;
    let Some(Ok(base)) = column.map(|column| Chain::named_base(seq, &column)) else { return Ok(None) };
    let head: Option<([u8; envelope::CLAIM_END], usize)> = head(connection, seq)?;
    let claimed = head.and_then(|(head, length)| envelope::claimed(&head[..length], largest));
    Ok(claimed.map(|length| (base.filter(|base| *base < seq), length)))
}

/// Reads the beginning of a body, and its length. Returns `None` if the row is missing or damaged.
fn head<const N: usize>(connection: &Connection, seq: Seq) -> Result<Option<([u8; N], usize)>> {
    let mut head = [0; N];
    let read =
        connection.blob_open(MAIN_DB, "checkpoint", "body", seq, true).and_then(|body| body.read_at(&mut head, 0));
    match read {
        Ok(length) => Ok(Some((head, length))),
        // SQLite returns this code if the row is missing, or if the column has another type.
        Err(rusqlite::Error::SqliteFailure(error, _)) if error.extended_code == ffi::SQLITE_ERROR => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn fetch(connection: &Connection, seq: Seq) -> Result<Option<Link>> {
    let sql = "SELECT chain, body FROM checkpoint WHERE seq = ?";
    let found: Option<(Vec<u8>, Vec<u8>)> = one(connection, sql, [seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some((chain, body)) = found else { return Ok(None) };
    let base = Chain::named_base(seq, &chain)?;
    if base.is_some_and(|base| base >= seq) {
        return Err(Error::new(
            Code::Corrupt,
            format!("row {seq}: the base of its payload is not older than the payload: restore a backup"),
        ));
    }
    Ok(Some(Link { base, body }))
}
