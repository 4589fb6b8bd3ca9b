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
  "no-step",
  "file-format",
  "file-version",
  "file-truncated",
  "file-corrupt",
  "checkpoint-mismatch",
  "engine-dead",
] as const;

/**
 * What went wrong, for programs:
 *
 * - `index-out-of-range`: an index names an instance that is not there: see `term`, `slot`, `instance`
 * - `data-length`: an array has the wrong number of values
 * - `non-finite`: NaN or an infinity among values, data, literals, or in a residual at the start
 * - `empty-term`: nothing to solve: a term without instances, a problem without terms
 * - `no-residual`: the residual function returned nothing usable
 * - `foreign-variable`: a slot of another problem
 * - `foreign-expression`: an expression of another trace, or of one that is over
 * - `foreign-tensor`: a tensor of another engine
 * - `untraceable`: a JavaScript operator, conversion or comparison on an expression
 * - `shape`: sizes that do not go together
 * - `dtype`: tensors of two precisions, or one that the backend does not have
 * - `aliased`: a result that would be written over an operand that is still being read
 * - `bounds`: limits that are NaN or leave nothing between them: see `instance`
 * - `invalid-option`
 * - `tape`: the traced function could not be read or compiled
 * - `limits`: more than the device can bind
 * - `rank-deficient`: residuals leave something free, so that it has no covariance: the message names it
 * - `device-lost`
 * - `disposed`
 * - `busy`: another call is running on the same problem
 * - `stopped`: a call was stopped before it had anything to show; one that its signal aborted rejects with the signal's reason
 * - `out-of-memory`
 * - `no-adapter`: WebGPU or CUDA was demanded and cannot be had
 * - `no-step`: `step()` could make none: the message says why
 * - `file-format`: a file that is something else, or a kind of it that is not read
 * - `file-version`: a file of a version that is not read
 * - `file-truncated`: a file that ends too early
 * - `file-corrupt`: a file whose parts contradict each other
 * - `checkpoint-mismatch`: a checkpoint of another problem, solver or precision: the message says what differs
 * - `engine-dead`: the engine panicked: a bug of ours; reload
 */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Every error that Leastwise throws. The message says what was wrong, where, and what to do. */
export class LeastwiseError extends Error {
  override readonly name = "LeastwiseError";
  /** What went wrong, for programs. */
  readonly code: ErrorCode;
  /** The term it is about. */
  readonly term?: string;
  /** The instance of that term (or of that variable). */
  readonly instance?: number;
  /** The slot of that term. */
  readonly slot?: number;

  /** @internal */
  constructor(code: ErrorCode, message: string, where: { term?: string | undefined; instance?: number | undefined; slot?: number | undefined } = {}) {
    super(message);
    this.code = code;
    if (where.term !== undefined) this.term = where.term;
    if (where.instance !== undefined) this.instance = where.instance;
    if (where.slot !== undefined) this.slot = where.slot;
  }
}

function isCode(code: unknown): code is ErrorCode {
  return (ERROR_CODES as readonly unknown[]).includes(code);
}

/** Refuses what is no options object, for callers without types. @internal */
export function mustBeObject(value: unknown, what: string, where: { term?: string } = {}): void {
  if (typeof value !== "object" || value === null) {
    throw new LeastwiseError("invalid-option", `${what} must be an object, not ${value === null ? "null" : typeof value}`, where);
  }
}

/** Makes a `LeastwiseError` of what the engine threw. @internal */
export function asError(thrown: unknown, panic: () => string | undefined): LeastwiseError {
  if (thrown instanceof LeastwiseError) return thrown;
  if (typeof thrown === "object" && thrown !== null && "message" in thrown && isCode((thrown as { code?: unknown }).code)) {
    const { code, message, term, instance, slot } = thrown as { code: ErrorCode; message: string; term?: string; instance?: number; slot?: number };
    if (code === "engine-dead") return panicked(message);
    return new LeastwiseError(code, message, { term, instance, slot });
  }
  const said = panic();
  const what = said ?? (thrown instanceof Error ? thrown.message : String(thrown));
  // Neither a panic nor a trap: the glue could not make anything of an argument, and the engine never saw it.
  if (said === undefined && !(thrown instanceof WebAssembly.RuntimeError) && !isStackOverflow(thrown)) {
    return new LeastwiseError("invalid-option", `an argument is of a kind that the engine does not take: ${what}`);
  }
  return panicked(what);
}

/** V8 and JavaScriptCore have it among their range errors, SpiderMonkey calls it an internal one. */
const isStackOverflow = (thrown: unknown) => thrown instanceof Error && (thrown.name === "InternalError" || (thrown instanceof RangeError && /call stack/i.test(thrown.message)));

function panicked(what: string): LeastwiseError {
  return new LeastwiseError("engine-dead", `the engine failed and can't go on; this is a bug of Leastwise, please report it: ${what}`);
}
