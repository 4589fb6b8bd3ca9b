//! The rules of methods that solve no linear system: what becomes of the state.

use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{descent, line_search};
use leastwise::solve::state::*;

/// Numbers whose sum is exactly that.
fn parts(sum: f64, count: usize, random: &mut Random) -> Vec<f64> {
    let mut parts: Vec<f64> = (0..count).map(|_| (random.signed() * 64.0).round() / 64.0).collect();
    parts[count - 1] = 0.0;
    parts[count - 1] = sum - parts.iter().sum::<f64>();
    parts
}

/// Quarters between −2 and 2, but 0: their products and sums are exact, in f32 as well.
fn quarters(count: usize, random: &mut Random) -> Vec<f64> {
    let quarter = |random: &mut Random| f64::from(1 + random.below(8)) / 4.0;
    (0..count).map(|_| quarter(random) * random.signed().signum()).collect()
}

/// A search whose first trial is α = ½ with φ(0) = 2 and φ′(0) = −8, by L-BFGS with two of five pairs.
struct Scene {
    name: &'static str,
    rule: u32,
    bounded: bool,
    /// dᵀg′, gᵀs and g′ᵀs, then what else the state holds.
    sums: [f64; 3],
    known: Vec<(u32, f64)>,
    /// What is written, beside what always is.
    written: Vec<(u32, f64)>,
}

const LBFGS: u32 = 0;
const CONJUGATE: u32 = 1;
const ADAM: u32 = 3;
/// ‖s‖² and max |g′ᵢ|.
const SQUARED: f64 = 4.0;
const TOP: f64 = 0.75;

/// What a new search begins with.
const BEGUN: [(u32, f64); 7] =
    [(TRIALS, 0.0), (LOW, 0.0), (LOW_CHANGE, 0.0), (LOW_SLOPE, 0.0), (HIGH, 0.0), (BRACKETED, 0.0), (INSISTENT, 0.0)];

fn taken(gain: f64, slope: f64) -> Vec<(u32, f64)> {
    let mut written = BEGUN.to_vec();
    written.extend([(ACCEPTED, 1.0), (TAKEN, 3.0), (LINEARIZED, 1.0), (COST, 1.5), (CHANGE_KNOWN, 0.0), (LENGTH_BEFORE, 0.5)]);
    written.extend([(SLOPE_BEFORE, slope), (TURNING, 1.0), (NEXT_GRADIENT_MAX, TOP), (GAIN, gain)]);
    written
}

fn with(mut list: Vec<(u32, f64)>, more: &[(u32, f64)]) -> Vec<(u32, f64)> {
    list.extend(more);
    list
}

