//! The native handle of a store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use napi::bindgen_prelude::{Either5, Env, Uint8ArraySlice};
use napi_derive::napi;

use super::mailbox::{Bridge, Mailbox};
use super::values::{self, Cursor, Failure, NOTHING, Settled, Value};
use crate::backend::sqlite::Durability;
use crate::error::{Error, Result};
use crate::lane::Reply;
use crate::op::Unit;
use crate::query::{Answer, Query};
use crate::record::Space;
use crate::retention::{self, Policy, Prune, Rule};
use crate::store::{Options, Store};
use crate::target::Target;

/// From here on a reference costs less than a copy.
const REFERENCED: usize = 64 << 10;

/// An error about the arguments, thrown from the call itself; JavaScript sees its code as `error.code`. One that may have a
/// cause is thrown by [`Failure::thrown`](super::values::Failure::thrown).
pub fn thrown(error: Error) -> napi::Error<&'static str> {
    napi::Error::new(error.code().name(), error.message())
}

/// The options, checked and filled in by `ts/options.ts`.
#[napi(object, object_to_js = false)]
pub struct NativeOptions {
    pub durability: String,
    pub busy_timeout: f64,
    pub max_payload_bytes: f64,
    pub cache_bytes: f64,
    /// This and the next two: undefined is no limit.
    pub keep_last_n: Option<i64>,
    pub ttl: Option<i64>,
    pub max_bytes: Option<i64>,
}

impl NativeOptions {
    fn read(&self) -> Result<Options> {
        let durability = match self.durability.as_str() {
            "full" => Durability::Full,
            "normal" => Durability::Normal,
            "off" => Durability::Off,
            other => return Err(Error::invalid(format!("durability is {other:?}"))),
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in range, checked")]
        let whole = |number: f64| number as usize;
        let busy_timeout = Duration::try_from_secs_f64(self.busy_timeout / 1000.0)
            .map_err(|_| Error::invalid("busyTimeout is out of range"))?;
        Ok(Options {
            durability,
            busy_timeout,
            max_payload_bytes: whole(self.max_payload_bytes).min(Options::LARGEST_PAYLOAD_BYTES),
            cache_bytes: whole(self.cache_bytes),
            retention: Policy {
                keep_last: self.keep_last_n.map(i64::unsigned_abs),
                ttl: self.ttl,
                max_bytes: self.max_bytes.map(i64::unsigned_abs),
            },
        })
    }
}

/// A rule of retention: exactly one of them is there.
#[napi(object, object_to_js = false)]
pub struct NativeRule {
    pub saved_before: Option<i64>,
    pub keep_last: Option<i64>,
    pub max_bytes: Option<i64>,
}

impl NativeRule {
    fn read(&self) -> Result<Rule> {
        match (self.saved_before, self.keep_last, self.max_bytes) {
            (Some(time), None, None) => Ok(Rule::SavedBefore(time)),
            (None, Some(keep), None) => Ok(Rule::KeepLast(keep.unsigned_abs())),
            (None, None, Some(bytes)) => Ok(Rule::MaxBytes(bytes.unsigned_abs())),
            _ => Err(Error::invalid("a rule of retention is one rule")),
        }
    }
}

#[napi]
pub struct NativeStore {
    /// The file, where there is one.
    place: Option<String>,
    store: Arc<Store>,
    mailbox: Arc<Mailbox>,
}

#[napi]
impl NativeStore {
    #[napi(constructor)]
    pub fn new(env: &Env, bridge: &Bridge, target: String, options: NativeOptions) -> napi::Result<Self> {
        let open = || {
            let target = Target::parse(&target)?;
            let store = Store::open(&target, options.read()?)?;
            Ok((target, Arc::new(store)))
        };
        let (target, store) = open().map_err(|error: Error| Failure::from(error).thrown(env))?;
        bridge.mailbox.look_after(&store);
        let place = match &target {
            Target::Memory => None,
            Target::Sqlite(path) => Some(path.to_string_lossy().into_owned()),
        };
        // Weak: a store that nobody uses any more must not keep the mailbox.
        let mailbox = Arc::downgrade(&bridge.mailbox);
        let name = format!("store \"{}\"", place.as_deref().unwrap_or("memory:"));
        store.on_warning(move |warning| {
            if let Some(mailbox) = mailbox.upgrade() {
                mailbox.warn(warning.context(&name));
            }
        });
        Ok(Self { place, store, mailbox: Arc::clone(&bridge.mailbox) })
    }

