// Written by `npm run generate` from src/session/surface.idl. Do not edit.
/**
 * The engine's whole surface as the façade sees it: the module's bindings (`src/js/`) and the addon's (`native_cuda/addon/`) have it, too.
 * Everything crosses once per object, never once per operation. Handles are small integers. Every call may throw a {@link NativeError}.
 */

/** Precision of an engine on the CPU or on CUDA. */
export type Precision = "f32" | "f64";

/** Reals on WebGPU: f32, pairs of them, or f32 that a sibling in pairs goes on from. */
export type Reals = "f32" | "mixed" | "f32x2";

/** Extent of a solve: to termination, or one iteration. */
export type Mode = "solve" | "step";

/** Form of Hessians. */
export type Hessian = "exact" | "psd";

/** Step by which tensors and problems meet. */
export type Meeting = "borrow" | "await" | "awaits" | "lend" | "lenders" | "learn" | "solution" | "solves" | "epoch" | "pulls" | "fill";

/** Subject of a measurement. */
export type Measured = "evaluation" | "product";

/** What the engine throws; `errors.ts` makes a `LeastwiseError` of it. */
export interface NativeError {
  readonly code: string;
  readonly message: string;
  readonly term?: string;
  readonly instance?: number;
  readonly slot?: number;
}

/** What became of a task after one `resume`. */
export type Progress =
  | { readonly state: "yielded" }                                       // the time slice is used up: call again
  | { readonly state: "waiting"; readonly ready: Promise<void> }        // the GPU works, or the addon's thread: call again after this promise
  | { readonly state: "iteration"; readonly iteration: NativeIteration } // one iteration is complete: call again
  | { readonly state: "progress"; readonly done: number; readonly total: number } // so much of it is done: call again
  | ({ readonly state: "done" } & NativeDone);

/** What a task came to: at most one of these. */
export interface NativeDone {
  readonly values?: Float64Array;
  readonly report?: NativeReport;
  readonly clustering?: NativeClustering;
  readonly index?: number;
  readonly hits?: NativeHits;
  readonly ids?: Uint32Array;
  readonly bytes?: Uint8Array;
  readonly evaluation?: NativeEvaluation;
  readonly covariance?: NativeCovariance;
  readonly gradients?: NativeGradients;
  readonly graduated?: NativeGraduated;
}

export interface NativeIteration {
  readonly index: number;
  readonly cost: number;
  readonly costChange: number;
  readonly gradientNorm: number;
  readonly stepNorm: number;
  readonly damping: number;
  readonly radius?: number;
  readonly length?: number;
  readonly gainRatio: number;
  readonly innerIterations: number;
  readonly accepted: boolean;
  readonly ms: number;
}

export interface NativeConstraint {
  readonly term: string;
  readonly relation: string;
  readonly violation: number;
  readonly instance: number;
  readonly row: number;
  readonly multiplier: number;
}

export interface NativeFeasibility {
  readonly violation: number;
  readonly optimality: number;
  readonly outerIterations: number;
  readonly penalty: number;
  readonly constraints: readonly NativeConstraint[];
}

export interface NativeReport {
  readonly termination: string;
  readonly converged: boolean;
  readonly reason: string;
  readonly initialCost: number;
  readonly cost: number;
  readonly iterations: readonly NativeIteration[];
  readonly costByTerm: { readonly [name: string]: number };
  readonly feasibility?: NativeFeasibility;
  readonly movedIntoBounds: number;
  readonly nonFinite: number;
  readonly firstNonFinite?: NativeOffender;
  readonly gauge: readonly NativeFreedom[];
  readonly products: readonly NativeProduct[];
  readonly evaluators: readonly NativeEvaluator[];
  readonly idleDispatches: number;
  readonly compileMs: number;
  readonly solveMs: number;
  readonly backend: string;
  readonly precision: string;
  readonly refinement: NativeRefinement;
  readonly method: string;
  readonly linear: string;
  readonly linearReason: string;
  readonly preconditioner?: string;
  readonly preconditionerReason?: string;
  readonly factorizations?: number;
  readonly counters: NativeCounters;
}

/** What became of going on in mixed precision. */
export interface NativeRefinement {
  readonly state: string;
  readonly code?: string;
  readonly reason: string;
}

/** The first instance that was not finite at a trial point. */
export interface NativeOffender {
  readonly iteration: number;
  readonly term: string;
  readonly instance: number;
}

