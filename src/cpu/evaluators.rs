//! Which evaluator a generated program is run by: the block interpreter, or the WebAssembly that was written of it.
//!
//! Both give the same bits (`wasm/`), so this is about time alone, and where the engine is no WebAssembly there is no
//! choice. It is a pure function of the program, how many items it is run on, and the tuning table.

use super::{Body, CpuDevice};
#[cfg(target_arch = "wasm32")]
use crate::block::BlockProgram;
use leastwise_recording::{Dispatch, KernelId, Signal};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Evaluator of generated programs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evaluator {
    /// The block interpreter.
    Interpreted,
    /// The program's WebAssembly module.
    Compiled,
}

impl Evaluator {
    /// Both evaluators.
    pub const ALL: [Self; 2] = [Self::Interpreted, Self::Compiled];

    /// Name of the evaluator in tuning tables and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interpreted => "interpreted",
            Self::Compiled => "compiled",
        }
    }
}

/// A program and the power of two that its items reach: what the table knows it by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EvaluatorKey {
    /// Hash of the program (`Program::key`).
    pub program: u64,
    /// ⌊log₂ items⌋.
    pub power: u32,
}

impl EvaluatorKey {
    /// Key of a program that is run on so many items.
    pub fn new(program: u64, items: u32) -> Self {
        Self { program, power: items.max(1).ilog2() }
    }

    fn parse(text: &str) -> Option<Self> {
        let (program, power) = text.split_once('/')?;
        Some(Self { program: u64::from_str_radix(program, 16).ok()?, power: power.parse().ok()? })
    }
}

impl std::fmt::Display for EvaluatorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:016x}/{}", self.program, self.power)
    }
}

/// Whether a program's module is there: until it is, the interpreter goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linking {
    /// There is none, and it is not asked for.
    None,
    /// The module is being compiled by the host.
    Compiling,
    /// The module can be called.
    Ready,
}

/// How a program is run, and why.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// [`EvaluatorKey`] of the program and its items, as text.
    pub key: String,
    /// Evaluator that was chosen; the interpreter runs the program until `module` is ready.
    pub evaluator: Evaluator,
    /// State of the program's module.
    pub module: Linking,
    /// Reason of the choice, for reports.
    pub why: String,
}

/// What was measured, or given.
#[derive(Default)]
pub struct Evaluators {
    any: Option<Evaluator>,
    known: HashMap<EvaluatorKey, Evaluator>,
}

impl Evaluators {
    /// `any` is the key that stands for all programs.
    pub fn new(table: &BTreeMap<String, Evaluator>, any: &str) -> Self {
        let known = table.iter().filter_map(|(key, evaluator)| Some((EvaluatorKey::parse(key)?, *evaluator)));
        Self { any: table.get(any).copied(), known: known.collect() }
    }

    /// What the table says; `program` is asked for when that matters.
    pub fn given(&self, program: impl FnOnce() -> u64, items: u32) -> Option<Evaluator> {
        let known = (!self.known.is_empty()).then(|| self.known.get(&EvaluatorKey::new(program(), items)).copied());
        known.flatten().or(self.any)
    }
}

/// Items at least that a module is compiled for, where nothing was measured.
#[cfg(target_arch = "wasm32")]
const LEAST_ITEMS: u32 = 256;

/// Reasons of a choice.
#[cfg(target_arch = "wasm32")]
enum Why {
    /// The module computes so many items at least.
    Fewer(u32),
    Given,
    Few,
    Many,
}

#[cfg(target_arch = "wasm32")]
impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Fewer(least) => write!(f, "it has fewer than {least} instances, and its module computes so many at least"),
            Self::Given => f.write_str("the tuning table says so"),
            Self::Few => write!(f, "it has fewer than {LEAST_ITEMS} instances"),
            Self::Many => write!(f, "it has {LEAST_ITEMS} instances or more"),
        }
    }
}

