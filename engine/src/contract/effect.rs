//! Effects: what a run does to the world outside, each with a key. The result of an effect is stored once, and whoever asks
//! again gets it.
//!
//! The effects of a contract's runs belong to a contract of their own ([`Contract::effects`]). The lineage has the name of the run's
//! lineage, so what removes the run removes its effects too ([`follow`]), and each effect is a checkpoint of it. The sort
//! key is the number of the attempt, which is a fencing token: whoever takes an effect over writes it with the next number,
//! and the earlier process can no longer write. `meta` is an [`Entry`] as JSON, and the payload is the result.
//!
//! A run may have several effects with the same key, if it has branches. The number `branch` tells them apart.

use serde::{Deserialize, Serialize};

use super::call::{Buffers, PartName, RawCall, Request};
use super::entry::{Contract, Names};
use super::fields::exact;
use super::ids::{check_id, damaged};
use super::lease::Run;
use super::place::{parse_place, show_place};
use super::program;
use super::registry::{contract_of, named};
use super::response::{PackedPart, Response};
use super::thread;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Of, Query, RowOrder, Rows, RowsFrom};
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
    attempt: u32,
    #[serde(deserialize_with = "exact")]
    saved_at: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Reads an effect. The response is a [`Found`].
    Find { effect: Address },
    /// Begins an attempt. `seen` is the state that it replaces, or `None` if there must be no such effect. Fails with
    /// [`Code::Conflict`] if another process was faster.
    Begin {
        effect: Address,
        seen: Option<Seen>,
        attempt: u32,
        entry: serde_json::Map<String, serde_json::Value>,
        saved_at: i64,
    },
    /// Writes the effect in the course of an attempt: its lease, or its end. The buffers have a part if `result` is given.
    /// Fails with [`Code::Conflict`] if another process has taken the effect over.
    Write {
        effect: Address,
        attempt: u32,
        entry: serde_json::Map<String, serde_json::Value>,
        result: Option<PartName>,
        saved_at: i64,
    },
    /// Lists the effects of a run, without their results. The response is an [`Effects`].
    List { of: Run },
    /// Forgets effects of a run.
    Remove { effects: Vec<Address> },
    /// Where the checkpoint `base` of a run is, as seen from the checkpoint `at` or, without it, from the newest. Looks at
    /// `limit` checkpoints, after those of the call before. The response is a [`Place`].
    Place { of: Run, base: String, at: Option<String>, after: Option<Walked>, limit: usize },
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
    effect: Option<Effect>,
}

/// An effect as it is read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Effect {
    attempt: u32,
    saved_at: i64,
    #[serde(flatten)]
    entry: Entry,
    parts: Vec<PackedPart>,
}

/// The answer to [`Call::List`].
#[derive(Serialize)]
struct Effects {
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

/// How far a search among the ancestors of a checkpoint has come.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Walked {
    /// The place of the last checkpoint that was looked at.
    place: String,
    /// The store's id of the next ancestor. `None`: the checkpoint before the last one.
    ancestor: Option<String>,
}

/// The answer to [`Call::Place`].
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Place {
    /// It is the checkpoint itself.
    Same,
    /// It is an ancestor.
    Before,
    /// It is on another branch, or later.
    Beside,
    /// It was removed, or an ancestor was.
    Unknown,
    /// There is no such checkpoint as `at`.
    NoSuchCheckpoint,
    /// It is further back.
    Further(Walked),
}

