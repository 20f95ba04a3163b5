//! The types of the calls for TypeScript. A release build does not have this module.

use napi_derive::napi;

/// Returns the TypeScript types of the fields of all calls.
#[napi]
pub fn call_types() -> String {
    forkpoint_engine::contract::call_types()
}
