//! Serialised values as JSON text and back. The way back gives exactly the same bytes.
//!
//! The module knows two serializers: `json`, and `v8` as `ts/bridge/serializer.ts` writes it (version 15 of V8's format, with
//! typed arrays as host objects). Values of other serializers have no JSON form here.
//!
//! # What JSON lacks
//!
//! | value | JSON |
//! |---|---|
//! | undefined, a hole in an array | `{"$type":"Undefined"}`, `{"$type":"Hole"}` |
//! | NaN, Infinity, -Infinity, -0 | `{"$type":"Number","value":"NaN"}`; a NaN with other bits has `"bits"`: 16 hex digits |
//! | a bigint | `{"$type":"BigInt","value":"-12"}` |
//! | a Date | `{"$type":"Date","value":"2026-01-31T12:00:00.000Z"}`; null if the date is invalid |
//! | a `RegExp` | `{"$type":"RegExp","value":"a+","flags":"gi"}` |
//! | a Map | `{"$type":"Map","value":[[key,value],...]}` |
//! | a Set | `{"$type":"Set","value":[member,...]}` |
//! | bytes | `{"$type":"Bytes","value":"<base64>","view":"Uint8Array"}`; the view is the class: a typed array, `DataView`, `Buffer` or `ArrayBuffer`; a resizable `ArrayBuffer` has `"max"`: its largest length in bytes |
//! | an Error | `{"$type":"Error","value":{"name":...,"message":...,"cause":...,"stack":...}}`; each key may be missing |
//! | a boxed primitive, such as `Object(1)` | `{"$type":"Boxed","value":1.0}` |
//! | an object that occurs again | `{"$type":"Ref","value":"a.b[0]"}`: the path to its first occurrence |
//! | an object that has a key `$type` | `{"$type":"Object","value":[[key,value],...]}` |
//! | an array with named properties | `{"$type":"Array","value":[...],"properties":[[key,value],...]}` |
//! | an array that consists mostly of holes, or has holes and named properties | `{"$type":"Array","length":1000,"properties":[["7",value],...]}` |
//!
//! A path is empty for the root. A step is `.key`, `["any key"]` or `[0]`, and the first dot is left out. A Map is
//! indexed by its string keys. `[2]` is the value of a Map's third entry if its key is no string, and the third member
//! of a Set. `[#2]` is the key of a Map's third entry.
//!
//! # What the notation tells
//!
//! V8 has several encodings for some values. Which one it chooses depends on the history of the value, so the way back
//! must know it. JSON has several notations for the same values, so the notation tells the encoding. Any JSON reader
//! reads the right value. A tool that writes the text anew may change the notation: the value stays the same, and the
//! bytes do not.
//!
//! - `1` is a 32-bit integer. `1.0` is a double. An integer outside the range of 32 bits is always a double.
//! - A string that V8 holds as UTF-16 although Latin-1 would do has a character that is escaped without need:
//!   `"\u0061bc"`. V8 makes such strings when it cuts a text that has other characters elsewhere.
//! - An array that V8 writes as sparse begins with a space: `[ 1,2]`. V8 writes an array as sparse if it ever had a
//!   hole. `ts/bridge/snapshot.ts` makes such arrays when it copies a value.
//!
//! # What has no JSON
//!
//! These values of V8's format have no JSON, so that callers store their bytes: values nested deeper than 1,501 levels,
//! bigints of more than 8,192 bits, strings that V8 holds as UTF-16 although they consist of control characters only,
//! and values with so many references with long paths that the text would be too long. Values of `json` have none if
//! their text has line breaks, begins or ends with a space, or has spaces in an object that has a key `$type`.
//!
//! # Layout
//!
//! `decode` reads V8's format and writes JSON. `encode` does the opposite. Both keep their own stack, so that a deeply
//! nested value cannot overflow the thread's stack. `plain` is for values of the serializer `json`. `scan` and `reader`
//! read JSON, `text` writes strings and numbers, and `path` is for references.

mod base64;
mod bigint;
mod date;
mod decode;
mod encode;
mod path;
mod plain;
#[cfg(test)]
mod props;
mod reader;
mod scalar;
mod scan;
mod tags;
#[cfg(test)]
mod tests;
mod text;

use crate::error::{Code, Error, Result, quote};

/// The deepest nesting of values. `ts/bridge/snapshot.ts` refuses a value whose path has more than 1,500 keys.
const DEEPEST: usize = 1_501;

/// Returns a serialised value as one line of JSON.
///
/// Returns `None` if the bytes have no JSON form from which [`from_json`] gives exactly these bytes. The text is at most
/// 32 times as long as the bytes, plus 4 KiB.
pub fn to_json(tag: &str, bytes: &[u8]) -> Option<String> {
    let text = match tag {
        "json" => plain::to_json(bytes)?,
        "v8" => decode::decode(bytes)?,
        _ => return None,
    };
    let back = from_json(tag, &text).ok()?;
    (back == bytes).then_some(text)
}

/// Returns the serialised value of a JSON text that [`to_json`] returned, or that was edited after that.
///
/// The result for an edited text has the right form. But V8 may still refuse it, for example because of a regular
/// expression that does not compile.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if the text is not JSON or not of this form. The message has the byte offset. `UNSUPPORTED` if the
/// values of this serializer have no JSON form.
pub fn from_json(tag: &str, text: &str) -> Result<Vec<u8>> {
    match tag {
        "json" => plain::from_json(text),
        "v8" => encode::encode(text),
        _ => Err(Error::new(
            Code::Unsupported,
            format!("values of the serializer {} have no JSON form: use their bytes", quote(tag)),
        )),
    }
}
