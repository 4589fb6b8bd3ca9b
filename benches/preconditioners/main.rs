//! `cargo bench --bench preconditioners -- MESH STEPS ETA [PRECONDITIONER …]`: as-rigid-as-possible deformation by Levenberg–Marquardt with
//! conjugate gradients, in f64 on the CPU (`RAYON_NUM_THREADS` says on how many threads), or with `LEASTWISE_DEVICE=cuda` or `cuda/f32` (feature
//! `cuda`) on an NVIDIA GPU: iterations and milliseconds of every step, for each preconditioner. `MESH` is `sphere:F` (an icosahedron
//! whose edges are cut in F: 10 F² + 2 vertices) or a gzipped OFF file; `ETA` is what a step may leave of its linear system, or `auto`. It ends after so many steps, or
//! when one lowers the cost by less than a thousandth.

#[path = "../schedules/armadillo.rs"]
#[allow(dead_code)]
mod armadillo;
#[path = "../../tests/support/mod.rs"]
mod support;

use leastwise::device::Precision;
use leastwise::session::{Session, SolveMode};
use leastwise::solve::Options;
use std::collections::HashMap;
use std::time::Instant;
use support::{Mesh, arap, cpu, finish};

/// The relative decrease of the cost at which a solve is at its end.
const DECREASE: f64 = 1e-3;

fn open() -> Session {
    match std::env::var("LEASTWISE_DEVICE").as_deref() {
        #[cfg(feature = "cuda")]
        Ok(name @ ("cuda" | "cuda/f32")) => {
            let precision = if name == "cuda" { Precision::F64 } else { Precision::F32 };
            let device = leastwise::device::cuda::CudaDevice::open(0, precision).expect("an NVIDIA GPU");
            Session::new(leastwise::device::Device::Cuda(Box::new(device)))
        }
        Ok("webgpu") => support::gpu(None),
        Ok(other) => panic!("LEASTWISE_DEVICE is cuda or cuda/f32 (with the feature of that name), or webgpu, not {other}"),
        Err(_) => cpu(Precision::F64),
    }
}

fn mesh(name: &str) -> Mesh {
    match name.strip_prefix("sphere:") {
        Some(parts) => sphere(parts.parse().expect("a number of parts")).normalized(),
        None => armadillo::read_off(name).normalized(),
    }
}

/// An icosahedron whose edges are cut in so many parts, and its faces in their square, blown up to the unit sphere.
fn sphere(parts: u32) -> Mesh {
    let coarse = Mesh::icosphere(0);
    let corner = |number: u32, axis: usize| coarse.positions[3 * number as usize + axis];
    let (mut known, mut positions, mut triangles) = (HashMap::new(), Vec::new(), Vec::new());
    for face in coarse.triangles.chunks(3) {
        // By its parts of the corners that it is not opposite to, so that faces share what lies on their edges.
        let mut vertex = |i: u32, j: u32| {
            let mut weights = [(face[0], parts - i - j), (face[1], i), (face[2], j)];
            weights.sort_by_key(|weight| (weight.1 == 0, weight.0));
            let key = weights.map(|(corner, weight)| if weight == 0 { (0, 0) } else { (corner, weight) });
            *known.entry(key).or_insert_with(|| {
                let point =
                    [0, 1, 2].map(|axis| weights.iter().map(|&(number, weight)| f64::from(weight) * corner(number, axis)).sum::<f64>());
                let length = point.iter().map(|x| x * x).sum::<f64>().sqrt();
                positions.extend(point.map(|x| x / length));
                positions.len() as u32 / 3 - 1
            })
        };
        for (i, j) in (0..parts).flat_map(|i| (0..parts - i).map(move |j| (i, j))) {
            triangles.extend([vertex(i, j), vertex(i + 1, j), vertex(i, j + 1)]);
            if i + j + 1 < parts {
                triangles.extend([vertex(i + 1, j), vertex(i + 1, j + 1), vertex(i, j + 1)]);
            }
        }
    }
    Mesh { positions, triangles }
}

fn run(mesh: &Mesh, steps: u32, eta: &str, preconditioner: &str) {
    let mut session = open();
    let (problem, _) = arap(&mut session, mesh);
    let options = Options {
        linear: Some("pcg".into()),
        preconditioner: Some(preconditioner.into()),
        forcing: eta.parse().ok(),
        max_inner_iterations: Some(5000.0),
        ..Options::default()
    };
    let begun = Instant::now();
    let solver = session.solver(problem, &options).expect("a solver");
    println!("{preconditioner}: set up in {:.2} s", begun.elapsed().as_secs_f64());
    println!(" step           cost   gain  damping  iterations       ms  ms an iteration");
    let (mut inner, mut first, mut best) = (0, None, f64::INFINITY);
    let begun = Instant::now();
    for number in 1..=steps {
        let task = session.solve(solver, SolveMode::Step).expect("a step");
        let (started, mut last) = (Instant::now(), None);
        finish(&mut session, task, |iteration| last = Some(iteration));
        let (ms, step) = (1e3 * started.elapsed().as_secs_f64(), last.expect("an iteration"));
        inner += step.inner_iterations;
        let first = *first.get_or_insert(step.cost - if step.accepted { step.cost_change } else { 0.0 });
        println!(
            "{number:5}{} {:13.6e} {:6.3} {:8.1e} {:11} {ms:8.2} {:9.4}",
            if step.accepted { ' ' } else { '*' },
            step.cost,
            step.gain_ratio,
            step.damping,
            step.inner_iterations,
            ms / f64::from(step.inner_iterations.max(1))
        );
        if step.cost <= DECREASE * first && best > DECREASE * first {
            println!("      {DECREASE:e} of the first cost after {:.2} s", begun.elapsed().as_secs_f64());
        }
        best = step.cost;
        if step.accepted && -step.cost_change < DECREASE * step.cost {
            println!("      a relative decrease below {DECREASE:e} after {:.2} s", begun.elapsed().as_secs_f64());
            break;
        }
    }
    println!("{preconditioner}: {inner} iterations in {:.4} s\n", begun.elapsed().as_secs_f64());
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let given: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [name, steps, eta, preconditioners @ ..] = &given[..] else {
        // `cargo test --benches` and `cargo bench` without arguments.
        return println!("sphere:F|MESH.off.gz STEPS ETA|auto [PRECONDITIONER …]");
    };
    let mesh = mesh(name);
    println!("{name}: {} vertices, η = {eta}, {} threads", mesh.positions.len() / 3, leastwise::device::cpu::block::threads());
    let both = ["block-jacobi", "two-level"];
    for preconditioner in if preconditioners.is_empty() { &both[..] } else { preconditioners } {
        run(&mesh, steps.parse().expect("steps"), eta, preconditioner);
    }
}
