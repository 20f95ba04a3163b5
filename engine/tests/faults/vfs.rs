//! A layer between `SQLite` and the file system (a `SQLite` VFS). It records every change of a file and injects faults.
//!
//! The layer is the default VFS of this test program, so the engine's connections use it. It acts only on files in a
//! folder that has a [`Disk`]. Temporary files without a name pass unchanged.
#![expect(unsafe_code, reason = "SQLite calls a VFS through C functions")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

/// The kinds of calls that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Open,
    Delete,
    Access,
    Size,
    Read,
    Write,
    Truncate,
    Sync,
    Lock,
    Unlock,
    Reserved,
    MapIndex,
    LockIndex,
    UnlockIndex,
}

impl Call {
    pub(crate) const ALL: [Call; 14] = [
        Call::Open,
        Call::Delete,
        Call::Access,
        Call::Size,
        Call::Read,
        Call::Write,
        Call::Truncate,
        Call::Sync,
        Call::Lock,
        Call::Unlock,
        Call::Reserved,
        Call::MapIndex,
        Call::LockIndex,
        Call::UnlockIndex,
    ];

    /// The result code that the VFS of Unix returns if the call fails with EIO.
    fn code(self) -> c_int {
        match self {
            Call::Open => ffi::SQLITE_CANTOPEN,
            Call::Delete => ffi::SQLITE_IOERR_DELETE,
            Call::Access => ffi::SQLITE_IOERR_ACCESS,
            Call::Size => ffi::SQLITE_IOERR_FSTAT,
            // SQLite turns this code into SQLITE_CORRUPT.
            Call::Read => ffi::SQLITE_IOERR_CORRUPTFS,
            Call::Write => ffi::SQLITE_IOERR_WRITE,
            Call::Truncate => ffi::SQLITE_IOERR_TRUNCATE,
            Call::Sync => ffi::SQLITE_IOERR_FSYNC,
            Call::Lock => ffi::SQLITE_IOERR_LOCK,
            Call::Unlock => ffi::SQLITE_IOERR_UNLOCK,
            Call::Reserved => ffi::SQLITE_IOERR_CHECKRESERVEDLOCK,
            Call::MapIndex => ffi::SQLITE_IOERR_SHMMAP,
            // The VFS of Unix reports every failure of these locks as a lock that another process holds.
            Call::LockIndex | Call::UnlockIndex => ffi::SQLITE_BUSY,
        }
    }
}

/// Which call fails: the call number `at` of its kind, counted from 1, and all later ones if `for_good`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) call: Call,
    pub(crate) at: u64,
    pub(crate) for_good: bool,
}

/// A change of a file, or a mark that the test set between two changes.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Create(String),
    Write {
        file: String,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        length: usize,
    },
    Sync(String),
    /// The folder was synced, with the names of all files.
    SyncFolder,
    /// The file was deleted. If `synced`, the folder was synced too.
    Delete {
        file: String,
        synced: bool,
    },
    Mark,
}

#[derive(Default)]
struct State {
    events: Option<Vec<Event>>,
    counts: [u64; Call::ALL.len()],
    fault: Option<Fault>,
    hits: u64,
    capacity: Option<u64>,
    /// If true, a sync does nothing and is not recorded.
    lies: bool,
    folder: PathBuf,
}

impl State {
    /// Counts a call. Returns the result code of the fault if the call must fail.
    fn count(&mut self, call: Call) -> Option<c_int> {
        let count = &mut self.counts[call as usize];
        *count += 1;
        let fault = self.fault.filter(|fault| fault.call == call)?;
        let hit = if fault.for_good { *count >= fault.at } else { *count == fault.at };
        self.hits += u64::from(hit);
        hit.then_some(call.code())
    }

    fn record(&mut self, event: Event) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }

    /// The number of bytes by which the files of the folder may still grow.
    fn room(&self) -> u64 {
        let Some(capacity) = self.capacity else { return u64::MAX };
        let files = std::fs::read_dir(&self.folder).unwrap();
        // The index of the log is memory.
        let stored = files.map(Result::unwrap).filter(|file| !file.file_name().as_bytes().ends_with(b"-shm"));
        // A file that was deleted in the meantime takes no room.
        capacity.saturating_sub(stored.map(|file| file.metadata().map_or(0, |file| file.len())).sum())
    }
}

type Shared = Arc<Mutex<State>>;

static DISKS: Mutex<Vec<(PathBuf, Shared)>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn disk_of(path: &Path) -> Option<Shared> {
    let folder = path.parent()?;
    locked(&DISKS).iter().find(|(known, _)| known == folder).map(|(_, state)| Arc::clone(state))
}

/// The disk under one folder. Dropping it ends the recording and the faults. No file may be open then.
pub(crate) struct Disk(PathBuf, Shared);

