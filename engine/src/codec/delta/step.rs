//! The steps of which a delta consists.

/// One step of a delta: literal bytes, then a copy from the base. The literal bytes or the copy may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) literal: usize,
    pub(super) from: usize,
    pub(super) copy: usize,
}
