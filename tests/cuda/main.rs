//! The CUDA backend against the CPU: every static kernel, whole solves, and what it says where it can't be used.
//!
//! `cargo test --features cuda --test cuda` on a machine with an NVIDIA GPU; without one these tests fail.

#[path = "../functions"]
#[allow(dead_code)]
mod functions {
    pub mod harness;
    pub mod samples;
}
#[path = "../fuzz/mod.rs"]
mod fuzz;
mod ranks;
#[path = "../support/mod.rs"]
mod support;
mod tensors;
#[path = "../twins"]
#[allow(dead_code)]
mod twins {
    pub mod cases;
    pub mod harness;
    pub mod value;
}

use functions::harness;
use fuzz::run::{Campaign, Stop};
use leastwise::anneal::code::Code;
use leastwise::anneal::index::{self, Coarse, Index};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::cuda::{CudaDevice, found};
use leastwise::device::{
    Command, Device, DeviceError, Dispatch, KernelId, KernelSource, Kind, Limits, PARAM_WORDS, Precision, Recording, Slice, binding,
};
use leastwise::kernels::StaticKernel;
use leastwise::program::Unary;
use leastwise::session::{Answer, Progress, Session, SolveMode};
use leastwise::solve::{Options, Report, Termination};
use std::collections::BTreeMap;
use support::{Mesh, arap, fresh_seed, read, refusals, solve, step};
use twins::cases::cases;
use twins::harness::{Bench, judge};
use twins::value::Random;

const SIZES: [usize; 9] = [0, 1, 63, 65, 255, 256, 257, 5003, 70_001];

/// How far f64 kernels may be from the CPU's f64 twins: both round, in other orders.
const DOUBLE_BOUND: f64 = 1e-11;

fn device(precision: Precision) -> Device {
    Device::Cuda(Box::new(CudaDevice::open(0, precision).unwrap_or_else(|error| panic!("{error}"))))
}

fn session(precision: Precision) -> Session {
    Session::new(device(precision))
}

/// All static kernels at these sizes, as far as one dispatch goes, on both devices against the CPU; gives how many dispatches had a grid
/// of several rows.
fn agree(mut single: Bench, mut double: Bench, sizes: &[usize]) -> usize {
    let seed = fresh_seed();
    let limits = single.device.limits();
    let mut reference = Bench::cpu(Precision::F64, limits);
    let mut worst: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
    let mut in_rows = 0;
    for kernel in StaticKernel::ALL {
        for size in sizes {
            let mut random = Random::new(seed, &format!("{kernel:?} {size}"));
            for case in cases(*kernel, *size, single.group_size(), &mut random) {
                if u64::from(case.items()) > limits.max_items() {
                    continue;
                }
                in_rows += usize::from(case.items() > limits.groups_per_dimension * limits.group_size);
                let expected = reference.run(&case, false).0;
                for (bench, bound) in [(&mut single, case.bound), (&mut double, DOUBLE_BOUND.min(case.bound))] {
                    let what = format!("LEASTWISE_TEST_SEED={seed}, `{}`, {}, size {size}, {}", kernel.name(), case.name, bench.name);
                    let outcome = bench.run(&case, false).0;
                    let error = judge(&case, &outcome, Some(&expected)).unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert!(error <= bound, "{what}: an error of {error:e}, where {bound:e} is allowed");
                    let entry = worst.entry((kernel.name(), bench.name)).or_insert((0.0, bound));
                    entry.0 = entry.0.max(error);
                }
            }
        }
    }
    for ((kernel, device), (error, bound)) in worst {
        println!("{kernel:16} {device:12}: {error:8.1e} of {bound:e}");
    }
    in_rows
}

#[test]
fn static_kernels_agree_with_their_twins() {
    agree(Bench::new("CUDA in f32", device(Precision::F32)), Bench::new("CUDA in f64", device(Precision::F64)), &SIZES);
}

