//! `cargo bench --bench solves -- arap MESH.off.gz COST LINEAR`, or `bundle PROBLEM.txt.gz COST LINEAR`: whole solves natively, in
//! f64 on the CPU, one line of JSON each, like those of the programs in `benches/ceres/`. `npm run bench -- ceres` runs both
//! and prints ratios. `RAYON_NUM_THREADS` says on how many threads.

#[path = "../schedules/armadillo.rs"]
#[allow(dead_code)]
mod armadillo;
mod bundle;
#[path = "../../tests/support/mod.rs"]
mod support;

use armadillo::computed;
use leastwise::device::Precision;
use leastwise::session::{Session, SolveMode};
use leastwise::solve::Options;
use std::time::Instant;
use support::{arap, cpu, finish};

const MOST_STEPS: u32 = 200;

/// Steps until the cost is at most `level`. The time is that of the steps: making the problem is not in it, as in Ceres'.
fn solve_to(level: f64, name: &str, linear: &str, session: &mut Session, problem: u32) {
    let options = Options { linear: Some(linear.into()), ..Options::default() };
    let (begun, before) = (Instant::now(), computed());
    let solver = session.solver(problem, &options).expect("a solver");
    let (mut inner, mut steps, mut cost) = (0, 0, f64::INFINITY);
    while steps < MOST_STEPS && cost > level {
        let task = session.solve(solver, SolveMode::Step).expect("a step");
        finish(session, task, |step| {
            inner += step.inner_iterations;
            cost = step.cost;
        });
        steps += 1;
    }
    println!(
        r#"{{"problem":"{name}","solver":"leastwise, {linear}","reached":{},"cost":{cost:.9e},"seconds":{:.3},"cpuSeconds":{:.3},"steps":{steps},"inner":{inner}}}"#,
        cost <= level,
        begun.elapsed().as_secs_f64(),
        computed() - before
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let given: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let level = |text: &str| text.parse::<f64>().expect("a cost");
    match given[..] {
        ["arap", path, to, linear] => {
            let mut session = cpu(Precision::F64);
            let (problem, _) = arap(&mut session, &armadillo::read_off(path).normalized());
            solve_to(level(to), "arap", linear, &mut session, problem);
        }
        ["bundle", path, to, linear] => {
            let mut session = cpu(Precision::F64);
            let problem = bundle::problem(&mut session, &bundle::read(path));
            solve_to(level(to), "bundle", linear, &mut session, problem);
        }
        // `cargo test --benches` and `cargo bench` without arguments.
        _ => println!("arap MESH.off.gz COST LINEAR | bundle PROBLEM.txt.gz COST LINEAR"),
    }
}
