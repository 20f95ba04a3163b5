//! Decides whether a stored checkpoint fits a workflow's definition.

use super::definition::Definition;
use super::protocol::Base;

/// Checks that a run can continue after the checkpoint: the step at the checkpoint's step index must have the
/// checkpoint's step name. If `force` is true, the names are not compared.
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

#[cfg(test)]
mod tests {
    use super::super::definition::{Kind, Step};
    use super::*;
    use crate::contract::retry::Retry;

    #[test]
    fn a_checkpoint_fits_if_its_step_has_the_same_name() {
        let step = |name: &str| Step { name: name.to_owned(), kind: Kind::Task, parent: None, retry: None };
        let definition = Definition::new(vec![step("a"), step("b")], Retry::default()).unwrap();
        let fits = |step_index, name: &str, force| {
            let base = Base { id: "c".to_owned(), run_id: "r".to_owned(), step_index, step_name: name.to_owned() };
            check(&definition, &base, force)
        };
        assert!(fits(-1, "initial", false).is_ok());
        assert!(fits(1, "b", false).is_ok());
        assert!(fits(1, "a", false).unwrap_err().contains("is now called \"b\""));
        assert!(fits(2, "c", false).unwrap_err().contains("now has 2 steps"));
        assert!(fits(1, "a", true).is_ok() && fits(i64::MAX, "c", true).is_ok());
        assert!(fits(-2, "x", true).is_err());
    }
}
