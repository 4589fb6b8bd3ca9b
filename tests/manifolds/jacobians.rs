//! J, its check and Hessians with respect to degrees of freedom, against differences of r(x ⊕ δ) worked out with matrices.

use crate::manifolds::reference::{moved, point, shapes, step};
use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, RaggedSlot, RaggedSpec, Reals, Shape, Slot, SummedSpec, TermSpec, Trace, Weight};
use leastwise::session::{HessianForm, Progress, Session};

const COUNT: u32 = 9;

fn sessions() -> Vec<(&'static str, f64, Shared)> {
    vec![
        ("cpu f64", 1e-8, cpu(Precision::F64).into()),
        ("cpu f32", 1e-4, cpu(Precision::F32).into()),
        ("cpu f64, small limits", 1e-8, cpu_with(Precision::F64, Limits::SMALL).into()),
        ("webgpu", 1e-4, shared_gpu(None)),
    ]
}

fn values(session: &mut Session, task: u32) -> Vec<f64> {
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

/// r = (sin(p·x), x·y, Σ xₖ²·pₖ): with p data and y another instance of the same table; bent in every scalar.
fn traced(tape: &mut Tape, [x, y, p]: [u32; 3]) -> [u32; 3] {
    let along = tape.op(Dot, &[p, x]);
    let wave = tape.op(Sin, &[along]);
    let both = tape.op(Dot, &[x, y]);
    let squares = tape.op(Square, &[x]);
    [wave, both, tape.op(Dot, &[squares, p])]
}

fn residual(x: &[f64], y: &[f64], p: &[f64]) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
    vec![dot(p, x).sin(), dot(x, y), dot(&squares, p)]
}

/// A product of shapes, from the matrices of each.
fn product_moved(parts: &[Shape], x: &[f64], d: &[f64]) -> Vec<f64> {
    let (mut x, mut d, mut all) = (x, d, Vec::new());
    for part in parts {
        let (own, rest) = x.split_at(part.ambient() as usize);
        let (step, other) = d.split_at(part.tangent() as usize);
        all.extend(moved(part, own, step));
        (x, d) = (rest, other);
    }
    all
}

/// A table of a shape, with a second instance in every residual, and data.
struct Sample {
    parts: Vec<Shape>,
    tangent: usize,
    points: Vec<Vec<f64>>,
    data: Vec<Vec<f64>>,
}

impl Sample {
    fn new(parts: Vec<Shape>, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let rounded = |x: f64| f64::from(x as f32);
        let points: Vec<Vec<f64>> = (0..COUNT).map(|_| parts.iter().flat_map(|part| point(part, &mut random)).collect()).collect();
        let width = points[0].len();
        let data = (0..COUNT).map(|_| (0..width).map(|_| rounded(random.between(-1.0, 1.0))).collect()).collect();
        let tangent = parts.iter().map(|part| part.tangent() as usize).sum();
        Self { parts, tangent, points, data }
    }

    fn every() -> Vec<Self> {
        let records =
            [vec![Shape::Quaternion, Shape::Euclidean(3)], vec![Shape::Sphere(3), Shape::Euclidean(1), Shape::Se2, Shape::Quaternion]];
        shapes().into_iter().map(|shape| vec![shape]).chain(records).zip(100..).map(|(parts, seed)| Self::new(parts, seed)).collect()
    }

    fn other(&self, instance: usize) -> usize {
        (instance + 2) % COUNT as usize
    }

    /// r of an instance where its two variables have moved.
    fn at(&self, instance: usize, d: &[f64]) -> Vec<f64> {
        let (first, second) = d.split_at(self.tangent);
        let [x, y] = [(instance, first), (self.other(instance), second)].map(|(k, d)| product_moved(&self.parts, &self.points[k], d));
        residual(&x, &y, &self.data[instance])
    }

    fn table(&self, session: &mut Session, problem: u32) -> u32 {
        session.table_of(problem, "x", self.parts.clone(), Reals::F64(&self.points.concat()), true).unwrap()
    }

    fn term(&self, session: &mut Session) -> (u32, u32) {
        let problem = session.problem();
        let table = self.table(session, problem);
        let mut tape = Tape::default();
        let inputs = [0, 1, 2].map(|source| tape.input(source));
        let outputs = traced(&mut tape, inputs);
        let data = self.data.concat();
        let spec = TermSpec {
            name: "bent".into(),
            count: COUNT,
            indices: vec![(0..COUNT).collect(), (0..COUNT as usize).map(|k| self.other(k) as u32).collect()],
            slots: vec![Slot { table, column: 0 }, Slot { table, column: 1 }],
            columns: vec![Column { name: "p".into(), width: self.points[0].len() as u32, shared: false, values: Reals::F64(&data) }],
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &outputs,
        };
        (problem, session.term(problem, spec).unwrap())
    }
}

