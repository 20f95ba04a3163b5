//! A read that fails on the device is an I/O error and not damage. `SQLite` itself reports EIO of a read as damage.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "SQLite calls the replaced function")]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd;
use std::ptr::null;
use std::sync::{Once, OnceLock};

use crate::at_once::soon;
use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::store;
use rusqlite::ffi;

type Read = unsafe extern "C" fn(c_int, *mut c_void, usize, i64) -> isize;

static ORIGINAL: OnceLock<Read> = OnceLock::new();
/// Reading this file fails with EIO, because the first page of a process is never mapped.
static BROKEN: OnceLock<File> = OnceLock::new();

thread_local! {
    /// The number of reads of this thread that succeed before one fails. A negative number means that all succeed.
    static LEFT: Cell<i64> = const { Cell::new(-1) };
}

unsafe extern "C" fn read(file: c_int, into: *mut c_void, length: usize, offset: i64) -> isize {
    let left = LEFT.get();
    if left >= 0 {
        LEFT.set(left - 1);
    }
    let (file, offset) = if left == 0 { (BROKEN.get().unwrap().as_raw_fd(), 0) } else { (file, offset) };
    unsafe { ORIGINAL.get().unwrap()(file, into, length, offset) }
}

/// Lets `SQLite` read with this file's `pread`, which calls the one of the engine.
fn replace_read() {
    static REPLACED: Once = Once::new();
    REPLACED.call_once(replace);
}

fn replace() {
    // The first open of a file sets the one of the engine.
    drop(Sqlite::open(&Options::new(tempfile::tempdir().unwrap().path().join("first.db"))));
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
    let (_folder, path) = temporary("a.db");
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
        LEFT.set(at);
        let outcome = run();
        let fired = LEFT.replace(-1) < 0;
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

/// A read that fails here stands for bytes that are not in memory: the thread that asks does not wait for them.
#[test]
fn what_is_not_in_memory_is_not_answered_at_once() {
    replace_read();
    let (_folder, path) = temporary("a.db");
    let bytes = |seed| vec![common::part("p", "json", common::noise(seed, 3_000))];
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    for at in 0..200 {
        save(&mut backend, [draft(&format!("run {at}"), &format!("checkpoint {at}")).parts(bytes(at))]);
    }
    drop(backend);

    let query = common::get_query("checkpoint 150");
    // The writer's thread may rest, and not every file system can tell what is in memory.
    let (mut failures, mut others) = (0, 0);
    while others < 20 {
        let store = Store::open(&Target::Sqlite(path.clone()), store::Options::default()).unwrap();
        assert!(common::store_get(&store, "checkpoint 3").unwrap().is_some(), "the file is open now");
        store.drain();
        LEFT.set(failures);
        let at_once = store.answer_at_once(&query);
        let fired = LEFT.replace(-1) < 0;
        let found = common::call(|reply| store.ask(query.clone(), reply)).unwrap();
        assert_eq!(found, Answer::Checkpoint(Some(Box::new(draft("run 150", "checkpoint 150").parts(bytes(150)).0))));
        if fired {
            assert_eq!(at_once, None, "read {failures}");
            failures += 1;
        } else {
            others += 1;
        }
        assert_eq!(soon(&store, &query), found, "it is in memory now");
        store.shutdown();
        if at_once.is_some() {
            break;
        }
    }
    assert!(failures >= 1, "no read failed");
}
