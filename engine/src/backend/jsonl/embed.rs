//! Values in lines. JSON text is embedded as it is, byte for byte. Every other value is stored as base64.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::value::RawValue;

/// The deepest nesting that is embedded. Many readers of JSON refuse texts that are nested deeper than 128 levels, and
/// the line itself takes a few of them.
const DEEPEST: usize = 100;

/// Returns the bytes as text, if they are one line of JSON without spaces around it.
fn as_json(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?;
    let json: &RawValue = serde_json::from_str(text).ok()?;
    (json.get() == text && !text.contains(['\n', '\r']) && depth(bytes) <= DEEPEST).then_some(text)
}

/// Appends the fields that hold a value: its tag, and either `value` or `base64`.
pub(super) fn push(out: &mut String, tag: &str, bytes: &[u8]) {
    out.push_str("\"tag\":");
    push_text(out, tag);
    out.push(',');
    push_named(out, ["value", "base64"], bytes);
}

/// Appends the field that holds a value. The field has the first name if the value is embedded as JSON, and otherwise
/// the second.
pub(super) fn push_named(out: &mut String, [value, text]: [&str; 2], bytes: &[u8]) {
    if let Some(json) = as_json(bytes) {
        out.extend(["\"", value, "\":", json]);
    } else {
        out.extend(["\"", text, "\":\""]);
        BASE64_STANDARD.encode_string(bytes, out);
        out.push('"');
    }
}

/// Appends a text as JSON.
pub(super) fn push_text(out: &mut String, text: &str) {
    // Writing a text to memory does not fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Returns the bytes that [`push`] wrote. Returns `None` if the fields are not as [`push`] writes them.
pub(super) fn bytes(value: Option<&RawValue>, text: Option<&str>) -> Option<Vec<u8>> {
    match (value, text) {
        (Some(value), None) => Some(value.get().as_bytes().to_vec()),
        (None, Some(text)) => BASE64_STANDARD.decode(text).ok(),
        _ => None,
    }
}

/// The depth of nesting of a JSON text.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pushed(tag: &str, bytes: &[u8]) -> String {
        let mut out = "{".to_owned();
        push(&mut out, tag, bytes);
        out + "}"
    }

    #[derive(serde::Deserialize)]
    struct Fields<'a> {
        tag: String,
        #[serde(borrow, default, deserialize_with = "super::super::line::some")]
        value: Option<&'a RawValue>,
        base64: Option<String>,
    }

    fn read(line: &str) -> Vec<u8> {
        let fields: Fields<'_> = serde_json::from_str(line).unwrap();
        assert!(!fields.tag.is_empty());
        bytes(fields.value, fields.base64.as_deref()).unwrap()
    }

    #[test]
    fn json_is_embedded_where_that_is_exact() {
        let deep = |levels| "[".repeat(levels) + &"]".repeat(levels);
        for text in ["null", "{\"a\": 1e400,  \"a\":[\"\\ud800 \u{2028}\\\"[\"]}", "\"\"", "-0", "1.0", &deep(100)] {
            let line = pushed("json", text.as_bytes());
            assert!(line.contains(&format!("\"value\":{text}")), "{line}");
            assert_eq!(read(&line), text.as_bytes());
        }
        let deep = deep(101);
        for bytes in [&b""[..], b" 1", b"1 ", b"[1,\n2]", b"{", b"\xff", b"1 2", deep.as_bytes()] {
            let line = pushed("json", bytes);
            assert!(line.contains("\"base64\":"), "{line}");
            assert_eq!(read(&line), bytes);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(tag in ".{1,5}", text in "[\\[\\]{}\",:0-9a\\\\ \n]{0,9}") {
            prop_assert_eq!(read(&pushed(&tag, text.as_bytes())), text.as_bytes());
        }
    }
}
