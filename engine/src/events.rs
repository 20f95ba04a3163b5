//! Events report what happens in the background, where no call can report it.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::json;

use crate::error::Error;

/// Something that happened in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Warning(Warning),
    Swept(Swept),
    /// The listener with this number has heard something: see [`Store::listen`](crate::store::Store::listen).
    Heard(u32, Heard),
}

/// The message of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// True if the listener hears every change from now on. False: it hears nothing until it says otherwise.
    Works(bool),
    /// A lease has ended, or the requests about it have changed. The text is the lease's lineage. `None`: any lease.
    Changed(Option<String>),
}

/// A problem in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The public name: `StoreWarning.code` in JavaScript.
    pub code: &'static str,
    /// The problem and the remedy, and the underlying error if there is one.
    pub error: Error,
}

/// The result of a sweep that removed checkpoints, from its first batch until nothing was left to remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    pub checkpoints: u64,
    /// The number of stored bytes that were freed: see [`Pruned::bytes`](crate::retention::Pruned::bytes).
    pub bytes: i64,
    /// The number of lineages that now have no checkpoints.
    pub lineages: u64,
    /// The working time.
    pub worked: Duration,
    /// The total time, including pauses.
    pub took: Duration,
}

impl Swept {
    /// Serializes the sweep of the store at `target`, as the type `Sweep` of `ts/bridge/sweeps.ts`.
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
    /// Calls `listener` with each later event, on the thread that causes it. Only the first listener is used.
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
