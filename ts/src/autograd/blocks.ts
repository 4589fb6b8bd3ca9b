/**
 * Evaluation of a structure over a block of instances in f64: every operation is a loop over the block's lanes. Frequent
 * operations have loops of their own; all others call their rule. Both compute the same bits, as a test holds.
 */
import { LIST_RULES, Op, RULES, SMALLEST_DIVISOR } from "./rules.js";
import type { Step } from "./structure.js";

/** Most instances of a block: rows of a few dozen operations stay in the cache. @internal */
export const LANES = 128;

/** Computes an operation's row. True if all of its lanes are defined and finite. @internal */
export function forward({ op, place, operands, moves }: Step, rows: Float64Array, lanes: number, stride: number): boolean {
  const o = place * stride, a = operands[0]! * stride, b = operands.length > 1 ? operands[1]! * stride : 0;
  let good = true;
  switch (op) {
    case Op.Add:
      for (let i = 0; i < lanes; i++) { const y = rows[a + i]! + rows[b + i]!; rows[o + i] = y; if (y - y !== 0) good = false; }
      return good;
    case Op.Sub:
      for (let i = 0; i < lanes; i++) { const y = rows[a + i]! - rows[b + i]!; rows[o + i] = y; if (y - y !== 0) good = false; }
      return good;
    case Op.Mul:
      for (let i = 0; i < lanes; i++) { const y = rows[a + i]! * rows[b + i]!; rows[o + i] = y; if (y - y !== 0) good = false; }
      return good;
    case Op.Div:
      for (let i = 0; i < lanes; i++) {
        const d = rows[b + i]!, y = rows[a + i]! / d;
        rows[o + i] = y;
        if (y - y !== 0 || Math.abs(d) < SMALLEST_DIVISOR) good = false;
      }
      return good;
    case Op.Square:
      for (let i = 0; i < lanes; i++) { const x = rows[a + i]!, y = x * x; rows[o + i] = y; if (y - y !== 0) good = false; }
      return good;
    case Op.Sqrt:
      for (let i = 0; i < lanes; i++) { const y = Math.sqrt(rows[a + i]!); rows[o + i] = y; if (y - y !== 0) good = false; }
      return good;
    default:
      return RULES[op] ? forwardByRule(op, o, operands, moves, rows, lanes, stride) : forwardOfList(op, o, operands, rows, lanes, stride);
  }
}

function forwardByRule(op: Op, o: number, operands: Int32Array, moves: boolean, rows: Float64Array, lanes: number, stride: number): boolean {
  const rule = RULES[op]!, { outside } = rule;
  const a = operands[0]! * stride, b = (operands[1] ?? operands[0]!) * stride, c = (operands[2] ?? operands[0]!) * stride;
  let good = true;
  for (let i = 0; i < lanes; i++) {
    const y = rule.value(rows[a + i]!, rows[b + i]!, rows[c + i]!);
    rows[o + i] = y;
    if (y - y !== 0 || (outside && outside(rows[a + i]!, rows[b + i]!, moves) !== undefined)) good = false;
  }
  return good;
}

/** Scratch for the operands of a list, and their slopes. */
let values = new Float64Array(16), slopes = new Float64Array(16);

function forwardOfList(op: Op, o: number, operands: Int32Array, rows: Float64Array, lanes: number, stride: number): boolean {
  let good = true;
  if (op === Op.Sum) {
    rows.fill(0, o, o + lanes);
    for (const operand of operands) {
      const a = operand * stride;
      for (let i = 0; i < lanes; i++) rows[o + i] = rows[o + i]! + rows[a + i]!;
    }
    for (let i = 0; i < lanes; i++) { const y = rows[o + i]!; if (y - y !== 0) good = false; }
    return good;
  }
  for (let i = 0; i < lanes; i++) {
    const y = LIST_RULES[op]!.value(lane(operands, rows, i, stride));
    rows[o + i] = y;
    if (y - y !== 0) good = false;
  }
  return good;
}

