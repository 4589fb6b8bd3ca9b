//! Every static kernel three times: its CPU twin in f64 (held to plain formulas), the twin in f32, and the shader.
//!
//! `VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json XDG_RUNTIME_DIR=/tmp cargo test --test twins`
//!
//! Without an adapter these tests fail. The input is new in every run; a failure names the seed, and
//! `LEASTWISE_TEST_SEED=… cargo test --test twins` has the same input again. With `-- --nocapture`, the largest error
//! of every kernel is printed.

pub mod cases;
pub mod harness;
mod semidefinite;
mod special;
pub mod value;

use crate::support::{is_full, repeated};
use cases::cases;
use harness::{Bench, Case, judge};
use leastwise::device::{Access, KernelSource, Limits, Precision};
use leastwise::kernels::StaticKernel;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use value::Random;

/// Around the sizes of workgroups; the largest has several time slices on a CPU and a 2-D grid within small limits.
const SIZES: [usize; 11] = [0, 1, 63, 64, 65, 255, 256, 257, 1000, 5003, 20_011];

/// The same, with one size on each side of a workgroup.
const QUICK_SIZES: [usize; 6] = [0, 1, 65, 257, 5003, 20_011];

fn sizes() -> &'static [usize] {
    if is_full() { &SIZES } else { &QUICK_SIZES }
}

/// Sizes that a GPU is given: an adapter in software plays a lane after the other.
fn sizes_on_gpu(limits: Limits) -> &'static [usize] {
    match (is_full(), limits == Limits::SMALL) {
        (true, _) => &SIZES,
        (_, true) => &[0, 1000, 65, 20_011, 1, 5003],
        _ => &[257, 0, 1000, 1],
    }
}

/// Limits that `npm test` holds a kernel to: those of WebGPU or small ones, others in the next run. Most of the time goes into compiling a shader for
/// a workgroup's size.
fn is_held_to(limits: Limits, kernel: StaticKernel, seed: u64) -> bool {
    is_full() || (limits == Limits::SMALL) == ((seed >> 8) + kernel as u64).is_multiple_of(2)
}

/// Of these sizes every kernel has all in `npm run test:full`, and two that differ from run to run, neighbours in the list, in `npm test`.
fn share(sizes: &[usize], kernel: StaticKernel, seed: u64) -> Vec<usize> {
    if is_full() {
        return sizes.to_vec();
    }
    let first = (seed % sizes.len() as u64) as usize + kernel as usize;
    (first..first + 2).map(|place| sizes[place % sizes.len()]).collect()
}

/// How far the f64 twin may be from plain formulas in f64.
const REFERENCE_BOUND: f64 = 1e-12;

/// How far kernels in double-floats may be from the f64 twins.
const DOUBLES_BOUND: f64 = 1e-10;

/// New in every run, unless it is given; the same for all tests of one run.
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let given = std::env::var("LEASTWISE_TEST_SEED").ok().map(|seed| seed.parse().expect("LEASTWISE_TEST_SEED is a number"));
        given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock after 1970");
            now.as_nanos() as u64
        })
    })
}

/// All cases of these sizes, each with what identifies it in a message.
fn every_case(seed: u64, group_size: usize, sizes: &[usize]) -> impl Iterator<Item = (Case, String)> {
    every_case_of(seed, group_size, move |_| sizes.to_vec())
}

/// All cases of the sizes that a kernel is to have.
fn every_case_of(seed: u64, group_size: usize, sizes: impl Fn(StaticKernel) -> Vec<usize>) -> impl Iterator<Item = (Case, String)> {
    let of = move |kernel: &'static StaticKernel, size: usize| {
        let mut random = Random::new(seed, &format!("{kernel:?} {size}"));
        cases(*kernel, size, group_size, &mut random).into_iter().map(move |case| {
            let what = format!("LEASTWISE_TEST_SEED={seed}, `{}`, {}, size {size}", kernel.name(), case.name);
            (case, what)
        })
    };
    StaticKernel::ALL.iter().flat_map(move |kernel| sizes(*kernel).into_iter().flat_map(move |size| of(kernel, size)))
}

fn agree(limits: Limits) {
    let [mut reference, mut single, mut gpu] = Bench::all(limits);
    let group_size = gpu.group_size();
    let mut worst: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
    let seed = seed();
    let sizes = |kernel| if is_held_to(limits, kernel, seed) { share(sizes_on_gpu(limits), kernel, seed) } else { Vec::new() };
    for (case, what) in every_case_of(seed, group_size, sizes) {
        let mut note = |bench: &Bench, bound: f64, error: Result<f64, String>| {
            let error = error.unwrap_or_else(|error| panic!("{what}, {}: {error}", bench.name));
            assert!(error <= bound, "{what}, {}: an error of {error:e}, where {bound:e} is allowed", bench.name);
            let entry = worst.entry((case.kernel.name(), bench.name)).or_insert((0.0, bound));
            entry.0 = entry.0.max(error);
        };
        let expected = reference.run(&case, false).0;
        note(&reference, REFERENCE_BOUND, judge(&case, &expected, None));
        for bench in [&mut single, &mut gpu] {
            let outcome = bench.run(&case, false).0;
            note(bench, case.bound, judge(&case, &outcome, Some(&expected)));
        }
    }
    for ((kernel, device), (error, bound)) in worst {
        println!("workgroups of {group_size}, {kernel:14} {device:10}: {error:8.1e} of {bound:e}");
    }
}

