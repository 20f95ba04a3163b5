//! A page of a listing, with all that a reader of a checkpoint needs.

use memchr::memmem::Finder;

use super::of::Of;
use super::rows::RowOrder;
use crate::record::{ContractId, Place};

/// Lists checkpoints with their payloads and their pending writes. All come from one snapshot.
///
/// A checkpoint that cannot be read ends the page before it. If it is the first one of the page, the query fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub contract: ContractId,
    pub of: Of,
    pub order: RowOrder,
    /// The page begins after this place in the order. `None` begins with the first checkpoint.
    pub after: Option<Place>,
    /// The number of checkpoints to skip from there on. 0 if a filter is given.
    pub skip: usize,
    /// If given, only checkpoints that pass are listed.
    pub filter: Option<MetaFilter>,
    /// The maximum number of checkpoints in the page.
    pub limit: usize,
    /// The page ends with the checkpoint whose payload fills this number of bytes.
    pub bytes: usize,
    /// The maximum number of checkpoints that the filter looks at, at least 1. A filter that nothing passes keeps no
    /// other query waiting.
    pub looks: usize,
}

impl Page {
    /// Returns the number of places to read from an index.
    pub(crate) fn places(&self) -> usize {
        if self.filter.is_some() { self.looks } else { self.limit }
    }
}

/// Says which checkpoints may have certain metadata. Only the contract can read the meta, so it checks again what passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaFilter {
    /// A meta passes if it contains all of these texts.
    pub all: Vec<Vec<u8>>,
    /// A meta that contains this text passes too, because it may have the other texts in another form.
    pub or: Vec<u8>,
    /// A meta that does not end with this text passes too, because it has another form.
    pub end: Vec<u8>,
    /// If given, the backend may find the checkpoints with an index of this key.
    pub key: Option<Box<MetaKey>>,
}

/// A key of the metadata and its wanted value, for an index. A backend that has no such index makes one, or does without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaKey {
    /// The metadata is a JSON object. It begins with the last byte of this text, and ends where the meta ends.
    pub begins: Vec<u8>,
    /// A key of the object. It contains no quotation mark, no backslash, and no control character.
    pub key: String,
    /// The JSON text of the wanted value, without white space.
    pub value: String,
}

impl MetaKey {
    /// The number of characters of a value's JSON text that are in the index.
    pub(crate) const INDEXED: usize = 200;

    /// The part of the value's JSON text that is in the index.
    pub(crate) fn indexed(&self) -> &str {
        self.value.char_indices().nth(Self::INDEXED).map_or(&self.value, |(end, _)| &self.value[..end])
    }
}

impl MetaFilter {
    pub(crate) fn searcher(&self) -> Searcher<'_> {
        let all = self.all.iter().map(Finder::new).collect();
        Searcher { all, or: Finder::new(&self.or), end: &self.end }
    }
}

/// A filter that is ready to look at many checkpoints.
pub(crate) struct Searcher<'a> {
    all: Vec<Finder<'a>>,
    or: Finder<'a>,
    end: &'a [u8],
}

impl Searcher<'_> {
    pub(crate) fn passes(&self, meta: &[u8]) -> bool {
        !meta.ends_with(self.end)
            || self.all.iter().all(|text| text.find(meta).is_some())
            || self.or.find(meta).is_some()
    }
}