/// Differences of the fourth order, along component k of n.
fn difference(n: usize, k: usize, width: f64, f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let at = |by: f64| {
        let mut d = vec![0.0; n];
        d[k] = by * width;
        f(&d)
    };
    let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(at);
    (0..a.len()).map(|row| (a[row] - 8.0 * b[row] + 8.0 * c[row] - d[row]) / (12.0 * width)).collect()
}

#[test]
fn jacobians_are_differences_along_the_manifold() {
    for (name, bound, mut session) in sessions() {
        for sample in Sample::every() {
            let (problem, term) = sample.term(&mut session);
            let columns = 2 * sample.tangent;
            assert_eq!(session.describe_term(problem, term).unwrap().inputs as usize, columns);
            let task = session.evaluate_term(problem, term, None).unwrap();
            let found = values(&mut session, task);
            let jacobian = &found[3 * COUNT as usize..];
            for instance in 0..COUNT as usize {
                let r = sample.at(instance, &vec![0.0; columns]);
                for column in 0..columns {
                    let slopes = difference(columns, column, 1e-3, |d| sample.at(instance, d));
                    for (row, slope) in slopes.into_iter().enumerate() {
                        let found = jacobian[(3 * instance + row) * columns + column];
                        let error = (found - slope).abs() / slope.abs().max(1.0);
                        assert!(error < bound, "{:?} on {name}: J[{row}, {column}] of {instance} is {found}, not {slope}", sample.parts);
                    }
                }
                for (row, r) in r.into_iter().enumerate() {
                    assert!((found[3 * instance + row] - r).abs() < bound * r.abs().max(1.0));
                }
            }
            // The engine's own check has nothing to say, either.
            let task = session.check_term(problem, term).unwrap();
            let worst = values(&mut session, task);
            assert!(worst[0] < bound, "{:?} on {name}: {worst:?}", sample.parts);
        }
    }
}

#[test]
fn hessians_see_how_the_manifold_bends() {
    for (name, bound, mut session) in sessions() {
        for sample in Sample::every() {
            let (problem, term) = sample.term(&mut session);
            let n = 2 * sample.tangent;
            let task = session.evaluate_term(problem, term, Some(HessianForm::Exact)).unwrap();
            let found = values(&mut session, task);
            let hessian = &found[3 * COUNT as usize * (1 + n)..];
            for instance in [0, COUNT as usize - 1] {
                let energy = |d: &[f64]| vec![0.5 * sample.at(instance, d).iter().map(|r| r * r).sum::<f64>()];
                for r in 0..n {
                    for c in 0..=r {
                        let slope = |d: &[f64]| {
                            let shifted = |e: &[f64]| energy(&d.iter().zip(e).map(|(d, e)| d + e).collect::<Vec<_>>());
                            difference(n, c, 4e-3, shifted)
                        };
                        let expected = difference(n, r, 4e-3, slope)[0];
                        let found = hessian[(instance * n + r) * n + c];
                        let error = (found - expected).abs() / expected.abs().max(1.0);
                        assert!(error < 30.0 * bound, "{:?} on {name}: H[{r}, {c}] is {found}, not {expected}", sample.parts);
                    }
                }
            }
        }
    }
}

