//! Residuals with full curvature: their steps take the exact Hessian of ½ w ρ(‖r‖²), projected an instance.

use super::{LINEAR, sessions};
use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, RaggedSlot, RaggedSpec, Reals, Schedule, Slot, SummedSpec, TermSpec, Trace, Tuning, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;
use leastwise::solve::{Options, Report};

const COUNT: u32 = 90;

fn plain(name: &str, table: u32, indices: Vec<Vec<u32>>) -> TermSpec<'static> {
    TermSpec {
        name: name.into(),
        count: indices.first().map_or(0, Vec::len) as u32,
        slots: (0..indices.len() as u32).map(|column| Slot { table, column }).collect(),
        indices,
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Objective::FullCurvature,
        tape: &[],
        outputs: &[],
    }
}

/// Springs of lengths of their own between points, owned by their first ends, and rows of points that are as far from the origin
/// together as they should be; the points are drawn to where they began.
struct Springs {
    values: Vec<f64>,
    ends: [Vec<u32>; 2],
    lengths: Vec<f64>,
    weights: Vec<f64>,
    rows: Vec<Vec<u32>>,
}

impl Springs {
    fn new(random: &mut Random) -> Self {
        let mut ends: [Vec<u32>; 2] = Default::default();
        for first in 0..COUNT {
            for _ in 0..1 + random.below(3) {
                ends[0].push(first);
                ends[1].push((first + 1 + random.below(u64::from(COUNT) - 1) as u32) % COUNT);
            }
        }
        let many = ends[0].len();
        let mut point = || random.below(u64::from(COUNT)) as u32;
        let rows = (0..30).map(|k| (0..1 + k % 3).map(|_| point()).collect()).collect();
        Self {
            values: (0..3 * COUNT).map(|_| random.between(-1.0, 1.0)).collect(),
            lengths: (0..many).map(|_| random.between(0.3, 1.5)).collect(),
            weights: (0..many).map(|_| random.between(0.1, 2.0)).collect(),
            ends,
            rows,
        }
    }

    fn make(&self, session: &mut Session, objective: Objective) -> u32 {
        let problem = session.problem();
        let x = session.table(problem, "x", 3, Reals::F64(&self.values), true).unwrap();
        let outcome = |tape: &mut Tape, r: u32| {
            if objective != Objective::Energy {
                return r;
            }
            let (half, squared) = (tape.literal(0.5), tape.op(Square, &[r]));
            tape.op(Mul, &[half, squared])
        };
        let mut tape = Tape::default();
        let [a, b, rest] = [0, 1, 2].map(|source| tape.input(source));
        let edge = tape.op(Sub, &[a, b]);
        let length = tape.op(Norm, &[edge]);
        let stretch = tape.op(Sub, &[length, rest]);
        let outputs = [outcome(&mut tape, stretch)];
        let springs = TermSpec {
            columns: vec![Column { name: "rest".into(), width: 1, shared: false, values: Reals::F64(&self.lengths) }],
            weight: Weight::Each(Reals::F64(&self.weights)),
            objective,
            tape: &tape.words,
            outputs: &outputs,
            ..plain("springs", x, self.ends.to_vec())
        };
        session.term(problem, springs).unwrap();
        let traces: Vec<(u32, Tape, [u32; 1])> = (1..=3)
            .map(|length| {
                let mut tape = Tape::default();
                let entries: Vec<u32> = (0..length).map(|source| tape.input(source)).collect();
                let middle = tape.op(Mean, &entries);
                let (far, one) = (tape.op(Norm, &[middle]), tape.literal(1.0));
                let off = tape.op(Sub, &[far, one]);
                let outputs = [outcome(&mut tape, off)];
                (length, tape, outputs)
            })
            .collect();
        let ends = self.rows.iter().scan(0, |end, row| {
            *end += row.len() as u32;
            Some(*end)
        });
        let rows = RaggedSpec {
            plain: TermSpec { count: self.rows.len() as u32, objective, ..plain("rows", x, Vec::new()) },
            offsets: std::iter::once(0).chain(ends).collect(),
            slots: vec![RaggedSlot { table: x, indices: self.rows.concat() }],
            columns: Vec::new(),
            traces: traces.iter().map(|(length, tape, outputs)| Trace { length: *length, tape: &tape.words, outputs }).collect(),
        };
        session.ragged_term(problem, rows).unwrap();
        drawn(session, problem, (x, 3), &self.values, 0.3);
        session.fix_table(problem, x, Some(&[3, 40]), None).unwrap();
        problem
    }
}

