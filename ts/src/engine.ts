/** Engines: a device, and the problems and indices on it. */
import type { Device, Floats } from "./arrays.js";
import { cluster, type Clustering, type ClusterOptions } from "./cluster.js";
import { compress, openIndex, type CompressOptions, type PublishedFiles } from "./compress.js";
import { isA, LeastwiseError } from "./errors.js";
import { fit, type FitOptions, type Fits } from "./fit.js";
import type { ByteStream } from "./host.js";
import { describe } from "./instruction.js";
import type { NativeEngine } from "./native.js";
import { hasMethods, takesNoMore } from "./options.js";
import { remember, whenForgotten } from "./owners.js";
import { NEEDS, WHOLE, type Parts } from "./parts.js";
import type { Points } from "./points.js";
import { ProblemOf, type Problem } from "./problem.js";
import type { Counters } from "./report.js";
import { Tasks } from "./tasks.js";
import { TensorContext } from "./tensor/context.js";
import { ArraysOf, type Arrays } from "./tensor/device-arrays.js";
import { TensorMaker, type BoolOptions, type HalfOptions, type IntOptions, type NestedBooleans, type Nested, type RandomOptions, type TensorEngine, type TensorOptions, type TensorStatistics, type TensorStep } from "./tensor/make.js";
import type { TensorModel } from "./tensor/model.js";
import { Routing, type TensorRouting, type TensorSettings } from "./tensor/routing.js";
import { within } from "./tensor/scope.js";
import type { Sizes } from "./tensor/shapes.js";
import { Tensor, type AnyTensor, type BoolTensor, type DType, type HalfTensor, type IntTensor, type Storage } from "./tensor/tensor.js";
import type { Threads } from "./threaded.js";
import { LARGEST_F32 } from "./trace.js";
import { checkedTuning, tuningOf, type Tuning } from "./tuning.js";
import type { VectorIndex } from "./vector-index.js";
import { VectorIndexOf } from "./vectors/searchable.js";
import type { OpenDevice } from "./webgpu.js";

/**
 * Kind of device that computes.
 *
 * @example
 * const backend: Backend = lw.backend;
 * console.log(backend === "cpu" ? lw.reason : lw.adapter);
 */
export type Backend = "webgpu" | "cuda" | "cpu";

/**
 * Compiled structures and kernels of an engine. Residuals of one structure share their kernels, in all problems.
 *
 * @example
 * const { kernels, compileMs }: Stats = lw.stats();
 */
export interface Stats {
  /** Terms made so far; each length of a ragged term's rows counts. */
  readonly terms: number;
  /** Those of them whose structure was known. */
  readonly hits: number;
  /** Different structures. */
  readonly structures: number;
  /** How often terms were laid out: index tables, incidence lists and data. Edits of values, data, weights, pins, bounds and losses never do that. */
  readonly layouts: number;
  /** Kernels (pipelines, on a GPU), those of the solver included. */
  readonly kernels: number;
  /** Milliseconds of reading traces, differentiating and writing programs. */
  readonly compileMs: number;
}

/**
 * Bytes and buffers.
 *
 * @example
 * const { live, peak }: Memory = lw.memory();
 * console.log(`${live} bytes, ${peak} at most so far`);
 */
export interface Memory {
  /** Bytes of the buffers that live now, and the most that did. */
  readonly live: number;
  readonly peak: number;
  /** Buffers that live now. */
  readonly objects: number;
  /** Bytes of buffers that no tensor has and that are kept for the next; {@link Engine.trim} destroys them. */
  readonly pooled: number;
  /** How often a tensor got a buffer that was kept. */
  readonly hits: number;
  /** Tensors, problems, solvers and indices that live: made, and not disposed. */
  readonly tensors: number;
  readonly problems: number;
  readonly solvers: number;
  readonly indices: number;
  /**
   * Tensors, problems, solvers, indices and covariances that were never disposed, and that the garbage collector freed at last. It may be
   * late, or never come: where this is not 0, something is missing a `dispose()` or an {@link Engine.scope}. A problem whose
   * {@link Variables.buffer} was asked for is freed by `dispose()` alone.
   */
  readonly finalized: number;
}

/**
 * Precision of numbers: see {@link InitOptions.precision}.
 *
 * @example
 * const precision: Precision = "f32x2";
 * const lw = await init({ precision });
 */