/** Gauge freedom: unknowns without residuals, and motions that leave every residual unchanged. */
export type NativeFreedom = NativeUntouched | NativeTranslation;

export interface NativeUntouched {
  readonly kind: "untouched";
  readonly variable: string;
  readonly instances: number;
  readonly first: number;
}

export interface NativeTranslation {
  readonly kind: "translation";
  readonly variable: string;
  readonly components: readonly number[];
}

/** How a batch's products are computed. */
export interface NativeProduct {
  readonly term: string;
  readonly instances: number;
  readonly schedule: string;
  readonly reason: string;
  readonly key: string;
}

/** What runs a program. */
export interface NativeEvaluator {
  readonly program: string;
  readonly instances: number;
  readonly evaluator: string;
  readonly module: string;
  readonly reason: string;
  readonly key: string;
}

export interface NativeCounters {
  readonly submissions: number;
  readonly dispatches: number;
  readonly rounds: number;
  readonly roundDispatches: number;
  readonly readbacks: number;
  readonly bytesReadBack: number;
  readonly matrixReadbacks: number;
  readonly matrixBytesReadBack: number;
  readonly bytesUploaded: number;
  readonly buffersCreated: number;
  readonly buffersDestroyed: number;
  readonly kernelsCreated: number;
  readonly bytesLive: number;
  readonly bytesPeak: number;
}

/** What a term came to; `neighbours` are other terms (or parts of ragged ones) in its batches. */
export interface NativeDescription {
  readonly residuals: number;
  readonly inputs: number;
  readonly jacobianColumns: number;
  readonly contributionColumns: number;
  readonly chunks: number;
  readonly instructions: number;
  readonly batches: number;
  readonly neighbours: number;
}

/** What an engine has compiled and found again. */
export interface NativeStats {
  readonly terms: number;
  readonly hits: number;
  readonly structures: number;
  readonly compiled: number;
  readonly layouts: number;
  readonly compileMs: number;
}

export interface NativeOptions {
  readonly method?: string;
  readonly memory?: number;
  readonly learningRate?: number;
  readonly decays?: readonly [number, number];
  readonly dogleg?: string;
  readonly linear?: string;
  readonly preconditioner?: string;
  readonly eliminate?: readonly number[];
  readonly nonmonotone?: number;
  readonly maxInnerIterations?: number;
  readonly forcing?: number;
  readonly maxIterations?: number;
  readonly feasibilityTolerance?: number;
  readonly penalty?: number;
  readonly maxOuterIterations?: number;
  readonly timeLimitMs?: number;
  readonly costTolerance?: number;
  readonly gradientTolerance?: number;
  readonly stepTolerance?: number;
}

/** Part of a table of variables in the null space: what can move without any residual changing, to first order. */
export interface NativeNullSpacePart {
  readonly variable: string;
  /** How many instances move, and the first eight of them. */
  readonly instances: number;
  readonly listed: readonly number[];
  /** Those of them that no residual touches. */
  readonly untouched: number;
  /** Of points in the plane or in space: the independent movements of all of them as a whole. */
  readonly translations: number;
  readonly rotations: number;
  readonly scalings: number;
}

export interface NativeCovarianceSummary {
  readonly residuals: number;
  readonly unknowns: number;
  readonly fixed: number;
  readonly atLimits: number;
  readonly deficiency: number;
  readonly unseen: readonly NativeNullSpacePart[];
  readonly equalities: number;
  readonly redundant: number;
  readonly violation: number;
  readonly cost: number;
  readonly variance: number;
  readonly estimated: boolean;
  readonly method: "dense" | "sparse";
}

/** A new covariance. */
export interface NativeCovariance {
  readonly handle: number;
  readonly summary: NativeCovarianceSummary;
}

/** Where the gradients of a term are: lengths of its columns', and of its weights'. */
export interface NativeTermGradients {
  readonly term: number;
  readonly columns: readonly number[];
  readonly weight: number;
}

export interface NativeTableGradients {
  readonly table: number;
  readonly values: number;
}

/** dL/dθ: of every term its columns and its weight, then of every table; `values` has all of them one after the other. */
export interface NativeGradients {
  readonly gradientNorm: number;
  readonly distance: number;
  readonly stationary: boolean;
  readonly refinements: number;
  readonly deficiency: number;
  readonly unseen: readonly NativeNullSpacePart[];
  readonly equalities: number;
  readonly redundant: number;
  readonly violation: number;
  readonly unknowns: number;
  readonly method: "dense" | "sparse";
  readonly terms: readonly NativeTermGradients[];
  readonly tables: readonly NativeTableGradients[];
  readonly values: Float64Array;
}

