//! The session, one to one, for wasm-bindgen. `ts/src/native.ts` is the interface that this is held to.
//!
//! No borrow of the engine lives across an await: what waits is a [`Signal`](leastwise_device::Signal), which knows
//! nothing of the engine.

mod indices;
mod tensors;
#[cfg(target_feature = "atomics")]
mod threads;
mod values;

use leastwise_base::clock::now_ms;
use leastwise_cpu::CpuDevice;
#[cfg(not(target_feature = "atomics"))]
use leastwise_device::wgpu::WgpuDevice;
use leastwise_device::{Device, Limits, Signal};
#[cfg(not(target_feature = "atomics"))]
use leastwise_device::{DeviceError, Reals as DeviceReals};
use leastwise_error::Error;
use leastwise_kernel::wgsl::double::Products;
use leastwise_problem::{Loss, Reals, Tuning, Weight, unpack_shapes};
use leastwise_session::crossing::{self, ForcedLimits, Packed, State, Unpacked};
use leastwise_session::{BackwardOptions, Progress, Session, Suspect};
use leastwise_solve::Options;
use leastwise_solve::covariance::CovarianceOptions;
use values::{Numbers, reals, refuse, singles, to_js, words};
use wasm_bindgen::prelude::*;

/// Those that are forced, over `base`; none where none are.
fn limits(forced: JsValue, base: Limits) -> Result<Option<Limits>, JsValue> {
    if forced.is_undefined() || forced.is_null() {
        return Ok(None);
    }
    let forced: ForcedLimits = serde_wasm_bindgen::from_value(forced).map_err(|error| refuse(Error::InvalidOption(error.to_string())))?;
    Ok(Some(forced.over(base)))
}

/// An engine on the CPU.
#[wasm_bindgen(js_name = openCpu)]
pub fn open_cpu(precision: &str, forced: JsValue) -> Result<Engine, JsValue> {
    let precision = crossing::precision(precision).map_err(refuse)?;
    let own = CpuDevice::default_limits();
    let limits = limits(forced, own)?.unwrap_or(own);
    Ok(Engine::new(Device::Cpu(CpuDevice::new(precision, limits))))
}

/// An engine on the device that `navigator.gpu` hands out. The module with threads has none: there the CPU does the work.
#[cfg(not(target_feature = "atomics"))]
#[wasm_bindgen(js_name = openWebGpu)]
pub async fn open_web_gpu(precision: Option<String>, forced: JsValue) -> Result<Engine, JsValue> {
    let limits = limits(forced, Limits::WEBGPU)?;
    let wanted = precision.as_deref().map(crossing::reals).transpose().map_err(refuse)?;
    let failed = |error: DeviceError| refuse(error.into());
    let mut device = WgpuDevice::open(limits).await.map_err(failed)?;
    // Who asks for f32 has no use for what takes a kernel to find out.
    if wanted != Some(DeviceReals::Single) {
        device.check_doubles().await.map_err(failed)?;
    }
    device.set_reals(wanted.unwrap_or_default()).map_err(failed)?;
    let mut engine = Engine::new(Device::Wgpu(Box::new(device)));
    engine.session.set_refines(wanted.is_none());
    Ok(engine)
}

/// What the last panic said; a panic leaves the whole module unusable.
#[wasm_bindgen(js_name = lastPanic)]
pub fn last_panic() -> Option<String> {
    values::last_panic()
}

#[wasm_bindgen(start)]
pub fn start() {
    values::remember_panics();
}

/// What a small term takes, about.
const BYTES_PER_TERM: usize = 1024;

#[wasm_bindgen]
pub struct Engine {
    session: Session,
    #[cfg(target_feature = "atomics")]
    threads: u32,
}

impl Engine {
    fn new(device: Device) -> Self {
        Self {
            session: Session::new(device),
            #[cfg(target_feature = "atomics")]
            threads: 1,
        }
    }

    /// Has what follows done on this engine's threads.
    fn call_threads(&self) {
        #[cfg(target_feature = "atomics")]
        leastwise_cpu::pool::set_count(self.threads);
    }
}

#[wasm_bindgen]
impl Engine {
    #[wasm_bindgen(getter)]
    pub fn counters(&self) -> Result<JsValue, JsValue> {
        to_js(&self.session.counters())
    }

