/**
 * Robust losses: what a term makes of an instance's squared norm s = ‖r‖² before it is weighed, so that a few bad
 * measurements don't decide everything. The cost is ½ Σ w ρ(s). Names, formulas and parameters are those of Ceres where
 * it has the loss; docs/LOSSES.md has them all in one table, with curves' inflections and sources.
 *
 * The kind of a loss is part of the compiled kernels, its parameters are data: `term.set({ loss: huber(2) })` replaces
 * those of a `huber(1)` at any time. To move between kinds without compiling, use {@link barron}, whose α goes from squares (2)
 * over soft L1 (1) and Cauchy's (0) to Geman–McClure's (−2) and Welsch's (−∞).
 */
import { isA, LeastwiseError, type Place } from "./errors.js";
import { describe } from "./instruction.js";
import { Opcode } from "./opcodes.js";
import { entriesOf } from "./options.js";
import { lossComposed, lossOther, lossScaled, lossTraced, lossTrivial, type Packed } from "./packed.js";
import { Scalar } from "./scalar.js";
import { Trace } from "./trace.js";
import { Words } from "./words.js";

declare const lossTag: unique symbol;

/**
 * ρ, made by {@link huber} and its like.
 *
 * @example
 * const robust: Loss = cauchy(0.05);
 */
export interface Loss {
  readonly [lossTag]: 1;
  /** Its kind and parameters, as the call that made it. */
  readonly loss: string;
  toString(): string;
}

class LossOf implements Loss, Packed {
  declare readonly [lossTag]: 1;

  readonly words: readonly number[];
  readonly reals: readonly number[];

  constructor(readonly loss: string, { words, reals }: Packed) {
    this.words = words;
    this.reals = reals;
  }

  toString(): string { return this.loss; }
}

/** A term's loss as it crosses, checked. @internal */
export function packedLoss(term: string, given: unknown): Packed | undefined {
  return checkedLoss(`term "${term}"`, given, { term });
}

/** The same of something that is no term. @internal */
export function checkedLoss(what: string, given: unknown, place: Place = {}): Packed | undefined {
  if (given === undefined || isA(given, LossOf)) return given;
  throw new LeastwiseError("invalid-option", `${what}: loss must be made by huber(…), cauchy(…), loss(…) or another of them, not ${describe(given)}`, place);
}

/** Losses inside each other, at most. */
const MAX_DEPTH = 16;

function refuse(message: string): never {
  throw new LeastwiseError("invalid-option", message);
}

/** Values that a parameter may have, and the message for others. @internal */
export interface Range { readonly holds: (value: number) => boolean; readonly must: string }

/** @internal */
export const SCALE: Range = { holds: (x) => x >= 1e-9 && x <= 1e9, must: "must be positive, from 1e-9 to 1e9" };
/** @internal */
export const NOT_NEGATIVE: Range = { holds: (x) => x >= 0 && x <= 3e38, must: "must not be negative" };
const FINITE: Range = { holds: (x) => Math.abs(x) <= 3.4e38, must: "must be finite" };

/** @internal */
export const atMost = (most: number): Range => ({ holds: (x) => x <= most, must: `must be at most ${most.toExponential().replace("+", "")}, or -Infinity` });

function number(call: string, name: string, value: unknown, { holds, must }: Range): number {
  if (typeof value !== "number" || !holds(value)) refuse(`${call}: ${name} ${must}, but is ${typeof value === "number" ? value : describe(value)}`);
  return value;
}

/** A built-in loss, by its number in the engine: `losses.ts` has their functions. @internal */
export function builtIn(kind: number, name: string, parameters: readonly (readonly [name: string, value: number, range: Range])[]): Loss {
  const call = `${name}(${parameters.map(([parameter]) => parameter).join(", ")})`;
  const values = parameters.map(([parameter, value, range]) => number(call, parameter, value, range));
  // No JSON, no f32 has -Infinity; the engine takes the least number for it.
  return new LossOf(`${name}(${values.join(", ")})`, lossOther(kind, values.map((value) => Math.max(value, -1e18))));
}

/**
 * s: the same as no loss.
 *
 * @example
 * term.set({ loss: trivial() });  // plain squares, of a term that was made with trivial()
 */
export function trivial(): Loss { return new LossOf("trivial()", lossTrivial()); }