#[test]
fn twins_agree_within_webgpus_limits() {
    agree(Limits::WEBGPU);
}

#[test]
fn twins_agree_within_small_limits() {
    agree(Limits::SMALL);
}

/// In sums of two f32s, as exactly as is promised of them.
#[test]
fn kernels_of_solvers_in_double_floats_agree_with_f64() {
    let mut doubles = Bench::doubles();
    let group_size = doubles.group_size();
    let mut reference = Bench::cpu(Precision::F64, doubles.device.limits());
    let mut worst: BTreeMap<&str, f64> = BTreeMap::new();
    let seed = seed();
    for kernel in StaticKernel::ALL.iter().filter(|kernel| kernel.has_doubles()) {
        for size in share(&[257, 0, 1000, 1, 65], *kernel, seed) {
            let mut random = Random::new(seed, &format!("{kernel:?} {size}"));
            for case in cases(*kernel, size, group_size, &mut random) {
                let what = format!("LEASTWISE_TEST_SEED={seed}, `{}`, {}, size {size}", kernel.name(), case.name);
                let expected = reference.run(&case, false).0;
                let error = judge(&case, &doubles.run(&case, false).0, Some(&expected)).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(error <= DOUBLES_BOUND, "{what}: an error of {error:e}");
                let entry = worst.entry(kernel.name()).or_insert(0.0);
                *entry = entry.max(error);
            }
        }
    }
    println!("{worst:?}");
}

/// What a case's size is drawn from is new in every run: no draw may be more than small limits have room for.
#[test]
fn every_case_fits_small_limits() {
    let room = (Limits::SMALL.buffer_bytes / 4) as usize;
    let seeds = std::env::var("LEASTWISE_TEST_DRAWS").map_or(2, |draws| draws.parse().expect("LEASTWISE_TEST_DRAWS is a number"));
    for draw in 0..seeds {
        for (case, what) in every_case(seed().wrapping_add(draw), 64, sizes()) {
            assert!(case.longest_buffer() <= room, "{what}: {} of {room} numbers", case.longest_buffer());
        }
    }
}

#[test]
fn every_binding_of_every_kernel_is_tested() {
    let mut random = Random::new(seed(), "bindings");
    for kernel in StaticKernel::ALL {
        // Of one draw nothing may be left to be written.
        let cases: Vec<Case> = (0..8).flat_map(|_| cases(*kernel, 65, 64, &mut random)).collect();
        for (slot, access) in KernelSource::of_static(*kernel).access().into_iter().enumerate() {
            let name = kernel.name();
            assert!(cases.iter().all(|case| case.binds(slot) == (access != Access::Unused)), "`{name}`, binding {slot}: {access:?}");
            let written = cases.iter().any(|case| case.expects_in(slot));
            assert_eq!(written, access == Access::ReadWrite, "`{name}`, binding {slot}: {access:?}");
        }
    }
}

#[test]
fn time_slices_change_no_bit() {
    for (precision, limits) in [(Precision::F32, Limits::SMALL), (Precision::F64, Limits::SMALL), (Precision::F32, Limits::WEBGPU)] {
        let mut bench = Bench::cpu(precision, limits);
        for (case, what) in every_case(seed(), bench.group_size(), sizes()) {
            let (whole, _) = bench.run(&case, false);
            let judged = judge(&case, &whole, None);
            assert!(judged.as_ref().is_ok_and(|error| *error <= case.bound), "{what}, {}: {judged:?}", bench.name);
            let (sliced, interrupted) = bench.run(&case, true);
            // What is heavy begins with a workgroup a thread.
            let heavy = (bench.group_size() * rayon::current_num_threads()) as u32;
            let slice = if case.kernel.is_heavy() { heavy } else { 8192 };
            assert_eq!(interrupted, case.items() > slice, "{what}");
            for ((slot, whole), (_, sliced)) in whole.iter().zip(&sliced) {
                let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                assert!(bits(whole) == bits(sliced), "{what}, {}: slot {slot} differs", bench.name);
            }
        }
    }
}

#[test]
fn threads_change_no_bit() {
    let seed = seed();
    let bits_on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let mut bench = Bench::cpu(Precision::F64, Limits::WEBGPU);
            let large = every_case(seed, bench.group_size(), sizes()).filter(|(case, _)| case.items() > 16_384);
            let bits = |(case, what): (Case, String)| {
                let outcome = bench.run(&case, false).0;
                (what, outcome.into_iter().flat_map(|(_, values)| values).map(f64::to_bits).collect::<Vec<_>>())
            };
            large.map(bits).collect::<Vec<_>>()
        })
    };
    let alone = bits_on(1);
    assert!(alone.len() >= 8, "only {} kernels are spread over threads", alone.len());
    for threads in [2, 3] {
        for ((what, one), (_, several)) in alone.iter().zip(bits_on(threads)) {
            assert!(*one == several, "{what}: {threads} threads differ from one");
        }
    }
}

#[test]
fn a_guard_stops_a_kernel() {
    for &limits in repeated(&[Limits::SMALL, Limits::WEBGPU], 1) {
        for mut bench in Bench::all(limits) {
            for (case, what) in every_case(seed(), bench.group_size(), if is_full() { &SIZES } else { &[1, 257] }) {
                let Some(stopped) = case.stopped() else { continue };
                let outcome = bench.run(&stopped, false).0;
                judge(&stopped, &outcome, None).unwrap_or_else(|error| panic!("{what}, {}, stopped: {error}", bench.name));
            }
        }
    }
}
