//! The native handle of a store.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;
use napi::bindgen_prelude::{
    Array, Either, Either3, Env, Function, FunctionCallContext, Uint8ArraySlice, Uint32ArraySlice,
};
use napi_derive::napi;

use crate::completion::{CompletionQueue, Completions};
use crate::options::NativeOptions;
use crate::server::{self, Passwords};
use crate::values::{Failure, Field, Value, value};
use forkpoint_engine::Reply;
use forkpoint_engine::contract::{self, call::RawCall};
use forkpoint_engine::error::Error;
use forkpoint_engine::record::Content;
use forkpoint_engine::store::{Options, Store};
use forkpoint_engine::target::Target;

/// A buffer of at least this many bytes is referenced, because a reference costs less than a copy of the buffer. A
/// smaller buffer is copied.
const REFERENCED: usize = 64 << 10;

#[napi]
pub struct NativeStore {
    /// The path of the database file or folder. `None` for a store in memory.
    database_path: Option<String>,
    pub(super) target: Target,
    passwords: Option<Passwords>,
    calls: Calls,
}

impl NativeStore {
    /// The store in the engine.
    pub(super) fn store(&self) -> &Arc<Store> {
        &self.calls.store
    }
}

#[napi]
impl NativeStore {
    #[napi(constructor)]
    pub fn new(
        env: &Env,
        completions: &Completions,
        target: String,
        options: NativeOptions,
        password: Option<Function<'_, u32, ()>>,
    ) -> napi::Result<Self> {
        let passwords = password.map(Passwords::new).transpose()?;
        let open = || {
            let mut target = Target::parse(&target)?;
            server::set_options(&mut target, &options, passwords.as_ref())?;
            let store = Store::open(&target, options.read()?)?;
            Ok((target, Arc::new(store)))
        };
        let (target, store) = open().map_err(|error: Error| Failure::from(error).thrown(env))?;
        completions.queue.look_after(&store);
        let database_path = match &target {
            Target::Memory => None,
            Target::Sqlite(path) | Target::Jsonl(path) => Some(path.to_string_lossy().into_owned()),
            Target::Postgres(url) => Some(url.identity()),
        };
        // The reference is weak, because a store that is no longer used must not keep the queue alive.
        let queue = Arc::downgrade(&completions.queue);
        let name = database_path.clone().unwrap_or_else(|| "memory:".to_owned());
        store.on_event(move |event| {
            if let Some(queue) = queue.upgrade() {
                queue.tell(&name, event);
            }
        });
        Ok(Self {
            database_path,
            target,
            passwords,
            calls: Calls { store, completions: Arc::clone(&completions.queue) },
        })
    }

    /// The absolute path of the database file or folder, or null for a store in memory. Stores with the same path share
    /// their data.
    #[napi(getter)]
    pub fn database_path(&self) -> Option<String> {
        self.database_path.clone()
    }

    /// Answers a request for the server's password. `password` is null if the user's function failed.
    #[napi]
    pub fn give_password(&self, request: u32, password: Option<String>, failure: Option<String>) {
        if let Some(passwords) = &self.passwords {
            passwords.give(request, password.ok_or_else(|| failure.unwrap_or_default()));
        }
    }

    /// Listens for changes of leases by other processes. The completion queue delivers them as events with this number.
    #[napi]
    pub fn listen(&self, number: u32) {
        self.calls.store.listen(number);
    }

    #[napi]
    pub fn stop_listening(&self) {
        self.calls.store.stop_listening();
    }

    /// Returns the function that runs calls on the store: see [`Calls::run`].
    #[napi]
    pub fn calls<'env>(&self, env: &'env Env) -> napi::Result<Function<'env, (), Outcome>> {
        let calls = self.calls.clone();
        // The function takes its arguments one by one. In an array, each item would cost another call of Node-API.
        env.create_function_from_closure("call", move |context| calls.run(&context))
    }
}

type Outcome = Either3<(), Value, Failure>;

/// The number of arguments before the buffers.
const BUFFERS_AT: usize = 4;

#[derive(Clone)]
struct Calls {
    store: Arc<Store>,
    completions: Arc<CompletionQueue>,
}

