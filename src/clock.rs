//! The native object that notices when the machine's clock is set.

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

    /// Returns null if the machine's clock is reliable. Returns the code and the message of a warning when the clock
    /// was set. Returns an empty array while the clock is unreliable after that warning.
    #[napi]
    pub fn compare(&mut self) -> Option<Vec<String>> {
        match self.0.compare() {
            Verdict::Steady => None,
            Verdict::Set(by) => Some(vec![WARNING.to_owned(), warning(by)]),
            Verdict::Doubtful => Some(Vec::new()),
        }
    }
}
