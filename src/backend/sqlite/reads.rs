//! Makes `SQLite` report a read that fails on the device as an I/O error.
//!
//! `SQLite` turns the errors EIO, ENXIO and ERANGE of a read into `SQLITE_CORRUPT`. A caller would then restore a backup,
//! although the file may be whole. `SQLite` has no option against this, but it lets a program replace the system calls
//! that it uses. The replacement of `pread` hides these three error numbers. `SQLite` then reports `SQLITE_IOERR_READ`.

#[cfg(unix)]
pub(super) use self::unix::tell_io_errors_from_damage;

/// On this system, `SQLite` reports all errors of reads as I/O errors.
#[cfg(not(unix))]
pub(super) fn tell_io_errors_from_damage() {}

#[cfg(unix)]
#[expect(unsafe_code, reason = "SQLite's own interface for replacing system calls")]
mod unix {
    use std::ffi::{c_int, c_void};
    use std::io;
    use std::mem::transmute;
    use std::ptr::null;
    use std::sync::OnceLock;

    use rusqlite::ffi;
    use rustix::io::Errno;

    /// `off_t` has 64 bits, because `SQLite` is compiled with `_FILE_OFFSET_BITS=64`.
    type Read = unsafe extern "C" fn(c_int, *mut c_void, usize, i64) -> isize;

    /// The `pread` that `SQLite` used before.
    static ORIGINAL: OnceLock<Option<Read>> = OnceLock::new();

    /// Replaces `pread` in this copy of `SQLite`, once. Must be called before the first connection is opened.
    pub(in super::super) fn tell_io_errors_from_damage() {
        ORIGINAL.get_or_init(|| {
            let name = c"pread".as_ptr();
            // SAFETY: SQLite returns a registered VFS, which it never frees, or null. The VFS for Unix gives pointers to
            // `pread` under this name, and calls the replacement with the same arguments. Where SQLite does not use
            // `pread`, there is no pointer, and nothing is replaced.
            unsafe {
                let vfs = ffi::sqlite3_vfs_find(null());
                let vfs_ref = vfs.as_ref()?;
                let original = vfs_ref.xGetSystemCall?(vfs, name)?;
                let original = transmute::<unsafe extern "C" fn(), Read>(original);
                let replacement = transmute::<Read, unsafe extern "C" fn()>(read);
                (vfs_ref.xSetSystemCall?(vfs, name, Some(replacement)) == ffi::SQLITE_OK).then_some(original)
            }
        });
    }

    unsafe extern "C" fn read(file: c_int, into: *mut c_void, length: usize, offset: i64) -> isize {
        // The replacement may be called before `ORIGINAL` is set, but only by a connection that was opened earlier.
        let original = *ORIGINAL.wait();
        let Some(original) = original else { return -1 };
        // SAFETY: these are the arguments that SQLite passes to `pread`.
        let done = unsafe { original(file, into, length, offset) };
        if done < 0 {
            let errno = Errno::from_io_error(&io::Error::last_os_error());
            if matches!(errno, Some(Errno::IO | Errno::NXIO | Errno::RANGE)) {
                // A read of a file that is not open sets another error number, EBADF.
                // SAFETY: the length is 0, so nothing is written.
                return unsafe { original(-1, into, 0, 0) };
            }
        }
        done
    }
}
