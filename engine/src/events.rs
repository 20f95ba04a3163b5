//! Events report to the user what happens in the background. No call can report it.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::json;

use crate::error::Error;

/// What no call can report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Warning(Warning),
    Swept(Swept),
}

/// A problem that no call can report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The public name: `StoreWarning.code` in JavaScript.
    pub code: &'static str,
    /// The problem and the remedy, and the underlying error if there is one.
    pub error: Error,
}

/// What retention has removed in the background, from the time when it found something until nothing was left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    pub checkpoints: u64,
    /// The number of stored bytes that were freed: see [`Pruned::bytes`](crate::retention::Pruned::bytes).
    pub bytes: i64,
    /// The number of lineages that now have no checkpoints.
    pub lineages: u64,
    /// The time of the work.
    pub worked: Duration,
    /// The time of the work and of the pauses in between.
    pub took: Duration,
}

impl Swept {
    /// `Sweep` of `ts/bridge/sweeps.ts`, about the store at `target`.
    pub fn to_json(&self, target: &str) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let Self { checkpoints, bytes, lineages, worked, took } = *self;
        json!({
            "target": target,
            "removed": checkpoints,
            "bytes": bytes,
            "lineages": lineages,
            "workMs": ms(worked),
            "tookMs": ms(took),
        })
        .to_string()
    }
}

type Listener = Box<dyn Fn(Event) + Send + Sync>;

/// The receiver of a store's events. If the store has no listener, events are dropped.
#[derive(Default)]
pub(crate) struct Events(OnceLock<Listener>);

impl Events {
    /// Calls `listener` with each later event, on the thread that it happens on. Only the first listener is used.
    pub(crate) fn listen(&self, listener: impl Fn(Event) + Send + Sync + 'static) {
        self.0.get_or_init(|| Box::new(listener));
    }

    pub(crate) fn warn(&self, code: &'static str, error: Error) {
        self.tell(Event::Warning(Warning { code, error }));
    }

    pub(crate) fn tell(&self, event: Event) {
        if let Some(listener) = self.0.get() {
            listener(event);
        }
    }
}