/** The operands of one lane. */
function lane(operands: Int32Array, rows: Float64Array, i: number, stride: number): Float64Array {
  if (values.length < operands.length) [values, slopes] = [new Float64Array(2 * operands.length), new Float64Array(2 * operands.length)];
  for (let k = 0; k < operands.length; k++) values[k] = rows[operands[k]! * stride + i]!;
  return values.subarray(0, operands.length);
}

/** Adds to the derivatives of an operation's operands, from its own. @internal */
export function backward({ op, place, operands, active }: Step, rows: Float64Array, derivatives: Float64Array, lanes: number, stride: number): void {
  const o = place * stride, a = operands[0]! * stride, b = operands.length > 1 ? operands[1]! * stride : 0;
  switch (op) {
    case Op.Add:
    case Op.Sub:
      if (active[0]) for (let i = 0; i < lanes; i++) derivatives[a + i] = derivatives[a + i]! + derivatives[o + i]!;
      if (!active[1]) return;
      if (op === Op.Add) for (let i = 0; i < lanes; i++) derivatives[b + i] = derivatives[b + i]! + derivatives[o + i]!;
      else for (let i = 0; i < lanes; i++) derivatives[b + i] = derivatives[b + i]! - derivatives[o + i]!;
      return;
    case Op.Mul:
      if (active[0]) for (let i = 0; i < lanes; i++) derivatives[a + i] = derivatives[a + i]! + derivatives[o + i]! * rows[b + i]!;
      if (active[1]) for (let i = 0; i < lanes; i++) derivatives[b + i] = derivatives[b + i]! + derivatives[o + i]! * rows[a + i]!;
      return;
    case Op.Square:
      if (active[0]) for (let i = 0; i < lanes; i++) derivatives[a + i] = derivatives[a + i]! + derivatives[o + i]! * (2 * rows[a + i]!);
      return;
    case Op.Sqrt:
      if (active[0]) for (let i = 0; i < lanes; i++) { const y = rows[o + i]!; if (y !== 0) derivatives[a + i] = derivatives[a + i]! + derivatives[o + i]! * (0.5 / y); }
      return;
    case Op.Div:
      if (active[0]) for (let i = 0; i < lanes; i++) derivatives[a + i] = derivatives[a + i]! + derivatives[o + i]! * (1 / rows[b + i]!);
      if (active[1]) for (let i = 0; i < lanes; i++) derivatives[b + i] = derivatives[b + i]! + derivatives[o + i]! * (-rows[o + i]! / rows[b + i]!);
      return;
    case Op.Sum:
      for (let k = 0; k < operands.length; k++) {
        const at = operands[k]! * stride;
        if (active[k]) for (let i = 0; i < lanes; i++) derivatives[at + i] = derivatives[at + i]! + derivatives[o + i]!;
      }
      return;
    default:
      if (RULES[op]) backwardByRule(op, o, operands, active, rows, derivatives, lanes, stride);
      else backwardOfList(op, o, operands, active, rows, derivatives, lanes, stride);
  }
}

function backwardByRule(op: Op, o: number, operands: Int32Array, active: readonly boolean[], rows: Float64Array, derivatives: Float64Array, lanes: number, stride: number): void {
  const rule = RULES[op]!, a = operands[0]! * stride, b = (operands[1] ?? operands[0]!) * stride, c = (operands[2] ?? operands[0]!) * stride;
  for (let k = 0; k < operands.length; k++) {
    if (!active[k]) continue;
    const at = operands[k]! * stride;
    for (let i = 0; i < lanes; i++) {
      derivatives[at + i] = derivatives[at + i]! + derivatives[o + i]! * rule.slope(k, rows[a + i]!, rows[b + i]!, rows[c + i]!, rows[o + i]!);
    }
  }
}

function backwardOfList(op: Op, o: number, operands: Int32Array, active: readonly boolean[], rows: Float64Array, derivatives: Float64Array, lanes: number, stride: number): void {
  for (let i = 0; i < lanes; i++) {
    LIST_RULES[op]!.slopes(lane(operands, rows, i, stride), slopes);
    for (let k = 0; k < operands.length; k++) {
      const at = operands[k]! * stride + i;
      if (active[k]) derivatives[at] = derivatives[at]! + derivatives[o + i]! * slopes[k]!;
    }
  }
}
