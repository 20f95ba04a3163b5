//! The query that lists lineages by their last activity.

use crate::record::{ContractId, Labels, Seq, Status};

/// Lists lineages by their last activity. The activity of a lineage is the save number of its newest checkpoint. Saving
/// a checkpoint again gives it a new save number. Lineages without checkpoints are not listed.
///
/// The next page continues from the save number of the last lineage on a page. A lineage that becomes active between
/// two pages moves to the end of the order. Listings from the latest never repeat a lineage. Listings from the earliest
/// never omit one.
///
/// The time is proportional to the smaller of two numbers: the checkpoints saved since the last listed activity, and
/// the lineages of the store. If few lineages have the status or label, the time is proportional to their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recent {
    /// The contracts whose lineages are listed.
    pub contracts: Vec<ContractId>,
    /// If true, only lineages are returned whose name equals the group of their first checkpoint. A contract can mark
    /// the main lineage of a group this way.
    pub named_as_group: bool,
    /// Only lineages are returned whose name contains this text. Empty: all lineages.
    pub matching: String,
    /// Only lineages with one of these statuses are returned. Empty: all lineages.
    pub statuses: Vec<Status>,
    /// Only lineages that have all of these labels are returned.
    pub labels: Labels,
    pub order: ActivityOrder,
    /// If given, only lineages whose activity comes after this save number in the order are returned.
    pub after: Option<Seq>,
    /// The maximum number of results.
    pub limit: usize,
}

/// An order of lineages by their last activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityOrder {
    /// The lineage that was active last comes first.
    LatestFirst,
    /// The lineage that has been inactive for the longest time comes first.
    EarliestFirst,
}

impl Recent {
    /// Returns true if the query selects lineages with this status.
    pub(crate) fn has(&self, status: Status) -> bool {
        self.statuses.is_empty() || self.statuses.contains(&status)
    }

    /// Returns true if the index of statuses can answer the query. The index has all lineages that are not finished.
    pub(crate) fn is_indexed(&self) -> bool {
        !self.statuses.is_empty() && !self.statuses.contains(&Status::Finished)
    }

    /// Returns true if an activity comes after [`Recent::after`] in the order.
    pub(crate) fn reaches(&self, seq: Seq) -> bool {
        self.after.is_none_or(|after| match self.order {
            ActivityOrder::LatestFirst => seq < after,
            ActivityOrder::EarliestFirst => seq > after,
        })
    }
}
