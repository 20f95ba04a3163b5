//! Reads that do not wait for the disk: a read of bytes that are not in memory fails.
//!
//! An event loop may read this way. Linux can tell whether the bytes of a file are in the memory of the system
//! (`RWF_NOWAIT`), so there the system call of `SQLite` that reads is another one. On other systems, and on a file system that
//! cannot tell, only the cache of `SQLite` counts as memory.
#![expect(unsafe_code, reason = "rusqlite has no functions for the system calls of SQLite")]

use std::cell::Cell;
use std::time::Duration;

use rusqlite::ffi::sqlite3_vfs;

use super::vfs;

thread_local! {
    /// True if reads of this thread must not wait for the disk.
    static ONLY_MEMORY: Cell<bool> = const { Cell::new(false) };
}

/// Does the work. Its reads fail if their bytes are not in memory, and `SQLite` does not sleep.
pub(super) fn within<T>(work: impl FnOnce() -> T) -> T {
    struct Outer(bool);
    impl Drop for Outer {
        fn drop(&mut self) {
            ONLY_MEMORY.set(self.0);
        }
    }
    let _outer = Outer(ONLY_MEMORY.replace(true));
    vfs::within(Duration::ZERO, work)
}

/// Returns true if a read of a file must fail, because nobody can tell whether its bytes are in memory.
pub(super) fn refuses_files() -> bool {
    ONLY_MEMORY.get() && !system::can_tell()
}

/// Lets the default VFS ask the system whether bytes are in memory.
///
/// # Safety
///
/// `vfs` is the default VFS, and no file is open through it yet.
pub(super) unsafe fn ask_the_system(vfs: *mut sqlite3_vfs) {
    // SAFETY: see above.
    unsafe { system::set(vfs) }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::{CStr, c_int, c_void};
    use std::io::IoSliceMut;
    use std::mem::transmute;
    use std::os::fd::BorrowedFd;
    use std::sync::OnceLock;
    use std::{ptr, slice};

    use rusqlite::ffi::{self, sqlite3_vfs};
    use rustix::io::{ReadWriteFlags, preadv2};

    const NAME: &CStr = c"pread";

    type Pread = unsafe extern "C" fn(c_int, *mut c_void, usize, i64) -> isize;

    static ORIGINAL: OnceLock<Pread> = OnceLock::new();

    pub(super) fn can_tell() -> bool {
        ORIGINAL.get().is_some()
    }

    pub(super) unsafe fn set(vfs: *mut sqlite3_vfs) {
        // SAFETY: the caller passes a VFS. A system call has the arguments that its name says.
        unsafe {
            let Some(sqlite3_vfs { xGetSystemCall: Some(get), xSetSystemCall: Some(set), .. }) = vfs.as_ref() else {
                return;
            };
            let Some(original) = get(vfs, NAME.as_ptr()) else { return };
            let ours = transmute::<Pread, unsafe extern "C" fn()>(pread);
            if set(vfs, NAME.as_ptr(), Some(ours)) == ffi::SQLITE_OK {
                ORIGINAL.get_or_init(|| transmute::<unsafe extern "C" fn(), Pread>(original));
            }
        }
    }

    unsafe extern "C" fn pread(file: c_int, into: *mut c_void, length: usize, at: i64) -> isize {
        let Some(original) = ORIGINAL.get() else { return -1 };
        if !super::ONLY_MEMORY.get() {
            // SAFETY: the arguments are those of SQLite's call.
            return unsafe { original(file, into, length, at) };
        }
        // SAFETY: SQLite passes an open file, and `length` bytes that it owns. They are written before they are a slice.
        let (file, bytes) = unsafe {
            ptr::write_bytes(into.cast::<u8>(), 0, length);
            (BorrowedFd::borrow_raw(file), slice::from_raw_parts_mut(into.cast::<u8>(), length))
        };
        let read = preadv2(file, &mut [IoSliceMut::new(bytes)], at.cast_unsigned(), ReadWriteFlags::NOWAIT);
        match read {
            Ok(read) if read == length => read.cast_signed(),
            // Some bytes are not in memory, or there is no such place. SQLite reads the number of an error, which the call sets
            // for a file that is not open.
            // SAFETY: the arguments are those of SQLite's call.
            _ => unsafe { original(-1, into, length, at) },
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn can_tell() -> bool {
        false
    }

    pub(super) unsafe fn set(_: *mut rusqlite::ffi::sqlite3_vfs) {}
}