/** A graduated solve: `counts` instances of each term, whose weights are one after the other. */
export interface NativeGraduated {
  readonly report: NativeReport;
  readonly ending: string;
  readonly rounds: number;
  readonly mu: number | null | undefined;
  readonly steps: number;
  readonly counts: readonly number[];
  readonly weights: Float64Array;
}

/** Compulsory bytes: of an evaluation, a product, an inner iteration, a step without its inner iterations; and those of r and J. */
export interface NativeTraffic {
  readonly evaluation: number;
  readonly product: number;
  readonly inner: number;
  readonly step: number;
  readonly jacobian: number;
}

/** Limits that the tests force: bytes a binding, invocations a group, groups a dimension. */
export interface NativeLimits {
  readonly bindingBytes?: number;
  readonly memoryBytes?: number;
  readonly groupSize?: number;
  readonly groupsPerDimension?: number;
}

/** Where a variable lives on the GPU, in bytes. */
export interface NativeView {
  readonly buffer: unknown;
  readonly offset: number;
  readonly stride: number;
}

/** How to cluster; what is not there is the method's default. */
export interface NativeClusterOptions {
  readonly dim: number;
  readonly clusters: number;
  readonly method: string;
  readonly start?: string;
  readonly mean?: "plain" | { readonly trim: number } | { readonly huber: number };
  readonly maxIterations?: number;
  readonly tolerance?: number;
  readonly minChanges?: number;
  readonly temperature?: number;
  readonly cooling?: number;
  readonly learningRate?: number;
  readonly momentum?: number;
  readonly maintenanceInterval?: number;
  readonly seed?: number;
  readonly deviceBytes?: number;
}

export interface NativeClusterIteration {
  readonly energy: number;
  readonly changed: number;
  readonly temperature: number;
  readonly clusters: number;
}

export interface NativeClustering {
  readonly centroids: Float32Array;
  readonly labels: Uint32Array;
  readonly counts: Uint32Array;
  readonly clusters: number;
  readonly energy: number;
  readonly iterations: readonly NativeClusterIteration[];
  readonly termination: string;
  readonly reason: string;
  readonly ms: number;
}

/** How to compress: what is not there is chosen by the engine. */
export interface NativeCompressOptions {
  readonly dim: number;
  readonly clusters?: number;
  readonly method?: string;
  readonly seed?: number;
  readonly sample?: number;
  readonly trainFor?: number;
  readonly code: string;
  readonly bits?: number;
  readonly ratio?: number;
}

/** When fits end; what is not there is the default. */
export interface NativeFitOptions {
  readonly maxIterations?: number;
  readonly costTolerance?: number;
  readonly stepTolerance?: number;
}

/** k a query, row by row; id 2³² − 1 and distance ∞ where there are fewer. */
export interface NativeHits {
  readonly ids: Uint32Array;
  readonly distances: Float32Array;
  readonly searchedBy: "cpu" | "webgpu" | "cuda";
  readonly through: "lists" | "graph";
  readonly reason?: string;
}

/** What a device takes: microseconds of a launch; gigabytes moved and thousands of millions of operations done a second, elementwise and of products. */
export interface NativeRates {
  readonly launchUs: number;
  readonly gigabytes: number;
  readonly gigaops: number;
  readonly productGigaops: number;
}

/** What tensors' operations take on the session's device and on the CPU beside it, and what bringing something over takes. */
export interface NativeTensorModel {
  readonly device: NativeRates;
  readonly cpu: NativeRates;
  readonly readbackUs: number;
  readonly transferGigabytes: number;
}

export interface NativeTensorSettings {
  readonly routing?: "auto" | "device" | "cpu";
  readonly model?: NativeTensorModel;
  readonly advantage?: number;
  readonly poolBytes?: number;
  readonly fused?: boolean;
  readonly products?: "library" | "tf32" | "own";
  readonly slopes?: "finite" | "limits";
}

/** One step of the last evaluation of tensors. */
export interface NativeTraced {
  readonly what: string;
  readonly place: string;
  readonly reason: string;
  readonly elements: number;
  readonly bytes: number;
  readonly operations: number;
}