fn scenes() -> Vec<Scene> {
    let scene =
        |name, sums, known: &[(u32, f64)], written| Scene { name, rule: LBFGS, bounded: false, sums, known: known.to_vec(), written };
    let rejected = |more: &[(u32, f64)]| with(vec![(LINEARIZED, 0.0), (TRIALS, 1.0)], more);
    let tiny = 2f64.powi(-14);
    vec![
        scene("strong Wolfe", [-1.0, -4.0, -0.5], &[(CHANGE, -3.0)], {
            with(taken(0.75, -8.0), &[(KEPT, 1.0), (NEWEST, 2.0), (PAIRS, 3.0)])
        }),
        scene("round the history", [-1.0, -4.0, -0.5], &[(CHANGE, -3.0), (NEWEST, 4.0), (PAIRS, 5.0)], {
            with(taken(0.75, -8.0), &[(KEPT, 1.0), (NEWEST, 0.0), (PAIRS, 5.0)])
        }),
        scene("too high", [5.0, -4.0, 2.5], &[(CHANGE, 1.0)], {
            let high = [(HIGH, 0.5), (HIGH_CHANGE, 1.0), (HIGH_SLOPE, 5.0), (BRACKETED, 1.0)];
            with(rejected(&high), &[(LOW_SLOPE, -8.0), (GAIN, -0.25), (LENGTH, 0.5 * (1.0 - 12.5 / 17.5))])
        }),
        scene("not differentiated", [5.0, -4.0, 2.5], &[(CHANGE, f64::NAN), (LINEARIZED, 1.0)], {
            let high = [(HIGH, 0.5), (HIGH_CHANGE, 0.0), (HIGH_SLOPE, 0.0), (BRACKETED, 2.0)];
            with(rejected(&high), &[(LOW_SLOPE, -8.0), (LENGTH, 0.05)])
        }),
        scene("still steep", [-7.5, -4.0, -3.75], &[(CHANGE, -3.0)], {
            let low = [(LOW, 0.5), (LOW_CHANGE, -3.0), (LOW_SLOPE, -7.5)];
            with(rejected(&low), &[(GAIN, 0.75), (LENGTH, 5.0)])
        }),
        scene("past the least", [7.5, -4.0, 3.75], &[(CHANGE, -1.0)], {
            let low = [(LOW, 0.5), (LOW_CHANGE, -1.0), (LOW_SLOPE, 7.5), (BRACKETED, 1.0)];
            let high = [(HIGH, 0.0), (HIGH_CHANGE, 0.0), (HIGH_SLOPE, -8.0)];
            // The cubic through both ends, from α = ½ backwards.
            let (a, b, rise) = (-3.75f64, 4.0, 1.0);
            let d = a + b - 3.0 * rise;
            let r = (d * d - a * b).sqrt();
            let part = 1.0 - (b + r - d) / (b - a + 2.0 * r);
            with(with(rejected(&low), &high), &[(GAIN, 0.25), (LENGTH, 0.5 - 0.5 * part)])
        }),
        scene("hidden by rounding", [-0.5 * tiny, -tiny, 0.0], &[(CHANGE, 0.125 * tiny)], {
            with(taken(-0.125, -2.0 * tiny), &[(KEPT, 1.0), (NEWEST, 2.0), (PAIRS, 3.0)])
        }),
        scene("uphill, with a history", [1.0, 1.0, 1.0], &[(CHANGE, -3.0)], {
            with(BEGUN.to_vec(), &[(LINEARIZED, 0.0), (PAIRS, 0.0), (LENGTH_BEFORE, 0.0), (TURNING, 1.0)])
        }),
        scene("uphill, along −g", [1.0, 1.0, 1.0], &[(CHANGE, -3.0), (PAIRS, 0.0)], {
            rejected(&[(LOW_SLOPE, 2.0), (FAILED, 1.0), (LENGTH, 0.0)])
        }),
        scene(
            "too often",
            [5.0, -4.0, 2.5],
            &[(CHANGE, 1.0), (TRIALS, 23.0), (LOW, 0.25), (LOW_CHANGE, -1.0), (LOW_SLOPE, -7.0), (HIGH, 2.0), (BRACKETED, 1.0)],
            vec![
                (LINEARIZED, 0.0),
                (TRIALS, 24.0),
                (GAIN, -0.25),
                (HIGH, 0.5),
                (HIGH_CHANGE, 1.0),
                (HIGH_SLOPE, 5.0),
                (BRACKETED, 1.0),
                (INSISTENT, 1.0),
                (LENGTH, 0.25),
            ],
        ),
        scene("the lowest again", [-7.5, -4.0, -3.75], &[(CHANGE, -1.0), (TRIALS, 5.0), (INSISTENT, 1.0)], {
            with(taken(0.25, -8.0), &[(KEPT, 1.0), (NEWEST, 2.0), (PAIRS, 3.0)])
        }),
        Scene {
            bounded: true,
            ..scene("within limits a kink", [9.0, -4.0, 2.0], &[(CHANGE, -3.0), (SLOPE, -6.0)], {
                with(taken(0.75, -6.0), &[(KEPT, 1.0), (NEWEST, 2.0), (PAIRS, 3.0)])
            })
        },
        Scene {
            rule: CONJUGATE,
            ..scene("without curvature", [-0.5, -4.0, -4.0], &[(CHANGE, -3.0)], with(taken(0.75, -8.0), &[(PAIRS, 0.0)]))
        },
        Scene {
            rule: CONJUGATE,
            ..scene("not exact enough", [-1.0, -4.0, -0.5], &[(CHANGE, -3.0)], {
                let low = [(LOW, 0.5), (LOW_CHANGE, -3.0), (LOW_SLOPE, -1.0)];
                // The secant ends before twice the length.
                with(rejected(&low), &[(GAIN, 0.75), (LENGTH, 1.0)])
            })
        },
        Scene {
            rule: ADAM,
            ..scene("Adam", [3.0, 4.0, 2.0], &[(CHANGE, 3.0)], {
                with(taken(0.0, 8.0), &[(PAIRS, 1.0), (DECAY_1, 0.25), (DECAY_2, 0.5), (LENGTH, 1.0)])
            })
        },
        Scene {
            rule: ADAM,
            ..scene("Adam, not finite", [3.0, -4.0, 2.0], &[(CHANGE, f64::INFINITY), (LINEARIZED, 1.0)], rejected(&[(LENGTH, 0.25)]))
        },
    ]
}