    /// The adapter's own name; "cpu" without one.
    #[wasm_bindgen(getter)]
    pub fn adapter(&self) -> String {
        self.session.device().adapter().to_string()
    }

    /// How double-floats are made on the device, or why there are none.
    #[wasm_bindgen(getter)]
    pub fn doubles(&self) -> String {
        match self.session.device().has_doubles() {
            Ok(Products::Fma) => "fma".into(),
            Ok(Products::Halves) => "halves".into(),
            Err(reason) => reason.into(),
        }
    }

    pub fn problem(&mut self) -> u32 {
        self.session.problem()
    }

    #[wasm_bindgen(js_name = freeProblem)]
    pub fn free_problem(&mut self, problem: u32) {
        self.session.free_problem(problem);
    }

    /// `shape` is as `ts/src/shape.ts` packs it.
    pub fn table(&mut self, problem: u32, name: &str, shape: &[u32], values: JsValue, moving: bool) -> Result<u32, JsValue> {
        let values = reals(&values)?;
        let shapes = unpack_shapes(shape).map_err(refuse)?;
        self.session.table_of(problem, name, shapes, values.get(), moving).map_err(refuse)
    }

    #[wasm_bindgen(js_name = writeTable)]
    pub fn write_table(&mut self, problem: u32, table: u32, values: JsValue, at: JsValue) -> Result<(), JsValue> {
        let values = reals(&values)?;
        let at = if at.is_undefined() { None } else { Some(words(&at)?) };
        self.session.write_table(problem, table, values.get(), at.as_deref()).map_err(refuse)
    }

    #[wasm_bindgen(js_name = fixTable)]
    pub fn fix_table(&mut self, problem: u32, table: u32, at: Option<Vec<u32>>, components: Option<Vec<u32>>) -> Result<(), JsValue> {
        self.session.fix_table(problem, table, at.as_deref(), components.as_deref()).map_err(refuse)
    }

    #[wasm_bindgen(js_name = unfixTable)]
    pub fn unfix_table(&mut self, problem: u32, table: u32, at: Option<Vec<u32>>) -> Result<(), JsValue> {
        self.session.unfix_table(problem, table, at.as_deref()).map_err(refuse)
    }

    #[wasm_bindgen(js_name = boundTable)]
    pub fn bound_table(&mut self, problem: u32, table: u32, lower: Option<Vec<f64>>, upper: Option<Vec<f64>>) -> Result<(), JsValue> {
        let [lower, upper] = [&lower, &upper].map(|given| given.as_deref().map(Reals::F64));
        self.session.bound_table(problem, table, lower, upper).map_err(refuse)
    }

    #[wasm_bindgen(js_name = readTable)]
    pub fn read_table(&mut self, problem: u32, table: u32) -> Result<u32, JsValue> {
        self.session.read_table(problem, table).map_err(refuse)
    }

    /// The last values that the host knows; also where the device is gone.
    #[wasm_bindgen(js_name = knownTable)]
    pub fn known_table(&mut self, problem: u32, table: u32) -> Result<Vec<f64>, JsValue> {
        self.session.known_table(problem, table).map_err(refuse)
    }

    /// `{ buffer, offset, stride }` in bytes, or undefined on the CPU.
    #[wasm_bindgen(js_name = viewTable)]
    pub fn view_table(&mut self, problem: u32, table: u32, width: u32) -> Result<JsValue, JsValue> {
        if matches!(self.session.device(), Device::Cpu(_)) {
            return Ok(JsValue::UNDEFINED);
        }
        let slice = self.session.view_table(problem, table).map_err(refuse)?;
        let Device::Wgpu(device) = self.session.device() else { return Ok(JsValue::UNDEFINED) };
        let buffer = device.as_web_buffer(slice.buffer).ok_or_else(|| refuse(Error::Disposed("variable")))?;
        let view = js_sys::Object::new();
        js_sys::Reflect::set(&view, &"buffer".into(), &buffer)?;
        js_sys::Reflect::set(&view, &"offset".into(), &(4 * slice.offset).into())?;
        js_sys::Reflect::set(&view, &"stride".into(), &(4 * width).into())?;
        Ok(view.into())
    }

