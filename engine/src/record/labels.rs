//! The labels of a run: pairs of texts by which users find it again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::codec::varint;
use crate::error::{Error, Result};

/// The labels of a lineage: values by key. Unrelated to the label of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, TS)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, String>);

/// A change of labels: new values by key. `None` removes the label.
pub type LabelChanges = BTreeMap<String, Option<String>>;

impl Labels {
    /// The maximum number of labels of a lineage.
    pub const MOST: usize = 32;

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Returns true if these labels include all of `wanted`.
    pub fn has(&self, wanted: &Self) -> bool {
        wanted.0.iter().all(|(key, value)| self.0.get(key) == Some(value))
    }

    /// The changes from no labels to these labels.
    pub fn changes(&self) -> LabelChanges {
        self.0.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect()
    }

    /// The labels after a change.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if there are too many labels.
    pub fn changed(&self, changes: &LabelChanges) -> Result<Self> {
        let mut labels = self.0.clone();
        for (key, value) in changes {
            match value {
                Some(value) => labels.insert(key.clone(), value.clone()),
                None => labels.remove(key),
            };
        }
        if labels.len() > Self::MOST {
            let (most, count) = (Self::MOST, labels.len());
            return Err(Error::invalid(format!(
                "a run can have at most {most} labels, but would have {count}: remove some of them, with null as the value"
            )));
        }
        Ok(Self(labels))
    }

    /// The bytes that databases store: the keys and values in the order of the keys, each with its length.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for text in self.0.iter().flat_map(|(key, value)| [key, value]) {
            varint::write(&mut out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
        out
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut labels = BTreeMap::new();
        while !bytes.is_empty() {
            let (key, value) = (text(&mut bytes)?, text(&mut bytes)?);
            labels.insert(key, value);
        }
        Some(Self(labels))
    }
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let length = varint::read(bytes)?;
    String::from_utf8(varint::take(bytes, length)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        Labels(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_change_merges_and_removes() {
        let before = labels(&[("customer", "acme"), ("plan", "free")]);
        let change = |pairs: &[(&str, Option<&str>)]| -> LabelChanges {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect()
        };
        let after = before.changed(&change(&[("plan", None), ("seats", Some("")), ("none", None)])).unwrap();
        assert_eq!(after, labels(&[("customer", "acme"), ("seats", "")]));
        assert!(after.has(&Labels::default()) && after.has(&labels(&[("seats", "")])));
        assert!(!after.has(&labels(&[("seats", "2")])) && !after.has(&before));
        assert_eq!(Labels::default().changed(&before.changes()).unwrap(), before);

        let many: LabelChanges = (0..32).map(|n| (n.to_string(), Some(String::new()))).collect();
        let full = Labels::default().changed(&many).unwrap();
        assert!(full.changed(&change(&[("1", Some("other")), ("2", None), ("new", Some(""))])).is_ok());
        assert!(full.changed(&change(&[("new", Some(""))])).unwrap_err().message().contains("at most 32"));
    }

    #[test]
    fn labels_come_back() {
        for given in [labels(&[]), labels(&[("", "")]), labels(&[("a", "é\0"), ("b", &"x".repeat(500))])] {
            let bytes = given.encode();
            assert_eq!(Labels::decode(&bytes), Some(given));
            assert_eq!(Labels::decode(&[&bytes[..], &[1]].concat()), None);
        }
        assert_eq!(Labels::decode(&[1, 0xff, 0]), None, "no text");
    }
}
