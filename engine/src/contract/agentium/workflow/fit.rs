//! Decides whether a run of a workflow can continue from a stored checkpoint.

use super::definition::Definition;
use super::protocol::Base;

/// Checks that a run can continue after the checkpoint: the step at the checkpoint's index must have the checkpoint's
/// step name. With `force`, names are not compared.
///
/// # Errors
/// A message that describes the mismatch and the remedy.
pub(super) fn check(definition: &Definition, base: &Base, force: bool) -> Result<(), String> {
    let Base { id, step_index, step_name, .. } = base;
    if *step_index < -1 {
        return Err(format!("checkpoint {id:?} has step index {step_index}, and the lowest possible step index is -1"));
    }
    if *step_index == -1 || force {
        return Ok(());
    }
    let remedy = "restore the step, or pass { force: true } to use the index and ignore the name";
    match definition.top_name(after(*step_index) - 1) {
        Some(name) if name == step_name => Ok(()),
        Some(name) => Err(format!(
            "checkpoint {id:?} was stored after step {step_index}, {step_name:?}, but that step is now called {name:?}: \
             {remedy}"
        )),
        None => Err(format!(
            "checkpoint {id:?} was stored after step {step_index}, {step_name:?}, but the workflow now has {} steps: \
             {remedy}",
            definition.top.len()
        )),
    }
}

/// Returns the index of the step after `step_index`.
pub(super) fn after(step_index: i64) -> usize {
    usize::try_from(step_index.saturating_add(1)).unwrap_or(0)
}
