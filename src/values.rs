//! The values that pass between JavaScript and Rust. `ts/bridge/native.ts` declares the same types.

use napi::bindgen_prelude::{
    ArrayBuffer, Buffer, BufferSlice, Either3, Env, FromNapiValue, Null, ToNapiValue, TypeName, type_of,
};
use napi::{ValueType, sys};
use napi_derive::napi;

use forkpoint_engine::contract::fields;
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::error::{Error, Result};
use forkpoint_engine::store::Warning;

/// Frees the memory of a buffer immediately, instead of at the next garbage collection.
///
/// V8 counts this memory until it is freed, and collects garbage earlier because of it. No thread may read the buffer
/// after this call. `detachBuffers` calls it after the buffer's call was answered.
#[napi]
pub fn detach(buffer: ArrayBuffer) -> napi::Result<()> {
    buffer.detach()
}

/// Converts an error into an error that the call itself throws. JavaScript sees the code as `error.code`.
pub fn thrown(error: Error) -> napi::Error<&'static str> {
    napi::Error::new(error.code().name(), error.message())
}

/// The value of one field of a call.
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

/// The size in bytes of the buffer for short texts. Most ids fit into this buffer.
const SHORT: usize = 128;

/// Reads a text. A short text is read in one step: napi would first ask for its length, which takes twice the time.
#[expect(
    unsafe_code,
    reason = "env and value are those of the call under way; the buffer is as long as it is said to be"
)]
unsafe fn text(env: sys::napi_env, value: sys::napi_value) -> napi::Result<String> {
    let mut short = [0_u8; SHORT];
    let mut length = 0;
    let status =
        unsafe { sys::napi_get_value_string_utf8(env, value, short.as_mut_ptr().cast(), SHORT, &raw mut length) };
    // If fewer than 5 bytes of the buffer are free after a text, the text may be cut off: Node-API stops before a
    // character (up to 4 bytes) that does not fit, and appends a NUL.
    if status == sys::Status::napi_ok
        && length + 4 < SHORT
        && let Ok(text) = std::str::from_utf8(&short[..length])
    {
        return Ok(text.to_owned());
    }
    unsafe { String::from_napi_value(env, value) }
}

/// The error of a call. `ts/bridge/errors.ts` converts it into a `ForkpointError`.
#[napi(object, object_from_js = false)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
    pub retryable: bool,
    pub outcome_unknown: bool,
    pub cause: Option<Cause>,
    pub lessee: Option<Lessee>,
}

/// The process whose lease forbids the write: `error.lease` in JavaScript.
#[napi(object, object_from_js = false)]
pub struct Lessee {
    pub id: String,
    pub holder: String,
    pub until: i64,
}

/// The underlying error of a failure: `error.cause` in JavaScript.
#[napi(object, object_from_js = false)]
pub struct Cause {
    pub message: String,
    pub code: Option<&'static str>,
    pub errno: Option<i32>,
}

impl Failure {
    /// Converts the failure into an error that the call itself throws. The property `failure` of the error has the
    /// details.
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
            lessee: error.lessee().map(|lessee| Lessee {
                id: lessee.id.clone(),
                holder: lessee.holder.clone(),
                until: lessee.until,
            }),
        }
    }
}

// Outcomes are arrays in JavaScript, because Node-API sets array elements much faster than named properties.

/// The outcome of one call: its id, then the value or the error.
#[napi(array, object_from_js = false)]
pub struct Settled(pub u32, pub Value, pub Option<Failure>);

impl Settled {
    pub fn new(call_id: u32, outcome: Result<Option<Response>>) -> Self {
        let (value, failure) = settled(outcome);
        Self(call_id, value, failure)
    }

    /// A warning about the store at `target`. The failure has the code of the warning.
    pub fn warning(call_id: u32, target: &str, Warning { code, error }: Warning) -> Self {
        Self(call_id, Either3::B(target.to_owned()), Some(Failure { code, ..error.into() }))
    }

    /// Another event, as JSON.
    pub fn event(call_id: u32, json: String) -> Self {
        Self(call_id, Either3::B(json), None)
    }
}

/// A response with buffers: the text, then the buffers.
#[napi(array, object_from_js = false)]
pub struct TextAndBuffers(pub String, pub Vec<Blob>);

/// The value that a call resolves to: null, the text of a response, or the text with its buffers.
pub type Value = Either3<Null, String, TextAndBuffers>;

/// Converts a response for JavaScript.
pub fn value(response: Option<Response>) -> Value {
    match response {
        None => Either3::A(Null),
        Some(Response { text, buffers }) if buffers.is_empty() => Either3::B(text),
        Some(Response { text, buffers }) => Either3::C(TextAndBuffers(text, buffers.into_iter().map(Blob).collect())),
    }
}

/// Converts an outcome for JavaScript: the value or the error.
pub fn settled(outcome: Result<Option<Response>>) -> (Value, Option<Failure>) {
    match outcome {
        Ok(response) => (value(response), None),
        Err(error) => (Either3::A(Null), Some(error.into())),
    }
}

/// Bytes for JavaScript. A small blob is copied into JavaScript's heap. A large one is handed over without a copy.
pub struct Blob(pub Vec<u8>);

/// A blob of at most this many bytes is copied, because a copy costs less than garbage collection of external memory.
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
