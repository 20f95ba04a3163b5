//! A page of a listing, with payloads and pending writes.

use std::fmt;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::of::Of;
use super::rows::RowOrder;
use crate::record::{ContractId, Position};

/// Lists checkpoints with their payloads and their pending writes. All come from one snapshot.
///
/// A checkpoint that cannot be read ends the page before it. If it is the first one of the page, the query fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub contract: ContractId,
    pub of: Of,
    pub order: RowOrder,
    /// The page begins after this position in the order. `None` begins with the first checkpoint.
    pub after: Option<Position>,
    /// The number of checkpoints to skip after `after`. 0 if a filter is given.
    pub skip: usize,
    /// If given, only checkpoints that pass are listed.
    pub filter: Option<MetaFilter>,
    /// The maximum number of checkpoints in the page.
    pub limit: usize,
    /// The page ends with the checkpoint whose payload reaches this number of bytes in total.
    pub bytes: usize,
    /// The maximum number of checkpoints that the filter checks, at least 1. The limit keeps a filter without matches
    /// from blocking other queries.
    ///
    /// If the listing has several lineages ([`Of::Lineages`]), a filter may check all of their checkpoints. Otherwise
    /// each page would begin with all lineages again.
    pub looks: usize,
    /// True if no sort key of the contract is longer than 1,000 bytes. An index then has the complete order. Listings
    /// of many checkpoints with equal sort keys need this.
    pub short_keys: bool,
}

impl Page {
    /// Returns the number of entries to read from an index.
    pub(crate) fn entries(&self) -> usize {
        if self.filter.is_some() { self.looks } else { self.limit }
    }
}

/// Preselects checkpoints by their metadata. The contract, which can read the metadata, checks the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaFilter {
    /// The metadata must contain all of these texts.
    pub all: Vec<Vec<u8>>,
    /// Metadata with this text is also selected, because it may have the other texts in another form.
    pub or: Vec<u8>,
    /// Metadata that does not end with this text is also selected, because it has another form.
    pub end: Vec<u8>,
    /// If given, the backend may find the checkpoints with an index of this key.
    pub key: Option<Box<MetaKey>>,
    /// If given, selected metadata must also pass this test.
    pub test: Option<MetaTest>,
}

/// The contract's own test of metadata. It returns false for checkpoints that are not wanted. Tests are compared by
/// identity.
#[derive(Clone)]
pub struct MetaTest(Arc<Test>);

/// Gets the meta and the save time, in ms since the epoch.
type Test = dyn Fn(&[u8], i64) -> bool + Send + Sync;

impl MetaTest {
    pub fn new(test: impl Fn(&[u8], i64) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(test))
    }
}

impl fmt::Debug for MetaTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetaTest")
    }
}

impl PartialEq for MetaTest {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for MetaTest {}

/// A key of the metadata and its wanted value, for an index. A backend without such an index creates one or scans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaKey {
    /// The metadata is a JSON object that begins with the last byte of this text and ends where the metadata ends.
    pub begins: Vec<u8>,
    /// A key of the object. It contains no quotation mark, no backslash, and no control character.
    pub key: String,
    /// The JSON text of the wanted value, without white space.
    pub value: String,
}

impl MetaKey {
    /// The number of characters of a value's JSON text that the index stores.
    pub(crate) const INDEXED: usize = 200;

    /// The part of the value's JSON text that the index stores.
    pub(crate) fn indexed(&self) -> &str {
        self.value.char_indices().nth(Self::INDEXED).map_or(&self.value, |(end, _)| &self.value[..end])
    }
}

impl MetaFilter {
    pub(crate) fn searcher(&self) -> Searcher<'_> {
        let all = self.all.iter().map(Finder::new).collect();
        Searcher { all, or: Finder::new(&self.or), end: &self.end, test: self.test.as_ref() }
    }
}

/// A filter that is prepared for many checkpoints.
pub(crate) struct Searcher<'a> {
    all: Vec<Finder<'a>>,
    or: Finder<'a>,
    end: &'a [u8],
    test: Option<&'a MetaTest>,
}

impl Searcher<'_> {
    pub(crate) fn passes(&self, meta: &[u8], saved_at: i64) -> bool {
        let may_pass = !meta.ends_with(self.end)
            || self.all.iter().all(|text| text.find(meta).is_some())
            || self.or.find(meta).is_some();
        may_pass && self.test.is_none_or(|MetaTest(test)| test(meta, saved_at))
    }
}
