//! Constraints where numbers are extreme or constraints say too much, against answers in closed form.

use super::covariance::{close, covariance, joint, known, variances};
use super::{column, tight};
use crate::support::gradients::{self, of_table, of_term};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Reals, Relation, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::{BackwardOptions, Gradients, Progress, Session};
use leastwise::solve::Options;
use leastwise::solve::covariance::{Equalities, EqualityRow};

/// Unknowns of one scalar each, and terms over them.
pub struct Unknowns {
    pub problem: u32,
    pub x: u32,
    pub count: usize,
}

/// Columns of data, by name.
pub type Data<'a> = &'a [(&'a str, &'a [f64])];
/// What a term's outputs are, of its inputs: unknowns first, then columns.
pub type Body = fn(&mut Tape, &[u32]) -> Vec<u32>;

impl Unknowns {
    pub fn new(session: &mut Session, start: &[f64]) -> Self {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(start), true).unwrap();
        Self { problem, x, count: start.len() }
    }

    fn spec<'a>(
        &self,
        name: &str,
        indices: &[Vec<u32>],
        data: Data<'a>,
        tape: &'a mut Tape,
        outputs: &'a mut Vec<u32>,
        body: Body,
    ) -> TermSpec<'a> {
        let inputs: Vec<u32> = (0..(indices.len() + data.len()) as u32).map(|source| tape.input(source)).collect();
        *outputs = body(tape, &inputs);
        TermSpec {
            indices: indices.to_vec(),
            slots: (0..indices.len() as u32).map(|column| Slot { table: self.x, column }).collect(),
            columns: data.iter().map(|(name, values)| column(name, values)).collect(),
            tape: &tape.words,
            outputs,
            ..plain(name, indices[0].len() as u32)
        }
    }

    /// Residuals, or energies.
    pub fn cost(&self, session: &mut Session, objective: Objective, weight: Weight, indices: &[Vec<u32>], data: Data, body: Body) -> u32 {
        let (mut tape, mut outputs) = (Tape::default(), Vec::new());
        let spec = self.spec("cost", indices, data, &mut tape, &mut outputs, body);
        session.term(self.problem, TermSpec { objective, weight, ..spec }).unwrap()
    }

    pub fn residual(&self, session: &mut Session, indices: &[Vec<u32>], data: Data, body: Body) -> u32 {
        self.cost(session, Objective::LeastSquares, Weight::Shared(1.0), indices, data, body)
    }

    pub fn constraint(&self, session: &mut Session, relation: Relation, weight: f64, indices: &[Vec<u32>], data: Data, body: Body) -> u32 {
        let (mut tape, mut outputs) = (Tape::default(), Vec::new());
        let spec = self.spec("constraint", indices, data, &mut tape, &mut outputs, body);
        session.constraint(self.problem, TermSpec { weight: Weight::Shared(weight), ..spec }, relation).unwrap()
    }

    pub fn equality(&self, session: &mut Session, indices: &[Vec<u32>], data: Data, body: Body) -> u32 {
        self.constraint(session, Relation::Zero, 1.0, indices, data, body)
    }

    pub fn backward(&self, session: &mut Session, cotangent: &[f64]) -> Gradients {
        gradients::backward(session, self.problem, &[(self.x, cotangent)], false, BackwardOptions::default()).unwrap()
    }

    /// Residuals x − t of all.
    pub fn near(&self, session: &mut Session, targets: &[f64]) -> u32 {
        self.residual(session, &[(0..self.count as u32).collect()], &[("t", targets)], |tape, x| vec![tape.op(Sub, &[x[0], x[1]])])
    }
}

/// Every second number, and those beside them.
pub fn pairs(count: usize) -> [Vec<u32>; 2] {
    [0, 1].map(|first| (0..count as u32 / 2).map(|k| 2 * k + first).collect())
}

pub fn numbers(seed: u64, count: usize, from: f64, to: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.between(from, to)).collect()
}

