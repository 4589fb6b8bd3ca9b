/** Compiled sets: residuals or functions built one by one, grouped by structure, and evaluated batch by batch. */
import type { Backend } from "../engine.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { Batches, type TermKind } from "./batches.js";
import { Kernel } from "./kernel.js";
import { placeOf, placing, type CompileOptions, type Place, type Placing, type Purpose, type Size } from "./placement.js";
import { hashOf, hasWords, Reader, structureOf } from "./structure.js";
import type { SparseNormal } from "./sparse.js";
import { isSumOfSquares } from "./squares.js";
import { valuesOf, type Value } from "./value.js";
import { Mode } from "./kernel-module.js";
import { Workspace, type RowPattern } from "./workspace.js";

/**
 * Function that builds residuals from parameters; it runs once.
 *
 * @example
 * const build: Build = ([x, y]) => [V.sub(x!, 1), V.mul(y!, 2)];
 */
export type Build = (params: Value[]) => Value[];

/** Jacobian in compressed rows. @internal */
export interface SparseJacobian extends RowPattern { readonly values: Float64Array }

/**
 * Calls that both kinds of compiled sets have.
 *
 * @example
 * const count = (set: CompiledSet) => `${set.numFunctions} functions in ${set.kernelCount} kernels`;
 */
export abstract class CompiledSet {
  /** @internal */ readonly params: readonly Value[];
  /** @internal */ readonly kernels: Kernel[] = [];
  private readonly byHash = new Map<number, Kernel[]>();
  private readonly indices = new Map<Value, number>();
  /** All leaves: the parameters first. */
  private readonly leaves: Value[];
  private workspace: Workspace | undefined;
  private isLaidOut = false;
  /** Sparse factor of the last solve. @internal */
  normal: SparseNormal | undefined;
  private readonly reader: Reader;
  private count = 0;
  /** True if all functions are sums of squares. @internal */
  isSumOfSquares = true;
  private readonly placing: Placing;
  private batches: Batches | undefined;
  /** Why the engine does not take the set. */
  private refused: string | undefined;
  private pattern: RowPattern | undefined;
  /** The last gradient as a plain array, which is copied for whoever asks. */
  private doubles: number[] | undefined;

  protected constructor(params: readonly Value[], options: CompileOptions) {
    this.placing = placing(options);
    this.params = [...valuesOf("params", params)];
    this.params.forEach((param, k) => {
      if (param.prev.length > 0) throw new LeastwiseError("invalid-option", `params[${k}] is the result of an operation (${param.label}): parameters are leaves, as V.W() makes them`);
      if (this.indices.has(param)) throw new LeastwiseError("invalid-option", `params[${k}] and params[${this.indices.get(param)}] are the same Value: list it once`);
      this.indices.set(param, k);
      param.paramName ??= `p${k}`;
    });
    this.leaves = [...this.params];
    const { length } = this.params;
    this.reader = new Reader({
      parameter: (leaf) => {
        const index = this.indices.get(leaf);
        return index !== undefined && index < length && leaf.requiresGrad ? index : undefined;
      },
      constant: (leaf) => {
        const known = this.indices.get(leaf);
        if (known !== undefined) return known;
        this.indices.set(leaf, this.leaves.length);
        return this.leaves.push(leaf) - 1;
      },
    });
  }

  /** Number of functions. */
  get numFunctions(): number { return this.count; }
  /** Number of residuals. */
  get numResiduals(): number { return this.count; }
  /** Number of different structures. */
  get kernelCount(): number { return this.kernels.length; }
  /** Functions for each kernel, on average; NaN of an empty set. */
  get kernelReuseFactor(): number { return this.count / this.kernels.length; }

  /** What sets of this class are for. @internal */
  protected abstract readonly kind: TermKind;

  /** Backend of asynchronous solves: of least squares by residuals, of L-BFGS by functions. */
  get backend(): Backend { return this.refused === undefined ? placeOf(this.placing, this.size, this.kind).backend : "cpu"; }
  /** The reason for that backend. */
  get reason(): string { return this.refused ?? placeOf(this.placing, this.size, this.kind).reason; }

  private get size(): Size {
    return { residuals: this.count, parameters: this.params.length, operations: this.kernels.reduce((sum, { count, structure }) => sum + count * structure.steps.length, 0) };
  }

  /** Builds further functions of the same parameters; those of a structure that is known share its kernel. Gives the index of the first. */
  add(build: Build): number {
    const first = this.count;
    for (const value of this.built(build)) this.append(value);
    return first;
  }

  /** Runs a function that builds. @internal */
  protected built(build: Build): readonly Value[] {
    if (typeof build !== "function") throw new LeastwiseError("no-residual", `what is compiled must be a function of the parameters, not ${describe(build)}`);
    return valuesOf("what the function returned", build([...this.params]));
  }

