/**
 * Tracing: a residual function runs once, on expressions instead of numbers, and what it does is written to a tape.
 * The tape crosses into the engine as one array. No mathematics happens here: vector operations are single
 * instructions, whose meaning stands in the engine.
 */
import { LeastwiseError } from "./errors.js";
import { Opcode } from "./opcodes.js";

/** The trace whose function is running: plain numbers have no other way to it. */
let running: Trace | undefined;

export function runningTrace(): Trace | undefined {
  return running;
}

/** A number and its two halves. */
const number = new Float64Array(1);
const words = new Uint32Array(number.buffer);

/** One run of one function. */
export class Trace {
  readonly #words: number[] = [];
  #values = 0;
  #open = true;

  constructor(readonly term: string) {}

  /** Writes an instruction; gives the number of its value. */
  write(opcode: Opcode, operands: readonly number[]): number {
    if (!this.#open) {
      throw new LeastwiseError("foreign-expression", `an expression of the residual "${this.term}" was used after its function had returned: a residual is traced once, so nothing may keep its expressions`, { term: this.term });
    }
    if (operands.length > 0xffff) {
      throw new LeastwiseError("tape", `the residual "${this.term}": one operation takes ${operands.length} operands, but 65535 are possible`, { term: this.term });
    }
    this.#words.push(opcode | (operands.length << 16));
    for (const operand of operands) this.#words.push(operand);
    return this.#values++;
  }

  /** Runs the function that this is the trace of. */
  run<T>(work: () => T): T {
    const outer = running;
    running = this;
    try {
      return work();
    } finally {
      running = outer;
    }
  }

  literal(value: number): number {
    // Beyond f32's range a number would be infinite on a GPU.
    if (!(Math.abs(value) <= 3.4028234663852886e38)) {
      throw new LeastwiseError("non-finite", `the residual "${this.term}" uses the number ${value}: numbers in an expression must be finite, and at most 3.4e38`, { term: this.term });
    }
    number[0] = value;
    return this.write(Opcode.Literal, [words[0]!, words[1]!]);
  }

  /** Ends the trace and gives the tape. */
  close(): readonly number[] {
    this.#open = false;
    return this.#words;
  }
}