    /// `words` and `reals` are as `ts/src/crossing.ts` packs them.
    pub fn term(&mut self, problem: u32, name: &str, columns: &str, words: &[u32], reals: &[f64]) -> Result<u32, JsValue> {
        let packed = Packed { name, columns, words, reals };
        let term = match packed.read().map_err(refuse)? {
            Unpacked::Plain(spec) => self.session.term(problem, spec),
            Unpacked::Constraint(spec, relation) => self.session.constraint(problem, spec, relation),
            Unpacked::Summed(spec) => self.session.summed_term(problem, spec),
            Unpacked::Ragged(spec) => self.session.ragged_term(problem, spec),
        };
        let term = term.map_err(refuse)?;
        // Terms are numbered within their problem.
        let terms = term as usize + 1;
        if terms >= 1024 && terms.is_power_of_two() {
            // The module's memory grows page by page, and with every page the host collects garbage: of a hundred thousand
            // terms that would be most of the time. So there is room for as many again at once.
            drop(std::hint::black_box(Vec::<u8>::with_capacity(terms * BYTES_PER_TERM)));
        }
        Ok(term)
    }

    /// A task that measures the products and programs of a problem and puts what is fastest in the tuning table.
    pub fn tune(&mut self, problem: u32) -> Result<u32, JsValue> {
        self.session.tune(problem).map_err(refuse)
    }

    /// The tuning table: keys, and after all of these their schedules and evaluators.
    pub fn tuning(&self) -> Vec<String> {
        crossing::tuning(self.session.tuning())
    }

    /// Gives a table back; `choices` are those of `keys`.
    #[wasm_bindgen(js_name = setTuning)]
    pub fn set_tuning(&mut self, keys: Vec<String>, choices: Vec<String>) -> Result<(), JsValue> {
        let tuning = Tuning::of_names(keys, &choices).map_err(refuse)?;
        self.session.set_tuning(tuning).map_err(refuse)
    }

    /// A task: clusters of points.
    pub fn cluster(&mut self, points: JsValue, options: JsValue) -> Result<u32, JsValue> {
        let points = singles(&points)?;
        let options = serde_wasm_bindgen::from_value(options).map_err(|error| refuse(Error::InvalidOption(error.to_string())))?;
        self.session.cluster(points, &options).map_err(refuse)
    }

    /// What was compiled, and what was found to be known.
    pub fn stats(&self) -> Result<JsValue, JsValue> {
        to_js(&self.session.stats())
    }

    #[wasm_bindgen(js_name = evaluateTerm)]
    pub fn evaluate_term(&mut self, problem: u32, term: u32, hessian: Option<String>) -> Result<u32, JsValue> {
        let form = crossing::hessian(hessian.as_deref()).map_err(refuse)?;
        self.session.evaluate_term(problem, term, form).map_err(refuse)
    }

    #[wasm_bindgen(js_name = checkTerm)]
    pub fn check_term(&mut self, problem: u32, term: u32) -> Result<u32, JsValue> {
        self.session.check_term(problem, term).map_err(refuse)
    }

    #[wasm_bindgen(js_name = setColumn)]
    pub fn set_column(&mut self, problem: u32, term: u32, column: u32, values: JsValue) -> Result<(), JsValue> {
        let values = reals(&values)?;
        self.session.set_column(problem, term, column, values.get()).map_err(refuse)
    }

    #[wasm_bindgen(js_name = setWeight)]
    pub fn set_weight(&mut self, problem: u32, term: u32, weight: JsValue) -> Result<(), JsValue> {
        let weight = Numbers::weight(&weight)?;
        let weight: Weight = weight.as_weight();
        self.session.set_weight(problem, term, weight).map_err(refuse)
    }

    /// A loss as `ts/src/loss.ts` packs it.
    #[wasm_bindgen(js_name = setLoss)]
    pub fn set_loss(&mut self, problem: u32, term: u32, words: &[u32], reals: &[f64]) -> Result<(), JsValue> {
        let loss = Loss::unpack(words, reals).map_err(refuse)?;
        self.session.set_loss(problem, term, &loss).map_err(refuse)
    }

    #[wasm_bindgen(js_name = setEnabled)]
    pub fn set_enabled(&mut self, problem: u32, term: u32, enabled: bool) -> Result<(), JsValue> {
        self.session.set_enabled(problem, term, enabled).map_err(refuse)
    }

    #[wasm_bindgen(js_name = freeTerm)]
    pub fn free_term(&mut self, problem: u32, term: u32) -> Result<(), JsValue> {
        self.session.free_term(problem, term).map_err(refuse)
    }