/// Compiled kernels of the package, which all tests of static kernels have where the environment names their file: NVRTC compiles none.
#[test]
#[ignore = "needs LEASTWISE_IMAGES=kernels.bin of the package leastwise-cuda and an empty LEASTWISE_CACHE: the kit's part `images`"]
fn static_kernels_come_compiled() {
    let images = found().images.expect("LEASTWISE_IMAGES names a file");
    assert!(images.starts_with("compiled by NVRTC 12.9"), "{images}");
    agree(Bench::new("CUDA in f32", device(Precision::F32)), Bench::new("CUDA in f64", device(Precision::F64)), &[257]);
    // NVRTC's images are kept there.
    let cache = std::env::var_os("LEASTWISE_CACHE").expect("LEASTWISE_CACHE names a folder");
    let kept: Vec<_> = std::fs::read_dir(cache).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert!(kept.is_empty(), "{} files: {kept:?}", kept.len());
}

/// Grids of two and three rows, the last one full, ragged, and of one workgroup.
#[test]
fn static_kernels_agree_with_their_twins_on_grids_of_several_rows() {
    let narrow = |precision| {
        let limits = |own| Limits { groups_per_dimension: 3, ..own };
        Device::Cuda(Box::new(CudaDevice::open_within(0, precision, limits).unwrap_or_else(|error| panic!("{error}"))))
    };
    let [single, double] = [narrow(Precision::F32), narrow(Precision::F64)];
    let rows = 3 * single.limits().group_size as usize;
    let (single, double) = (Bench::new("CUDA in f32", single), Bench::new("CUDA in f64", double));
    let in_rows = agree(single, double, &[rows, rows + 1, 2 * rows - 1, 2 * rows + 1, 3 * rows]);
    assert!(in_rows > 2 * StaticKernel::ALL.len(), "only {in_rows} cases had a grid of several rows");
}

/// Residuals and Jacobians of the corpus of `tests/fuzz` within running error bounds; `LEASTWISE_FUZZ_PROGRAMS` says of how many programs.
#[test]
fn random_programs_are_within_error_bounds() {
    let programs = std::env::var("LEASTWISE_FUZZ_PROGRAMS").map_or(500, |text| text.parse().expect("LEASTWISE_FUZZ_PROGRAMS"));
    for precision in [Precision::F64, Precision::F32] {
        // From the first on of those that the CPU is tested with.
        let share = Campaign::new(1 << 32, Stop::After(programs)).gpu(&mut device(precision));
        println!("{programs} programs in {precision:?}: {share:?}");
        assert!(share.known > programs && share.known > 2 * share.unknown, "{precision:?}: too little is known: {share:?}");
        assert!(share.flagged > programs / 100, "{precision:?}: too little was not defined: {share:?}");
    }
}

/// Functions of f32 that have an exponential or a quotient of the hardware instead of WGSL's text, within the bounds of
/// `tests/functions/bounds.rs`.
#[test]
fn functions_of_the_hardware_are_within_their_bounds() {
    let mut device = device(Precision::F32);
    let columns = [functions::samples::one()];
    let bounds = [(Unary::Exp, 2.0), (Unary::Tanh, 2.0), (Unary::Erf, 3.0), (Unary::Sigmoid, 3.0), (Unary::Softplus, 4.0)];
    for (operation, bound) in bounds {
        let results = harness::play(&mut device, harness::unary(operation), &columns);
        let worst = harness::worst(&results, &columns, |x| operation.apply(x[0]));
        assert!(worst.compared > 10_000, "{operation:?}: {} samples", worst.compared);
        assert!(worst.error <= bound, "{operation:?} of {:?} is {:.3} units off, and {bound} are allowed", worst.at, worst.error);
    }
}