impl CpuDevice {
    /// Replaces the tuning table; later dispatches go by it.
    pub fn set_evaluators(&mut self, evaluators: Evaluators) {
        *self.evaluators = evaluators;
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl CpuDevice {
    /// How a dispatch is run.
    pub(super) fn evaluator(&self, _: &Body, _: &Dispatch) -> Evaluator {
        Evaluator::Interpreted
    }

    /// How a kernel is run on so many items, with reasons, where there is a choice.
    pub fn evaluation(&self, _: KernelId, _: u32) -> Option<Evaluation> {
        None
    }

    /// The same of a dispatch.
    pub fn evaluation_of(&self, _: &Dispatch) -> Option<Evaluation> {
        None
    }

    /// What to wait for, where modules are being compiled.
    pub fn linking(&self) -> Option<Signal> {
        None
    }
}

#[cfg(target_arch = "wasm32")]
impl CpuDevice {
    /// How a dispatch is run.
    pub(super) fn evaluator(&self, body: &Body, dispatch: &Dispatch) -> Evaluator {
        program(body).map_or(Evaluator::Interpreted, |program| self.choice(program, items(body, dispatch)).0)
    }

    /// Evaluator that is wanted, and the reason, which is not put in words: it is asked for in every dispatch.
    fn choice(&self, program: &BlockProgram, items: u32) -> (Evaluator, Why) {
        match self.evaluators.given(|| program.key(), items) {
            Some(Evaluator::Compiled) => {
                let least = program.linked().least(self.precision);
                if items < least { (Evaluator::Interpreted, Why::Fewer(least)) } else { (Evaluator::Compiled, Why::Given) }
            }
            Some(given) => (given, Why::Given),
            None if items < LEAST_ITEMS => (Evaluator::Interpreted, Why::Few),
            None => (Evaluator::Compiled, Why::Many),
        }
    }

    /// The same of a dispatch.
    pub fn evaluation_of(&self, dispatch: &Dispatch) -> Option<Evaluation> {
        let body = self.kernels.list.get(dispatch.kernel.0 as usize)?.body()?;
        self.evaluation(dispatch.kernel, items(body, dispatch))
    }

    /// How a kernel is run on so many items, with reasons, where there is a choice.
    pub fn evaluation(&self, kernel: KernelId, items: u32) -> Option<Evaluation> {
        let program = program(self.kernels.list.get(kernel.0 as usize)?.body()?)?;
        let key = EvaluatorKey::new(program.key(), items).to_string();
        let (evaluator, why) = self.choice(program, items);
        let why = why.to_string();
        let linked = program.linked();
        let module = match evaluator {
            Evaluator::Compiled if linked.is_ready(self.precision) => Linking::Ready,
            Evaluator::Compiled if linked.compiling(self.precision).is_some() => Linking::Compiling,
            _ => Linking::None,
        };
        Some(match linked.refused(self.precision).filter(|_| evaluator == Evaluator::Compiled) {
            Some(refused) => Evaluation { key, evaluator: Evaluator::Interpreted, module, why: refused },
            None => Evaluation { key, evaluator, module, why },
        })
    }

    /// What to wait for, where modules are being compiled.
    pub fn linking(&self) -> Option<Signal> {
        self.kernels.list.iter().find_map(|kernel| program(kernel.body.get()?.as_ref()?)?.linked().compiling(self.precision))
    }
}

/// The items of a dispatch; what is counted of one by tiles are its workgroups.
#[cfg(target_arch = "wasm32")]
fn items(body: &Body, dispatch: &Dispatch) -> u32 {
    match body {
        Body::Tiles(_) => leastwise_program::OwnerArguments::of(dispatch.words).instances,
        Body::Reduced(_) => leastwise_program::ReducedArguments::of(dispatch.words).instances,
        Body::Fit(_) => {
            let args = leastwise_program::FitArguments::of(dispatch.words);
            (dispatch.count / args.lanes).saturating_mul(args.points)
        }
        _ => dispatch.count,
    }
}

/// The program that a kernel runs, if modules may.
#[cfg(target_arch = "wasm32")]
fn program(body: &Body) -> Option<&BlockProgram> {
    match body {
        Body::Program(program) => Some(program),
        Body::Tiles(tiles) => Some(tiles.block()),
        Body::Reduced(tiles) => Some(tiles.block()),
        Body::Fit(fits) => Some(fits.block()),
        Body::Twin(_) | Body::Merged(_) | Body::Fused(_) => None,
    }
}
