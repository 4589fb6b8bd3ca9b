/** Errors: one class with a code, so that a program can tell them apart and a person can read them. */

/** Every code there is: what the engine throws is ours only with one of these. */
const ERROR_CODES = [
  "index-out-of-range",
  "data-length",
  "non-finite",
  "empty-term",
  "no-residual",
  "foreign-variable",
  "foreign-expression",
  "foreign-tensor",
  "untraceable",
  "shape",
  "dtype",
  "aliased",
  "bounds",
  "invalid-option",
  "tape",
  "limits",
  "rank-deficient",
  "device-lost",
  "disposed",
  "busy",
  "stopped",
  "out-of-memory",
  "no-adapter",
  "load",
  "device-error",
  "no-step",
  "file-format",
  "file-version",
  "file-truncated",
  "file-corrupt",
  "checkpoint-mismatch",
  "internal",
  "engine-dead",
] as const;

/**
 * Code of an error, for programs:
 *
 * - `index-out-of-range`: an index names an instance that is not there: see `term`, `slot`, `instance`
 * - `data-length`: an array has the wrong number of values
 * - `non-finite`: NaN, an infinity, or a number beyond the precision's range among values, data, literals, points, or in a residual at the start
 * - `empty-term`: nothing to solve: a term without instances, a problem without terms
 * - `no-residual`: the residual function returned nothing usable
 * - `foreign-variable`: a slot of another problem
 * - `foreign-expression`: an expression of another trace, or of one that is over
 * - `foreign-tensor`: a tensor of another engine
 * - `untraceable`: a JavaScript operator, conversion or comparison on an expression
 * - `shape`: sizes that do not go together
 * - `dtype`: tensors of two precisions, or one that the backend, or a problem of the engine, does not take
 * - `aliased`: a result that would be written over an operand that is still being read
 * - `bounds`: limits that are NaN or leave nothing between them: see `instance`
 * - `invalid-option`
 * - `tape`: the traced function could not be read
 * - `limits`: more than the device can bind
 * - `rank-deficient`: residuals leave something free, so that it has no covariance: the message names it
 * - `device-lost`
 * - `disposed`: a problem, term, solver, tensor, index, covariance or engine that was disposed
 * - `busy`: another call is running on the same problem
 * - `stopped`: a call was stopped before it had anything to show; one that its signal aborted rejects with the signal's reason
 * - `out-of-memory`
 * - `no-adapter`: WebGPU or CUDA was demanded and cannot be had
 * - `load`: the engine's WebAssembly module could not be loaded: the message says from where, what came back, and what to do
 * - `device-error`: the device refused a kernel or a command, in its words: a bug of its driver or of ours
 * - `no-step`: `step()` could make none: the message says why
 * - `file-format`: a file that is something else, or a kind of it that is not read
 * - `file-version`: a file of a version that is not read
 * - `file-truncated`: a file that ends too early
 * - `file-corrupt`: a file whose parts contradict each other
 * - `checkpoint-mismatch`: a checkpoint of another problem, solver or precision: the message says what differs
 * - `internal`: a state that the engine never reaches, unless it has a bug: please report it
 * - `engine-dead`: the engine panicked, which is a bug of ours, or something that it called threw; make a new one
 *
 * @example
 * const mended: ErrorCode[] = ["device-lost", "out-of-memory"];
 */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** What an error is about. @internal */
export interface Place { readonly term?: string | undefined; readonly instance?: number | undefined; readonly slot?: number | undefined }

/**
 * Every error that Leastwise throws. The message says what was wrong, where, and what to do.
 *
 * @example
 * try {
 *   await problem.solve();
 * } catch (error) {
 *   if (error instanceof LeastwiseError && error.code === "non-finite") console.log(error.term, error.instance);
 *   else throw error;
 * }
 */