/// Draws instances of a table to places, with a weight.
fn drawn(session: &mut Session, problem: u32, (table, width): (u32, u32), places: &[f64], weight: f64) {
    let mut tape = Tape::default();
    let [x, place] = [0, 1].map(|source| tape.input(source));
    let outputs = [tape.op(Sub, &[x, place])];
    let spec = TermSpec {
        columns: vec![Column { name: "place".into(), width, shared: false, values: Reals::F64(places) }],
        weight: Weight::Shared(weight),
        objective: Objective::LeastSquares,
        tape: &tape.words,
        outputs: &outputs,
        ..plain("drawn", table, vec![(0..places.len() as u32 / width).collect()])
    };
    session.term(problem, spec).unwrap();
}

fn costs(report: &Report) -> Vec<f64> {
    report.iterations.iter().map(|iteration| iteration.cost).collect()
}

/// Both reports are of the same steps, as exactly as the linear solver has them.
fn assert_same(what: &str, exactness: f64, full: &Report, energy: &Report) {
    let what = format!("{what}: {:?} and {:?}", costs(full), costs(energy));
    assert!((full.initial_cost - energy.initial_cost).abs() <= exactness * energy.initial_cost, "{what}");
    assert_eq!(full.iterations.len(), energy.iterations.len(), "{what}");
    for (a, b) in costs(full).into_iter().zip(costs(energy)) {
        assert!((a - b).abs() <= 30.0 * exactness.max(1e-6) * energy.initial_cost, "{what}");
    }
    assert!(full.cost < 0.5 * full.initial_cost, "{what}");
}

#[test]
fn steps_are_those_of_the_energy_written_out() {
    let seed = fresh_seed();
    let springs = Springs::new(&mut Random::new(seed));
    for (name, exactness, mut session) in sessions() {
        let options =
            |linear: &str| Options { linear: Some(linear.into()), forcing: Some(1e-6), max_iterations: Some(4.0), ..Options::default() };
        let mut run = |options: &Options| {
            [Objective::FullCurvature, Objective::Energy, Objective::LeastSquares].map(|objective| {
                let problem = springs.make(&mut session, objective);
                let report = solve(&mut session, problem, options);
                session.free_problem(problem);
                report
            })
        };
        for linear in LINEAR {
            let [full, energy, half] = run(&options(linear));
            let what = format!("LEASTWISE_TEST_SEED={seed}, {name}, {linear}");
            assert_same(&what, exactness, &full, &energy);
            // JᵀJ leads elsewhere: the test tells one from the other.
            assert!((full.cost - half.cost).abs() > 1e-3 * full.initial_cost, "{what}: {} and {}", full.cost, half.cost);
        }
        for method in ["newton", "gauss-newton", "dogleg"] {
            let [full, energy, _] = run(&Options { method: Some(method.into()), ..options("pcg") });
            assert_same(&format!("LEASTWISE_TEST_SEED={seed}, {name}, {method}"), exactness, &full, &energy);
        }
    }
}

#[test]
fn all_schedules_make_the_same_steps() {
    let seed = fresh_seed();
    let springs = Springs::new(&mut Random::new(seed));
    for (name, exactness, mut session) in sessions() {
        let found: Vec<(String, f64)> = Schedule::ALL
            .into_iter()
            .map(|schedule| {
                session.set_tuning(Tuning { products: [(Tuning::ANY.to_string(), schedule)].into(), ..Tuning::default() }).unwrap();
                let problem = springs.make(&mut session, Objective::FullCurvature);
                let options = Options { linear: Some("pcg".into()), forcing: Some(1e-6), max_iterations: Some(4.0), ..Options::default() };
                let report = solve(&mut session, problem, &options);
                session.free_problem(problem);
                let of_springs = report.products.iter().find(|product| product.term == "springs").expect("a product of the springs");
                (of_springs.schedule.name().to_string(), report.cost / report.initial_cost)
            })
            .collect();
        session.set_tuning(Tuning::default()).unwrap();
        let what = format!("LEASTWISE_TEST_SEED={seed}, {name}: {found:?}");
        assert!(found.iter().any(|(schedule, _)| schedule == "owner-computes"), "{what}");
        assert!(found.iter().all(|(_, cost)| (cost - found[0].1).abs() < 30.0 * exactness.max(1e-6)), "{what}");
    }
}