function inside(call: string, given: unknown): LossOf {
  if (!isA(given, LossOf)) refuse(`${call} takes a loss made by huber(…), cauchy(…), loss(…) or another of them, not ${describe(given)}`);
  return given;
}

const depths = new WeakMap<LossOf, number>();

function nested(made: LossOf, parts: readonly LossOf[]): Loss {
  const depth = 1 + Math.max(...parts.map((part) => depths.get(part) ?? 0));
  if (depth > MAX_DEPTH) refuse(`a loss is made of more than ${MAX_DEPTH} others inside each other`);
  depths.set(made, depth);
  return made;
}

/**
 * factor · ρ(s): another weight, or 0 to switch it off. Its parameters come after the factor when it is edited.
 *
 * @throws `invalid-option` unless `loss` is a loss and `factor` a number of 0 or more
 * @example
 * const gentle = scaled(cauchy(0.1), 0.5);
 */
export function scaled(loss: Loss, factor: number): Loss {
  const of = inside("scaled(loss, factor)", loss);
  number("scaled(loss, factor)", "factor", factor, NOT_NEGATIVE);
  return nested(new LossOf(`scaled(${of.loss}, ${factor})`, lossScaled(factor, of)), [of]);
}

/**
 * outer(inner(s))
 *
 * @throws `invalid-option` unless both are losses
 * @example
 * const robust = composed(huber(1), softL1(0.5));  // ρ(s) = huber(softL1(s))
 */
export function composed(outer: Loss, inner: Loss): Loss {
  const [f, g] = [inside("composed(outer, inner)", outer), inside("composed(outer, inner)", inner)];
  return nested(new LossOf(`composed(${f.loss}, ${g.loss})`, lossComposed(f, g)), [f, g]);
}

/**
 * What a traced loss gets for its parameters.
 *
 * @example
 * const rho = (s: Scalar, { d }: LossParameters<{ d: number }>) => s.mul(d);
 * const own = loss(rho, { d: 2 });
 */
export type LossParameters<P> = { readonly [K in keyof P]: Scalar };

/**
 * A loss of your own: a function of s = ‖r‖², traced once and differentiated, such as
 * `loss((s, { c }) => log1p(s.div(c)).mul(c), { c: 2 })`. Another one that differs in parameters or numbers alone is of
 * the same kind. It should rise from ρ(0) = 0 with ρ′(0) = 1; where it is not defined, the residual is flagged as not
 * finite. Differences ρ(s₁) − ρ(s₀) are formed operation by operation without cancellation, but for steps that go from
 * one branch of a `select` to the other.
 *
 * @throws `invalid-option` unless `rho` is a function that returns a scalar and the parameters are finite
 * @example
 * const pseudoHuber = loss((s, { d }) => sqrt(s.div(d).add(1)).sub(1).mul(d).mul(2), { d: 0.25 });
 */
export function loss<const P extends Readonly<Record<string, number>> = {}>(rho: (s: Scalar, parameters: LossParameters<P>) => Scalar, parameters?: P): Loss {
  if (typeof rho !== "function") refuse(`loss(function, parameters) takes a function of s, not ${describe(rho)}`);
  const given = parameters === undefined ? [] : entriesOf("loss(function, parameters): parameters", parameters) as readonly (readonly [string, number])[];
  for (const [name, value] of given) number("loss(function, parameters)", `parameter "${name}"`, value, FINITE);
  const tape = new Words();
  const trace = new Trace("loss(…)", tape);
  const input = (source: number) => new Scalar(trace, trace.write1(Opcode.Input, source));
  const s = input(0);
  const symbols = Object.fromEntries(given.map(([name], k) => [name, input(k + 1)])) as LossParameters<P>;
  const value: unknown = trace.run(rho, s, symbols);
  if (!(value instanceof Scalar)) refuse(`loss(function, parameters): the function returned ${describe(value)}, but must return a Scalar (is a \`return\` missing?)`);
  if (value.owner !== trace) throw new LeastwiseError("foreign-expression", "loss(function, parameters): the function returned an expression of something else: it only knows s and its parameters");
  const reals = given.map(([, real]) => real);
  const name = rho.name ? `loss(${rho.name})` : "loss(…)";
  return new LossOf(name, lossTraced(reals, value.value, tape.all));
}
