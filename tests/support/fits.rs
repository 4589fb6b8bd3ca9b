//! Fits of a Gaussian peak on a background, in every layout, and how any device's are compared with those of the CPU in f64.

use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Limits, Playing, Precision, Signal};
use leastwise::expr::{Expr, Graph, Unary};
use leastwise::fits::{Candidates, FitData, FitSet, Fitting, From, Options, Values};
use leastwise::problem::Loss;
use leastwise::program::fit::{fit_parameter, fit_state, fit_variable};
use leastwise::program::{FitLayout, FitModel, FitWeights, Likelihood};

/// Uniform numbers and, by Box and Muller, normal ones.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ a >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((b ^ b >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    pub fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Σ a exp(−½ ((x − μ)/σ)²) + b over some peaks, of the parameters a, μ, σ of each, then b, and the variable x.
pub fn bells(graph: &mut Graph, peaks: u32) -> Expr {
    let x = graph.leaf(fit_variable(0));
    let mut sum = None;
    for peak in 0..peaks {
        let [a, mu, sigma] = [0, 1, 2].map(|number| graph.leaf(fit_parameter(3 * peak + number)));
        let distance = graph.sub(x, mu);
        let ratio = graph.div(distance, sigma);
        let square = graph.square(ratio);
        let exponent = graph.times(square, -0.5);
        let bell = graph.unary(Unary::Exp, exponent);
        let height = graph.mul(a, bell);
        sum = Some(sum.map_or(height, |sum| graph.add(sum, height)));
    }
    let b = graph.leaf(fit_parameter(3 * peaks));
    graph.add(sum.expect("a peak"), b)
}

pub fn bell_at([a, mu, sigma, b]: [f64; 4], x: f64) -> f64 {
    a * (-0.5 * ((x - mu) / sigma).powi(2)).exp() + b
}

/// The same of several peaks.
pub fn bells_at(values: &[f64], x: f64) -> f64 {
    let (peaks, b) = values.as_chunks::<3>();
    peaks.iter().map(|[a, mu, sigma]| bell_at([*a, *mu, *sigma, 0.0], x)).sum::<f64>() + b[0]
}

/// A layout and likelihood to be tried.
pub struct Scene {
    pub name: &'static str,
    /// Peaks, each on 24 points: three parameters each, and one for all.
    pub peaks: u32,
    pub free: Vec<u32>,
    pub shared: bool,
    pub weights: FitWeights,
    pub ragged: bool,
    /// 0: none; 1: one for all; 2: one for each fit.
    pub bounds: u32,
    pub likelihood: Likelihood,
}

pub fn scenes() -> Vec<Scene> {
    let robust = |loss: Loss| Likelihood::LeastSquares(Some((loss.kind, loss.parameters)));
    let plain = || Likelihood::LeastSquares(None);
    let all = vec![0, 1, 2, 3];
    vec![
        Scene {
            name: "plain",
            peaks: 1,
            free: all.clone(),
            shared: true,
            weights: FitWeights::None,
            ragged: false,
            bounds: 0,
            likelihood: plain(),
        },
        Scene {
            name: "weights",
            peaks: 1,
            free: all.clone(),
            shared: false,
            weights: FitWeights::Each,
            ragged: true,
            bounds: 1,
            likelihood: plain(),
        },
        Scene {
            name: "bounds",
            peaks: 1,
            free: all.clone(),
            shared: true,
            weights: FitWeights::Shared,
            ragged: true,
            bounds: 2,
            likelihood: plain(),
        },
        Scene {
            name: "fixed",
            peaks: 1,
            free: vec![0, 1],
            shared: false,
            weights: FitWeights::None,
            ragged: false,
            bounds: 0,
            likelihood: plain(),
        },
        Scene {
            name: "huber",
            peaks: 1,
            free: all.clone(),
            shared: true,
            weights: FitWeights::None,
            ragged: false,
            bounds: 1,
            likelihood: robust(Loss::huber(1.0).unwrap()),
        },
        Scene {
            name: "cauchy",
            peaks: 1,
            free: vec![0, 1, 3],
            shared: true,
            weights: FitWeights::None,
            ragged: true,
            bounds: 0,
            likelihood: robust(Loss::cauchy(6.0).unwrap()),
        },
        Scene {
            name: "poisson",
            peaks: 1,
            free: all,
            shared: true,
            weights: FitWeights::None,
            ragged: false,
            bounds: 1,
            likelihood: Likelihood::Poisson,
        },
    ]
}

