//! Effects: what a run does to the world outside, each with a key. The result of an effect is stored once, and a later
//! call gets it.
//!
//! The effects of a contract's runs belong to a contract of their own ([`Contract::effects`]). The lineage has the name of the run's
//! lineage, so what removes the run removes its effects too ([`follow`]), and each effect is a checkpoint of it. The sort
//! key is the token of the attempt. A process that takes an effect over writes a greater token, and the earlier process
//! can no longer write. An effect that was forgotten and begun again has another token, too. `meta` is an [`Entry`] as
//! JSON, and the payload is the result.
//!
//! A run may have several effects with the same key, if it has branches. The number `branch` tells them apart.

use serde::{Deserialize, Serialize};

use super::call::{Buffers, PartName, RawCall, Request};
use super::entry::{Contract, Names};
use super::fields::exact;
use super::ids::{check_id, damaged};
use super::lease::Run;
use super::program;
use super::registry::{contract_of, named};
use super::response::{PackedPart, Response};
use super::thread;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, Of, Query, RowOrder, Rows, RowsFrom};
use crate::record::{ContractId, Header, Listed, RowPage, SortKey, Start};

/// The calls of effects use this name in place of a contract's name.
pub(super) const NAME: &str = "effect";

/// The number of bytes of the longest key.
const MAX_KEY_BYTES: usize = 1024;

/// Adds to a unit that removes runs the removal of what is kept beside them: their effects, and what a program has said of
/// them.
pub(super) fn follow(unit: &mut Unit) {
    let with_effects =
        |id: ContractId| contract_of(id).filter(|_| !id.is_effects() && contract_of(id.effects()).is_some());
    let said = |contract: &Contract, lineage: &str| {
        let Names { run, ns, .. } = (contract.name_of)(Some(lineage.to_owned()), None);
        run.filter(|_| ns.is_none_or(|ns| ns.is_empty())).map(|run| program::forget(contract.name, &run))
    };
    let also = |op: &Op| match op {
        Op::RemoveFrom { contract, lineage, sort_key } if sort_key.0.is_empty() => {
            let of = with_effects(*contract)?;
            let (contract, name, sort_key) = (contract.effects(), lineage.clone(), SortKey::default());
            Some([Some(Op::RemoveFrom { contract, lineage: name, sort_key }), said(of, lineage)])
        }
        Op::RemoveLineages { contract, prefix } => {
            let of = with_effects(*contract)?;
            let effects = Op::RemoveLineages { contract: contract.effects(), prefix: prefix.clone() };
            Some([Some(effects), said(of, prefix)])
        }
        _ => None,
    };
    let more: Vec<Op> = unit.ops.iter().filter_map(also).flatten().flatten().collect();
    unit.ops.splice(0..0, more);
}

/// Identifies an effect.
#[derive(Debug, Deserialize)]
struct Address {
    of: Run,
    key: String,
    /// 0 for the first effect with this key.
    branch: u32,
}

/// An effect as it is stored. TypeScript writes and reads the other fields.
#[derive(Debug, Deserialize, Serialize)]
struct Entry {
    key: String,
    branch: u32,
    #[serde(flatten)]
    more: serde_json::Map<String, serde_json::Value>,
}

/// The effect as the writer has read it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    token: i64,
    #[serde(deserialize_with = "exact")]
    saved_at: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Reads an effect. The response is a [`Found`].
    Find {
        effect: Address,
    },
    /// Begins an attempt. `seen` is the state that it replaces, or `None` if there must be no such effect. Fails with
    /// [`Code::Conflict`] if another process was faster. The buffers have a part if `result` is given: a copy of an effect
    /// that has ended.
    Begin {
        effect: Address,
        seen: Option<Seen>,
        token: i64,
        entry: serde_json::Map<String, serde_json::Value>,
        result: Option<PartName>,
        saved_at: i64,
        /// If given, fails with [`Code::Conflict`] if this is not the newest checkpoint of the run.
        newest: Option<String>,
    },
    Write(Write),
    /// Lists the effects of a run, without their results. The response is an [`Effects`].
    List {
        of: Run,
    },
    /// Forgets effects of a run.
    Remove {
        effects: Vec<Address>,
    },
    /// Where an effect is, as seen from the checkpoint `at`. The response is a [`Place`].
    ///
    /// The effect was begun from the checkpoint `base`, when `newest` was the newest checkpoint of the run. If `at` is not
    /// stored, it follows `from` or, without that, the newest checkpoint. With `past`, `base` is a later checkpoint that the
    /// effect is visible from.
    Place {
        of: Run,
        base: String,
        newest: Option<String>,
        at: String,
        from: Option<String>,
        past: bool,
    },
}