/**
 * What evaluations of tensors came to; `kernels`, `fused` and `transfers` are those of the last one. `live` to `evictions` are the pools'. Kernels on the CPU
 * read `inPlace` elements where they lie, and `copied` ones (masked, strided, repeated) into lanes first.
 */
export interface NativeTensorStatistics {
  readonly evaluations: number;
  readonly plansMade: number;
  readonly plansReused: number;
  readonly kernels: number;
  readonly fused: number;
  readonly transfers: number;
  readonly nodes: number;
  readonly live: number;
  readonly pooled: number;
  readonly peak: number;
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
  readonly inPlace: number;
  readonly copied: number;
}

/** How good an index is. */
export interface NativeEvaluation {
  readonly recall: number;
  readonly bytes: number;
  readonly ratio: number;
  readonly msPerQuery: number;
  readonly msSingle: number;
  readonly exactMsPerQuery: number;
  readonly searchedBy: "cpu" | "webgpu" | "cuda";
  readonly through: "lists" | "graph";
  readonly reason?: string;
}

export interface NativeEngine {
  readonly counters: NativeCounters;
  /** The adapter's own name; "cpu" without one. */
  readonly adapter: string;
  /** How double-floats are made ("fma", "halves"), or why there are none. */
  readonly doubles: string;
  problem(): number;
  freeProblem(problem: number): void;
  /** A table of instances of a shape, as `packed.ts` packs its parts. `moving` tells variables from constants. */
  table(problem: number, name: string, shape: Uint32Array, values: Float64Array | Float32Array, moving: boolean): number;
  /** Overwrites instances (all, or those in `at`). */
  writeTable(problem: number, table: number, values: Float64Array | Float32Array, at: Uint32Array | undefined): void;
  /** Overwrites a table by a linear combination of tables, on the device, with the values that the next step begins with. */
  combineTables(problem: number, table: number, sources: Uint32Array, factors: Float64Array): void;
  /** Fixes instances (all, or those in `at`), whole or some components. Edits cost one upload. */
  fixTable(problem: number, table: number, at: Uint32Array | undefined, components: Uint32Array | undefined): void;
  unfixTable(problem: number, table: number, at: Uint32Array | undefined): void;
  /** Limits: one, one a component, or one a component of every instance. What is undefined stays as it was. */
  boundTable(problem: number, table: number, lower: Float64Array | undefined, upper: Float64Array | undefined): void;
  /** A task whose `done` carries the table's accepted values. */
  readTable(problem: number, table: number): number;
  /** True if a solve waits for kernels to be compiled, or if that is unknown. */
  awaitsKernels(task: number): boolean;
  /** The last values that the host knows; also where the device is gone. */
  knownTable(problem: number, table: number): Float64Array;
  /** Undefined on the CPU and on CUDA. */
  viewTable(problem: number, table: number, width: number): NativeView | null | undefined;
  /** Normals of a table's instances, which are the vertices of triangles, in a buffer of their own. */
  normals(problem: number, table: number, triangles: Uint32Array): number;
  /** A task: the normals at the accepted values, which are its `values` if they are read. */
  computeNormals(normals: number, read: boolean): number;
  /** Computes them without waiting. On a GPU their kernel has to be compiled, by a task that computed them before. */
  updateNormals(normals: number): void;
  /** Undefined on the CPU and on CUDA. */
  viewNormals(normals: number): NativeView | null | undefined;
  freeNormals(normals: number): void;
  /**
   * Validates, reads, differentiates what is new. `wire.ts` says how a term is packed; `columns` are names, with a NUL after each.
   * Large arrays cross by themselves, uncopied where the host allows it: the index table `over`, row by row, and the first of the longest lists of reals.
   */
  term(problem: number, name: string, columns: string, words: Uint32Array, reals: Float64Array, over: Uint32Array | undefined, longest: Float64Array | undefined): number;
  /** Replaces one column's values (same length), recompiling nothing. */
  setColumn(problem: number, term: number, column: number, values: Float64Array | Float32Array): void;
  setWeight(problem: number, term: number, weight: number | Float64Array | Float32Array): void;
  /** Replaces the parameters of a term's loss, of the same kind; it is packed as `packed.ts` packs one. */
  setLoss(problem: number, term: number, words: Uint32Array, reals: Float64Array): void;
  setEnabled(problem: number, term: number, enabled: boolean): void;
  freeTerm(problem: number, term: number): void;
  /** A task: the cost of every instance, ½ w ρ(‖r‖²), at the accepted values. */
  termCosts(problem: number, term: number): number;
  /** A task: r, then J, then the Hessian if it is wanted, of every instance at the accepted values, row by row. */
  evaluateTerm(problem: number, term: number, hessian: Hessian | undefined): number;
  /** A task: error, instance, row, slot, component, derivative and difference of the worst entry of J. */
  checkTerm(problem: number, term: number): number;
  /** A task: λ of all rows of a constraint. */
  multipliers(problem: number, term: number): number;
  /** The statistics of a term's kernels. For benchmarks and tests. */
  describeTerm(problem: number, term: number): NativeDescription;
  stats(): NativeStats;
  /** A task: measures the products of a problem in every schedule and its programs by every evaluator, and puts the fastest in the tuning table. */
  tune(problem: number): number;
  /** The tuning table: keys, and after all of these their schedules and evaluators. */
  tuning(): string[];
  /** Gives a table back; `choices` are those of `keys`. */
  setTuning(keys: string[], choices: string[]): void;
  /** Solver of a problem. Error `busy` while another task of the problem runs. */
  solver(problem: number, options: NativeOptions): number;
  /** A solver that is set up by its first task. */
  laterSolver(problem: number, options: NativeOptions): number;
  /** Features that a solve may use: solvers on the host, two levels, methods without a linear system, and constraints; each 0 or 1. */
  reach(problem: number, options: NativeOptions): Uint32Array;
  /** A task. `step`: stops (state `done`, no report) after one iteration. */
  solve(solver: number, mode: Mode): number;
  /**
   * Live use: at most `iterations` more steps, none of them waited for. On the CPU works until `budgetMs`. Gives the steps accepted, rejected and
   * unfinished, once they are known.
   */
  advance(solver: number, iterations: number, budgetMs: number): Uint32Array | null | undefined;
  /** A task: brings the state back; its `done` carries the report. */
  report(solver: number): number;
  /** A task whose `done` carries a checkpoint's bytes. Also between two iterations of a solve of this solver. */
  saveSolver(solver: number): number;
  restoreSolver(solver: number, file: Uint8Array): void;
  /** Forgets damping, trust radius and histories: the next step is made as the first one. */
  resetSolver(solver: number): void;
  freeSolver(solver: number): void;
  /**
   * A task: solves with weights by graduated non-convexity; iterations of all solves are told. `terms`: term and number of known inliers, one after the
   * other; `known`: these. `cost`: "tls" or "gm".
   */
  graduated(problem: number, terms: Uint32Array, thresholds: Float64Array, known: Uint32Array, cost: string, step: number | undefined, maxRounds: number | undefined, costTolerance: number | undefined, options: NativeOptions): number;
  /** A task, where laying the problem out takes long. */
  layOut(problem: number): number | null | undefined;
  /** A task whose `done` carries a new covariance of the problem's variables at the accepted values. */
  covariance(problem: number, variance: number | undefined, pseudoInverse: boolean, rankTolerance: number | undefined): number;
  /**
   * A task: blocks of a covariance. `of` is table and instance, one after the other; `others` likewise, to be paired with them.
   * `form`: "covariance", "errors", "correlation", "joint" or "joint-correlation". `lifted`: of stored scalars.
   */
  covarianceBlocks(covariance: number, of: Uint32Array, others: Uint32Array | undefined, form: string, lifted: boolean): number;
  freeCovariance(covariance: number): void;
  /**
   * A task whose `done` carries dL/dθ of a function L of the solution. `tables`: a table and how many values its ∂L/∂x has, one after the other;
   * `values`: these, by stored scalars or (`tangent`) degrees of freedom.
   */
  backward(problem: number, tables: Uint32Array, values: Float64Array, tangent: boolean, leastNorm: boolean, rankTolerance: number | undefined, stationaryTolerance: number | undefined): number;
  /**
   * For benchmarks. A task: its one value is the milliseconds of one of `repeats` evaluations of r and J, or of products
   * (JᵀWJ + λD)p, in one submission, less those of an empty submission. The solver can go on afterwards.
   */
  measure(solver: number, what: Measured, repeats: number): number;
  /** The same for our own kernel copying `bytes` bytes: the bandwidth to compare with. */
  measureCopy(bytes: number, repeats: number): number;
  /** The bytes that operations must move: each buffer that one reads counts once, and once more if it writes it. */
  traffic(solver: number): NativeTraffic;
  /** A model of many small fits, as `packed.ts` packs it. */
  newFit(words: Uint32Array, reals: Float64Array): number;
  /** Fits of so many points each that one set may have. */
  fitCapacity(fit: number, points: number): number;
  freeFit(fit: number): void;
  /**
   * A set of fits, whose data go to the device with its first task, and stay. `start` has one value for each parameter, or a column for each; `bounds` lower
   * ones, then upper ones.
   */
  newFits(fit: number, count: number, points: number, data: Float64Array | Float32Array, start: Float64Array, bounds: Float64Array, offsets: Uint32Array): number;
  /** A task: uploads what is not on the device yet. */
  uploadFits(set: number): number;
  /** A task: other data of as many points. */
  writeFits(set: number, data: Float64Array | Float32Array): number;
  /**
   * A task: fits, from starting values, or from the parameters that there are (`keeps`). `candidates` has rows of all parameters, of which those with bits in
   * `given` are taken; fits are made from every one and the best is kept (`fitted`), or from the one with the lowest objective.
   */
  runFits(set: number, keeps: boolean, candidates: Float64Array, given: number, fitted: boolean, options: NativeFitOptions): number;
  /** A task whose `values` are fields of all fits, a column each: of parameters, standard errors of the free ones (0 where there are none), F, iterations, state. */
  readFits(set: number, first: number, fields: number): number;
  /**
   * A task: fits from where they are, with other values of the parameters that all share, among `values` of all. Before that what fits came to is kept, or what
   * was kept last is restored.
   */
  tryFits(set: number, values: Float64Array, keeps: boolean, restores: boolean, options: NativeFitOptions): number;
  /**
   * A task whose `values` are sums over fits, each in two parts: the lower triangle of the reduced matrix of shared parameters, the reduced gradient, F, and the
   * number of fits that are not finite.
   */
  reduceFits(set: number): number;
  /** A task: standard errors, where shared parameters have this covariance; before that, what was kept last is restored (`restores`). */
  spreadFits(set: number, covariance: Float64Array, restores: boolean): number;
  freeFits(set: number): void;
  /** A task whose `done` carries the clustering, which begins with the centroids of `start` where there are some. */
  cluster(points: Float64Array | Float32Array, start: Float64Array | undefined, options: NativeClusterOptions): number;
  /** A task whose `done` carries a new index: clusters, then codes. */
  compress(points: Float64Array | Float32Array, options: NativeCompressOptions): number;
  /** An index of a file's bytes, or of the published format's files. */
  openIndex(file: Uint8Array): number;
  openPublished(idx: Uint8Array, anchors: Uint8Array, assign: Uint8Array, jacobians: Uint8Array | undefined, residuals: Uint8Array | undefined): number;
  /** A reader of a file that comes in pieces, which it checks as they come; the index is what `finishIndexReader` gives. */
  indexReader(): number;
  feedIndexReader(reader: number, piece: Uint8Array): void;
  finishIndexReader(reader: number): number;
  freeIndexReader(reader: number): void;
  /** Description of an index, as JSON: `vector-index.ts` has its type. */
  indexInfo(index: number): string;
  /** Components, vectors, and the id that comes next; and bytes of the file. */
  indexSizes(index: number): Uint32Array;
  indexBytes(index: number): number;
  setIndexSearching(index: number, place: string): void;
  /** Bits a component of the sketches that searches through lists may keep: 0, 1 or 8. */
  setIndexSketching(index: number, bits: number): void;
  /** A task whose `done` carries hits. `filter` has a byte for each id; `effort` is the beam of a walk in the graph. */
  searchIndex(index: number, queries: Float64Array | Float32Array, k: number, probes: number | undefined, effort: number | undefined, filter: Uint8Array | undefined): number;
  /** A task that makes the graph, or goes on with it: neighbours of a vector, and the beam of the searches for them. */
  buildIndexGraph(index: number, degree: number | undefined, effort: number | undefined): number;
  /** A task whose `done` carries an evaluation. Row i of `points` is the vector of id i; removed ones are left out. */
  evaluateIndex(index: number, queries: Float64Array | Float32Array, points: Float64Array | Float32Array, k: number, probes: number | undefined, effort: number | undefined): number;
  /** A task whose `done` carries the new ids. */
  addToIndex(index: number, points: Float64Array | Float32Array): number;
  /** How many of them were in it. */
  removeFromIndex(index: number, ids: Uint32Array): number;
  reconstructFromIndex(index: number, ids: Uint32Array): Float32Array;
  /** A task whose `done` carries the file's bytes; by lists, if its codes are to be read when searches need them. */
  saveIndex(index: number, byLists: boolean): number;
  freeIndex(index: number): void;
  /** Where the codes begin in a file that begins like this, how many bytes they take, and how many the file. */
  placeOfLazyCodes(start: Uint8Array): Float64Array;
  /** An index without its codes: of what the file has before and behind them. */
  openLazyIndex(before: Uint8Array, behind: Uint8Array): number;
  lazyIndexInfo(index: number): string;
  /** Components, vectors, and the id that comes next. */
  lazyIndexSizes(index: number): Uint32Array;
  /** Where the codes of every list begin, in vectors, and where the last end. */
  lazyIndexStarts(index: number): Uint32Array;
  /** A search that is given the codes of lists, one after the other, and the lists whose codes it needs. */
  beginLazySearch(index: number, queries: Float64Array | Float32Array, k: number, probes: number | undefined, effort: number | undefined, filter: Uint8Array | undefined): number;
  lazySearchLists(search: number): Uint32Array;
  scanLazyList(search: number, list: number, codes: Uint8Array): void;
  /** A task whose `done` carries what a search found; the search is gone. */
  endLazySearch(search: number): number;
  freeLazySearch(search: number): void;
  freeLazyIndex(index: number): void;
  /** A task whose `done` carries the new ids of the other index's vectors, in order of their ids there. */
  mergeIndex(index: number, other: number): number;
  /** A task whose `done` carries a file of what changed since another: that one's checksum, number of vectors and next id; `removed` are ids that were taken out. */
  saveIndexChanges(index: number, file: number, count: number, nextId: number, removed: Uint32Array): number;
  /** Makes the changes of a file that follows on the one with this checksum. */
  applyIndexChanges(index: number, changes: Uint8Array, follows: number): void;
  /** Vectors of bits, packed in bytes. */
  newBitIndex(dim: number): number;
  openBitIndex(file: Uint8Array): number;
  /** Bits of a vector, vectors, the id that comes next, and bytes of memory. */
  bitIndexSizes(index: number): Uint32Array;
  /** The id of the first; the others follow. */
  addToBitIndex(index: number, vectors: Uint8Array): number;
  removeFromBitIndex(index: number, ids: Uint32Array): number;
  /** Hits of each query, where they begin and where the last end; then ids, then distances. With `within` all that are so near, and not `k`. */
  searchBitIndex(index: number, queries: Uint8Array, k: number, within: number | undefined, filter: Uint8Array | undefined): Uint32Array;
  /** A task whose `done` carries the packed vectors of ids. */
  bitIndexVectors(index: number, ids: Uint32Array): number;
  /** A task whose `done` carries the file's bytes. */
  saveBitIndex(index: number): number;
  freeBitIndex(index: number): void;
  /**
   * Tensors. Ids are small integers that the façade holds one handle to each; `packed` results are, one after the other: id, rank (and from bit 16 on
   * 1 for int32, 2 for bool), sizes. `double`: f64 (CPU and CUDA), else f32.
   */
  tensorStore(values: Float64Array | Float32Array, shape: Uint32Array, double: boolean): Uint32Array;
  /** Rounded to halves, and kept as such; ids are those of f32, as are results of operations but `f16`. */
  tensorStoreHalves(values: Float64Array | Float32Array, shape: Uint32Array): Uint32Array;
  /** The bits of int32s. */
  tensorIntegers(values: Uint32Array, shape: Uint32Array, double: boolean): Uint32Array;
  /** Whole numbers that rows are gathered by: gradients of gather need these. */
  tensorNumbers(values: Uint32Array, shape: Uint32Array, double: boolean): Uint32Array;
  tensorOp(name: string, inputs: Uint32Array, numbers: Float64Array, double: boolean): Uint32Array;
  /** A traced function of one scalar each. */
  tensorMap(words: Uint32Array, outputs: Uint32Array, inputs: Uint32Array): Uint32Array;
  tensorGradient(loss: number, of: Uint32Array): Uint32Array;
  tensorRelease(ids: Uint32Array): void;
  /** A task: its `values` are all that were read, one after the other (in one submission and one readback). */
  tensorEvaluate(outputs: Uint32Array, read: Uint32Array): number;
  /** Steps by which tensors and problems meet, in one method: `src/session/lending.rs` says what each is given and gives. */
  tensorMeet(step: Meeting, problem: number, words: Uint32Array, values: Float64Array): Uint32Array;
  /** Where an evaluated tensor is on the GPU. */
  tensorView(id: number): NativeView | null | undefined;
  tensorSettings(settings: NativeTensorSettings): void;
  tensorTrace(): readonly NativeTraced[];
  tensorStatistics(): NativeTensorStatistics;
  tensorTrim(): void;
  /** A task whose `values` are the model's numbers: those of `device`, of `cpu`, and the two of transfers. */
  tensorMeasure(): number;
  /** Goes on with a task for at most `budgetMs` (CPU), or until the GPU must be waited for. With `quiet` it need not tell of iterations. */
  resume(task: number, budgetMs: number, quiet: boolean | undefined): Progress;
  /** Ends a running solve after the current iteration, with this termination ("stopped") and reason. */
  stop(task: number, reason: string): void;
  /** Ends a task that has nothing to show, which answers "disposed" from then on; one that is over keeps what came of it. */
  abort(task: number): void;
  /** Drops a task that will not be resumed. */
  cancel(task: number): void;
  /** Destroys every buffer. The device is the façade's to destroy. */
  dispose(): void;
}

