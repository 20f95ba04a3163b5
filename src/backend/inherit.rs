//! Parts that a payload has from others.

use crate::record::{Part, Payload};

/// Names to be found, and what was found of them.
pub(super) struct Inherited {
    wanted: Vec<String>,
    found: Vec<Part>,
}

impl Inherited {
    pub(super) fn new(wanted: Vec<String>) -> Self {
        Self { wanted, found: Vec::new() }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Takes what a payload has of the names that are still to be found.
    pub(super) fn take(&mut self, from: &Payload) {
        self.wanted.retain(|name| match from.part(name) {
            Some(part) => {
                self.found.push(part.clone());
                false
            }
            None => true,
        });
    }

    /// Puts what was found among the parts that were given. In the order of their names, so that the next payload of the
    /// lineage has what they have in common in the same place.
    pub(super) fn into_payload(self, payload: &mut Payload) {
        payload.parts.extend(self.found);
        payload.parts.sort_by(|a, b| a.name.cmp(&b.name));
    }
}
