//! Attention and what it passes on, whole: against the full matrix of weights in plain f64, against differences, and on the adapter.
//!
//! `VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json XDG_RUNTIME_DIR=/tmp cargo test --test attention`

use crate::support::{SharedDevice, is_full, repeated, shared_device};
use leastwise::device::binding::*;
use leastwise::device::{Command, Device, Dispatch, KernelSource, Kind, Limits, Precision, Recording, Slice, cpu::CpuDevice};
use leastwise::tensor::attention::{Attention, Launch, Windows, sum_rows};

const GROUP_SIZES: [u32; 5] = [16, 32, 64, 128, 256];

/// An attention with its matrices, and what its result's slopes are.
#[derive(Clone)]
struct Net {
    of: Attention,
    queries: Vec<f64>,
    keys: Vec<f64>,
    values: Vec<f64>,
    slopes: Vec<f64>,
}

/// O, L, and what is passed on to Q, K and V.
struct Outcome {
    results: Vec<f64>,
    logarithms: Vec<f64>,
    of_queries: Vec<f64>,
    of_keys: Vec<f64>,
    of_values: Vec<f64>,
}

/// Numbers from −1 to 1 that f32 has exactly.
fn numbers(len: usize, seed: u64) -> Vec<f64> {
    let mut word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let number = |_| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (word >> 40) as f64 / f64::from(1u32 << 23) - 1.0
    };
    (0..len).map(number).collect()
}

impl Net {
    /// Scores are about as large as `scale`.
    fn new([b, n, m, d, e]: [u32; 5], causal: bool, scale: f64) -> Self {
        let len = |sizes: [u32; 3]| sizes.iter().product::<u32>() as usize;
        let factor = f64::from((3.0 * scale / f64::from(d).sqrt()) as f32);
        Self {
            of: Attention { batches: b, queries: n, keys: m, depth: d, width: e, causal },
            queries: numbers(len([b, n, d]), 1).into_iter().map(|q| f64::from((factor * q) as f32)).collect(),
            keys: numbers(len([b, m, d]), 2),
            values: numbers(len([b, m, e]), 3),
            slopes: numbers(len([b, n, e]), 4),
        }
    }

    fn sizes(&self) -> [usize; 5] {
        let Attention { batches, queries, keys, depth, width, .. } = self.of;
        [batches, queries, keys, depth, width].map(|size| size as usize)
    }

    /// With the whole matrix of weights.
    fn plain(&self) -> Outcome {
        let [b, n, m, d, e] = self.sizes();
        let mut outcome = Outcome {
            results: vec![0.0; b * n * e],
            logarithms: vec![0.0; b * n],
            of_queries: vec![0.0; b * n * d],
            of_keys: vec![0.0; b * m * d],
            of_values: vec![0.0; b * m * e],
        };
        for query in 0..b * n {
            let first = query / n * m;
            let seen = if self.of.causal { m.min(query % n + 1) } else { m };
            let score = |key: usize| (0..d).map(|k| self.queries[query * d + k] * self.keys[(first + key) * d + k]).sum::<f64>();
            let scores: Vec<f64> = (0..seen).map(score).collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let logarithm = largest + scores.iter().map(|score| (score - largest).exp()).sum::<f64>().ln();
            outcome.logarithms[query] = logarithm;
            let weights: Vec<f64> = scores.iter().map(|score| (score - logarithm).exp()).collect();
            for (key, weight) in weights.iter().enumerate() {
                for c in 0..e {
                    outcome.results[query * e + c] += weight * self.values[(first + key) * e + c];
                    outcome.of_values[(first + key) * e + c] += weight * self.slopes[query * e + c];
                }
            }
            // The softmax's Jacobian is diag P − P Pᵀ.
            let slope = |key: usize| (0..e).map(|c| self.slopes[query * e + c] * self.values[(first + key) * e + c]).sum::<f64>();
            let slopes: Vec<f64> = (0..seen).map(slope).collect();
            let mean: f64 = slopes.iter().zip(&weights).map(|(slope, weight)| slope * weight).sum();
            for (key, (weight, slope)) in weights.iter().zip(&slopes).enumerate() {
                for k in 0..d {
                    outcome.of_queries[query * d + k] += weight * (slope - mean) * self.keys[(first + key) * d + k];
                    outcome.of_keys[(first + key) * d + k] += weight * (slope - mean) * self.queries[query * d + k];
                }
            }
        }
        outcome
    }