/// Through pinned memory in turns: more than all of it, ragged, in pieces that cross from one part of it to the next, and ten thousand
/// little ones.
#[test]
fn uploads_arrive_whole_and_in_order() {
    for precision in [Precision::F64, Precision::F32] {
        let mut device = device(precision);
        let stored = |value: f64| if precision == Precision::F32 { f64::from(value as f32) } else { value };
        for sizes in [vec![1], vec![7_000_003], vec![524_287, 1, 1_048_577, 65_537, 300_000], vec![3; 10_000]] {
            let mut random = support::Random::new(fresh_seed());
            let data: Vec<f64> = (0..sizes.iter().sum()).map(|_| random.between(-1.0, 1.0)).collect();
            let len = data.len() as u32;
            let buffer = device.allocate(Kind::Real, len, "uploads").unwrap();
            let (mut recording, mut offset) = (Recording::new(), 0);
            // What comes later is what stays.
            recording.push(Command::UploadReals { buffer, offset: 0, data: vec![-1.0; len as usize] });
            for size in sizes {
                recording.push(Command::UploadReals { buffer, offset: offset as u32, data: data[offset..offset + size].to_vec() });
                offset += size;
            }
            recording.push(Command::Read { slice: Slice { buffer, offset: 0, len } });
            let before = device.counters().bytes_uploaded;
            let found = device.run(recording).unwrap();
            assert_eq!(device.counters().bytes_uploaded - before, 2 * u64::from(len) * precision.bytes());
            assert!(found.iter().zip(&data).all(|(found, value)| *found == stored(*value)), "{precision:?}, {len} elements");
            device.free(buffer);
        }
    }
}

/// Batches of queries in indices of every code: the distances that the CPU finds, on the device in either precision.
#[test]
fn batches_of_queries_find_what_the_cpu_finds() {
    let (dim, count, asked, k) = (96, 20_000, 700, 10);
    let mut random = support::Random::new(fresh_seed());
    let mut rows = |count: usize| -> Vec<f32> {
        (0..count * dim).map(|i| (random.between(-1.0, 1.0) * 0.98f64.powi((i % dim) as i32)) as f32).collect()
    };
    let (points, queries) = (rows(count), rows(asked));
    let centroids = points[..64 * dim].to_vec();
    let distance = |row: &[f32], centroid: &[f32]| row.iter().zip(centroid).map(|(x, c)| (x - c) * (x - c)).sum::<f32>();
    let nearest = |row: &[f32]| {
        let all = centroids.chunks_exact(dim).map(|centroid| distance(row, centroid));
        all.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |nearest| nearest.0 as u32)
    };
    let labels: Vec<u32> = points.chunks_exact(dim).map(nearest).collect();
    for code in Code::ALL {
        let coarse = Coarse { centroids: centroids.clone(), labels: labels.clone() };
        let index = Index::build(&points, dim, coarse, &index::Options { code, ..index::Options::default() }).unwrap();
        let file = index.save();
        for precision in [Precision::F32, Precision::F64] {
            let mut session = session(precision);
            let opened = session.open_index(&file).unwrap();
            for probes in [None, Some(9)] {
                let expected = index.search(&queries, k, probes, None).unwrap();
                let found = [0, 1].map(|_| {
                    let task = session.search_index(opened, queries.to_vec(), k as u32, probes, None, None).unwrap();
                    let Progress::Answer(Answer::Hits(hits)) = support::finish(&mut session, task, |_| {}) else { panic!("no hits") };
                    hits
                });
                assert_eq!((found[0].by.backend, &found[0].by.reason), ("cuda", &None), "{code:?} in {precision:?}");
                assert!(found[0] == found[1], "{code:?} in {precision:?}: two searches of the same differ");
                let same = found[0].ids.iter().zip(&expected.ids).filter(|(a, b)| a == b).count();
                assert!(
                    code == Code::None || same > asked * k * 99 / 100,
                    "{code:?} in {precision:?}: only {same} neighbours are the same"
                );
                let is_off = |(found, expected): &(&f32, &f32)| (*found - *expected).abs() > 1e-4 * *expected;
                // A centroid as near as the next by rounding may be probed in place of it: then all neighbours of a query may be others.
                let room = if probes.is_some() { 2 * k } else { 0 };
                let off: Vec<_> = found[0].distances.iter().zip(&expected.distances).filter(is_off).collect();
                assert!(off.len() <= room, "{code:?} in {precision:?}: {off:?}");
            }
        }
    }
}

