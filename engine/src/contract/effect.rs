//! Effects: actions of a run on other systems, each with a key. An effect's result is stored once, for all later calls.
//!
//! The effects of a contract's runs have their own contract ([`Contract::effects`]). An effect is a checkpoint in a
//! lineage with the name of the run's lineage, so the removal of the run removes its effects too ([`follow`]). The sort
//! key is the token of the attempt. A process that takes an effect over writes a greater token, and the earlier process
//! can no longer write. An effect that was forgotten and begun again also has another token. `meta` is an entry as
//! JSON, and the payload is the result.
//!
//! A run with branches may have several effects with the same key. The number `branch` distinguishes them.

pub(super) mod stored;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use self::stored::{Address, Effect, Effects, Entry, Write, effect_id, key_of, list_query, listed, read};
use super::call::{PartName, RawCall, Request};
use super::entry::{Contract, Names};
use super::fields::exact;
use super::incarnation::is_incarnation;
use super::lease::Run;
use super::program;
use super::registry::{contract_of, named};
use super::response::Response;
use super::thread;
use super::types::CallTypes;
use crate::error::{Error, Result};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, Of, Query, RowOrder, Rows, RowsFrom};
use crate::record::{ContractId, Header, Listed, RowPage, SortKey, Start};

/// The name of the calls of effects, instead of a contract's name.
pub(super) const NAME: &str = "effect";
pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

/// Extends a unit that removes runs: also removes their effects, and the entries of programs about them.
pub(super) fn follow(unit: &mut Unit) {
    let with_effects =
        |id: ContractId| contract_of(id).filter(|_| !id.is_effects() && contract_of(id.effects()).is_some());
    let said = |contract: &Contract, lineage: &str| {
        let Names { run, ns, .. } = (contract.name_of)(Some(lineage.to_owned()), None);
        let ns = ns.unwrap_or_default();
        // The namespace of a subgraph has no entry.
        run.filter(|_| ns.is_empty() || !contract.subgraphs).map(|run| program::forget(contract.name, &run, &ns))
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

/// The effect's state when the writer read it.
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
struct Seen {
    token: i64,
    #[serde(deserialize_with = "exact")]
    saved_at: i64,
}

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Reads an effect.
    Find {
        effect: Address,
    },
    /// Begins an attempt. `seen` is the state to replace. `None`: the effect must not exist. Fails with `CONFLICT` if
    /// another process was faster. With `result`, the buffers have a part: the call copies an effect that has ended.
    Begin {
        effect: Address,
        seen: Option<Seen>,
        token: i64,
        entry: Entry,
        result: Option<PartName>,
        saved_at: i64,
        /// If given, fails with `CONFLICT` unless this is the newest checkpoint of the run.
        #[ts(optional)]
        newest: Option<String>,
        /// If given, fails with `CONFLICT` unless the run has this incarnation: see [`Found::incarnation`].
        #[serde(default)]
        #[ts(optional, type = "Exact | undefined")]
        incarnation: Option<i64>,
    },
    Write(Write),
    /// Lists the effects of a run, without their results.
    List {
        of: Run,
    },
    /// Forgets effects of a run. With `tokens`, fails with `CONFLICT` unless each effect still has its token.
    Remove {
        effects: Vec<Address>,
        #[ts(optional)]
        tokens: Option<Vec<i64>>,
    },
    /// The position of an effect relative to the checkpoint `at`.
    ///
    /// The effect began from the checkpoint `base`, when `newest` was the run's newest checkpoint. If `at` is not
    /// stored, it follows `from`, or the newest checkpoint. With `past`, `base` is a later checkpoint that the effect
    /// is visible from. `joins` selects the effects that the caller shares even if the run has moved on.
    Place {
        of: Run,
        base: String,
        newest: Option<String>,
        at: String,
        from: Option<String>,
        past: bool,
        joins: Option<Joins>,
    },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    find: Found,
    begin: (),
    write: (),
    list: Effects,
    remove: (),
    place: Position,
}

/// The effects that a late caller shares. A caller is late if the run has moved on since the effects began.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) enum Joins {
    /// The effects of the caller's own checkpoint, if stored. The caller asked for a branch at an earlier one.
    Checkpoint,
    /// The effects of the caller's own and of later checkpoints. The caller asked for no branch.
    Run,
}