pub fn sum(tape: &mut Tape, x: &[u32]) -> Vec<u32> {
    let sum = tape.op(Add, &x[..2]);
    vec![tape.op(Sub, &[sum, x[2]])]
}

/// ½(x² − 2)² bends down near 0, where x is held; a neighbour y is pulled to x and to t: dL/dp = v_x + ½ v_y, dL/dt = ½ v_y.
#[test]
fn unknowns_along_which_the_cost_bends_down_are_held() {
    // Where all bend down alike, rows add what leaves a diagonal of 0; elsewhere it is rounding of either sign.
    for (count, is_alike) in [(12, true), (204, true), (204, false)] {
        let mut session = cpu(Precision::F64);
        let places: Vec<f64> = numbers(1, count / 2, 0.2, 0.6).into_iter().map(|place| if is_alike { 0.5 } else { place }).collect();
        let (targets, v) = (numbers(2, count / 2, -1.0, 1.0), numbers(3, count, -1.0, 1.0));
        let start: Vec<f64> = places.iter().zip(&targets).flat_map(|(p, t)| [*p, 0.5 * (p + t)]).collect();
        let unknowns = Unknowns::new(&mut session, &start);
        let [first, second] = pairs(count);
        unknowns.residual(&mut session, std::slice::from_ref(&first), &[], |tape, x| {
            let (square, two) = (tape.op(Square, &[x[0]]), tape.literal(2.0));
            vec![tape.op(Sub, &[square, two])]
        });
        unknowns.residual(&mut session, &[first.clone(), second.clone()], &[], |tape, x| vec![tape.op(Sub, x)]);
        let near = unknowns.residual(&mut session, &[second], &[("t", &targets)], |tape, x| vec![tape.op(Sub, x)]);
        let pins = unknowns.equality(&mut session, &[first], &[("p", &places)], |tape, x| vec![tape.op(Sub, x)]);
        let gradients = unknowns.backward(&mut session, &v);
        assert_eq!(gradients.method, if count > 200 { "sparse" } else { "dense" });
        let counts = (gradients.equalities as usize, gradients.redundant, gradients.deficiency);
        assert!(gradients.stationary && counts == (count / 2, 0, 0), "{count}: {counts:?}, {}", gradients.distance);
        let of_pins: Vec<f64> = v.chunks(2).map(|v| v[0] + 0.5 * v[1]).collect();
        close(&format!("{count}, places"), &of_term(&gradients, pins, Some(0)), &of_pins, 1e-12);
        let of_targets: Vec<f64> = v.chunks(2).map(|v| 0.5 * v[1]).collect();
        close(&format!("{count}, targets"), &of_term(&gradients, near, Some(0)), &of_targets, 1e-12);
    }
}

