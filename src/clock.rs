//! The native object that notices when the clock of the machine is set.

use napi_derive::napi;

use forkpoint_engine::clock_watch::{ClockWatch, Verdict, WARNING, warning};

#[napi]
pub struct NativeClockWatch(ClockWatch);

#[napi]
impl NativeClockWatch {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self(ClockWatch::start())
    }

    /// Returns null if the clock may tell how old something is. Otherwise returns the code and the message of a warning, or no
    /// texts if it has warned.
    #[napi]
    pub fn compare(&mut self) -> Option<Vec<String>> {
        match self.0.compare() {
            Verdict::Steady => None,
            Verdict::Set(by) => Some(vec![WARNING.to_owned(), warning(by)]),
            Verdict::Doubtful => Some(Vec::new()),
        }
    }
}
