//! Build script of the module: arguments for the linker, of which libraries and other targets have none.
use std::env::var;

/// Shared memory comes from outside, and is at most all that 32 bits address. The exported symbols tell wasm-bindgen where the data of a thread
/// lies, of which it makes the start of a thread.
const SHARED: [&str; 8] = [
    "--shared-memory",
    "--import-memory",
    "--max-memory=4294967296",
    "--export=__wasm_init_tls",
    "--export=__tls_size",
    "--export=__tls_align",
    "--export=__tls_base",
    "--export=__heap_base",
];

fn main() {
    println!("cargo::rerun-if-changed=link.rs");
    if var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("wasm32") {
        return;
    }
    let features = var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    // Relocations are for xtask/split, which does not split the module with threads.
    let own: &[&str] = if features.split(',').any(|feature| feature == "atomics") { &SHARED } else { &["--emit-relocs"] };
    // Programs that are compiled at run time get places in the table of functions.
    for argument in ["--growable-table"].iter().chain(own) {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
