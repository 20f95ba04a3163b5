//! The stored form of effects. Code that knows its contract uses it directly, without the list of contracts.

use serde::{Deserialize, Serialize};
use ts_rs::{Config, TS, TypeVisitor};

use crate::contract::call::{Buffers, PartName};
use crate::contract::entry::Contract;
use crate::contract::ids::{check_id, damaged};
use crate::contract::lease::Run;
use crate::contract::response::PackedPart;
use crate::contract::thread;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{Header, SortKey};

/// The maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 1024;

/// Identifies an effect.
#[derive(Debug, Deserialize, TS)]
pub(super) struct Address {
    pub(super) of: Run,
    pub(super) key: String,
    /// 0 for the first effect with this key.
    pub(super) branch: u32,
}

/// A stored effect.
#[derive(Debug, Deserialize, Serialize, TS)]
pub(super) struct Keyed {
    key: String,
    branch: u32,
    #[serde(flatten)]
    entry: Entry,
}

/// The fields of an effect that TypeScript writes and reads. In TypeScript, they have the type [`EffectEntry`].
#[derive(Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct Entry(serde_json::Map<String, serde_json::Value>);

/// The stored data of an effect, without its result.
#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: the engine does not read these fields")]
struct EffectEntry {
    state: EffectState,
    idempotency_key: String,
    /// The number of attempts.
    attempts: u32,
    holder: String,
    /// The time at which a running effect counts as abandoned, in ms since the epoch on the store's clock.
    until: i64,
    /// The id of the checkpoint that the effect began from. Null: the run had none.
    #[ts(type = "null | string")]
    base: Option<String>,
    /// The id of a stored ancestor, because `base` may not have been stored yet. Null: `newest`.
    #[ts(type = "null | string")]
    from: Option<String>,
    /// The id of the run's newest checkpoint when the effect began.
    #[ts(type = "null | string")]
    newest: Option<String>,
    started_at: i64,
    #[ts(type = "null | number")]
    ended_at: Option<i64>,
    /// The error of the function, for people.
    #[ts(type = "null | string")]
    error: Option<String>,
}

/// The state of an effect. The public type `EffectState` in `ts/store/effect-wire.ts` has the same words.
#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: the engine does not read the state")]
enum EffectState {
    /// A process has begun it and has not recorded its end.
    Running,
    /// The result is recorded.
    Done,
    /// The function threw. The next call runs it again.
    Failed,
    /// The function threw, and the error is recorded in place of a result.
    Error,
}

impl TS for Entry {
    type OptionInnerType = Self;
    type WithoutGenerics = Self;

    fn name(config: &Config) -> String {
        EffectEntry::name(config)
    }

    fn inline(config: &Config) -> String {
        EffectEntry::inline(config)
    }

    fn inline_flattened(config: &Config) -> String {
        EffectEntry::inline_flattened(config)
    }

    fn visit_dependencies(visitor: &mut impl TypeVisitor) {
        visitor.visit::<EffectEntry>();
    }

    fn visit_generics(visitor: &mut impl TypeVisitor) {
        visitor.visit::<EffectEntry>();
    }
}

/// Writes an effect during an attempt: the renewed claim, or the end. With `result`, the buffers have a part. Fails
/// with [`Code::Conflict`] if another process has taken the effect over.
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::contract) struct Write {
    pub(super) effect: Address,
    token: i64,
    entry: Entry,
    result: Option<PartName>,
    saved_at: i64,
}

impl Write {
    /// `contract` is the contract of the effects.
    pub(in crate::contract) fn unit(self, contract: &Contract, buffers: &mut Buffers) -> Result<Unit> {
        let Self { effect, token, entry, result, saved_at } = self;
        let must = Must::HaveSortKey(key_of(token));
        let expect = vec![effect.expected(contract, must)?];
        Ok(Unit { expect, ops: vec![effect.put(contract, token, entry, result, saved_at, buffers)?] })
    }
}

/// An effect in a response.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct Effect {
    /// A process that takes the effect over writes a greater token.
    token: i64,
    saved_at: i64,
    #[serde(flatten)]
    keyed: Keyed,
    /// The result. Empty in a list of effects.
    parts: Vec<PackedPart>,
}

/// The effects of a run.
#[derive(Serialize, TS)]
pub(in crate::contract) struct Effects {
    /// The time on the store's clock.
    now: i64,
    effects: Vec<Effect>,
}

impl Address {
    pub(super) fn id(&self) -> Result<String> {
        effect_id(&self.of, &self.key, self.branch)
    }

    pub(super) fn put(
        self,
        contract: &Contract,
        token: i64,
        entry: Entry,
        result: Option<PartName>,
        saved_at: i64,
        buffers: &mut Buffers,
    ) -> Result<Op> {
        let id = self.id()?;
        let lineage = (contract.lineage_of)(&self.of.run, &self.of.ns);
        let keyed = Keyed { key: self.key, branch: self.branch, entry };
        let header = Header {
            sort_key: key_of(token),
            saved_at,
            meta: serde_json::to_vec(&keyed)
                .map_err(|error| Error::invalid(format!("an effect cannot be written: {error}")))?,
            ..Header::new(contract.id, lineage, id)
        };
        Ok(Op::put(header, buffers.parts(result.into_iter().collect())?))
    }

    /// The condition on the stored effect, which another process may have taken over.
    pub(super) fn expected(&self, contract: &Contract, must: Must) -> Result<Expect> {
        let message = format!(
            "the effect {} of run {} was taken over by another process: ask for it again",
            quote(&self.key),
            quote(&self.of.run)
        );
        let otherwise = Error::new(Code::Conflict, message);
        Ok(Expect::Checkpoint { contract: contract.id, id: self.id()?, must, otherwise })
    }
}

/// The id of an effect, unique in its contract.
pub(super) fn effect_id(of: &Run, key: &str, branch: u32) -> Result<String> {
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

/// The sort key of an attempt.
#[expect(clippy::cast_precision_loss, reason = "a number of JavaScript, which a double holds")]
pub(super) fn key_of(token: i64) -> SortKey {
    SortKey::from_f64(token as f64)
}

pub(super) fn read(header: &Header, parts: Vec<PackedPart>) -> Result<Effect> {
    let keyed = serde_json::from_slice(&header.meta).map_err(|_| damaged(&header.id))?;
    let (token, _) = header.sort_key.split_f64().ok_or_else(|| damaged(&header.id))?;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number, which `key_of` has written")]
    Ok(Effect { token: token as i64, saved_at: header.saved_at, keyed, parts })
}

/// The query for the effects of a run. `contract` is the contract of the effects. [`listed`] reads the answer.
pub(in crate::contract) fn list_query(contract: &Contract, of: &Run) -> Query {
    let lineage = (contract.lineage_of)(&of.run, &of.ns);
    let list = Query::List { contract: contract.id, of: Of::Lineage(lineage), before: None, limit: None };
    Query::All(vec![list, Query::Clock])
}

pub(in crate::contract) fn listed(answer: Answer) -> Result<Effects> {
    let [headers, now] = answer.into_all()?;
    let headers = headers.into_headers()?;
    let effects = headers.iter().map(|header| read(header, Vec::new())).collect::<Result<_>>()?;
    Ok(Effects { now: now.into_clock()?, effects })
}
