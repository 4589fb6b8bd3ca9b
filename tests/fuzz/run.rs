//! Campaigns: program after program, each from a seed of its own, until a count or a time is reached.

use super::backends::{self, Merged, Share};
use super::check::{Counts, Effort, Outcome, check};
use super::engine::{self, Term};
use super::generate::{Sample, sample};
use super::hostile::{Tally, attack};
use super::modules;
use super::programs;
use super::shrink::{Failing, shrink};
use super::traced::{Point, Traced};
use crate::support::{Random, gpu};
use leastwise::device::{Device, KernelSource, Kind, Precision};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub enum Stop {
    After(u64),
    At(Instant),
}

impl Stop {
    pub fn after_minutes(minutes: f64) -> Self {
        Self::At(Instant::now() + Duration::from_secs_f64(60.0 * minutes))
    }
}

/// Instructions at most of a program that a GPU is given, and of the programs in one kernel: Dawn's and wgpu's compilers take a third
/// of a second a thousand, NVRTC several times as long, but it compiles on all cores at once.
const MOST_INSTRUCTIONS: usize = 500;
const MERGED_ON_WEBGPU: usize = 4_000;
const MERGED_ON_CUDA: usize = 1_000;
const MERGED_IN_DOUBLES: usize = 500;

/// Kernels that are compiled at once: in double-floats each takes as long as many others.
const ROUND: usize = 64;
const ROUND_IN_DOUBLES: usize = 4;

/// Programs of one kernel, each with its seed.
type Batch = Vec<(u64, Sample, Term)>;

pub struct Campaign {
    first: u64,
    next: u64,
    stop: Stop,
    said: Instant,
}

/// A failure of one program: its message, or none where the tape is refused. A panic of the engine is a failure.
fn outcome<T>(work: impl FnOnce() -> Result<T, Outcome>) -> Result<T, Option<String>> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(Outcome::Differs(message))) => Err(Some(message)),
        Ok(Err(_)) => Err(None),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Err(Some(format!("panic: {}", text.unwrap_or_default())))
        }
    }
}

/// Shrinks and reports.
fn fail(seed: u64, sample: Sample, message: String, fails: impl Fn(&Traced, &[Point]) -> Option<String>) -> ! {
    let Sample { traced, points } = sample;
    let smallest = shrink(Failing { traced, points, message }, fails);
    panic!("seed {seed}: {}\n{}", smallest.message, smallest.traced.listing(&smallest.points));
}

impl Campaign {
    pub fn new(first: u64, stop: Stop) -> Self {
        Self { first, next: first, stop, said: Instant::now() }
    }

    /// The next seed; says now and then how far it is.
    fn seed(&mut self, what: &str) -> Option<u64> {
        let goes_on = match self.stop {
            Stop::After(count) => self.next < self.first + count,
            Stop::At(end) => Instant::now() < end,
        };
        if self.said.elapsed() > Duration::from_secs(10) {
            self.said = Instant::now();
            println!("{what}: {} programs, next seed {}", self.next - self.first, self.next);
        }
        self.next += u64::from(goes_on);
        goes_on.then(|| self.next - 1)
    }

    /// Values and derivatives in f64 against the evaluator.
    pub fn values(&mut self) -> Counts {
        let mut counts = Counts::default();
        while let Some(seed) = self.seed("values and derivatives") {
            let sample = sample(&mut Random::new(seed), 4, 24);
            let effort = Effort { differences: seed.is_multiple_of(4), curvatures: seed.is_multiple_of(16) };
            let one = |traced: &Traced, points: &[Point]| match outcome(|| match check(traced, points, effort) {
                Outcome::Agrees(counts) => Ok(counts),
                other => Err(other),
            }) {
                Err(None) if traced == &sample.traced => Err(Some("the reader refuses what the generator wrote".to_string())),
                other => other,
            };
            match one(&sample.traced, &sample.points) {
                Ok(more) => counts += more,
                Err(message) => {
                    let (traced, points) = (sample.traced.clone(), sample.points.clone());
                    let again = Sample { traced, points };
                    fail(seed, again, message.unwrap_or_default(), |traced, points| one(traced, points).err().flatten())
                }
            }
        }
        counts
    }

    /// The six programs of a residual; how many numbers were compared.
    pub fn residuals(&mut self) -> u64 {
        let mut compared = 0;
        while let Some(seed) = self.seed("programs of residuals") {
            let sample = sample(&mut Random::new(seed), 4, 16);
            let one = |traced: &Traced, points: &[Point]| outcome(|| programs::check(traced, points, seed.is_multiple_of(2)));
            match one(&sample.traced, &sample.points) {
                Ok(more) => compared += more,
                Err(message) => fail(seed, sample, message.unwrap_or_default(), |traced, points| one(traced, points).err().flatten()),
            }
        }
        compared
    }

    pub fn cpu(&mut self, precision: Precision) -> Share {
        let mut share = Share::default();
        while let Some(seed) = self.seed("on the CPU") {
            let sample = sample(&mut Random::new(seed), 8, 12);
            let one = |traced: &Traced, points: &[Point]| outcome(|| backends::check(&mut engine::cpu(precision), traced, points));
            match one(&sample.traced, &sample.points) {
                Ok(more) => share += more,
                Err(message) => fail(seed, sample, message.unwrap_or_default(), |traced, points| one(traced, points).err().flatten()),
            }
        }
        share
    }

