/**
 * Tracing: a residual function runs once, on expressions instead of numbers, and what it does is written to a tape.
 * The tape crosses into the engine as part of its term. No mathematics happens here: vector operations are single
 * instructions, whose meaning stands in the engine.
 */
import { LeastwiseError } from "./errors.js";
import { Opcode } from "./opcodes.js";
import type { Words } from "./words.js";

/** The largest finite f32: beyond, a number would be infinite on a GPU. @internal */
export const LARGEST_F32 = 3.4028234663852886e38;

/** The trace whose function is running: plain numbers have no other way to it. */
let running: Trace | undefined;

export function runningTrace(): Trace | undefined {
  return running;
}

/** A number and its two halves. */
const number = new Float64Array(1);
const halves = new Uint32Array(number.buffer);

/** One run of one function. */
export class Trace {
  private values = 0;
  private open = true;

  /** The tape is appended to `words`; numbers go up to `largest`. */
  constructor(readonly term: string | undefined, private readonly words: Words, private readonly name?: string, private readonly largest = LARGEST_F32) {}

  /** What messages call it. */
  get title(): string {
    return this.name ?? `the residual "${this.term}"`;
  }

  /** Writes an instruction; gives the number of its value. */
  write(opcode: Opcode, operands: readonly number[]): number {
    this.mustBeOpen();
    if (operands.length > 0xffff) {
      throw new LeastwiseError("tape", `${this.title}: one operation takes ${operands.length} operands, but 65535 are possible`, { term: this.term });
    }
    this.words.push(opcode | (operands.length << 16));
    this.words.append(operands);
    return this.values++;
  }

  /** Writes an instruction of one operand. */
  write1(opcode: Opcode, operand: number): number {
    this.mustBeOpen();
    this.words.push2(opcode | (1 << 16), operand);
    return this.values++;
  }

  /** Writes an instruction of two operands. */
  write2(opcode: Opcode, first: number, second: number): number {
    this.mustBeOpen();
    this.words.push3(opcode | (2 << 16), first, second);
    return this.values++;
  }

  private mustBeOpen(): void {
    if (!this.open) {
      throw new LeastwiseError("foreign-expression", `an expression of ${this.title} was used after its function had returned: a residual is traced once, so nothing may keep its expressions`, { term: this.term });
    }
  }

  /** Runs the function that this is the trace of, and ends the trace. */
  run<A, B, T>(work: (of: A, data: B) => T, of: A, data: B): T {
    const outer = running;
    running = this;
    try {
      return work(of, data);
    } finally {
      running = outer;
      this.open = false;
    }
  }

  literal(value: number): number {
    if (!(Math.abs(value) <= this.largest)) {
      const range = this.largest === LARGEST_F32 ? ", and at most 3.4e38" : "";
      throw new LeastwiseError("non-finite", `${this.title} uses the number ${value}: numbers in an expression must be finite${range}`, { term: this.term });
    }
    number[0] = value;
    return this.write2(Opcode.Literal, halves[0]!, halves[1]!);
  }
}