/// H = [1 −2; −2 1] and a row (1, 1), which added in units of H's diagonal leaves a singular matrix: a + b = s, and a − b = ⅔t. Of some
/// pairs; others are near targets.
#[test]
fn directions_that_a_row_lifts_to_nothing_are_no_gauge() {
    for (count, bent) in [(12, 6), (204, 102), (204, 5)] {
        let mut session = cpu(Precision::F64);
        let (sums, tilts) = (numbers(4, count / 2, -1.0, 1.0), numbers(5, count / 2, -1.0, 1.0));
        let v = numbers(6, count, -1.0, 1.0);
        let halves = |sum: f64, apart: f64| [0.5 * (sum + apart), 0.5 * (sum - apart)];
        let start: Vec<f64> = sums.iter().zip(&tilts).flat_map(|(s, t)| halves(*s, 2.0 / 3.0 * t)).collect();
        let unknowns = Unknowns::new(&mut session, &start);
        let bend: Body = |tape, x| {
            let squares = [x[0], x[1]].map(|of| tape.op(Square, &[of]));
            let (half, two) = (tape.literal(0.5), tape.literal(2.0));
            let both = tape.op(Add, &squares);
            let (both, product) = (tape.op(Mul, &[half, both]), tape.op(Mul, &[x[0], x[1]]));
            let (product, apart) = (tape.op(Mul, &[two, product]), tape.op(Sub, &[x[0], x[1]]));
            let (apart, bent) = (tape.op(Mul, &[x[2], apart]), tape.op(Sub, &[both, product]));
            vec![tape.op(Sub, &[bent, apart])]
        };
        let some = pairs(2 * bent);
        let energy = unknowns.cost(&mut session, Objective::Energy, Weight::Shared(1.0), &some, &[("t", &tilts[..bent])], bend);
        if 2 * bent < count {
            let rest = (2 * bent as u32..count as u32).collect();
            unknowns.residual(&mut session, &[rest], &[("t", &start[2 * bent..])], |tape, x| vec![tape.op(Sub, x)]);
        }
        let line = unknowns.equality(&mut session, &pairs(count), &[("s", &sums)], sum);
        let gradients = unknowns.backward(&mut session, &v);
        let what = format!("{bent} pairs of {count} unknowns");
        assert!(gradients.stationary && gradients.deficiency == 0, "{what}: {}, {}", gradients.deficiency, gradients.distance);
        let of_sums: Vec<f64> = v.chunks(2).map(|v| 0.5 * (v[0] + v[1])).collect();
        close(&format!("{what}, sums"), &of_term(&gradients, line, Some(0)), &of_sums, 1e-10);
        let of_tilts: Vec<f64> = v.chunks(2).take(bent).map(|v| (v[0] - v[1]) / 3.0).collect();
        close(&format!("{what}, tilts"), &of_term(&gradients, energy, Some(0)), &of_tilts, 1e-10);
    }
}

/// a ≤ p with λ = 10¹², and a + b ≤ s with λ = 1.5, which the same unknown is of. a is pulled hard, and not far: the cost shows b as well.
#[test]
fn small_multipliers_hold_beside_large_ones() {
    let mut session = cpu(Precision::F64);
    let unknowns = Unknowns::new(&mut session, &[0.5, 0.2]);
    let weight = Weight::Each(Reals::F64(&[1e18, 1.0]));
    let all = [vec![0, 1]];
    unknowns.cost(&mut session, Objective::LeastSquares, weight, &all, &[("t", &[1.0 + 1e-6, 2.0])], |tape, x| vec![tape.op(Sub, x)]);
    let steep =
        unknowns.constraint(&mut session, Relation::AtMostZero, 1e18, &[vec![0]], &[("p", &[1.0])], |tape, x| vec![tape.op(Sub, x)]);
    let gentle = unknowns.constraint(&mut session, Relation::AtMostZero, 1.0, &[vec![0], vec![1]], &[("s", &[1.5])], sum);
    solve(&mut session, unknowns.problem, &tight());
    let values = read(&mut session, unknowns.problem, unknowns.x);
    close("the solution", &values, &[1.0, 0.5], 1e-4);
    let [large, small] = [steep, gentle].map(|term| session.multipliers(unknowns.problem, term).unwrap()[0]);
    assert!((small - 1.5).abs() < 1e-3 && (1e-12 * large - 1.0).abs() < 1e-6, "{large}, {small}");
    let gradients = unknowns.backward(&mut session, &[0.3, -0.7]);
    assert!(gradients.stationary && (gradients.equalities, gradients.redundant) == (2, 0), "{} hold", gradients.equalities);
    close("dL/dp", &of_term(&gradients, steep, Some(0)), &[1.0], 1e-9);
    close("dL/ds", &of_term(&gradients, gentle, Some(0)), &[-0.7], 1e-9);
    let made = covariance(&mut session, unknowns.problem, known()).unwrap();
    assert_eq!((made.summary.equalities, made.summary.redundant), (2, 0));
    assert_eq!(joint(&mut session, &made, unknowns.x, 2), [0.0; 4]);
}

