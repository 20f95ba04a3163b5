//! Finds the first positions of a page by a top-k heap, when the rows come in another order than the page.

use std::collections::BinaryHeap;

use super::page::InOrder;
use crate::query::{Page, RowOrder};
use crate::record::{Place, SortKey};

/// A top-k heap: keeps the first positions of a page, out of positions that are added in any order.
pub(super) struct First<'a> {
    order: RowOrder,
    /// Only positions after this one are kept.
    after: Option<(&'a [u8], i64)>,
    skip: usize,
    most: usize,
    /// A heap with the last position on top.
    places: BinaryHeap<InOrder<(Vec<u8>, i64)>>,
}

impl<'a> First<'a> {
    pub(super) fn new(page: &'a Page) -> Self {
        let after = page.after.as_ref().map(|(sort_key, seq)| (&sort_key.0[..], *seq));
        let most = page.skip.saturating_add(page.limit);
        Self { order: page.order, after, skip: page.skip, most, places: BinaryHeap::new() }
    }

    /// Adds a position if it is among the first so far and `is_wanted` returns true.
    pub(super) fn add(&mut self, place: (&[u8], i64), is_wanted: impl FnOnce() -> bool) {
        if self.has_room_for(place) && is_wanted() {
            self.places.push(InOrder { order: self.order, place: (place.0.to_vec(), place.1) });
            if self.places.len() > self.most {
                self.places.pop();
            }
        }
    }

    fn has_room_for(&self, place: (&[u8], i64)) -> bool {
        self.after.is_none_or(|after| self.is_behind(place, after))
            && (self.places.len() < self.most
                || self.places.peek().is_some_and(|last| self.is_behind((&last.place.0, last.place.1), place)))
    }

    fn is_behind(&self, place: (&[u8], i64), other: (&[u8], i64)) -> bool {
        match self.order {
            RowOrder::OldestFirst => place > other,
            RowOrder::NewestFirst => place < other,
        }
    }

    /// Returns the positions in the order of the page, without the skipped ones.
    pub(super) fn into_places(self) -> Vec<Place> {
        let places = self.places.into_sorted_vec().into_iter().skip(self.skip);
        places.map(|InOrder { place: (sort_key, seq), .. }| (SortKey(sort_key), seq)).collect()
    }
}
