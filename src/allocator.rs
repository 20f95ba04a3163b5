//! The addon's allocator: mimalloc for small blocks, and the C library's allocator for large blocks.
//!
//! A listing allocates hundreds of small texts on one thread. The C libraries of Linux are slow at this.
//!
//! Most large blocks are allocated on one thread and freed on another. mimalloc keeps such a block until the first
//! thread has made about a hundred more such allocations: with states of 16 MB, more than a gigabyte. The C library
//! frees the block immediately.

#![expect(
    unsafe_code,
    reason = "each block goes back to the allocator that its size has chosen, and every call passes the layout on"
)]

use std::alloc::{GlobalAlloc, Layout, System};

use mimalloc::MiMalloc;

/// The minimum size of a large block, in bytes.
const LARGE: usize = 128 << 10;

pub(crate) struct Allocator;

fn is_large(size: usize) -> bool {
    size >= LARGE
}

unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size()) { unsafe { System.alloc(layout) } } else { unsafe { MiMalloc.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size()) {
            unsafe { System.alloc_zeroed(layout) }
        } else {
            unsafe { MiMalloc.alloc_zeroed(layout) }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_large(layout.size()) {
            unsafe { System.dealloc(block, layout) }
        } else {
            unsafe { MiMalloc.dealloc(block, layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (is_large(layout.size()), is_large(size)) {
            (true, true) => unsafe { System.realloc(block, layout, size) },
            (false, false) => unsafe { MiMalloc.realloc(block, layout, size) },
            _ => {
                // The caller guarantees that the new size, rounded up to the alignment, does not overflow.
                let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
                if !moved.is_null() {
                    unsafe {
                        moved.copy_from_nonoverlapping(block, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                }
                moved
            }
        }
    }
}