  /** Adds one function. @internal */
  protected append(value: Value): void {
    this.refused = undefined;
    this.reader.read(value);
    const { words, leaves } = this.reader, hash = hashOf(words);
    let kernels = this.byHash.get(hash);
    if (!kernels) this.byHash.set(hash, kernels = []);
    let kernel = kernels.find(({ structure }) => hasWords(structure, words));
    if (!kernel) {
      kernel = new Kernel(structureOf(words));
      kernels.push(kernel);
      this.kernels.push(kernel);
    }
    kernel.add(leaves, this.count++);
    this.isSumOfSquares &&= isSumOfSquares(value);
    this.pattern = undefined;
    this.isLaidOut = false;
  }

  /** Compiles in chunks, between which the event loop has its turn. @internal */
  protected async appendAll(build: Build, chunkSize: number, onProgress?: (current: number, total: number, percent: number) => void): Promise<void> {
    if (!(Number.isInteger(chunkSize) && chunkSize >= 1)) throw new LeastwiseError("invalid-option", `chunkSize must be a whole number from 1 on, not ${chunkSize}`);
    const values = this.built(build), { length } = values;
    for (let first = 0; first < length; first += chunkSize) {
      const next = Math.min(first + chunkSize, length);
      onProgress?.(next, length, Math.floor((100 * next) / length));
      for (let k = first; k < next; k++) this.append(values[k]!);
      await new Promise<void>((resolve) => { setTimeout(resolve); });
    }
  }

  /** Reads the data of all leaves. */
  private load(values: Float64Array): void {
    const { leaves } = this;
    // Differences with themselves: 0 if all are finite, else NaN.
    let rest = 0;
    for (let k = 0; k < leaves.length; k++) {
      const { data } = leaves[k]!;
      rest += data - data;
      values[k] = data;
    }
    if (rest !== 0) this.refuseData();
  }

  /** Names the leaf that is not a finite number. */
  private refuseData(): never {
    const leaf = this.leaves.find(({ data }) => !Number.isFinite(data))!;
    throw new LeastwiseError("non-finite", `Invalid number passed to Value: ${leaf.data} (${leaf.label || "a leaf"}): values are finite numbers`);
  }

  /** Evaluates all kernels at the leaves' present data. The arrays are those of the next evaluation, too. */
  private run(mode: (typeof Mode)[keyof typeof Mode]): Workspace {
    const { kernels } = this, pattern = (this.pattern ??= this.layOut());
    if (!this.workspace?.suits(kernels)) [this.workspace, this.isLaidOut] = [new Workspace(this.params.length, Workspace.isWorthwhile(kernels)), false];
    const { workspace } = this;
    if (!this.isLaidOut) workspace.layOut(this.leaves.length, kernels, pattern);
    this.isLaidOut = true;
    if (mode === Mode.Rows) workspace.holdRows(pattern.columns.length);
    this.load(workspace.values);
    workspace.gradient.fill(0);
    const { values, residuals, gradient, rows } = workspace, into = [undefined, { gradient }, { starts: pattern.starts, values: rows }][mode];
    // Where a module meets what is not defined, the interpreter finds out what that is.
    for (const kernel of kernels) if (!workspace.run(kernel, mode)) kernel.run(values, residuals, into);
    return workspace;
  }

  /** True if a kernel is evaluated by a module of its own. @internal */
  isCompiled(kernel: Kernel): boolean { return this.workspace?.isCompiled(kernel) ?? false; }

  /** Data of a leaf, by its index. @internal */
  dataOf(leaf: number): number { return this.leaves[leaf]!.data; }

  /**
   * Where an asynchronous call runs; `batches` are undefined for here. With `"auto"`, what the engine refuses stays here.
   *
   * @internal
   */
  place(purpose: Purpose): Place & { readonly batches: Batches | undefined } {
    const place = placeOf(this.placing, this.size, purpose), { engine } = place, here = { engine: undefined, backend: "cpu", batches: undefined } as const;
    if (!engine || this.refused !== undefined) return { ...here, reason: this.refused ?? place.reason };
    const kind = purpose === "evaluation" ? this.batches?.kind ?? this.kind : purpose;
    if (this.batches && !(this.batches.count === this.count && this.batches.kind === kind)) this.release();
    try {
      return { ...place, batches: (this.batches ??= new Batches(engine, this, kind, this.placing.batchSize)) };
    } catch (thrown) {
      if (this.placing.backend === "gpu" || !(thrown instanceof LeastwiseError && ["limits", "tape", "shape"].includes(thrown.code))) throw thrown;
      this.refused = `the engine refuses the set: ${thrown.message}`;
      return { ...here, reason: this.refused };
    }
  }

