//! The file of a connection that `SQLite` has open.
#![expect(unsafe_code, reason = "rusqlite has no functions for the files of a connection")]

use std::ffi::{c_int, c_void};
use std::ptr;

use rusqlite::{Connection, MAIN_DB, ffi};

/// The size of the first page of the WAL's index, in bytes.
const INDEX_BYTES: c_int = 32 << 10;

/// The database file of a connection, with its methods.
#[derive(Clone, Copy)]
pub(super) struct Handle<'a> {
    pub(super) file: *mut ffi::sqlite3_file,
    pub(super) methods: &'a ffi::sqlite3_io_methods,
}

impl<'a> Handle<'a> {
    /// Returns `None` if the connection has no file.
    pub(super) fn of(connection: &'a Connection) -> Option<Self> {
        let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
        // SAFETY: the connection is open, and only this thread uses it, so its file is open too. The VFS gave the
        // methods, which live as long as the process.
        unsafe {
            let code = ffi::sqlite3_file_control(
                connection.handle(),
                MAIN_DB.as_ptr(),
                ffi::SQLITE_FCNTL_FILE_POINTER,
                (&raw mut file).cast(),
            );
            let methods = file.as_ref().and_then(|file| file.pMethods.as_ref())?;
            (code == ffi::SQLITE_OK).then_some(Self { file, methods })
        }
    }

    /// Reads four bytes of the database file as a number, bypassing the cache and the log.
    pub(super) fn number_at(&self, offset: i64) -> Option<u32> {
        let mut bytes = [0_u8; 4];
        let read = self.methods.xRead?;
        // SAFETY: the file is open, and the buffer has the length that is passed.
        let code = unsafe { read(self.file, bytes.as_mut_ptr().cast(), 4, offset) };
        (code == ffi::SQLITE_OK).then_some(u32::from_be_bytes(bytes))
    }

    /// Reads numbers at these byte offsets from the first page of the WAL's index. The database must be in WAL mode,
    /// because a missing index is created. Returns the error of `SQLite` if the index cannot be mapped.
    pub(super) fn index_numbers<const N: usize>(&self, offsets: [usize; N]) -> Result<[u32; N], c_int> {
        let map = self.methods.xShmMap.ok_or(ffi::SQLITE_IOERR)?;
        let mut start: *mut c_void = ptr::null_mut();
        // SAFETY: the file is open. The map stays valid as long as the file is open.
        let code = unsafe { map(self.file, 0, INDEX_BYTES, 0, &raw mut start) };
        if code != ffi::SQLITE_OK || start.is_null() {
            return Err(if code == ffi::SQLITE_OK { ffi::SQLITE_IOERR } else { code });
        }
        // SAFETY: the map begins at a page of memory, and the offsets are below its length. Other processes may write the
        // numbers, so they are read as volatile.
        Ok(offsets.map(|offset| unsafe { start.cast::<u32>().add(offset / 4).read_volatile() }))
    }
}
