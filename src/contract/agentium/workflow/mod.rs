//! What a workflow does next, as state machines without I/O: a host tells what happened, and is told what to do.
//!
//! The host owns the states, the user's functions, the store, the clock and the random numbers; everything that is decided is
//! decided here. So the same semantics hold over every store, and a test can crash between any two actions.

pub(super) mod call;
pub mod definition;
pub mod protocol;
pub mod run;
