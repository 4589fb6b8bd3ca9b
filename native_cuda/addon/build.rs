//! Link arguments of the addon, and the set-up of its Node-API symbols.

fn main() {
    napi_build::setup();
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // Threads outlive an environment that loaded the addon (a worker of Node's): their code must not be unloaded under them.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // The only functions that would ask for a glibc of 2022 (`libc.rs`).
        println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap=hypot,--wrap=hypotf");
    }
}
