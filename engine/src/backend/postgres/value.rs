//! The parameters of statements.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use tokio_postgres::types::{IsNull, ToSql, Type, accepts, to_sql_checked};

/// A parameter of a statement.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(Option<i64>),
    Small(Option<i16>),
    Bool(bool),
    Bytes(Option<Shared>),
    Text(String),
    Ints(Vec<i64>),
    OptInts(Vec<Option<i64>>),
    Smalls(Vec<i16>),
    ManyBytes(Vec<Vec<u8>>),
    OptManyBytes(Option<Vec<Vec<u8>>>),
    ManyOptBytes(Vec<Option<Vec<u8>>>),
}

impl Value {
    /// The parameter, and its type on the server.
    pub(super) fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Int(value) => (value, Type::INT8),
            Self::Small(value) => (value, Type::INT2),
            Self::Bool(value) => (value, Type::BOOL),
            Self::Bytes(value) => (value, Type::BYTEA),
            Self::Text(value) => (value, Type::TEXT),
            Self::Ints(value) => (value, Type::INT8_ARRAY),
            Self::OptInts(value) => (value, Type::INT8_ARRAY),
            Self::Smalls(value) => (value, Type::INT2_ARRAY),
            Self::ManyBytes(value) => (value, Type::BYTEA_ARRAY),
            Self::OptManyBytes(value) => (value, Type::BYTEA_ARRAY),
            Self::ManyOptBytes(value) => (value, Type::BYTEA_ARRAY),
        }
    }
}

/// Bytes that a statement does not copy.
#[derive(Clone, Debug)]
pub(super) struct Shared(Bytes);

impl ToSql for Shared {
    fn to_sql(&self, of: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        (&*self.0).to_sql(of, out)
    }

    accepts!(BYTEA);
    to_sql_checked!();
}

fn bytes(bytes: impl Into<Bytes>) -> Value {
    Value::Bytes(Some(Shared(bytes.into())))
}

macro_rules! from {
    ($($of:ty => $make:expr),+ $(,)?) => {$(
        impl From<$of> for Value {
            fn from(value: $of) -> Self {
                ($make)(value)
            }
        }
    )+};
}

from! {
    i64 => |number| Value::Int(Some(number)),
    i16 => |number| Value::Small(Some(number)),
    bool => Value::Bool,
    Bytes => bytes,
    Vec<u8> => bytes,
    &[u8] => |value: &[u8]| bytes(value.to_vec()),
    &str => |value: &str| bytes(value.as_bytes().to_vec()),
    &String => |value: &String| bytes(value.as_bytes().to_vec()),
    Option<i64> => Value::Int,
    Option<i16> => Value::Small,
    Option<&str> => |value: Option<&str>| value.map_or(Value::Bytes(None), Value::from),
    Option<&[u8]> => |value: Option<&[u8]>| value.map_or(Value::Bytes(None), Value::from),
    Option<Vec<Vec<u8>>> => Value::OptManyBytes,
    Option<Vec<u8>> => |value: Option<Vec<u8>>| value.map_or(Value::Bytes(None), Value::from),
    Vec<i64> => Value::Ints,
    Vec<Option<i64>> => Value::OptInts,
    Vec<i16> => Value::Smalls,
    Vec<Vec<u8>> => Value::ManyBytes,
    Vec<Option<Vec<u8>>> => Value::ManyOptBytes,
}

/// Converts values of any types to the parameters of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::backend::postgres::value::Value::from($value)),*] };
}
pub(super) use values;
