//! `cargo bench --bench schedules -- armadillo|product [cpu|webgpu] [f64|f32]`: whole solves, and products JᵀWJ·p in their
//! schedules, natively.
//!
//! The binary (`target/release/deps/schedules-…`) needs nothing else, so it can be carried to a machine with a GPU.

mod armadillo;
#[path = "../../tests/support/mod.rs"]
mod support;

use leastwise::device::Precision;
use leastwise::session::Session;

/// A session on what the arguments name.
fn session(arguments: &[String]) -> Session {
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    match has("webgpu") {
        true => support::gpu(None),
        false => support::cpu(if has("f32") { Precision::F32 } else { Precision::F64 }),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("armadillo") => armadillo::run(session(&arguments)),
        _ => println!("armadillo [cpu|webgpu] [f64|f32]"),
    }
}
