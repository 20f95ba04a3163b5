//! Reads V8's format and writes JSON. `content` reads what objects hold, `leaf` the values that hold no
//! others.
//!
//! The decoder accepts more than V8 writes. [`super::to_json`] encodes the text again and compares the bytes, so that
//! the decoder need not check for the one right encoding.

mod content;
mod leaf;

use std::fmt::{self, Write};

use super::path::{Place, Places, Step};

use super::text::write_str;
use super::{DEEPEST, tags};

/// Returns a value as JSON. Returns `None` if the bytes are not understood.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let mut first = Decoder::new(bytes, Vec::new());
    first.run()?;
    if first.found.is_empty() {
        return Some(first.out);
    }
    // Which objects need the long form is known only after their last property was read. So the value is read again.
    first.found.sort_unstable();
    first.found.dedup();
    let mut second = Decoder::new(bytes, first.found);
    second.run()?;
    Some(second.out)
}

struct Decoder<'a> {
    rest: &'a [u8],
    out: String,
    /// The greatest length of `out`.
    longest: usize,
    places: Places,
    /// The numbers of the objects that are written in the long form, ascending.
    long: Vec<u32>,
    /// The numbers of the objects that need the long form.
    found: Vec<u32>,
    open: Vec<Frame>,
}

/// An object whose content is being read.
struct Frame {
    id: u32,
    /// The step to the value that is read next.
    step: Step,
    /// The number of items, properties, keys and values that were read.
    count: u32,
    /// Whether keys and values are written as a list of pairs.
    pairs: bool,
    kind: Kind,
}

enum Kind {
    Object,
    /// The items of a dense array, then its properties.
    Dense {
        length: u32,
    },
    DenseProperties,
    /// `next` is the index after the last item.
    Sparse {
        length: u32,
        next: u32,
    },
    Map,
    Set,
    Error,
}

enum Next {
    Value,
    End,
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8], long: Vec<u32>) -> Self {
        let longest = bytes.len().saturating_mul(32).saturating_add(4_096).min(u32::MAX as usize);
        let out = String::with_capacity(bytes.len().min(longest));
        Self { rest: bytes, out, longest, places: Places::default(), long, found: Vec::new(), open: Vec::new() }
    }

    fn run(&mut self) -> Option<()> {
        self.rest = self.rest.strip_prefix(&tags::HEADER)?;
        loop {
            self.value()?;
            loop {
                if self.out.len() > self.longest {
                    return None;
                }
                let Some(mut frame) = self.open.pop() else {
                    return self.rest.is_empty().then_some(());
                };
                if let Next::Value = self.next(&mut frame)? {
                    self.open.push(frame);
                    break;
                }
            }
        }
    }

    /// Reads a primitive value, or the beginning of an object.
    fn value(&mut self) -> Option<()> {
        match self.tag()? {
            tags::UNDEFINED => self.out.push_str(r#"{"$type":"Undefined"}"#),
            tags::NULL => self.out.push_str("null"),
            tags::TRUE => self.out.push_str("true"),
            tags::FALSE => self.out.push_str("false"),
            tags::INT32 => {
                let value = self.int32()?;
                self.out.push_str(&value.to_string());
            }
            tags::DOUBLE => self.double()?,
            tags::BIG_INT => self.big_int()?,
            tag @ (tags::ONE_BYTE_STRING | tags::TWO_BYTE_STRING) => self.string(tag)?,
            tags::REFERENCE => {
                let id = self.uint32()?;
                let path = self.places.path(id, &self.out)?;
                self.typed("Ref");
                write_str(&mut self.out, &path);
                self.out.push('}');
            }
            tag => self.object(tag)?,
        }
        Some(())
    }

    fn object(&mut self, tag: u8) -> Option<()> {
        let id = self.places.add(self.place())?;
        match tag {
            tags::OBJECT => {
                let pairs = self.is_long(id);
                self.out.push_str(if pairs { r#"{"$type":"Object","value":["# } else { "{" });
                self.open(id, Kind::Object, pairs)
            }
            tags::DENSE => {
                let length = self.uint32()?;
                self.out.push_str(if self.is_long(id) { r#"{"$type":"Array","value":["# } else { "[" });
                self.open(id, Kind::Dense { length }, false)
            }
            tags::SPARSE => {
                let length = self.uint32()?;
                let pairs = self.is_long(id);
                if pairs {
                    self.put(format_args!(r#"{{"$type":"Array","length":{length},"properties":["#));
                } else {
                    self.out.push_str("[ ");
                }
                self.open(id, Kind::Sparse { length, next: 0 }, pairs)
            }
            tags::MAP => {
                self.typed("Map");
                self.out.push('[');
                self.open(id, Kind::Map, true)
            }
            tags::SET => {
                self.typed("Set");
                self.out.push('[');
                self.open(id, Kind::Set, false)
            }
            tags::ERROR => {
                self.typed("Error");
                self.out.push('{');
                self.open(id, Kind::Error, false)
            }
            _ => self.leaf(tag),
        }
    }

    fn open(&mut self, id: u32, kind: Kind, pairs: bool) -> Option<()> {
        let frame = Frame { id, step: Step::Index(0), count: 0, pairs, kind };
        self.open.push(frame);
        (self.open.len() <= DEEPEST).then_some(())
    }

    /// Writes the beginning of a `$type` object, up to its value.
    fn typed(&mut self, name: &str) {
        self.put(format_args!(r#"{{"$type":"{name}","value":"#));
    }

    /// Appends a text.
    fn put(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.out.write_fmt(text);
    }

    fn comma(&mut self, count: u32) {
        if count > 0 {
            self.out.push(',');
        }
    }

    fn is_long(&self, id: u32) -> bool {
        self.long.binary_search(&id).is_ok()
    }

    /// The place of the value that is read next.
    fn place(&self) -> Place {
        self.open.last().map(|frame| (frame.id, frame.step))
    }

    /// The step to a property whose name is written next.
    fn name(&self) -> Option<Step> {
        Some(Step::Name(u32::try_from(self.out.len()).ok()?))
    }
}