pub fn line_search(size: usize, random: &mut Random) -> Vec<Case> {
    let size = size.clamp(1, 2000);
    let mut cases: Vec<Case> = scenes()
        .into_iter()
        .map(|scene| {
            let mut known = vec![
                (SETTING_OUT, 0.0),
                (LINEARIZED, 0.0),
                (LENGTH, 0.5),
                (COST, 2.0),
                (EPSILON, 2f64.powi(-20)),
                (TRIAL_COST, 1.5),
                (TRIALS, 0.0),
                (INSISTENT, 0.0),
                (BRACKETED, 0.0),
                (LOW, 0.0),
                (LOW_CHANGE, 0.0),
                (LOW_SLOPE, 0.0),
                (HIGH, 0.0),
                (PAIRS, 2.0),
                (NEWEST, 1.0),
                (NEXT_GRADIENT_MAX, 3.0),
                (POINT_NORM, 4.0),
                (STEPS, 7.0),
                (TAKEN, 2.0),
                (BETA_1, 0.5),
                (BETA_2, 0.5),
                (DECAY_1, 0.5),
                (DECAY_2, 1.0),
            ];
            known.extend(scene.known.iter().copied());
            let trials = scene.known.iter().find(|(element, _)| *element == TRIALS).map_or(0.0, |known| known.1) + 1.0;
            let mut case = search(scene.name, size, &scene, random_state(random, &known), random);
            let always = [(ACCEPTED, 0.0), (KEPT, 0.0), (GAIN, 0.0), (STEP_NORM, 2.0), (GRADIENT_MAX, 3.0)];
            case.expect_state(&always.map(|(element, value)| (element, value.into())));
            case.expect_state(&[(STEPS, 8.0.into()), (TRIALS, trials.into()), (INNER, trials.into())]);
            let written: Vec<(u32, Value)> = scene.written.iter().map(|(element, value)| (*element, (*value).into())).collect();
            case.expect_state(&written);
            if trials == 1.0 && !written.iter().any(|(element, _)| *element == LOW_SLOPE) && scene.rule != ADAM {
                case.expect_state(&[(LOW_SLOPE, (-8.0).into())]);
            }
            case
        })
        .collect();
    let known = [(SETTING_OUT, 1.0), (TRIAL_COST, 1.5), (BETA_1, 0.5), (BETA_2, 0.25), (NEXT_GRADIENT_MAX, 3.0)];
    let out = Scene { name: "setting out", rule: LBFGS, bounded: false, sums: [1.0, 2.0, 3.0], known: Vec::new(), written: Vec::new() };
    let mut case = search(out.name, size, &out, random_state(random, &known), random);
    let zeros = [SETTING_OUT, CHANGE_KNOWN, PAIRS, NEWEST, LENGTH_BEFORE, FAILED, KEPT, GAIN];
    case.expect_state(&zeros.map(|element| (element, Value::default())));
    case.expect_state(&BEGUN.map(|(element, value)| (element, value.into())));
    let ones = [(ACCEPTED, 1.0), (LINEARIZED, 1.0), (LENGTH, 1.0), (TURNING, 1.0), (COST, 1.5), (STEP_NORM, 2.0)];
    case.expect_state(&ones.map(|(element, value)| (element, value.into())));
    let rest = [(DECAY_1, 0.5), (DECAY_2, 0.25), (GRADIENT_MAX, TOP), (NEXT_GRADIENT_MAX, TOP)];
    case.expect_state(&rest.map(|(element, value)| (element, value.into())));
    cases.push(case);
    cases
}

