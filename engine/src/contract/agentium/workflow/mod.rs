//! Decides what a workflow does next. Each run is a state machine without I/O: the host reports events, and the machine
//! answers with commands.
//!
//! The host has the states, the user's functions, the store, the clock and the random numbers. The state machine makes
//! all decisions. So a workflow behaves in the same way on every store, and a test can simulate a crash between any two
//! commands.

pub(super) mod call;
pub mod definition;
mod fit;
pub mod protocol;
pub mod run;