/// Fits of more parameters than a thread has registers for: 13, 13 again, 14 of 16, 15 of 16, 31, and the most, 32 of 34.
pub fn wide_scenes() -> Vec<Scene> {
    let [plain, weights, bounds, _, huber, _, poisson] = <[Scene; 7]>::try_from(scenes()).ok().unwrap();
    let wide = |scene: Scene, peaks: u32, fixed: &[u32]| Scene {
        peaks,
        free: (0..=3 * peaks).filter(|number| !fixed.contains(number)).collect(),
        ..scene
    };
    let most = Scene { name: "most", shared: false, ..scenes().remove(0) };
    vec![
        wide(plain, 4, &[]),
        wide(weights, 4, &[]),
        wide(bounds, 5, &[0, 7]),
        wide(huber, 5, &[15]),
        wide(poisson, 10, &[]),
        wide(most, 11, &[3, 33]),
    ]
}

/// Where the stretch of a peak begins, for its place; 0 for other parameters.
fn begin_of(number: u32) -> f64 {
    if number % 3 == 1 { f64::from(number / 3) * 12.0 } else { 0.0 }
}

/// Numbers of a scene's fits.
pub struct Sample {
    pub count: u32,
    pub points: u32,
    pub data: Vec<f64>,
    pub start: Vec<f64>,
    pub bounds: Vec<f64>,
    pub offsets: Vec<u32>,
    /// Of each fit its x, y and weights.
    pub each: Vec<Vec<[f64; 3]>>,
}

impl Scene {
    pub fn layout(&self) -> FitLayout {
        FitLayout {
            parameters: 3 * self.peaks + 1,
            free: self.free.clone(),
            variables: vec![self.shared],
            weights: self.weights,
            ragged: self.ragged,
            bounded: self.bounds > 0,
        }
    }

    pub fn fitting(&self) -> Fitting {
        let mut graph = Graph::new();
        let value = bells(&mut graph, self.peaks);
        Fitting::new(&FitModel { graph: &graph, value, likelihood: &self.likelihood }, self.layout()).unwrap()
    }

    /// Peaks of different heights, places and widths with noise; numbers are what f32 has.
    pub fn sample(&self, count: u32, noise: &mut Noise) -> Sample {
        let single = |x: f64| f64::from(x as f32);
        let (peaks, points) = (self.peaks, 24 * self.peaks as usize);
        let is_poisson = self.likelihood == Likelihood::Poisson;
        let grid: Vec<f64> = (0..points).map(|k| single(k as f64 / 2.0)).collect();
        let mut weights: Vec<f64> = (0..points).map(|_| single(noise.between(0.5, 2.0))).collect();
        let (mut each, mut offsets) = (Vec::new(), vec![0]);
        let (mut start, mut bounds) = (vec![Vec::new(); 3 * peaks as usize + 1], vec![Vec::new(); 2 * self.free.len()]);
        for _ in 0..count {
            // Each peak has a stretch of 12.
            let mut truth = Vec::new();
            for peak in 0..peaks {
                truth.extend([noise.between(20.0, 60.0), begin_of(3 * peak + 1) + noise.between(4.0, 8.0), noise.between(1.0, 2.0)]);
            }
            truth.push(noise.between(2.0, 6.0));
            let here = if self.ragged { points - 6 + (noise.uniform() * 7.0) as usize } else { points };
            let first = if here < points { (noise.uniform() * (points - here) as f64) as usize } else { 0 };
            let fit: Vec<[f64; 3]> = (0..here)
                .map(|k| {
                    let x = if self.shared { grid[k] } else { single(grid[first + k] + noise.between(-0.1, 0.1)) };
                    let exact = bells_at(&truth, x);
                    let y =
                        if is_poisson { (exact + exact.sqrt() * noise.normal()).round().max(0.0) } else { single(exact + noise.normal()) };
                    if self.weights == FitWeights::Each {
                        weights[k] = single(noise.between(0.5, 2.0));
                    }
                    [x, y, if self.weights == FitWeights::None { 1.0 } else { weights[k] }]
                })
                .collect();
            offsets.push(offsets[offsets.len() - 1] + here as u32);
            for (number, (column, truth)) in (0..).zip(start.iter_mut().zip(&truth)) {
                let begin = begin_of(number);
                column.push(single(if self.free.contains(&number) { begin + (truth - begin) * noise.between(0.9, 1.1) } else { *truth }));
            }
            for (j, &number) in self.free.iter().enumerate() {
                let truth = truth[number as usize];
                // Now and then beside the minimum.
                let tight = if noise.uniform() < 0.2 { 1.02 } else { 3.0 };
                bounds[j].push(single(if self.bounds == 2 { truth / 3.0 } else { 0.25 }));
                bounds[self.free.len() + j].push(single(if self.bounds == 2 { truth * tight } else { 58.0 + begin_of(number) }));
            }
            each.push(fit);
        }
        let column = |k: usize| each.iter().flatten().map(move |point: &[f64; 3]| point[k]);
        let mut data: Vec<f64> = if self.shared { grid } else { Vec::new() };
        data.extend(column(1));
        match self.weights {
            FitWeights::None => {}
            FitWeights::Shared => data.extend(&weights),
            FitWeights::Each => data.extend(column(2)),
        }
        if !self.shared {
            data.extend(column(0));
        }
        let bounds = match self.bounds {
            0 => Vec::new(),
            1 => bounds.iter().map(|column| column[0]).collect(),
            _ => bounds.concat(),
        };
        let offsets = if self.ragged { offsets } else { Vec::new() };
        Sample { count, points: points as u32, data, start: start.concat(), bounds, offsets, each }
    }

