//! Reads JSON and writes V8's format. `content` writes what objects hold, `leaf` the values that hold no
//! others.

mod content;
mod leaf;

use super::path::{Index, Place, Step};
use super::reader::{Literal, Reader, wrong};
use super::scan::{Scan, scan};
use super::{DEEPEST, tags};
use crate::error::Result;

/// Returns the bytes of a value that [`super::decode`] wrote as JSON.
pub(super) fn encode(text: &str) -> Result<Vec<u8>> {
    let scan = scan(text)?;
    // Most values have no references, and need no index.
    let index = text.contains(r#""Ref""#).then(Index::default);
    let mut encoder = Encoder {
        text,
        reader: Reader::new(text, 0),
        scan,
        lists: 0,
        out: tags::HEADER.to_vec(),
        objects: 0,
        index,
        keys: Vec::new(),
        open: Vec::new(),
    };
    encoder.run()?;
    Ok(encoder.out)
}

struct Encoder<'a> {
    text: &'a str,
    reader: Reader<'a>,
    scan: Scan,
    /// The number of lists that were opened.
    lists: usize,
    out: Vec<u8>,
    /// The number of objects that were opened. V8 numbers objects in this order.
    objects: u32,
    index: Option<Index>,
    /// The hashes of the keys of all open objects.
    keys: Vec<u64>,
    open: Vec<Frame>,
}

/// An object whose content is being written.
struct Frame {
    id: u32,
    /// The step to the value that is written next.
    step: Step,
    /// The number of properties, items, keys and values that were written.
    count: u32,
    /// The number of hashes in [`Encoder::keys`] that belong to the objects around this one.
    keys: usize,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Object,
    /// An object as a list of pairs.
    Pairs,
    /// A dense array. `long` is true if its properties follow.
    Dense {
        length: u32,
        long: bool,
    },
    DenseProperties {
        length: u32,
    },
    /// A sparse array as a list. `next` is the index of the next item.
    Sparse {
        length: u32,
        next: u32,
    },
    /// A sparse array as a list of pairs.
    SparsePairs {
        length: u32,
    },
    Map,
    Set,
    /// `next` is the position in [`content::ERROR_KEYS`] from which a key may follow.
    Error {
        next: usize,
    },
}

enum Next {
    Value,
    End,
}

impl<'a> Encoder<'a> {
    fn run(&mut self) -> Result<()> {
        loop {
            self.value()?;
            loop {
                let Some(mut frame) = self.open.pop() else {
                    return self.reader.end();
                };
                if let Next::Value = self.next(&mut frame)? {
                    self.open.push(frame);
                    break;
                }
            }
        }
    }

    /// Writes a primitive value, or the beginning of an object.
    fn value(&mut self) -> Result<()> {
        match self.reader.peek() {
            Some(b'{') => {
                let at = self.reader.at();
                if !self.scan.is_typed(at) {
                    self.reader.expect(b'{')?;
                    self.out.push(tags::OBJECT);
                    return self.open(Kind::Object);
                }
                match self.reader.type_name()? {
                    Some(name) => self.typed(name),
                    None => wrong(at, "the key \"$type\" must be the first one of its object"),
                }
            }
            Some(b'[') => {
                let length = self.list()?;
                if self.reader.byte() == Some(b' ') {
                    self.tagged(tags::SPARSE, length);
                    return self.open(Kind::Sparse { length, next: 0 });
                }
                self.tagged(tags::DENSE, length);
                self.open(Kind::Dense { length, long: false })
            }
            Some(b'"') => {
                let string = self.reader.string()?;
                self.string(string)
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let tag = match self.reader.word()? {
                    "true" => tags::TRUE,
                    "false" => tags::FALSE,
                    _ => tags::NULL,
                };
                self.out.push(tag);
                Ok(())
            }
        }
    }

    /// Writes a value that JSON lacks. The reader is after the name of the type.
    fn typed(&mut self, name: Literal<'a>) -> Result<()> {
        match name.body {
            "Undefined" => self.out.push(tags::UNDEFINED),
            "Hole" => return wrong(name.at, "a hole can only be an item of an array"),
            "Number" => {
                self.member("value")?;
                self.special_number()?;
            }
            "BigInt" => {
                self.member("value")?;
                self.big_int(tags::BIG_INT)?;
            }
            "Ref" => {
                self.member("value")?;
                self.reference()?;
            }
            "Object" => {
                self.member("value")?;
                self.list()?;
                self.out.push(tags::OBJECT);
                return self.open(Kind::Pairs);
            }
            "Array" => return self.array(),
            "Map" => {
                self.member("value")?;
                self.list()?;
                self.out.push(tags::MAP);
                return self.open(Kind::Map);
            }
            "Set" => {
                self.member("value")?;
                self.list()?;
                self.out.push(tags::SET);
                return self.open(Kind::Set);
            }
            "Error" => {
                self.member("value")?;
                self.reader.expect(b'{')?;
                self.out.push(tags::ERROR);
                return self.open(Kind::Error { next: 0 });
            }
            "Date" | "RegExp" | "Boxed" | "Bytes" => {
                self.object()?;
                self.member("value")?;
                match name.body {
                    "Date" => self.date()?,
                    "RegExp" => self.reg_exp()?,
                    "Boxed" => self.boxed()?,
                    _ => self.bytes()?,
                }
            }
            _ => return wrong(name.at, "an unknown $type"),
        }
        self.reader.expect(b'}')
    }

    /// Writes the beginning of an array in the long form.
    fn array(&mut self) -> Result<()> {
        self.reader.expect(b',')?;
        let at = self.reader.at();
        let key = self.reader.string()?;
        self.reader.expect(b':')?;
        match key.body {
            "value" => {
                let length = self.list()?;
                self.tagged(tags::DENSE, length);
                self.open(Kind::Dense { length, long: true })
            }
            "length" => {
                let length = self.reader.uint32()?;
                self.member("properties")?;
                self.list()?;
                self.tagged(tags::SPARSE, length);
                self.open(Kind::SparsePairs { length })
            }
            _ => wrong(at, "expected the key \"value\" or \"length\""),
        }
    }

    fn open(&mut self, kind: Kind) -> Result<()> {
        if self.open.len() == DEEPEST {
            return self.reader.wrong("nested too deeply");
        }
        let id = self.object()?;
        self.open.push(Frame { id, step: Step::Index(0), count: 0, keys: self.keys.len(), kind });
        Ok(())
    }

    /// Gives a number to the object that begins here.
    fn object(&mut self) -> Result<u32> {
        let id = self.objects;
        let Some(objects) = id.checked_add(1) else { return self.reader.wrong("too many objects") };
        self.objects = objects;
        let place: Place = self.open.last().map(|frame| (frame.id, frame.step));
        if let Some(index) = &mut self.index {
            index.add(place, id, self.text);
        }
        Ok(id)
    }

    /// The step to a property whose name is read next.
    fn name(&self) -> Step {
        // `scan` has checked that offsets fit 32 bits.
        Step::Name(u32::try_from(self.reader.at()).unwrap_or(u32::MAX))
    }

    /// Reads an opening bracket. Returns the number of the list's items.
    fn list(&mut self) -> Result<u32> {
        self.reader.expect(b'[')?;
        let count = self.scan.lists.get(self.lists).copied().unwrap_or(0);
        self.lists += 1;
        Ok(count)
    }

    /// Reads the comma and the next key of a `$type` object.
    fn member(&mut self, name: &str) -> Result<()> {
        self.reader.expect(b',')?;
        self.reader.named(name)
    }
}
