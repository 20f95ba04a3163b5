//! The names of namespaces and of their entries.
//!
//! The name of a namespace is its labels, each followed by a dot. In a label, a backslash precedes each dot and
//! backslash. So a name is a prefix of another name only if its labels are the first labels of the other namespace. The
//! id of an entry is the name of its namespace, a dot and the key. An empty label is an escape, so the dots show where
//! the key begins.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::entry::Names;

/// An entry in a namespace.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, TS)]
pub(super) struct Address {
    pub namespace: Vec<String>,
    pub key: String,
}

impl Address {
    pub(super) fn id(&self) -> String {
        format!("{}.{}", name(&self.namespace), self.key)
    }

    pub(super) fn read(id: &str) -> Option<Self> {
        let mut namespace = Vec::new();
        let mut rest = id;
        loop {
            if let Some(key) = rest.strip_prefix('.') {
                return Some(Self { namespace, key: key.to_owned() });
            }
            namespace.push(take_label(&mut rest)?);
        }
    }
}

/// Returns the name of a namespace.
pub(super) fn name(namespace: &[String]) -> String {
    let mut name = String::new();
    for label in namespace {
        // No escape of another label equals this one.
        if label.is_empty() {
            name.push_str("\\e");
        }
        for char in label.chars() {
            if matches!(char, '.' | '\\') {
                name.push('\\');
            }
            name.push(char);
        }
        name.push('.');
    }
    name
}

/// Returns the labels of a namespace.
pub(super) fn labels(name: &str) -> Option<Vec<String>> {
    let mut labels = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        labels.push(take_label(&mut rest)?);
    }
    Some(labels)
}

/// Removes the first label and its dot from a name, and returns the label.
fn take_label(name: &mut &str) -> Option<String> {
    let mut label = String::new();
    let mut chars = name.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '.' => {
                *name = &name[at + 1..];
                return Some(label);
            }
            '\\' => match chars.next()?.1 {
                'e' => {}
                escaped => label.push(escaped),
            },
            char => label.push(char),
        }
    }
    None
}

/// Returns the public name of a namespace as a run: its labels, joined by dots.
pub(super) fn names(lineage: Option<String>, id: Option<&str>, end: &str) -> Names {
    let run = |name: String| name.strip_suffix(end).map_or_else(|| name.clone(), str::to_owned);
    match id.and_then(Address::read) {
        Some(Address { namespace, key }) => {
            let run = run(lineage.unwrap_or_else(|| name(&namespace)));
            Names { run: Some(run), ns: None, id: Some(key) }
        }
        None => Names { run: lineage.map(run), ns: None, id: id.map(str::to_owned) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|label| (*label).to_owned()).collect()
    }

    const LABELS: [&str; 14] = ["a", "b", "ab", ".", "\\", "a.", "a\\", "\\.", "\\e", "e", "", "\0", ":,/%_*", "ä😀"];

    fn all() -> Vec<Vec<String>> {
        let mut all = vec![Vec::new()];
        for first in LABELS {
            all.push(namespace(&[first]));
            all.extend(LABELS.map(|second| namespace(&[first, second])));
        }
        all
    }

    #[test]
    fn names_come_back_and_begin_with_each_other_where_labels_do() {
        for one in all() {
            assert_eq!(labels(&name(&one)), Some(one.clone()));
            for other in all() {
                assert_eq!(name(&one).starts_with(&name(&other)), one.starts_with(&other), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn no_two_entries_have_the_same_id() {
        let mut ids = std::collections::HashMap::new();
        for namespace in all() {
            for key in LABELS {
                let address = Address { namespace: namespace.clone(), key: key.to_owned() };
                assert_eq!(Address::read(&address.id()), Some(address.clone()));
                assert_eq!(ids.insert(address.id(), address), None);
            }
        }
    }
}
