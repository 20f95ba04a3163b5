//! Finds the first positions of a page by a top-k heap, when the rows come in another order than the page.

use std::collections::BinaryHeap;

use super::page::InOrder;
use crate::query::{Page, RowOrder};
use crate::record::{Position, SortKey};

/// A top-k heap: keeps the first positions of a page, out of positions that are added in any order.
pub(super) struct TopK<'a> {
    order: RowOrder,
    /// Only positions after this one are kept.
    after: Option<(&'a [u8], i64)>,
    skip: usize,
    most: usize,
    /// A heap with the last position on top.
    positions: BinaryHeap<InOrder<(Vec<u8>, i64)>>,
}

impl<'a> TopK<'a> {
    pub(super) fn new(page: &'a Page) -> Self {
        let after = page.after.as_ref().map(|(sort_key, seq)| (&sort_key.0[..], *seq));
        let most = page.skip.saturating_add(page.limit);
        Self { order: page.order, after, skip: page.skip, most, positions: BinaryHeap::new() }
    }

    /// Adds a position if it is among the first so far and `is_wanted` returns true.
    pub(super) fn add(&mut self, position: (&[u8], i64), is_wanted: impl FnOnce() -> bool) {
        if self.has_room_for(position) && is_wanted() {
            self.positions.push(InOrder { order: self.order, position: (position.0.to_vec(), position.1) });
            if self.positions.len() > self.most {
                self.positions.pop();
            }
        }
    }

    fn has_room_for(&self, position: (&[u8], i64)) -> bool {
        self.after.is_none_or(|after| self.is_behind(position, after))
            && (self.positions.len() < self.most
                || self
                    .positions
                    .peek()
                    .is_some_and(|last| self.is_behind((&last.position.0, last.position.1), position)))
    }

    fn is_behind(&self, position: (&[u8], i64), other: (&[u8], i64)) -> bool {
        match self.order {
            RowOrder::OldestFirst => position > other,
            RowOrder::NewestFirst => position < other,
        }
    }

    /// Returns the positions in the order of the page, without the skipped ones.
    pub(super) fn into_positions(self) -> Vec<Position> {
        let positions = self.positions.into_sorted_vec().into_iter().skip(self.skip);
        positions.map(|InOrder { position: (sort_key, seq), .. }| (SortKey(sort_key), seq)).collect()
    }
}
