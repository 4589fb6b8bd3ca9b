//! Tuning, measured: which schedule is the fastest for a problem's products on this device, and which evaluator for its programs
//! where there are two, measured.
//!
//! One schedule after the other is forced on all batches that it can be had for, and each batch's product is timed alone;
//! then, with the fastest ones, every program by one evaluator and by the other. The tuning table that comes of it is the only trace of the clock: from then on, choices are a pure function of it.

use crate::measure::Measurement;
use crate::{Devices, Turn};
use leastwise_cpu::Evaluator;
use leastwise_device::{Command, Device, Dispatch};
use leastwise_error::Error;
use leastwise_problem::{Problem, Schedule, Tuning};
use leastwise_solve::{Needs, Workspace, state};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Products of a sample, until it is known how long they take; how long a sample should take, and how many there are.
const FIRST_REPEATS: u32 = 2;
const SAMPLE_MS: f64 = 10.0;
const SAMPLES: usize = 4;

/// A tuning on its way.
pub struct TuningRun {
    /// The table that was there before, which comes back if this one is not finished.
    before: Option<Tuning>,
    left: VecDeque<Schedule>,
    stage: Option<Stage>,
    /// True while the problem is being laid out for the next measurement.
    is_laying_out: bool,
    /// Milliseconds, by the key of a product.
    times: BTreeMap<String, BTreeMap<Schedule, f64>>,
    programs: Option<Programs>,
}

/// Times of one thing, the first of which only says how often the others repeat it.
struct Samples {
    repeats: u32,
    taken: Vec<f64>,
}

impl Samples {
    fn new() -> Self {
        Self { repeats: FIRST_REPEATS, taken: Vec::new() }
    }

    fn took(&mut self, ms: f64) {
        if self.repeats == FIRST_REPEATS {
            self.repeats = (SAMPLE_MS / ms.max(1e-3)).clamp(f64::from(FIRST_REPEATS + 1), 500.0) as u32;
        } else {
            self.taken.push(ms);
        }
    }

    /// The least, once there are enough. (What others do meanwhile only ever makes it slower.)
    fn least(&self) -> Option<f64> {
        (self.taken.len() >= SAMPLES).then(|| self.taken.iter().copied().fold(f64::INFINITY, f64::min))
    }
}

/// The programs that are measured by every evaluator.
struct Programs {
    work: Workspace,
    /// Commands ahead of a measurement: all programs, once.
    prepare: Vec<Command>,
    /// Keys, dispatches and evaluators to do.
    left: VecDeque<(String, Command, Evaluator)>,
    measure: Option<Measurement>,
    samples: Samples,
    times: BTreeMap<String, BTreeMap<Evaluator, f64>>,
}

/// A schedule that is being measured.
struct Stage {
    schedule: Schedule,
    work: Workspace,
    /// Batches to do.
    batches: VecDeque<usize>,
    measure: Option<Measurement>,
    samples: Samples,
}

impl TuningRun {
    /// Measures the products of a problem in every schedule and its programs by every evaluator; the fastest ones join the tuning
    /// table. `tuning` is the table that comes back if it does not finish.
    pub fn new(tuning: Tuning) -> Self {
        Self { before: Some(tuning), left: Schedule::ALL.into(), stage: None, is_laying_out: false, times: BTreeMap::new(), programs: None }
    }