/// What is rounding of the gradient is no multiplier, and what only touches is violated by c alone.
#[test]
fn rounding_is_no_multiplier() {
    let row = |entries: Vec<(u32, f64)>, multiplier: f64, value: f64| EqualityRow {
        term: 0,
        place: 0,
        entries,
        value,
        scale: 1.0,
        stiffness: 1.0,
        multiplier,
        is_inequality: true,
    };
    let settled = |rows: Vec<EqualityRow>, free: [bool; 3]| {
        let all = Equalities { rows, rounding: 1e-12, ..Equalities::default() };
        let settled = all.settled(&[1.0, 1e6, 0.0], &free, &[1.0; 3]);
        (settled.rows.iter().map(|row| row.multiplier).collect::<Vec<f64>>(), settled.violation)
    };
    // Beside a Hessian of 1 and of 10⁶; where nothing else pulls, any counts.
    let of = |unknown: u32, multiplier: f64| row(vec![(unknown, 1.0)], multiplier, -0.5);
    let rows = vec![of(0, 1e-11), of(0, 1e-13), of(1, 1e-5), of(1, 1e-7), of(2, 1e-30)];
    assert_eq!(settled(rows, [true; 3]), (vec![1e-11, 1e-5, 1e-30], 0.5));
    // A larger pull on the same unknown hides it, but not on another that it is of.
    let large = row(vec![(0, 1.0)], 1e13, 0.0);
    let hidden = row(vec![(0, 1.0)], 1.0, -0.25);
    let seen = row(vec![(0, 1.0), (1, 1.0)], 2.0, 0.0);
    assert_eq!(settled(vec![large.clone(), hidden.clone(), seen.clone()], [true; 3]), (vec![1e13, 2.0], 0.0));
    assert_eq!(settled(vec![large, EqualityRow { value: 0.25, ..hidden }, seen], [true, false, true]), (vec![1e13], 0.25));
}

/// The nearest points of circles, without a solve: λ are 0, though x is right.
#[test]
fn multipliers_are_found_where_values_are_right() {
    for count in [12, 204] {
        let mut session = cpu(Precision::F64);
        let (points, radii) = (numbers(7, count, 1.0, 3.0), numbers(8, count / 2, 0.5, 4.0));
        let v = numbers(9, count, -1.0, 1.0);
        let unit: Vec<f64> = points.chunks(2).flat_map(|p| [p[0] / p[0].hypot(p[1]), p[1] / p[0].hypot(p[1])]).collect();
        let start: Vec<f64> = unit.iter().enumerate().map(|(k, u)| u * radii[k / 2]).collect();
        let unknowns = Unknowns::new(&mut session, &start);
        let near = unknowns.near(&mut session, &points);
        let circles = unknowns.equality(&mut session, &pairs(count), &[("r", &radii)], |tape, x| {
            let [a, b, r] = [0, 1, 2].map(|source| tape.op(Square, &[x[source]]));
            let sum = tape.op(Add, &[a, b]);
            vec![tape.op(Sub, &[sum, r])]
        });
        assert!(session.multipliers(unknowns.problem, circles).unwrap().iter().all(|value| *value == 0.0));
        let gradients = unknowns.backward(&mut session, &v);
        assert!(gradients.stationary && gradients.distance < 1e-12 && gradients.refinements > 0, "{count}: {}", gradients.distance);
        let along: Vec<f64> = (0..count / 2).map(|k| v[2 * k] * unit[2 * k] + v[2 * k + 1] * unit[2 * k + 1]).collect();
        close(&format!("{count}, radii"), &of_term(&gradients, circles, Some(0)), &along, 1e-10);
        let of_points: Vec<f64> =
            (0..count).map(|k| radii[k / 2] / points[k - k % 2].hypot(points[k - k % 2 + 1]) * (v[k] - unit[k] * along[k / 2])).collect();
        close(&format!("{count}, points"), &of_term(&gradients, near, Some(0)), &of_points, 1e-10);
    }
}