export type Precision = "f32" | "f64" | "f32x2" | "mixed";

/**
 * Precision of tensors that an engine makes where nothing else is said, by the precision that it was asked for.
 *
 * @example
 * const exact = (lw: Engine<DTypeOf<"f64">>) => lw.zeros([3]);  // a Tensor<"f64">
 */
export type DTypeOf<P extends Precision> = P extends "f64" ? "f64" : "f32";

/**
 * The verdict of a device's self-check: sums, products, quotients and chains of random numbers in double-floats, compared with f64. `products`
 * says how rounding errors of products are found: by a `fma` that rounds once, or by halves (Dekker). `reason` says what is wrong, or
 * that the backend has f64 instead.
 *
 * @example
 * const doubles: Doubles = lw.doubles;
 * console.log(doubles.available ? doubles.products : doubles.reason);
 */
export type Doubles = { readonly available: true; readonly products: "fma" | "halves" } | { readonly available: false; readonly reason: string };

function doublesOf(verdict: string): Doubles {
  return verdict === "fma" || verdict === "halves" ? { available: true, products: verdict } : { available: false, reason: verdict };
}

/**
 * Everything begins here. `P` is the precision of tensors that are made without a `dtype`: what {@link InitOptions.precision} asked for.
 *
 * @example
 * const lw: Engine = await init();
 * const problem = lw.problem();
 * lw.dispose();  // frees everything that was made with it
 */
export interface Engine<P extends DType = "f32"> extends Disposable, TensorEngine<P> {
  readonly backend: Backend;
  /** Why this backend. */
  readonly reason: string;
  /** Precision of solves. `"f32"` on WebGPU continues in mixed precision where f32 stops a solve, unless it was requested. A report has its own. */
  readonly precision: Precision;
  /** Availability of double-floats, by a self-check on the device. */
  readonly doubles: Doubles;
  /** The adapter's own name; "cpu" without one. */
  readonly adapter: string;
  /** The `GPUDevice`, to share with a renderer; undefined on CUDA and on the CPU. */
  readonly device: Device | undefined;
  /** Resolves if the device is lost. */
  readonly lost: Promise<LeastwiseError>;
  /** A new, empty problem. */
  problem(): Problem;
  memory(): Memory;
  /** Destroys the buffers that are kept for tensors to come, and forgets how evaluations were planned. @throws `busy` during an evaluation */
  trim(): void;
  /** The level below tensors: arrays that are written over. */
  readonly arrays: Arrays<P>;
  /** Work of the device so far. */
  counters(): Counters;
  /** Counts of compiled and of reused structures, over all problems of this engine. */
  stats(): Stats;
  /**
   * Measures in which schedules the products of a problem (or of all problems of this engine) are computed fastest on this
   * device, and on the CPU in WebAssembly what runs its programs fastest, puts that in its tuning table, and gives the table. It takes a moment, and compiles kernels; values stay as they
   * are. A clock decides here and in {@link measureTensors}, nowhere else: store the table and give it back with {@link setTuning} or
   * `init({ tuning })` to have the same choices, and the same bits, again.
   */
  tune(problem?: Problem): Promise<Tuning>;
  /** The tuning table that holds now: of {@link tune}, or given. */
  readonly tuning: Tuning;
  /**
   * Gives a tuning table back, in place of the one that holds.
   *
   * @throws `busy` while a problem is being solved; `invalid-option` for what is no such table
   */
  setTuning(table: Tuning): void;
  /**
   * Fits one model to many independent data sets at once, each with parameters of its own, by a Levenberg–Marquardt method that runs
   * whole in one thread of the device (docs/FITS.md). On WebGPU it computes in f32, whatever the engine's precision.
   *
   * @throws `invalid-option`, `data-length` and `bounds` for other options; `limits` for more than 32 free parameters, or too large a model; the signal's reason after an abort
   * @example
   * const { values, standardErrors } = await lw.fit({
   *   model: ([a, k], { t }) => a.mul(exp(k.mul(t).neg())),
   *   parameters: ["a", "k"], variables: { t: [0, 1, 2, 3] }, points: 4,
   *   data: Float32Array.of(2, 1, 0.5, 0.25, 8, 4, 2, 1), start: { a: [2, 8], k: 0.5 },
   * });
   * console.log(values.k, standardErrors.k);  // ln 2, twice
   */
  fit<const Names extends readonly string[], Variable extends string = never>(options: FitOptions<Names, Variable>): Promise<Fits<Names[number]>>;
  /**
   * Finds `clusters` centroids for vectors, and the nearest of them for each vector: k-means, by default annealed. Fewer
   * vectors than clusters, and equal ones, are fine. An aborted call gives the best so far.
   *
   * @throws `data-length` where `dim` does not divide the points; `non-finite` naming the first vector (`instance`) that has a NaN or an infinity
   */
  cluster(points: Points, options: ClusterOptions): Promise<Clustering>;
  /**
   * Compresses vectors to an index that can be searched, saved, and given more of them. It keeps none of the originals. Of no vectors it makes
   * an index whose model is that of the first that are added.
   *
   * @throws as {@link cluster} does; `invalid-option` for more clusters than vectors; the signal's reason after an abort
   */
  compress(points: Points, options: CompressOptions): Promise<VectorIndex>;
  /**
   * An index that was saved: its file's bytes, a stream of them, or the files of the published compressor.
   *
   * @throws `file-format`, `file-version`, `file-truncated` and `file-corrupt` for files that are none, of another version, cut, or changed by as much as a bit
   */
  openIndex(file: Uint8Array | ArrayBuffer | ByteStream | PublishedFiles): Promise<VectorIndex>;
  /**
   * Frees the tensors and problems that `work` made and did not return: itself, or in arrays, plain objects and modules. Synchronous, by type too; values that
   * are read in it (`t.read()`) are read all the same.
   */
  scope<T>(work: () => T extends PromiseLike<unknown> ? never : T): T;
  /** Destroys everything, and the device if it was made here. */
  dispose(): void;
}

