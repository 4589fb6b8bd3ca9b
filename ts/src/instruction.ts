/** What all expressions share: belonging to a trace, and being made by writing an instruction to its tape. */
import { LeastwiseError } from "./errors.js";
import type { Opcode } from "./opcodes.js";
import { runningTrace, type Trace } from "./trace.js";

declare const tag: unique symbol;

/** Operands of one instruction: their number has 16 bits. */
const MOST_OPERANDS = 65535;

/** What every expression is made of: its trace, and the number of its value on the tape. */
export abstract class Expression<Kind> {
  declare readonly [tag]: Kind;
  /**
   * Not there when the program runs. By this declaration a compiler refuses an expression as a JavaScript condition
   * (`if (a.gt(b))`, `a.gt(b) ? x : y`), which would always hold: use `select(a.gt(b), x, y)`.
   * @deprecated
   */
  declare readonly then: (use: (select: never) => never) => never;
  /** @internal */ readonly owner: Trace;
  /** @internal */ readonly value: number;

  /** @internal */
  constructor(owner: Trace, value: number) {
    this.owner = owner;
    this.value = value;
  }

  /** For messages: its type, with an article. @internal */
  abstract get what(): string;
  /** An expression of the same kind with another value of the same trace. @internal */
  abstract like(value: number): Expression<unknown>;

  /** Throws: an expression has no number while it is traced. @internal */
  [Symbol.toPrimitive](): never {
    throw untraceable(this.owner);
  }
  /** @internal */ toString(): never {
    throw untraceable(this.owner);
  }
  /** @internal */ toJSON(): never {
    throw untraceable(this.owner);
  }
}

/** What an instruction may take. @internal */
export type Operand = Expression<unknown> | number;

function untraceable(trace: Trace): LeastwiseError {
  return new LeastwiseError(
    "untraceable",
    `${trace.title} used an expression as a JavaScript number or string (an operator such as + or <, Math.*, a template string, sorting): it has no value while it is traced. ` +
      "Use methods and functions instead: a.add(b) for a + b, sin(a) for Math.sin(a), select(a.lt(b), x, y) for a < b ? x : y",
    { term: trace.term },
  );
}

/** What something is, with an article; of a Proxy that throws, too. @internal */
export function describe(what: unknown): string {
  try {
    return what instanceof Expression ? what.what
      : what === null ? "null"
      : Array.isArray(what) ? "an array"
      : typeof what === "object" ? withArticle(nameOf(what) ?? "object")
      : what === undefined ? "undefined"
      : `a ${typeof what}`;
  } catch {
    return "an object that can't be read";
  }
}

/** A noun with its article; Uint8Array and URL begin with the sound of a consonant. */
const withArticle = (noun: string): string => `${/^[AEIO]/i.test(noun) ? "an" : "a"} ${noun}`;

/** The name of an object's class. */
function nameOf(what: object): string | undefined {
  const name: unknown = (what.constructor as { name?: unknown } | undefined)?.name;
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** A value in a message. @internal */
export function shownValue(value: unknown): string {
  return typeof value === "number" ? String(value) : typeof value === "string" ? `"${value.length > 80 ? `${value.slice(0, 80)}…` : value}"` : describe(value);
}

/** The trace that operands belong to; numbers alone belong to the one whose function is running. @internal */
export function traceOf(name: string, operands: readonly unknown[]): Trace {
  const found = operands.find((operand) => operand instanceof Expression);
  const trace = found ? found.owner : runningTrace();
  if (!trace) throw new LeastwiseError("foreign-expression", `${name}() outside of a residual function: expressions exist only while one is traced; with numbers alone use Math`);
  return trace;
}

/** For callers without types: says which operands do not go together, and what would. @internal */
export function refuse(name: string, operands: readonly unknown[], takes: string): never {
  const found = operands.find((operand) => operand instanceof Expression);
  const trace = found ? found.owner : runningTrace();
  const given = operands.map(describe);
  const list = given.length === 0 ? "nothing" : given.length === 1 ? given[0] : `${given.slice(0, -1).join(", ")} and ${given.at(-1)}`;
  throw new LeastwiseError("shape", `${trace ? `${trace.title}: ` : ""}${name}() of ${list}: it takes ${takes}`, { term: trace?.term });
}

/** The value numbers of operands; numbers become literals. All must belong to one trace. @internal */
export function values(trace: Trace, operands: readonly Operand[]): number[] {
  return operands.map((operand) => valueOf(trace, operand));
}

/** The same for one. @internal */
export function valueOf(trace: Trace, operand: Operand): number {
  if (typeof operand === "number") return trace.literal(operand);
  if (operand.owner !== trace) {
    throw new LeastwiseError("foreign-expression", `${trace.title} uses an expression of ${operand.owner.title}: every residual only knows the arguments of its own function`, { term: trace.term });
  }
  return operand.value;
}

/** Writes an instruction; gives the number of its value. @internal */
export function write(trace: Trace, opcode: Opcode, operands: readonly Operand[]): number {
  return trace.write(opcode, values(trace, operands));
}

/** The same for an operation of any number of operands that may be applied to its own results, as a sum may. @internal */
export function writeAny(trace: Trace, opcode: Opcode, operands: readonly Operand[]): number {
  let rest = values(trace, operands);
  while (rest.length > MOST_OPERANDS) {
    const all = rest;
    rest = Array.from({ length: Math.ceil(all.length / MOST_OPERANDS) }, (_, part) => trace.write(opcode, all.slice(part * MOST_OPERANDS, (part + 1) * MOST_OPERANDS)));
  }
  return trace.write(opcode, rest);
}