/// Values that were moved after a solve: a constraint that holds by its λ is met however far off.
#[test]
fn rows_that_are_far_from_met_count() {
    for far in [-63.0, -100.0, -1e9] {
        let mut session = cpu(Precision::F64);
        let unknowns = Unknowns::new(&mut session, &[0.5]);
        unknowns.near(&mut session, &[3.0]);
        unknowns.constraint(&mut session, Relation::AtMostZero, 1.0, &[vec![0]], &[("p", &[1.0])], |tape, x| vec![tape.op(Sub, x)]);
        solve(&mut session, unknowns.problem, &tight());
        session.write_table(unknowns.problem, unknowns.x, Reals::F64(&[1.0 + far]), None).unwrap();
        let made = covariance(&mut session, unknowns.problem, known()).unwrap();
        assert_eq!((made.summary.equalities, made.summary.redundant), (1, 0), "{far}");
        close(&format!("{far}"), &[made.summary.violation], &[-far], 1e-9);
        let variance = joint(&mut session, &made, unknowns.x, 1)[0];
        assert!(variance == 0.0 && variance.is_sign_positive(), "{far}: {variance}");
        let gradients = unknowns.backward(&mut session, &[1.0]);
        assert!(!gradients.stationary && gradients.equalities == 1 && gradients.redundant == 0, "{far}: {}", gradients.distance);
    }
}

/// x + y = 1, and the same again: as 2x + 2y = 2, or as x + y = 2.
#[test]
fn what_contradicts_is_not_redundant() {
    for count in [2, 204] {
        for (scale, total, redundant) in [(2.0, 2.0, 1), (1.0, 2.0, 0), (1.0, 1.001, 0)] {
            let mut session = cpu(Precision::F64);
            let unknowns = Unknowns::new(&mut session, &numbers(10, count, 0.0, 1.0));
            unknowns.near(&mut session, &numbers(11, count, 0.0, 1.0));
            unknowns.equality(&mut session, &[vec![0], vec![1]], &[("s", &[1.0])], sum);
            solve(&mut session, unknowns.problem, &tight());
            let again: Body = |tape, x| {
                let sum = tape.op(Add, &x[..2]);
                let scaled = tape.op(Mul, &[x[2], sum]);
                vec![tape.op(Sub, &[scaled, x[3]])]
            };
            unknowns.equality(&mut session, &[vec![0], vec![1]], &[("k", &[scale]), ("s", &[total])], again);
            let what = format!("{count}, {total}");
            let gradients = unknowns.backward(&mut session, &numbers(12, count, -1.0, 1.0));
            let said = (gradients.stationary, gradients.equalities, gradients.redundant);
            assert_eq!(said, (redundant == 1, 2, redundant), "{what}");
            let made = covariance(&mut session, unknowns.problem, known()).unwrap();
            assert_eq!((made.summary.equalities, made.summary.redundant), (2, redundant), "{what}");
        }
    }
}

/// A row that can't be met at all, since it depends on nothing; and one that is met and tells nothing: x² = 0 at 0.
#[test]
fn rows_without_slopes_count() {
    for (offset, redundant) in [(0.0, 1), (0.5, 0)] {
        let mut session = cpu(Precision::F64);
        let unknowns = Unknowns::new(&mut session, &[0.0, 1.0]);
        unknowns.near(&mut session, &[0.0, 1.0]);
        unknowns.equality(&mut session, &[vec![0]], &[("c", &[offset])], |tape, x| {
            let square = tape.op(Square, &[x[0]]);
            vec![tape.op(Add, &[square, x[1]])]
        });
        let made = covariance(&mut session, unknowns.problem, known()).unwrap();
        assert_eq!((made.summary.equalities, made.summary.redundant, made.summary.violation), (1, redundant, offset));
        close("nothing is held", &joint(&mut session, &made, unknowns.x, 2), &[1.0, 0.0, 0.0, 1.0], 1e-12);
        let gradients = unknowns.backward(&mut session, &[1.0, 1.0]);
        assert_eq!((gradients.equalities, gradients.redundant, gradients.stationary), (1, redundant, redundant == 1));
    }
}