const NO_TENSORS: TensorStatistics = { evaluations: 0, plansMade: 0, plansReused: 0, kernels: 0, fused: 0, transfers: 0, nodes: 0, live: 0, pooled: 0, peak: 0, hits: 0, misses: 0, evictions: 0, inPlace: 0, copied: 0 };

/** Where an engine comes from, and what ends with it. @internal */
export interface Origin { readonly backend: Backend; readonly precision: Precision; readonly reason: string; readonly dtype?: DType | undefined; readonly open?: OpenDevice; readonly parts?: Parts; readonly threads?: (() => Threads) | undefined; readonly release?: (() => void) | undefined }

/** What is left to do when an engine is no more: once, and without holding it. */
interface Ending { readonly begun: boolean; end(): void }

function endingOf({ open, release }: Origin): Ending {
  let begun = false;
  return {
    get begun() { return begun; },
    end() {
      if (begun) return;
      begun = true;
      if (open?.ours) open.device.destroy();
      release?.();
    },
  };
}

/** Resolves with the loss of a device. A device holds whoever waits for its loss, so nothing here holds the engine. */
function lossOf(engine: WeakRef<Tasks>, open: OpenDevice | undefined, ending: Ending): Promise<LeastwiseError> {
  return new Promise((resolve) => {
    // A GPUDevice tells by itself; without one the first call that fails does.
    if (!open) engine.deref()!.onDeath = (error) => { if (error.code === "device-lost") resolve(error); };
    void open?.device.lost.then(({ reason, message }) => {
      if (ending.begun) return;
      const error = new LeastwiseError("device-lost", `the GPU device was lost (${reason}): ${message}`);
      engine.deref()?.kill(error);
      resolve(error);
    });
  });
}

/** Ends an engine that nobody can reach any more. */
function endForgotten(native: NativeEngine, ending: Ending): () => void {
  return () => {
    try {
      native.dispose();
    } catch {
      // It failed, or its device is gone, and nobody is left to be told.
    }
    ending.end();
  };
}

/** @internal */
export class EngineOf implements Engine {
  readonly backend: Backend;
  readonly reason: string;
  readonly precision: Precision;
  readonly dtype: DType;
  readonly doubles: Doubles;
  readonly adapter: string;
  readonly device: Device | undefined;
  readonly lost: Promise<LeastwiseError>;
  readonly #tasks: Tasks;
  readonly #tensors: TensorContext;
  readonly #maker: TensorMaker;
  readonly #routing: Routing;
  readonly arrays: Arrays;
  readonly #origin: Origin;
  readonly #ending: Ending;
  #disposed = false;

