/**
 * A structure as a WebAssembly module: straight-line code for two instances at a time, forwards and backwards, in a loop over
 * all of them. Results have the bits of `blocks.ts`, and gradients are summed in the same order.
 *
 * The table of a pair, in 32-bit words: where its residuals go (2), where its rows of the Jacobian go (2), and for every slot the
 * addresses of both leaves, relative to the first leaf. Slots whose leaf is the same in all instances are loaded before the loop.
 */
import { Op } from "./rules.js";
import type { Step, Structure } from "./structure.js";
import { Code, F64, I32, moduleOf, V128, type Import, type Instruction } from "./assembly.js";
import { emitValue, outsideOf, passesOn, slopeOf, type Emitter } from "./assembly-operations.js";

/** What a run computes besides residuals. @internal */
export const Mode = { Residuals: 0, Gradient: 1, Rows: 2 } as const;

/** Where a set's arrays are in memory, in bytes: the gradient and the leaves stay, so that they are constants of the code. @internal */
export interface Layout { readonly gradient: number; readonly leaves: number }

/** Computes all instances; the number of the first of a pair that is not defined, or −1. `table`, `residuals` and `rows` are in bytes. @internal */
export type Run = (count: number, table: number, residuals: number, rows: number, mode: number) => number;

/** Places up to which code is worth compiling. */
const MOST_PLACES = 3000;
/** Words of a pair before its leaves. @internal */
export const HEAD = 4;

const COUNT = 0, TABLE = 1, RESIDUALS = 2, ROWS = 3, MODE = 4, INSTANCE = 5, BAD = 6, FIRST_NUMBER = 7;

/**
 * Compiles a structure; undefined where it is too large or the host compiles none. `uniform` has the leaf of every slot that is
 * the same for all instances, and −1 for the others.
 *
 * @internal
 */
export function compileKernel(structure: Structure, uniform: Int32Array, layout: Layout, memory: WebAssembly.Memory): Run | undefined {
  if (structure.size > MOST_PLACES || structure.steps.some(({ op }) => op === Op.SmallestEigenvalue)) return undefined;
  const writer = new Writer(structure, uniform, layout);
  try {
    const { run } = new WebAssembly.Instance(new WebAssembly.Module(writer.module()), { e: { memory, ...writer.functions } }).exports;
    return run as unknown as Run;
  } catch (thrown) {
    // A page's policy forbids it, or the host has no SIMD, or compiles nothing of this size at once.
    if (thrown instanceof WebAssembly.CompileError || thrown instanceof RangeError || thrown instanceof EvalError) return undefined;
    throw thrown;
  }
}

/** The slots whose leaves are in a pair's table, in its order. @internal */
export const varying = (uniform: Int32Array): number[] => Array.from(uniform.keys()).filter((slot) => uniform[slot]! < 0);

/** What is known of a place's derivative while code is written: nothing was added yet, it is 1, or a local has it. */
type Derivative = "none" | "one" | "local";

class Writer implements Emitter {
  readonly functions: { [name: string]: (...numbers: number[]) => number } = {};
  private readonly imports: Import[] = [];
  private readonly code = new Code();
  private readonly derivatives: Derivative[];
  private readonly checked: boolean[];
  private step!: Step;

  constructor(private readonly structure: Structure, private readonly uniform: Int32Array, private readonly layout: Layout) {
    this.derivatives = new Array<Derivative>(structure.size).fill("none");
    this.checked = placesToCheck(structure);
  }

  module(): Uint8Array<ArrayBuffer> {
    this.body();
    const locals = [{ type: I32, count: 1 }, { type: V128, count: 1 + 2 * this.structure.size }];
    return moduleOf(this.imports, [I32, I32, I32, I32, I32], [I32], locals, this.code);
  }

  put(...names: Instruction[]): this { this.code.put(...names); return this; }
  f64x2(value: number): this { this.code.f64x2(value); return this; }
  operand(k: number): this { this.code.get(this.value(this.step.operands[k]!)); return this; }
  result(): this { this.code.get(this.value(this.step.place)); return this; }

  call(key: string, of: (...numbers: number[]) => number, operands: readonly (number | "y")[]): this {
    if (!this.functions[key]) {
      this.functions[key] = of;
      this.imports.push({ name: key, parameters: operands.map(() => F64), results: [F64] });
    }
    const index = this.imports.findIndex(({ name }) => name === key);
    for (const lane of [0, 1]) {
      for (const k of operands) (k === "y" ? this.result() : this.operand(k)).code.extract(lane);
      this.code.call(index);
      if (lane === 0) this.put("f64x2.splat");
      else this.code.replace(1);
    }
    return this;
  }

  /** Locals of a place's value and derivative. */
  private value(place: number): number { return FIRST_NUMBER + place; }
  private derivative(place: number): number { return FIRST_NUMBER + this.structure.size + place; }

