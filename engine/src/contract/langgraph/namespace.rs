//! The names of namespaces and of what is in them.
//!
//! The name of a namespace has the labels, each with a dot behind it. In a label, a dot and a backslash have a backslash
//! before them. So the name of a namespace begins with the name of another one only where its labels begin with the other's
//! labels. The id of an entry is the name of its namespace, a dot and the key. No label is empty, so the dots say where the
//! key begins.

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
        // No escape of another label is like this one.
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

/// Takes a label with its dot off a name.
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

/// Returns the run that a namespace is called: its labels with dots between them.
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
