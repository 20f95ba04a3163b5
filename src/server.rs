//! The options of a store on a server, and the passwords that JavaScript provides.

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use napi::Status;
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;

use crate::options::NativeOptions;
use crate::values::thrown;
use forkpoint_engine::backend::postgres::{self, url};
use forkpoint_engine::error::{Code, Error, Result};
use forkpoint_engine::target::Target;

type AskJavaScript = ThreadsafeFunction<u32, (), u32, Status, false, true>;

/// The password, or the error message of the user's function.
type Given = std::result::Result<String, String>;

/// The interval at which a waiting request checks whether the store is being closed.
const LOOK_FOR_CLOSING: Duration = Duration::from_millis(100);

/// Gets passwords from a JavaScript function.
#[derive(Clone)]
pub struct Passwords(Arc<Asking>);

struct Asking {
    ask: AskJavaScript,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last_request: u32,
    waiting: HashMap<u32, Sender<Given>>,
    /// The password that was given last.
    last: Option<String>,
}

impl Passwords {
    /// Creates the passwords. JavaScript calls `give_password` with the number that `ask` receives.
    pub fn new(ask: Function<'_, u32, ()>) -> napi::Result<Self> {
        let ask = ask.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        Ok(Self(Arc::new(Asking { ask, state: Mutex::default() })))
    }

    /// Delivers the answer to a request.
    pub fn give(&self, request: u32, given: Given) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(password) = &given {
            state.last = Some(password.clone());
        }
        if let Some(waiting) = state.waiting.remove(&request) {
            // The connection attempt may have ended since its request.
            let _ = waiting.send(given);
        }
    }

    /// Waits for a password, at most for the time that `left` returns. While the process ends, JavaScript no longer
    /// runs, so the previous password is used.
    fn ask(&self, left: &dyn Fn() -> Duration) -> Result<String> {
        let (waiting, answer) = channel();
        let (request, last) = {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.last_request = state.last_request.wrapping_add(1);
            let request = state.last_request;
            state.waiting.insert(request, waiting);
            (request, state.last.clone())
        };
        self.0.ask.call(request, ThreadsafeFunctionCallMode::NonBlocking);
        let begun = Instant::now();
        let given = loop {
            // Keep half of the time for connecting if there is a previous password. `left` shrinks during closing.
            let left = if last.is_some() { left().saturating_sub(begun.elapsed()) } else { left() };
            match answer.recv_timeout(left.min(LOOK_FOR_CLOSING)) {
                Err(RecvTimeoutError::Timeout) if left > LOOK_FOR_CLOSING => {}
                given => break given,
            }
        };
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(&request);
        match (given, last) {
            (Ok(Ok(password)), _) | (Err(_), Some(password)) => Ok(password),
            (Ok(Err(message)), _) => {
                Err(Error::new(Code::Unavailable, format!("the function for the password failed: {message}")))
            }
            (Err(_), None) => {
                Err(Error::new(Code::Unavailable, "the function for the password did not answer in time"))
            }
        }
    }
}

/// Sets the options that only servers have.
pub fn set_options(target: &mut Target, options: &NativeOptions, passwords: Option<&Passwords>) -> Result<()> {
    let NativeOptions { schema, prefix, migrate, .. } = options;
    if let Target::Postgres(url) = target {
        for (key, given) in [("schema", schema), ("prefix", prefix), ("migrate", migrate)] {
            given.as_deref().map_or(Ok(()), |value| url.set(key, value))?;
        }
        if let Some(passwords) = passwords.cloned() {
            let ask = move |left: &dyn Fn() -> Duration| passwords.ask(left);
            url.ask = Some(url::Ask(Arc::new(ask)));
        }
        return Ok(());
    }
    let given = [("schema", schema.is_some()), ("prefix", prefix.is_some()), ("password", passwords.is_some())];
    let given = given.iter().find(|(_, given)| *given);
    given.map_or(Ok(()), |(name, _)| Err(Error::invalid(format!("option \"{name}\" is for a Postgres server only"))))
}

/// Returns the SQL that creates the tables on a Postgres server.
#[napi]
pub fn postgres_schema(schema: Option<String>, prefix: Option<String>) -> napi::Result<String, &'static str> {
    postgres::schema_script(schema.as_deref(), prefix.as_deref()).map_err(thrown)
}
