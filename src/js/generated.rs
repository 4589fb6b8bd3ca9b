// Written by `npm run generate` from src/session/surface.idl. Do not edit.
//! Methods of the engine that are the same on every host.
#![allow(clippy::too_many_arguments)]

use super::engine::Engine;
use super::values::{read_indices, read_optional, read_reals, read_record, read_vectors, read_weight, to_js};
use leastwise_session::surface::*;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
impl Engine {
    #[wasm_bindgen(getter)]
    pub fn counters(&mut self) -> Result<JsValue, JsValue> {
        to_js(&self.call(|session| Ok(session.counters()))?)
    }

    pub fn problem(&mut self) -> Result<u32, JsValue> {
        self.call(|session| Ok(session.problem()))
    }

    #[wasm_bindgen(js_name = freeProblem)]
    pub fn free_problem(&mut self, problem: u32) {
        self.post(|session| session.free_problem(problem));
    }

    /// A table of instances of a shape, as `packed.ts` packs its parts. `moving` tells variables from constants.
    pub fn table(&mut self, problem: u32, name: &str, shape: &[u32], values: JsValue, moving: bool) -> Result<u32, JsValue> {
        let values = read_reals(&values)?;
        let values = values.reals();
        self.call(|session| session.table_of(problem, name, wire::shapes(shape)?, values, moving))
    }

    /// Overwrites instances (all, or those in `at`).
    #[wasm_bindgen(js_name = writeTable)]
    pub fn write_table(&mut self, problem: u32, table: u32, values: JsValue, at: JsValue) -> Result<(), JsValue> {
        let values = read_reals(&values)?;
        let values = values.reals();
        let at = read_optional(&at, read_indices)?;
        let at = at.as_deref();
        self.call(|session| session.write_table(problem, table, values, at))
    }

    /// Overwrites a table by a linear combination of tables, on the device, with the values that the next step begins with.
    #[wasm_bindgen(js_name = combineTables)]
    pub fn combine_tables(&mut self, problem: u32, table: u32, sources: &[u32], factors: &[f64]) -> Result<(), JsValue> {
        self.call(|session| session.combine_tables(problem, table, sources, factors))
    }

    /// Fixes instances (all, or those in `at`), whole or some components. Edits cost one upload.
    #[wasm_bindgen(js_name = fixTable)]
    pub fn fix_table(&mut self, problem: u32, table: u32, at: Option<Vec<u32>>, components: Option<Vec<u32>>) -> Result<(), JsValue> {
        let at = at.as_deref();
        let components = components.as_deref();
        self.call(|session| session.fix_table(problem, table, at, components))
    }

    #[wasm_bindgen(js_name = unfixTable)]
    pub fn unfix_table(&mut self, problem: u32, table: u32, at: Option<Vec<u32>>) -> Result<(), JsValue> {
        let at = at.as_deref();
        self.call(|session| session.unfix_table(problem, table, at))
    }

    /// Limits: one, one a component, or one a component of every instance. What is undefined stays as it was.
    #[wasm_bindgen(js_name = boundTable)]
    pub fn bound_table(&mut self, problem: u32, table: u32, lower: Option<Vec<f64>>, upper: Option<Vec<f64>>) -> Result<(), JsValue> {
        let lower = lower.as_deref();
        let upper = upper.as_deref();
        self.call(|session| session.bound_table(problem, table, lower.map(Reals::F64), upper.map(Reals::F64)))
    }

    /// A task whose `done` carries the table's accepted values.
    #[wasm_bindgen(js_name = readTable)]
    pub fn read_table(&mut self, problem: u32, table: u32) -> Result<u32, JsValue> {
        self.call(|session| session.read_table(problem, table))
    }

    /// True if a solve waits for kernels to be compiled, or if that is unknown.
    #[wasm_bindgen(js_name = awaitsKernels)]
    pub fn awaits_kernels(&mut self, task: u32) -> Result<bool, JsValue> {
        self.call(|session| Ok(session.awaits_kernels(task)))
    }

    /// The last values that the host knows; also where the device is gone.
    #[wasm_bindgen(js_name = knownTable)]
    pub fn known_table(&mut self, problem: u32, table: u32) -> Result<Vec<f64>, JsValue> {
        self.call(|session| session.known_table(problem, table))
    }

    /// Normals of a table's instances, which are the vertices of triangles, in a buffer of their own.
    pub fn normals(&mut self, problem: u32, table: u32, triangles: JsValue) -> Result<u32, JsValue> {
        let triangles = read_indices(&triangles)?;
        let triangles = &triangles[..];
        self.call(|session| session.normals(problem, table, triangles))
    }

    /// A task: the normals at the accepted values, which are its `values` if they are read.
    #[wasm_bindgen(js_name = computeNormals)]
    pub fn compute_normals(&mut self, normals: u32, read: bool) -> Result<u32, JsValue> {
        self.call(|session| session.compute_normals(normals, read))
    }