/// Unknowns in a chain of which every third is held alone, and another by two rows together.
#[test]
fn what_is_held_has_no_variance_of_either_sign() {
    for count in [30u32, 210] {
        let mut session = cpu(Precision::F64);
        let targets = numbers(13, count as usize, -1.0, 1.0);
        let unknowns = Unknowns::new(&mut session, &targets);
        unknowns.near(&mut session, &targets);
        unknowns.residual(&mut session, &[(0..count - 1).collect(), (1..count).collect()], &[], |tape, x| {
            let third = tape.literal(0.37);
            let bent = tape.op(Mul, &[third, x[1]]);
            vec![tape.op(Sub, &[x[0], bent])]
        });
        let slopes = numbers(14, count as usize / 3, 0.1, 3.0);
        let every = |first: u32| (0..count / 3).map(|k| 3 * k + first).collect::<Vec<u32>>();
        unknowns.equality(&mut session, &[every(0)], &[("k", &slopes)], |tape, x| vec![tape.op(Mul, x)]);
        let more = |first: usize| (first..6).map(|k| 3 * k as u32 + 1).collect::<Vec<u32>>();
        unknowns.equality(&mut session, &[more(0), every(0)[..6].to_vec()], &[("s", &slopes[..6])], sum);
        session.fix_table(unknowns.problem, unknowns.x, Some(&[count - 1]), None).unwrap();
        let made = covariance(&mut session, unknowns.problem, known()).unwrap();
        assert_eq!(made.summary.method, if count > 200 { "sparse" } else { "dense" });
        let whole = joint(&mut session, &made, unknowns.x, count as usize);
        assert!(whole.iter().all(|value| *value != 0.0 || value.is_sign_positive()), "{count}: a 0 is negative");
        let found = variances(&mut session, &made, unknowns.x, count as usize);
        for (k, variance) in found.iter().enumerate() {
            let is_held = k % 3 == 0 || k < 18 && k % 3 == 1 || k + 1 == count as usize;
            assert!(variance.is_sign_positive(), "{count}: unknown {k} has {variance}");
            if count > 200 || k + 1 == count as usize {
                assert_eq!(*variance == 0.0, is_held, "{count}: unknown {k} has {variance}");
            } else {
                assert_eq!(*variance < 1e-20, is_held, "{count}: unknown {k} has {variance}");
            }
        }
    }
}

/// Rows (1, 1) and (1, 1.00005), of which values in f32 can't tell that they are two.
#[test]
fn rows_that_f32_cannot_tell_apart_are_one() {
    for count in [12, 204] {
        let mut session = cpu(Precision::F32);
        let mut start = numbers(15, count, 0.0, 1.0);
        (start[0], start[1]) = (0.5, 0.5);
        let unknowns = Unknowns::new(&mut session, &start);
        unknowns.near(&mut session, &start);
        let rows: Body = |tape, x| {
            let product = tape.op(Mul, &[x[1], x[2]]);
            let (sum, one) = (tape.op(Add, &[x[0], product]), tape.literal(1.0));
            vec![tape.op(Sub, &[sum, one])]
        };
        unknowns.equality(&mut session, &[vec![0, 0], vec![1, 1]], &[("k", &[1.0, 1.000_05])], rows);
        let made = covariance(&mut session, unknowns.problem, known()).unwrap();
        assert_eq!((made.summary.equalities, made.summary.redundant), (2, 1), "{}", made.summary.method);
        let found = joint(&mut session, &made, unknowns.x, 2);
        close(made.summary.method, &found, &[0.5, -0.5, -0.5, 0.5], 1e-4);
    }
}

