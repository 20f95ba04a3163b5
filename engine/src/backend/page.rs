//! Fills the page of a listing, one checkpoint after the other.

use std::cmp::Ordering;

use crate::error::Result;
use crate::query::{MetaFilter, Page, RowOrder, Searcher};
use crate::record::{Position, Tuple, TuplePage};

/// A position in the order of a page. Later positions are greater.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InOrder<P> {
    pub order: RowOrder,
    pub position: P,
}

impl<P: Ord> Ord for InOrder<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        match self.order {
            RowOrder::OldestFirst => self.position.cmp(&other.position),
            RowOrder::NewestFirst => other.position.cmp(&self.position),
        }
    }
}

impl<P: Ord> PartialOrd for InOrder<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A page that is being filled.
pub(super) struct Filler<'a> {
    page: &'a Page,
    searcher: Option<Searcher<'a>>,
    tuples: Vec<Tuple>,
    looked: usize,
    /// The maximum number of checkpoints that the filter examines.
    looks: usize,
    bytes: usize,
    /// The position of the last checkpoint that the filter has examined.
    last: Option<Position>,
    /// True if the page ends before an unreadable checkpoint.
    broken: bool,
}

impl<'a> Filler<'a> {
    pub(super) fn new(page: &'a Page) -> Self {
        let searcher = page.filter.as_ref().map(MetaFilter::searcher);
        Self { page, searcher, tuples: Vec::new(), looked: 0, looks: page.looks, bytes: 0, last: None, broken: false }
    }

    /// Lifts the limit on the number of checkpoints that the filter examines.
    pub(super) fn look_at_all(&mut self) {
        self.looks = usize::MAX;
    }

    pub(super) fn is_full(&self) -> bool {
        let Page { limit, bytes, .. } = self.page;
        self.broken
            || self.tuples.len() >= *limit
            || self.bytes >= *bytes
            || self.searcher.is_some() && self.looked >= self.looks
    }

    /// Returns true if the filter accepts a checkpoint with this meta and this save time.
    pub(super) fn wants(&self, meta: &[u8], saved_at: i64) -> bool {
        self.searcher.as_ref().is_none_or(|searcher| searcher.passes(meta, saved_at))
    }

    /// Skips the next `count` checkpoints of the listing. `last` is the position of the last of them.
    pub(super) fn leave_out(&mut self, count: usize, last: Position) {
        self.looked += count;
        self.last = Some(last);
    }

    /// Adds the checkpoint at the next position of the listing. `None`: the filter has excluded it.
    pub(super) fn add(&mut self, position: Position, found: Result<Option<Tuple>>) -> Result<()> {
        match found {
            Err(error) if self.tuples.is_empty() => return Err(error),
            Err(_) => {
                self.broken = true;
                return Ok(());
            }
            Ok(None) => {}
            Ok(Some(tuple)) => {
                let parts = tuple.checkpoint.payload.parts.iter();
                self.bytes = parts.fold(self.bytes, |sum, part| sum.saturating_add(part.bytes.len()));
                self.tuples.push(tuple);
            }
        }
        self.looked += 1;
        self.last = Some(position);
        Ok(())
    }

    /// Ends the page. It is the last page unless it is full, or `more` is true: not all positions were examined.
    pub(super) fn finish(self, more: bool) -> TuplePage {
        let next = if more || self.is_full() { self.last } else { None };
        TuplePage { tuples: self.tuples, next }
    }
}
