//! The definition of a workflow: its steps with names, kinds and parents, and the retry rule.

use serde::Deserialize;

use crate::error::{Error, Result};

/// Identifies a step: its index in [`Definition::nodes`].
pub type NodeId = usize;

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The step's name.
    pub name: String,
    /// The step's kind.
    pub kind: Kind,
    /// The step that contains this step. `None`: a top-level step.
    pub parent: Option<NodeId>,
}

/// The rule for retries of a failed step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// The maximum number of retries after the first attempt.
    pub max_retries: u32,
    /// The wait before the first retry, in ms. Each further wait is twice as long.
    pub backoff_ms: f64,
}

impl Retry {
    /// The longest wait that a JavaScript timer supports: about 24 days.
    const LONGEST_MS: f64 = 2_147_483_647.0;

    /// Returns the wait after an attempt, in ms. The first attempt has the number 0.
    pub fn wait_ms(&self, attempt: u32) -> f64 {
        (self.backoff_ms * 2f64.powi(i32::try_from(attempt).unwrap_or(i32::MAX))).min(Self::LONGEST_MS)
    }
}

/// A step, and the steps that it contains.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The retry rule of every task and every condition.
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

    /// Returns the name of a top-level step. `index` is its `stepIndex`.
    pub fn top_name(&self, index: usize) -> Option<&str> {
        self.top.get(index).and_then(|node| self.nodes.get(*node)).map(|node| node.step.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_end() {
        let retry = Retry { max_retries: 100, backoff_ms: 10.0 };
        let waits = [0, 1, 2, 3, u32::MAX].map(|attempt| retry.wait_ms(attempt).to_bits());
        assert_eq!(waits, [10.0, 20.0, 40.0, 80.0, Retry::LONGEST_MS].map(f64::to_bits));
        assert_eq!(Retry::default().wait_ms(50).to_bits(), 0);
    }

    #[test]
    fn a_task_cannot_contain_steps() {
        let step = |kind, parent| Step { name: "s".to_owned(), kind, parent };
        assert!(Definition::new(vec![step(Kind::Task, None), step(Kind::Task, Some(0))], Retry::default()).is_err());
        assert!(Definition::new(vec![step(Kind::Task, Some(0))], Retry::default()).is_err());
        let steps = vec![step(Kind::Parallel, None), step(Kind::Task, Some(0)), step(Kind::Task, None)];
        let definition = Definition::new(steps, Retry::default()).unwrap();
        assert_eq!((definition.top, definition.nodes[0].children.clone()), (vec![0, 2], vec![1]));
    }
}
