//! The content of [`Header::meta`](crate::record::Header::meta): the state's size (8 bytes, little endian), then the
//! step's name. If the highest bit of the size is set, the number of the workflow's steps (4 bytes, little endian) is
//! between the two. If the second highest bit is set, the hash of the workflow's shape (12 bytes) follows. Checkpoints
//! without them have no such bits.

/// The bit of the size that says that the number of steps follows.
const HAS_STEPS: u64 = 1 << 63;

/// The bit of the size that says that the hash of the shape follows.
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