  private body(): void {
    const { code, uniform, layout, structure: { steps, leaves, root } } = this, slots = varying(uniform), at = (k: number, lane: number) => 4 * (HEAD + 2 * k + lane);
    uniform.forEach((leaf, slot) => {
      if (leaf >= 0) code.i32(0).memory("v128.load64_splat", layout.leaves + 8 * leaf).set(this.value(leaves[slot]!));
    });
    code.block().loop();
    code.get(INSTANCE).get(COUNT).put("i32.ge_s").branchIf(1);
    slots.forEach((slot, k) => {
      code.get(TABLE).memory("i32.load", at(k, 1));
      code.get(TABLE).memory("i32.load", at(k, 0)).memory("v128.load64_splat", layout.leaves);
      code.lane("v128.load64_lane", layout.leaves, 1).set(this.value(leaves[slot]!));
    });
    code.f64x2(0).set(BAD);
    for (const step of steps) this.forward(step);
    code.get(BAD).put("v128.any_true").if().get(INSTANCE).put("return", "end");
    for (const lane of [0, 1]) this.pointer(RESIDUALS, lane).get(this.value(root)).lane("v128.store64_lane", 0, lane);
    code.get(MODE).if();
    this.derivatives[root] = "one";
    for (let k = steps.length - 1; k >= 0; k--) this.backward(steps[k]!);
    code.get(MODE).i32(Mode.Gradient).put("i32.eq").if();
    this.scatter(0);
    // The last pair of an odd number is one instance twice.
    code.get(INSTANCE).i32(1).put("i32.add").get(COUNT).put("i32.lt_s").if();
    this.scatter(1);
    code.put("end", "else");
    for (const lane of [0, 1]) this.store(lane);
    code.put("end", "end");
    code.get(TABLE).i32(4 * (HEAD + 2 * slots.length)).put("i32.add").set(TABLE);
    code.get(INSTANCE).i32(2).put("i32.add").set(INSTANCE);
    code.branch(0).put("end", "end").i32(-1);
  }

  /** Where an instance's numbers begin in the residuals or in the rows. */
  private pointer(array: typeof RESIDUALS | typeof ROWS, lane: number): Code {
    return this.code.get(array).get(TABLE).memory("i32.load", 4 * ((array === ROWS ? 2 : 0) + lane)).put("i32.add");
  }

  private forward(step: Step): void {
    const { code } = this, { op, place, operands, moves } = step, own = this.value(place);
    this.step = step;
    if (op === Op.Sum) {
      code.f64x2(0);
      for (let k = 0; k < operands.length; k++) this.operand(k).put("f64x2.add");
    } else emitValue(this, op, moves);
    code.set(own);
    if (this.checked[place]) this.bad(() => code.get(own).get(own).put("f64x2.sub").f64x2(0).put("f64x2.ne"));
    const outside = outsideOf(op);
    if (outside) this.bad(() => outside(this));
  }

  private bad(mask: () => void): void {
    mask();
    this.code.get(BAD).put("v128.or").set(BAD);
  }

  /** Adds to the derivatives of a step's operands. Places that nothing was added to have none, and lead nowhere. */
  private backward(step: Step): void {
    const { code, derivatives } = this, { op, place, operands, active } = step, own = derivatives[place]!;
    this.step = step;
    if (own === "none") return;
    for (let k = 0; k < operands.length; k++) {
      if (!active[k]) continue;
      const slope = op === Op.Sum ? 1 : slopeOf(op, k), to = operands[k]!;
      const old = derivatives[to]!, before = () => (old === "one" ? code.f64x2(1) : code.get(this.derivative(to)));
      if (slope === 1 && own === "one" && old === "none") {
        derivatives[to] = "one";
        continue;
      }
      const derivative = () => (own === "one" ? code.f64x2(1) : code.get(this.derivative(place)));
      if (slope === 1 || slope === -1) {
        if (old !== "none") { before(); derivative().put(slope === 1 ? "f64x2.add" : "f64x2.sub"); }
        else if (slope === 1) derivative();
        else derivative().put("f64x2.neg");
      } else {
        if (typeof slope === "number") code.f64x2(slope);
        else slope(this);
        if (own !== "one") derivative().put("f64x2.mul");
        if (old !== "none") before().put("f64x2.add");
      }
      code.set(this.derivative(to));
      derivatives[to] = "local";
    }
  }

  /** Puts the derivative of a parameter's slot on the stack, and calls `of`. Both lanes have it. */
  private parameters(of: (slot: number, derivative: () => Code) => void): void {
    const { code, structure: { leaves, isParameter } } = this;
    leaves.forEach((place, slot) => {
      if (!isParameter[slot]) return;
      const known = this.derivatives[place]!;
      of(slot, () => (known === "local" ? code.get(this.derivative(place)) : code.f64x2(known === "one" ? 1 : 0)));
    });
  }

  /** Adds an instance's derivatives to the gradient. */
  private scatter(lane: number): void {
    const { code, uniform, layout } = this, places = new Map(varying(uniform).map((slot, k) => [slot, 4 * (HEAD + 2 * k + lane)]));
    this.parameters((slot, derivative) => {
      const leaf = uniform[slot]!, offset = layout.gradient + (leaf < 0 ? 0 : 8 * leaf), address = () => (leaf < 0 ? code.get(TABLE).memory("i32.load", places.get(slot)!) : code.i32(0));
      address();
      address().memory("f64.load", offset);
      derivative().extract(lane).put("f64.add").memory("f64.store", offset);
    });
  }

  /** Writes an instance's derivatives as its row. */
  private store(lane: number): void {
    let column = 0;
    this.parameters((_, derivative) => {
      this.pointer(ROWS, lane);
      derivative().lane("v128.store64_lane", 8 * column++, lane);
    });
  }
}

/** Places whose values are tested to be finite: of the others, what is not finite is not finite in a place that is tested either. */
function placesToCheck({ steps, size, root }: Structure): boolean[] {
  const isPassedOn = new Array<boolean>(size).fill(false);
  for (const { op, operands } of steps) operands.forEach((operand, k) => { if (passesOn(op, k)) isPassedOn[operand] = true; });
  return isPassedOn.map((is, place) => !is || place === root);
}
