//! Unsigned LEB128: the only encoding of integers in the stored formats.

/// Appends a number.
pub(crate) fn write(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Returns the number of bytes that [`write()`] appends.
pub(crate) fn length(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Removes a number from the front of `input` and returns it. Returns `None` if the number is cut off or does not fit
/// 64 bits.
pub(crate) fn read(input: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Removes `count` bytes from the front of `input` and returns them. Returns `None` if `input` has fewer bytes.
pub(crate) fn take<'a>(input: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (taken, rest) = input.split_at_checked(usize::try_from(count).ok()?)?;
    *input = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            write(&mut out, value);
            let mut input = out.as_slice();
            assert_eq!(read(&mut input), Some(value));
            assert!(input.is_empty());
            assert_eq!(read(&mut &out[..out.len() - 1]), None, "cut off");
        }
        assert_eq!(read(&mut [0xff; 10].as_slice()), None, "over 64 bits");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_number_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut input = bytes.as_slice();
            if let Some(value) = read(&mut input) {
                let mut out = Vec::new();
                write(&mut out, value);
                prop_assert_eq!(out.len(), length(value));
                prop_assert!(out.len() <= bytes.len() - input.len(), "none is shorter than what is written");
                prop_assert_eq!(read(&mut out.as_slice()), Some(value));
            }
        }
    }
}