    fn forward(&self, bench: &mut Bench) -> (Vec<f64>, Vec<f64>) {
        let [b, n, _, _, e] = self.sizes();
        let inputs = [(ARENA, &self.queries), (DATA, &self.keys), (VECTOR_IN, &self.values)];
        let launch = self.of.forward(&bench.device.limits());
        let [results, logarithms] = bench.run(launch, &inputs, [(VECTOR_OUT, b * n * e), (PARTIALS, b * n)]);
        (results, logarithms)
    }

    fn on(&self, bench: &mut Bench) -> Outcome {
        let [b, n, m, d, e] = self.sizes();
        let (results, logarithms) = self.forward(bench);
        let row = |query: usize| query * e..(query + 1) * e;
        let mean = |query| self.slopes[row(query)].iter().zip(&results[row(query)]).map(|(slope, result)| slope * result).sum();
        let statistics: Vec<f64> = logarithms.iter().copied().chain((0..b * n).map(mean)).collect();
        let inputs =
            [(ARENA, &self.queries), (DATA, &self.keys), (VECTOR_IN, &self.values), (JACOBIAN, &self.slopes), (STATE, &statistics)];
        let limits = bench.device.limits();
        let [of_queries] = bench.run(self.of.of_queries(&limits), &inputs, [(VECTOR_OUT, b * n * d)]);
        let [of_keys, of_values] = bench.run(self.of.of_keys(&limits), &inputs, [(VECTOR_OUT, b * m * d), (PARTIALS, b * m * e)]);
        Outcome { results, logarithms, of_queries, of_keys, of_values }
    }
}

struct Bench {
    device: SharedDevice,
}

impl Bench {
    fn cpu(precision: Precision, group_size: u32) -> Self {
        let limits = Limits { group_size, ..CpuDevice::default_limits() };
        Self { device: Device::Cpu(CpuDevice::new(precision, limits)).into() }
    }

    fn gpu(group_size: u32) -> Self {
        Self { device: shared_device(Some(Limits { group_size, ..Limits::WEBGPU })) }
    }