  /** Frees what the set has on its engine, and the factor of its last solve; the next call makes them anew. */
  dispose(): void {
    this.normal = undefined;
    this.release();
  }

  private release(): void {
    this.batches?.dispose();
    this.batches = undefined;
  }

  /** The same as {@link evaluateSumWithGradient}, on the set's engine. */
  async evaluateSumWithGradientAsync(params: readonly Value[]): Promise<{ value: number; gradient: number[] }> {
    this.mustKnow("an evaluation", params);
    const { batches } = this.place("evaluation");
    if (!batches) return this.evaluateSumWithGradient(params);
    const gradient = new Array<number>(this.params.length).fill(0);
    const residuals = await batches.evaluate((_, parameter, derivative) => { gradient[parameter] = gradient[parameter]! + derivative; });
    return { value: residuals.reduce((sum, value) => sum + value, 0), gradient };
  }

  /** The same as {@link evaluate}, on the set's engine. */
  async evaluateAsync(params: readonly Value[]): Promise<{ residuals: number[]; J: number[][]; cost: number }> {
    this.mustKnow("an evaluation", params);
    const { batches } = this.place("evaluation");
    if (!batches) return this.evaluate(params);
    const J = Array.from({ length: this.count }, () => new Array<number>(this.params.length).fill(0));
    const residuals = await batches.evaluate((row, parameter, derivative) => { J[row]![parameter] = J[row]![parameter]! + derivative; });
    return { residuals: plain(residuals), J, cost: residuals.reduce((sum, value) => sum + value * value, 0) };
  }

  /** Refuses parameters that are not this set's, in its order: gradients and columns are in that one. @internal */
  mustKnow(call: string, params: readonly Value[]): void {
    const { params: own } = this;
    if (!Array.isArray(params)) throw new LeastwiseError("invalid-option", `params must be the array of Values that this set was compiled with, not ${describe(params)}`);
    const wrong = params.findIndex((param, k) => param !== own[k]);
    if (wrong < 0 && params.length === own.length) return;
    const index = wrong < 0 ? undefined : this.indices.get(params[wrong]!), what = wrong < 0 ? `there are ${params.length} params` : index === undefined || index >= own.length ? `params[${wrong}] is none of these` : `params[${wrong}] is number ${index} of these`;
    throw new LeastwiseError("foreign-variable", `Value not registered: the set was compiled with ${own.length} parameters, and ${call} must have the same, in the same order, but ${what}`);
  }

  /** All functions at the leaves' present data. @internal */
  residuals(): Float64Array { return this.run(Mode.Residuals).residuals.slice(); }

  /** Those of some kernels; the others' are 0. @internal */
  residualsOf(kernels: readonly Kernel[]): Float64Array {
    const residuals = new Float64Array(this.count), values = new Float64Array(this.leaves.length);
    this.load(values);
    for (const kernel of kernels) kernel.run(values, residuals, undefined);
    return residuals;
  }

  /** Σf and its gradient. @internal */
  sumWithGradient(): { value: number; gradient: Float64Array } {
    const { residuals, gradient } = this.run(Mode.Gradient);
    return { value: total(residuals), gradient: gradient.slice() };
  }

  /** All functions and their Jacobian, whose pattern stays as long as nothing is added. @internal */
  linearize(): { residuals: Float64Array; jacobian: SparseJacobian } {
    const { residuals, rows } = this.run(Mode.Rows);
    return { residuals: residuals.slice(), jacobian: { ...this.pattern!, values: rows.slice() } };
  }

  /** The Jacobian's pattern: columns of a row in the order of its structure's slots. */
  private layOut(): RowPattern {
    const starts = new Int32Array(this.count + 1);
    for (const kernel of this.kernels) for (let i = 0; i < kernel.count; i++) starts[kernel.residual(i) + 1] = kernel.slots.length;
    for (let k = 0; k < this.count; k++) starts[k + 1] = starts[k + 1]! + starts[k]!;
    const columns = new Int32Array(starts[this.count]!);
    for (const kernel of this.kernels) {
      for (let i = 0; i < kernel.count; i++) {
        const start = starts[kernel.residual(i)]!;
        for (let k = 0; k < kernel.slots.length; k++) columns[start + k] = kernel.leaf(i, kernel.slots[k]!);
      }
    }
    return { starts, columns };
  }

  /** The Jacobian in rows of all parameters. @internal */
  protected dense({ starts, columns, values }: SparseJacobian): number[][] {
    return Array.from({ length: this.count }, (_, row) => {
      const all = new Array<number>(this.params.length).fill(0);
      for (let k = starts[row]!; k < starts[row + 1]!; k++) all[columns[k]!] = all[columns[k]!]! + values[k]!;
      return all;
    });
  }

