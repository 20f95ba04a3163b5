//! The layer between `SQLite` and the operating system (a `SQLite` VFS): a copy of the default VFS with four changes.
//!
//! Waits. `SQLite` waits for a lock in two ways. Its busy handler waits for the busy timeout, separately in each
//! statement. A WAL reader that cannot lock the WAL's index waits up to 10 s, regardless of the busy timeout. Both
//! sleep with `xSleep`. The `xSleep` of this file stops when the call has slept for the busy timeout.
//!
//! Read-only files. If `SQLite` cannot open a file for writing, it opens the file for reading, and all saves fail as
//! long as it is open. The `xOpen` of this file fails instead if the process may write the file: then it has too many
//! open files, and the next attempt may succeed.
//!
//! Failed reads. For a read that fails with EIO, `SQLite` reports `SQLITE_CORRUPT`, as if the bytes were damaged. The
//! `xRead` of this file returns a device error instead.
//!
//! Reads that do not wait for the disk: see `from_memory.rs`.
#![expect(unsafe_code, reason = "rusqlite has no functions for a VFS")]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use super::from_memory;

const NAME: &CStr = c"forkpoint";

thread_local! {
    /// The time that `SQLite` may still sleep on this thread. `None`: no limit. A thread local, because `SQLite` passes
    /// `xSleep` only the VFS, which all connections share.
    static LEFT: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Runs work in which all sleeps of `SQLite` together take at most `limit`.
pub(super) fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    struct Outer(Option<Duration>);
    impl Drop for Outer {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }
    let _outer = Outer(LEFT.replace(Some(limit)));
    work()
}

/// The default VFS before this one was registered.
struct Default(*mut sqlite3_vfs);

// SAFETY: SQLite uses a VFS on all threads, and never frees the default one.
unsafe impl Send for Default {}
// SAFETY: see above.
unsafe impl Sync for Default {}

static DEFAULT: OnceLock<Default> = OnceLock::new();

/// Returns the name of the VFS to open a file with. The first call registers the VFS.
pub(super) fn name() -> &'static CStr {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: a copy of a VFS may use all functions except `xOpen`, because they use only plain fields of the VFS.
        // `xOpen` passes the original. The copy is never freed.
        unsafe {
            let default = ffi::sqlite3_vfs_find(ptr::null());
            if let Some(original) = default.as_ref() {
                let _ = DEFAULT.set(Default(default));
                from_memory::ask_the_system(default);
                let copy = sqlite3_vfs {
                    pNext: ptr::null_mut(),
                    zName: NAME.as_ptr(),
                    xOpen: Some(open),
                    xSleep: Some(sleep),
                    ..*original
                };
                // If this fails, opening a file fails, because the VFS does not exist.
                ffi::sqlite3_vfs_register(Box::into_raw(Box::new(copy)), 0);
            }
        }
    });
    NAME
}

unsafe extern "C" fn sleep(_: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    let asked = Duration::from_micros(u64::try_from(microseconds).unwrap_or(0));
    let Some(left) = LEFT.get() else {
        thread::sleep(asked);
        return microseconds;
    };
    let begun = Instant::now();
    thread::sleep(asked.min(left));
    LEFT.set(Some(left.saturating_sub(begun.elapsed())));
    microseconds
}

/// The methods for one kind of file: a copy with another `xRead`, followed by the original.
#[repr(C)]
struct Methods {
    copy: sqlite3_io_methods,
    original: *const sqlite3_io_methods,
}

// SAFETY: methods never change after their creation.
unsafe impl Send for Methods {}
// SAFETY: see above.
unsafe impl Sync for Methods {}

/// Returns the methods for this `original`. There are only a few kinds of files, so methods are never freed.
///
/// # Safety
///
/// `original` points to methods that live as long as the process.
unsafe fn methods(original: *const sqlite3_io_methods) -> &'static Methods {
    static KNOWN: Mutex<Vec<&'static Methods>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(methods) = known.iter().find(|methods| ptr::eq(methods.original, original)) {
        return methods;
    }
    // SAFETY: see above.
    let copy = sqlite3_io_methods { xRead: Some(read), ..unsafe { *original } };
    let methods: &'static Methods = Box::leak(Box::new(Methods { copy, original }));
    known.push(methods);
    methods
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    path: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: the arguments are those of SQLite's call. The methods of a VFS live as long as the process.
    unsafe {
        (*file).pMethods = ptr::null();
        let Some(Default(default)) = DEFAULT.get() else { return ffi::SQLITE_CANTOPEN };
        let Some(open) = (**default).xOpen else { return ffi::SQLITE_CANTOPEN };
        let mut got = flags;
        let code = open(*default, path, file, flags, &raw mut got);
        if let Some(out) = out.as_mut() {
            *out = got;
        }
        let Some(original) = (*file).pMethods.as_ref() else { return code };
        let only_reads = flags & ffi::SQLITE_OPEN_READWRITE != 0 && got & ffi::SQLITE_OPEN_READONLY != 0;
        if code == ffi::SQLITE_OK && only_reads && !path.is_null() && may_write(CStr::from_ptr(path)) {
            if let Some(close) = original.xClose {
                close(file);
            }
            (*file).pMethods = ptr::null();
            return ffi::SQLITE_CANTOPEN;
        }
        (*file).pMethods = ptr::from_ref(methods(original)).cast();
        code
    }
}

/// Returns true if this process may write the file. Only Unix systems fall back to opening a file for reading.
pub(super) fn may_write(path: &CStr) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, AtFlags, CWD, accessat};
        accessat(CWD, path, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

unsafe extern "C" fn read(file: *mut sqlite3_file, into: *mut c_void, length: c_int, at: i64) -> c_int {
    // SAFETY: the arguments are those of SQLite's call. `open` has set the methods of the file, and the copy is the
    // first field of `Methods`.
    unsafe {
        let methods = (*file).pMethods.cast::<Methods>();
        let Some(read) = (*(*methods).original).xRead else { return ffi::SQLITE_IOERR_READ };
        if from_memory::refuses_files() {
            return ffi::SQLITE_IOERR_READ;
        }
        match read(file, into, length, at) {
            ffi::SQLITE_IOERR_CORRUPTFS => ffi::SQLITE_IOERR_READ,
            code => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_end_when_the_call_has_waited_long_enough() {
        within(Duration::from_millis(1), || {
            for _ in 0..100 {
                // SAFETY: the function does not use the VFS.
                unsafe { sleep(ptr::null_mut(), c_int::MAX) };
            }
            assert_eq!(LEFT.get(), Some(Duration::ZERO), "without the limit this takes 59 hours");
        });
        assert_eq!(LEFT.get(), None);
    }
}