impl Disk {
    pub(crate) fn under(folder: &Path) -> Self {
        register();
        let folder = folder.canonicalize().unwrap();
        let state = Shared::new(Mutex::new(State { folder: folder.clone(), ..State::default() }));
        locked(&DISKS).push((folder.clone(), Arc::clone(&state)));
        Self(folder, state)
    }

    /// Records all changes from now on.
    pub(crate) fn record(&self) {
        locked(&self.1).events = Some(Vec::new());
    }

    pub(crate) fn mark(&self) {
        locked(&self.1).record(Event::Mark);
    }

    /// Returns the changes and ends the recording.
    pub(crate) fn recorded(&self) -> Vec<Event> {
        locked(&self.1).events.take().unwrap()
    }

    /// From now on, a sync is answered with success and does nothing.
    pub(crate) fn lie_about_syncs(&self) {
        locked(&self.1).lies = true;
    }

    /// Counts calls from 0 again, and lets calls fail from now on.
    pub(crate) fn inject(&self, fault: Option<Fault>) {
        let mut state = locked(&self.1);
        state.counts = [0; Call::ALL.len()];
        state.hits = 0;
        state.fault = fault;
    }

    /// How many calls have failed since [`Disk::inject`].
    pub(crate) fn hits(&self) -> u64 {
        locked(&self.1).hits
    }

    /// How many calls of this kind were made since [`Disk::inject`].
    pub(crate) fn calls(&self, call: Call) -> u64 {
        locked(&self.1).counts[call as usize]
    }

    /// Limits the size of all files of the folder together. A write that needs more answers `SQLITE_FULL`.
    pub(crate) fn limit(&self, capacity: Option<u64>) {
        locked(&self.1).capacity = capacity;
    }

    /// The size of all files of the folder together.
    pub(crate) fn used(&self) -> u64 {
        let mut state = locked(&self.1);
        let before = state.capacity.replace(u64::MAX);
        let used = u64::MAX - state.room();
        state.capacity = before;
        used
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        locked(&DISKS).retain(|(folder, _)| *folder != self.0);
    }
}

/// An open file. The VFS below keeps its own file directly behind this one.
#[repr(C)]
struct File {
    base: sqlite3_file,
    opened: *mut Opened,
}

struct Opened {
    disk: Shared,
    name: String,
    delete_at_close: bool,
    /// True until the first sync of a journal or log, which also syncs the folder.
    syncs_folder: AtomicBool,
    /// The locks of the log's index that the connection holds, as bits.
    held: AtomicI32,
    /// The lock of the file.
    level: AtomicI32,
}

/// The VFS below. It lives as long as the process.
fn below() -> *mut sqlite3_vfs {
    static NAME: &CStr = c"unix";
    // SAFETY: the name is a C string, and SQLite never frees a VFS.
    unsafe { ffi::sqlite3_vfs_find(NAME.as_ptr()) }
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the copy keeps all methods of the VFS below, which use nothing but `pAppData` of it. Opening a file
        // passes the VFS below itself. The copy is never freed.
        unsafe {
            assert_eq!(ffi::sqlite3_initialize(), ffi::SQLITE_OK);
            let unix = below();
            let mut vfs = *unix;
            vfs.pNext = ptr::null_mut();
            vfs.zName = c"faults".as_ptr();
            vfs.szOsFile = c_int::try_from(size_of::<File>()).unwrap() + (*unix).szOsFile;
            vfs.xOpen = Some(open);
            vfs.xDelete = Some(delete);
            vfs.xAccess = Some(access);
            assert_eq!(ffi::sqlite3_vfs_register(Box::leak(Box::new(vfs)), 1), ffi::SQLITE_OK);
        }
    });
}

/// # Safety
///
/// `name` is null or a C string.
unsafe fn path<'a>(name: *const c_char) -> Option<&'a Path> {
    // SAFETY: see above.
    (!name.is_null()).then(|| Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes())))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes a file of `szOsFile` bytes, and a name that is null or a C string.
    unsafe {
        let file = file.cast::<File>();
        (*file).base.pMethods = ptr::null();
        (*file).opened = ptr::null_mut();
        let path = path(name);
        let disk = path.and_then(disk_of);
        let new = path.is_some_and(|path| !path.exists());
        if let Some(code) = disk.as_ref().and_then(|disk| locked(disk).count(Call::Open)) {
            return code;
        }
        let real = real(file.cast());
        let code = (*below()).xOpen.unwrap()(below(), name, real, flags, out);
        if code != ffi::SQLITE_OK {
            return code;
        }
        if let (Some(disk), Some(path)) = (disk, path) {
            let name = file_name(path);
            if new {
                locked(&disk).record(Event::Create(name.clone()));
            }
            let delete_at_close = flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0;
            let journal = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
            let syncs_folder = (flags & ffi::SQLITE_OPEN_CREATE != 0 && flags & journal != 0).into();
            let (held, level) = (AtomicI32::new(0), AtomicI32::new(0));
            let opened = Opened { disk, name, delete_at_close, syncs_folder, held, level };
            (*file).opened = Box::into_raw(Box::new(opened));
        }
        (*file).base.pMethods = &raw const METHODS;
        code
    }
}

