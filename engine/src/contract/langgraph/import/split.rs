//! Finds the channel values in a checkpoint that a `SqliteSaver` has stored as one JSON text.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::record::Part;

/// Splits a serialized checkpoint into the parts that a put would store: one for each channel, and one for the rest.
/// The values keep their bytes. Returns `None` if the text is not the JSON of a checkpoint, or is unusual JSON. Only
/// the serializer can then read it.
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

/// Returns a version in the text form of JavaScript.
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