/// Several batches of queries, of a number of components that is no multiple of 4: rows that a library multiplies are longer than they are read. With one probe of many
/// lists nothing is left to it.
#[test]
fn several_batches_find_what_the_cpu_finds() {
    let (dim, count, asked, k) = (37, 6000, 9301, 5);
    let mut random = support::Random::new(fresh_seed());
    let mut rows = |count: usize| -> Vec<f32> { (0..count * dim).map(|_| random.between(-1.0, 1.0) as f32).collect() };
    let (points, queries) = (rows(count), rows(asked));
    let mut session = session(Precision::F32);
    for (code, lists) in [(Code::Int8, 1), (Code::Int8, 500), (Code::F32, 1), (Code::F32, 500)] {
        let coarse = Coarse { centroids: points[..lists * dim].to_vec(), labels: Vec::new() };
        let index = Index::build(&points, dim, coarse, &index::Options { code, ..index::Options::default() }).unwrap();
        let opened = session.open_index(&index.save()).unwrap();
        for probes in [None, Some(1)] {
            let what = format!("{code:?}, {lists} lists, probes {probes:?}");
            let expected = index.search(&queries, k, probes, None).unwrap();
            let task = session.search_index(opened, queries.clone(), k as u32, probes, None, None).unwrap();
            let Progress::Answer(Answer::Hits(found)) = support::finish(&mut session, task, |_| {}) else { panic!("no hits") };
            assert_eq!((found.by.backend, &found.by.reason, found.ids.len()), ("cuda", &None, asked * k), "{what}");
            let same = found.ids.iter().zip(&expected.ids).filter(|(a, b)| a == b).count();
            assert!(same > asked * k * 995 / 1000, "{what}: only {same} neighbours are the same");
            let is_off = |(found, expected): &(&f32, &f32)| (*found - *expected).abs() > 1e-4 * *expected;
            let off = found.distances.iter().zip(&expected.distances).filter(is_off).count();
            // A centroid as near as the next by rounding may be probed in place of it.
            assert!(off <= if probes.is_some() { 10 * k } else { 0 }, "{what}: {off} distances are others");
        }
    }
}

fn tight() -> Options {
    Options { cost_tolerance: Some(1e-7), max_iterations: Some(200.0), ..Options::default() }
}

fn solved(session: &mut Session, mesh: &Mesh) -> (Report, Vec<f64>) {
    let (problem, x) = arap(session, mesh);
    let report = solve(session, problem, &tight());
    let positions = read(session, problem, x);
    (report, positions)
}

#[test]
fn a_solve_ends_where_the_cpus_does_and_repeats_to_the_bit() {
    let mesh = Mesh::icosphere(4).normalized();
    let (expected, positions) = solved(&mut support::cpu(Precision::F64), &mesh);
    for (precision, bound) in [(Precision::F32, 1e-5), (Precision::F64, 1e-9)] {
        let runs = [0, 1].map(|_| solved(&mut session(precision), &mesh));
        for (report, found) in &runs {
            assert_eq!(report.termination, Termination::Converged, "{precision:?}: {}", report.reason);
            assert_eq!(report.backend, "cuda");
            assert!((report.cost - expected.cost).abs() <= bound * expected.cost, "{precision:?}: {} and {}", report.cost, expected.cost);
            assert_eq!(report.counters.readbacks, report.iterations.len() as u64 + 1, "{precision:?}");
            let farthest = found.iter().zip(&positions).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(farthest < 2e-2, "{precision:?}: {farthest}");
        }
        let bits = |run: &(Report, Vec<f64>)| run.1.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(bits(&runs[0]) == bits(&runs[1]), "{precision:?}: two solves of the same differ");
    }
}

#[test]
fn live_steps_read_nothing_back() {
    let mesh = Mesh::icosphere(3).normalized();
    let mut session = session(Precision::F32);
    let (problem, _) = arap(&mut session, &mesh);
    let solver = session.solver(problem, &Options::default()).unwrap();
    // Before its kernels are there, a live step does nothing.
    while let Some(signal) = session.compile_live(solver).unwrap() {
        session.device_mut().block_on(&signal).unwrap();
    }
    for _ in 0..30 {
        session.advance(solver, 1, 0.0).unwrap();
    }
    assert_eq!(session.device().counters().readbacks, 0);
    let task = session.report(solver).unwrap();
    let Progress::Report(report) = support::finish(&mut session, task, |_| {}) else { panic!("no report") };
    let expected = solved(&mut support::cpu(Precision::F64), &mesh).0;
    assert!(report.cost < 1.05 * expected.cost, "{} and {}", report.cost, expected.cost);
}