    #[wasm_bindgen(js_name = termCosts)]
    pub fn term_costs(&mut self, problem: u32, term: u32) -> Result<u32, JsValue> {
        self.session.term_costs(problem, term).map_err(refuse)
    }

    /// A task: λ of all rows of a constraint.
    #[wasm_bindgen(js_name = multipliers)]
    pub fn multipliers(&mut self, problem: u32, term: u32) -> Result<u32, JsValue> {
        self.session.read_multipliers(problem, term).map_err(refuse)
    }

    #[wasm_bindgen(js_name = describeTerm)]
    pub fn describe_term(&mut self, problem: u32, term: u32) -> Result<JsValue, JsValue> {
        to_js(&self.session.describe_term(problem, term).map_err(refuse)?)
    }

    pub fn solver(&mut self, problem: u32, options: JsValue) -> Result<u32, JsValue> {
        let options: Options = serde_wasm_bindgen::from_value(options).map_err(|error| refuse(Error::InvalidOption(error.to_string())))?;
        self.session.solver(problem, &options).map_err(refuse)
    }

    pub fn solve(&mut self, solver: u32, mode: &str) -> Result<u32, JsValue> {
        self.session.solve(solver, crossing::mode(mode)).map_err(refuse)
    }

    /// Steps accepted, rejected and unfinished, once they are known.
    pub fn advance(&mut self, solver: u32, iterations: u32, budget_ms: f64) -> Result<Option<Vec<u32>>, JsValue> {
        self.call_threads();
        let advanced = self.session.advance(solver, iterations, budget_ms).map_err(refuse)?;
        Ok(advanced.map(|steps| vec![steps.accepted, steps.rejected, steps.unfinished]))
    }

    pub fn report(&mut self, solver: u32) -> Result<u32, JsValue> {
        self.session.report(solver).map_err(refuse)
    }

    /// A task whose answer is a checkpoint.
    #[wasm_bindgen(js_name = saveSolver)]
    pub fn save_solver(&mut self, solver: u32) -> Result<u32, JsValue> {
        self.session.save(solver).map_err(refuse)
    }

    #[wasm_bindgen(js_name = restoreSolver)]
    pub fn restore_solver(&mut self, solver: u32, file: &[u8]) -> Result<(), JsValue> {
        self.session.restore(solver, file).map_err(refuse)
    }

    #[wasm_bindgen(js_name = freeSolver)]
    pub fn free_solver(&mut self, solver: u32) {
        self.session.free_solver(solver);
    }

    /// A task that lays a problem out, where that takes long.
    #[wasm_bindgen(js_name = layOut)]
    pub fn lay_out(&mut self, problem: u32) -> Result<Option<u32>, JsValue> {
        self.session.lay_out(problem).map_err(refuse)
    }

    /// A task: the covariance of a problem's variables.
    pub fn covariance(
        &mut self,
        problem: u32,
        variance: Option<f64>,
        pseudo_inverse: bool,
        rank_tolerance: Option<f64>,
    ) -> Result<u32, JsValue> {
        self.session.covariance(problem, CovarianceOptions { variance, pseudo_inverse, rank_tolerance }).map_err(refuse)
    }

    /// A task: blocks of a covariance.
    #[wasm_bindgen(js_name = covarianceBlocks)]
    pub fn covariance_blocks(
        &mut self,
        covariance: u32,
        of: &[u32],
        others: Option<Vec<u32>>,
        form: &str,
        lifted: bool,
    ) -> Result<u32, JsValue> {
        self.session.covariance_blocks(covariance, of, others.as_deref(), form, lifted).map_err(refuse)
    }

    #[wasm_bindgen(js_name = freeCovariance)]
    pub fn free_covariance(&mut self, covariance: u32) {
        self.session.free_covariance(covariance);
    }

