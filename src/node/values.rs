//! The shapes that cross the border. `ts/native.ts` declares the same ones.

use napi::bindgen_prelude::{
    ArrayBuffer, Buffer, BufferSlice, Either3, Env, FromNapiValue, Null, ToNapiValue, TypeName, type_of,
};
use napi::{ValueType, sys};
use napi_derive::napi;

use crate::contract::fields;
use crate::contract::response::Response;
use crate::error::{Error, Result};

/// Gives a buffer's memory back now. It counts for V8's collector, which would run for the sake of what nobody uses any more.
/// Nobody may be reading it, on any thread.
#[napi]
pub fn detach(buffer: ArrayBuffer) -> napi::Result<()> {
    buffer.detach()
}

/// An error that is thrown from the call itself; JavaScript sees its code as `error.code`.
pub fn thrown(error: Error) -> napi::Error<&'static str> {
    napi::Error::new(error.code().name(), error.message())
}

/// The value of a call's field.
pub struct Field(pub fields::Value);

impl FromNapiValue for Field {
    #[expect(unsafe_code, reason = "the trait's own signature: both are of the call under way, as napi passes them on")]
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        Ok(Self(match type_of!(env, value)? {
            ValueType::Undefined | ValueType::Null => fields::Value::Null,
            ValueType::Boolean => fields::Value::Bool(unsafe { bool::from_napi_value(env, value)? }),
            ValueType::Number => fields::Value::Number(unsafe { f64::from_napi_value(env, value)? }),
            _ => fields::Value::Text(unsafe { text(env, value)? }),
        }))
    }
}

/// Most ids are shorter, in bytes.
const SHORT: usize = 128;

/// A text. A short one is read in one go: napi asks for its length first, which takes as long again.
#[expect(
    unsafe_code,
    reason = "env and value are those of the call under way; the buffer is as long as it is said to be"
)]
unsafe fn text(env: sys::napi_env, value: sys::napi_value) -> napi::Result<String> {
    let mut short = [0_u8; SHORT];
    let mut length = 0;
    let status =
        unsafe { sys::napi_get_value_string_utf8(env, value, short.as_mut_ptr().cast(), SHORT, &raw mut length) };
    // A text that fills it may go on: a character of 4 bytes is not begun if it does not fit, nor is the NUL behind all.
    if status == sys::Status::napi_ok
        && length + 4 < SHORT
        && let Ok(text) = std::str::from_utf8(&short[..length])
    {
        return Ok(text.to_owned());
    }
    unsafe { String::from_napi_value(env, value) }
}

/// What a call rejects with: `ts/errors.ts` makes a `ForkpointError` of it.
#[napi(object, object_from_js = false)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
    pub retryable: bool,
    pub outcome_unknown: bool,
    pub cause: Option<Cause>,
}

/// What is beneath a failure: `error.cause` in JavaScript.
#[napi(object, object_from_js = false)]
pub struct Cause {
    pub message: String,
    pub code: Option<&'static str>,
    pub errno: Option<i32>,
}

impl Failure {
    /// An error to be thrown from the call itself, whose `failure` says what it is.
    pub fn thrown(self, env: &Env) -> napi::Error {
        let make = || {
            let mut error = env.create_error(napi::Error::from_reason(self.message.clone()))?;
            error.set("failure", self)?;
            Ok(error.into_unknown(env)?.into())
        };
        make().unwrap_or_else(|error| error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            code: error.code().name(),
            message: error.message().to_owned(),
            retryable: error.retryable(),
            outcome_unknown: error.outcome_unknown(),
            cause: error.cause().map(|cause| Cause {
                message: cause.to_string(),
                code: cause.code(),
                errno: cause.number(),
            }),
        }
    }
}

// Outcomes cross as arrays: setting an element costs Node-API a fraction of setting a named property.

/// The outcome of one call: its id, then the value or the error.
#[napi(array, object_from_js = false)]
pub struct Settled(pub u32, pub Value, pub Option<Failure>);

impl Settled {
    pub fn new(call_id: u32, outcome: Result<Option<Response>>) -> Self {
        match outcome {
            Ok(response) => Self(call_id, value(response), None),
            Err(error) => Self(call_id, Either3::A(Null), Some(error.into())),
        }
    }
}

/// A response with buffers: its text, then those.
#[napi(array, object_from_js = false)]
pub struct TextAndBuffers(pub String, pub Vec<Blob>);

/// What a call resolves to: null, the text of a response, or that with its buffers.
pub type Value = Either3<Null, String, TextAndBuffers>;

pub fn value(response: Option<Response>) -> Value {
    match response {
        None => Either3::A(Null),
        Some(Response { text, buffers }) if buffers.is_empty() => Either3::B(text),
        Some(Response { text, buffers }) => Either3::C(TextAndBuffers(text, buffers.into_iter().map(Blob).collect())),
    }
}

/// Bytes for JavaScript: small ones are copied into its heap, large ones are handed over.
pub struct Blob(pub Vec<u8>);

/// Up to here a copy costs less than what the collector does for memory that is not its own.
const COPIED: usize = 32 << 10;

impl TypeName for Blob {
    fn type_name() -> &'static str {
        "Buffer"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ToNapiValue for Blob {
    #[expect(
        unsafe_code,
        reason = "the trait's own signature: env is the one of the call under way, which napi passes on"
    )]
    unsafe fn to_napi_value(env: sys::napi_env, Self(bytes): Self) -> napi::Result<sys::napi_value> {
        if bytes.len() > COPIED {
            return unsafe { Buffer::to_napi_value(env, bytes.into()) };
        }
        let copy = BufferSlice::copy_from(&Env::from_raw(env), bytes)?;
        unsafe { <&BufferSlice>::to_napi_value(env, &copy) }
    }
}