  constructor(native: NativeEngine, panic: () => string | undefined, origin: Origin) {
    this.#origin = origin;
    this.backend = origin.backend;
    this.reason = origin.reason;
    this.precision = origin.precision;
    this.dtype = origin.dtype ?? "f32";
    this.doubles = doublesOf(native.doubles);
    this.adapter = native.adapter;
    this.device = origin.open?.device as Device | undefined;
    const largest = this.precision === "f64" ? Number.MAX_VALUE : LARGEST_F32;
    this.#tasks = new Tasks(native, panic, this.device, this.precision === "f32" ? "f32" : "f64", largest, origin.parts ?? WHOLE);
    this.#tensors = new TensorContext(this.#tasks, origin.backend, Tensor);
    this.#maker = new TensorMaker(this.#tensors, this.dtype);
    this.#routing = new Routing(this.#tensors, this.adapter);
    this.arrays = new ArraysOf(this.#tensors, this.#maker, () => ({ name: this.adapter, type: this.backend, memory: this.counters().bytesLive }));
    this.#ending = endingOf(origin);
    this.lost = lossOf(new WeakRef(this.#tasks), origin.open, this.#ending);
    // Everything that an engine is used by holds its tasks.
    whenForgotten(this.#tasks, endForgotten(native, this.#ending));
  }

  /** For `leastwise/threads`, where it is public. */
  get threads(): Threads {
    return this.#origin.threads?.() ?? { count: 1, code: "not-cpu", reason: `the work is done by ${this.backend === "cuda" ? "CUDA" : "WebGPU"}: ${this.reason}` };
  }

  problem(): Problem {
    takesNoMore("lw.problem()", 0, arguments, "options of solves are given to problem.solve(options), and those of the engine to init(options)");
    this.#alive();
    const problem = new ProblemOf(this.#tasks, (gone) => this.#tensors.exit(gone));
    this.#tensors.enter(problem);
    return problem;
  }

  memory(): Memory {
    const counters = this.counters(), { pooled, hits } = this.tensorStatistics();
    const { live, finalized, tensors } = this.#tasks.owners, { problems, solvers, indices, bits } = live;
    return {
      live: counters.bytesLive, peak: counters.bytesPeak, objects: counters.buffersCreated - counters.buffersDestroyed, pooled, hits,
      tensors, problems: problems.size, solvers: solvers.size, indices: indices.size + bits.size, finalized,
    };
  }

  /** Asks what tensors there were; without their part of the engine there were none, and it is not loaded to say so. */
  #ofTensors<T>(ask: (native: NativeEngine) => T, none: T): T {
    return this.#tasks.call((native) => (this.#tasks.parts.has("tensors") ? ask(native) : none));
  }

  trim(): void {
    takesNoMore("lw.trim()", 0, arguments);
    this.#ofTensors((native) => native.tensorTrim(), undefined);
  }

  tensor<D extends DType = "f32">(values: Float32Array | Nested | number, shape?: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  tensor(values: Float64Array, shape?: Sizes): Tensor<"f64">;
  tensor<D extends DType>(values: Floats | Nested | number, shape: Sizes | undefined, options: { readonly dtype: D }): Tensor<D>;
  tensor(values: Floats | Nested | number, shape: Sizes | undefined, options: HalfOptions): HalfTensor;
  tensor<D extends DType = "f32">(values: Int32Array, shape?: Sizes): IntTensor<NoInfer<D>>;
  tensor<D extends DType = "f32">(values: Int32Array | Floats | Nested | number, shape: Sizes | undefined, options: IntOptions): IntTensor<NoInfer<D>>;
  tensor<D extends DType = "f32">(values: NestedBooleans | boolean, shape?: Sizes): BoolTensor<NoInfer<D>>;
  tensor<D extends DType = "f32">(values: NestedBooleans | Uint8Array | Floats | Nested | number | boolean, shape: Sizes | undefined, options: BoolOptions): BoolTensor<NoInfer<D>>;
  tensor(values: unknown, shape?: Sizes, options?: TensorOptions<Storage>): AnyTensor { return this.#maker.tensor(values, shape, options); }
  indices<D extends DType = "f32">(values: ArrayLike<number>, shape?: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>> { return this.#maker.indices(values, shape, options); }
  eye<D extends DType = "f32">(rows: number, columns?: number, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  eye(rows: number, columns: number | undefined, options: HalfOptions): HalfTensor;
  eye<D extends DType = "f32">(rows: number, columns: number | undefined, options: IntOptions): IntTensor<NoInfer<D>>;
  eye<D extends DType = "f32">(rows: number, columns: number | undefined, options: BoolOptions): BoolTensor<NoInfer<D>>;
  eye(rows: number, columns?: number, options?: TensorOptions<Storage>): AnyTensor { return this.#maker.eye(rows, columns, options); }
  zeros<D extends DType = "f32">(shape: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  zeros(shape: Sizes, options: HalfOptions): HalfTensor;
  zeros<D extends DType = "f32">(shape: Sizes, options: IntOptions): IntTensor<NoInfer<D>>;
  zeros<D extends DType = "f32">(shape: Sizes, options: BoolOptions): BoolTensor<NoInfer<D>>;
  zeros(shape: Sizes, options?: TensorOptions<Storage>): AnyTensor { return this.#maker.full("lw.zeros(shape)", shape, 0, options); }
  ones<D extends DType = "f32">(shape: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  ones(shape: Sizes, options: HalfOptions): HalfTensor;
  ones<D extends DType = "f32">(shape: Sizes, options: IntOptions): IntTensor<NoInfer<D>>;
  ones<D extends DType = "f32">(shape: Sizes, options: BoolOptions): BoolTensor<NoInfer<D>>;
  ones(shape: Sizes, options?: TensorOptions<Storage>): AnyTensor { return this.#maker.full("lw.ones(shape)", shape, 1, options); }
  full<D extends DType = "f32">(shape: Sizes, value: number, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  full(shape: Sizes, value: number, options: HalfOptions): HalfTensor;
  full<D extends DType = "f32">(shape: Sizes, value: number, options: IntOptions): IntTensor<NoInfer<D>>;
  full<D extends DType = "f32">(shape: Sizes, value: boolean | number, options: BoolOptions): BoolTensor<NoInfer<D>>;
  full(shape: Sizes, value: boolean | number, options?: TensorOptions<Storage>): AnyTensor { return this.#maker.full("lw.full(shape, value)", shape, value, options); }
  arange<D extends DType = "f32">(count: number, options?: TensorOptions<D> & { readonly start?: number; readonly step?: number }): Tensor<NoInfer<D>>;
  arange(count: number, options: HalfOptions & { readonly start?: number; readonly step?: number }): HalfTensor;
  arange<D extends DType = "f32">(count: number, options: IntOptions & { readonly start?: number; readonly step?: number }): IntTensor<NoInfer<D>>;
  arange(count: number, options?: TensorOptions<Storage> & { readonly start?: number; readonly step?: number }): AnyTensor { return this.#maker.arange(count, options); }
  random<D extends DType = "f32">(shape: Sizes, options: RandomOptions<D>): Tensor<NoInfer<D>>;
  random(shape: Sizes, options: RandomOptions<"f16"> & HalfOptions): HalfTensor;
  random(shape: Sizes, options: RandomOptions<Storage>): AnyTensor { return this.#maker.random(shape, options); }
  evaluate(...tensors: readonly AnyTensor[]): Promise<void> { return this.#maker.evaluate(tensors); }
  async sumOverRanks<const T extends readonly (Tensor | Tensor<"f64">)[]>(tensors: T): Promise<{ readonly [K in keyof T]: T[K] }> {
    takesNoMore("lw.sumOverRanks(tensors)", 1, arguments);
    return this.#maker.overRanks("lw.sumOverRanks(tensors)", tensors, false) as Promise<never>;
  }
  async meanOverRanks<const T extends readonly (Tensor | Tensor<"f64">)[]>(tensors: T): Promise<{ readonly [K in keyof T]: T[K] }> {
    takesNoMore("lw.meanOverRanks(tensors)", 1, arguments);
    return this.#maker.overRanks("lw.meanOverRanks(tensors)", tensors, true) as Promise<never>;
  }
  tensors(settings: TensorSettings): void { this.#routing.set(settings); }
  tensorRouting(): TensorRouting { return this.#routing.now; }
  async measureTensors(): Promise<TensorModel> {
    takesNoMore("lw.measureTensors()", 0, arguments);
    return this.#routing.measure();
  }
  tensorTrace(): readonly TensorStep[] { return this.#ofTensors((native) => native.tensorTrace(), []); }
  tensorStatistics(): TensorStatistics { return this.#ofTensors((native) => native.tensorStatistics(), NO_TENSORS); }

  counters(): Counters {
    return this.#tasks.call((native) => native.counters);
  }

  stats(): Stats {
    const { terms, hits, structures, layouts, compileMs } = this.#tasks.call((native) => native.stats());
    return { terms, hits, structures, layouts, kernels: this.counters().kernelsCreated, compileMs };
  }

  async tune(problem?: Problem): Promise<Tuning> {
    takesNoMore("lw.tune(problem)", 1, arguments);
    this.#alive();
    if (problem !== undefined && !(isA(problem, ProblemOf) && problem.isOn(this.#tasks))) {
      throw new LeastwiseError("invalid-option", "tune(problem): it must be a problem of this engine");
    }
    for (const handle of problem ? [(problem as ProblemOf).handle] : [...this.#tasks.owners.live.problems]) {
      await this.#tasks.begin(handle, NEEDS.rare, (native) => native.tune(handle));
    }
    return this.tuning;
  }

  get tuning(): Tuning {
    // Where nothing was tuned or given, the part that has tables is not there.
    return this.#tasks.call((native) => (this.#tasks.parts.has("rare") ? tuningOf(native) : { products: {} }));
  }

  setTuning(table: Tuning): void {
    takesNoMore("lw.setTuning(table)", 1, arguments);
    const { keys, choices } = checkedTuning(table);
    this.#tasks.parts.mustHave(NEEDS.tuning);
    this.#tasks.call((native) => native.setTuning(keys, choices));
  }

  async fit<const Names extends readonly string[], Variable extends string = never>(options: FitOptions<Names, Variable>): Promise<Fits<Names[number]>> {
    takesNoMore("lw.fit(options)", 1, arguments);
    this.#alive();
    return fit(this.#tasks, options);
  }

  async cluster(points: Points, options: ClusterOptions): Promise<Clustering> {
    takesNoMore("lw.cluster(points, options)", 2, arguments);
    this.#alive();
    return cluster(this.#tasks, points, options);
  }

  async compress(points: Points, options: CompressOptions): Promise<VectorIndex> {
    takesNoMore("lw.compress(points, options)", 2, arguments);
    this.#alive();
    const { length, graph, ...made } = await compress(this.#tasks, points, options);
    const index = new VectorIndexOf(this.#tasks, made, { points, length });
    try {
      if (graph) await index.buildGraph(graph);
    } catch (thrown) {
      index.dispose();
      throw thrown;
    }
    return index;
  }

  async openIndex(file: Uint8Array | ArrayBuffer | ReadableStream<Uint8Array> | PublishedFiles): Promise<VectorIndex> {
    takesNoMore("lw.openIndex(file)", 1, arguments);
    this.#alive();
    return new VectorIndexOf(this.#tasks, await openIndex(this.#tasks, file));
  }

  scope<T>(work: () => T extends PromiseLike<unknown> ? never : T): T {
    takesNoMore("lw.scope(work)", 1, arguments);
    this.#alive();
    if (typeof work !== "function") throw new LeastwiseError("invalid-option", `scope(work): work must be a function, not ${describe(work)}`);
    let returned: unknown;
    this.#tensors.open();
    try {
      returned = work();
      if (hasMethods(returned, "then")) {
        // Nobody waits for it any more, so nobody is told what it fails of.
        void Promise.resolve(returned).catch(() => {});
        returned = undefined;
        throw new LeastwiseError("invalid-option", "scope(work): work must be synchronous, because what it made is freed when it returns; it returned a promise");
      }
    } finally {
      this.#tensors.close(within(returned));
    }
    return returned as T;
  }

  /** The engine itself, for benchmarks and tests. @internal */
  get native(): NativeEngine { return this.#tasks.native; }
  /** @internal */
  get tasks(): Tasks { return this.#tasks; }

  #alive(): void {
    if (this.#disposed) throw new LeastwiseError("disposed", "this engine was disposed: call init() for a new one");
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    remember(this.#tasks);
    try {
      this.#tasks.end(new LeastwiseError("disposed", "this engine was disposed: call init() for a new one"));
    } finally {
      this.#ending.end();
    }
  }

  [Symbol.dispose](): void { this.dispose(); }
}
