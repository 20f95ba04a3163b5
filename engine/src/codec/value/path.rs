//! The paths of references. The module above describes their form.

use std::collections::HashMap;
use std::fmt::Write;

use super::reader::{Literal, Reader};

/// The step from an object to what it holds. The name of a property is an offset in the JSON text, where the name is a
/// string.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// An item of an array, the value of a Map's entry, a member of a Set.
    Index(u32),
    /// The key of a Map's entry.
    Key(u32),
    /// A property, or the value of a Map's string key.
    Name(u32),
}

/// An object and the step to what it holds.
pub(super) type Place = Option<(u32, Step)>;

/// Where each object is, by V8's number of it. Writes paths.
#[derive(Default)]
pub(super) struct Places(Vec<Place>);

impl Places {
    /// Adds the next object and returns its number.
    pub(super) fn add(&mut self, place: Place) -> Option<u32> {
        let id = u32::try_from(self.0.len()).ok()?;
        self.0.push(place);
        Some(id)
    }

    /// Returns the path to an object. Returns `None` if there is no such object.
    pub(super) fn path(&self, id: u32, text: &str) -> Option<String> {
        let mut place = *self.0.get(id as usize)?;
        let mut steps = Vec::new();
        while let Some((parent, step)) = place {
            steps.push(step);
            place = *self.0.get(parent as usize)?;
        }
        let mut path = String::new();
        for step in steps.iter().rev() {
            // Writing to a String cannot fail.
            let _ = match step {
                Step::Index(index) => write!(path, "[{index}]"),
                Step::Key(index) => write!(path, "[#{index}]"),
                Step::Name(at) => match name(text, *at) {
                    name if !is_simple(&name) => write!(path, "[\"{name}\"]"),
                    name if path.is_empty() => write!(path, "{name}"),
                    name => write!(path, ".{name}"),
                },
            };
        }
        Some(path)
    }
}

/// A [`Step`] with the name itself, in the canonical notation.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Index(u32),
    OfEntry(u32),
    Name(String),
}

/// Finds objects by their paths.
#[derive(Default)]
pub(super) struct Index(HashMap<(u32, Key), u32>);

impl Index {
    /// Adds an object.
    pub(super) fn add(&mut self, place: Place, id: u32, text: &str) {
        let Some((parent, step)) = place else { return };
        let key = match step {
            Step::Index(index) => Key::Index(index),
            Step::Key(index) => Key::OfEntry(index),
            Step::Name(at) => Key::Name(name(text, at)),
        };
        self.0.insert((parent, key), id);
    }

    /// Returns the number of the object at a path. Returns `None` if there is none, or if the path has another form.
    pub(super) fn find(&self, path: &str) -> Option<u32> {
        let mut id = 0;
        let mut rest = path;
        while !rest.is_empty() {
            let key;
            (key, rest) = step(rest, rest.len() == path.len())?;
            id = *self.0.get(&(id, key))?;
        }
        Some(id)
    }
}

/// Reads the first step of a path. Returns it and the rest of the path.
fn step(path: &str, first: bool) -> Option<(Key, &str)> {
    if let Some(rest) = path.strip_prefix('[') {
        if rest.starts_with('"') {
            let mut reader = Reader::new(rest, 0);
            let name = reader.string().ok()?.canonical();
            return Some((Key::Name(name), rest[reader.at()..].strip_prefix(']')?));
        }
        let (number, after) = rest.split_once(']')?;
        let key = match number.strip_prefix('#') {
            Some(number) => Key::OfEntry(number.parse().ok()?),
            None => Key::Index(number.parse().ok()?),
        };
        return Some((key, after));
    }
    let rest = match path.strip_prefix('.') {
        Some(rest) => rest,
        None if first => path,
        None => return None,
    };
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    is_simple(name).then(|| (Key::Name(name.to_owned()), after))
}

/// Returns the string at this offset in the canonical notation, without quotes.
fn name(text: &str, at: u32) -> String {
    Reader::new(text, at as usize).string().map(Literal::canonical).unwrap_or_default()
}

/// Returns true if a path may have this name without quotes.
fn is_simple(name: &str) -> bool {
    let first = |char: char| char.is_ascii_alphabetic() || matches!(char, '_' | '$');
    name.starts_with(first) && name.chars().all(|char| first(char) || char.is_ascii_digit())
}
