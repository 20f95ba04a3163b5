//! Child processes that run a single test.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Command, Stdio};

const ROLE: &str = "FORKPOINT_TEST_ROLE";

/// The first line of each child.
const BEGUN: &str = "the child has begun";

/// A child process of this test binary that runs a single test. The parent ignores this test, so it does not count as
/// passed there. The test reads its argument with [`role`]. The child sends lines to the parent through standard error,
/// because the test harness writes to standard output. The message of a panic also goes to standard error.
pub(crate) struct Process {
    child: Child,
    lines: BufReader<ChildStderr>,
}

impl Process {
    /// Starts the test of a module (`module_path!()`) as a child, and waits until it has called [`role`].
    pub(crate) fn start(module: &str, test: &str, role: impl AsRef<OsStr>) -> Self {
        // The test harness leaves the name of the crate out.
        let test = &format!("{}::{test}", module.split_once("::").unwrap().1);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        let mut process = Self { child, lines };
        assert_eq!(process.line().as_deref(), Some(BEGUN), "there is no child {test}");
        process
    }

    /// Returns the next whole line, or `None` at the end. If a killed process has written a part of a line, that part
    /// is dropped. If the process has panicked, this function panics with the message of the process.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        if line == "\n" {
            let mut message = String::new();
            self.lines.read_to_string(&mut message).unwrap();
            panic!("the child panicked: {message}");
        }
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// Wakes a child that waits in [`told`].
    pub(crate) fn tell(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// Kills the process (SIGKILL on Unix). The lines that the process wrote before the kill can still be read.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the process ends. If the process failed, this function panics with the last lines of the process.
    pub(crate) fn finish(mut self) {
        let rest: Vec<String> = std::iter::from_fn(|| self.line()).collect();
        assert!(self.child.wait().unwrap().success(), "the child failed: {rest:#?}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The child is killed, so that a failed test leaves no process running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Begins a child process. Returns its argument.
pub(crate) fn role() -> std::ffi::OsString {
    let role = std::env::var_os(ROLE).expect("only `Process::start` runs this test");
    say(BEGUN);
    role
}

/// Sends a line from a child to the parent. The line is sent in one write, so that a kill cannot leave a part of the
/// line that looks whole.
pub(crate) fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// In a child, waits until the parent calls [`Process::tell`].
pub(crate) fn told() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    assert_eq!(line, "go\n");
}
