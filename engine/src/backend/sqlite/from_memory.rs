//! Reads that do not wait for the disk: reading bytes that are not in memory fails.
//!
//! An event loop may read this way. On Linux, `RWF_NOWAIT` reads bytes of a file only if they are in the system's page
//! cache, so there this module replaces the system call with which `SQLite` reads. On other systems and file systems,
//! only the cache of `SQLite` counts as memory.
#![expect(unsafe_code, reason = "rusqlite has no functions for the system calls of SQLite")]

use std::cell::Cell;

use rusqlite::ffi::sqlite3_vfs;

thread_local! {
    /// True if reads of this thread must not wait for the disk. A thread local, because `SQLite` passes `pread` only
    /// the number of a file, which does not tell the call that reads.
    static ONLY_MEMORY: Cell<bool> = const { Cell::new(false) };
}

/// Runs work whose file reads fail if the bytes are not in memory.
pub(super) fn within<T>(work: impl FnOnce() -> T) -> T {
    struct Outer(bool);
    impl Drop for Outer {
        fn drop(&mut self) {
            ONLY_MEMORY.set(self.0);
        }
    }
    let _outer = Outer(ONLY_MEMORY.replace(true));
    work()
}

/// Returns true if a file read must fail, because the system cannot tell whether the bytes are in memory.
pub(super) fn refuses_files() -> bool {
    ONLY_MEMORY.get() && !can_tell()
}

#[cfg(not(target_os = "linux"))]
fn can_tell() -> bool {
    false
}

/// Makes the default VFS ask the system whether bytes are in memory.
///
/// # Safety
///
/// `vfs` is the default VFS, and no file is open through it yet.
#[cfg(not(target_os = "linux"))]
pub(super) unsafe fn ask_the_system(_: *mut sqlite3_vfs) {}

#[cfg(target_os = "linux")]
type Pread = unsafe extern "C" fn(std::ffi::c_int, *mut std::ffi::c_void, usize, i64) -> isize;

/// The system call that [`pread`] replaces.
#[cfg(target_os = "linux")]
static ORIGINAL: std::sync::OnceLock<Pread> = std::sync::OnceLock::new();

#[cfg(target_os = "linux")]
fn can_tell() -> bool {
    ORIGINAL.get().is_some()
}

/// Makes the default VFS ask the system whether bytes are in memory.
///
/// # Safety
///
/// `vfs` is the default VFS, and no file is open through it yet.
#[cfg(target_os = "linux")]
pub(super) unsafe fn ask_the_system(vfs: *mut sqlite3_vfs) {
    use std::mem::transmute;

    const NAME: &std::ffi::CStr = c"pread";
    // SAFETY: the caller passes a VFS. The name of a system call determines the signature of its function.
    unsafe {
        let Some(sqlite3_vfs { xGetSystemCall: Some(get), xSetSystemCall: Some(set), .. }) = vfs.as_ref() else {
            return;
        };
        let Some(original) = get(vfs, NAME.as_ptr()) else { return };
        // Set before the replacement, because another thread may read at any time.
        ORIGINAL.get_or_init(|| transmute::<unsafe extern "C" fn(), Pread>(original));
        // Every call that the VFS returns can be replaced.
        set(vfs, NAME.as_ptr(), Some(transmute::<Pread, unsafe extern "C" fn()>(pread)));
    }
}

#[cfg(target_os = "linux")]
unsafe extern "C" fn pread(file: std::ffi::c_int, into: *mut std::ffi::c_void, length: usize, at: i64) -> isize {
    use std::io::IoSliceMut;
    use std::os::fd::BorrowedFd;
    use std::{ptr, slice};

    use rustix::io::{ReadWriteFlags, preadv2};

    let Some(original) = ORIGINAL.get() else { return -1 };
    if !ONLY_MEMORY.get() {
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
        // Some bytes are not in memory, or the position does not exist. Make the original call fail with an invalid
        // file, so that it sets the error number that SQLite reads.
        // SAFETY: the arguments are those of SQLite's call.
        _ => unsafe { original(-1, into, length, at) },
    }
}
