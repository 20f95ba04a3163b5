//! The stores of servers of the Model Context Protocol. Their rows are read and changed with the calls of `rows.rs`.
//!
//! - In [`EVENTS`], a run is a session, and a namespace is a stream. A row is a block of consecutive events. Its number
//!   is the position of its first event. The part has the time and the message of each event. The last block grows.
//! - In [`TASKS`], a run is a session, or the empty text. A row is a task, and its label is the status.
//! - In [`QUEUES`], a run is a task. A row is a message.
//!
//! The ids make the rows records: see [`ContractId::has_records`].

use super::entry::{Contract, Names};
use super::{rows, thread};
use crate::record::ContractId;

const EVENTS_ID: ContractId = ContractId(87);
pub const EVENTS: Contract =
    Contract { noun: "session", ..rows::contract("mcp", EVENTS_ID, |call| rows::request(EVENTS_ID, call)) };

const TASKS_ID: ContractId = ContractId(88);
pub const TASKS: Contract = Contract {
    noun: "session",
    name_of: |lineage, id| Names { ns: None, ..thread::name_of(lineage, id) },
    ..rows::contract("mcp-tasks", TASKS_ID, |call| rows::request(TASKS_ID, call))
};

const QUEUES_ID: ContractId = ContractId(89);
pub const QUEUES: Contract = Contract {
    name_of: TASKS.name_of,
    ..rows::contract("mcp-queues", QUEUES_ID, |call| rows::request(QUEUES_ID, call))
};
