/** Checks of options, for callers without types; what numbers may be, and lists of names. */
import { LeastwiseError, mustBeObject } from "./errors.js";
import { describe } from "./instruction.js";

/** What long work is told, and tells. */
export interface Reporting {
  /** Ends the work early. */
  signal?: AbortSignal;
  /** Called now and then with how much is done, and of how much. */
  onProgress?: (done: number, total: number) => void;
}

const refuse = (message: string): never => { throw new LeastwiseError("invalid-option", message); };

/** Refuses what is no object, and names in it that mean nothing. @internal */
export function mustHaveOnly(options: object, known: readonly string[], what: string): void {
  mustBeObject(options, `${what}: options`);
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown !== undefined) refuse(`${what}: options have no "${unknown}" (they have: ${known.join(", ")})`);
}

/** @internal */
export function mustBeReporting({ signal, onProgress }: Reporting): void {
  // A task that can't be listened to would never be ended.
  if (signal !== undefined && typeof signal?.addEventListener !== "function") refuse("signal must be an AbortSignal");
  if (onProgress !== undefined && typeof onProgress !== "function") refuse("onProgress must be a function");
}

/** A positive integer that 32 bits hold, if it is given. @internal */
export function mustBeCount(name: string, value: unknown, { least = 1, most = 0xffffffff } = {}): void {
  if (value !== undefined && !(Number.isInteger(value) && (value as number) >= least && (value as number) <= most)) {
    refuse(`${name}: ${shown(value)} is not an integer from ${least} to ${most}`);
  }
}

/** A finite number from `low` to `high` (both allowed, unless `open`), if it is given. @internal */
export function mustBeBetween(name: string, value: unknown, low: number, high = Infinity, open = false): void {
  const isInside = typeof value === "number" && Number.isFinite(value) && (open ? value > low && value < high : value >= low && value <= high);
  if (value === undefined || isInside) return;
  const least = open ? `above ${low}` : `of ${low} or more`;
  refuse(`${name}: ${shown(value)} is not a number ${high === Infinity ? least : open ? `between ${low} and ${high}` : `from ${low} to ${high}`}`);
}

/** One of these names, if it is given. @internal */
export function mustBeOneOf(name: string, value: unknown, names: readonly string[]): void {
  if (value !== undefined && !names.includes(value as string)) refuse(`${name}: ${shown(value)} is not one of "${names.join("\", \"")}"`);
}

const shown = (value: unknown) => (typeof value === "number" ? String(value) : typeof value === "string" ? `"${value}"` : describe(value));

/** Without what is undefined: the engine knows names that are there. @internal */
export function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter((entry) => entry[1] !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
