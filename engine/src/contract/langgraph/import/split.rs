//! Finds the values of the channels in a checkpoint that a `SqliteSaver` has stored as one JSON text.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::record::Part;

/// Splits a serialized checkpoint into the parts that a put of the checkpoint would store: one for each channel, and one
/// for the rest. The values keep their bytes.
///
/// Returns `None` if the text is not the JSON of a checkpoint, or is unusual JSON. Then only the serializer can read it.
pub fn split(checkpoint: &[u8]) -> Option<Vec<Part>> {
    let Object(fields) = serde_json::from_slice(checkpoint).ok()?;
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    let Object(versions) = serde_json::from_str(field("channel_versions")?.get()).ok()?;
    let values = match field("channel_values") {
        Some(values) => serde_json::from_str::<Object<'_>>(values.get()).ok()?.0,
        None => Vec::new(),
    };
    let mut rest = String::from("{");
    for (key, value) in fields.iter().filter(|(key, _)| key != "channel_values") {
        if rest.len() > 1 {
            rest.push(',');
        }
        rest += &serde_json::to_string(key).ok()?;
        rest.push(':');
        rest += value.get();
    }
    rest.push('}');
    let part = |name: String, text: &str| Part {
        name,
        tag: "json".to_owned(),
        bytes: Bytes::copy_from_slice(text.as_bytes()).into(),
    };
    let mut parts = vec![part(String::new(), &rest)];
    for (channel, value) in values {
        let version = match versions.iter().find(|(key, _)| *key == channel) {
            Some((_, version)) => version_text(version.get())?,
            None => "0".to_owned(),
        };
        parts.push(part(format!("{channel}\0{version}"), value.get()));
    }
    parts.sort_by(|a, b| a.name.cmp(&b.name));
    Some(parts)
}

/// Returns a version as JavaScript writes it into a text.
fn version_text(json: &str) -> Option<String> {
    if json.starts_with('"') {
        return serde_json::from_str(json).ok();
    }
    let plain = json.len() <= 15 && json.bytes().all(|byte| byte.is_ascii_digit());
    (plain && (json == "0" || !json.starts_with('0'))).then(|| json.to_owned())
}

/// The entries of a JSON object, in their order. No key repeats.
struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Object<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut entries: Vec<(String, &'de RawValue)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    // JavaScript treats this key differently in an object.
                    if key == "__proto__" || entries.iter().any(|(known, _)| *known == key) {
                        return Err(serde::de::Error::custom("an unusual key"));
                    }
                    entries.push((key, value));
                }
                Ok(Object(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(checkpoint: &str) -> Option<Vec<(String, String)>> {
        let text = |part: Part| (part.name, String::from_utf8(part.bytes.to_vec()).unwrap());
        split(checkpoint.as_bytes()).map(|parts| parts.into_iter().map(text).collect())
    }

    #[test]
    fn values_keep_their_bytes() {
        let checkpoint = r#"{"v":4,"id":"1","channel_values":{"b":[1, "\ud800"],"a":{"lc":2}},"channel_versions":{"a":7,"b":"0.é"},"x":"é"}"#;
        let named = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let expected = vec![
            named("", r#"{"v":4,"id":"1","channel_versions":{"a":7,"b":"0.é"},"x":"é"}"#),
            named("a\u{0}7", r#"{"lc":2}"#),
            named("b\u{0}0.é", r#"[1, "\ud800"]"#),
        ];
        assert_eq!(texts(checkpoint), Some(expected));
        let unversioned = r#"{"channel_values":{"a":1},"channel_versions":{}}"#;
        assert_eq!(texts(unversioned).unwrap()[1], named("a\u{0}0", "1"));
        assert_eq!(texts(r#"{"channel_versions":{}}"#).unwrap().len(), 1);
    }

    #[test]
    fn what_is_unusual_is_left_to_the_serializer() {
        for checkpoint in [
            "",
            "[]",
            "null",
            r#"{"channel_values":{}}"#,
            r#"{"channel_versions":[]}"#,
            r#"{"channel_versions":{},"channel_values":[]}"#,
            r#"{"channel_versions":{"a":1.5},"channel_values":{"a":1}}"#,
            r#"{"channel_versions":{"a":1e3},"channel_values":{"a":1}}"#,
            r#"{"channel_versions":{"a":-1},"channel_values":{"a":1}}"#,
            r#"{"channel_versions":{"a":null},"channel_values":{"a":1}}"#,
            r#"{"channel_versions":{},"channel_versions":{}}"#,
            r#"{"channel_versions":{},"channel_values":{"\ud800":1}}"#,
            r#"{"channel_versions":{},"__proto__":1}"#,
            r#"{"channel_versions":{}} x"#,
        ] {
            assert_eq!(texts(checkpoint), None, "{checkpoint}");
        }
        assert_eq!(split(b"{\"channel_versions\":{},\"x\":\"\xff\"}").map(|parts| parts.len()), None);
    }
}