    /// F at values of the parameters, in plain f64.
    pub fn cost(&self, points: &[[f64; 3]], values: &[f64]) -> f64 {
        let part = |&[x, y, w]: &[f64; 3]| {
            let f = bells_at(values, x);
            let s = (f - y).powi(2);
            match &self.likelihood {
                Likelihood::Poisson => w * (f - y + if y > 0.0 { y * (y / f).ln() } else { 0.0 }),
                Likelihood::LeastSquares(None) => 0.5 * w * s,
                Likelihood::LeastSquares(Some((_, p))) if self.name == "huber" => {
                    0.5 * w * if s <= p[0] * p[0] { s } else { 2.0 * p[0] * s.sqrt() - p[0] * p[0] }
                }
                Likelihood::LeastSquares(Some((_, p))) => 0.5 * w * p[0] * p[0] * (s / (p[0] * p[0])).ln_1p(),
            }
        };
        points.iter().map(part).sum()
    }
}

impl Sample {
    pub fn data(&self) -> FitData<'_> {
        let Sample { count, points, data, start, bounds, offsets, .. } = self;
        FitData { count: *count, points: *points, data: Values::Doubles(data), start, bounds, offsets }
    }
}

/// Goes on to the end of what is on its way.
pub fn finished(device: &mut Device, set: &mut FitSet) -> Vec<f64> {
    loop {
        match set.resume(device, f64::INFINITY).unwrap() {
            Some(Playing::Finished(values)) => break values,
            Some(Playing::Waiting(signal)) => wait(device, &signal),
            Some(Playing::Yielded) | None => {}
        }
    }
}

/// The CPU, with its own limits.
pub fn cpu_device(precision: Precision) -> Device {
    Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()))
}

/// The same on so many threads.
pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// Numbers are the same to the bit.
pub fn assert_same_bits(a: &[f64], b: &[f64], what: &str) {
    assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()), "{what}");
}

/// Goes on to the end in the shortest time slices; also gives their number.
pub fn finished_in_slices(device: &mut Device, set: &mut FitSet) -> (Vec<f64>, usize) {
    let mut slices = 0;
    loop {
        if let Some(Playing::Finished(values)) = set.resume(device, 0.0).unwrap() {
            return (values, slices);
        }
        slices += 1;
    }
}

/// Neither the numbers of threads and lanes nor time slices change a bit of so many fits on the CPU.
pub fn bits_are_those_of_one_thread(scene: &Scene, count: u32) {
    let (fitting, sample) = (scene.fitting(), scene.sample(count, &mut Noise::new(3)));
    for precision in [Precision::F32, Precision::F64] {
        let [whole, threaded] = [1, 3].map(|threads| on_threads(threads, || cpu_device(precision).run_fits(&fitting, &sample)));
        assert_same_bits(&whole, &threaded, "threads");
        let mut device = Device::Cpu(CpuDevice::new(precision, Limits { group_size: 16, ..CpuDevice::default_limits() }));
        let mut set = fitting.set(&mut device, &sample.data()).unwrap();
        set.begin(&mut device, From::Start, &Candidates::NONE, &Options::default()).unwrap();
        let (_, slices) = finished_in_slices(&mut device, &mut set);
        let sliced = fields(&mut device, &mut set);
        set.free(&mut device);
        assert!(slices > 5 && device.counters().bytes_live == 0, "{slices} slices");
        assert_same_bits(&whole, &sliced, "slices");
    }
}

