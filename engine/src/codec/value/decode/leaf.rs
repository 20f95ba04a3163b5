//! Values that hold no other values, and the tags and numbers of which the format consists.

use super::Decoder;
use crate::codec::value::text::{write_double, write_latin1, write_str, write_utf16};
use crate::codec::value::{base64, bigint, date, scalar, tags};
use crate::codec::varint;

impl Decoder<'_> {
    /// Reads an object that holds no values.
    pub(super) fn leaf(&mut self, tag: u8) -> Option<()> {
        match tag {
            tags::DATE => {
                self.typed("Date");
                match self.float()? {
                    time if time.is_nan() => self.out.push_str("null"),
                    time => {
                        let text = date::to_iso(integer(time)?)?;
                        write_str(&mut self.out, &text);
                    }
                }
            }
            tags::REG_EXP => {
                self.typed("RegExp");
                let tag = self.tag()?;
                self.string(tag)?;
                let flags = scalar::flags_to_text(self.uint32()?)?;
                self.out.push_str(r#","flags":"#);
                write_str(&mut self.out, &flags);
            }
            tags::TRUE_OBJECT
            | tags::FALSE_OBJECT
            | tags::NUMBER_OBJECT
            | tags::BIG_INT_OBJECT
            | tags::STRING_OBJECT => {
                self.typed("Boxed");
                match tag {
                    tags::TRUE_OBJECT => self.out.push_str("true"),
                    tags::FALSE_OBJECT => self.out.push_str("false"),
                    tags::NUMBER_OBJECT => self.double()?,
                    tags::BIG_INT_OBJECT => self.big_int()?,
                    _ => {
                        let tag = self.tag()?;
                        self.string(tag)?;
                    }
                }
            }
            tags::ARRAY_BUFFER => {
                let length = self.uint32()?;
                self.bytes(length, "ArrayBuffer")?;
            }
            tags::RESIZABLE_ARRAY_BUFFER => {
                let (length, max) = (self.uint32()?, self.uint32()?);
                self.bytes(length, "ArrayBuffer")?;
                self.put(format_args!(r#","max":{max}"#));
            }
            tags::HOST_OBJECT => {
                let (number, length) = (self.uint32()?, self.uint32()?);
                let (_, name, _) = tags::VIEWS.iter().find(|(view, ..)| *view == number)?;
                self.bytes(length, name)?;
            }
            _ => return None,
        }
        self.out.push('}');
        Some(())
    }

    pub(super) fn double(&mut self) -> Option<()> {
        let value = self.float()?;
        match scalar::special_name(value) {
            None => write_double(&mut self.out, value),
            Some((name, bits)) => {
                self.typed("Number");
                write_str(&mut self.out, name);
                if let Some(bits) = bits {
                    self.put(format_args!(r#","bits":"{bits:016x}""#));
                }
                self.out.push('}');
            }
        }
        Some(())
    }

    pub(super) fn big_int(&mut self) -> Option<()> {
        let bits = self.uint32()?;
        let digits = varint::take(&mut self.rest, (bits >> 1).into())?;
        self.typed("BigInt");
        self.out.push('"');
        bigint::write(&mut self.out, bits & 1 == 1, digits)?;
        self.out.push_str("\"}");
        Some(())
    }

    pub(super) fn string(&mut self, tag: u8) -> Option<()> {
        let length = self.uint32()?;
        let bytes = varint::take(&mut self.rest, length.into())?;
        match tag {
            tags::ONE_BYTE_STRING => write_latin1(&mut self.out, bytes),
            tags::TWO_BYTE_STRING if length.is_multiple_of(2) => {
                let units = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
                write_utf16(&mut self.out, units, true);
            }
            _ => return None,
        }
        Some(())
    }

    pub(super) fn bytes(&mut self, length: u32, view: &str) -> Option<()> {
        let bytes = varint::take(&mut self.rest, length.into())?;
        self.typed("Bytes");
        self.out.push('"');
        base64::write(&mut self.out, bytes);
        self.put(format_args!(r#"","view":"{view}""#));
        Some(())
    }

    /// Reads a tag. Skips the padding that V8 writes before a string of UTF-16.
    pub(super) fn tag(&mut self) -> Option<u8> {
        let tag = self.peek()?;
        self.rest = &self.rest[1..];
        Some(tag)
    }

    /// Skips padding and returns the tag after it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(rest) = self.rest.strip_prefix(&[tags::PADDING]) {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Skips the tag that ends an object, and the numbers after it, which repeat what is known.
    pub(super) fn skip_end(&mut self, numbers: u32) -> Option<()> {
        self.tag()?;
        (0..numbers).try_for_each(|_| self.uint32().map(drop))
    }

    pub(super) fn uint32(&mut self) -> Option<u32> {
        u32::try_from(varint::read(&mut self.rest)?).ok()
    }

    pub(super) fn int32(&mut self) -> Option<i32> {
        let bits = self.uint32()?;
        let half = i32::try_from(bits >> 1).ok()?;
        Some(if bits & 1 == 0 { half } else { !half })
    }

    pub(super) fn float(&mut self) -> Option<f64> {
        let bytes = varint::take(&mut self.rest, 8)?;
        Some(f64::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// Returns a double that is an integer, if it is in the range of JavaScript's dates.
pub(super) fn integer(value: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let integer = (value.abs() <= 8.64e15 && value.fract() == 0.0).then_some(value as i64);
    integer
}
