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
