//! Parts that a payload has from others.

use crate::record::{Part, Payload};

/// A name to be found.
struct Wanted {
    name: String,
    /// What it looks like, if that is known.
    like: Option<Part>,
    /// The newest of that name that looks otherwise.
    unlike: Option<Part>,
}

/// Names to be found, and what was found of them.
pub(super) struct Inherited {
    wanted: Vec<Wanted>,
    found: Vec<Part>,
}

impl Inherited {
    /// Takes the names out of a payload.
    pub(super) fn of(payload: &mut Payload) -> Self {
        let like = std::mem::take(&mut payload.like);
        let wanted = |name: String| {
            let like = like.iter().find(|part| part.name == name).cloned();
            Wanted { name, like, unlike: None }
        };
        let wanted = std::mem::take(&mut payload.inherit).into_iter().map(wanted).collect();
        Self { wanted, found: Vec::new() }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Takes what the parent has, whatever it looks like.
    pub(super) fn take_parents(&mut self, parent: &Payload) {
        self.wanted.retain(|wanted| match parent.part(&wanted.name) {
            Some(part) => {
                self.found.push(part.clone());
                false
            }
            None => true,
        });
    }

    /// Takes what another of the lineage has; they come newest first.
    pub(super) fn take(&mut self, from: &Payload) {
        self.wanted.retain_mut(|wanted| match from.part(&wanted.name) {
            Some(part) if wanted.like.as_ref().is_none_or(|like| like == part) => {
                self.found.push(part.clone());
                false
            }
            Some(part) => {
                wanted.unlike.get_or_insert_with(|| part.clone());
                true
            }
            None => true,
        });
    }

    /// Puts what was found among the parts that were given. In the order of their names, so that the next payload of the
    /// lineage has what they have in common in the same place.
    pub(super) fn into_payload(self, payload: &mut Payload) {
        payload.parts.extend(self.found);
        payload.parts.extend(self.wanted.into_iter().filter_map(|wanted| wanted.unlike));
        payload.parts.sort_by(|a, b| a.name.cmp(&b.name));
    }
}