  /** Σf and its gradient, at the present `data` of all leaves. */
  evaluateSumWithGradient(params: readonly Value[]): { value: number; gradient: number[] } {
    this.mustKnow("an evaluation", params);
    const { residuals, gradient } = this.run(Mode.Gradient);
    return { value: total(residuals), gradient: this.copied(gradient) };
  }

  /** A gradient as a plain array. A copy of an array of doubles is one move of memory, twice as fast as numbers put into a new array. */
  private copied(gradient: Float64Array): number[] {
    if (this.doubles?.length !== gradient.length) this.doubles = new Array<number>(gradient.length).fill(0.5);
    const { doubles } = this;
    for (let k = 0; k < gradient.length; k++) doubles[k] = gradient[k]!;
    return doubles.slice();
  }

  /** All residuals, their Jacobian J in dense rows, and the cost Σr². */
  evaluate(params: readonly Value[]): { residuals: number[]; J: number[][]; cost: number } {
    this.mustKnow("an evaluation", params);
    const { residuals, jacobian } = this.linearize();
    let cost = 0;
    for (let k = 0; k < residuals.length; k++) cost += residuals[k]! * residuals[k]!;
    return { residuals: plain(residuals), J: this.dense(jacobian), cost };
  }
}

function total(numbers: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < numbers.length; k++) sum += numbers[k]!;
  return sum;
}

/** A plain array, several times as fast as `Array.from`. */
function plain(numbers: Float64Array): number[] {
  const made = new Array<number>(numbers.length);
  for (let k = 0; k < numbers.length; k++) made[k] = numbers[k]!;
  return made;
}

/**
 * Scalar functions of the same parameters, for minimising their sum or for their Jacobian. Functions that differ in
 * numbers and parameters alone share a kernel.
 *
 * @example
 * const x = V.W(1), y = V.W(2);
 * const both = CompiledFunctions.compile([x, y], () => [V.square(x), V.mul(x, y)]);
 * console.log(both.evaluateJacobian([x, y]).jacobian);  // [[2, 0], [2, 1]]
 */
export class CompiledFunctions extends CompiledSet {
  /** @internal */ protected readonly kind = "energy";

  /** Runs the function once, and compiles what it returns. Options say where asynchronous calls run. */
  static compile(params: readonly Value[], build: Build, options: CompileOptions = {}): CompiledFunctions {
    const made = new CompiledFunctions(params, options);
    made.add(build);
    return made;
  }

  /** The same in chunks, between which a page can draw; `onProgress` is called before each with the count after it. */
  static async compileAsync(params: readonly Value[], build: Build, chunkSize = 50, onProgress?: (current: number, total: number, percent: number) => void, options: CompileOptions = {}): Promise<CompiledFunctions> {
    const made = new CompiledFunctions(params, options);
    await made.appendAll(build, chunkSize, onProgress);
    return made;
  }

  /** Function 0 and its gradient. */
  evaluateGradient(params: readonly Value[]): { value: number; gradient: number[] } {
    this.mustKnow("an evaluation", params);
    if (this.numFunctions === 0) throw new LeastwiseError("empty-term", "No functions compiled: the function returned an empty array");
    const { residuals, jacobian } = this.linearize();
    const gradient = new Array<number>(this.params.length).fill(0);
    for (let k = 0; k < jacobian.starts[1]!; k++) gradient[jacobian.columns[k]!] = jacobian.values[k]!;
    return { value: residuals[0]!, gradient };
  }

  /** All functions, and their Jacobian in dense rows. */
  evaluateJacobian(params: readonly Value[]): { values: number[]; jacobian: number[][] } {
    this.mustKnow("an evaluation", params);
    const { residuals, jacobian } = this.linearize();
    return { values: plain(residuals), jacobian: this.dense(jacobian) };
  }
}

/**
 * Residuals of the same parameters, for least squares: Σr² is minimised.
 *
 * @example
 * const x = V.W(5);
 * const residuals = CompiledResiduals.compile([x], () => [V.sub(x, 3)]);
 * console.log(residuals.evaluate([x]).cost);  // 4
 */
export class CompiledResiduals extends CompiledSet {
  /** @internal */ protected readonly kind = "residuals";

  /** Runs the function once, and compiles what it returns. Options say where asynchronous calls run. */
  static compile(params: readonly Value[], build: Build, options: CompileOptions = {}): CompiledResiduals {
    const made = new CompiledResiduals(params, options);
    made.add(build);
    return made;
  }

  /** The same in chunks, between which a page can draw; `onProgress` is called before each with the count after it. */
  static async compileAsync(params: readonly Value[], build: Build, chunkSize = 50, onProgress?: (current: number, total: number, percent: number) => void, options: CompileOptions = {}): Promise<CompiledResiduals> {
    const made = new CompiledResiduals(params, options);
    await made.appendAll(build, chunkSize, onProgress);
    return made;
  }
}