    /// What a launch leaves in the slots that it writes, which were NaN before.
    fn run<const N: usize>(
        &mut self,
        launch: Option<Launch>,
        inputs: &[(usize, &Vec<f64>)],
        outputs: [(usize, usize); N],
    ) -> [Vec<f64>; N] {
        let Launch { kernel, count, words } = launch.expect("a small shape");
        let kernel = self.device.kernels(&[KernelSource::of_static(kernel)]).expect("a kernel that compiles")[0];
        let mut commands = Vec::new();
        let mut bindings = [None; COUNT];
        let poisoned = outputs.map(|(slot, len)| (slot, vec![f64::NAN; len]));
        for (slot, data) in inputs.iter().copied().chain(poisoned.iter().map(|(slot, data)| (*slot, data))) {
            let buffer = self.device.allocate(Kind::Real, data.len() as u32, "a matrix").expect("a small buffer");
            bindings[slot] = Some(Slice { buffer, offset: 0, len: data.len() as u32 });
            commands.push(Command::UploadReals { buffer, offset: 0, data: data.clone() });
        }
        commands.push(Command::Dispatch(Dispatch { kernel, bindings, count, single_group: false, words }));
        let results = outputs.map(|(slot, _)| {
            commands.push(Command::Read { slice: bindings[slot].expect("just bound") });
            self.device.run(Recording { commands: std::mem::take(&mut commands) }).expect("a recording that plays")
        });
        bindings.into_iter().flatten().for_each(|slice| self.device.free(slice.buffer));
        results
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// The largest difference, as a part of the largest number, or of `size` where that is larger.
fn error(found: &[f64], expected: &[f64], size: f64) -> f64 {
    assert_eq!(found.len(), expected.len());
    let largest = largest(expected).max(size).max(f64::MIN_POSITIVE);
    let worst = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    worst.fold(0.0, |worst: f64, error| if error <= worst { worst } else { error }) / largest
}

fn agree(found: &Outcome, expected: &Outcome, bound: f64, what: &str) {
    agree_with_sizes(found, expected, [0.0; 2], bound, what);
}

/// What is passed on to queries and keys is made of numbers that may cancel: of what size these are is given.
fn agree_with_sizes(found: &Outcome, expected: &Outcome, [of_queries, of_keys]: [f64; 2], bound: f64, what: &str) {
    for (name, found, expected, size) in [
        ("O", &found.results, &expected.results, 0.0),
        ("L", &found.logarithms, &expected.logarithms, 0.0),
        ("dQ", &found.of_queries, &expected.of_queries, of_queries),
        ("dK", &found.of_keys, &expected.of_keys, of_keys),
        ("dV", &found.of_values, &expected.of_values, 0.0),
    ] {
        let error = error(found, expected, size);
        println!("{what}, {name}: {error:.1e} of {bound:e}");
        assert!(error <= bound, "{what}, {name}: an error of {error:e}, where {bound:e} is allowed");
    }
}

/// Below, at and above the sizes of tiles, panels, slabs and stretches; more queries than keys and fewer.
const SHAPES: [[u32; 5]; 6] =
    [[1, 1, 1, 1, 1], [3, 63, 65, 5, 7], [1, 130, 37, 65, 129], [2, 17, 131, 200, 3], [2, 65, 63, 64, 64], [1, 97, 101, 13, 256]];

#[test]
fn twins_make_what_the_whole_matrix_makes() {
    for group_size in GROUP_SIZES {
        for shape in SHAPES {
            for causal in [false, true] {
                let net = Net::new(shape, causal, 3.0);
                let what = format!("{:?}, workgroups of {group_size}", net.of);
                let expected = net.plain();
                agree(&net.on(&mut Bench::cpu(Precision::F64, group_size)), &expected, 1e-13, &what);
                agree(&net.on(&mut Bench::cpu(Precision::F32, group_size)), &expected, 1e-5, &what);
            }
        }
    }
}

#[test]
fn shaders_make_what_the_whole_matrix_makes() {
    for (number, &group_size) in repeated(&[64, 256, 16, 32, 128], 2).iter().enumerate() {
        let mut gpu = Bench::gpu(group_size);
        for (place, &shape) in repeated(&SHAPES, 4).iter().enumerate() {
            for causal in [false, true] {
                // In `npm test` each size of workgroups has every shape, with and without a mask by turns.
                if !is_full() && causal != ((number + place) % 2 == 0) {
                    continue;
                }
                let net = Net::new(shape, causal, 3.0);
                let what = format!("{:?}, workgroups of {group_size}, {}", net.of, gpu.device.limits().group_size);
                agree(&net.on(&mut gpu), &net.plain(), 1e-5, &what);
            }
        }
    }
}

/// Of ±10,000, e to the power of which no number is: far from each other, where one weight is almost 1 and dS all but cancels, and
/// all about as large. In f32 a score of that size is known to a thousandth.
#[test]
fn large_scores_overflow_nowhere() {
    for &(causal, offset) in repeated(&[(false, 0.0), (true, 100.0), (true, -100.0), (true, 0.0), (false, 100.0), (false, -100.0)], 2) {
        let mut net = Net::new([2, 70, 90, 20, 33], causal, if offset == 0.0 { 1e4 } else { 3.0 });
        if offset != 0.0 {
            net.queries.iter_mut().step_by(20).for_each(|q| *q = 100.0);
            net.keys.iter_mut().step_by(20).for_each(|k| *k = offset);
        }
        let expected = net.plain();
        assert!(largest(&expected.logarithms) > 9e3, "scores of {}", largest(&expected.logarithms));
        let sizes = [largest(&net.keys), largest(&net.queries)];
        agree_with_sizes(&net.on(&mut Bench::cpu(Precision::F64, 64)), &expected, sizes, 1e-10, "in f64");
        for (mut bench, what) in [(Bench::cpu(Precision::F32, 64), "in f32"), (Bench::gpu(64), "on the adapter")] {
            agree_with_sizes(&net.on(&mut bench), &expected, sizes, 1e-2, what);
            // Whatever the weights are, they sum up to 1.
            let ones = Net { values: vec![1.0; net.values.len()], ..net.clone() };
            let (results, _) = ones.forward(&mut bench);
            assert!(results.iter().all(|value| (value - 1.0).abs() < 1e-6), "{what}: weights don't sum up to 1");
        }
    }
}

#[test]
fn what_is_passed_on_agrees_with_central_differences() {
    for causal in [false, true] {
        let net = Net::new([2, 7, 9, 5, 6], causal, 2.0);
        let mut bench = Bench::cpu(Precision::F64, 16);
        let outcome = net.on(&mut bench);
        let mut loss = |net: &Net| net.forward(&mut bench).0.iter().zip(&net.slopes).map(|(result, slope)| result * slope).sum::<f64>();
        type Input = fn(&mut Net) -> &mut Vec<f64>;
        let inputs: [(&str, Input, &Vec<f64>); 3] = [
            ("dQ", |net| &mut net.queries, &outcome.of_queries),
            ("dK", |net| &mut net.keys, &outcome.of_keys),
            ("dV", |net| &mut net.values, &outcome.of_values),
        ];
        for (name, input, slopes) in inputs {
            for (i, slope) in slopes.iter().enumerate() {
                let mut at = |offset: f64| {
                    let mut moved = net.clone();
                    input(&mut moved)[i] += offset;
                    loss(&moved)
                };
                let step = 1e-5;
                let difference = (at(step) - at(-step)) / (2.0 * step);
                assert!((difference - slope).abs() < 1e-8, "{name}[{i}], causal {causal}: {slope} and not {difference}");
            }
        }
    }
}

/// What is no number in a query stays none in its result, and goes nowhere else.
#[test]
fn a_nan_stays_in_its_row() {
    let mut net = Net::new([1, 40, 50, 3, 4], false, 1.0);
    net.queries[3 * 7 + 1] = f64::NAN;
    for precision in [Precision::F32, Precision::F64] {
        let (results, logarithms) = net.forward(&mut Bench::cpu(precision, 64));
        for (query, (result, logarithm)) in results.chunks(4).zip(logarithms).enumerate() {
            let is_none = result.iter().all(|value| value.is_nan()) && logarithm.is_nan();
            let is_some = result.iter().all(|value| value.is_finite()) && logarithm.is_finite();
            assert!(if query == 7 { is_none } else { is_some }, "query {query}: {result:?}, {logarithm}");
        }
    }
}

#[test]
fn what_no_dispatch_can_do_is_refused() {
    let of = Net::new([2, 3, 4, 5, 6], false, 1.0).of;
    let limits = Limits::SMALL;
    let all = |of: Attention| [of.forward(&limits), of.of_queries(&limits), of.of_keys(&limits)];
    assert!(all(of).iter().all(Option::is_some));
    for wrong in [Attention { keys: 0, ..of }, Attention { depth: 0, ..of }, Attention { batches: u32::MAX, ..of }] {
        assert!(all(wrong).iter().all(Option::is_none), "{wrong:?}");
    }
    let windows = Windows { outer: 9, length: 9, inner: 9, count: 7, size: 3, step: 1, dilation: 1 };
    assert!(windows.fold(&limits).is_some() && Windows { outer: u32::MAX, ..windows }.fold(&limits).is_none());
    assert!(sum_rows(9, 9, &limits).is_some() && sum_rows(u32::MAX, 2, &limits).is_none());
}