    /// Computes them without waiting. On a GPU their kernel has to be compiled, by a task that computed them before.
    #[wasm_bindgen(js_name = updateNormals)]
    pub fn update_normals(&mut self, normals: u32) -> Result<(), JsValue> {
        self.call(|session| session.update_normals(normals))
    }

    #[wasm_bindgen(js_name = freeNormals)]
    pub fn free_normals(&mut self, normals: u32) {
        self.post(|session| session.free_normals(normals));
    }

    /// Validates, reads, differentiates what is new. `wire.ts` says how a term is packed; `columns` are names, with a NUL after each.
    /// Large arrays cross by themselves, uncopied where the host allows it: the index table `over`, row by row, and the first of the longest lists of reals.
    pub fn term(
        &mut self,
        problem: u32,
        name: &str,
        columns: &str,
        words: &[u32],
        reals: &[f64],
        over: Option<Vec<u32>>,
        longest: Option<Vec<f64>>,
    ) -> Result<u32, JsValue> {
        let over = over.as_deref();
        let longest = longest.as_deref();
        self.call(|session| session.packed_term(problem, name, &wire::CrossedTerm { columns, words, reals, over, longest }))
    }

    /// Replaces one column's values (same length), recompiling nothing.
    #[wasm_bindgen(js_name = setColumn)]
    pub fn set_column(&mut self, problem: u32, term: u32, column: u32, values: JsValue) -> Result<(), JsValue> {
        let values = read_reals(&values)?;
        let values = values.reals();
        self.call(|session| session.set_column(problem, term, column, values))
    }

    #[wasm_bindgen(js_name = setWeight)]
    pub fn set_weight(&mut self, problem: u32, term: u32, weight: JsValue) -> Result<(), JsValue> {
        let weight = read_weight(&weight)?;
        let weight = weight.weight();
        self.call(|session| session.set_weight(problem, term, weight))
    }

    /// Replaces the parameters of a term's loss, of the same kind; it is packed as `packed.ts` packs one.
    #[wasm_bindgen(js_name = setLoss)]
    pub fn set_loss(&mut self, problem: u32, term: u32, words: &[u32], reals: &[f64]) -> Result<(), JsValue> {
        self.call(|session| session.set_loss(problem, term, &wire::loss(words, reals)?))
    }

    #[wasm_bindgen(js_name = setEnabled)]
    pub fn set_enabled(&mut self, problem: u32, term: u32, enabled: bool) -> Result<(), JsValue> {
        self.call(|session| session.set_enabled(problem, term, enabled))
    }

    #[wasm_bindgen(js_name = freeTerm)]
    pub fn free_term(&mut self, problem: u32, term: u32) -> Result<(), JsValue> {
        self.call(|session| session.free_term(problem, term))
    }

    /// A task: the cost of every instance, ½ w ρ(‖r‖²), at the accepted values.
    #[wasm_bindgen(js_name = termCosts)]
    pub fn term_costs(&mut self, problem: u32, term: u32) -> Result<u32, JsValue> {
        self.call(|session| session.term_costs(problem, term))
    }

    /// A task: r, then J, then the Hessian if it is wanted, of every instance at the accepted values, row by row.
    #[wasm_bindgen(js_name = evaluateTerm)]
    pub fn evaluate_term(&mut self, problem: u32, term: u32, hessian: Option<String>) -> Result<u32, JsValue> {
        self.call(|session| {
            let hessian = hessian.as_deref().map(wire::hessian).transpose()?;
            session.evaluate_term(problem, term, hessian)
        })
    }

    /// A task: error, instance, row, slot, component, derivative and difference of the worst entry of J.
    #[wasm_bindgen(js_name = checkTerm)]
    pub fn check_term(&mut self, problem: u32, term: u32) -> Result<u32, JsValue> {
        self.call(|session| session.check_term(problem, term))
    }

    /// A task: λ of all rows of a constraint.
    pub fn multipliers(&mut self, problem: u32, term: u32) -> Result<u32, JsValue> {
        self.call(|session| session.read_multipliers(problem, term))
    }

    /// The statistics of a term's kernels. For benchmarks and tests.
    #[wasm_bindgen(js_name = describeTerm)]
    pub fn describe_term(&mut self, problem: u32, term: u32) -> Result<JsValue, JsValue> {
        to_js(&self.call(|session| session.describe_term(problem, term))?)
    }

    pub fn stats(&mut self) -> Result<JsValue, JsValue> {
        to_js(&self.call(|session| Ok(session.stats()))?)
    }

    /// A task: measures the products of a problem in every schedule and its programs by every evaluator, and puts the fastest in the tuning table.
    pub fn tune(&mut self, problem: u32) -> Result<u32, JsValue> {
        self.call(|session| session.tune(problem))
    }

    /// The tuning table: keys, and after all of these their schedules and evaluators.
    pub fn tuning(&mut self) -> Result<Vec<String>, JsValue> {
        self.call(|session| Ok(wire::tuning(session.tuning())))
    }