    /// Goes on until a recording has to be waited for, the deadline (ms) is over, or all schedules are measured.
    pub fn resume(&mut self, devices: &mut Devices, problem: &mut Problem, deadline: f64) -> Result<Turn<()>, Error> {
        loop {
            let Some(stage) = &mut self.stage else {
                let Some(&schedule) = self.left.front() else {
                    return match self.measure_programs(devices, problem, deadline)?.outcome() {
                        Ok(()) => {
                            self.finish(devices, problem);
                            Ok(Turn::Over(()))
                        }
                        Err(turn) => Ok(turn),
                    };
                };
                if !std::mem::replace(&mut self.is_laying_out, true) {
                    devices.registry.tuning = Tuning { products: [(Tuning::ANY.to_string(), schedule)].into(), ..Tuning::default() };
                    problem.forget_batches(&mut devices.main);
                }
                if !problem.lay_out_until(&mut devices.main, &mut devices.registry, deadline)? {
                    return Ok(Turn::Yielded);
                }
                self.is_laying_out = false;
                self.left.pop_front();
                let work = Workspace::new(&mut devices.main, problem, Needs::default())?;
                self.stage = Some(Stage::new(schedule, work, problem));
                continue;
            };
            if let Some(measure) = &mut stage.measure {
                match measure.resume(&mut devices.main, deadline)?.outcome() {
                    Ok(ms) => {
                        stage.measure = None;
                        stage.samples.took(ms);
                    }
                    Err(turn) => return Ok(turn),
                }
                continue;
            }
            let Some(&number) = stage.batches.front() else {
                self.stage.take().into_iter().for_each(|stage| stage.free(&mut devices.main));
                continue;
            };
            let Some(least) = stage.samples.least() else {
                stage.sample(number, problem)?;
                continue;
            };
            let key = problem.batches()[number].product.key.clone();
            self.times.entry(key).or_default().insert(stage.schedule, least);
            stage.batches.pop_front();
            stage.samples = Samples::new();
        }
    }

    /// Measures programs, once products are measured.
    fn measure_programs(&mut self, devices: &mut Devices, problem: &mut Problem, deadline: f64) -> Result<Turn<()>, Error> {
        if self.programs.is_none() {
            if !std::mem::replace(&mut self.is_laying_out, true) {
                let mut tuning = self.before.clone().unwrap_or_default();
                tuning.products.extend(fastest(std::mem::take(&mut self.times)));
                // From now on the products that were measured are the table's, whatever becomes of the rest.
                self.before = Some(tuning.clone());
                retune(devices, Some(problem), tuning);
            }
            if !problem.lay_out_until(&mut devices.main, &mut devices.registry, deadline)? {
                return Ok(Turn::Yielded);
            }
            let work = Workspace::new(&mut devices.main, problem, Needs::default())?;
            self.programs = Some(Programs::new(work, problem, &devices.main)?);
        }
        let device = &mut devices.main;
        let Some(programs) = &mut self.programs else { return Ok(Turn::Over(())) };
        loop {
            if let Some(measure) = &mut programs.measure {
                match measure.resume(device, deadline)?.outcome() {
                    Ok(ms) => {
                        programs.measure = None;
                        programs.samples.took(ms);
                    }
                    Err(turn) => return Ok(turn),
                }
            }
            let Some((key, dispatch, evaluator)) = programs.left.front().cloned() else { return Ok(Turn::Over(())) };
            if let Some(least) = programs.samples.least() {
                let ran = dispatched(&dispatch).and_then(|dispatch| device.evaluation_of(dispatch)).map(|ran| ran.evaluator);
                if ran == Some(evaluator) {
                    programs.times.entry(key).or_default().insert(evaluator, least);
                } else {
                    // There is no choice: it can't be compiled, or is too short.
                    programs.times.remove(&key);
                }
                programs.samples = Samples::new();
                programs.left.pop_front();
                continue;
            }
            let forced = Tuning { evaluators: [(Tuning::ANY.to_string(), evaluator)].into(), ..Tuning::default() };
            device.set_evaluators(forced.evaluators());
            let (prepare, repeats) = (programs.prepare.clone(), programs.samples.repeats);
            programs.measure = Some(Measurement::new(prepare, vec![dispatch], repeats, programs.work.state));
        }
    }

    /// The fastest join the table.
    fn finish(&mut self, devices: &mut Devices, problem: &mut Problem) {
        let mut tuning = self.before.take().unwrap_or_default();
        if let Some(programs) = self.programs.take() {
            programs.work.buffers().into_iter().for_each(|buffer| devices.main.free(buffer));
            tuning.evaluators.extend(fastest(programs.times));
        }
        retune(devices, Some(problem), tuning);
    }