/// Writes the effect in the course of an attempt: its lease, or its end. The buffers have a part if `result` is given.
/// Fails with [`Code::Conflict`] if another process has taken the effect over.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Write {
    effect: Address,
    token: i64,
    entry: serde_json::Map<String, serde_json::Value>,
    result: Option<PartName>,
    saved_at: i64,
}

impl Write {
    pub(super) fn unit(self, buffers: &mut Buffers) -> Result<Unit> {
        let Self { effect, token, entry, result, saved_at } = self;
        let must = Must::HaveSortKey(key_of(token));
        let expect = vec![expected(effect.contract()?.id, &effect.id()?, &effect, must)];
        Ok(Unit { expect, ops: vec![effect.put(token, entry, result, saved_at, buffers)?] })
    }
}

/// The answer to [`Call::Find`].
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    /// The time on the store's clock.
    now: i64,
    /// The id of the run's newest checkpoint.
    newest: Option<String>,
    origin: Option<Origin>,
    /// True if the run has an effect with the same key and the next number.
    more: bool,
    effect: Option<Effect>,
}

/// An effect as it is read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Effect {
    token: i64,
    saved_at: i64,
    #[serde(flatten)]
    entry: Entry,
    parts: Vec<PackedPart>,
}

/// The answer to [`Call::List`].
#[derive(Serialize)]
pub(super) struct Effects {
    /// The time on the store's clock.
    now: i64,
    effects: Vec<Effect>,
}

/// The checkpoint of another run from which a run was forked.
#[derive(Serialize)]
struct Origin {
    run: String,
    ns: String,
    id: String,
}

/// The answer to [`Call::Place`].
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    at: Side,
    /// True if the checkpoint `at` is stored.
    stored: bool,
    /// [`Side::Left`]: the ancestor that was not found.
    parent: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Side {
    /// Its checkpoint is `at`, and nothing has followed it. Or it is the parent of `at`, which is not stored yet.
    Here,
    /// It belongs to the past of `at`.
    Before,
    /// It is on another branch, or later.
    Beside,
    /// Its checkpoint is not stored.
    Unknown,
    /// It is on another branch if the ancestor `parent` of `at` is stored. Otherwise nobody knows what was before `at`.
    Left,
}

/// Reads a call and returns the request to the engine.
pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Find { effect } => find(&effect)?,
        Call::Begin { effect, seen, token, entry, result, saved_at, newest } => {
            let contract = effect.contract()?.id;
            let id = effect.id()?;
            let absent = || vec![Must::NotBeSavedSince(i64::MIN)];
            let must = seen.map_or_else(absent, |seen| {
                vec![Must::HaveSortKey(key_of(seen.token)), Must::NotBeSavedSince(seen.saved_at.saturating_add(1))]
            });
            let newest = newest.map(|newest| is_newest(&effect.of, &newest)).transpose()?;
            let effects = must.into_iter().map(|must| expected(contract, &id, &effect, must));
            let expect = newest.into_iter().chain(effects).collect();
            let put = effect.put(token, entry, result, saved_at, &mut buffers)?;
            Request::Apply(Unit { expect, ops: vec![put] })
        }
        Call::Write(write) => Request::Apply(write.unit(&mut buffers)?),
        Call::List { of } => Request::ask(list_query(&of)?, |answer| Response::json(&listed(answer)?).map(Some)),
        Call::Remove { effects } => {
            let remove = |effect: Address| Ok(Op::Remove { contract: effect.contract()?.id, id: effect.id()? });
            Request::Apply(effects.into_iter().map(remove).collect::<Result<Vec<_>>>()?.into())
        }
        Call::Place { of, base, newest, at, from, past } => {
            place(&of, &base, newest.as_deref(), &at, from.as_deref(), past)?
        }
    })
}

impl Address {
    /// The contract of the effect.
    fn contract(&self) -> Result<&'static Contract> {
        effects_of(&self.of)
    }

    fn id(&self) -> Result<String> {
        effect_id(&self.of, &self.key, self.branch)
    }

    fn put(
        self,
        token: i64,
        entry: serde_json::Map<String, serde_json::Value>,
        result: Option<PartName>,
        saved_at: i64,
        buffers: &mut Buffers,
    ) -> Result<Op> {
        let (contract, id) = (self.contract()?, self.id()?);
        let lineage = (contract.lineage_of)(&self.of.run, &self.of.ns);
        let entry = Entry { key: self.key, branch: self.branch, more: entry };
        let header = Header {
            sort_key: key_of(token),
            saved_at,
            meta: serde_json::to_vec(&entry)
                .map_err(|error| Error::invalid(format!("an effect cannot be written: {error}")))?,
            ..Header::new(contract.id, lineage, id)
        };
        Ok(Op::put(header, buffers.parts(result.into_iter().collect())?))
    }
}