unsafe extern "C" fn delete(_: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite passes a C string.
    unsafe {
        let path = path(name).unwrap();
        let Some(disk) = disk_of(path) else { return (*below()).xDelete.unwrap()(below(), name, sync) };
        let mut disk = locked(&disk);
        if let Some(code) = disk.count(Call::Delete) {
            return code;
        }
        let code = (*below()).xDelete.unwrap()(below(), name, 0);
        if code == ffi::SQLITE_OK {
            let synced = sync != 0 && !disk.lies;
            disk.record(Event::Delete { file: file_name(path), synced });
        }
        code
    }
}

unsafe extern "C" fn access(_: *mut sqlite3_vfs, name: *const c_char, flags: c_int, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes a C string.
    unsafe {
        if let Some(code) = path(name).and_then(disk_of).and_then(|disk| locked(&disk).count(Call::Access)) {
            return code;
        }
        (*below()).xAccess.unwrap()(below(), name, flags, out)
    }
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    // Version 2 has the shared memory of the log's index, and no memory mapping of files.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(map_index),
    xShmLock: Some(lock_index),
    xShmBarrier: Some(index_barrier),
    xShmUnmap: Some(unmap_index),
    xFetch: None,
    xUnfetch: None,
};

/// # Safety
///
/// `file` is a [`File`] of the size that the VFS asks for.
unsafe fn real(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: see above.
    unsafe { file.cast::<File>().add(1).cast() }
}

/// # Safety
///
/// `file` is a [`File`], and `real` opened the file behind it.
unsafe fn methods<'a>(file: *mut sqlite3_file) -> &'a sqlite3_io_methods {
    // SAFETY: see above.
    unsafe { &*(*real(file)).pMethods }
}

/// # Safety
///
/// `file` is an open [`File`], which only one thread uses.
unsafe fn opened<'a>(file: *mut sqlite3_file) -> Option<&'a Opened> {
    // SAFETY: see above.
    unsafe { (*file.cast::<File>()).opened.as_ref() }
}

/// # Safety
///
/// See [`opened`].
unsafe fn fault(file: *mut sqlite3_file, call: Call) -> Option<c_int> {
    // SAFETY: see above.
    unsafe { opened(file) }.and_then(|opened| locked(&opened.disk).count(call))
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes an open file once.
    unsafe {
        let code = methods(file).xClose.unwrap()(real(file));
        let held = (*file.cast::<File>()).opened;
        if !held.is_null() {
            let held = Box::from_raw(held);
            if held.delete_at_close {
                locked(&held.disk).record(Event::Delete { file: held.name.clone(), synced: false });
            }
        }
        (*file).pMethods = ptr::null();
        code
    }
}

unsafe extern "C" fn read(file: *mut sqlite3_file, into: *mut c_void, length: c_int, at: i64) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe {
        match fault(file, Call::Read) {
            Some(code) => code,
            None => methods(file).xRead.unwrap()(real(file), into, length, at),
        }
    }
}

