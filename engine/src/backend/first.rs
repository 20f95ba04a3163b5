//! Finds the first places of a page among rows that have another order than the page.

use std::collections::BinaryHeap;

use super::page::InOrder;
use crate::query::{Page, RowOrder};
use crate::record::{Place, SortKey};

/// The first places of a page, of those that are added in any order.
pub(super) struct First<'a> {
    order: RowOrder,
    /// The places are behind this one.
    after: Option<(&'a [u8], i64)>,
    skip: usize,
    most: usize,
    /// The last place is on top.
    places: BinaryHeap<InOrder<(Vec<u8>, i64)>>,
}

impl<'a> First<'a> {
    pub(super) fn new(page: &'a Page) -> Self {
        let after = page.after.as_ref().map(|(sort_key, seq)| (&sort_key.0[..], *seq));
        let most = page.skip.saturating_add(page.limit);
        Self { order: page.order, after, skip: page.skip, most, places: BinaryHeap::new() }
    }

    /// Adds a place, if it may be one of the first ones and the page wants it.
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

    /// The places in their order, without those that the page skips.
    pub(super) fn into_places(self) -> Vec<Place> {
        let places = self.places.into_sorted_vec().into_iter().skip(self.skip);
        places.map(|InOrder { place: (sort_key, seq), .. }| (SortKey(sort_key), seq)).collect()
    }
}