/// The response to [`Call::Find`].
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Found {
    /// The time on the store's clock.
    now: i64,
    /// The id of the run's newest checkpoint.
    newest: Option<String>,
    /// The incarnation of the run. `None`: nothing of the run is stored.
    #[ts(type = "Exact | null")]
    incarnation: Option<i64>,
    origin: Option<Origin>,
    /// True if the run has an effect with the same key and the next number.
    more: bool,
    effect: Option<Effect>,
}

/// The checkpoint that a run was forked from, in another run.
#[derive(Serialize, TS)]
struct Origin {
    run: String,
    ns: String,
    id: String,
}

/// The response to [`Call::Place`].
#[derive(Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Position {
    at: Side,
    /// True if the checkpoint `at` is stored.
    stored: bool,
    /// For [`Side::Left`]: the ancestor that was not found.
    parent: Option<String>,
}

/// The position of an effect relative to a checkpoint.
#[derive(Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
enum Side {
    /// The effect's checkpoint is `at` without successors, or is the parent of `at`, which is not stored yet.
    Here,
    /// The effect is before `at`.
    Before,
    /// The effect is on another branch, or after `at`.
    Beside,
    /// The effect's checkpoint is not stored.
    Unknown,
    /// The effect is on another branch if the ancestor `parent` of `at` is stored. Otherwise it is unknown.
    Left,
}

/// Reads a call and returns the request to the engine.
pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Find { effect } => find(&effect)?,
        Call::Begin { effect, seen, token, entry, result, saved_at, newest, incarnation } => {
            let contract = effects_of(&effect.of)?;
            let absent = || vec![Must::NotBeSavedSince(i64::MIN)];
            let must = seen.map_or_else(absent, |seen| {
                vec![Must::HaveSortKey(key_of(seen.token)), Must::NotBeSavedSince(seen.saved_at.saturating_add(1))]
            });
            let newest = newest.map(|newest| is_newest(&effect.of, &newest)).transpose()?;
            let effects = must.into_iter().map(|must| effect.expected(contract, must)).collect::<Result<Vec<_>>>()?;
            let incarnation = incarnation.map(|position| has_incarnation(&effect.of, position)).transpose()?;
            let expect = newest.into_iter().chain(incarnation).chain(effects).collect();
            let put = effect.put(contract, token, entry, result, saved_at, &mut buffers)?;
            Request::Apply(Unit { expect, ops: vec![put] })
        }
        Call::Write(write) => {
            let contract = effects_of(&write.effect.of)?;
            Request::Apply(write.unit(contract, &mut buffers)?)
        }
        Call::List { of } => {
            Request::ask(list_query(effects_of(&of)?, &of), |answer| Response::json(&listed(answer)?).map(Some))
        }
        Call::Remove { effects, tokens } => {
            let must = |(effect, token): (&Address, i64)| {
                effect.expected(effects_of(&effect.of)?, Must::HaveSortKey(key_of(token)))
            };
            let expect = effects.iter().zip(tokens.unwrap_or_default()).map(must).collect::<Result<_>>()?;
            let remove = |effect: Address| Ok(Op::Remove { contract: effects_of(&effect.of)?.id, id: effect.id()? });
            Request::Apply(Unit { expect, ops: effects.into_iter().map(remove).collect::<Result<_>>()? })
        }
        Call::Place { of, base, newest, at, from, past, joins } => {
            position(&of, &base, newest.as_deref(), &at, from.as_deref(), past, joins)?
        }
    })
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

fn effects_of(of: &Run) -> Result<&'static Contract> {
    contract_of(named(&of.space)?.id.effects())
        .ok_or_else(|| Error::invalid(format!("runs of {:?} have no effects: please report this", of.space)))
}

/// The condition that this is the newest checkpoint of the run.
fn is_newest(of: &Run, id: &str) -> Result<Expect> {
    let contract = named(&of.space)?;
    let (lineage, id) = ((contract.lineage_of)(&of.run, &of.ns), (contract.id_of)(&of.run, &of.ns, id));
    Ok(Expect::Newest { contract: contract.id, lineage, newest: Some(id.clone()), or: id })
}

fn has_incarnation(of: &Run, position: i64) -> Result<Expect> {
    let contract = named(&of.space)?;
    Ok(is_incarnation(contract.anchor, (contract.lineage_of)(&of.run, &of.ns), position, "run", &of.run))
}

