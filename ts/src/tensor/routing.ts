/** Where tensors' operations run: what was said about it, and the model of the machine that `"auto"` goes by. */
import { LeastwiseError } from "../errors.js";
import { checked, flag, oneOf, real, type Kind } from "../options.js";
import { NEEDS } from "../parts.js";
import type { TensorContext } from "./context.js";
import { checkedModel, keepModel, machineOf, modelOf, recallModel, type TensorModel } from "./model.js";

/**
 * Settings of an engine's tensors: those that are given change.
 *
 * @example
 * const settings: TensorSettings = { routing: "device", fused: true };
 * lw.tensors(settings);
 */
export interface TensorSettings {
  /**
   * `"device"`: all on the engine's device; that holds until something else is said. `"cpu"`: all on the CPU beside it. `"auto"`: every kernel where a model of the
   * machine says that it is done sooner. Without a `model` the machine is measured before the next evaluation, once: later engines and runs have the same model, and
   * so the same routes and bits.
   *
   * @defaultValue as before
   */
  readonly routing?: "auto" | "device" | "cpu";
  /**
   * The model: of {@link TensorEngine.measureTensors} or {@link TensorEngine.tensorRouting}, now or in an earlier run. Where nothing was said about `routing`, `"auto"` holds with it.
   *
   * @defaultValue as before
   */
  readonly model?: TensorModel;
  /** Speed-up that the CPU needs over the device to get a kernel. Above 1 the device keeps kernels that are nearly as fast there. @defaultValue 1 */
  readonly advantage?: number;
  /** Bytes of buffers at most that are kept for later. @defaultValue as before */
  readonly poolBytes?: number;
  /** True to fuse elementwise operations; false to compare. @defaultValue true */
  readonly fused?: boolean;
  /**
   * Who multiplies matrices on CUDA. `"library"`: cuBLASLt, where the machine has it. `"tf32"`: the same, and factors in f32 may be rounded to 10 bits (relative errors of about 1e-3),
   * which tensor cores multiply several times as fast. `"own"`: the kernels that WebGPU has. Elsewhere it is always our kernels; `lw.tensorTrace()` tells.
   *
   * @defaultValue `"library"`
   */
  readonly products?: "library" | "tf32" | "own";
  /**
   * Slopes at the edges of domains and outside of them, of gradients that are taken from then on. `"finite"`: 0 where the slope is infinite, so that `where` guards gradients
   * as it does values. `"limits"`: JAX's infinities and NaN.
   *
   * @defaultValue `"finite"`
   */
  readonly slopes?: "finite" | "limits";
}

/**
 * How tensors' operations are routed.
 *
 * @example
 * const { routing, reason }: TensorRouting = lw.tensorRouting();
 */
export interface TensorRouting {
  readonly routing: "auto" | "device" | "cpu";
  readonly advantage: number;
  /** Model that `"auto"` uses; plain JSON. */
  readonly model: TensorModel | undefined;
  /** Origin of the model: given, measured in this process, or kept by an earlier one. */
  readonly source: "given" | "measured" | "kept" | "none";
  /** The same in words: how long measuring took and where the model is kept, or why there is none. */
  readonly reason: string;
}

/** What is known of the machine, and where that is from. */
type Known = Pick<TensorRouting, "model" | "source" | "reason">;
type Found = Known & { readonly model: TensorModel };

/** Models by machine: measured once, however many engines want it at the same time. */
const known = new Map<string, Promise<Found>>();

const NOTHING: Known = { model: undefined, source: "none", reason: "no model was given, and nothing measured" };

const model: Kind<TensorModel> = (_, value) => checkedModel(WHAT, value);
const WHAT = "lw.tensors(settings)";
const SETTINGS = {
  routing: oneOf("auto", "device", "cpu"), model, advantage: real(0, Infinity, true), poolBytes: real(0), fused: flag, products: oneOf("library", "tf32", "own"), slopes: oneOf("finite", "limits"),
} as const;

/** @internal */
export class Routing {
  #said: TensorSettings["routing"];
  #advantage = 1;
  #found = NOTHING;
  /** Settings that were made while something was measured, which settings would disturb. */
  #later: TensorSettings[] | undefined;

  constructor(private readonly context: TensorContext, private readonly adapter: string) {}

  get now(): TensorRouting {
    return { routing: this.#said ?? (this.#found.model ? "auto" : "device"), advantage: this.#advantage, ...this.#found };
  }

  set(settings: TensorSettings): void {
    const all = checked(`${WHAT}: settings`, settings, SETTINGS, { prefix: `${WHAT}: ` });
    const { model, routing, advantage } = all;
    this.#tell(all);
    if (model) this.#found = { model, source: "given", reason: "given to lw.tensors({ model })" };
    this.#said = routing ?? this.#said;
    this.#advantage = advantage ?? this.#advantage;
    this.#prepare();
  }

  /** Measures, whatever is known, and keeps that. */
  measure(): Promise<TensorModel> {
    return this.context.evaluations.alone(async () => {
      const machine = await this.#machine(), found = await this.#measured(machine);
      known.set(machine, Promise.resolve(found));
      this.#take(found);
      return found.model;
    });
  }

  #tell(settings: TensorSettings): void {
    const { slopes } = settings;
    // Gradients that are taken next have the new slopes, which disturb no measurement.
    if (this.#later?.push(settings)) settings = slopes ? { slopes } : {};
    this.context.tasks.call((native) => native.tensorSettings(settings));
  }

  #take(found: Found): void {
    this.#found = found;
    this.#tell({ model: found.model });
    this.#prepare();
  }

  /** What has to be done before the next evaluation. */
  #prepare(): void {
    const isMissing = this.#said === "auto" && this.#found === NOTHING;
    this.context.evaluations.before = isMissing ? () => this.#find() : undefined;
  }

  async #find(): Promise<void> {
    if (this.context.backend === "cpu") return this.#none("the CPU is the only device");
    const machine = await this.#machine();
    // Where another engine failed, this one may do better. Nothing is awaited between looking and setting: two would measure.
    const others = known.get(machine);
    let found = others && (await others.catch(() => undefined));
    if (!found) {
      const search = this.#recalled(machine).then((kept) => kept ?? this.#measured(machine));
      known.set(machine, search);
      try {
        found = await search;
      } catch (error) {
        known.delete(machine);
        if (!(error instanceof LeastwiseError) || ["device-lost", "disposed", "engine-dead", "internal"].includes(error.code)) throw error;
        return this.#none(`measuring failed: ${error.message}`);
      }
    }
    // A model may have been given meanwhile.
    if (this.#found === NOTHING) this.#take(found);
  }

  #none(reason: string): void {
    if (this.#found === NOTHING) this.#found = { model: undefined, source: "none", reason };
    this.#prepare();
  }

  #machine(): Promise<string> { return machineOf(this.context.backend, this.adapter); }

  async #recalled(machine: string): Promise<Found | undefined> {
    const kept = await recallModel(machine);
    return kept && { model: kept.model, source: "kept", reason: `measured in an earlier run, and kept in ${kept.where}` };
  }

  async #measured(machine: string): Promise<Found> {
    const { tasks } = this.context, started = performance.now();
    this.#later = [];
    try {
      const { values } = await tasks.begin(undefined, NEEDS.tensors, (native) => native.tensorMeasure());
      const model = modelOf(values!), ms = performance.now() - started;
      return { model, source: "measured", reason: `measured in ${ms.toFixed(0)} ms, ${await keepModel(machine, model)}` };
    } finally {
      const later = this.#later;
      this.#later = undefined;
      for (const settings of later) this.#tell(settings);
    }
  }
}
