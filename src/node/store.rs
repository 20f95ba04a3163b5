//! The native handle of a store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use napi::bindgen_prelude::{Either5, Env, Uint8ArraySlice};
use napi_derive::napi;

use super::mailbox::{Bridge, Mailbox};
use super::values::{NOTHING, Settled, Value};
use crate::backend::sqlite::Durability;
use crate::error::{Error, Result};
use crate::lane::Reply;
use crate::store::{Options, Store};
use crate::target::Target;

/// From here on a reference costs less than a copy.
const REFERENCED: usize = 64 << 10;

/// An error that is thrown from the call itself; JavaScript sees its code as `error.code`.
pub fn thrown(error: Error) -> napi::Error<&'static str> {
    napi::Error::new(error.code().name(), error.message())
}

/// The options, checked and filled in by `ts/options.ts`.
#[napi(object, object_to_js = false)]
pub struct NativeOptions {
    pub durability: String,
    pub busy_timeout: f64,
    pub max_payload_bytes: f64,
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
        let max_payload_bytes = self.max_payload_bytes as usize;
        let busy_timeout = Duration::try_from_secs_f64(self.busy_timeout / 1000.0)
            .map_err(|_| Error::invalid("busyTimeout is out of range"))?;
        Ok(Options {
            durability,
            busy_timeout,
            max_payload_bytes: max_payload_bytes.min(Options::LARGEST_PAYLOAD_BYTES),
        })
    }
}

#[napi]
pub struct NativeStore {
    store: Arc<Store>,
    mailbox: Arc<Mailbox>,
}

#[napi]
impl NativeStore {
    #[napi(constructor)]
    pub fn new(bridge: &Bridge, target: String, options: NativeOptions) -> napi::Result<Self, &'static str> {
        let store = Target::parse(&target)
            .and_then(|target| Store::open(&target, options.read()?))
            .map_err(thrown)
            .map(Arc::new)?;
        bridge.mailbox.look_after(&store);
        Ok(Self { store, mailbox: Arc::clone(&bridge.mailbox) })
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
pub fn nothing((): ()) -> Result<Value> {
    Ok(NOTHING)
}