/// The id of an effect, which is unique in its contract.
fn effect_id(of: &Run, key: &str, branch: u32) -> Result<String> {
    check_id("the id of the run", &of.run)?;
    check_id("the key of an effect", key)?;
    if key.len() > MAX_KEY_BYTES {
        let length = key.len();
        return Err(Error::invalid(format!(
            "the key of an effect has {length} bytes, but may have at most {MAX_KEY_BYTES}: use a shorter one"
        )));
    }
    let id = thread::key(&of.run, &of.ns, &format!("{branch}:{key}"));
    check_id("the id of the effect", &id)?;
    Ok(id)
}

/// The users' names of a lineage and a checkpoint: see [`Contract::name_of`]. The id of an effect is its key.
pub(super) fn names(contract: &Contract, lineage: Option<String>, id: Option<String>) -> Names {
    if !contract.id.is_effects() {
        return (contract.name_of)(lineage, id);
    }
    let address = id.as_deref().and_then(thread::split_key);
    let key = address.as_ref().and_then(|of| of.id.split_once(':')).map(|(_branch, key)| key.to_owned());
    let names = (contract.name_of)(lineage, None);
    Names { run: names.run.or_else(|| address.map(|of| of.thread)), id: key.or(id), ..names }
}

/// The sort key of an attempt.
#[expect(clippy::cast_precision_loss, reason = "a number of JavaScript, which a double holds")]
fn key_of(token: i64) -> SortKey {
    SortKey::from_f64(token as f64)
}

fn effects_of(of: &Run) -> Result<&'static Contract> {
    contract_of(named(&of.space)?.id.effects())
        .ok_or_else(|| Error::invalid(format!("runs of {:?} have no effects: please report this", of.space)))
}

fn expected(contract: ContractId, id: &str, effect: &Address, must: Must) -> Expect {
    let message = format!(
        "the effect {} of run {} was taken over by another process: ask for it again",
        quote(&effect.key),
        quote(&effect.of.run)
    );
    Expect::Checkpoint { contract, id: id.to_owned(), must, otherwise: Error::new(Code::Conflict, message) }
}

/// The condition that this is the newest checkpoint of the run.
fn is_newest(of: &Run, id: &str) -> Result<Expect> {
    let contract = named(&of.space)?;
    let (lineage, id) = ((contract.lineage_of)(&of.run, &of.ns), (contract.id_of)(&of.run, &of.ns, id));
    Ok(Expect::Newest { contract: contract.id, lineage, newest: Some(id.clone()), or: id })
}

fn find(effect: &Address) -> Result<Request> {
    let of = &effect.of;
    let contract = named(&of.space)?;
    let lineage = (contract.lineage_of)(&of.run, &of.ns);
    let get = |branch| -> Result<Query> {
        let id = effect_id(of, &effect.key, branch)?;
        Ok(Query::Get { contract: effect.contract()?.id, id })
    };
    let start = Query::Start { contract: contract.id, lineage: lineage.clone() };
    let newest = Query::List { contract: contract.id, of: Of::Lineage(lineage), before: None, limit: Some(1) };
    let all = vec![get(effect.branch)?, get(effect.branch.saturating_add(1))?, newest, start, Query::Clock];
    Ok(Request::ask(Query::All(all), |answer| {
        let [found, next, newest, start, now] = answer.into_all()?;
        let more = next.into_checkpoint()?.is_some();
        let newest = newest.into_headers()?.into_iter().next().and_then(|header| id_of(contract, header));
        let origin = start.into_starts()?.first().and_then(|start| origin_of(contract, start));
        let now = now.into_clock()?;
        Response::one(Some(found.into_checkpoint()?), |found, response| {
            let effect = found.map(|found| {
                let parts = response.parts(found.payload);
                read(&found.header, parts)
            });
            Ok(Found { now, newest, origin, more, effect: effect.transpose()? })
        })
    }))
}

fn read(header: &Header, parts: Vec<PackedPart>) -> Result<Effect> {
    let entry = serde_json::from_slice(&header.meta).map_err(|_| damaged(&header.id))?;
    let (token, _) = header.sort_key.split_f64().ok_or_else(|| damaged(&header.id))?;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number, which `key_of` has written")]
    Ok(Effect { token: token as i64, saved_at: header.saved_at, entry, parts })
}

/// Asks for the effects of a run. [`listed`] reads the answer.
pub(super) fn list_query(of: &Run) -> Result<Query> {
    let contract = effects_of(of)?;
    let lineage = (contract.lineage_of)(&of.run, &of.ns);
    let list = Query::List { contract: contract.id, of: Of::Lineage(lineage), before: None, limit: None };
    Ok(Query::All(vec![list, Query::Clock]))
}

