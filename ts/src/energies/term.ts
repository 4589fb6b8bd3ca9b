/** What the helpers share: options, and terms whose weights have a common factor. */
import type { Floats } from "../arrays.js";
import { describe } from "../instruction.js";
import { meshOf, type MeshLike } from "../mesh/input.js";
import { given, measure, type Kind } from "../options.js";
import { isA, LeastwiseError } from "../errors.js";
import { TableOf, type Variables } from "../table.js";
import type { Term } from "../term.js";

/**
 * Options of every energy.
 *
 * @example
 * shear(problem, mesh, { x, name: "soft", weight: 0.01 });
 */
export interface EnergyOptions {
  /**
   * Name of the term.
   *
   * @defaultValue the words of the function's name, such as "edge lengths"
   */
  readonly name?: string;
  /**
   * Factor of all weights, not negative.
   *
   * @defaultValue 1
   */
  readonly weight?: number;
}

/**
 * A term whose instances have weights of their own, such as areas, with a common factor.
 *
 * @example
 * const soft: Energy = willmore(problem, mesh, { x });
 * soft.weigh(0.5);
 */
export interface Energy<D = {}> extends Term<D> {
  /** Sets the factor: a live edit, for which nothing is compiled. */
  weigh(factor: number): void;
}

const text: Kind<string> = (name, value, place) => {
  if (typeof value !== "string") throw new LeastwiseError("invalid-option", `${name} must be a string, not ${describe(value)}`, place);
  return value;
};

/** @internal */
export const ENERGY = { name: text, weight: measure, x: given() } as const;

/** The weights of a term, times a factor. @internal */
export function scaled(weights: Floats | number, factor: number): Floats | number {
  return typeof weights === "number" ? weights * factor : weights.map((weight) => weight * factor);
}

/** The term, with a factor of its weights that can be set. @internal */
export function weighted<D>(term: Term<D>, weights: Floats | number): Energy<D> {
  const weigh = (factor: number): void => term.set({ weight: scaled(weights, measure("weigh(factor): factor", factor, { term: term.name })) } as never);
  return Object.assign(term, { weigh });
}

/** Variables that an energy is of. @internal */
export function variablesOf<V>(call: string, x: unknown, vertices?: number): Variables<V> {
  if (!isA(x, TableOf<unknown, boolean>)) throw new LeastwiseError("foreign-variable", `${call}: x must be the variables of the vertices' places, not ${describe(x)}`);
  if (vertices !== undefined && x.count !== vertices) throw new LeastwiseError("data-length", `${call}: "${x.name}" has ${x.count} instances, but the mesh has ${vertices} vertices`);
  return x as unknown as Variables<V>;
}

/** A mesh at rest, and the variables of its vertices. @internal */
export function restOf<V>(call: string, mesh: MeshLike, x: unknown): ReturnType<typeof meshOf> & { x: Variables<V> } {
  const read = meshOf(call, mesh);
  return { ...read, x: variablesOf<V>(call, x, read.vertices) };
}

/** Some rows of a ragged table. @internal */
export function pick({ offsets, indices }: { offsets: Uint32Array; indices: Uint32Array }, rows: readonly number[]): { offsets: Uint32Array; indices: Uint32Array } {
  const all: number[] = [], ends = new Uint32Array(rows.length + 1);
  rows.forEach((row, k) => {
    for (let at = offsets[row]!; at < offsets[row + 1]!; at++) all.push(indices[at]!);
    ends[k + 1] = all.length;
  });
  return { offsets: ends, indices: Uint32Array.from(all) };
}

/** Refuses an energy without instances, which would be no term. @internal */
export function mustHave(call: string, count: number, what: string): void {
  if (count === 0) throw new LeastwiseError("empty-term", `${call}: the mesh has no ${what}`);
}