unsafe extern "C" fn write(file: *mut sqlite3_file, from: *const c_void, length: c_int, at: i64) -> c_int {
    // SAFETY: the arguments are those of SQLite's call, so `from` has `length` bytes.
    unsafe {
        let below = |length| methods(file).xWrite.unwrap()(real(file), from, length, at);
        let Some(opened) = opened(file) else { return below(length) };
        let mut disk = locked(&opened.disk);
        let (mut whole, mut code) = (length, ffi::SQLITE_OK);
        if let Some(fault) = disk.count(Call::Write) {
            // A write that fails may have written a part.
            (whole, code) = (length / 2, fault);
        } else if disk.capacity.is_some() {
            let mut size = 0;
            methods(file).xFileSize.unwrap()(real(file), &raw mut size);
            let grows = u64::try_from(at + i64::from(length) - size.max(at)).unwrap_or(0);
            let room = disk.room();
            if grows > room {
                (whole, code) = (length - c_int::try_from(grows - room).unwrap(), ffi::SQLITE_FULL);
            }
        }
        let written = if whole > 0 { below(whole) } else { ffi::SQLITE_OK };
        if disk.events.is_some() && whole > 0 && written == ffi::SQLITE_OK {
            let bytes = std::slice::from_raw_parts(from.cast::<u8>(), usize::try_from(whole).unwrap()).to_vec();
            let at = usize::try_from(at).unwrap();
            disk.record(Event::Write { file: opened.name.clone(), at, bytes });
        }
        if code == ffi::SQLITE_OK { written } else { code }
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: i64) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe {
        if let Some(code) = fault(file, Call::Truncate) {
            return code;
        }
        let code = methods(file).xTruncate.unwrap()(real(file), length);
        if let (ffi::SQLITE_OK, Some(opened)) = (code, opened(file)) {
            let length = usize::try_from(length).unwrap();
            locked(&opened.disk).record(Event::Truncate { file: opened.name.clone(), length });
        }
        code
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe {
        let Some(opened) = opened(file) else { return methods(file).xSync.unwrap()(real(file), flags) };
        let mut disk = locked(&opened.disk);
        if let Some(code) = disk.count(Call::Sync) {
            return code;
        }
        // The images of a power loss are made of the recorded events, so the device need not sync.
        if !disk.lies {
            disk.record(Event::Sync(opened.name.clone()));
            if opened.syncs_folder.swap(false, Ordering::Relaxed) {
                disk.record(Event::SyncFolder);
            }
        }
        ffi::SQLITE_OK
    }
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, out: *mut i64) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe {
        match fault(file, Call::Size) {
            Some(code) => code,
            None => methods(file).xFileSize.unwrap()(real(file), out),
        }
    }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe {
        if let Some(code) = fault(file, Call::Lock) {
            return code;
        }
        let code = methods(file).xLock.unwrap()(real(file), level);
        if let (ffi::SQLITE_OK, Some(opened)) = (code, opened(file)) {
            opened.level.fetch_max(level, Ordering::Relaxed);
        }
        code
    }
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe {
        let held = opened(file).is_some_and(|opened| opened.level.load(Ordering::Relaxed) > level);
        if let Some(code) = held.then(|| fault(file, Call::Unlock)).flatten() {
            return code;
        }
        let code = methods(file).xUnlock.unwrap()(real(file), level);
        if let (ffi::SQLITE_OK, Some(opened)) = (code, opened(file)) {
            opened.level.fetch_min(level, Ordering::Relaxed);
        }
        code
    }
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe {
        match fault(file, Call::Reserved) {
            Some(code) => code,
            None => methods(file).xCheckReservedLock.unwrap()(real(file), out),
        }
    }
}

unsafe extern "C" fn file_control(file: *mut sqlite3_file, operation: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe { methods(file).xFileControl.unwrap()(real(file), operation, argument) }
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    // SAFETY: the argument is that of SQLite's call.
    unsafe { methods(file).xSectorSize.unwrap()(real(file)) }
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: the argument is that of SQLite's call.
    unsafe { methods(file).xDeviceCharacteristics.unwrap()(real(file)) }
}

unsafe extern "C" fn map_index(
    file: *mut sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe {
        match fault(file, Call::MapIndex) {
            Some(code) => {
                *out = ptr::null_mut();
                code
            }
            None => methods(file).xShmMap.unwrap()(real(file), region, size, extend, out),
        }
    }
}

unsafe extern "C" fn lock_index(file: *mut sqlite3_file, offset: c_int, count: c_int, flags: c_int) -> c_int {
    let unlocks = flags & ffi::SQLITE_SHM_UNLOCK != 0;
    let mask = (1 << (offset + count)) - (1 << offset);
    // SAFETY: the arguments are those of SQLite's call.
    unsafe {
        let held = opened(file).is_some_and(|opened| opened.held.load(Ordering::Relaxed) & mask != 0);
        let counted = match (unlocks, held) {
            // An unlock of a lock that is not held does nothing.
            (true, false) => None,
            (true, true) => fault(file, Call::UnlockIndex),
            (false, _) => fault(file, Call::LockIndex),
        };
        if let Some(code) = counted {
            return code;
        }
        let code = methods(file).xShmLock.unwrap()(real(file), offset, count, flags);
        if let (ffi::SQLITE_OK, Some(opened)) = (code, opened(file)) {
            if unlocks {
                opened.held.fetch_and(!mask, Ordering::Relaxed);
            } else {
                opened.held.fetch_or(mask, Ordering::Relaxed);
            }
        }
        code
    }
}

unsafe extern "C" fn index_barrier(file: *mut sqlite3_file) {
    // SAFETY: the argument is that of SQLite's call.
    unsafe { methods(file).xShmBarrier.unwrap()(real(file)) }
}

unsafe extern "C" fn unmap_index(file: *mut sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: the arguments are those of SQLite's call.
    unsafe { methods(file).xShmUnmap.unwrap()(real(file), delete) }
}
