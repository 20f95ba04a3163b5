//! Resolves the parts that a draft inherits. A part comes from the draft's parent, or from the newest checkpoint of the
//! lineage that has the part, if the parent lacks it.

use crate::error::Result;
use crate::record::{Draft, Part, Payload};

/// Returns the entire payload of a draft, including its inherited parts.
///
/// `newest_first` yields the payloads of the draft's lineage, the newest first. The function reads only as many of
/// these payloads as it needs: none if the draft inherits nothing or if the parent has every part. An error from
/// `newest_first` is returned, because the unreadable payload may contain a wanted part.
pub(crate) fn resolve(
    draft: &Draft,
    parent: Option<Payload>,
    newest_first: impl Iterator<Item = Result<Payload>>,
) -> Result<Payload> {
    let mut inherited = Inherited::of(draft);
    if let Some(parent) = parent {
        inherited.take(&parent, true);
    }
    let mut newest_first = newest_first;
    while !inherited.wanted.is_empty() {
        let Some(from) = newest_first.next() else { break };
        inherited.take(&from?, false);
    }
    Ok(inherited.into_payload(draft))
}

/// Like [`resolve`], but takes parts from the parent alone. Returns `None` if the parent lacks a part.
pub(crate) fn resolve_from_parent(draft: &Draft, parent: &Payload) -> Option<Payload> {
    let mut inherited = Inherited::of(draft);
    inherited.take(parent, true);
    inherited.wanted.is_empty().then(|| inherited.into_payload(draft))
}

/// A part that has not been found yet.
struct Wanted<'a> {
    name: &'a str,
    /// The expected content, if the caller knows it.
    like: Option<&'a Part>,
    /// The newest part that has this name but differs from the expected content.
    unlike: Option<Part>,
}

/// The inherited parts: those not found yet, and those already found.
struct Inherited<'a> {
    wanted: Vec<Wanted<'a>>,
    found: Vec<Part>,
}

impl<'a> Inherited<'a> {
    fn of(draft: &'a Draft) -> Self {
        let wanted = |name: &'a String| {
            let like = draft.like.iter().find(|part| part.name == *name);
            Wanted { name, like, unlike: None }
        };
        Self { wanted: draft.inherit.iter().map(wanted).collect(), found: Vec::new() }
    }

    /// Takes wanted parts from a checkpoint. From the parent, takes every wanted part. From other checkpoints, takes
    /// only parts with the expected content. Call this for the parent first, then for the others, the newest first.
    fn take(&mut self, from: &Payload, is_parent: bool) {
        self.wanted.retain_mut(|wanted| match from.part(wanted.name) {
            Some(part) if is_parent || wanted.like.is_none_or(|like| like == part) => {
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

    /// Returns the payload with the given and the found parts. If any part is inherited, sorts all parts by name, so
    /// that equal parts have the same position in the next payload of the lineage.
    fn into_payload(self, draft: &Draft) -> Payload {
        let mut payload = draft.payload.clone();
        if !draft.inherit.is_empty() {
            payload.parts.extend(self.found);
            payload.parts.extend(self.wanted.into_iter().filter_map(|wanted| wanted.unlike));
            payload.parts.sort_by(|a, b| a.name.cmp(&b.name));
        }
        payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Code, Error};
    use crate::record::{Checkpoint, ContractId, Header};

    fn payload(parts: &[(&str, &str)]) -> Payload {
        let part = |(name, bytes): &(&str, &str)| Part {
            name: (*name).to_owned(),
            tag: "t".to_owned(),
            bytes: bytes.as_bytes().to_vec().into(),
        };
        Payload { parts: parts.iter().map(part).collect() }
    }

    fn draft(given: &[(&str, &str)], inherit: &[&str]) -> Draft {
        let header = Header::new(ContractId(1), "run", "id");
        let given = Checkpoint { header, payload: payload(given), logs: Vec::new() };
        let inherit = inherit.iter().map(|name| (*name).to_owned()).collect();
        Draft { inherit, ..Draft::from(given) }
    }

    fn damaged() -> Result<Payload> {
        Err(Error::new(Code::Corrupt, "damaged"))
    }

    #[test]
    fn no_more_is_read_than_is_needed() {
        let nothing = draft(&[("z", "1"), ("a", "2")], &[]);
        assert_eq!(resolve(&nothing, None, [damaged()].into_iter()).unwrap(), nothing.payload, "in its own order");
        let one = draft(&[], &["a"]);
        let a = payload(&[("a", "1")]);
        assert_eq!(resolve(&one, Some(a.clone()), [damaged()].into_iter()).unwrap(), a);
        assert_eq!(resolve(&one, None, [Ok(a.clone()), damaged()].into_iter()).unwrap(), a);
        let error = resolve(&one, None, [damaged(), Ok(a)].into_iter()).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt, "what cannot be read may have it");
    }
}