impl Calls {
    /// Runs a call of a contract.
    ///
    /// The arguments are: the call's id, whether it may be answered immediately, the number of the call's shape, the
    /// number of buffers, the buffers, and the values of the fields. A buffer may consist of pieces: see
    /// [`Calls::take_pieces`]. The shape has the field names, in the order of the values.
    ///
    /// Returns the outcome if it is available. Otherwise returns undefined, and the completion queue later delivers the
    /// outcome with the call's id.
    fn run(&self, context: &FunctionCallContext<'_>) -> napi::Result<Outcome> {
        let call_id: u32 = context.get(0)?;
        let at_once = context.get(1)?;
        let shape = self.completions.shape(context.get(2)?)?;
        let fields_at = BUFFERS_AT + context.get::<u32>(3)? as usize;
        // Check the number against the actual arguments before reserving memory.
        if fields_at > context.length() {
            return Err(napi::Error::from_reason("a call has fewer buffers than it says"));
        }
        let mut buffers = Vec::with_capacity(fields_at - BUFFERS_AT);
        for at in BUFFERS_AT..fields_at {
            buffers.push(match context.get(at)? {
                Either::A(bytes) => self.take(context.env, bytes)?.into(),
                Either::B(pieces) => self.take_pieces(&pieces)?,
            });
        }
        let mut values = Vec::with_capacity(context.length().saturating_sub(fields_at));
        for at in fields_at..context.length() {
            values.push(context.get::<Field>(at)?.0);
        }
        Ok(self.outcome(call_id, at_once, RawCall::new(&shape, values, buffers)))
    }

    fn outcome(&self, call_id: u32, at_once: bool, call: RawCall<'_>) -> Outcome {
        let slot = Arc::new(Mutex::new(None));
        let (filled, completions) = (Arc::clone(&slot), Arc::clone(&self.completions));
        let (caller, is_inline) = (thread::current().id(), self.store.is_inline());
        // All other outcomes go through the queue, even if they are available now, so that they arrive in order.
        let reply = Reply::new(move |outcome| {
            if is_inline || at_once && outcome.is_ok() && thread::current().id() == caller {
                *filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            } else {
                completions.push(call_id, outcome);
            }
        });
        contract::run(&self.store, call, at_once, reply);
        let outcome = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        match outcome {
            Some(Ok(response)) => Either3::B(value(response)),
            Some(Err(error)) => Either3::C(error.into()),
            None => Either3::A(()),
        }
    }

    /// Takes the bytes of a buffer from a serializer. `ts/bridge/serializer.ts` ensures that no other code uses the
    /// buffer.
    ///
    /// A large buffer is referenced, and is later released on JavaScript's thread. A small buffer is copied. A store in
    /// memory copies every buffer.
    ///
    /// JavaScript could write to a referenced buffer, or detach it, while a thread of the store reads it. It does
    /// neither. The buffer was made for this call by a serializer of the package, or copied from the output of the
    /// user's serializer (`formatOf`), and only the call has it. The call detaches it after success (`detachBuffers`),
    /// when the engine has finished reading the bytes.
    fn take(&self, env: &Env, bytes: Uint8ArraySlice<'_>) -> napi::Result<Bytes> {
        if bytes.len() < REFERENCED || self.store.is_inline() {
            return Ok(Bytes::copy_from_slice(&bytes));
        }
        Ok(Bytes::from_owner(bytes.into_typed_array(env)?))
    }

    /// Takes the pieces of a value, as `ts/bridge/native.ts` packs them. Refuses a piece that is not inside its chunk.
    /// The numbers are read once, while JavaScript waits.
    fn take_pieces(&self, pieces: &Array<'_>) -> napi::Result<Content> {
        let missing = || napi::Error::from_reason("a call refers to no chunk");
        let others: Uint8ArraySlice<'_> = pieces.get(0)?.ok_or_else(missing)?;
        let packed: Uint32ArraySlice<'_> = pieces.get(1)?.ok_or_else(missing)?;
        let others = Bytes::copy_from_slice(&others);
        let piece = |piece: &[u32]| {
            let &[chunk, start, length] = piece else { return None };
            let start = start as usize;
            let bytes = if chunk == 0 { others.clone() } else { self.completions.chunks.get(chunk)? };
            let end = start.checked_add(length as usize).filter(|end| *end <= bytes.len())?;
            Some(bytes.slice(start..end))
        };
        let pieces: Option<Vec<Bytes>> = packed.chunks(3).map(piece).collect();
        let pieces = pieces.ok_or_else(missing)?;
        // A store in memory keeps the bytes, so it gets a copy. A value that is too large for every store is not
        // copied: its pieces may overlap, and exceed the memory.
        let is_stored = pieces.iter().map(Bytes::len).sum::<usize>() <= Options::LARGEST_PAYLOAD_BYTES;
        let copies = self.store.is_inline() && is_stored;
        Ok(if copies { pieces.concat().into() } else { Content::of_pieces(pieces) })
    }
}
