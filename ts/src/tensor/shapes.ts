/** Shapes, axes and ranges as callers give them. */
import { isArrayLike, isList, listOf, taken } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { describe, shownValue } from "../instruction.js";
import { checked, flag, given as any } from "../options.js";

/**
 * How many elements there are along each axis; `[]` for a single number.
 *
 * @example
 * const sizes: Sizes = [2, 3];
 * const zeros = lw.zeros(sizes);
 */
export type Sizes = readonly number[];

/**
 * What a slice takes of an axis, as NumPy's `a[…]`:
 *
 * - a number: the elements at that place, without the axis
 * - `":"` or `null`: all
 * - `[start, stop]` or `[start, stop, step]`, `null` for an open end: from `start` on, before `stop`
 * - `{ start, stop, step }`: the same
 *
 * Negative places count from the end, and negative steps go backwards; what lies beyond the axis is left out.
 *
 * @example
 * const every: Range = { start: 0, step: 2 };
 * weights.slice(every, ":");  // every second row, all columns
 */
export type Range =
  | number | ":" | null
  | readonly [start: number | null, stop: number | null, step?: number]
  | { readonly start?: number; readonly stop?: number; readonly step?: number };

/**
 * The axes that a reduction goes over: one, several, or all where none is given. Negative ones count from the last.
 *
 * @example
 * const axes: Axes = [0, -1];  // the first and the last
 * weights.sum(axes);
 */
export type Axes = number | readonly number[];

/**
 * How a reduction leaves its axes.
 *
 * @example
 * const options: ReduceOptions = { keepDims: true };
 * weights.mean(0, options);
 */
export interface ReduceOptions {
  /** True to keep reduced axes, with size 1. @defaultValue false */
  readonly keepDims?: boolean;
}

/** @internal */
export const REDUCE = { keepDims: flag } as const;

/** @internal */
export const elementsOf = (shape: Sizes): number => shape.reduce((product, size) => product * size, 1);

/** @internal */
export const shown = (shape: Sizes): string => `[${shape.join(", ")}]`;

/** What to do where an object of options was given in another's place. */
function hint(given: unknown, before: string): string {
  const prototype: unknown = typeof given === "object" && given !== null ? Object.getPrototypeOf(given) : undefined;
  return prototype === Object.prototype || prototype === null ? `: options come after ${before}` : "";
}

/** Sizes, checked: whole numbers, in one array or one after the other. @internal */
export function sizesOf(what: string, sizes: unknown, { open = false } = {}): Sizes {
  if (!isArrayLike(sizes)) throw new LeastwiseError("shape", `${what}: a shape is an array of sizes, such as [2, 3], not ${describe(sizes)}${hint(sizes, "it")}`);
  const list = Array.from(taken(`${what}: the shape`, sizes, { code: "shape" }).values);
  const wrong = list.findIndex((size) => !(Number.isInteger(size) && size >= 0 && size <= 0xffffffff) && !(open && size === -1));
  if (wrong >= 0) throw new LeastwiseError("shape", `${what}: size ${wrong} is ${shownValue(list[wrong])}, but sizes are whole numbers${open ? ", or −1 once for what is left" : ""}`);
  if (elementsOf(list) > 0xffffffff) throw new LeastwiseError("shape", `${what}: ${shown(list)} are more elements than 2³² − 1`);
  return list;
}

/** The number of an axis, counted from the first. @internal */
export function axisOf(what: string, axis: unknown, rank: number): number {
  const counted = typeof axis === "number" && axis < 0 ? axis + rank : axis;
  if (!(Number.isInteger(counted) && (counted as number) >= 0 && (counted as number) < rank)) {
    throw new LeastwiseError("shape", `${what}: there is no axis ${shownValue(axis)}: ${rank === 0 ? "a single number has none" : `the axes are 0 to ${rank - 1}, or −${rank} to −1 from the last`}`);
  }
  return counted as number;
}

/** The axes of a reduction, checked; nothing for all. @internal */
export function axesOf(what: string, axes: unknown, rank: number): readonly number[] | undefined {
  if (axes === undefined) return undefined;
  if (typeof axes === "object" && !isArrayLike(axes)) throw new LeastwiseError("shape", `${what}: axes are a number or an array, not ${describe(axes)}${hint(axes, "them")}`);
  const list = isArrayLike(axes) ? Array.from(taken(`${what}: the axes`, axes, { code: "shape" }).values) : [axes];
  const found = list.map((axis) => axisOf(what, axis, rank));
  if (new Set(found).size < found.length) throw new LeastwiseError("shape", `${what}: an axis is named twice in ${shown(list as number[])}`);
  return found;
}

const RANGE = { start: any(), stop: any(), step: any() } as const;

function partsOf(what: string, range: unknown): readonly unknown[] {
  if (!isList(range)) {
    const { start, stop, step } = checked(`${what}: a range: options`, range, RANGE, { code: "shape" });
    return [start, stop, step];
  }
  const parts = listOf(`${what}: a range`, range, "");
  if (parts.length < 2 || parts.length > 3) throw new LeastwiseError("shape", `${what}: a range is [start, stop] or [start, stop, step], with null for an open end, not ${parts.length} numbers`);
  return parts;
}

/** Start, stop and step of a range, NaN where it is open; a place for a number. @internal */
export function rangeOf(what: string, range: unknown, axis: number, size: number): { place: number } | { range: readonly [number, number, number] } | undefined {
  if (range === ":" || range === null) return undefined;
  if (typeof range === "number") {
    const place = range < 0 ? range + size : range;
    if (!(Number.isInteger(place) && place >= 0 && place < size)) {
      throw new LeastwiseError("index-out-of-range", `${what}: there is no place ${range} along axis ${axis}, which has ${size} elements`);
    }
    return { place };
  }
  if (typeof range !== "object") throw new LeastwiseError("shape", `${what}: a range is a number, ":", null, [start, stop, step] or { start, stop, step }, not ${shownValue(range)}`);
  const given = partsOf(what, range);
  const [start, stop, step = 1] = given.map((value) => value ?? undefined);
  for (const [name, value] of [["start", start], ["stop", stop], ["step", step]] as const) {
    if (value !== undefined && !Number.isInteger(value)) throw new LeastwiseError("shape", `${what}: the ${name} along axis ${axis} is ${shownValue(value)}, but must be a whole number`);
  }
  if (step === 0) throw new LeastwiseError("shape", `${what}: the step along axis ${axis} is 0`);
  return { range: [(start as number | undefined) ?? NaN, (stop as number | undefined) ?? NaN, step as number] };
}

/** One number or two, as windows have them. @internal */
export function pairOf(what: string, name: string, value: unknown, standard: number | readonly [number, number]): readonly [number, number] {
  const given = value ?? standard;
  const pair = typeof given === "number" ? [given, given] : isArrayLike(given) ? Array.from(taken(`${what}: ${name}`, given).values) : given;
  if (!isList(pair) || pair.length !== 2 || !pair.every((each) => Number.isInteger(each) && (each as number) >= 0)) {
    throw new LeastwiseError("invalid-option", `${what}: ${name} is a whole number, or one along height and one along width, not ${shownValue(value)}`);
  }
  return [pair[0] as number, pair[1] as number];
}
