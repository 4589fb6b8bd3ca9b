//! Products of matrices on the CPU, beside what the processor's registers alone come to.
//!
//! `cargo bench --bench products`

use leastwise::device::cpu::block::{Instructions, SimdKernel};
use leastwise::device::cpu::product::{Factor, Values, multiply_with};
use leastwise::device::cpu::real::Real;
use std::hint::black_box;
use std::time::Instant;

/// Independent chains of products and of sums: enough of them to hide that each waits for the last.
const CHAINS: usize = 6;
const STEPS: usize = 4_000_000;

/// Multiplies and adds, and loads nothing.
struct Registers<R, const LANES: usize> {
    factor: R,
    term: R,
}

impl<R: Real, const LANES: usize> SimdKernel for Registers<R, LANES> {
    #[inline(always)]
    fn run(self) {
        let (mut products, mut sums) = ([[R::ONE; LANES]; CHAINS], [[R::ONE; LANES]; CHAINS]);
        for _ in 0..STEPS {
            for (products, sums) in products.iter_mut().zip(&mut sums) {
                products.iter_mut().for_each(|product| *product = *product * self.factor);
                sums.iter_mut().for_each(|sum| *sum += self.term);
            }
        }
        black_box((products, sums));
    }
}

/// The least of some runs, in seconds.
fn seconds(runs: usize, mut work: impl FnMut()) -> f64 {
    let timed = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed().as_secs_f64()
    };
    (0..runs).map(timed).fold(f64::INFINITY, f64::min)
}

/// Operations of a register in 10⁹ a second.
fn peak<R: Real, const LANES: usize>(instructions: Instructions) -> f64 {
    let task = || Registers::<R, LANES> { factor: black_box(R::ONE), term: black_box(R::from_f64(1e-3)) };
    let operations = (2 * LANES * CHAINS * STEPS) as f64;
    operations / seconds(20, || instructions.run(task())) / 1e9
}

fn numbers<R: Real>(len: usize, seed: u32) -> Vec<R> {
    let mut word = seed;
    let number = |_| {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        R::from_f64(f64::from(word) / f64::from(u32::MAX) - 0.5)
    };
    (0..len).map(number).collect()
}

fn measure<R: Real>(name: &str, instructions: Instructions, peak: f64) {
    println!("{name}: {peak:.1} GFLOP/s in registers, one thread");
    for [m, k, n] in [[512; 3], [1024; 3], [64, 784, 128], [1, 1000, 1000]] {
        let (a, b) = (numbers::<R>(m * k, 1), numbers::<R>(k * n, 2));
        let [a_rows, b_rows] = [(m, k), (k, n)].map(|(rows, stride)| (0..rows).map(|i| (i * stride) as u32).collect::<Vec<_>>());
        let [a_columns, b_columns] = [k, n].map(|columns| (0..columns as u32).collect::<Vec<_>>());
        let [a, b] = [
            Factor { values: Values::Reals(&a), rows: &a_rows, columns: &a_columns },
            Factor { values: Values::Reals(&b), rows: &b_rows, columns: &b_columns },
        ];
        let mut c = vec![R::ZERO; m * n];
        let operations = (2 * m * k * n) as f64;
        let runs = (2e10 / operations).clamp(10.0, 1000.0) as usize;
        let mut on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
            operations / pool.install(|| seconds(runs, || multiply_with(instructions, a, b, &mut c))) / 1e9
        };
        let threads = rayon::current_num_threads();
        let (one, all) = (on(1), on(threads));
        println!("  {m}×{k}×{n}: {one:.1} GFLOP/s, {:.0} % of the peak; {all:.1} on {threads} threads", 100.0 * one / peak);
    }
}

fn main() {
    let best = Instructions::best();
    println!("The processor's best instructions");
    measure::<f32>("f32", best, peak::<f32, 8>(best));
    measure::<f64>("f64", best, peak::<f64, 4>(best));
    println!("Baseline");
    measure::<f32>("f32", Instructions::Baseline, peak::<f32, 4>(Instructions::Baseline));
    measure::<f64>("f64", Instructions::Baseline, peak::<f64, 2>(Instructions::Baseline));
}