fn find(effect: &Address) -> Result<Request> {
    let of = &effect.of;
    let contract = named(&of.space)?;
    let lineage = (contract.lineage_of)(&of.run, &of.ns);
    let get = |branch| -> Result<Query> {
        let id = effect_id(of, &effect.key, branch)?;
        Ok(Query::Get { contract: effects_of(of)?.id, id })
    };
    let start = |contract| Query::Start { contract, lineage: lineage.clone() };
    let has_anchor = contract.anchor != contract.id;
    let anchor = has_anchor.then(|| start(contract.anchor));
    let newest = Query::List { contract: contract.id, of: Of::Lineage(lineage.clone()), before: None, limit: Some(1) };
    let all = [get(effect.branch)?, get(effect.branch.saturating_add(1))?, newest, Query::Clock, start(contract.id)];
    Ok(Request::ask(Query::All(all.into_iter().chain(anchor).collect()), move |answer| {
        let mut all = answer.into_list()?;
        let anchor = if has_anchor { all.pop() } else { None };
        let [found, later, newest, now, start] = Answer::All(all).into_all()?;
        let more = later.into_checkpoint()?.is_some();
        let newest = newest.into_headers()?.into_iter().next();
        let newest = newest.and_then(|header| id_of(contract, header));
        let start = start.into_starts()?;
        let origin = start.first().and_then(|start| origin_of(contract, start));
        let own = start.first().map(|start| start.position);
        let incarnation = anchor.map_or(Ok(own), Answer::into_position)?;
        let now = now.into_clock()?;
        Response::one(Some(found.into_checkpoint()?), |found, response| {
            let effect = found.map(|found| {
                let parts = response.parts(found.payload);
                read(&found.header, parts)
            });
            Ok(Found { now, newest, incarnation, origin, more, effect: effect.transpose()? })
        })
    }))
}

/// The checkpoint that a run was forked from, in another run, with the framework's names.
fn origin_of(contract: &Contract, start: &Start) -> Option<Origin> {
    let crate::record::Origin { lineage, id, .. } = start.origin()?;
    let Names { run, ns, id } = (contract.name_of)(lineage.clone(), Some(id.clone()));
    Some(Origin { run: run?, ns: ns.unwrap_or_default(), id: id? })
}

fn position(
    of: &Run,
    base: &str,
    newest: Option<&str>,
    at: &str,
    from: Option<&str>,
    past: bool,
    joins: Option<Joins>,
) -> Result<Request> {
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
        let history = History { rows: &rows, base: &base, origin: origin.as_deref(), past, joins };
        let (side, left) = history.side(newest.as_deref(), &at, stored, from.as_deref());
        let parent = left.and_then(|id| (contract.name_of)(None, Some(id.to_owned())).id);
        Response::json(&Position { at: side, stored, parent }).map(Some)
    }))
}

/// The checkpoints of a run since the base of an effect, the oldest first.
struct History<'a> {
    rows: &'a [Listed],
    base: &'a str,
    /// The checkpoint that the run was forked from, in another run.
    origin: Option<&'a str>,
    /// True: the effect is before every checkpoint that follows the base.
    past: bool,
    joins: Option<Joins>,
}

impl<'a> History<'a> {
    /// The position of the effect relative to the checkpoint `at`, and the id of the ancestor for [`Side::Left`].
    ///
    /// The first checkpoint that follows the base after the effect began is the effect's successor. All other
    /// checkpoints that follow the base begin other branches.
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
        // The checkpoint is before the base. The effect's run overtook a caller that asked for no branch.
        let Some(mut row) = begin else {
            let side = if self.joins == Some(Joins::Run) { Side::Here } else { Side::Beside };
            return if stored { (side, None) } else { (Side::Left, from) };
        };
        if self.is(row, self.base) {
            // A checkpoint that is not stored follows the base, and may begin another branch.
            let joins = self.joins.is_some_and(|joins| joins == Joins::Run || stored);
            return (if self.past || joins || successor.is_none() { Side::Here } else { Side::Beside }, None);
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

    /// The last row with this checkpoint id.
    fn position(&self, id: &str) -> Option<usize> {
        (0..self.rows.len()).rfind(|&row| self.is(row, id))
    }

    /// If an id was saved again, the later checkpoint has the id as its group.
    fn is(&self, row: usize, id: &str) -> bool {
        let header = &self.rows[row].header;
        header.id == id || header.group == id
    }

    /// A checkpoint without a parent follows the previous checkpoint.
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