    /// Gives a table back; `choices` are those of `keys`.
    #[wasm_bindgen(js_name = setTuning)]
    pub fn set_tuning(&mut self, keys: Vec<String>, choices: Vec<String>) -> Result<(), JsValue> {
        self.call(|session| session.set_tuning(Tuning::of_names(keys, &choices)?))
    }

    /// Solver of a problem. Error `busy` while another task of the problem runs.
    pub fn solver(&mut self, problem: u32, options: JsValue) -> Result<u32, JsValue> {
        let options: leastwise_solve::Options = read_record(options)?;
        let options = &options;
        self.call(|session| session.solver(problem, options))
    }

    /// A solver that is set up by its first task.
    #[wasm_bindgen(js_name = laterSolver)]
    pub fn later_solver(&mut self, problem: u32, options: JsValue) -> Result<u32, JsValue> {
        let options: leastwise_solve::Options = read_record(options)?;
        let options = &options;
        self.call(|session| session.later_solver(problem, options))
    }

    /// Features that a solve may use: solvers on the host, two levels, methods without a linear system, and constraints; each 0 or 1.
    pub fn reach(&mut self, problem: u32, options: JsValue) -> Result<Vec<u32>, JsValue> {
        let options: leastwise_solve::Options = read_record(options)?;
        let options = &options;
        self.call(|session| session.reach(problem, options))
    }

    /// A task. `step`: stops (state `done`, no report) after one iteration.
    pub fn solve(&mut self, solver: u32, mode: &str) -> Result<u32, JsValue> {
        self.call(|session| {
            let mode = wire::mode(mode)?;
            session.solve(solver, mode)
        })
    }

    /// Live use: at most `iterations` more steps, none of them waited for. On the CPU works until `budgetMs`. Gives the steps accepted, rejected and
    /// unfinished, once they are known.
    pub fn advance(&mut self, solver: u32, iterations: u32, budget_ms: f64) -> Result<Option<Vec<u32>>, JsValue> {
        self.call(|session| {
            Ok(session.advance(solver, iterations, budget_ms)?.map(|steps| vec![steps.accepted, steps.rejected, steps.unfinished]))
        })
    }

    /// A task: brings the state back; its `done` carries the report.
    pub fn report(&mut self, solver: u32) -> Result<u32, JsValue> {
        self.call(|session| session.report(solver))
    }

    /// A task whose `done` carries a checkpoint's bytes. Also between two iterations of a solve of this solver.
    #[wasm_bindgen(js_name = saveSolver)]
    pub fn save_solver(&mut self, solver: u32) -> Result<u32, JsValue> {
        self.call(|session| session.save(solver))
    }

    #[wasm_bindgen(js_name = restoreSolver)]
    pub fn restore_solver(&mut self, solver: u32, file: &[u8]) -> Result<(), JsValue> {
        self.call(|session| session.restore(solver, file))
    }

    /// Forgets damping, trust radius and histories: the next step is made as the first one.
    #[wasm_bindgen(js_name = resetSolver)]
    pub fn reset_solver(&mut self, solver: u32) -> Result<(), JsValue> {
        self.call(|session| session.reset_solver(solver))
    }

    #[wasm_bindgen(js_name = freeSolver)]
    pub fn free_solver(&mut self, solver: u32) {
        self.post(|session| session.free_solver(solver));
    }