/// A task that is cancelled after any number of slices leaves the problem as it was, and no buffer.
#[test]
fn tasks_that_are_cancelled_leave_nothing() {
    for count in [12, 210] {
        let mut session = cpu(Precision::F64);
        let numbers = super::Numbers::new(3, count);
        let net = super::Net::new(&mut session, &numbers, None);
        solve(&mut session, net.problem, &tight());
        let multipliers = session.multipliers(net.problem, net.curves).unwrap();
        let v = vec![1.0; count];
        let whole = gradients::backward(&mut session, net.problem, &[(net.x, &v)], false, BackwardOptions::default()).unwrap();
        let made = covariance(&mut session, net.problem, known()).unwrap();
        let variances_before = variances(&mut session, &made, net.x, count);
        session.free_covariance(made.handle);
        for is_covariance in [true, false] {
            let (mut slices, mut midst) = (0, 0);
            loop {
                let task = match is_covariance {
                    true => session.covariance(net.problem, known()).unwrap(),
                    false => session.backward(net.problem, &[net.x, count as u32], &v, false, BackwardOptions::default()).unwrap(),
                };
                let mut is_over = false;
                for _ in 0..slices {
                    match session.resume(task, 0.0).unwrap() {
                        Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
                        Progress::Covariance(made) => {
                            session.free_covariance(made.handle);
                            is_over = true;
                        }
                        Progress::Gradients(_) => is_over = true,
                        _ => {}
                    }
                    if is_over {
                        break;
                    }
                }
                if is_over {
                    break;
                }
                session.cancel(task);
                midst += 1;
                // The first ones one by one: those are what constraints take.
                slices += if slices < 40 { 1 } else { 1 + slices / 8 };
            }
            assert!(midst > 5, "{count}: it was over after {midst} slices");
        }
        assert_eq!(session.multipliers(net.problem, net.curves).unwrap(), multipliers);
        let again = gradients::backward(&mut session, net.problem, &[(net.x, &v)], false, BackwardOptions::default()).unwrap();
        assert_eq!((again.values, again.equalities), (whole.values, whole.equalities), "{count}");
        let made = covariance(&mut session, net.problem, known()).unwrap();
        assert_eq!(variances(&mut session, &made, net.x, count), variances_before, "{count}");
        session.free_covariance(made.handle);
        session.free_problem(net.problem);
        assert_eq!(session.counters().bytes_live, 0, "{count}: buffers are left");
    }
}

/// An unknown that is fixed where a constraint does not want it: there is no solution, however redundant the row is.
#[test]
fn what_is_fixed_elsewhere_contradicts() {
    for (place, redundant) in [(1.0, 1), (1.5, 0)] {
        let mut session = cpu(Precision::F64);
        let unknowns = Unknowns::new(&mut session, &[place, 0.5]);
        unknowns.near(&mut session, &[0.0, 0.5]);
        session.fix_table(unknowns.problem, unknowns.x, Some(&[0]), None).unwrap();
        unknowns.equality(&mut session, &[vec![0]], &[("p", &[1.0])], |tape, x| vec![tape.op(Sub, x)]);
        let gradients = unknowns.backward(&mut session, &[1.0, 1.0]);
        assert_eq!((gradients.equalities, gradients.redundant, gradients.stationary), (1, redundant, redundant == 1));
        assert_eq!(of_table(&gradients, unknowns.x).len(), 2);
    }
}

/// Constraints are as far met in each round as the round's own solve meets them.
#[test]
fn options_that_are_too_short_are_no_refusal() {
    let mut session = cpu(Precision::F64);
    let options = Options { max_outer_iterations: Some(1.0), ..Options::default() };
    let numbers = super::Numbers::new(3, 12);
    let net = super::Net::new(&mut session, &numbers, None);
    let suspects = [leastwise::session::Suspect { term: net.near, threshold: 0.1, known: Vec::new() }];
    let task = session.graduated(net.problem, &suspects, Default::default(), &options).unwrap();
    let Progress::Graduated(found) = finish(&mut session, task, |_| {}) else { panic!("no outcome") };
    let violation = found.report.feasibility.as_ref().unwrap().violation;
    assert!(found.rounds > 1 && violation > 1e-8, "{} rounds, {violation}", found.rounds);
    assert!(found.ending != leastwise::solve::graduated::Ending::Infeasible, "{:?}", found.ending);
}
