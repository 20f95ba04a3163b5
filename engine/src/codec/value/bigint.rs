//! Big integers: V8's little-endian digits of 64 bits, and decimal text.

use std::fmt::Write;

/// The longest number that has a decimal text, in bytes. The time of the conversion grows with the square of the length.
const LONGEST: usize = 1_024;
/// The most decimal digits of a number of [`LONGEST`] bytes.
const MOST_DIGITS: usize = 2_467;

/// 10 to the power of 19, the greatest power of ten that fits 64 bits.
const CHUNK: u64 = 10_000_000_000_000_000_000;
const CHUNK_DIGITS: usize = 19;

/// Appends the number in decimal. Returns `None` if the number is too long, or its length is not a multiple of 8 bytes.
pub(super) fn write(out: &mut String, negative: bool, bytes: &[u8]) -> Option<()> {
    if bytes.len() > LONGEST || !bytes.len().is_multiple_of(8) {
        return None;
    }
    let mut digits: Vec<u64> =
        bytes.chunks_exact(8).map(|digit| digit.iter().rfold(0, |all, &byte| all << 8 | u64::from(byte))).collect();
    let mut chunks = Vec::new();
    while digits.last().is_some_and(|&digit| digit == 0) {
        digits.pop();
    }
    while !digits.is_empty() {
        let mut rest = 0u128;
        for digit in digits.iter_mut().rev() {
            let value = rest << 64 | u128::from(*digit);
            // The rest is below CHUNK, so the quotient fits 64 bits.
            *digit = u64::try_from(value / u128::from(CHUNK)).ok()?;
            rest = value % u128::from(CHUNK);
        }
        chunks.push(rest);
        while digits.last().is_some_and(|&digit| digit == 0) {
            digits.pop();
        }
    }
    if negative {
        out.push('-');
    }
    match chunks.pop() {
        None => out.push('0'),
        Some(first) => out.push_str(&first.to_string()),
    }
    for chunk in chunks.iter().rev() {
        // Writing to a String cannot fail.
        let _ = write!(out, "{chunk:019}");
    }
    Some(())
}

/// Returns the sign and the digits of a decimal number. Returns `None` if the text is not a number, or is too long.
pub(super) fn read(text: &[u8]) -> Option<(bool, Vec<u8>)> {
    let (negative, decimal) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if decimal.is_empty() || decimal.len() > MOST_DIGITS || !decimal.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut digits: Vec<u64> = Vec::new();
    let first = decimal.len() % CHUNK_DIGITS;
    let (first, rest) = decimal.split_at(first);
    for chunk in std::iter::once(first).chain(rest.chunks(CHUNK_DIGITS)) {
        let mut carry = chunk.iter().fold(0u128, |all, &byte| all * 10 + u128::from(byte - b'0'));
        for digit in &mut digits {
            let value = u128::from(*digit) * u128::from(CHUNK) + carry;
            // The mask leaves the lower 64 bits.
            *digit = u64::try_from(value & u128::from(u64::MAX)).ok()?;
            carry = value >> 64;
        }
        if carry > 0 {
            digits.push(u64::try_from(carry).ok()?);
        }
    }
    let zero = digits.is_empty();
    let bytes: Vec<u8> = digits.iter().flat_map(|digit| digit.to_le_bytes()).collect();
    // Zero has no sign.
    (bytes.len() <= LONGEST && !(zero && negative)).then_some((negative, bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(negative: bool, bytes: &[u8]) -> Option<String> {
        let mut out = String::new();
        write(&mut out, negative, bytes).map(|()| out)
    }

    #[test]
    fn numbers_are_decimal() {
        for (number, expected) in
            [(0u128, "0"), (1, "1"), (1 << 64, "18446744073709551616"), (u128::from(CHUNK), "10000000000000000000")]
        {
            let bytes = if number == 0 { Vec::new() } else { number.to_le_bytes().to_vec() };
            assert_eq!(text(false, &bytes).unwrap(), expected);
        }
        for wrong in ["", "-", "-0", "1n", "0x1", " 1", "+1", "1.0"] {
            assert_eq!(read(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(text(false, &[1; 9]), None, "not a multiple of 8 bytes");
    }

    #[test]
    fn the_longest_number_comes_back_and_a_longer_one_is_refused() {
        let longest = [0xff; LONGEST];
        let decimal = text(true, &longest).unwrap();
        assert_eq!(decimal.len(), MOST_DIGITS + 1);
        assert_eq!(read(decimal.as_bytes()), Some((true, longest.to_vec())));
        assert_eq!(text(false, &[0xff; LONGEST + 8]), None);
        assert_eq!(read(&[b'9'; MOST_DIGITS]), None);
        assert_eq!(read(&[b'1'; MOST_DIGITS + 1]), None);
    }

    proptest! {
        #[test]
        fn any_digits_come_back(digits in prop::collection::vec(any::<u64>(), 0..8), negative: bool) {
            let mut bytes: Vec<u8> = digits.iter().flat_map(|digit| digit.to_le_bytes()).collect();
            while bytes.ends_with(&[0; 8]) {
                bytes.truncate(bytes.len() - 8);
            }
            let negative = negative && !bytes.is_empty();
            prop_assert_eq!(read(text(negative, &bytes).unwrap().as_bytes()), Some((negative, bytes)));
        }
    }
}
