//! Converts serialized values of the source, for a destination that stores them in another form.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::query::Answer;
use crate::record::{Content, Part, Record, Write};

/// A serialized value: the name of its serializer, and its bytes.
pub type Value = (String, Bytes);

/// A conversion of values.
pub struct Convert {
    /// The serializers whose values must be converted.
    pub tags: Vec<String>,
    /// Returns the converted values, in the same number and order. Must be deterministic, because both stores are
    /// compared after the copy.
    pub convert: Box<dyn Fn(Vec<Value>) -> Result<Vec<Value>> + Send + Sync>,
}

/// The approximate size of the values of one call, in bytes.
const BATCH: usize = 256 << 10;

impl Convert {
    /// Converts all values of an answer.
    pub(super) fn answer(&self, answer: &mut Answer) -> Result<()> {
        let mut converted = Vec::new();
        let (mut batch, mut size) = (Vec::new(), 0);
        let mut outcome = Ok(());
        each(answer, &mut |tag, bytes| {
            if outcome.is_err() || !self.tags.contains(tag) {
                return;
            }
            batch.push((tag.clone(), bytes.joined().clone()));
            size += bytes.len();
            if size >= BATCH {
                size = 0;
                outcome = self.call(std::mem::take(&mut batch)).map(|values| converted.extend(values));
            }
        });
        outcome?;
        if !batch.is_empty() {
            converted.extend(self.call(batch)?);
        }
        let mut converted = converted.into_iter();
        each(answer, &mut |tag, bytes| {
            if self.tags.contains(tag)
                && let Some((new_tag, new_bytes)) = converted.next()
            {
                *tag = new_tag;
                *bytes = new_bytes.into();
            }
        });
        Ok(())
    }

    fn call(&self, values: Vec<Value>) -> Result<Vec<Value>> {
        let count = values.len();
        let converted = (self.convert)(values)?;
        if converted.len() == count { Ok(converted) } else { Err(Error::poisoned()) }
    }
}

/// Visits the serialized values of an answer, always in the same order.
fn each(answer: &mut Answer, visit: &mut dyn FnMut(&mut String, &mut Content)) {
    let mut part = |part: &mut Part| visit(&mut part.tag, &mut part.bytes);
    match answer {
        Answer::All(all) => all.iter_mut().for_each(|answer| each(answer, visit)),
        Answer::Checkpoint(Some(found)) => found.payload.parts.iter_mut().for_each(part),
        Answer::Saves(saved) => saved.iter_mut().flat_map(|saved| &mut saved.checkpoint.payload.parts).for_each(part),
        Answer::Tuple(Some(tuple)) => {
            let writes = tuple.writes.iter_mut().map(|Write { part, .. }| part);
            tuple.checkpoint.payload.parts.iter_mut().chain(writes).for_each(part);
        }
        Answer::Writes(written) => {
            written.iter_mut().flat_map(|written| &mut written.writes).for_each(|write| part(&mut write.part));
        }
        Answer::Log(Some(page)) => {
            for Record { tag, bytes, .. } in &mut page.records {
                let mut content = Content::from(std::mem::take(bytes));
                visit(tag, &mut content);
                *bytes = content.into_joined();
            }
        }
        _ => {}
    }
}
