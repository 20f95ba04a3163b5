//! The definition of a graph: its nodes with their policies, and its edges.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::retry::Retry;
use crate::error::{Error, Result};

/// Identifies a node: its index in [`Definition::nodes`].
pub type NodeId = usize;

/// The source of an edge. `None`: the start of the graph.
pub type Source = Option<NodeId>;

/// The effect of a node on other systems. It determines whether a resumed run uses the recorded result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Computes from the state only. Runs again on resume.
    Pure,
    /// Reads from other systems. Runs again on resume.
    Read,
    /// Writes to other systems. Its recorded result is used on resume.
    Write,
    /// Calls an external service. Its recorded result is used on resume.
    External,
    /// Asks a human. Its recorded result is used on resume.
    Human,
}

/// The boundaries of a node with a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum NodePolicy {
    /// At the boundary before the node.
    Before,
    /// At the boundary after the node.
    After,
    /// At both boundaries.
    Both,
    /// At neither boundary.
    None,
}

/// The boundaries of a graph with a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Before the first superstep, and after every node without its own policy.
    #[default]
    EveryNode,
    /// Only according to the policies of nodes.
    Explicit,
    /// Nowhere.
    None,
}

/// The part of the memory that is saved with a checkpoint, from nothing to all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Consistency {
    /// Nothing. On resume, the memory is read fresh.
    #[default]
    Live,
    /// The reads.
    Snapshot,
    /// The reads and the pending writes.
    Journaled,
}

/// A node, as the caller describes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Node {
    pub name: String,
    /// The node's effect on other systems. `None`: unknown, so a recorded result is used on resume.
    pub effect: Option<Effect>,
    /// The node's own checkpoint policy.
    pub checkpoint: Option<NodePolicy>,
    #[serde(default)]
    pub retry: Retry,
    /// The part of the memory that is saved with the checkpoints before and after the node.
    #[serde(default)]
    pub memory: Consistency,
}

impl Node {
    /// Returns true if the node runs again on resume even though its result is known.
    pub(super) fn repeats(&self) -> bool {
        matches!(self.effect, Some(Effect::Pure | Effect::Read))
    }

    /// Returns true if the node's result must be recorded as soon as the node has ended.
    pub(super) fn once(&self) -> bool {
        matches!(self.effect, Some(Effect::Write | Effect::External | Effect::Human))
    }
}

/// A static edge.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The source of the edge.
    #[ts(type = "null | number")]
    pub from: Source,
    /// The node that runs after the source.
    pub to: NodeId,
}

/// A node that waits until several nodes have all run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// The nodes that must have run.
    pub from: Vec<NodeId>,
    /// The node that waits.
    pub to: NodeId,
}

/// A graph. A field's missing edges are edges to the end.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    pub nodes: Vec<Node>,
    /// The static edges, in the caller's order.
    pub edges: Vec<Edge>,
    pub barriers: Vec<Barrier>,
    /// The sources with conditional edges. The host evaluates them.
    pub conditional: Vec<Source>,
    /// The boundaries with a checkpoint.
    #[serde(default)]
    pub checkpoint: Policy,
    /// The maximum number of supersteps of one run.
    pub max_supersteps: u64,
}

impl Definition {
    /// Checks that every edge refers to a node.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if an edge refers to a node that does not exist.
    pub fn check(self) -> Result<Self> {
        let sources = self.edges.iter().map(|edge| &edge.from).chain(&self.conditional).filter_map(|from| *from);
        let barriers = self.barriers.iter().flat_map(|barrier| barrier.from.iter().copied().chain([barrier.to]));
        self.check_nodes(sources.chain(self.edges.iter().map(|edge| edge.to)).chain(barriers))?;
        Ok(self)
    }

    /// Checks that these nodes exist.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if one of them does not.
    pub(super) fn check_nodes(&self, mut nodes: impl Iterator<Item = NodeId>) -> Result<()> {
        match nodes.find(|node| *node >= self.nodes.len()) {
            Some(node) => Err(Error::invalid(format!("node {node} does not exist in the graph: please report this"))),
            None => Ok(()),
        }
    }

    pub(super) fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Returns true if the policies require a checkpoint at a boundary. `ended` ran before it, `next` runs after it.
    pub(super) fn wants(
        &self,
        first: bool,
        mut ended: impl Iterator<Item = NodeId>,
        mut next: impl Iterator<Item = NodeId>,
    ) -> bool {
        let default = match self.checkpoint {
            Policy::EveryNode if first => return true,
            Policy::EveryNode => NodePolicy::After,
            Policy::Explicit => NodePolicy::None,
            Policy::None => return false,
        };
        let policy = |node: NodeId| self.nodes[node].checkpoint.unwrap_or(default);
        ended.any(|node| matches!(policy(node), NodePolicy::After | NodePolicy::Both))
            || next.any(|node| matches!(policy(node), NodePolicy::Before | NodePolicy::Both))
    }
}
