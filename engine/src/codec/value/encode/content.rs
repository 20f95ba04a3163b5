//! What objects hold.

use xxhash_rust::xxh3::xxh3_64;

use super::{Encoder, Frame, Kind, Next};
use crate::codec::value::path::Step;
use crate::codec::value::reader::{Chars, wrong};
use crate::codec::value::{scalar, tags};
use crate::codec::varint;
use crate::error::Result;

/// What an error has, in V8's order.
pub(super) const ERROR_KEYS: [(&str, u8); 4] =
    [("name", 0), ("message", tags::ERROR_MESSAGE), ("cause", tags::ERROR_CAUSE), ("stack", tags::ERROR_STACK)];

impl Encoder<'_> {
    /// Writes up to the next value of an object, or the object's end.
    pub(super) fn next(&mut self, frame: &mut Frame) -> Result<Next> {
        match frame.kind {
            Kind::Object => {
                if self.reader.next_item(frame.count == 0, b'}')? {
                    self.key(frame, b':')?;
                    return Ok(Next::Value);
                }
                self.no_key_twice(frame)?;
                self.tagged(tags::END_OBJECT, frame.count);
                Ok(Next::End)
            }
            Kind::Pairs => self.pairs(frame, tags::END_OBJECT, None),
            Kind::DenseProperties { length } => self.pairs(frame, tags::END_DENSE, Some(length)),
            Kind::SparsePairs { length } => self.pairs(frame, tags::END_SPARSE, Some(length)),
            Kind::Dense { length, long } => self.item(frame, length, long),
            Kind::Sparse { length, next } => self.sparse_item(frame, length, next),
            Kind::Map => self.entry(frame),
            Kind::Set => {
                if self.reader.next_item(frame.count == 0, b']')? {
                    frame.step = Step::Index(frame.count);
                    frame.count += 1;
                    return Ok(Next::Value);
                }
                self.reader.expect(b'}')?;
                self.tagged(tags::END_SET, frame.count);
                Ok(Next::End)
            }
            Kind::Error { next } => self.error(frame, next),
        }
    }

    /// Writes up to the next value of a list of pairs of keys and values. `length` is an array's length.
    fn pairs(&mut self, frame: &mut Frame, end: u8, length: Option<u32>) -> Result<Next> {
        if self.next_pair(frame.count)? {
            self.key(frame, b',')?;
            return Ok(Next::Value);
        }
        self.no_key_twice(frame)?;
        self.tagged(end, frame.count);
        if let Some(length) = length {
            varint::write(&mut self.out, length.into());
        }
        Ok(Next::End)
    }

    /// Reads the end of a pair, if one is open, and the beginning of the next one. Returns false if the list and the
    /// `$type` object around it end.
    fn next_pair(&mut self, count: u32) -> Result<bool> {
        if count > 0 {
            self.reader.expect(b']')?;
        }
        let more = self.reader.next_item(count == 0, b']')?;
        if more {
            self.list()?;
        } else {
            self.reader.expect(b'}')?;
        }
        Ok(more)
    }

    fn item(&mut self, frame: &mut Frame, length: u32, long: bool) -> Result<Next> {
        while self.reader.next_item(frame.count == 0, b']')? {
            frame.step = Step::Index(frame.count);
            frame.count += 1;
            if !self.hole()? {
                return Ok(Next::Value);
            }
            self.out.push(tags::HOLE);
        }
        if long {
            self.member("properties")?;
            self.list()?;
            (frame.kind, frame.count) = (Kind::DenseProperties { length }, 0);
            return self.next(frame);
        }
        self.tagged(tags::END_DENSE, 0);
        varint::write(&mut self.out, length.into());
        Ok(Next::End)
    }

    fn sparse_item(&mut self, frame: &mut Frame, length: u32, mut next: u32) -> Result<Next> {
        while self.reader.next_item(next == 0, b']')? {
            let index = next;
            next += 1;
            if !self.hole()? {
                self.index_key(index);
                frame.step = Step::Index(index);
                frame.count += 1;
                frame.kind = Kind::Sparse { length, next };
                return Ok(Next::Value);
            }
        }
        self.tagged(tags::END_SPARSE, frame.count);
        varint::write(&mut self.out, length.into());
        Ok(Next::End)
    }

    fn entry(&mut self, frame: &mut Frame) -> Result<Next> {
        if frame.count.is_multiple_of(2) {
            if !self.next_pair(frame.count)? {
                self.tagged(tags::END_MAP, frame.count);
                return Ok(Next::End);
            }
            frame.step = match self.reader.peek() {
                Some(b'"') => self.name(),
                _ => Step::Key(frame.count / 2),
            };
        } else {
            self.reader.expect(b',')?;
            if let Step::Key(entry) = frame.step {
                frame.step = Step::Index(entry);
            }
        }
        frame.count += 1;
        Ok(Next::Value)
    }

    fn error(&mut self, frame: &mut Frame, mut next: usize) -> Result<Next> {
        while self.reader.next_item(next == 0, b'}')? {
            self.reader.peek();
            frame.step = self.name();
            let key = self.reader.string()?;
            let Some(at) = (next..ERROR_KEYS.len()).find(|&at| ERROR_KEYS[at].0 == key.body) else {
                return wrong(key.at, "expected \"name\", \"message\", \"cause\" or \"stack\", in this order");
            };
            next = at + 1;
            self.reader.expect(b':')?;
            let (name, tag) = ERROR_KEYS[at];
            if name == "cause" {
                self.out.push(tag);
                frame.kind = Kind::Error { next };
                return Ok(Next::Value);
            }
            let value = self.reader.string()?;
            if name == "name" {
                let Some((tag, _)) = tags::ERROR_NAMES.iter().find(|(_, name)| *name == value.body) else {
                    return wrong(value.at, "not a name that V8 keeps: leave it out, or use TypeError or such");
                };
                self.out.push(*tag);
            } else {
                self.out.push(tag);
                self.string(value)?;
            }
        }
        self.reader.expect(b'}')?;
        self.out.push(tags::END_ERROR);
        Ok(Next::End)
    }

    /// Reads a hole. Returns false and reads nothing if the next value is not a hole.
    fn hole(&mut self) -> Result<bool> {
        if self.reader.peek() != Some(b'{') {
            return Ok(false);
        }
        let mut ahead = self.reader.clone();
        let hole = ahead.type_name()?.is_some_and(|name| name.is("Hole"));
        if hole {
            ahead.expect(b'}')?;
            self.reader = ahead;
        }
        Ok(hole)
    }

    /// Reads and writes a key of an object, and reads the byte after it.
    fn key(&mut self, frame: &mut Frame, after: u8) -> Result<()> {
        self.reader.peek();
        frame.step = self.name();
        frame.count += 1;
        let key = self.reader.string()?;
        let index = match key.chars() {
            Chars::Latin1 { bytes, .. } => {
                self.keys.push(xxh3_64(&bytes));
                scalar::array_index(&bytes)
            }
            Chars::Utf16(units) => {
                let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
                self.keys.push(xxh3_64(&bytes));
                None
            }
        };
        match index {
            None => self.string(key)?,
            Some(index) => {
                self.index_key(index);
                if !matches!(frame.kind, Kind::Object | Kind::Pairs) {
                    frame.step = Step::Index(index);
                }
            }
        }
        self.reader.expect(after)
    }

    /// Checks that an object that ends here does not have the same key twice. V8 could not read such an object.
    fn no_key_twice(&mut self, frame: &Frame) -> Result<()> {
        let keys = &mut self.keys[frame.keys..];
        keys.sort_unstable();
        if keys.windows(2).any(|pair| pair[0] == pair[1]) {
            return self.reader.wrong("the object that ends here has a key twice");
        }
        self.keys.truncate(frame.keys);
        Ok(())
    }
}
