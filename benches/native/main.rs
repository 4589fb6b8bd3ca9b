//! `cargo bench --bench native`: the block interpreter, natively, against figures measured elsewhere.
//!
//! TinyAD's and Ceres' figures are those of the same computation, compiled for it, on one machine of this class; ratios are theirs
//! over ours. With the argument `primitives`, the cost of each operation is printed too.

mod arap;
mod dirichlet;
mod harness;
mod mesh;
mod primitives;

use harness::{on_threads, seconds};
use leastwise::device::Precision;

/// Nanoseconds a triangle, value and gradient.
const TINYAD: f64 = 319.0;

/// Milliseconds for all blocks on two threads, residual and Jacobian.
const CERES: f64 = 48.0;

fn main() {
    let energy = dirichlet::inputs();
    println!("symmetric Dirichlet energy, {} triangles, f64, one thread", energy.count);
    for program in dirichlet::programs() {
        let nanoseconds = on_threads(1, || seconds(&program, &energy, Precision::F64)) * 1e9 / f64::from(energy.count);
        println!("  {:20} {nanoseconds:7.1} ns a triangle", program.name);
        if program.stores.len() > 1 {
            println!("  {:20} {TINYAD:7.1} ns: {:.1} times as long", "TinyAD", TINYAD / nanoseconds);
        }
    }
    let (program, columns) = arap::linearize();
    let blocks = arap::inputs(columns);
    println!("\nARAP, {} blocks, residual and {} entries of J, f64", blocks.count, columns - 3);
    for threads in [1, 2] {
        let milliseconds = on_threads(threads, || seconds(&program, &blocks, Precision::F64)) * 1e3;
        println!("  {:20} {milliseconds:7.2} ms", format!("{threads} threads"));
        if threads == 2 {
            println!("  {:20} {CERES:7.2} ms: {:.1} times as long", "Ceres, 2 threads", CERES / milliseconds);
        }
    }
    if std::env::args().any(|argument| argument == "primitives") {
        on_threads(1, primitives::print);
    }
}