fn search(name: &str, size: usize, scene: &Scene, state: Vec<f64>, random: &mut Random) -> Case {
    let distance = size + 3;
    let mut case = Case::reduction(
        line_search::LineSearch {
            partial_count: size as u32,
            distance: distance as u32,
            limited: u32::from(scene.bounded),
            rule: scene.rule,
            pairs: 5,
        },
        name,
        state,
    );
    let mut partials = Vec::new();
    let [slope, promised, kept] = scene.sums;
    for sum in [slope, promised, kept, SQUARED] {
        partials.extend(parts(sum, size, random));
        partials.extend(random.vector(3));
    }
    partials.extend((0..size).map(|i| if i == size / 3 { TOP } else { random.within(0.0, 0.5) }));
    partials.extend(random.vector(3));
    case.reals(line_search::LineSearch::PARTIALS, partials);
    case.bound = 1e-5;
    case
}

/// A vector, and how it is made of s₀ …, y₀ …, g.
#[derive(Clone)]
struct Made {
    vector: Vec<f64>,
    factors: Vec<f64>,
}

impl Made {
    fn add(&mut self, factor: f64, other: &Self) {
        self.vector.iter_mut().zip(&other.vector).for_each(|(a, b)| *a += factor * b);
        self.factors.iter_mut().zip(&other.factors).for_each(|(a, b)| *a += factor * b);
    }

    fn dot(&self, other: &Self) -> f64 {
        self.vector.iter().zip(&other.vector).map(|(a, b)| a * b).sum()
    }
}

/// The two loops, and the other rules, with vectors.
fn next(basis: &[Made], rule: u32, pairs: usize, newest: usize, kept: usize) -> Made {
    let (s, y) = basis.split_at(pairs);
    let g = &basis[2 * pairs];
    let mut d = Made { vector: vec![0.0; g.vector.len()], factors: vec![0.0; basis.len()] };
    d.add(-1.0, g);
    if kept == 0 || rule == 2 {
        return d;
    }
    if rule == CONJUGATE {
        let (s, y) = (&s[newest], &y[newest]);
        let sy = s.dot(y);
        let beta = (y.dot(g) - 2.0 * s.dot(g) * y.dot(y) / sy) / sy;
        // gᵀs before the step, by which β is bounded from below.
        let bound = 0.4 * (s.dot(g) - sy) / s.dot(s);
        d.add(beta.max(bound), s);
        return d;
    }
    let places: Vec<usize> = (0..kept).map(|k| (newest + pairs - k) % pairs).collect();
    let mut along = vec![0.0; pairs];
    for &i in &places {
        along[i] = s[i].dot(&d) / s[i].dot(&y[i]);
        d.add(-along[i], &y[i]);
    }
    let scale = s[newest].dot(&y[newest]) / y[newest].dot(&y[newest]);
    d.vector.iter_mut().chain(&mut d.factors).for_each(|value| *value *= scale);
    for &i in places.iter().rev() {
        let back = y[i].dot(&d) / s[i].dot(&y[i]);
        d.add(along[i] - back, &s[i]);
    }
    d
}

