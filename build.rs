//! Gives cargo the linker flags that the Node.js addon needs.

fn main() {
    napi_build::setup();
}