#[test]
fn every_method_ends_in_the_minimum_that_residuals_have() {
    let mut session = cpu(Precision::F64);
    let springs = Springs::new(&mut Random::new(7));
    // By the gradient alone: steps by JᵀJ do not come this far.
    let options = |method: &str| Options {
        method: Some(method.into()),
        cost_tolerance: Some(1e-14),
        max_iterations: Some(5000.0),
        ..Options::default()
    };
    let problem = springs.make(&mut session, Objective::LeastSquares);
    solve(&mut session, problem, &options("lbfgs"));
    // From near there, since there are many minima; and it may be a saddle.
    let values = read(&mut session, problem, 0);
    let near: Vec<f64> = values.iter().enumerate().map(|(k, x)| x + 1e-3 * (7.7 * k as f64).sin()).collect();
    session.write_table(problem, 0, Reals::F64(&near), None).unwrap();
    let least = solve(&mut session, problem, &options("lbfgs"));
    for method in ["lm", "gauss-newton", "newton", "dogleg", "lbfgs", "nonlinear-cg"] {
        let problem = springs.make(&mut session, Objective::FullCurvature);
        session.write_table(problem, 0, Reals::F64(&near), None).unwrap();
        let report = solve(&mut session, problem, &options(method));
        assert!((report.cost - least.cost).abs() < 1e-6 * least.cost, "{method}: {} and {}", report.cost, least.cost);
    }
}

const INSTANCES: usize = 24;

/// One instance of the residual of the next test, and its ½ ρ(‖r‖²) for Cauchy's loss.
struct Instance {
    x: [f64; 6],
    length: f64,
    weight: f64,
}

const SCALE: f64 = 0.8;

impl Instance {
    fn cost(&self, x: &[f64; 6]) -> f64 {
        let [a, b] = [&x[..3], &x[3..]];
        let length = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
        let dot = (0..3).map(|k| a[k] * b[k]).sum::<f64>();
        let squares = (length - self.length).powi(2) + (dot - 0.5).powi(2);
        0.5 * SCALE * SCALE * (squares / (SCALE * SCALE)).ln_1p()
    }

    fn moved(&self, by: &[(usize, f64)]) -> f64 {
        let mut x = self.x;
        by.iter().for_each(|&(k, step)| x[k] += step);
        self.cost(&x)
    }

    /// The gradient and the Hessian, by differences.
    fn differences(&self) -> ([f64; 6], [[f64; 6]; 6]) {
        let (narrow, wide) = (1e-5, 5e-4);
        let gradient = std::array::from_fn(|i| (self.moved(&[(i, narrow)]) - self.moved(&[(i, -narrow)])) / (2.0 * narrow));
        let second = |i: usize, j: usize, h: f64| {
            let at = |p: f64, q: f64| self.moved(&[(i, p * h), (j, q * h)]);
            (at(1.0, 1.0) - at(1.0, -1.0) - at(-1.0, 1.0) + at(-1.0, -1.0)) / (4.0 * h * h)
        };
        let extrapolated = |i: usize, j: usize| (4.0 * second(i, j, wide) - second(i, j, 2.0 * wide)) / 3.0;
        (gradient, std::array::from_fn(|i| std::array::from_fn(|j| extrapolated(i, j))))
    }
}

/// Eigenvalues, and eigenvectors as columns, by Jacobi's rotations.
fn eigen(mut a: [[f64; 6]; 6]) -> ([f64; 6], [[f64; 6]; 6]) {
    let mut v: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(i == j)));
    for _ in 0..30 {
        for (p, q) in (0..6).flat_map(|p| (p + 1..6).map(move |q| (p, q))) {
            if a[p][q] == 0.0 {
                continue;
            }
            let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
            let (s, c) = angle.sin_cos();
            let turn = |x: f64, y: f64| (c * x - s * y, s * x + c * y);
            for row in a.iter_mut().chain(&mut v) {
                (row[p], row[q]) = turn(row[p], row[q]);
            }
            let turned = a[p].iter().zip(&a[q]).map(|(&x, &y)| turn(x, y)).collect::<Vec<_>>();
            for (k, (x, y)) in turned.into_iter().enumerate() {
                a[p][k] = x;
                a[q][k] = y;
            }
        }
    }
    (std::array::from_fn(|i| a[i][i]), v)
}