/** What the wasm module exports besides its initialiser. */
export interface NativeModule {
  openCpu(precision: Precision, limits: NativeLimits | undefined): NativeEngine;
  /** Through wgpu's web backend; reads `navigator.gpu`, which the façade replaces by a shim that hands out its device. */
  openWebGpu(precision: string | undefined, limits: NativeLimits | undefined): Promise<NativeEngine>;
  /** What the last panic said, if there was one. */
  lastPanic(): string | undefined;
}

/** The module with threads: `src/js/threads.rs`. It has no WebGPU, and its engines have `setThreads`. */
export interface ThreadedModule extends Omit<NativeModule, "openWebGpu"> {
  openCpu(precision: Precision, limits: NativeLimits | undefined): ThreadedNative;
  /** Dismisses all workers; gives the generation number of those that are started from now on. */
  resizePool(maySleep: boolean): number;
}

export interface ThreadedNative extends NativeEngine { setThreads(count: number): void }

/** One of several ranks. */
export interface NativeWorld { readonly rank: number; readonly size: number; readonly id: Uint8Array }

/** An engine of the addon, which may be one of several ranks. */
export interface RankedNative extends NativeEngine {
  /** Clustering of the points of all ranks, which were prepared for `metric`: labels are those of the engine's own points. An engine that is no rank clusters its own. */
  clusterByRanks(points: Float64Array | Float32Array, start: Float64Array | undefined, options: NativeClusterOptions, metric: string): number;
  /** A task: sums of tensors over all ranks, or means (`mean`). Its `values` are the new tensors, packed; an engine that is no rank gives its own, detached. A rank that could not make its tensors gives undefined, and all tasks fail. */
  sumOverRanks(tensors: Uint32Array | undefined, mean: boolean): number;
  /** Means of tensors over all ranks, packed, which the first evaluation computes that needs them: a task of all ranks, then, which compares the numbers of steps that they have made. None on an engine that is no rank. */
  meansOverRanks(tensors: Uint32Array, step: number): Uint32Array;
}

/** What the addon `leastwise-cuda` exports. Its engines' tasks run on a thread of their own. */
export interface NativeAddon {
  /** On one CPU, or on as many as there are devices, which are ranks. They wait `timeoutMs` for each other. */
  openCpu(precision: Precision, limits: NativeLimits | undefined, world: NativeWorld | undefined, devices: readonly number[] | undefined, timeoutMs: number | undefined): Promise<NativeEngine>;
  /** On the GPU with this index, or with that of the rank; or on several GPUs, which are ranks. Rejects with the code `no-adapter` where CUDA can't be used. */
  openCuda(precision: Precision, limits: NativeLimits | undefined, device: number | undefined, world: NativeWorld | undefined, devices: readonly number[] | undefined, timeoutMs: number | undefined): Promise<NativeEngine>;
}
