//! The scope of a listing.

use crate::record::Header;

/// The checkpoints to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// All checkpoints of the contract.
    Contract,
    /// The checkpoints of a lineage.
    Lineage(String),
    /// The checkpoints of every lineage whose name begins with this prefix. Names are compared literally, byte by
    /// byte.
    Lineages(String),
    /// The checkpoints with this label, of every lineage whose name begins with this prefix.
    Labelled { prefix: String, label: String },
    /// The checkpoints of a group.
    Group(String),
    /// The checkpoints that belong to both a lineage and a group.
    LineageInGroup { lineage: String, group: String },
}

impl Of {
    /// Returns true if the listing includes a checkpoint with this header. An empty label or group matches nothing.
    pub(crate) fn has(&self, header: &Header) -> bool {
        let in_group = |group: &str| header.group == group && !group.is_empty();
        match self {
            Self::Contract => true,
            Self::Lineage(name) => header.lineage == *name,
            Self::Lineages(prefix) => header.lineage.starts_with(prefix),
            Self::Labelled { prefix, label } => {
                header.lineage.starts_with(prefix) && header.label == *label && !label.is_empty()
            }
            Self::Group(group) => in_group(group),
            Self::LineageInGroup { lineage, group } => header.lineage == *lineage && in_group(group),
        }
    }
}