/// Reads a call and returns the request to the engine.
pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Find { effect } => find(&effect)?,
        Call::Begin { effect, seen, attempt, entry, saved_at } => {
            let contract = effect.contract()?.id;
            let id = effect.id()?;
            let absent = || vec![Must::NotBeSavedSince(i64::MIN)];
            let must = seen.map_or_else(absent, |seen| {
                vec![Must::HaveSortKey(token(seen.attempt)), Must::NotBeSavedSince(seen.saved_at.saturating_add(1))]
            });
            let expect = must.into_iter().map(|must| expected(contract, &id, &effect, must)).collect();
            let put = effect.put(attempt, entry, None, saved_at, &mut buffers)?;
            Request::Apply(Unit { expect, ops: vec![put] })
        }
        Call::Write { effect, attempt, entry, result, saved_at } => {
            let must = Must::HaveSortKey(token(attempt));
            let expect = vec![expected(effect.contract()?.id, &effect.id()?, &effect, must)];
            let put = effect.put(attempt, entry, result, saved_at, &mut buffers)?;
            Request::Apply(Unit { expect, ops: vec![put] })
        }
        Call::List { of } => list(&of)?,
        Call::Remove { effects } => {
            let remove = |effect: Address| Ok(Op::Remove { contract: effect.contract()?.id, id: effect.id()? });
            Request::Apply(effects.into_iter().map(remove).collect::<Result<Vec<_>>>()?.into())
        }
        Call::Place { of, base, at, after, limit } => place(&of, &base, at.as_deref(), after, limit)?,
    })
}

impl Address {
    /// The contract of the effect.
    fn contract(&self) -> Result<&'static Contract> {
        effects_of(&self.of)
    }

    /// The id of the effect, which is unique in its contract.
    fn id(&self) -> Result<String> {
        let Self { of, key, branch } = self;
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

    fn put(
        self,
        attempt: u32,
        entry: serde_json::Map<String, serde_json::Value>,
        result: Option<PartName>,
        saved_at: i64,
        buffers: &mut Buffers,
    ) -> Result<Op> {
        let (contract, id) = (self.contract()?, self.id()?);
        let lineage = (contract.lineage_of)(&self.of.run, &self.of.ns);
        let entry = Entry { key: self.key, branch: self.branch, more: entry };
        let header = Header {
            sort_key: token(attempt),
            saved_at,
            meta: serde_json::to_vec(&entry)
                .map_err(|error| Error::invalid(format!("an effect cannot be written: {error}")))?,
            ..Header::new(contract.id, lineage, id)
        };
        Ok(Op::put(header, buffers.parts(result.into_iter().collect())?))
    }
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
fn token(attempt: u32) -> SortKey {
    SortKey::from_f64(f64::from(attempt))
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

fn find(effect: &Address) -> Result<Request> {
    let of = &effect.of;
    let contract = named(&of.space)?;
    let lineage = (contract.lineage_of)(&of.run, &of.ns);
    let start = Query::Start { contract: contract.id, lineage: lineage.clone() };
    let newest = Rows {
        contract: contract.id,
        lineage,
        from: RowsFrom::End,
        order: RowOrder::NewestFirst,
        limit: 1,
        sums: false,
    };
    let get = Query::Get { contract: effect.contract()?.id, id: effect.id()? };
    Ok(Request::ask(Query::All(vec![get, Query::Rows(newest), start, Query::Clock]), |answer| {
        let [found, newest, start, now] = answer.into_all()?;
        let origin = start.into_starts()?.first().and_then(|start| origin(contract, start));
        let newest = newest.into_rows()?.rows.into_iter().next().and_then(|row| id_of(contract, row.header));
        let now = now.into_clock()?;
        Response::one(Some(found.into_checkpoint()?), |found, response| {
            let effect = found.map(|found| {
                let parts = response.parts(found.payload);
                read(&found.header, parts)
            });
            Ok(Found { now, newest, origin, effect: effect.transpose()? })
        })
    }))
}

fn read(header: &Header, parts: Vec<PackedPart>) -> Result<Effect> {
    let entry = serde_json::from_slice(&header.meta).map_err(|_| damaged(&header.id))?;
    let (attempt, _) = header.sort_key.split_f64().ok_or_else(|| damaged(&header.id))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of attempts, which `token` has written"
    )]
    Ok(Effect { attempt: attempt as u32, saved_at: header.saved_at, entry, parts })
}

