//! The named fields of a call from JavaScript.
//!
//! Field names are passed once for all calls of the same shape. Each call then passes only values. This is faster than
//! JSON: writing JSON in JavaScript takes longer than passing the values through Node-API.
//!
//! An integer that a double cannot hold is a text with its digits, in fields as in responses.

use std::str::FromStr;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, VariantAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Error;
use serde_json::de::IoRead;

use super::response::SAFE;

/// The shape of a call: its contract, its name, and the names of its fields. Many calls have the same shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub contract: String,
    pub call: String,
    pub names: Vec<String>,
}

/// The name of a common field, which no contract sees: the condition on the lease of a run when the call's unit is
/// applied.
pub(super) const FENCE: &str = "fence";

/// The name of a common field: if true, the response is the cost of the call's unit.
pub(super) const MEASURE: &str = "measure";

/// The name of a common field: if true, the response is the incarnation of the run that the call's unit wrote to. See
/// [`Applied::lineage`](crate::op::Applied::lineage).
pub(super) const BEGUN: &str = "begun";

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The field is left out.
    Null,
    Bool(bool),
    /// A number with its exact value in JavaScript, including -0.
    Number(f64),
    /// A text, or the name of a variant of an enum. A list, a struct or another variant is passed as its JSON text.
    Text(String),
}

/// The fields of a call. Serde reads them as a variant of an enum, with the name of the call.
pub(super) struct Fields<'a> {
    pub(super) shape: &'a Shape,
    pub(super) values: Vec<Value>,
}

impl<'a> Fields<'a> {
    /// The fields of the contract.
    fn entries<'de>(self) -> MapDeserializer<'de, impl Iterator<Item = (&'a str, Value)>, Error> {
        let fields = self.shape.names.iter().map(String::as_str).zip(self.values);
        MapDeserializer::new(fields.filter(|(name, _)| ![FENCE, MEASURE, BEGUN].contains(name)))
    }
}

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Fields<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name: StrDeserializer<'_, Error> = self.shape.call.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Fields<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Err(Error::custom("a call has named fields"))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.entries())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a call has named fields"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self.entries())
    }
}

