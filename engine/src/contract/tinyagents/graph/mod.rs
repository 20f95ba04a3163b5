//! Decides what a graph does next. Each run is a state machine without I/O: the host reports events, and the machine
//! answers with commands.
//!
//! The host has the states, the user's functions, the checkpointer and the clock. The state machine makes all decisions:
//! which tasks run, what is stored and when, and how a run continues after a crash. So a graph behaves in the same way
//! with every checkpointer, and a test can simulate a crash between any two commands.

pub(super) mod call;
pub mod definition;
mod frontier;
pub mod protocol;
pub mod run;
mod tasks;
mod writer;
