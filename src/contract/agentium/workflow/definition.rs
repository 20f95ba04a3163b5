//! The steps of a workflow, as far as they decide what comes next: names, shapes, retries.

use serde::Deserialize;

use crate::error::{Error, Result};

/// A step, by its place in [`Definition::nodes`].
pub type NodeId = usize;

/// What kind of step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// The user's function, or an agent.
    Task,
    /// Steps that run one after the other if a condition holds.
    Condition,
    /// Steps that run at the same time.
    Parallel,
}

/// A step as it is given: parents come before their children.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The step that it is a part of.
    pub parent: Option<NodeId>,
}

/// How often a step that failed is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// So many times after the first.
    pub max_retries: u32,
    /// The wait before the first retry, in ms; each further one is twice as long.
    pub backoff_ms: f64,
}

impl Retry {
    /// A timer waits no longer than this: about 24 days.
    const LONGEST_MS: f64 = 2_147_483_647.0;

    /// The wait after that attempt, counted from 0.
    pub fn wait_ms(&self, attempt: u32) -> f64 {
        (self.backoff_ms * 2f64.powi(i32::try_from(attempt).unwrap_or(i32::MAX))).min(Self::LONGEST_MS)
    }
}

/// A step and what it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// As it was given.
    pub step: Step,
    /// Its parts, in their order.
    pub children: Vec<NodeId>,
}

/// The steps of a workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    /// Every step, its parts included.
    pub nodes: Vec<Node>,
    /// The steps that are checkpointed, in their order: `stepIndex` counts these.
    pub top: Vec<NodeId>,
    /// For every function and condition.
    pub retry: Retry,
}

impl Definition {
    /// Puts the steps together.
    pub fn new(steps: Vec<Step>, retry: Retry) -> Result<Self> {
        let mut definition = Self { nodes: Vec::with_capacity(steps.len()), top: Vec::new(), retry };
        for (id, step) in steps.into_iter().enumerate() {
            match step.parent {
                None => definition.top.push(id),
                Some(parent) => match definition.nodes.get_mut(parent) {
                    Some(node) if node.step.kind != Kind::Task => node.children.push(id),
                    _ => {
                        return Err(Error::invalid(format!(
                            "step {:?} belongs to a step that has no parts",
                            step.name
                        )));
                    }
                },
            }
            definition.nodes.push(Node { step, children: Vec::new() });
        }
        Ok(definition)
    }

    /// The name of a checkpointed step.
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
    fn a_task_has_no_parts() {
        let step = |kind, parent| Step { name: "s".to_owned(), kind, parent };
        assert!(Definition::new(vec![step(Kind::Task, None), step(Kind::Task, Some(0))], Retry::default()).is_err());
        assert!(Definition::new(vec![step(Kind::Task, Some(0))], Retry::default()).is_err());
        let steps = vec![step(Kind::Parallel, None), step(Kind::Task, Some(0)), step(Kind::Task, None)];
        let definition = Definition::new(steps, Retry::default()).unwrap();
        assert_eq!((definition.top, definition.nodes[0].children.clone()), (vec![0, 2], vec![1]));
    }
}
