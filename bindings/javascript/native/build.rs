//! Tells the linker that Node has the functions of Node-API.

fn main() {
    napi_build::setup();
}