/// A stop ends the inner iterations of the step that is being played: slices end between the chunks of a `Repeat`.
#[test]
fn a_stop_does_not_wait_for_the_inner_iterations() {
    let options = Options { linear: Some("pcg".into()), forcing: Some(1e-12), max_inner_iterations: Some(3000.0), ..Options::default() };
    let begin = || {
        let mut session = session(Precision::F64);
        let (problem, _) = arap(&mut session, &Mesh::icosphere(3));
        let solver = session.solver(problem, &options).unwrap();
        (session, solver)
    };
    let (mut unstopped, solver) = begin();
    let whole = step(&mut unstopped, solver).inner_iterations;
    // After so many inner iterations at least were submitted.
    for least in [1, 8] {
        let (mut session, solver) = begin();
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let (mut seen, mut begun) = (Vec::new(), None);
        let report = loop {
            let rounds = session.device().counters().rounds;
            if begun.is_none() && rounds >= least {
                session.stop(task, "enough");
                begun = Some(rounds);
            }
            match session.resume(task, 0.0).unwrap() {
                Progress::Iteration(iteration) => seen.push(iteration),
                Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
                Progress::Report(report) => break *report,
                _ => {}
            }
        };
        assert_eq!((report.termination, seen.len()), (Termination::Stopped, 1), "{least}: {}", report.reason);
        // What is submitted at a time depends on what a round trip takes. Two submissions may follow.
        let after = session.device().counters().rounds - begun.expect("a stop");
        let inner = seen[0].inner_iterations;
        println!("{least}: {inner} inner iterations of {whole}, {after} after the stop");
        assert!(after <= 2 * 32, "{least}: {after} inner iterations after the stop");
        assert!(least > 1 || inner < whole, "all inner iterations");
    }
}

/// Kernels are compiled when a recording needs them, and none besides; a refusal is told by name to whoever plays the kernel, and to the
/// next one who comes with the text.
#[test]
fn kernels_are_compiled_in_the_background_and_refused_by_name() {
    let mut device = device(Precision::F64);
    let text = |more: &str| format!("{}\n{more}", KernelSource::of_static(StaticKernel::MeasureCopy).texts().unwrap()[0].wgsl);
    let source = |name: &str, text: &str| {
        let copy = KernelSource::of_static(StaticKernel::MeasureCopy);
        KernelSource::new(name, text, copy.access())
    };
    let wait = |device: &mut Device, kernel: KernelId| {
        let bindings = [None; binding::COUNT];
        let named = Dispatch { kernel, bindings, count: 0, single_group: false, words: [0; PARAM_WORDS] };
        let needed = Recording { commands: vec![Command::Dispatch(named)] };
        while let Some(signal) = device.compile(&needed)? {
            device.block_on(&signal)?;
        }
        Ok(())
    };
    let [good, bad] = [source("good", &text("")), source("bad", &text("fn broken() { let x: u32 = 1.5; }"))];
    let before = device.counters().kernels_created;
    let ids = device.kernels(&[bad.clone(), good.clone(), bad.clone()]).unwrap();
    assert_eq!((ids[0], device.counters().kernels_created), (ids[2], before));
    assert_eq!(wait(&mut device, ids[1]), Ok(()));
    assert_eq!(device.counters().kernels_created, before + 1, "nobody needs the other");
    for round in 1..=2 {
        let again = device.kernels(std::slice::from_ref(&bad)).unwrap()[0];
        for _ in 0..2 {
            let Err(DeviceError::Kernel { kernel, message }) = wait(&mut device, again) else { panic!("it was compiled") };
            assert!(kernel == "bad" && message.contains("broken"), "{kernel}: {message}");
        }
        assert_eq!(device.counters().kernels_created, before + 1 + round);
    }
    assert_eq!(device.kernels(&[good]).unwrap(), [ids[1]]);
}

