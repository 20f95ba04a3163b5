//! Passes Node's linker flags on to cargo when the addon is built.

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
}