    /// Programs as WebAssembly; how many numbers were compared.
    pub fn modules(&mut self, precision: Precision) -> u64 {
        let mut compared = 0;
        while let Some(seed) = self.seed("as WebAssembly") {
            let sample = sample(&mut Random::new(seed), 8, 12);
            let one = |traced: &Traced, points: &[Point]| outcome(|| modules::check(traced, points, precision));
            match one(&sample.traced, &sample.points) {
                Ok(more) => compared += more,
                Err(message) => fail(seed, sample, message.unwrap_or_default(), |traced, points| one(traced, points).err().flatten()),
            }
        }
        compared
    }

    pub fn webgpu(&mut self) -> Share {
        self.gpu(gpu(None).device_mut())
    }

    /// In double-floats, within a ten thousand millionth of the running bound.
    pub fn doubles(&mut self) -> Share {
        let mut session = gpu(None);
        let Device::Wgpu(device) = session.device_mut() else { unreachable!("WebGPU was opened") };
        pollster::block_on(device.check_doubles()).expect("a self-check");
        self.gpu_in(session.device_mut(), Kind::Double)
    }

    /// Many programs as one kernel, and many kernels compiled at once.
    pub fn gpu(&mut self, device: &mut Device) -> Share {
        self.gpu_in(device, Kind::Real)
    }

    fn gpu_in(&mut self, device: &mut Device, kind: Kind) -> Share {
        let mut share = Share::default();
        loop {
            let (name, most, kernels) = match (device.backend(), kind) {
                ("cuda", _) => ("on CUDA", MERGED_ON_CUDA, ROUND),
                (_, Kind::Double) => ("in double-floats", MERGED_IN_DOUBLES, ROUND_IN_DOUBLES),
                _ => ("on WebGPU", MERGED_ON_WEBGPU, ROUND),
            };
            let round: Vec<Batch> = std::iter::from_fn(|| self.batch(name, most)).take(kernels).collect();
            if round.is_empty() {
                return share;
            }
            let kernels: Vec<Merged> = round.iter().map(|batch| Merged::new(batch.iter().map(|(_, _, term)| term))).collect();
            let sources: Vec<KernelSource> = kernels.iter().map(|merged| engine::source_in(kind, &merged.program)).collect();
            device.kernels(&sources).expect("kernels");
            for (batch, merged) in round.into_iter().zip(&kernels) {
                share += Self::play(device, kind, batch, merged);
            }
        }
    }

    /// CUDA's text, compiled for the host.
    #[cfg(feature = "cuda")]
    pub fn cuda_on_host(&mut self, precision: Precision) -> Share {
        let mut share = Share::default();
        while let Some(batch) = self.batch("CUDA's text on the host", MERGED_ON_WEBGPU) {
            let merged = Merged::new(batch.iter().map(|(_, _, term)| term));
            let outputs = super::host::play(&merged.program, &merged.memory, precision);
            for (number, (seed, _, term)) in batch.iter().enumerate() {
                let outputs = merged.outputs_of(number, term, &outputs);
                let more = backends::compare(&term.programs.linearize, &term.memory, &outputs, backends::cuda(precision));
                share += more.unwrap_or_else(|message| panic!("seed {seed}: {message}"));
            }
        }
        share
    }

    /// The programs of the next kernel; none at the campaign's end.
    fn batch(&mut self, name: &str, most: usize) -> Option<Batch> {
        let (mut batch, mut instructions) = (Vec::new(), 0);
        while instructions + MOST_INSTRUCTIONS <= most
            && let Some(seed) = self.seed(name)
        {
            let sample = sample(&mut Random::new(seed), 8, 12);
            let term = engine::term(&sample.traced, &sample.points, &[1.0], true).expect("a valid tape");
            let len = term.programs.linearize.instructions.len();
            if len <= MOST_INSTRUCTIONS {
                instructions += len;
                batch.push((seed, sample, term));
            }
        }
        (!batch.is_empty()).then_some(batch)
    }

    pub fn hostile(&mut self) -> Tally {
        let mut tally = Tally::default();
        while let Some(seed) = self.seed("hostile tapes") {
            attack(seed, &mut tally);
        }
        tally
    }

    fn play(device: &mut Device, kind: Kind, batch: Batch, merged: &Merged) -> Share {
        let mut share = Share::default();
        let outputs = engine::play_in(device, kind, &merged.program, &merged.memory);
        for (number, (seed, sample, term)) in batch.into_iter().enumerate() {
            let outputs = merged.outputs_of(number, &term, &outputs);
            match backends::compare(&term.programs.linearize, &term.memory, &outputs, backends::arithmetic(device, kind)) {
                Ok(more) => share += more,
                Err(message) => {
                    let device = std::cell::RefCell::new(device);
                    fail(seed, sample, message, |traced, points| {
                        outcome(|| backends::check_in(*device.borrow_mut(), kind, traced, points)).err().flatten()
                    })
                }
            }
        }
        share
    }
}
