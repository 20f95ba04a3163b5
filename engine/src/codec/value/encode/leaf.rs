//! Values that hold no other values.

use super::Encoder;
use crate::codec::value::reader::{Chars, Literal, wrong};
use crate::codec::value::{base64, bigint, date, scalar, tags};
use crate::codec::varint;
use crate::error::Result;

impl Encoder<'_> {
    /// Writes a tag and a number.
    pub(super) fn tagged(&mut self, tag: u8, number: u32) {
        self.out.push(tag);
        varint::write(&mut self.out, number.into());
    }

    /// Writes a key that is an array index.
    pub(super) fn index_key(&mut self, index: u32) {
        match i32::try_from(index) {
            Ok(index) => self.int32(index),
            Err(_) => self.double(tags::DOUBLE, index.into()),
        }
    }

    fn int32(&mut self, value: i32) {
        // The sign moves to the lowest bit.
        let bits = (value << 1) ^ (value >> 31);
        self.tagged(tags::INT32, bits.cast_unsigned());
    }

    fn double(&mut self, tag: u8, value: f64) {
        self.out.push(tag);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a number. An integer of 32 bits is written as such, all others as doubles.
    pub(super) fn number(&mut self) -> Result<()> {
        let at = self.reader.at();
        let text = self.reader.number()?;
        match text.parse() {
            Ok(value) if text != "-0" => self.int32(value),
            _ => {
                let value = float(at, text)?;
                self.double(tags::DOUBLE, value);
            }
        }
        Ok(())
    }

    /// Writes a number that JSON lacks. The reader is at its name.
    pub(super) fn special_number(&mut self) -> Result<()> {
        let value = self.special()?;
        self.double(tags::DOUBLE, value);
        Ok(())
    }

    fn special(&mut self) -> Result<f64> {
        let name = self.reader.string()?;
        let Some(value) = scalar::special(name.body) else {
            return wrong(name.at, "expected \"NaN\", \"Infinity\", \"-Infinity\" or \"-0\"");
        };
        if !value.is_nan() || self.reader.peek() != Some(b',') {
            return Ok(value);
        }
        self.member("bits")?;
        let bits = self.reader.string()?;
        let value = (bits.body.len() == 16).then(|| u64::from_str_radix(bits.body, 16).ok()).flatten();
        match value.map(f64::from_bits) {
            Some(value) if value.is_nan() => Ok(value),
            _ => wrong(bits.at, "expected the bits of a NaN as 16 hex digits"),
        }
    }

    /// Writes a bigint. The reader is at its decimal text.
    pub(super) fn big_int(&mut self, tag: u8) -> Result<()> {
        let text = self.reader.string()?;
        let Some((negative, digits)) = bigint::read(text.body.as_bytes()) else {
            return wrong(text.at, "expected an integer in decimal, of at most 8,192 bits");
        };
        // The length is at most 1,024 bytes.
        let length = u32::try_from(digits.len()).unwrap_or(0);
        self.tagged(tag, length << 1 | u32::from(negative));
        self.out.extend_from_slice(&digits);
        Ok(())
    }

    /// Writes a string as its notation says.
    pub(super) fn string(&mut self, string: Literal<'_>) -> Result<()> {
        match string.chars() {
            Chars::Latin1 { bytes, marked: false } => {
                let length = length(bytes.len(), string.at)?;
                self.tagged(tags::ONE_BYTE_STRING, length);
                self.out.extend_from_slice(&bytes);
                Ok(())
            }
            Chars::Latin1 { bytes, .. } => self.utf16(bytes.iter().map(|&byte| byte.into()), string.at),
            Chars::Utf16(units) => self.utf16(units.into_iter(), string.at),
        }
    }

    fn utf16(&mut self, units: impl ExactSizeIterator<Item = u16>, at: usize) -> Result<()> {
        let length = length(units.len() * 2, at)?;
        // V8 reads the units where they are, so they begin at an even offset.
        let start = self.out.len() + 1 + varint::length(length.into());
        if !start.is_multiple_of(2) {
            self.out.push(tags::PADDING);
        }
        self.tagged(tags::TWO_BYTE_STRING, length);
        self.out.extend(units.flat_map(u16::to_le_bytes));
        Ok(())
    }

    /// Writes a date. The reader is at its ISO text or null.
    pub(super) fn date(&mut self) -> Result<()> {
        let time = if self.reader.peek() == Some(b'"') {
            let text = self.reader.string()?;
            match date::from_iso(text.body) {
                Some(time) => exact(time),
                None => return wrong(text.at, "expected a date such as \"2026-01-31T12:00:00.000Z\""),
            }
        } else if self.reader.peek() == Some(b'n') {
            self.reader.word()?;
            f64::NAN
        } else {
            return self.reader.wrong("expected a date as a string, or null");
        };
        self.double(tags::DATE, time);
        Ok(())
    }

    /// Writes a regular expression. The reader is at its source.
    pub(super) fn reg_exp(&mut self) -> Result<()> {
        self.out.push(tags::REG_EXP);
        let source = self.reader.string()?;
        self.string(source)?;
        self.member("flags")?;
        let flags = self.reader.string()?;
        let Some(bits) = scalar::flags_from_text(flags.body) else {
            return wrong(flags.at, "expected flags of a regular expression, each at most once");
        };
        varint::write(&mut self.out, bits.into());
        Ok(())
    }

    /// Writes a boxed primitive. The reader is at the primitive.
    pub(super) fn boxed(&mut self) -> Result<()> {
        let first = self.reader.peek();
        let at = self.reader.at();
        match first {
            Some(b'"') => {
                self.out.push(tags::STRING_OBJECT);
                let string = self.reader.string()?;
                return self.string(string);
            }
            Some(b't' | b'f') => {
                let word = self.reader.word()?;
                self.out.push(if word == "true" { tags::TRUE_OBJECT } else { tags::FALSE_OBJECT });
                return Ok(());
            }
            Some(b'-' | b'0'..=b'9') => {
                let text = self.reader.number()?;
                let value = float(at, text)?;
                self.double(tags::NUMBER_OBJECT, value);
                return Ok(());
            }
            Some(b'{') => {
                if let Some(name) = self.reader.type_name()? {
                    self.member("value")?;
                    match name.body {
                        "Number" => {
                            let value = self.special()?;
                            self.double(tags::NUMBER_OBJECT, value);
                        }
                        "BigInt" => self.big_int(tags::BIG_INT_OBJECT)?,
                        _ => return wrong(name.at, "expected a primitive"),
                    }
                    return self.reader.expect(b'}');
                }
            }
            _ => {}
        }
        wrong(at, "expected a primitive: a string, a boolean, a number or a bigint")
    }

    /// Writes bytes. The reader is at their base64 text.
    pub(super) fn bytes(&mut self) -> Result<()> {
        let text = self.reader.string()?;
        let Some(bytes) = base64::read(text.body.as_bytes()) else {
            return wrong(text.at, "expected base64 with padding");
        };
        let length = length(bytes.len(), text.at)?;
        self.member("view")?;
        let view = self.reader.string()?;
        if view.body == "ArrayBuffer" {
            self.array_buffer(length)?;
        } else {
            let Some((number, _, size)) = tags::VIEWS.iter().find(|(_, name, _)| *name == view.body) else {
                return wrong(view.at, "not a class that holds bytes");
            };
            if !bytes.len().is_multiple_of(*size) {
                return wrong(text.at, &format!("expected a multiple of {size} bytes"));
            }
            self.tagged(tags::HOST_OBJECT, *number);
            varint::write(&mut self.out, length.into());
        }
        self.out.extend_from_slice(&bytes);
        Ok(())
    }

    fn array_buffer(&mut self, length: u32) -> Result<()> {
        if self.reader.peek() != Some(b',') {
            self.tagged(tags::ARRAY_BUFFER, length);
            return Ok(());
        }
        self.member("max")?;
        let at = self.reader.at();
        let max = self.reader.uint32()?;
        if max < length {
            return wrong(at, "the largest length is below the length");
        }
        self.tagged(tags::RESIZABLE_ARRAY_BUFFER, length);
        varint::write(&mut self.out, max.into());
        Ok(())
    }

    /// Writes a reference. The reader is at the path.
    pub(super) fn reference(&mut self) -> Result<()> {
        let path = self.reader.string()?;
        let id = path.to_text().and_then(|path| self.index.as_ref()?.find(&path));
        match id {
            Some(id) => {
                self.tagged(tags::REFERENCE, id);
                Ok(())
            }
            None => wrong(path.at, "there is no object with this path before the reference"),
        }
    }
}

fn length(length: usize, at: usize) -> Result<u32> {
    u32::try_from(length).or_else(|_| wrong(at, "longer than 4 GiB"))
}

fn float(at: usize, text: &str) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => wrong(at, "the number is too large"),
    }
}

/// Returns the time of a date as a double. Dates are below 2^53, so the double is exact.
#[expect(clippy::cast_precision_loss, reason = "dates are below 2^53")]
fn exact(time: i64) -> f64 {
    time as f64
}