export class LeastwiseError extends Error {
  override readonly name = "LeastwiseError";
  /** Code of the error, for programs. */
  readonly code: ErrorCode;
  /** The term it is about. */
  readonly term?: string;
  /** The instance of that term (or of that variable). */
  readonly instance?: number;
  /** The slot of that term. */
  readonly slot?: number;

  /** Section on the code in the documentation, which the package contains: cause, example and remedy. */
  get help(): string { return `leastwise/docs/ERRORS.md#${this.code}`; }

  /** @internal */
  constructor(code: ErrorCode, message: string, where: Place & { readonly cause?: unknown } = {}) {
    super(message, "cause" in where ? { cause: where.cause } : undefined);
    this.code = code;
    if (where.term !== undefined) this.term = where.term;
    if (where.instance !== undefined) this.instance = where.instance;
    if (where.slot !== undefined) this.slot = where.slot;
  }
}

function isCode(code: unknown): code is ErrorCode {
  return (ERROR_CODES as readonly unknown[]).includes(code);
}

/** `instanceof` that throws for nothing, not even for a revoked Proxy. @internal */
export function isA<T>(value: unknown, kind: abstract new (...parts: never) => T): value is T {
  try {
    return value instanceof kind;
  } catch {
    return false;
  }
}

/** True for our own errors; anything may be thrown. @internal */
export const isOurs = (thrown: unknown): thrown is LeastwiseError => isA(thrown, LeastwiseError);

/** The words of anything that was thrown. @internal */
export function wordsOf(thrown: unknown): string {
  try {
    const { message } = thrown as { message?: unknown };
    return typeof message === "string" && message !== "" ? message : String(thrown);
  } catch {
    return "it threw something that can't be read";
  }
}

/**
 * Reads something of a caller's. What its getters or its Proxy throw becomes `invalid-option`, here, where nothing of the engine is
 * borrowed: an exception that unwinds through the engine would end it. @internal
 */
export function reading<T>(what: string, work: () => T, place: Place = {}): T {
  try {
    return work();
  } catch (thrown) {
    throw unread(what, thrown, place);
  }
}

/** The error of what can't be read; our own stay as they are. @internal */
export function unread(what: string, thrown: unknown, place: Place): LeastwiseError {
  return isOurs(thrown) ? thrown : new LeastwiseError("invalid-option", `${what} can't be read: ${wordsOf(thrown)}`, { ...place, cause: thrown });
}

/** Makes a `LeastwiseError` of what the engine threw. @internal */
export function asError(thrown: unknown, panic: () => string | undefined): LeastwiseError {
  if (isOurs(thrown)) return thrown;
  if (typeof thrown === "object" && thrown !== null && "message" in thrown && isCode((thrown as { code?: unknown }).code)) {
    const { code, message, term, instance, slot } = thrown as { code: ErrorCode; message: string; term?: string; instance?: number; slot?: number };
    if (code === "engine-dead") return panicked(message);
    return new LeastwiseError(code, message, { term, instance, slot });
  }
  const said = panic();
  if (said !== undefined || isA(thrown, WebAssembly.RuntimeError) || isStackOverflow(thrown)) return panicked(said ?? wordsOf(thrown), thrown);
  // What the engine refuses has a code. This was thrown by something that it called, and went through it without undoing what was
  // begun: from here on every call would find it in use.
  return new LeastwiseError("engine-dead", `the engine was left in the midst of a call and can't go on: make a new one with init(). What ended the call is the host's: ${wordsOf(thrown)}`, { cause: thrown });
}

/** V8 and JavaScriptCore have it among their range errors, SpiderMonkey calls it an internal one. */
const isStackOverflow = (thrown: unknown) => isA(thrown, Error) && (thrown.name === "InternalError" || (thrown instanceof RangeError && /call stack/i.test(thrown.message)));

function panicked(what: string, cause?: unknown): LeastwiseError {
  return new LeastwiseError("engine-dead", `the engine failed and can't go on; this is a bug of Leastwise, please report it: ${what}`, cause === undefined ? {} : { cause });
}
