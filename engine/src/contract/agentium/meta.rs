//! The content of [`Header::meta`](crate::record::Header::meta): the state's size (8 bytes, little endian), then the
//! step's name. If the size's highest bit is set, the number of the workflow's steps (4 bytes, little endian) comes
//! between the two. If the second highest bit is set, the hash of the workflow's shape (12 bytes) follows.

/// The bit of the size that marks a number of steps.
const HAS_STEPS: u64 = 1 << 63;

/// The bit of the size that marks a hash of the shape.
const HAS_SHAPE: u64 = 1 << 62;

/// The length of the hash of a shape, in bytes.
pub(super) const SHAPE_BYTES: usize = 12;

pub(super) struct Meta {
    pub state_size: u64,
    pub steps: Option<u32>,
    /// The hash of the workflow's shape. It has [`SHAPE_BYTES`] bytes.
    pub shape: Option<String>,
    pub step_name: String,
}

pub(super) fn encode(Meta { state_size, steps, shape, step_name }: &Meta) -> Vec<u8> {
    let flags = steps.map_or(0, |_| HAS_STEPS) | shape.as_ref().map_or(0, |_| HAS_SHAPE);
    let mut meta = (state_size | flags).to_le_bytes().to_vec();
    meta.extend(steps.map(u32::to_le_bytes).into_iter().flatten());
    meta.extend(shape.iter().flat_map(|shape| shape.bytes()));
    meta.extend(step_name.bytes());
    meta
}

pub(super) fn decode(meta: &[u8]) -> Option<Meta> {
    let (size, mut rest) = meta.split_first_chunk()?;
    let size = u64::from_le_bytes(*size);
    let mut steps = None;
    if size & HAS_STEPS != 0 {
        let (bytes, after) = rest.split_first_chunk()?;
        (steps, rest) = (Some(u32::from_le_bytes(*bytes)), after);
    }
    let mut shape = None;
    if size & HAS_SHAPE != 0 {
        let (bytes, after) = rest.split_first_chunk::<SHAPE_BYTES>()?;
        (shape, rest) = (Some(String::from_utf8(bytes.to_vec()).ok()?), after);
    }
    let step_name = String::from_utf8(rest.to_vec()).ok()?;
    Some(Meta { state_size: size & !(HAS_STEPS | HAS_SHAPE), steps, shape, step_name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_documented() {
        let size = 7_u64.to_le_bytes();
        for (steps, shape, bytes) in [
            (None, None, [&size[..], "schätzen".as_bytes()].concat()),
            (Some(3), None, [&[7, 0, 0, 0, 0, 0, 0, 0x80, 3, 0, 0, 0][..], "schätzen".as_bytes()].concat()),
            (None, Some("Qx3_abcd-EF9"), [&b"\x07\0\0\0\0\0\0\x40Qx3_abcd-EF9"[..], "schätzen".as_bytes()].concat()),
            (
                Some(3),
                Some("Qx3_abcd-EF9"),
                [&b"\x07\0\0\0\0\0\0\xc0\x03\0\0\0Qx3_abcd-EF9"[..], "schätzen".as_bytes()].concat(),
            ),
        ] {
            let shape = shape.map(str::to_owned);
            let meta = Meta { state_size: 7, steps, shape: shape.clone(), step_name: "schätzen".to_owned() };
            assert_eq!(encode(&meta), bytes);
            let read = decode(&bytes).unwrap();
            assert_eq!((read.state_size, read.steps, read.shape, read.step_name), (7, steps, shape, meta.step_name));
        }
        // Damaged metadata is rejected.
        for damaged in [&b"\x07\0\0\0\0\0\0\x40short"[..], b"\x07\0\0\0\0\0\0\x80\x03", b"\x07"] {
            assert!(decode(damaged).is_none());
        }
    }
}