#[test]
fn a_step_takes_the_projected_hessian_that_differences_of_the_cost_give() {
    let seed = fresh_seed();
    let mut random = Random::new(seed);
    let instances: [Instance; INSTANCES] = std::array::from_fn(|_| Instance {
        x: std::array::from_fn(|_| random.between(-1.0, 1.0)),
        length: random.between(1.0, 3.0),
        weight: random.between(0.5, 2.0),
    });
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let part = |from: usize| instances.iter().flat_map(|instance| instance.x[from..from + 3].to_vec()).collect::<Vec<f64>>();
    let (of_a, of_b) = (part(0), part(3));
    let [a, b] = [&of_a, &of_b].map(|values| session.table(problem, "x", 3, Reals::F64(values), true).unwrap());
    let mut tape = Tape::default();
    let [p, q, rest, half] = [tape.input(0), tape.input(1), tape.input(2), tape.literal(0.5)];
    let edge = tape.op(Sub, &[p, q]);
    let (length, dot) = (tape.op(Norm, &[edge]), tape.op(Dot, &[p, q]));
    let outputs = [tape.op(Sub, &[length, rest]), tape.op(Sub, &[dot, half])];
    let lengths: Vec<f64> = instances.iter().map(|instance| instance.length).collect();
    let weights: Vec<f64> = instances.iter().map(|instance| instance.weight).collect();
    let spec = TermSpec {
        slots: vec![Slot { table: a, column: 0 }, Slot { table: b, column: 0 }],
        columns: vec![Column { name: "rest".into(), width: 1, shared: false, values: Reals::F64(&lengths) }],
        weight: Weight::Each(Reals::F64(&weights)),
        loss: Some(Loss::cauchy(SCALE).unwrap()),
        tape: &tape.words,
        outputs: &outputs,
        ..plain("pairs", a, vec![(0..INSTANCES as u32).collect()])
    };
    session.term(problem, spec).unwrap();
    let hold = 6.0;
    drawn(&mut session, problem, (a, 3), &of_a, hold);
    drawn(&mut session, problem, (b, 3), &of_b, hold);
    let options = Options { method: Some("gauss-newton".into()), max_iterations: Some(1.0), ..Options::default() };
    let report = solve(&mut session, problem, &options);
    assert!(report.iterations[0].accepted, "LEASTWISE_TEST_SEED={seed}");
    let [of_a, of_b] = [a, b].map(|table| read(&mut session, problem, table));
    let mut bent = 0;
    for (number, instance) in instances.iter().enumerate() {
        let (gradient, hessian) = instance.differences();
        let (values, vectors) = eigen(hessian);
        bent += usize::from(values.iter().any(|value| *value < -0.1));
        for k in 0..6 {
            let back = (0..6).map(|e| {
                let along: f64 = (0..6).map(|i| vectors[i][e] * gradient[i]).sum();
                vectors[k][e] * instance.weight * along / (instance.weight * values[e].max(0.0) + hold)
            });
            let expected = instance.x[k] - back.sum::<f64>();
            let found = if k < 3 { of_a[3 * number + k] } else { of_b[3 * number + k - 3] };
            assert!((found - expected).abs() < 1e-6, "LEASTWISE_TEST_SEED={seed}: {number}, {k}: {found} and {expected}");
        }
    }
    assert!(bent > INSTANCES / 4, "LEASTWISE_TEST_SEED={seed}: only {bent} are not semidefinite");
}

#[test]
fn what_cannot_have_full_curvature_is_refused() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0]), true).unwrap();
    let mut tape = Tape::default();
    let entry = tape.input(0);
    let outputs = [tape.op(SumOver, &[entry])];
    let summed = SummedSpec {
        plain: TermSpec { count: 1, tape: &tape.words, outputs: &outputs, ..plain("sums", x, Vec::new()) },
        offsets: vec![0, 2],
        slots: vec![RaggedSlot { table: x, indices: vec![0, 1] }],
        columns: Vec::new(),
    };
    let Err(Error::Shape { message, .. }) = session.summed_term(problem, summed) else { panic!("a sum was taken") };
    assert!(message.contains("curvature \"full\""), "{message}");
    let mut tape = Tape::default();
    let (own, one) = (tape.input(0), tape.literal(1.0));
    let outputs = [tape.op(Sub, &[own, one])];
    let spec = TermSpec { tape: &tape.words, outputs: &outputs, ..plain("bent", x, vec![vec![0, 1]]) };
    session.term(problem, spec).unwrap();
    let task = session.covariance(problem, Default::default());
    let refused = task.and_then(|task| {
        loop {
            if let leastwise::session::Progress::Covariance(_) = session.resume(task, f64::INFINITY)? {
                return Ok(());
            }
        }
    });
    let Err(error) = refused else { panic!("a covariance of it was computed") };
    assert!(error.to_string().contains("\"bent\" has curvature \"full\""), "{error}");
}