    /// A task: the gradient of a function of the solution with respect to what the solution depends on.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &mut self,
        problem: u32,
        tables: &[u32],
        values: &[f64],
        tangent: bool,
        least_norm: bool,
        rank_tolerance: Option<f64>,
        stationary_tolerance: Option<f64>,
    ) -> Result<u32, JsValue> {
        let options = BackwardOptions { least_norm, rank_tolerance, stationary_tolerance };
        self.session.backward(problem, tables, values, tangent, options).map_err(refuse)
    }

    /// A task: a solve with weights by graduated non-convexity.
    #[allow(clippy::too_many_arguments)]
    pub fn graduated(
        &mut self,
        problem: u32,
        terms: &[u32],
        thresholds: &[f64],
        known: &[u32],
        cost: &str,
        step: Option<f64>,
        max_rounds: Option<f64>,
        cost_tolerance: Option<f64>,
        options: JsValue,
    ) -> Result<u32, JsValue> {
        let options: Options = serde_wasm_bindgen::from_value(options).map_err(|error| refuse(Error::InvalidOption(error.to_string())))?;
        let suspects = Suspect::unpack(terms, thresholds, known).map_err(refuse)?;
        let schedule = crossing::graduation(cost, step, max_rounds, cost_tolerance).map_err(refuse)?;
        self.session.graduated(problem, &suspects, schedule, &options).map_err(refuse)
    }

    /// A task: the milliseconds of an evaluation or a product.
    pub fn measure(&mut self, solver: u32, what: &str, repeats: u32) -> Result<u32, JsValue> {
        self.session.measure(solver, crossing::measured(what), repeats).map_err(refuse)
    }

    /// A task: the milliseconds of a copy.
    #[wasm_bindgen(js_name = measureCopy)]
    pub fn measure_copy(&mut self, bytes: f64, repeats: u32) -> Result<u32, JsValue> {
        self.session.measure_copy(bytes, repeats).map_err(refuse)
    }

    pub fn traffic(&mut self, solver: u32) -> Result<JsValue, JsValue> {
        to_js(&self.session.traffic(solver).map_err(refuse)?)
    }

    pub fn resume(&mut self, task: u32, budget_ms: f64) -> Result<JsValue, JsValue> {
        self.call_threads();
        let with = |state: State, key: &str, value: JsValue| {
            let object = to_js(&state)?;
            js_sys::Reflect::set(&object, &key.into(), &value)?;
            Ok(object)
        };
        match self.session.resume(task, budget_ms).map_err(refuse)? {
            Progress::Yielded => to_js(&State::Yielded),
            Progress::Iteration(iteration) => to_js(&State::Iteration { iteration }),
            Progress::Report(report) => to_js(&State::Done { report: Some(&report) }),
            Progress::Stepped => to_js(&State::Done { report: None }),
            Progress::Partly { done, total } => to_js(&State::Progress { done, total }),
            Progress::Answer(answer) => {
                let (key, value) = indices::answered(answer)?;
                with(State::Done { report: None }, key, value)
            }
            Progress::Covariance(made) => with(State::Done { report: None }, "covariance", to_js(&made)?),
            Progress::Gradients(made) => {
                let object = to_js(&made)?;
                js_sys::Reflect::set(&object, &"values".into(), &js_sys::Float64Array::from(&made.values[..]))?;
                with(State::Done { report: None }, "gradients", object)
            }
            Progress::Graduated(made) => {
                let object = to_js(&made)?;
                js_sys::Reflect::set(&object, &"weights".into(), &js_sys::Float64Array::from(&made.weights[..]))?;
                with(State::Done { report: None }, "graduated", object)
            }
            Progress::Clustering(outcome) => with(State::Done { report: None }, "clustering", values::clustering(&outcome)?),
            Progress::Waiting(signal) => with(State::Waiting, "ready", promise(signal).into()),
            Progress::Values(values) => with(State::Done { report: None }, "values", js_sys::Float64Array::from(&values[..]).into()),
        }
    }

    /// Whether a solve waits for kernels, or it can't be told.
    #[wasm_bindgen(js_name = awaitsKernels)]
    pub fn awaits_kernels(&self, task: u32) -> bool {
        self.session.awaits_kernels(task)
    }

    pub fn stop(&mut self, task: u32, reason: &str) {
        self.session.stop(task, reason);
    }

    /// Tasks of this engine are over only when they have answered so.
    pub fn abort(&mut self, task: u32) {
        self.session.cancel(task);
    }

    pub fn cancel(&mut self, task: u32) {
        self.session.cancel(task);
    }

    /// Milliseconds on the engine's clock.
    pub fn now(&self) -> f64 {
        now_ms()
    }

    pub fn dispose(&mut self) {
        self.session.dispose();
    }
}

fn promise(signal: Signal) -> js_sys::Promise {
    wasm_bindgen_futures::future_to_promise(async move {
        signal.await;
        Ok(JsValue::UNDEFINED)
    })
}