    /// The absolute path of its file: two stores with the same one hold the same. Null for memory.
    #[napi(getter)]
    pub fn place(&self) -> Option<String> {
        self.place.clone()
    }

    /// Resolves when the target is open, to what the user should hear about it or null.
    #[napi]
    pub fn ready(&self, ticket: u32) -> Option<Settled> {
        self.submit(ticket, |notice: Option<String>| Ok(notice.map_or(NOTHING, Either5::B)), Store::ready)
    }

    /// Resolves when everything handed in before is done and the target is closed.
    #[napi]
    pub fn close(&self, ticket: u32) -> Option<Settled> {
        self.submit(ticket, nothing, Store::close)
    }

    /// Bytes that a serializer has made, and that nobody but the store knows: `ts/serializer.ts` sees to that. Large ones
    /// are used where they are and let go on JavaScript's thread; small ones, and those that stay in memory, are copied.
    pub(super) fn take(&self, env: &Env, bytes: Uint8ArraySlice<'_>) -> napi::Result<Bytes> {
        if bytes.len() < REFERENCED || self.store.is_inline() {
            return Ok(Bytes::copy_from_slice(&bytes));
        }
        Ok(Bytes::from_owner(bytes.into_typed_array(env)?))
    }

    /// Removes one batch of what the rule names, from where the batch before ended.
    #[napi]
    pub fn prune(
        &self,
        ticket: u32,
        space: Option<u8>,
        rule: NativeRule,
        cursor: Option<Cursor>,
        most: u32,
    ) -> Option<Settled> {
        let cursor = cursor.map_or_else(retention::Cursor::default, |cursor| retention::Cursor {
            after: cursor.after,
            total: cursor.total.map(i64::unsigned_abs),
        });
        let prune = rule.read().map(|rule| Prune { space: space.map(Space), rule, cursor, most: most as usize });
        self.submit(ticket, values::pruned, |store, reply| match prune {
            Ok(prune) => store.prune(prune, reply),
            Err(error) => reply.send(Err(error)),
        })
    }

    /// What all rules together would remove.
    #[napi]
    pub fn prunable(&self, ticket: u32, space: Option<u8>, rules: Vec<NativeRule>) -> Option<Settled> {
        let rules: Result<Vec<_>> = rules.iter().map(NativeRule::read).collect();
        let convert = |answer: Answer| values::pruned(answer.into_pruned()?);
        self.submit(ticket, convert, |store, reply| match rules {
            Ok(rules) => store.ask(Query::Prunable { space: space.map(Space), rules }, reply),
            Err(error) => reply.send(Err(error)),
        })
    }

    /// What there is, and so many of the largest lineages.
    #[napi]
    pub fn stats(&self, ticket: u32, space: Option<u8>, largest: u32) -> Option<Settled> {
        let query = Query::Stats { space: space.map(Space), largest: largest as usize };
        self.submit(ticket, values::stats, |store, reply| store.ask(query, reply))
    }

    /// Gives back what removed checkpoints took.
    #[napi]
    pub fn vacuum(&self, ticket: u32) -> Option<Settled> {
        self.submit(ticket, nothing, Store::vacuum)
    }

    /// Applies a unit, unless making it has failed.
    pub(super) fn apply(&self, ticket: u32, unit: Result<Unit>) -> Option<Settled> {
        self.submit(ticket, nothing, |store, reply| match unit {
            Ok(unit) => store.apply(unit, reply),
            Err(error) => reply.send(Err(error)),
        })
    }

    /// Runs a call whose outcome goes to the ticket: by mail, or at once if the store answers at once.
    pub(super) fn submit<T: 'static>(
        &self,
        ticket: u32,
        convert: impl FnOnce(T) -> Result<Value> + Send + 'static,
        run: impl FnOnce(&Store, Reply<T>),
    ) -> Option<Settled> {
        if self.store.is_inline() {
            let slot = Arc::new(Mutex::new(None));
            let filled = Arc::clone(&slot);
            run(
                &self.store,
                Reply::new(move |outcome: Result<T>| {
                    *filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome.and_then(convert));
                }),
            );
            let outcome = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            return Some(Settled::new(ticket, outcome.unwrap_or_else(|| Err(Error::poisoned()))));
        }
        let mailbox = Arc::clone(&self.mailbox);
        run(&self.store, Reply::new(move |outcome: Result<T>| mailbox.post(ticket, outcome.and_then(convert))));
        None
    }
}

/// Converts what resolves to undefined.
#[expect(clippy::unnecessary_wraps, reason = "the shape of a conversion")]
fn nothing((): ()) -> Result<Value> {
    Ok(NOTHING)
}
