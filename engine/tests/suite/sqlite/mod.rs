//! What only the `SQLite` backend can get wrong, a hazard a module.

mod backup;
mod busy;
mod corrupt;
mod creation;
mod delta;
mod durability;
mod file;
mod flips;
mod foreign;
mod formats;
mod kill_chains;
mod largest;
mod locks;
mod lost;
mod open_errors;
mod payload_limit;
mod pre_encoding;
mod processes;
mod raw;
mod read_errors;
mod secure_delete;
mod sequence;
mod threads;
mod units;
mod wal;
