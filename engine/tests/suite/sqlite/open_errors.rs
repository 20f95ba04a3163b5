//! A process that may write a file, but has too many open files, must not use the file read-only from then on. `SQLite`
//! itself opens such a file for reading, and every later save fails.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "SQLite calls the replaced function")]

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::ptr::null;
use std::sync::OnceLock;

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use rusqlite::ffi;

type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;

static ORIGINAL: OnceLock<Open> = OnceLock::new();
const EMFILE: c_int = 24;
const O_RDWR: c_int = 2;

thread_local! {
    /// The number of opens for writing of this thread that succeed before one fails. A negative number means that all
    /// succeed.
    static LEFT: Cell<i64> = const { Cell::new(-1) };
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    let left = LEFT.get();
    if left >= 0 && flags & O_RDWR != 0 {
        LEFT.set(left - 1);
        if left == 0 {
            unsafe { *__errno_location() = EMFILE };
            return -1;
        }
    }
    unsafe { ORIGINAL.get().unwrap()(path, flags, mode) }
}

fn replace_open() {
    unsafe {
        let vfs = ffi::sqlite3_vfs_find(null());
        let original = (*vfs).xGetSystemCall.unwrap()(vfs, c"open".as_ptr()).unwrap();
        ORIGINAL.set(std::mem::transmute::<unsafe extern "C" fn(), Open>(original)).unwrap();
        let replacement = std::mem::transmute::<Open, unsafe extern "C" fn()>(open);
        assert_eq!((*vfs).xSetSystemCall.unwrap()(vfs, c"open".as_ptr(), Some(replacement)), ffi::SQLITE_OK);
    }
}

#[test]
fn every_open_that_fails_once_is_unavailable_and_the_next_try_works() {
    replace_open();
    let (_folder, path) = temporary("a.db");
    save(&mut Sqlite::open(&Options::new(&path)).unwrap(), [draft("run", "first")]);
    let mut failures = 0;
    for at in 0.. {
        let id = format!("checkpoint-{at}");
        let run = || {
            let mut backend = Sqlite::open(&Options::new(&path))?;
            let saved = common::apply(&mut backend, vec![draft("run", &id).put()]);
            // A failure must not last as long as the connection.
            save(&mut backend, [draft("run", &id)]);
            assert!(get(&mut backend, &id).is_some());
            saved.map(drop)
        };
        LEFT.set(at);
        let outcome = run();
        let fired = LEFT.replace(-1) < 0;
        if let Err(error) = outcome {
            failures += 1;
            assert_eq!((error.code(), error.retryable()), (Code::Unavailable, true), "open {at}: {error}");
        }
        if !fired {
            break;
        }
        run().unwrap_or_else(|error| panic!("open {at}: {error}"));
    }
    assert!(failures >= 3, "the database, its log and the index: only {failures} calls failed");
    assert_eq!(common::findings(&mut Sqlite::open(&Options::new(&path)).unwrap()), []);
}
