//! A read that fails on the device is an I/O error and not damage. `SQLite` itself reports EIO of a read as damage.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unsafe_code, reason = "a test")]

mod common;

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd;
use std::ptr::null;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use common::{draft, get, save};
use forkpoint::backend::Backend;
use forkpoint::backend::sqlite::{Options, Sqlite};
use forkpoint::error::Code;
use rusqlite::ffi;

type Read = unsafe extern "C" fn(c_int, *mut c_void, usize, i64) -> isize;

static ORIGINAL: OnceLock<Read> = OnceLock::new();
/// Reading this file fails with EIO, because the first page of a process is never mapped.
static BROKEN: OnceLock<File> = OnceLock::new();
/// The number of reads that succeed before one fails. A negative number means that all succeed.
static LEFT: AtomicI64 = AtomicI64::new(-1);

unsafe extern "C" fn read(file: c_int, into: *mut c_void, length: usize, offset: i64) -> isize {
    let left = LEFT.load(Ordering::Relaxed);
    if left >= 0 {
        LEFT.store(left - 1, Ordering::Relaxed);
    }
    let (file, offset) = if left == 0 { (BROKEN.get().unwrap().as_raw_fd(), 0) } else { (file, offset) };
    unsafe { ORIGINAL.get().unwrap()(file, into, length, offset) }
}

/// Puts this file's `pread` below the one of the engine.
fn replace_read() {
    let mut broken = File::open("/proc/self/mem").unwrap();
    assert_eq!(broken.read(&mut [0]).unwrap_err().raw_os_error(), Some(5), "EIO");
    BROKEN.set(broken).unwrap();
    unsafe {
        let vfs = ffi::sqlite3_vfs_find(null());
        let original = (*vfs).xGetSystemCall.unwrap()(vfs, c"pread".as_ptr()).unwrap();
        ORIGINAL.set(std::mem::transmute::<unsafe extern "C" fn(), Read>(original)).unwrap();
        let replacement = std::mem::transmute::<Read, unsafe extern "C" fn()>(read);
        assert_eq!((*vfs).xSetSystemCall.unwrap()(vfs, c"pread".as_ptr(), Some(replacement)), ffi::SQLITE_OK);
    }
}

#[test]
fn every_read_that_fails_once_is_an_io_error_and_the_next_call_works() {
    replace_read();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let names: Vec<String> = (0..40).map(|at| format!("checkpoint-{at}")).collect();
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    for name in &names {
        save(&mut backend, [draft("run", name)]);
    }
    drop(backend);

    let mut failures = 0;
    for at in 0.. {
        let run = || {
            let mut backend = Sqlite::open(&Options::new(&path))?;
            for name in &names {
                common::try_get(&mut backend, name)?.expect("it was saved");
            }
            common::apply(&mut backend, vec![draft("run", "checkpoint-0").put()])?;
            backend.vacuum()
        };
        LEFT.store(at, Ordering::Relaxed);
        let outcome = run();
        let fired = LEFT.swap(-1, Ordering::Relaxed) < 0;
        if let Err(error) = outcome {
            failures += 1;
            assert_eq!((error.code(), error.retryable()), (Code::Unavailable, true), "read {at}: {error}");
            assert!(error.message().contains("SQLITE_IOERR"), "read {at}: {error}");
        }
        if !fired {
            break;
        }
        run().unwrap();
    }
    assert!(failures >= 10, "only {failures} calls failed");
    println!("{failures} calls failed, each with UNAVAILABLE");
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    for name in &names {
        assert_eq!(get(&mut backend, name), Some(draft("run", name).0));
    }
}
