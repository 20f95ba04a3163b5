//! Which checkpoints a listing has.

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
    /// The checkpoints of a group.
    Group(String),
    /// The checkpoints that belong to both a lineage and a group.
    LineageInGroup { lineage: String, group: String },
}