pub fn two_loop(size: usize, random: &mut Random) -> Vec<Case> {
    let runs = size.clamp(1, 64);
    let mut case = |name: &str, rule: u32, [pairs, newest, kept]: [usize; 3], all: bool, before: f64| {
        let vectors = 2 * pairs + 1;
        let unit = |j: usize| (0..vectors).map(|k| f64::from(u8::from(k == j))).collect::<Vec<f64>>();
        // Pairs of a quadratic function of eight unknowns.
        let stiffness: Vec<f64> = (0..8).map(|_| 1.0 + f64::from(random.below(5)) / 2.0).collect();
        let steps: Vec<Vec<f64>> = (0..pairs).map(|_| quarters(8, random)).collect();
        let changes = steps.iter().map(|s| s.iter().zip(&stiffness).map(|(s, k)| s * k).collect());
        let vectors_of: Vec<Vec<f64>> = steps.clone().into_iter().chain(changes).chain([quarters(8, random)]).collect();
        let basis: Vec<Made> = vectors_of.into_iter().enumerate().map(|(j, vector)| Made { vector, factors: unit(j) }).collect();
        let rows: Vec<usize> = if all { (0..vectors).collect() } else { vec![newest, pairs + newest, 2 * pairs] };
        let gram = |a: usize, b: usize| basis[a].dot(&basis[b]);
        // What is new is in the products, the rest is known.
        let mut known = random.vector(vectors * vectors);
        for (a, b) in (0..vectors).flat_map(|a| (0..vectors).map(move |b| (a, b))) {
            if !rows.contains(&a) && !rows.contains(&b) {
                known[a * vectors + b] = gram(a, b);
            }
        }
        let mut products = vec![0.0; runs * rows.len() * vectors];
        for (r, row) in rows.iter().enumerate() {
            for column in 0..vectors {
                for (run, part) in parts(gram(*row, column), runs, random).into_iter().enumerate() {
                    products[(run * rows.len() + r) * vectors + column] = part;
                }
            }
        }
        let cost = 3.0;
        let state = [
            (TURNING, 1.0),
            (NEWEST, newest as f64),
            (PAIRS, kept as f64),
            (EPSILON, 2f64.powi(-23)),
            (LENGTH_BEFORE, before),
            (SLOPE_BEFORE, -2.0),
            (COST, cost),
            (POINT_NORM, 0.5),
        ];
        let mut case = Case::reduction(
            descent::TwoLoop { runs: runs as u32, pairs: pairs as u32, rule, all: u32::from(all) },
            name,
            random_state(random, &state),
        );
        case.stop = Some((TURNING, 0.0));
        case.bound = 1e-4;
        case.reals(descent::TwoLoop::PRODUCTS, products);
        case.reals(descent::TwoLoop::GRAM, known);
        case.poisoned(descent::TwoLoop::COEFFICIENTS, vectors);
        for (&row, column) in rows.iter().flat_map(|row| (0..vectors).map(move |column| (row, column))) {
            for at in [row * vectors + column, column * vectors + row] {
                case.expect(descent::TwoLoop::GRAM, at, Value { value: gram(row, column), size: 8.0 });
            }
        }
        let d = next(&basis, rule, pairs, newest, kept);
        let g = &basis[2 * pairs];
        let slope = d.dot(g);
        assert!(slope < 0.0, "{name}: a direction of descent");
        let largest = d.factors.iter().fold(1f64, |largest, factor| largest.max(factor.abs()));
        (0..vectors).for_each(|j| case.expect(descent::TwoLoop::COEFFICIENTS, j, Value { value: d.factors[j], size: largest }));
        let far = g.dot(g).sqrt();
        let length = match rule {
            LBFGS if kept > 0 => 1.0,
            CONJUGATE if before > 0.0 => (before * -2.0 / slope).min(10.0 * before),
            2 if kept > 0 => basis[newest].dot(&basis[newest]) / gram(newest, pairs + newest),
            _ => (2.0 * cost / (far * far)).min(0.5 / far),
        };
        case.expect_state(&[(SLOPE, Value { value: slope, size: 100.0 * slope.abs() }), (LENGTH, Value { value: length, size: 10.0 })]);
        case
    };
    vec![
        case("at the start", LBFGS, [4, 0, 0], false, 0.0),
        case("one pair", LBFGS, [4, 1, 1], false, 1.0),
        case("a whole history", LBFGS, [4, 2, 4], false, 1.0),
        case("part of one, across its end", LBFGS, [5, 1, 3], false, 1.0),
        case("within limits", LBFGS, [3, 0, 3], true, 1.0),
        case("the most pairs", LBFGS, [20, 7, 6], false, 1.0),
        case("conjugate gradients", CONJUGATE, [1, 0, 1], false, 0.25),
        case("conjugate gradients at the start", CONJUGATE, [1, 0, 0], false, 0.0),
        case("gradient descent", 2, [1, 0, 1], false, 0.25),
    ]
}
