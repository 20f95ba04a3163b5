//! What objects hold.

use super::leaf::integer;
use super::{Decoder, Frame, Kind, Next};
use crate::codec::value::path::Step;
use crate::codec::value::tags;
use crate::codec::value::text::write_str;

/// An array with at most this many holes more than items is written with its holes.
const FEW_HOLES: u32 = 8;
const A_HOLE: &str = r#"{"$type":"Hole"}"#;

/// A key of a property.
enum Key {
    /// An array index, which is not written yet.
    Index(u32),
    /// A string, which is written.
    Name,
}

impl Decoder<'_> {
    /// Reads up to the next value of an object, or the object's end.
    pub(super) fn next(&mut self, frame: &mut Frame) -> Option<Next> {
        match frame.kind {
            Kind::Object => self.property(frame, tags::END_OBJECT),
            Kind::Dense { length } => self.item(frame, length),
            Kind::DenseProperties => {
                if self.peek()? != tags::END_DENSE {
                    self.found.push(frame.id);
                } else if !frame.pairs {
                    self.skip_end(2)?;
                    return Some(Next::End);
                }
                self.property(frame, tags::END_DENSE)
            }
            Kind::Sparse { length, next } => self.sparse(frame, length, next),
            Kind::Map => self.entry(frame),
            Kind::Set => self.member(frame),
            Kind::Error => self.error(frame),
        }
    }

    /// Reads up to the next item of a dense array. Reads holes on the way.
    fn item(&mut self, frame: &mut Frame, length: u32) -> Option<Next> {
        while frame.count < length {
            self.comma(frame.count);
            frame.step = Step::Index(frame.count);
            frame.count += 1;
            if self.peek()? != tags::HOLE {
                return Some(Next::Value);
            }
            self.tag()?;
            self.out.push_str(A_HOLE);
        }
        self.out.push(']');
        frame.pairs = self.is_long(frame.id);
        if frame.pairs {
            self.out.push_str(r#","properties":["#);
        }
        (frame.kind, frame.count) = (Kind::DenseProperties, 0);
        self.next(frame)
    }

    /// Reads up to the next item of a sparse array. In the short form, writes the holes before it.
    fn sparse(&mut self, frame: &mut Frame, length: u32, next: u32) -> Option<Next> {
        if frame.pairs {
            return self.property(frame, tags::END_SPARSE);
        }
        let end = self.peek()? == tags::END_SPARSE;
        let key = if end { Key::Index(length) } else { self.key()? };
        match key {
            Key::Index(index)
                if (next..=length).contains(&index)
                    && index.saturating_sub(frame.count) <= frame.count.saturating_add(FEW_HOLES) =>
            {
                for at in next..index {
                    self.comma(at);
                    self.out.push_str(A_HOLE);
                }
                if !end {
                    self.comma(index);
                    frame.step = Step::Index(index);
                    frame.kind = Kind::Sparse { length, next: index.checked_add(1)? };
                }
            }
            _ => self.found.push(frame.id),
        }
        if end {
            self.skip_end(2)?;
            self.out.push(']');
            return Some(Next::End);
        }
        frame.count = frame.count.checked_add(1)?;
        Some(Next::Value)
    }

    /// Reads up to the value of the next property.
    fn property(&mut self, frame: &mut Frame, end: u8) -> Option<Next> {
        if frame.pairs && frame.count > 0 {
            self.out.push(']');
        }
        if self.peek()? == end {
            self.skip_end(if end == tags::END_OBJECT { 1 } else { 2 })?;
            self.out.push_str(if frame.pairs { "]}" } else { "}" });
            return Some(Next::End);
        }
        self.comma(frame.count);
        if frame.pairs {
            self.out.push('[');
        }
        frame.step = self.name()?;
        let start = self.out.len();
        if let Key::Index(index) = self.key()? {
            self.put(format_args!("\"{index}\""));
            if end != tags::END_OBJECT {
                frame.step = Step::Index(index);
            }
        }
        // The second notation is that of UTF-16.
        if end == tags::END_OBJECT && matches!(&self.out[start..], r#""$type""# | r#""\u0024type""#) {
            self.found.push(frame.id);
        }
        self.out.push(if frame.pairs { ',' } else { ':' });
        frame.count = frame.count.checked_add(1)?;
        Some(Next::Value)
    }

    /// Reads a key. Returns an array index, or writes the key.
    fn key(&mut self) -> Option<Key> {
        let index = match self.tag()? {
            tags::INT32 => u32::try_from(self.int32()?).ok()?,
            tags::DOUBLE => u32::try_from(integer(self.float()?)?).ok()?,
            tag => {
                self.string(tag)?;
                return Some(Key::Name);
            }
        };
        Some(Key::Index(index))
    }

    /// Reads up to the next value of an entry of a Map.
    fn entry(&mut self, frame: &mut Frame) -> Option<Next> {
        if frame.count.is_multiple_of(2) {
            if frame.count > 0 {
                self.out.push(']');
            }
            let tag = self.peek()?;
            if tag == tags::END_MAP {
                return self.end_list();
            }
            self.comma(frame.count);
            self.out.push('[');
            frame.step = match tag {
                tags::ONE_BYTE_STRING | tags::TWO_BYTE_STRING => self.name()?,
                _ => Step::Key(frame.count / 2),
            };
        } else {
            self.out.push(',');
            if let Step::Key(entry) = frame.step {
                frame.step = Step::Index(entry);
            }
        }
        frame.count = frame.count.checked_add(1)?;
        Some(Next::Value)
    }

    /// Reads up to the next member of a Set.
    fn member(&mut self, frame: &mut Frame) -> Option<Next> {
        if self.peek()? == tags::END_SET {
            return self.end_list();
        }
        self.comma(frame.count);
        frame.step = Step::Index(frame.count);
        frame.count = frame.count.checked_add(1)?;
        Some(Next::Value)
    }

    /// Reads the end of a Map or a Set.
    fn end_list(&mut self) -> Option<Next> {
        self.skip_end(1)?;
        self.out.push_str("]}");
        Some(Next::End)
    }

    /// Reads an error up to its cause or its end.
    fn error(&mut self, frame: &mut Frame) -> Option<Next> {
        loop {
            let (&tag, rest) = self.rest.split_first()?;
            self.rest = rest;
            if tag == tags::END_ERROR {
                self.out.push_str("}}");
                return Some(Next::End);
            }
            self.comma(frame.count);
            frame.count = frame.count.checked_add(1)?;
            let field = match tag {
                tags::ERROR_MESSAGE => "message",
                tags::ERROR_STACK => "stack",
                tags::ERROR_CAUSE => "cause",
                _ => "name",
            };
            frame.step = self.name()?;
            self.put(format_args!("\"{field}\":"));
            match tag {
                tags::ERROR_CAUSE => return Some(Next::Value),
                tags::ERROR_MESSAGE | tags::ERROR_STACK => {
                    let tag = self.tag()?;
                    self.string(tag)?;
                }
                _ => {
                    let (_, name) = tags::ERROR_NAMES.iter().find(|(own, _)| *own == tag)?;
                    write_str(&mut self.out, name);
                }
            }
        }
    }
}