/// Rows of entries: of one length each, of any length summed over, and the row's own variable in both.
#[test]
fn rows_of_entries_are_differentiated_along_the_manifold() {
    let offsets: Vec<u32> = vec![0, 2, 3, 3, 7, 9, 12, 13, 15, 16];
    let indices: Vec<u32> = (0..16).map(|k| (5 * k + 1) % COUNT).collect();
    for (name, bound, mut session) in sessions() {
        // A structure for every length of a row: WebGPU compiles those of products of shapes, the CPU all.
        for sample in Sample::every().into_iter().filter(|sample| name != "webgpu" || sample.parts.len() > 1) {
            let width = sample.points[0].len() as u32;
            let data = sample.data.concat();
            let problem = session.problem();
            let table = sample.table(&mut session, problem);
            // Σₑ (xₑ·p, sin(x·xₑ)) of the row's own x.
            let entry = |tape: &mut Tape, [x, p, e]: [u32; 3]| {
                let along = tape.op(Dot, &[e, p]);
                let both = tape.op(Dot, &[x, e]);
                let wave = tape.op(Sin, &[both]);
                tape.op(Pack, &[along, wave])
            };
            let plain = |tape: &'static [u32], outputs: &'static [u32]| TermSpec {
                name: "rows".into(),
                count: COUNT,
                indices: vec![(0..COUNT).collect()],
                slots: vec![Slot { table, column: 0 }],
                columns: vec![Column { name: "p".into(), width, shared: false, values: Reals::F64(&data) }],
                weight: Weight::Shared(1.0),
                loss: None,
                objective: Default::default(),
                tape,
                outputs,
            };
            let slots = || vec![RaggedSlot { table, indices: indices.clone() }];
            let mut tape = Tape::default();
            let inputs = [0, 1, 2].map(|source| tape.input(source));
            let given = entry(&mut tape, inputs);
            let sum = tape.op(SumOver, &[given]);
            let square = tape.op(NormSq, &[inputs[0]]);
            let residual = tape.op(Mul, &[sum, square]);
            let (outputs, tape): (&[u32], &[u32]) = (vec![residual, sum].leak(), tape.words.leak());
            let spec = SummedSpec { plain: plain(tape, outputs), offsets: offsets.clone(), slots: slots(), columns: Vec::new() };
            let summed = session.summed_term(problem, spec).unwrap();

            let lengths: std::collections::BTreeSet<u32> = offsets.windows(2).map(|ends| ends[1] - ends[0]).collect();
            let traces = lengths.into_iter().map(|length| {
                let mut tape = Tape::default();
                let inputs = [0, 1].map(|source| tape.input(source));
                let zero = tape.literal(0.0);
                let mut all = vec![tape.op(Pack, &[zero, zero])];
                for k in 0..length {
                    let e = tape.input(2 + k);
                    all.push(entry(&mut tape, [inputs[0], inputs[1], e]));
                }
                let sum = tape.op(Sum, &all);
                let square = tape.op(NormSq, &[inputs[0]]);
                let residual = tape.op(Mul, &[sum, square]);
                let (outputs, tape): (&[u32], &[u32]) = (vec![residual, sum].leak(), tape.words.leak());
                Trace { length, tape, outputs }
            });
            let spec = RaggedSpec {
                plain: plain(&[], &[]),
                offsets: offsets.clone(),
                slots: slots(),
                columns: Vec::new(),
                traces: traces.collect(),
            };
            let ragged = session.ragged_term(problem, spec).unwrap();
            for term in [ragged, summed] {
                let task = session.check_term(problem, term).unwrap();
                let worst = values(&mut session, task);
                assert!(worst[0] < 3.0 * bound, "{:?} on {name}: {worst:?}", sample.parts);
            }
            // Both say the same of the row's own.
            let [one, other] = [ragged, summed].map(|term| {
                let columns = session.describe_term(problem, term).unwrap().inputs as usize;
                let task = session.evaluate_term(problem, term, None).unwrap();
                let all = values(&mut session, task);
                let rows = 4 * COUNT as usize;
                let own: Vec<f64> = all[rows..].chunks(columns).flat_map(|row| row[..sample.tangent].to_vec()).collect();
                (all[..rows].to_vec(), own)
            });
            assert!(one.0.iter().zip(&other.0).all(|(a, b)| (a - b).abs() < bound * a.abs().max(1.0)), "{:?} on {name}", sample.parts);
            // A ragged term's own slot may be an entry of the row as well: there its columns are apart.
            assert_eq!(one.1.len(), other.1.len());
            assert!(
                one.1.iter().zip(&other.1).all(|(a, b)| (a - b).abs() < 10.0 * bound * a.abs().max(1.0)),
                "{:?} on {name}",
                sample.parts
            );
        }
    }
}

/// Terms over tables of one manifold share their kernels, whatever the tables are called; others do not.
#[test]
fn structures_are_shared_by_manifold() {
    let mut session = cpu(Precision::F64);
    let mut random = Random::new(3);
    let parts = |shape: Shape| vec![shape, Shape::Euclidean(2)];
    let circle = |constant| vec![Shape::Subset { width: 4, constant: vec![constant] }, Shape::Euclidean(2)];
    let kinds =
        [parts(Shape::Quaternion), parts(Shape::Quaternion), parts(Shape::Sphere(4)), vec![Shape::Euclidean(6)], circle(0), circle(1)];
    let mut structures = Vec::new();
    for parts in kinds {
        let sample = Sample::new(parts, random.next());
        let (problem, term) = sample.term(&mut session);
        structures.push(session.stats().structures);
        // What differs in its manifold alone differs in its derivatives.
        let task = session.check_term(problem, term).unwrap();
        assert!(values(&mut session, task)[0] < 1e-8);
    }
    assert_eq!(structures, [1, 1, 2, 3, 4, 5]);
    let d = step(&Shape::Quaternion, 0.5, &mut random);
    assert_eq!(d.len(), 3);
}
