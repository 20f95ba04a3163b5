//! Filters: conditions on the keys of a value.
//!
//! Only values in JSON are compared here. TypeScript compares values in other forms, and objects.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use ts_rs::TS;

/// A condition on a key. All conditions of a filter must hold.
#[derive(Clone, Debug, Deserialize, TS)]
pub(super) struct Condition {
    /// A literal key of the value itself.
    key: String,
    op: Comparison,
    /// One operand, or several of which one must match.
    operands: Vec<Operand>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum Comparison {
    In,
    Nin,
    Gt,
    Gte,
    Lt,
    Lte,
}

#[derive(Clone, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum Operand {
    /// The key is missing, or its value is undefined.
    Undefined,
    Null,
    Bool(bool),
    /// A number in JavaScript's text form, because JSON has no infinity.
    Number(
        #[serde(deserialize_with = "number")]
        #[ts(type = "string")]
        f64,
    ),
    Text(String),
    /// An object or a list.
    Composite,
    /// A value that equals no JSON value.
    Other,
    /// A value that only TypeScript can compare.
    Unsure,
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Cow::<str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// The result of a filter for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    No,
    Unsure,
    Yes,
}

impl Verdict {
    fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Unsure => Self::Unsure,
            Self::Yes => Self::No,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::No, Self::No) => Self::No,
            _ => Self::Unsure,
        }
    }
}

/// Decides whether a JSON object matches. Each key of the text is unique.
pub(super) fn decide(conditions: &[Condition], json: &[u8]) -> Verdict {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let mut found = vec![Found::Missing; conditions.len()];
    let is_whole = reader.deserialize_map(Wanted { conditions, found: &mut found }).is_ok();
    // If all keys were found, the rest of the text does not matter.
    if !is_whole && found.iter().any(Found::is_missing) {
        return Verdict::Unsure;
    }
    let mut verdict = Verdict::Yes;
    for (condition, value) in conditions.iter().zip(found) {
        match condition.holds(&value) {
            Verdict::No => return Verdict::No,
            Verdict::Unsure => verdict = Verdict::Unsure,
            Verdict::Yes => {}
        }
    }
    verdict
}

/// Reads the values of the conditions' keys, and skips all others. Stops when all are found.
struct Wanted<'a, 'de> {
    conditions: &'a [Condition],
    found: &'a mut [Found<'de>],
}

impl<'de> Visitor<'de> for Wanted<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Self { conditions, found } = self;
        while let Some(Key(key)) = map.next_key()? {
            if !conditions.iter().any(|condition| condition.key == key) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = Found::read(map.next_value::<&RawValue>()?.get());
            for (condition, found) in conditions.iter().zip(&mut *found) {
                if condition.key == key {
                    *found = value.clone();
                }
            }
            if !found.iter().any(Found::is_missing) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// A key. It is copied only if it contains an escape.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The value of a key.
#[derive(Clone, Debug)]
enum Found<'a> {
    Missing,
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    Composite,
    /// A text that is not valid Unicode.
    Unreadable,
}

impl<'a> Found<'a> {
    fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    fn read(json: &'a str) -> Self {
        match json.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => serde_json::from_str(json).map_or(Self::Unreadable, |Key(text)| Self::Text(text)),
            Some(b'{' | b'[') => Self::Composite,
            _ => json.parse().map_or(Self::Unreadable, Self::Number),
        }
    }

    /// Compares numbers with numbers, and texts with texts by their UTF-16 code units, as JavaScript does.
    fn order(&self, operand: &Operand) -> Option<Ordering> {
        match (self, operand) {
            (Self::Number(own), Operand::Number(wanted)) => own.partial_cmp(wanted),
            (Self::Text(own), Operand::Text(wanted)) => Some(own.encode_utf16().cmp(wanted.encode_utf16())),
            _ => None,
        }
    }

    fn equals(&self, operand: &Operand) -> Verdict {
        let is = match (self, operand) {
            (_, Operand::Unsure) | (Self::Unreadable, Operand::Text(_)) | (Self::Composite, Operand::Composite) => {
                return Verdict::Unsure;
            }
            (Self::Missing, Operand::Undefined) | (Self::Null, Operand::Null) => true,
            (Self::Bool(own), Operand::Bool(wanted)) => own == wanted,
            (Self::Number(_), Operand::Number(_)) => self.order(operand) == Some(Ordering::Equal),
            (Self::Text(own), Operand::Text(wanted)) => own == wanted,
            _ => false,
        };
        if is { Verdict::Yes } else { Verdict::No }
    }
}