/// While one engine captures graphs and solves, others are opened, allocate, free, load kernels and go.
#[test]
fn engines_beside_each_other_do_not_end_each_others_captures() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let mesh = Mesh::icosphere(3).normalized();
    let expected = solved(&mut session(Precision::F64), &mesh);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let others = [Precision::F64, Precision::F32].map(|precision| {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut opened = 0;
                while !is_over.load(Ordering::Relaxed) || opened < 3 {
                    let mut device = device(precision);
                    device.kernels(&[KernelSource::of_static(StaticKernel::MeasureCopy)]).unwrap();
                    for len in [1, 100, 1_000_000] {
                        let buffer = device.allocate(Kind::Real, len, "beside").unwrap();
                        let read = Command::Read { slice: Slice { buffer, offset: 0, len } };
                        assert!(device.run(Recording { commands: vec![read] }).unwrap().iter().all(|value| *value == 0.0));
                        device.free(buffer);
                    }
                    opened += 1;
                }
                opened
            })
        });
        for _ in 0..20 {
            let (report, positions) = solved(&mut session(Precision::F64), &mesh);
            assert!(report.cost == expected.0.cost && positions == expected.1);
        }
        is_over.store(true, Ordering::Relaxed);
        let opened = others.map(|other| other.join().unwrap());
        println!("{opened:?} devices were opened beside 20 solves");
    });
}

/// A solve with two levels, whose buffers are of the other kind of reals, in either precision.
#[test]
fn two_levels_play_here_too() {
    let options = Options { preconditioner: Some("two-level".into()), ..tight() };
    let mesh = Mesh::icosphere(4).normalized();
    let run = |session: &mut Session| {
        let problem = arap(session, &mesh).0;
        solve(session, problem, &options)
    };
    let expected = run(&mut support::cpu(Precision::F64));
    for (precision, bound) in [(Precision::F32, 1e-5), (Precision::F64, 1e-9)] {
        let report = run(&mut session(precision));
        assert_eq!(report.preconditioner, expected.preconditioner, "{precision:?}");
        assert!((report.cost - expected.cost).abs() <= bound * expected.cost, "{precision:?}: {} and {}", report.cost, expected.cost);
    }
}

#[test]
fn what_is_not_valid_is_refused_in_the_words_of_the_cpu() {
    let narrow = |limits: Limits| Device::Cpu(leastwise::device::cpu::CpuDevice::new(Precision::F32, limits));
    for precision in [Precision::F32, Precision::F64] {
        let mut device = device(precision);
        let mut cpu = narrow(device.limits());
        assert_eq!(refusals::refused(&mut device), refusals::refused(&mut cpu));
    }
}

#[test]
fn what_is_not_there_is_said() {
    let Err(DeviceError::NoCuda(message)) = CudaDevice::open(99, Precision::F64) else { panic!("there are 100 GPUs") };
    assert!(message.contains("no GPU 99"), "{message}");
    let mut device = device(Precision::F64);
    let limits: Limits = device.limits();
    let most = (limits.buffer_bytes / 8) as u32;
    let mut held = Vec::new();
    let refused = loop {
        match device.allocate(Kind::Real, most, "too much") {
            Ok(buffer) => held.push(buffer),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, DeviceError::OutOfMemory { .. }), "{refused}");
    held.into_iter().for_each(|buffer| device.free(buffer));
    // And goes on.
    assert!(device.allocate(Kind::Real, 1000, "a little").is_ok());
}

/// Many small fits in every layout, in both precisions, of few parameters and of many.
#[test]
fn fits_agree_with_the_cpu_in_f64() {
    let mut reference = Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits()));
    for (precision, part) in [(Precision::F32, 0.02), (Precision::F64, 1e-4)] {
        support::fits::agree(&mut device(precision), &mut reference, &support::fits::scenes(), &[1, 63, 257, 5003], part);
        support::fits::agree(&mut device(precision), &mut reference, &support::fits::wide_scenes(), &[1, 65, 400], 2.5 * part);
    }
}
