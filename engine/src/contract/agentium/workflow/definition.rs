//! The definition of a workflow: its steps with names, kinds and parents, and the retry rule.

use serde::Deserialize;
use ts_rs::TS;

use crate::contract::retry::Retry;
use crate::error::{Error, Result};

/// Identifies a step: its index in [`Definition::nodes`].
pub type NodeId = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// A step that runs the user's function or an agent.
    Task,
    /// A step that contains other steps. If its condition is true, the contained steps run one after the other.
    Condition,
    /// A step that contains other steps. The contained steps run at the same time.
    Parallel,
}

/// A step, as the caller describes it. In a list of steps, each parent comes before its children.
#[derive(Clone, Debug, PartialEq, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub name: String,
    pub kind: Kind,
    /// The step that contains this step. `None`: a top-level step.
    pub parent: Option<NodeId>,
    /// The retry rule of this step. `None`: the rule of the workflow.
    pub retry: Option<Retry>,
}

/// A step, and the steps that it contains.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The step, as the caller described it.
    pub step: Step,
    /// The steps that this step contains, in their order.
    pub children: Vec<NodeId>,
}

/// The steps of a workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    /// All steps, including the steps inside other steps.
    pub nodes: Vec<Node>,
    /// The top-level steps, in their order. A checkpoint is stored after each top-level step. `stepIndex` counts the
    /// top-level steps.
    pub top: Vec<NodeId>,
    /// The retry rule of the tasks and conditions without their own rule.
    pub retry: Retry,
}

impl Definition {
    /// Builds a definition from its steps.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if a step's parent is a task or does not come before the step.
    pub fn new(steps: Vec<Step>, retry: Retry) -> Result<Self> {
        let mut definition = Self { nodes: Vec::with_capacity(steps.len()), top: Vec::new(), retry };
        for (id, step) in steps.into_iter().enumerate() {
            match step.parent {
                None => definition.top.push(id),
                Some(parent) => match definition.nodes.get_mut(parent) {
                    Some(node) if node.step.kind != Kind::Task => node.children.push(id),
                    _ => {
                        return Err(Error::invalid(format!(
                            "step {:?} belongs to a step that cannot contain steps",
                            step.name
                        )));
                    }
                },
            }
            definition.nodes.push(Node { step, children: Vec::new() });
        }
        Ok(definition)
    }

    pub fn retry_of(&self, node: NodeId) -> Retry {
        self.nodes.get(node).and_then(|node| node.step.retry).unwrap_or(self.retry)
    }

    /// Returns the name of a top-level step. `index` is its `stepIndex`.
    pub fn top_name(&self, index: usize) -> Option<&str> {
        self.top.get(index).and_then(|node| self.nodes.get(*node)).map(|node| node.step.name.as_str())
    }
}
