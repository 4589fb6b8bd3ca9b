/**
 * Options as callers give them: one checker for all. What may be given is a table of names with a kind each; what comes back is a
 * copy of the options that were given, each read once and checked, so that nothing of a caller's runs in the midst of a call.
 */
import { LeastwiseError, reading, unread, type ErrorCode, type Place } from "./errors.js";
import type { Host } from "./host.js";
import { describe, shownValue } from "./instruction.js";

/**
 * What long work is told, and tells.
 *
 * @example
 * const reporting: Reporting = { onProgress: (done, total) => console.log(`${done} of ${total}`) };
 * await lw.cluster(points, { dim: 2, clusters: 16, ...reporting });
 */
export interface Reporting {
  /** Ends the work early. @defaultValue none */
  signal?: Host<"AbortSignal">;
  /** Called now and then with how much is done, and of how much. @defaultValue none */
  onProgress?: (done: number, total: number) => void;
}

/** What an option may be: gives the value as it is used, or throws. @internal */
export type Kind<T> = (name: string, value: unknown, place: Place) => T;

/** The options of a call. @internal */
export type Kinds = { readonly [name: string]: Kind<unknown> };

/** What was given of them, checked. @internal */
export type Checked<K extends Kinds> = { readonly [Name in keyof K]?: ReturnType<K[Name]> };

const refuse = (message: string, place: Place, code: ErrorCode = "invalid-option"): never => { throw new LeastwiseError(code, message, place); };

/** An integer from `least` to `most`, by default from 1 to 2³² − 1. @internal */
export const whole = (least = 1, most = 0xffffffff): Kind<number> => (name, value, place) =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most ? value as number
  : refuse(`${name}: ${shownValue(value)} is not an integer from ${least} to ${most}`, place);

/** A finite number from `low` to `high`; both are allowed, unless `open`. @internal */
export const real = (low: number, high = Infinity, open = false): Kind<number> => (name, value, place) => {
  if (typeof value === "number" && Number.isFinite(value) && (open ? value > low && value < high : value >= low && value <= high)) return value;
  const least = open ? `above ${low}` : `of ${low} or more`;
  return refuse(`${name}: ${shownValue(value)} is not a number ${high === Infinity ? least : open ? `between ${low} and ${high}` : `from ${low} to ${high}`}`, place);
};

/** A number that is not negative; infinite ones are none of a limit. @internal */
export const measure: Kind<number> = (name, value, place) =>
  typeof value === "number" && value >= 0 ? value
  : refuse(`${name} must be a number that is not negative, not ${typeof value === "number" ? value : describe(value)}`, place);

/** One of these names. @internal */
export const oneOf = <const T extends string>(...names: readonly T[]): Kind<T> => (name, value, place) =>
  names.includes(value as T) ? value as T : refuse(`${name}: ${shownValue(value)} is not one of "${names.join("\", \"")}"`, place);

/** True or false. @internal */
export const flag: Kind<boolean> = (name, value, place) => (typeof value === "boolean" ? value : refuse(`${name} must be true or false, not ${describe(value)}`, place));

/** A function, which the caller's types describe. @internal */
export const callback = <F>(): Kind<F> => (name, value, place) => (typeof value === "function" ? value as F : refuse(`${name} must be a function, not ${describe(value)}`, place));

/** An `AbortSignal`, of any realm: a task that can't be listened to would never be ended. @internal */
export const abortSignal: Kind<AbortSignal> = (name, value, place) => {
  const { addEventListener, removeEventListener, aborted } = (typeof value === "object" && value !== null ? value : {}) as Partial<AbortSignal>;
  const listens = typeof addEventListener === "function" && typeof removeEventListener === "function" && typeof aborted === "boolean";
  return listens ? value as AbortSignal : refuse(`${name} must be an AbortSignal, not ${describe(value)}`, place);
};

/** What whoever takes it checks. @internal */
export const given = <T = unknown>(): Kind<T> => (_, value) => value as T;

/** Two kinds: `first` where `is` holds. @internal */
export const either = <A, B>(is: (value: unknown) => boolean, first: Kind<A>, second: Kind<B>): Kind<A | B> => (name, value, place) => (is(value) ? first : second)(name, value, place);

/** What reports on long work. @internal */
export const REPORTING = { signal: abortSignal, onProgress: callback<(done: number, total: number) => void>() } as const satisfies Kinds;

/** How options are checked. */
interface Checking extends Place {
  /** What stands before an option's name in messages. */
  readonly prefix?: string;
  /** The code for what is no options object. */
  readonly code?: ErrorCode;
}

/**
 * The options that were given, checked; `what` they are is a plural, for messages. What is undefined was not given.
 *
 * @internal
 */
export function checked<const K extends Kinds>(what: string, options: unknown, kinds: K, { prefix = "", code, ...place }: Checking = {}): Checked<K> {
  let reached: string | undefined;
  try {
    mustBePlain(what, options, place, code);
    const found: { [name: string]: unknown } = {};
    for (const name of Reflect.ownKeys(options)) {
      if (typeof name === "symbol" || !Object.hasOwn(kinds, name)) refuseName(what, name, Object.keys(kinds), place);
      reached = name;
      const value = options[name];
      if (value !== undefined) found[name] = kinds[name]!(prefix + name, value, place);
    }
    return found as Checked<K>;
  } catch (thrown) {
    throw unread(reached === undefined ? what : `${what}: "${reached}"`, thrown, place);
  }
}

