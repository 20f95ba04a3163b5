//! The parameters of statements.

use bytes::{Bytes, BytesMut};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A parameter of a statement.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(i64),
    Small(i16),
    Bool(bool),
    Bytes(Bytes),
    Text(String),
    Ints(Vec<i64>),
    OptInts(Vec<Option<i64>>),
    Smalls(Vec<i16>),
    ManyBytes(Vec<Vec<u8>>),
    ManyOptBytes(Vec<Option<Vec<u8>>>),
    Null(Type),
}

impl Value {
    /// The parameter's type on the server.
    pub(super) fn type_of(&self) -> Type {
        match self {
            Self::Int(_) => Type::INT8,
            Self::Small(_) => Type::INT2,
            Self::Bool(_) => Type::BOOL,
            Self::Bytes(_) => Type::BYTEA,
            Self::Text(_) => Type::TEXT,
            Self::Ints(_) | Self::OptInts(_) => Type::INT8_ARRAY,
            Self::Smalls(_) => Type::INT2_ARRAY,
            Self::ManyBytes(_) | Self::ManyOptBytes(_) => Type::BYTEA_ARRAY,
            Self::Null(of) => of.clone(),
        }
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Int(value) => value.to_sql(of, out),
            Self::Small(value) => value.to_sql(of, out),
            Self::Bool(value) => value.to_sql(of, out),
            Self::Bytes(value) => (&**value).to_sql(of, out),
            Self::Text(value) => value.to_sql(of, out),
            Self::Ints(value) => value.to_sql(of, out),
            Self::OptInts(value) => value.to_sql(of, out),
            Self::Smalls(value) => value.to_sql(of, out),
            Self::ManyBytes(value) => value.to_sql(of, out),
            Self::ManyOptBytes(value) => value.to_sql(of, out),
            Self::Null(_) => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
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
    i64 => Value::Int,
    i16 => Value::Small,
    bool => Value::Bool,
    Bytes => Value::Bytes,
    Vec<u8> => |bytes: Vec<u8>| Value::Bytes(bytes.into()),
    &[u8] => |bytes: &[u8]| Value::Bytes(Bytes::copy_from_slice(bytes)),
    &str => |text: &str| Value::Bytes(Bytes::copy_from_slice(text.as_bytes())),
    &String => |text: &String| Value::Bytes(Bytes::copy_from_slice(text.as_bytes())),
    Option<i64> => |number: Option<i64>| number.map_or(Value::Null(Type::INT8), Value::Int),
    Option<i16> => |number: Option<i16>| number.map_or(Value::Null(Type::INT2), Value::Small),
    Option<&str> => |text: Option<&str>| text.map_or(Value::Null(Type::BYTEA), Value::from),
    Option<&[u8]> => |bytes: Option<&[u8]>| bytes.map_or(Value::Null(Type::BYTEA), Value::from),
    Option<Vec<u8>> => |bytes: Option<Vec<u8>>| bytes.map_or(Value::Null(Type::BYTEA), Value::from),
    Vec<i64> => Value::Ints,
    Vec<Option<i64>> => Value::OptInts,
    Vec<i16> => Value::Smalls,
    Vec<Vec<u8>> => Value::ManyBytes,
    Vec<Option<Vec<u8>>> => Value::ManyOptBytes,
}

/// The parameters of a statement, from values of any types.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::backend::postgres::value::Value::from($value)),*] };
}
pub(super) use values;
