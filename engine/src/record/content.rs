//! Serialized bytes, which may arrive in several pieces.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

/// The serialized bytes of a part. They may arrive in pieces: a caller that keeps most of a large value from an earlier
/// save references the kept bytes instead of copying them.
///
/// The first access to the bytes as one slice joins the pieces. A thread that must not spend time on large values uses
/// only [`len`](Self::len) and [`pieces`](Self::pieces).
#[derive(Clone)]
pub struct Content(Form);

#[derive(Clone)]
enum Form {
    One(Bytes),
    Many(Arc<Many>),
}

struct Many {
    pieces: Vec<Bytes>,
    length: usize,
    joined: OnceLock<Bytes>,
}

impl Content {
    /// Content that consists of these pieces, in their order.
    pub fn of_pieces(mut pieces: Vec<Bytes>) -> Self {
        if pieces.len() <= 1 {
            return pieces.pop().unwrap_or_default().into();
        }
        let length = pieces.iter().map(Bytes::len).sum();
        Self(Form::Many(Arc::new(Many { pieces, length, joined: OnceLock::new() })))
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::One(bytes) => bytes.len(),
            Form::Many(many) => many.length,
        }
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pieces, in their order.
    pub fn pieces(&self) -> &[Bytes] {
        match &self.0 {
            Form::One(bytes) => std::slice::from_ref(bytes),
            Form::Many(many) => &many.pieces,
        }
    }

    /// Copies the bytes into separate memory.
    #[must_use]
    pub(crate) fn copied(&self) -> Self {
        self.pieces().concat().into()
    }

    /// Returns the bytes in one piece.
    pub fn into_joined(self) -> Bytes {
        match self.0 {
            Form::One(bytes) => bytes,
            Form::Many(_) => self.joined().clone(),
        }
    }

    /// The bytes in one piece.
    pub fn joined(&self) -> &Bytes {
        match &self.0 {
            Form::One(bytes) => bytes,
            Form::Many(many) => many.joined.get_or_init(|| many.pieces.concat().into()),
        }
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.joined()
    }
}

impl<T: Into<Bytes>> From<T> for Content {
    fn from(bytes: T) -> Self {
        Self(Form::One(bytes.into()))
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && **self == **other
    }
}

impl Eq for Content {}

impl PartialEq<[u8]> for Content {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl PartialEq<Vec<u8>> for Content {
    fn eq(&self, other: &Vec<u8>) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.joined().fmt(formatter)
    }
}
