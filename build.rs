//! Gives cargo the linker flags that the Node.js addon needs.

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
}