impl IntoDeserializer<'_, Error> for Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Number(value) => match whole(value) {
                Some(whole) => visitor.visit_i64(whole),
                None => visitor.visit_f64(value),
            },
            Self::Text(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Null => visitor.visit_none(),
            some => visitor.visit_some(some),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Number(value) => visitor.visit_f64(value),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.digits() {
            Some(value) => visitor.visit_i64(value),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.digits() {
            Some(value) => visitor.visit_u64(value),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.json()?.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.json()?.deserialize_map(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.json()?.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Self::Text(text) if variants.contains(&&*text) => visitor.visit_enum(text.into_deserializer()),
            other => other.json()?.deserialize_enum(name, variants, visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i128 u8 u16 u32 u128 f32 char str string bytes byte_buf unit unit_struct newtype_struct
        tuple tuple_struct identifier ignored_any
    }
}

/// Reads an integer inside a list or a struct from a number or from a text with its digits. For
/// `#[serde(deserialize_with)]`.
pub(super) fn exact<'de, D: Deserializer<'de>, T: Deserialize<'de> + FromStr>(from: D) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given<T> {
        Number(T),
        Digits(String),
    }
    match Given::deserialize(from)? {
        Given::Number(value) => Ok(value),
        Given::Digits(text) => text.parse().map_err(|_| D::Error::custom(format!("{text:?} is not a whole number"))),
    }
}

impl Value {
    /// Reads an integer from a text with its digits.
    fn digits<T: FromStr>(&self) -> Option<T> {
        match self {
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Reads the JSON text of a list, a struct or an enum.
    fn json(&self) -> Result<serde_json::Deserializer<IoRead<&[u8]>>, Error> {
        match self {
            // The text is read through a reader, because the result must not borrow from the text.
            Self::Text(text) => Ok(serde_json::Deserializer::from_reader(text.as_bytes())),
            other => Err(Error::custom(format!("{other:?} is neither a list nor an object"))),
        }
    }
}

/// Converts a number to an integer, if a double represents this integer and its neighbors exactly.
#[expect(clippy::cast_possible_truncation, reason = "in the range of an i64")]
#[expect(clippy::cast_precision_loss, reason = "a double holds it")]
fn whole(value: f64) -> Option<i64> {
    (value.trunc().to_bits() == value.to_bits() && value.abs() <= SAFE as f64).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
    enum Call {
        Save { run_id: String, parent: Option<String>, at: f64, count: Option<usize>, names: Vec<String>, force: bool },
        Close {},
    }

    fn read(call: &str, fields: &[(&str, Value)]) -> Result<Call, Error> {
        let names = fields.iter().map(|(name, _)| (*name).to_owned()).collect();
        let shape = Shape { contract: "test".to_owned(), call: call.to_owned(), names };
        Call::deserialize(Fields { shape: &shape, values: fields.iter().map(|(_, value)| value.clone()).collect() })
    }

    fn save(at: f64, count: Value, names: &str) -> Result<Call, Error> {
        let text = |text: &str| Value::Text(text.to_owned());
        read(
            "save",
            &[
                ("names", text(names)),
                ("runId", text("[1]")),
                ("parent", Value::Null),
                ("at", Value::Number(at)),
                ("count", count),
                ("force", Value::Bool(true)),
            ],
        )
    }

    #[test]
    fn fields_are_found_by_name_and_read_as_what_they_are() {
        let names = vec!["é".to_owned()];
        let expected =
            Call::Save { run_id: "[1]".to_owned(), parent: None, at: 0.5, count: Some(3), names, force: true };
        assert_eq!(save(0.5, Value::Number(3.0), "[\"é\"]").unwrap(), expected);
        assert_eq!(read("close", &[]).unwrap(), Call::Close {});
        let Call::Save { at, .. } = save(-0.0, Value::Null, "[]").unwrap() else { panic!() };
        assert!(at.is_sign_negative());
    }

    #[test]
    fn an_integer_that_a_double_cannot_hold_is_read_from_its_digits() {
        #[derive(Debug, PartialEq, Deserialize)]
        enum Big {
            #[serde(rename = "big")]
            Big { signed: i64, unsigned: Option<u64>, inside: Inside },
        }
        #[derive(Debug, PartialEq, Deserialize)]
        struct Inside {
            #[serde(deserialize_with = "exact")]
            index: i64,
        }
        let read = |signed: Value, unsigned: Value, index: &str| {
            let names = ["signed", "unsigned", "inside"].map(str::to_owned).to_vec();
            let shape = Shape { contract: "test".to_owned(), call: "big".to_owned(), names };
            let values = vec![signed, unsigned, Value::Text(format!("{{\"index\":{index}}}"))];
            Big::deserialize(Fields { shape: &shape, values })
        };
        let text = |number: &dyn std::fmt::Display| Value::Text(number.to_string());
        let lowest = read(text(&i64::MIN), text(&u64::MAX), "\"-9223372036854775808\"").unwrap();
        let inside = Inside { index: i64::MIN };
        assert_eq!(lowest, Big::Big { signed: i64::MIN, unsigned: Some(u64::MAX), inside });
        let small = read(Value::Number(-3.0), Value::Number(4.0), "-5").unwrap();
        assert_eq!(small, Big::Big { signed: -3, unsigned: Some(4), inside: Inside { index: -5 } });
        // A JavaScript number beyond 2^53 may be rounded.
        for rounded in [9_007_199_254_740_992.0, -9_223_372_036_854_775_808.0, 0.5] {
            read(Value::Number(rounded), Value::Null, "1").unwrap_err();
        }
        for index in ["-9223372036854775808.0", "\"\"", "\"1.5\"", "\"9223372036854775808\"", "null"] {
            read(Value::Number(0.0), Value::Null, index).unwrap_err();
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error_that_names_it() {
        for (made, part) in [
            (save(1.0, Value::Number(-1.0), "[]"), "-1"),
            (save(1.0, Value::Number(0.5), "[]"), "0.5"),
            (save(1.0, Value::Null, "{}"), "sequence"),
            (save(1.0, Value::Null, "[\"\\ud800\"]"), "hex escape"),
            (read("other", &[]), "other"),
            (read("close", &[("more", Value::Null)]), "more"),
        ] {
            let message = made.unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