impl Condition {
    fn holds(&self, value: &Found<'_>) -> Verdict {
        let is_one = || self.operands.iter().fold(Verdict::No, |found, operand| found.or(value.equals(operand)));
        let ordered = |wanted: fn(Ordering) -> bool| {
            let mut verdict = Verdict::Yes;
            for operand in &self.operands {
                if matches!(operand, Operand::Unsure) || matches!(value, Found::Unreadable) {
                    verdict = Verdict::Unsure;
                } else if !value.order(operand).is_some_and(wanted) {
                    return Verdict::No;
                }
            }
            verdict
        };
        match self.op {
            Comparison::In => is_one(),
            Comparison::Nin => is_one().not(),
            Comparison::Gt => ordered(Ordering::is_gt),
            Comparison::Gte => ordered(Ordering::is_ge),
            Comparison::Lt => ordered(Ordering::is_lt),
            Comparison::Lte => ordered(Ordering::is_le),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(op: &str, operands: &str, json: &str) -> Verdict {
        let condition = format!(r#"[{{ "key": "a", "op": "{op}", "operands": [{operands}] }}]"#);
        let conditions: Vec<Condition> = serde_json::from_str(&condition).unwrap();
        decide(&conditions, json.as_bytes())
    }

    #[test]
    fn values_are_compared_as_javascript_compares_them() {
        use Verdict::{No, Unsure, Yes};
        for (op, operands, json, wanted) in [
            ("in", r#"{ "number": "1" }"#, r#"{"b":{"a":2},"a":1}"#, Yes),
            ("in", r#"{ "number": "1" }"#, r#"{"a":"1"}"#, No),
            ("in", r#"{ "number": "0.1" }"#, r#"{"a":0.1}"#, Yes),
            ("in", r#"{ "number": "1e+21" }"#, r#"{"a":1e+21}"#, Yes),
            ("in", r#"{ "text": "x" }, "null""#, r#"{"a":null}"#, Yes),
            ("in", r#""undefined""#, r#"{"b":1}"#, Yes),
            ("in", r#""undefined""#, r#"{"a":null}"#, No),
            ("nin", r#"{ "text": "x" }"#, "{}", Yes),
            ("nin", "", "{}", Yes),
            ("in", "", r#"{"a":1}"#, No),
            ("in", r#"{ "text": "é" }"#, r#"{"\u0061":"\u00e9"}"#, Yes),
            ("in", r#""composite""#, r#"{"a":{}}"#, Unsure),
            ("in", r#""composite", { "number": "1" }"#, r#"{"a":1}"#, Yes),
            ("nin", r#""composite""#, r#"{"a":1}"#, Yes),
            ("in", r#""other""#, r#"{"a":{}}"#, No),
            ("in", r#""unsure""#, r#"{"a":1}"#, Unsure),
            ("gt", r#"{ "number": "-Infinity" }"#, r#"{"a":-1e308}"#, Yes),
            ("gt", r#"{ "number": "9" }"#, r#"{"a":10}"#, Yes),
            ("gt", r#"{ "number": "0" }"#, r#"{"a":"1"}"#, No),
            ("gte", r#"{ "text": "b" }"#, r#"{"a":"b"}"#, Yes),
            ("lt", r#"{ "text": "😀" }"#, r#"{"a":"\uffff"}"#, No),
            ("lte", r#"{ "number": "1" }"#, "{}", No),
            ("gt", r#""other""#, r#"{"a":1}"#, No),
            ("in", r#"{ "text": "x" }"#, r#"{"a":"\ud800"}"#, Unsure),
            ("in", r#"{ "text": "x" }"#, r#"{"a":"#, Unsure),
        ] {
            assert_eq!(verdict(op, operands, json), wanted, "{op} {operands} {json}");
        }
    }
}