fn list(of: &Run) -> Result<Request> {
    let contract = effects_of(of)?;
    let lineage = (contract.lineage_of)(&of.run, &of.ns);
    let list = Query::List { contract: contract.id, of: Of::Lineage(lineage), before: None, limit: None };
    Ok(Request::ask(Query::All(vec![list, Query::Clock]), |answer| {
        let [headers, now] = answer.into_all()?;
        let headers = headers.into_headers()?;
        let effects = headers.iter().map(|header| read(header, Vec::new())).collect::<Result<_>>()?;
        Response::json(&Effects { now: now.into_clock()?, effects }).map(Some)
    }))
}

/// The checkpoint from which the lineage was forked, with the framework's names.
fn origin(contract: &Contract, start: &Start) -> Option<Origin> {
    let crate::record::Origin { lineage, id, .. } = start.origin()?;
    let Names { run, ns, id } = (contract.name_of)(lineage.clone(), Some(id.clone()));
    Some(Origin { run: run?, ns: ns.unwrap_or_default(), id: id? })
}

fn place(of: &Run, base: &str, at: Option<&str>, after: Option<Walked>, limit: usize) -> Result<Request> {
    let contract = named(&of.space)?;
    let key = |id: &str| (contract.id_of)(&of.run, &of.ns, id);
    let rows = |from, limit| {
        let (lineage, order) = ((contract.lineage_of)(&of.run, &of.ns), RowOrder::NewestFirst);
        Query::Rows(Rows { contract: contract.id, lineage, from, order, limit, sums: false })
    };
    let base = key(base);
    let from = match &after {
        Some(Walked { place, .. }) => {
            let (sort_key, seq) = parse_place(place).ok_or_else(|| Error::invalid("this is no place in a run"))?;
            RowsFrom::After(sort_key, seq)
        }
        None => at.map_or(RowsFrom::End, |at| RowsFrom::Id(key(at))),
    };
    let query = Query::All(vec![rows(RowsFrom::Id(base.clone()), 1), rows(from, limit)]);
    Ok(Request::ask(query, move |answer| {
        let [found, page] = answer.into_all()?;
        let page = page.into_rows()?;
        let place = if found.into_rows()?.rows.is_empty() {
            Place::Unknown
        } else if page.rows.is_empty() && after.is_none() {
            Place::NoSuchCheckpoint
        } else {
            place_in(&page, &base, after, limit)
        };
        Response::json(&place).map(Some)
    }))
}

/// Looks for the checkpoint with this id among the ancestors of the first row, or of the checkpoint before it. The rows are
/// those of a lineage, the newest first. A checkpoint without a parent follows the one before it.
fn place_in(page: &RowPage, base: &str, after: Option<Walked>, limit: usize) -> Place {
    // A later checkpoint of the same id in `TinyAgents` has the id as its group.
    let is = |header: &Header, id: &str| header.id == id || header.group == id;
    let mut is_first = after.is_none();
    let mut next = after.and_then(|walked| walked.ancestor);
    for Listed { header, .. } in &page.rows {
        if next.as_ref().is_some_and(|next| !is(header, next)) {
            continue;
        }
        if is(header, base) {
            return if is_first { Place::Same } else { Place::Before };
        }
        is_first = false;
        next.clone_from(&header.parent);
    }
    if let Some(last) = page.rows.last()
        && page.rows.len() == limit
    {
        return Place::Further(Walked { place: show_place(&last.header.sort_key, last.seq), ancestor: next });
    }
    let began = next.is_none_or(|next| page.origin.as_ref().is_some_and(|(origin, _)| *origin == next));
    // If an ancestor was removed, nobody knows what was before it.
    if began { Place::Beside } else { Place::Unknown }
}

/// The framework's id of a checkpoint.
fn id_of(contract: &Contract, header: Header) -> Option<String> {
    (contract.name_of)(Some(header.lineage), Some(header.id)).id
}
