/** Where compiled sets are evaluated and solved: here in f64, or on an engine. */
import type { Backend, Engine } from "../engine.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { checked, hasMethods, oneOf, whole, type Kind } from "../options.js";

/**
 * Options of compilation: where the asynchronous calls of a set run. Synchronous ones always run here, in f64.
 *
 * @example
 * const options: CompileOptions = { backend: "auto", engine: lw };
 */
export interface CompileOptions {
  /**
   * - `"cpu"`: here, or on `engine` if that is one of the CPU
   * - `"gpu"`: on `engine`, which must be one of a GPU
   * - `"auto"`: on `engine`, if one is given, where that was measured to be faster; here otherwise, and where the engine refuses the set
   *
   * @defaultValue `"auto"`
   */
  backend?: "cpu" | "gpu" | "auto";
  /** Engine, as `init()` of `leastwise` makes it. @defaultValue none */
  engine?: Engine;
  /** Greatest number of instances of one batch. @defaultValue no limit but the device's */
  batchSize?: number;
  /** Residuals below which `"auto"` stays here, for solves and evaluations alike. @defaultValue what was measured: docs/AUTOGRAD.md */
  fallbackThreshold?: number;
}

const engine: Kind<Engine> = (name, value, place) => {
  if (!hasMethods(value, "problem", "dispose")) throw new LeastwiseError("invalid-option", `${name} must be an engine, as init() makes one, not ${describe(value)}`, place);
  return value as unknown as Engine;
};

/** @internal */
export const COMPILE = { backend: oneOf("cpu", "gpu", "auto"), engine, batchSize: whole(1), fallbackThreshold: whole(0) } as const;

/**
 * Sizes from which on an engine was measured to be faster: parameters of a least squares problem, whose systems engines solve by
 * conjugate gradients from there on, and operations of an evaluation for L-BFGS on a GPU. docs/AUTOGRAD.md has the measurement.
 */
const PARAMETERS = 20_000, OPERATIONS = 700_000;

/** Checked options. @internal */
export interface Placing { readonly backend: "cpu" | "gpu" | "auto"; readonly engine: Engine | undefined; readonly batchSize: number; readonly fallbackThreshold: number | undefined }

/** @internal */
export function placing(options: CompileOptions): Placing {
  const { backend = "auto", engine, batchSize = Infinity, fallbackThreshold } = checked("compile(…, options): options", options, COMPILE, { prefix: "compile(…, options): " });
  if (backend === "gpu" && !engine) throw new LeastwiseError("invalid-option", "compile(…, options): backend \"gpu\" needs an engine: give { engine: await init() }, with init of \"leastwise\"");
  if (backend === "gpu" && engine!.backend === "cpu") throw new LeastwiseError("no-adapter", `compile(…, options): backend "gpu", but the engine is one of the CPU: ${engine!.reason}`);
  return { backend, engine, batchSize, fallbackThreshold };
}

/** What a set is run for: a solve that minimises Σ½r², or Σf, or one evaluation. @internal */
export type Purpose = "residuals" | "energy" | "evaluation";

/** Size of a set: residuals, parameters, and operations of one evaluation. @internal */
export interface Size { readonly residuals: number; readonly parameters: number; readonly operations: number }

/** Where a set runs, and why. `engine` is undefined for here. @internal */
export interface Place { readonly engine: Engine | undefined; readonly backend: Backend; readonly reason: string }

/** @internal */
export function placeOf({ backend, engine, fallbackThreshold }: Placing, size: Size, purpose: Purpose): Place {
  const here = (reason: string): Place => ({ engine: undefined, backend: "cpu", reason });
  if (!engine) return here(backend === "cpu" ? "the CPU was asked for" : "no engine was given");
  const there = (reason: string): Place => ({ engine, backend: engine.backend, reason });
  if (backend === "gpu") return there(`the GPU was asked for: ${engine.reason}`);
  if (backend === "cpu") return engine.backend === "cpu" ? there("the CPU was asked for, and the engine is one") : here("the CPU was asked for, and the engine is one of a GPU");
  const compared = (count: number, what: string, least: number) => (count >= least ? there(`${count} ${what} are at least ${least}: ${engine.reason}`) : here(`${count} ${what} are fewer than ${least}`));
  if (fallbackThreshold !== undefined) return compared(size.residuals, "residuals", fallbackThreshold);
  if (purpose === "evaluation") return here("one evaluation is faster here than the way to the engine and back");
  if (purpose === "residuals") return compared(size.parameters, "parameters", PARAMETERS);
  return engine.backend === "cpu" ? here("L-BFGS is as fast here as on an engine of the CPU") : compared(size.operations, "operations", OPERATIONS);
}
