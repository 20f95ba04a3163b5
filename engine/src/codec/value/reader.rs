//! Reads the tokens of a JSON text. Errors have the byte offset.

use std::borrow::Cow;

use super::text::{needs_unicode_escape, write_latin1, write_utf16};
use crate::error::{Error, Result};

/// A place in a JSON text.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// A string as it is written in the text, without its quotes. Its escapes are valid.
#[derive(Clone, Copy)]
pub(super) struct Literal<'a> {
    pub(super) body: &'a str,
    /// The offset of the opening quote.
    pub(super) at: usize,
}

/// The characters of a string.
pub(super) enum Chars<'a> {
    /// All characters are Latin-1. `marked` is true if the notation says that V8 holds them as UTF-16.
    Latin1 { bytes: Cow<'a, [u8]>, marked: bool },
    /// UTF-16 units, at least one of which is not Latin-1.
    Utf16(Vec<u16>),
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// The offset of the next byte.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Returns the error for what is at the current offset.
    pub(super) fn wrong<T>(&self, what: &str) -> Result<T> {
        wrong(self.at, what)
    }

    /// Returns the next byte, which may be white space.
    pub(super) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips white space and returns the byte after it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    /// Skips one ASCII byte.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// Skips white space and this byte. Returns false if the next byte is another one.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Skips white space and this byte.
    pub(super) fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) { Ok(()) } else { self.wrong(&format!("expected {:?}", char::from(byte))) }
    }

    /// Skips the comma or the closing bracket after an item. Returns true if another item follows.
    pub(super) fn next_item(&mut self, first: bool, close: u8) -> Result<bool> {
        if first {
            return Ok(!self.eat(close));
        }
        if self.eat(b',') {
            return Ok(true);
        }
        if self.eat(close) { Ok(false) } else { self.wrong(&format!("expected ',' or {:?}", char::from(close))) }
    }

    /// Reads a key of a `$type` object, and the colon after it.
    pub(super) fn named(&mut self, name: &str) -> Result<()> {
        self.peek();
        let start = self.at;
        if self.string()?.body != name {
            return wrong(start, &format!("expected the key \"{name}\""));
        }
        self.expect(b':')
    }

    /// Reads a string.
    pub(super) fn string(&mut self) -> Result<Literal<'a>> {
        if self.peek() != Some(b'"') {
            return self.wrong("expected a string");
        }
        let at = self.at;
        self.at += 1;
        loop {
            match self.byte() {
                None => return self.wrong("the string has no end"),
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return self.wrong("a control character in a string must be escaped"),
                Some(_) => self.at += 1,
            }
        }
        let body = &self.text[at + 1..self.at];
        self.at += 1;
        Ok(Literal { body, at })
    }

    /// Reads a string as it is written, with its quotes.
    pub(super) fn quoted(&mut self) -> Result<&'a str> {
        let at = self.string()?.at;
        Ok(&self.text[at..self.at])
    }

    fn escape(&mut self) -> Result<()> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        self.at += match rest {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'u', a, b, c, d, ..] if [a, b, c, d].into_iter().all(u8::is_ascii_hexdigit) => 6,
            _ => return self.wrong("not an escape of JSON"),
        };
        Ok(())
    }

    /// Reads a number as it is written.
    pub(super) fn number(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.at;
        self.at += usize::from(self.byte() == Some(b'-'));
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { self.wrong("expected a digit") } else { Ok(()) }
    }

    /// Reads an integer that is at least 0 and fits 32 bits.
    pub(super) fn uint32(&mut self) -> Result<u32> {
        self.peek();
        let start = self.at;
        let number = self.number()?;
        number.parse().or_else(|_| wrong(start, "expected an integer from 0 to 4294967295"))
    }

    /// Reads `null`, `true` or `false`.
    pub(super) fn word(&mut self) -> Result<&'static str> {
        self.peek();
        for word in ["null", "true", "false"] {
            if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(word);
            }
        }
        self.wrong("expected a value")
    }

    /// Reads the beginning of a `$type` object up to the name of its type. If something else follows, reads nothing and
    /// returns `None`.
    pub(super) fn type_name(&mut self) -> Result<Option<Literal<'a>>> {
        let mut ahead = self.clone();
        if !ahead.eat(b'{') || ahead.peek() != Some(b'"') || !ahead.string()?.is("$type") {
            return Ok(None);
        }
        ahead.expect(b':')?;
        let name = ahead.string()?;
        *self = ahead;
        Ok(Some(name))
    }

    /// Checks that the text ends here.
    pub(super) fn end(&mut self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { self.wrong("the text goes on after the value") }
    }
}

impl<'a> Literal<'a> {
    /// Returns true if the string has these characters.
    pub(super) fn is(self, text: &str) -> bool {
        self.body == text || (self.body.contains('\\') && self.to_text().is_some_and(|own| own == text))
    }

    /// Returns the string's characters.
    pub(super) fn chars(self) -> Chars<'a> {
        let body = self.body;
        if body.is_ascii() && !body.contains('\\') {
            return Chars::Latin1 { bytes: Cow::Borrowed(body.as_bytes()), marked: false };
        }
        let mut units = Vec::with_capacity(body.len());
        let mut marked = false;
        let mut rest = body;
        while let Some((plain, escape)) = rest.split_once('\\') {
            units.extend(plain.encode_utf16());
            let (unit, length) = match escape.as_bytes().first() {
                Some(b'b') => (0x08, 1),
                Some(b'f') => (0x0c, 1),
                Some(b'n') => (0x0a, 1),
                Some(b'r') => (0x0d, 1),
                Some(b't') => (0x09, 1),
                Some(b'u') => {
                    let unit = escape.get(1..5).and_then(|hex| u16::from_str_radix(hex, 16).ok()).unwrap_or(0xfffd);
                    marked |= !needs_unicode_escape(unit);
                    (unit, 5)
                }
                Some(&byte) => (byte.into(), 1),
                None => break,
            };
            units.push(unit);
            rest = escape.get(length..).unwrap_or_default();
        }
        units.extend(rest.encode_utf16());
        match units.iter().map(|&unit| u8::try_from(unit)).collect::<Result<Vec<u8>, _>>() {
            Ok(bytes) => Chars::Latin1 { bytes: Cow::Owned(bytes), marked },
            Err(_) => Chars::Utf16(units),
        }
    }

    /// Returns the string. Returns `None` if it has a surrogate without its partner.
    pub(super) fn to_text(self) -> Option<String> {
        match self.chars() {
            Chars::Latin1 { bytes, .. } => Some(bytes.iter().map(|&byte| char::from(byte)).collect()),
            Chars::Utf16(units) => String::from_utf16(&units).ok(),
        }
    }

    /// Returns the only notation of these characters that does not depend on how V8 encodes them, without quotes.
    pub(super) fn canonical(self) -> String {
        let mut out = String::with_capacity(self.body.len() + 2);
        match self.chars() {
            Chars::Latin1 { bytes, .. } => write_latin1(&mut out, &bytes),
            Chars::Utf16(units) => write_utf16(&mut out, units.into_iter(), false),
        }
        out.pop();
        out.remove(0);
        out
    }
}

/// Returns the error for what is at this offset.
pub(super) fn wrong<T>(at: usize, what: &str) -> Result<T> {
    Err(Error::invalid(format!("the JSON text is wrong at byte {at}: {what}")))
}