pub(super) fn listed(answer: Answer) -> Result<Effects> {
    let [headers, now] = answer.into_all()?;
    let headers = headers.into_headers()?;
    let effects = headers.iter().map(|header| read(header, Vec::new())).collect::<Result<_>>()?;
    Ok(Effects { now: now.into_clock()?, effects })
}

/// The checkpoint of another run from which a run was forked, with the framework's names.
fn origin_of(contract: &Contract, start: &Start) -> Option<Origin> {
    let crate::record::Origin { lineage, id, .. } = start.origin()?;
    let Names { run, ns, id } = (contract.name_of)(lineage.clone(), Some(id.clone()));
    Some(Origin { run: run?, ns: ns.unwrap_or_default(), id: id? })
}

fn place(of: &Run, base: &str, newest: Option<&str>, at: &str, from: Option<&str>, past: bool) -> Result<Request> {
    let contract = named(&of.space)?;
    let key = |id: &str| (contract.id_of)(&of.run, &of.ns, id);
    let (base, newest, at, from) = (key(base), newest.map(key), key(at), from.map(key));
    let rows = |id: &str, limit| {
        let (lineage, from) = ((contract.lineage_of)(&of.run, &of.ns), RowsFrom::Id(id.to_owned()));
        Query::Rows(Rows { contract: contract.id, lineage, from, order: RowOrder::OldestFirst, limit, sums: false })
    };
    Ok(Request::ask(Query::All(vec![rows(&base, usize::MAX), rows(&at, 1)]), move |answer| {
        let [page, found] = answer.into_all()?;
        let RowPage { rows, origin, .. } = page.into_rows()?;
        let stored = !found.into_rows()?.rows.is_empty();
        let origin = origin.map(|(id, _)| id);
        let history = History { rows: &rows, base: &base, origin: origin.as_deref(), past };
        let (side, left) = history.side(newest.as_deref(), &at, stored, from.as_deref());
        let parent = left.and_then(|id| (contract.name_of)(None, Some(id.to_owned())).id);
        Response::json(&Place { at: side, stored, parent }).map(Some)
    }))
}

/// The checkpoints of a run from the one that an effect was begun from, the oldest first.
struct History<'a> {
    rows: &'a [Listed],
    base: &'a str,
    /// The checkpoint of another run from which the run was forked.
    origin: Option<&'a str>,
    /// True: every checkpoint that follows the base is after the effect.
    past: bool,
}

impl<'a> History<'a> {
    /// Where the effect is, as seen from the checkpoint `at`. Also returns the id of the ancestor for [`Side::Left`].
    ///
    /// The first checkpoint that follows the base after the effect has begun is the effect's successor. Other checkpoints
    /// that follow the base begin other branches.
    fn side(&self, newest: Option<&str>, at: &str, stored: bool, from: Option<&'a str>) -> (Side, Option<&'a str>) {
        if self.rows.is_empty() {
            return (Side::Unknown, None);
        }
        let known = newest.and_then(|newest| self.position(newest)).unwrap_or(0);
        let successor = (known + 1..self.rows.len()).find(|&row| self.follows_base(row));
        let begin = match from {
            _ if stored => self.position(at),
            None => self.rows.len().checked_sub(1),
            Some(from) => self.position(from),
        };
        // A checkpoint before the base.
        let Some(mut row) = begin else {
            return if stored { (Side::Beside, None) } else { (Side::Left, from) };
        };
        if self.is(row, self.base) {
            return (if self.past || successor.is_none() { Side::Here } else { Side::Beside }, None);
        }
        while !self.follows_base(row) {
            let header = &self.rows[row].header;
            match header.parent.as_deref() {
                None => row -= 1,
                Some(parent) => match (0..row).rfind(|&before| self.is(before, parent)) {
                    Some(before) => row = before,
                    None if self.origin == Some(parent) => return (Side::Beside, None),
                    None => return (Side::Left, Some(parent)),
                },
            }
        }
        (if self.past || successor == Some(row) { Side::Before } else { Side::Beside }, None)
    }

    /// The last row of a checkpoint.
    fn position(&self, id: &str) -> Option<usize> {
        (0..self.rows.len()).rfind(|&row| self.is(row, id))
    }

    /// A later checkpoint of the same id in `TinyAgents` has the id as its group.
    fn is(&self, row: usize, id: &str) -> bool {
        let header = &self.rows[row].header;
        header.id == id || header.group == id
    }

    /// A checkpoint without a parent follows the one before it.
    fn follows_base(&self, row: usize) -> bool {
        match self.rows[row].header.parent.as_deref() {
            Some(parent) => parent == self.base,
            None => row > 0 && self.is(row - 1, self.base),
        }
    }
}

/// The framework's id of a checkpoint.
fn id_of(contract: &Contract, header: Header) -> Option<String> {
    (contract.name_of)(Some(header.lineage), Some(header.id)).id
}