    /// Frees what it has on the device, and puts the table back if it did not finish. The problem may be gone.
    pub fn free(self, devices: &mut Devices, problem: Option<&mut Problem>) {
        if let Some(stage) = self.stage {
            stage.free(&mut devices.main);
        }
        if let Some(programs) = self.programs {
            programs.work.buffers().into_iter().for_each(|buffer| devices.main.free(buffer));
        }
        if let Some(before) = self.before {
            retune(devices, problem, before);
        }
    }
}

fn retune(devices: &mut Devices, problem: Option<&mut Problem>, tuning: Tuning) {
    devices.main.set_evaluators(tuning.evaluators());
    devices.registry.tuning = tuning;
    if let Some(problem) = problem {
        problem.forget_batches(&mut devices.main);
    }
}

/// For every key what took least; the first of equals.
fn fastest<T: Copy + Ord>(times: BTreeMap<String, BTreeMap<T, f64>>) -> impl Iterator<Item = (String, T)> {
    times.into_iter().filter_map(|(key, times)| {
        let fastest = times.iter().min_by(|a, b| a.1.total_cmp(b.1)).map(|(choice, _)| *choice);
        Some((key, fastest?))
    })
}

fn dispatched(command: &Command) -> Option<&Dispatch> {
    if let Command::Dispatch(dispatch) = command { Some(dispatch) } else { None }
}

impl Programs {
    fn new(work: Workspace, problem: &mut Problem, device: &Device) -> Result<Self, Error> {
        let mut prepare = problem.take_uploads();
        for (element, value) in [(state::LINEARIZED, 0.0), (state::SOLVED, 0.0)] {
            prepare.push(Command::UploadReals { buffer: work.state.buffer, offset: element, data: vec![value] });
        }
        work.differentiate(problem, &mut prepare)?;
        work.sum_batches(problem, |batch| batch.kernels.change, problem.arenas()?.1, &mut prepare);
        problem.enabled_batches().for_each(|batch| work.multiply_batch(batch, work.q, &mut prepare));
        let mut known = BTreeSet::new();
        let programs = prepare.iter().filter_map(|command| {
            let key = device.evaluation_of(dispatched(command)?)?.key;
            known.insert(key.clone()).then(|| Evaluator::ALL.map(|evaluator| (key.clone(), command.clone(), evaluator)))
        });
        let left = programs.flatten().collect();
        Ok(Self { work, prepare, left, measure: None, samples: Samples::new(), times: BTreeMap::new() })
    }
}

impl Stage {
    fn new(schedule: Schedule, work: Workspace, problem: &Problem) -> Self {
        // One batch of every kind, if the schedule can be had for it.
        let mut known = BTreeSet::new();
        let batches = problem
            .batches()
            .iter()
            .enumerate()
            .filter(|(_, batch)| batch.enabled && batch.product.schedule == schedule && known.insert(batch.product.key.clone()));
        let batches = batches.map(|(number, _)| number).collect();
        Self { schedule, work, batches, measure: None, samples: Samples::new() }
    }

    /// Begins to time the product of a batch.
    fn sample(&mut self, number: usize, problem: &mut Problem) -> Result<(), Error> {
        let mut prepare = problem.take_uploads();
        for (element, value) in [(state::LINEARIZED, 0.0), (state::SOLVED, 0.0)] {
            prepare.push(Command::UploadReals { buffer: self.work.state.buffer, offset: element, data: vec![value] });
        }
        let batch = &problem.batches()[number];
        self.work.linearize(batch, problem.arenas()?.0, &mut prepare);
        let mut body = Vec::new();
        self.work.multiply_batch(batch, self.work.q, &mut body);
        prepare.extend(body.iter().cloned());
        self.measure = Some(Measurement::new(prepare, body, self.samples.repeats, self.work.state));
        Ok(())
    }

    fn free(self, device: &mut Device) {
        self.work.buffers().into_iter().for_each(|buffer| device.free(buffer));
    }
}