    /// A task: solves with weights by graduated non-convexity; iterations of all solves are told. `terms`: term and number of known inliers, one after the
    /// other; `known`: these. `cost`: "tls" or "gm".
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
        let options: leastwise_solve::Options = read_record(options)?;
        let options = &options;
        self.call(|session| {
            session.graduated(
                problem,
                &Suspect::unpack(terms, thresholds, known)?,
                wire::graduation(cost, step, max_rounds, cost_tolerance)?,
                options,
            )
        })
    }

    /// A task, where laying the problem out takes long.
    #[wasm_bindgen(js_name = layOut)]
    pub fn lay_out(&mut self, problem: u32) -> Result<Option<u32>, JsValue> {
        self.call(|session| session.lay_out(problem))
    }

    /// A task whose `done` carries a new covariance of the problem's variables at the accepted values.
    pub fn covariance(
        &mut self,
        problem: u32,
        variance: Option<f64>,
        pseudo_inverse: bool,
        rank_tolerance: Option<f64>,
    ) -> Result<u32, JsValue> {
        self.call(|session| session.covariance(problem, CovarianceOptions { variance, pseudo_inverse, rank_tolerance }))
    }

    /// A task: blocks of a covariance. `of` is table and instance, one after the other; `others` likewise, to be paired with them.
    /// `form`: "covariance", "errors", "correlation", "joint" or "joint-correlation". `lifted`: of stored scalars.
    #[wasm_bindgen(js_name = covarianceBlocks)]
    pub fn covariance_blocks(
        &mut self,
        covariance: u32,
        of: &[u32],
        others: Option<Vec<u32>>,
        form: &str,
        lifted: bool,
    ) -> Result<u32, JsValue> {
        let others = others.as_deref();
        self.call(|session| session.covariance_blocks(covariance, of, others, form, lifted))
    }

    #[wasm_bindgen(js_name = freeCovariance)]
    pub fn free_covariance(&mut self, covariance: u32) {
        self.post(|session| session.free_covariance(covariance));
    }

    /// A task whose `done` carries dL/dθ of a function L of the solution. `tables`: a table and how many values its ∂L/∂x has, one after the other;
    /// `values`: these, by stored scalars or (`tangent`) degrees of freedom.
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
        self.call(|session| {
            session.backward(problem, tables, values, tangent, BackwardOptions { least_norm, rank_tolerance, stationary_tolerance })
        })
    }

    /// For benchmarks. A task: its one value is the milliseconds of one of `repeats` evaluations of r and J, or of products
    /// (JᵀWJ + λD)p, in one submission, less those of an empty submission. The solver can go on afterwards.
    pub fn measure(&mut self, solver: u32, what: &str, repeats: u32) -> Result<u32, JsValue> {
        self.call(|session| {
            let what = wire::measured(what)?;
            session.measure(solver, what, repeats)
        })
    }

    /// The same for our own kernel copying `bytes` bytes: the bandwidth to compare with.
    #[wasm_bindgen(js_name = measureCopy)]
    pub fn measure_copy(&mut self, bytes: f64, repeats: u32) -> Result<u32, JsValue> {
        self.call(|session| session.measure_copy(bytes, repeats))
    }

    /// The bytes that operations must move: each buffer that one reads counts once, and once more if it writes it.
    pub fn traffic(&mut self, solver: u32) -> Result<JsValue, JsValue> {
        to_js(&self.call(|session| session.traffic(solver))?)
    }

    /// A model of many small fits, as `packed.ts` packs it.
    #[wasm_bindgen(js_name = newFit)]
    pub fn new_fit(&mut self, words: &[u32], reals: &[f64]) -> Result<u32, JsValue> {
        self.call(|session| session.new_fit(words, reals))
    }

    /// Fits of so many points each that one set may have.
    #[wasm_bindgen(js_name = fitCapacity)]
    pub fn fit_capacity(&mut self, fit: u32, points: u32) -> Result<u32, JsValue> {
        self.call(|session| session.fit_capacity(fit, points))
    }

    #[wasm_bindgen(js_name = freeFit)]
    pub fn free_fit(&mut self, fit: u32) {
        self.post(|session| session.free_fit(fit));
    }

    /// A set of fits, whose data go to the device with its first task, and stay. `start` has one value for each parameter, or a column for each; `bounds` lower
    /// ones, then upper ones.
    #[wasm_bindgen(js_name = newFits)]
    pub fn new_fits(
        &mut self,
        fit: u32,
        count: u32,
        points: u32,
        data: JsValue,
        start: &[f64],
        bounds: &[f64],
        offsets: &[u32],
    ) -> Result<u32, JsValue> {
        let data = read_reals(&data)?;
        let data = data.reals();
        self.call(|session| session.new_fits(fit, count, points, data, start, bounds, offsets))
    }

    /// A task: uploads what is not on the device yet.
    #[wasm_bindgen(js_name = uploadFits)]
    pub fn upload_fits(&mut self, set: u32) -> Result<u32, JsValue> {
        self.call(|session| session.upload_fits(set))
    }

    /// A task: other data of as many points.
    #[wasm_bindgen(js_name = writeFits)]
    pub fn write_fits(&mut self, set: u32, data: JsValue) -> Result<u32, JsValue> {
        let data = read_reals(&data)?;
        let data = data.reals();
        self.call(|session| session.write_fits(set, data))
    }

    /// A task: fits, from starting values, or from the parameters that there are (`keeps`). `candidates` has rows of all parameters, of which those with bits in
    /// `given` are taken; fits are made from every one and the best is kept (`fitted`), or from the one with the lowest objective.
    #[wasm_bindgen(js_name = runFits)]
    pub fn run_fits(
        &mut self,
        set: u32,
        keeps: bool,
        candidates: &[f64],
        given: u32,
        fitted: bool,
        options: JsValue,
    ) -> Result<u32, JsValue> {
        let options: leastwise_fits::Options = read_record(options)?;
        let options = &options;
        self.call(|session| session.run_fits(set, keeps, candidates, given, fitted, options))
    }

    /// A task whose `values` are fields of all fits, a column each: of parameters, standard errors of the free ones (0 where there are none), F, iterations, state.
    #[wasm_bindgen(js_name = readFits)]
    pub fn read_fits(&mut self, set: u32, first: u32, fields: u32) -> Result<u32, JsValue> {
        self.call(|session| session.read_fits(set, first, fields))
    }

    /// A task: fits from where they are, with other values of the parameters that all share, among `values` of all. Before that what fits came to is kept, or what
    /// was kept last is restored.
    #[wasm_bindgen(js_name = tryFits)]
    pub fn try_fits(&mut self, set: u32, values: &[f64], keeps: bool, restores: bool, options: JsValue) -> Result<u32, JsValue> {
        let options: leastwise_fits::Options = read_record(options)?;
        let options = &options;
        self.call(|session| session.try_fits(set, values, keeps, restores, options))
    }

    /// A task whose `values` are sums over fits, each in two parts: the lower triangle of the reduced matrix of shared parameters, the reduced gradient, F, and the
    /// number of fits that are not finite.
    #[wasm_bindgen(js_name = reduceFits)]
    pub fn reduce_fits(&mut self, set: u32) -> Result<u32, JsValue> {
        self.call(|session| session.reduce_fits(set))
    }

    /// A task: standard errors, where shared parameters have this covariance; before that, what was kept last is restored (`restores`).
    #[wasm_bindgen(js_name = spreadFits)]
    pub fn spread_fits(&mut self, set: u32, covariance: &[f64], restores: bool) -> Result<u32, JsValue> {
        self.call(|session| session.spread_fits(set, covariance, restores))
    }

    #[wasm_bindgen(js_name = freeFits)]
    pub fn free_fits(&mut self, set: u32) {
        self.post(|session| session.free_fits(set));
    }

    /// A task whose `done` carries the clustering, which begins with the centroids of `start` where there are some.
    pub fn cluster(&mut self, points: JsValue, start: Option<Vec<f64>>, options: JsValue) -> Result<u32, JsValue> {
        let points = read_vectors(&points)?;
        let start = start.as_deref();
        let options: leastwise_anneal::cluster::Options = read_record(options)?;
        let options = &options;
        self.call(|session| session.cluster(points, start, options))
    }

    /// A task whose `done` carries a new index: clusters, then codes.
    pub fn compress(&mut self, points: JsValue, options: JsValue) -> Result<u32, JsValue> {
        let points = read_vectors(&points)?;
        let options: leastwise_session::CompressOptions = read_record(options)?;
        let options = &options;
        self.call(|session| session.compress(points, options))
    }

    /// An index of a file's bytes, or of the published format's files.
    #[wasm_bindgen(js_name = openIndex)]
    pub fn open_index(&mut self, file: &[u8]) -> Result<u32, JsValue> {
        self.call(|session| session.open_index(file))
    }

    #[wasm_bindgen(js_name = openPublished)]
    pub fn open_published(
        &mut self,
        idx: &[u8],
        anchors: &[u8],
        assign: &[u8],
        jacobians: Option<Vec<u8>>,
        residuals: Option<Vec<u8>>,
    ) -> Result<u32, JsValue> {
        let jacobians = jacobians.as_deref();
        let residuals = residuals.as_deref();
        self.call(|session| session.open_published(Files { idx, anchors, assign, jacobians, residuals }))
    }

    /// A reader of a file that comes in pieces, which it checks as they come; the index is what `finishIndexReader` gives.
    #[wasm_bindgen(js_name = indexReader)]
    pub fn index_reader(&mut self) -> Result<u32, JsValue> {
        self.call(|session| Ok(session.index_reader()))
    }

    #[wasm_bindgen(js_name = feedIndexReader)]
    pub fn feed_index_reader(&mut self, reader: u32, piece: &[u8]) -> Result<(), JsValue> {
        self.call(|session| session.feed_index_reader(reader, piece))
    }

    #[wasm_bindgen(js_name = finishIndexReader)]
    pub fn finish_index_reader(&mut self, reader: u32) -> Result<u32, JsValue> {
        self.call(|session| session.finish_index_reader(reader))
    }

    #[wasm_bindgen(js_name = freeIndexReader)]
    pub fn free_index_reader(&mut self, reader: u32) {
        self.post(|session| session.free_index_reader(reader));
    }

    /// Description of an index, as JSON: `vector-index.ts` has its type.
    #[wasm_bindgen(js_name = indexInfo)]
    pub fn index_info(&mut self, index: u32) -> Result<String, JsValue> {
        self.call(|session| session.index_info(index))
    }

    /// Components, vectors, and the id that comes next; and bytes of the file.
    #[wasm_bindgen(js_name = indexSizes)]
    pub fn index_sizes(&mut self, index: u32) -> Result<Vec<u32>, JsValue> {
        self.call(|session| session.index_sizes(index).map(Vec::from))
    }

    #[wasm_bindgen(js_name = indexBytes)]
    pub fn index_bytes(&mut self, index: u32) -> Result<f64, JsValue> {
        self.call(|session| session.index_bytes(index).map(|bytes| bytes as f64))
    }

    #[wasm_bindgen(js_name = setIndexSearching)]
    pub fn set_index_searching(&mut self, index: u32, place: &str) -> Result<(), JsValue> {
        self.call(|session| session.set_index_searching(index, place))
    }

    /// Bits a component of the sketches that searches through lists may keep: 0, 1 or 8.
    #[wasm_bindgen(js_name = setIndexSketching)]
    pub fn set_index_sketching(&mut self, index: u32, bits: u32) -> Result<(), JsValue> {
        self.call(|session| session.set_index_sketching(index, bits))
    }

    /// A task whose `done` carries hits. `filter` has a byte for each id; `effort` is the beam of a walk in the graph.
    #[wasm_bindgen(js_name = searchIndex)]
    pub fn search_index(
        &mut self,
        index: u32,
        queries: JsValue,
        k: u32,
        probes: Option<u32>,
        effort: Option<u32>,
        filter: Option<Vec<u8>>,
    ) -> Result<u32, JsValue> {
        let queries = read_vectors(&queries)?;
        self.call(|session| session.search_index(index, queries, k, probes, effort, filter))
    }

    /// A task that makes the graph, or goes on with it: neighbours of a vector, and the beam of the searches for them.
    #[wasm_bindgen(js_name = buildIndexGraph)]
    pub fn build_index_graph(&mut self, index: u32, degree: Option<u32>, effort: Option<u32>) -> Result<u32, JsValue> {
        self.call(|session| session.build_index_graph(index, degree, effort))
    }

    /// A task whose `done` carries an evaluation. Row i of `points` is the vector of id i; removed ones are left out.
    #[wasm_bindgen(js_name = evaluateIndex)]
    pub fn evaluate_index(
        &mut self,
        index: u32,
        queries: JsValue,
        points: JsValue,
        k: u32,
        probes: Option<u32>,
        effort: Option<u32>,
    ) -> Result<u32, JsValue> {
        let queries = read_vectors(&queries)?;
        let points = read_vectors(&points)?;
        self.call(|session| session.evaluate_index(index, queries, points, k, probes, effort))
    }

    /// A task whose `done` carries the new ids.
    #[wasm_bindgen(js_name = addToIndex)]
    pub fn add_to_index(&mut self, index: u32, points: JsValue) -> Result<u32, JsValue> {
        let points = read_vectors(&points)?;
        self.call(|session| session.add_to_index(index, points))
    }

    /// How many of them were in it.
    #[wasm_bindgen(js_name = removeFromIndex)]
    pub fn remove_from_index(&mut self, index: u32, ids: &[u32]) -> Result<u32, JsValue> {
        self.call(|session| session.remove_from_index(index, ids).map(|removed| removed as u32))
    }

    #[wasm_bindgen(js_name = reconstructFromIndex)]
    pub fn reconstruct_from_index(&mut self, index: u32, ids: &[u32]) -> Result<Vec<f32>, JsValue> {
        self.call(|session| session.reconstruct_from_index(index, ids))
    }

    /// A task whose `done` carries the file's bytes; by lists, if its codes are to be read when searches need them.
    #[wasm_bindgen(js_name = saveIndex)]
    pub fn save_index(&mut self, index: u32, by_lists: bool) -> Result<u32, JsValue> {
        self.call(|session| session.save_index(index, by_lists))
    }

    #[wasm_bindgen(js_name = freeIndex)]
    pub fn free_index(&mut self, index: u32) {
        self.post(|session| session.free_index(index));
    }

    /// Where the codes begin in a file that begins like this, how many bytes they take, and how many the file.
    #[wasm_bindgen(js_name = placeOfLazyCodes)]
    pub fn place_of_lazy_codes(&mut self, start: &[u8]) -> Result<Vec<f64>, JsValue> {
        self.call(|session| session.place_of_lazy_codes(start))
    }

    /// An index without its codes: of what the file has before and behind them.
    #[wasm_bindgen(js_name = openLazyIndex)]
    pub fn open_lazy_index(&mut self, before: &[u8], behind: &[u8]) -> Result<u32, JsValue> {
        self.call(|session| session.open_lazy_index(before, behind))
    }

    #[wasm_bindgen(js_name = lazyIndexInfo)]
    pub fn lazy_index_info(&mut self, index: u32) -> Result<String, JsValue> {
        self.call(|session| session.lazy_index_info(index))
    }

    /// Components, vectors, and the id that comes next.
    #[wasm_bindgen(js_name = lazyIndexSizes)]
    pub fn lazy_index_sizes(&mut self, index: u32) -> Result<Vec<u32>, JsValue> {
        self.call(|session| session.lazy_index_sizes(index).map(Vec::from))
    }

    /// Where the codes of every list begin, in vectors, and where the last end.
    #[wasm_bindgen(js_name = lazyIndexStarts)]
    pub fn lazy_index_starts(&mut self, index: u32) -> Result<Vec<u32>, JsValue> {
        self.call(|session| session.lazy_index_starts(index))
    }

    /// A search that is given the codes of lists, one after the other, and the lists whose codes it needs.
    #[wasm_bindgen(js_name = beginLazySearch)]
    pub fn begin_lazy_search(
        &mut self,
        index: u32,
        queries: JsValue,
        k: u32,
        probes: Option<u32>,
        effort: Option<u32>,
        filter: Option<Vec<u8>>,
    ) -> Result<u32, JsValue> {
        let queries = read_vectors(&queries)?;
        self.call(|session| session.begin_lazy_search(index, queries, k, probes, effort, filter))
    }

    #[wasm_bindgen(js_name = lazySearchLists)]
    pub fn lazy_search_lists(&mut self, search: u32) -> Result<Vec<u32>, JsValue> {
        self.call(|session| session.lazy_search_lists(search))
    }

    #[wasm_bindgen(js_name = scanLazyList)]
    pub fn scan_lazy_list(&mut self, search: u32, list: u32, codes: &[u8]) -> Result<(), JsValue> {
        self.call(|session| session.scan_lazy_list(search, list, codes))
    }

    /// A task whose `done` carries what a search found; the search is gone.
    #[wasm_bindgen(js_name = endLazySearch)]
    pub fn end_lazy_search(&mut self, search: u32) -> Result<u32, JsValue> {
        self.call(|session| session.end_lazy_search(search))
    }

    #[wasm_bindgen(js_name = freeLazySearch)]
    pub fn free_lazy_search(&mut self, search: u32) {
        self.post(|session| session.free_lazy_search(search));
    }

    #[wasm_bindgen(js_name = freeLazyIndex)]
    pub fn free_lazy_index(&mut self, index: u32) {
        self.post(|session| session.free_lazy_index(index));
    }

    /// A task whose `done` carries the new ids of the other index's vectors, in order of their ids there.
    #[wasm_bindgen(js_name = mergeIndex)]
    pub fn merge_index(&mut self, index: u32, other: u32) -> Result<u32, JsValue> {
        self.call(|session| session.merge_index(index, other))
    }

    /// A task whose `done` carries a file of what changed since another: that one's checksum, number of vectors and next id; `removed` are ids that were taken out.
    #[wasm_bindgen(js_name = saveIndexChanges)]
    pub fn save_index_changes(&mut self, index: u32, file: u32, count: u32, next_id: u32, removed: &[u32]) -> Result<u32, JsValue> {
        self.call(|session| session.save_index_changes(index, file, count, next_id, removed))
    }

    /// Makes the changes of a file that follows on the one with this checksum.
    #[wasm_bindgen(js_name = applyIndexChanges)]
    pub fn apply_index_changes(&mut self, index: u32, changes: &[u8], follows: u32) -> Result<(), JsValue> {
        self.call(|session| session.apply_index_changes(index, changes, follows))
    }

    /// Vectors of bits, packed in bytes.
    #[wasm_bindgen(js_name = newBitIndex)]
    pub fn new_bit_index(&mut self, dim: u32) -> Result<u32, JsValue> {
        self.call(|session| session.new_bit_index(dim))
    }

    #[wasm_bindgen(js_name = openBitIndex)]
    pub fn open_bit_index(&mut self, file: &[u8]) -> Result<u32, JsValue> {
        self.call(|session| session.open_bit_index(file))
    }

    /// Bits of a vector, vectors, the id that comes next, and bytes of memory.
    #[wasm_bindgen(js_name = bitIndexSizes)]
    pub fn bit_index_sizes(&mut self, index: u32) -> Result<Vec<u32>, JsValue> {
        self.call(|session| session.bit_index_sizes(index))
    }

    /// The id of the first; the others follow.
    #[wasm_bindgen(js_name = addToBitIndex)]
    pub fn add_to_bit_index(&mut self, index: u32, vectors: &[u8]) -> Result<u32, JsValue> {
        self.call(|session| session.add_to_bit_index(index, vectors))
    }

    #[wasm_bindgen(js_name = removeFromBitIndex)]
    pub fn remove_from_bit_index(&mut self, index: u32, ids: &[u32]) -> Result<u32, JsValue> {
        self.call(|session| session.remove_from_bit_index(index, ids))
    }

    /// Hits of each query, where they begin and where the last end; then ids, then distances. With `within` all that are so near, and not `k`.
    #[wasm_bindgen(js_name = searchBitIndex)]
    pub fn search_bit_index(
        &mut self,
        index: u32,
        queries: &[u8],
        k: u32,
        within: Option<u32>,
        filter: Option<Vec<u8>>,
    ) -> Result<Vec<u32>, JsValue> {
        self.call(|session| session.search_bit_index(index, queries, k, within, filter))
    }

    /// A task whose `done` carries the packed vectors of ids.
    #[wasm_bindgen(js_name = bitIndexVectors)]
    pub fn bit_index_vectors(&mut self, index: u32, ids: &[u32]) -> Result<u32, JsValue> {
        self.call(|session| session.bit_index_vectors(index, ids))
    }

    /// A task whose `done` carries the file's bytes.
    #[wasm_bindgen(js_name = saveBitIndex)]
    pub fn save_bit_index(&mut self, index: u32) -> Result<u32, JsValue> {
        self.call(|session| session.save_bit_index(index))
    }

    #[wasm_bindgen(js_name = freeBitIndex)]
    pub fn free_bit_index(&mut self, index: u32) {
        self.post(|session| session.free_bit_index(index));
    }

    /// Tensors. Ids are small integers that the façade holds one handle to each; `packed` results are, one after the other: id, rank (and from bit 16 on
    /// 1 for int32, 2 for bool), sizes. `double`: f64 (CPU and CUDA), else f32.
    #[wasm_bindgen(js_name = tensorStore)]
    pub fn tensor_store(&mut self, values: JsValue, shape: &[u32], double: bool) -> Result<Vec<u32>, JsValue> {
        let values = read_reals(&values)?;
        let values = values.reals();
        self.call(|session| session.tensor(values, shape, double))
    }

    /// Rounded to halves, and kept as such; ids are those of f32, as are results of operations but `f16`.
    #[wasm_bindgen(js_name = tensorStoreHalves)]
    pub fn tensor_store_halves(&mut self, values: JsValue, shape: &[u32]) -> Result<Vec<u32>, JsValue> {
        let values = read_reals(&values)?;
        let values = values.reals();
        self.call(|session| session.tensor_halves(values, shape))
    }

    /// The bits of int32s.
    #[wasm_bindgen(js_name = tensorIntegers)]
    pub fn tensor_integers(&mut self, values: JsValue, shape: &[u32], double: bool) -> Result<Vec<u32>, JsValue> {
        let values = read_indices(&values)?;
        let values = &values[..];
        self.call(|session| session.tensor_integers(values, shape, double))
    }

    /// Whole numbers that rows are gathered by: gradients of gather need these.
    #[wasm_bindgen(js_name = tensorNumbers)]
    pub fn tensor_numbers(&mut self, values: JsValue, shape: &[u32], double: bool) -> Result<Vec<u32>, JsValue> {
        let values = read_indices(&values)?;
        let values = &values[..];
        self.call(|session| session.tensor_numbers(values, shape, double))
    }

    #[wasm_bindgen(js_name = tensorOp)]
    pub fn tensor_op(&mut self, name: &str, inputs: &[u32], numbers: &[f64], double: bool) -> Result<Vec<u32>, JsValue> {
        self.call(|session| session.tensor_operation(name, inputs, numbers, double))
    }

    /// A traced function of one scalar each.
    #[wasm_bindgen(js_name = tensorMap)]
    pub fn tensor_map(&mut self, words: &[u32], outputs: &[u32], inputs: &[u32]) -> Result<Vec<u32>, JsValue> {
        self.call(|session| session.tensor_map(words, outputs, inputs))
    }

    #[wasm_bindgen(js_name = tensorGradient)]
    pub fn tensor_gradient(&mut self, loss: u32, of: &[u32]) -> Result<Vec<u32>, JsValue> {
        self.call(|session| session.tensor_gradient(loss, of))
    }

    #[wasm_bindgen(js_name = tensorRelease)]
    pub fn tensor_release(&mut self, ids: &[u32]) {
        self.post(|session| session.release_tensors(ids));
    }

    /// A task: its `values` are all that were read, one after the other (in one submission and one readback).
    #[wasm_bindgen(js_name = tensorEvaluate)]
    pub fn tensor_evaluate(&mut self, outputs: &[u32], read: &[u32]) -> Result<u32, JsValue> {
        self.call(|session| session.evaluate_tensors(outputs, read))
    }

    /// Steps by which tensors and problems meet, in one method: `src/session/lending.rs` says what each is given and gives.
    #[wasm_bindgen(js_name = tensorMeet)]
    pub fn tensor_meet(&mut self, step: &str, problem: u32, words: &[u32], values: &[f64]) -> Result<Vec<u32>, JsValue> {
        self.call(|session| {
            let step = wire::meeting(step)?;
            session.meet(step, problem, words, values)
        })
    }

    #[wasm_bindgen(js_name = tensorSettings)]
    pub fn tensor_settings(&mut self, settings: JsValue) -> Result<(), JsValue> {
        let settings: leastwise_session::TensorSettings = read_record(settings)?;
        let settings = &settings;
        self.call(|session| session.set_tensors(settings))
    }

    #[wasm_bindgen(js_name = tensorTrace)]
    pub fn tensor_trace(&mut self) -> Result<JsValue, JsValue> {
        to_js(&self.call(|session| Ok(session.tensor_trace().to_vec()))?)
    }

    #[wasm_bindgen(js_name = tensorStatistics)]
    pub fn tensor_statistics(&mut self) -> Result<JsValue, JsValue> {
        to_js(&self.call(|session| Ok(session.tensor_statistics()))?)
    }

    #[wasm_bindgen(js_name = tensorTrim)]
    pub fn tensor_trim(&mut self) -> Result<(), JsValue> {
        self.call(|session| session.trim_tensors())
    }

    /// A task whose `values` are the model's numbers: those of `device`, of `cpu`, and the two of transfers.
    #[wasm_bindgen(js_name = tensorMeasure)]
    pub fn tensor_measure(&mut self) -> Result<u32, JsValue> {
        self.call(|session| session.measure_tensors())
    }

    /// Ends a running solve after the current iteration, with this termination ("stopped") and reason.
    pub fn stop(&mut self, task: u32, reason: &str) {
        self.post(|session| session.stop(task, reason));
    }
}
