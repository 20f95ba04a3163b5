//! The content of [`Header::meta`](crate::record::Header::meta): the state's size (8 bytes, little endian), then the
//! step's name. If the highest bit of the size is set, the number of the workflow's steps (4 bytes, little endian) is
//! between the two. Checkpoints without this number have no such bit.

/// The bit of the size that says that the number of steps follows.
const HAS_STEPS: u64 = 1 << 63;

pub(super) fn encode(state_size: u64, steps: Option<u32>, step_name: &str) -> Vec<u8> {
    let name = step_name.as_bytes();
    match steps {
        None => [&state_size.to_le_bytes(), name].concat(),
        Some(steps) => [&(state_size | HAS_STEPS).to_le_bytes(), &steps.to_le_bytes()[..], name].concat(),
    }
}

pub(super) fn decode(meta: &[u8]) -> Option<(u64, Option<u32>, String)> {
    let (size, rest) = meta.split_first_chunk()?;
    let size = u64::from_le_bytes(*size);
    let (steps, name) = if size & HAS_STEPS == 0 {
        (None, rest)
    } else {
        let (steps, name) = rest.split_first_chunk()?;
        (Some(u32::from_le_bytes(*steps)), name)
    };
    Some((size & !HAS_STEPS, steps, String::from_utf8(name.to_vec()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for steps in [None, Some(0), Some(u32::MAX)] {
            for name in ["", "schätzen", "\0\u{ff}"] {
                assert_eq!(decode(&encode(70_000, steps, name)), Some((70_000, steps, name.to_owned())));
            }
        }
    }

    #[test]
    fn a_checkpoint_without_the_number_of_steps_is_read() {
        let old = [&5u64.to_le_bytes(), &b"name"[..]].concat();
        assert_eq!(decode(&old), Some((5, None, "name".to_owned())));
        assert_eq!(encode(5, None, "name"), old);
    }

    #[test]
    fn damage_is_found() {
        let whole = encode(5, Some(3), "");
        for length in 0..whole.len() {
            assert_eq!(decode(&whole[..length]), None);
        }
        assert_eq!(decode(&encode(5, None, "").into_iter().chain([0xff]).collect::<Vec<_>>()), None);
    }
}