/// Fields of all fits after a run.
pub fn run(device: &mut Device, set: &mut FitSet, from: From, candidates: &Candidates, options: &Options) -> Vec<f64> {
    set.begin(device, from, candidates, options).unwrap();
    assert!(finished(device, set).is_empty());
    fields(device, set)
}

/// Fields of all fits.
pub fn fields(device: &mut Device, set: &mut FitSet) -> Vec<f64> {
    set.read(device, 0, set.fields()).unwrap();
    finished(device, set)
}

/// Fields of all fits.
pub fn fitted(device: &mut Device, fitting: &Fitting, sample: &Sample, options: &Options) -> Vec<f64> {
    let mut set = fitting.set(device, &sample.data()).unwrap();
    let values = run(device, &mut set, From::Start, &Candidates::NONE, options);
    set.free(device);
    values
}

fn wait(device: &mut Device, signal: &Signal) {
    device.block_on(signal).unwrap();
}

/// The same fits on a device and on the CPU in f64: same states, values within a part of their standard errors.
pub fn agree(device: &mut Device, reference: &mut Device, scenes: &[Scene], counts: &[u32], part: f64) {
    for scene in scenes {
        let (fitting, layout) = (scene.fitting(), scene.layout());
        for &count in counts {
            let sample = scene.sample(count, &mut Noise::new(u64::from(count)));
            let [found, expected] = [device.run_fits(&fitting, &sample), reference.run_fits(&fitting, &sample)];
            let at = |values: &[f64], field: u32, fit: u32| values[(field * count + fit) as usize];
            let mut limited = 0;
            for fit in 0..count {
                let what = format!("{}, fit {fit} of {count}", scene.name);
                let states = [&found, &expected].map(|values| at(values, layout.state(), fit) as u32);
                // At a kink of a loss a fit may come to its limit.
                if states.contains(&fit_state::LIMIT) {
                    limited += 1;
                    continue;
                }
                assert_eq!(states[0], states[1], "{what}: states");
                assert!([fit_state::CONVERGED, fit_state::AT_BOUND].contains(&states[0]), "{what}: state {}", states[0]);
                for (j, &number) in layout.free.iter().enumerate() {
                    let error = at(&expected, layout.errors() + j as u32, fit);
                    let [value, right] = [&found, &expected].map(|values| at(values, number, fit));
                    let room = part * if error > 0.0 { error } else { right.abs() };
                    assert!((value - right).abs() <= room, "{what}: parameter {number} is {value}, not {right}, whose error is {error}");
                    let own = at(&found, layout.errors() + j as u32, fit);
                    assert!((own - error).abs() <= 0.02 * error, "{what}: error {own} of parameter {number}, not {error}");
                }
                let [cost, right] = [&found, &expected].map(|values| at(values, layout.cost(), fit));
                assert!((cost - right).abs() <= part * (1.0 + right), "{what}: F is {cost}, not {right}");
            }
            // More points have more kinks.
            assert!(1000 * limited <= scene.peaks * count, "{}: {limited} of {count} fits come to the limit", scene.name);
        }
    }
}

/// Fits with the usual options.
pub trait RunFits {
    fn run_fits(&mut self, fitting: &Fitting, sample: &Sample) -> Vec<f64>;
}

impl RunFits for Device {
    fn run_fits(&mut self, fitting: &Fitting, sample: &Sample) -> Vec<f64> {
        fitted(self, fitting, sample, &Options::default())
    }
}

/// Inverse of a matrix, by Gauss and Jordan, with pivots.
pub fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = matrix.len();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|a, b| matrix[*a][k].abs().total_cmp(&matrix[*b][k].abs())).unwrap();
        matrix.swap(k, pivot);
        let scale = matrix[k][k];
        matrix[k].iter_mut().for_each(|entry| *entry /= scale);
        let row = matrix[k].clone();
        for (i, other) in matrix.iter_mut().enumerate() {
            let factor = other[k];
            if i != k {
                other.iter_mut().zip(&row).for_each(|(entry, pivot)| *entry -= factor * pivot);
            }
        }
    }
    matrix.into_iter().map(|row| row[n..].to_vec()).collect()
}