/** Refuses what is no object of names and values, such as an array, a Map, or an instance of a class, whose options may be inherited. @internal */
export function mustBePlain(what: string, options: unknown, place: Place = {}, code?: ErrorCode): asserts options is { readonly [name: string]: unknown } {
  if (typeof options !== "object" || options === null || Array.isArray(options)) refuse(`${what} must be an object, not ${describe(options)}`, place, code);
  const prototype: unknown = Object.getPrototypeOf(options);
  // Of any realm: the prototype of objects has none itself.
  const isPlain = prototype === null || prototype === Object.prototype || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "hasOwnProperty"));
  if (!isPlain) refuse(`${what} must be a plain object, not ${describe(options)}`, place, code);
}

/** The names and values of a caller's object, each read once. @internal */
export function entriesOf(what: string, object: unknown, place: Place = {}): readonly (readonly [name: string, value: unknown])[] {
  return reading(what, () => {
    mustBePlain(what, object, place);
    return Reflect.ownKeys(object).map((name) => {
      if (typeof name === "symbol") return refuse(`${what} have a symbol for a name, ${String(name)}`, place);
      return [name, reading(`${what}: "${name}"`, () => object[name], place)] as const;
    });
  }, place);
}

/** True if something has these methods. Nothing is thrown: what can't be read has none. @internal */
export function hasMethods<Name extends string>(value: unknown, ...names: readonly Name[]): value is { readonly [N in Name]: (...args: never) => unknown } {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  try {
    return names.every((name) => typeof (value as { readonly [name: string]: unknown })[name] === "function");
  } catch {
    return false;
  }
}

/**
 * Refuses arguments that a call does not take, which would be ignored in silence: `count` are its own, and what is undefined was not
 * given. `instead` says where they belong. @internal
 */
export function takesNoMore(call: string, count: number, given: ArrayLike<unknown>, instead?: string, place: Place = {}): void {
  for (let k = count; k < given.length; k++) {
    if (given[k] === undefined) continue;
    const takes = count === 0 ? "no arguments" : count === 1 ? "one argument" : `${count} arguments`;
    refuse(`${call} takes ${takes}, but argument ${k + 1} is ${describe(given[k])}${instead === undefined ? "" : `: ${instead}`}`, place);
  }
}

/** @internal */
export function refuseName(what: string, name: string | symbol, known: readonly string[], place: Place = {}): never {
  return refuse(`${what} have no ${typeof name === "symbol" ? String(name) : shownValue(name)}${meant(name, known)}`, place);
}

/** What was meant by a name, and what there is. @internal */
export function meant(name: string | symbol, known: readonly string[], has = "they have"): string {
  const near = typeof name === "string" ? elsewhere(name, known) ?? nearest(name, known) : undefined;
  // Names may be a file's.
  const list = known.join(", ") || "none", all = ` (${has}: ${list.length > 3000 ? `${list.slice(0, 3000)}…` : list})`;
  return near === undefined ? all : `: did you mean "${near}"?${all}`;
}

/** Names that people bring from NumPy, PyTorch, JAX and TensorFlow, in small letters without underscores, and ours. */
const ELSEWHERE: { readonly [name: string]: readonly string[] } = {
  stride: ["step"], strides: ["step"], kernelsize: ["size"], ksize: ["size"], poolsize: ["size"], eps: ["epsilon"], gamma: ["scale"], weight: ["scale"], weights: ["scale"], beta: ["shift"], bias: ["shift"], iscausal: ["causal"], enablegqa: ["grouped"], lr: ["learningRate"],
  std: ["deviation"], stddev: ["deviation"], sigma: ["deviation"], loc: ["mean"], minval: ["low"], maxval: ["high"], ddof: ["correction"], unbiased: ["correction"], ord: ["order"], p: ["rate", "order"], dim: ["axis"], pad: ["padding"], type: ["dtype"],
};

function elsewhere(name: string, known: readonly string[]): string | undefined {
  const plain = name.toLowerCase().replaceAll("_", "");
  return Object.hasOwn(ELSEWHERE, plain) ? ELSEWHERE[plain]!.find((ours) => known.includes(ours)) : undefined;
}

/** The known name that takes the fewest edits, where these are few. @internal */
export function nearest(name: string, known: readonly string[]): string | undefined {
  // Of one letter anything is near.
  if (name.length < 2 || name.length > 64) return undefined;
  let best: string | undefined, fewest = Math.max(1, Math.min(3, Math.floor(name.length / 3))) + 1;
  for (const other of known) {
    const edits = distance(name.toLowerCase(), other.toLowerCase());
    if (edits < fewest) [best, fewest] = [other, edits];
  }
  return best;
}

/** Insertions, deletions, substitutions and swaps of neighbours that make one word of another (optimal string alignment). */
function distance(a: string, b: string): number {
  let [before, last, row] = [[] as number[], [] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    [before, last, row] = [last, row, [i]];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
  }
  return row[b.length]!;
}
