/** Recognition of sums of squares: of these alone a small value is a sign of a solution. */
import { Op } from "./rules.js";
import type { Value } from "./value.js";

/** Nodes that are looked at. */
const MOST = 10_000;

/** True if a graph is a sum of squares, with factors and divisors that are not negative. @internal */
export function isSumOfSquares(root: Value): boolean {
  const pending = [root];
  for (let seen = 0; pending.length > 0; seen++) {
    if (seen === MOST) return false;
    const node = pending.pop()!, { op, operands } = node, [a, b] = operands;
    if (op === Op.Square) continue;
    if (op === Op.Mul && a === b) continue;
    if (op === Op.Pow && isConstant(b!) && b!.data % 2 === 0) continue;
    // One by one: a spread list of a million operands overflows the stack.
    if (op === Op.Add || op === Op.Sum) for (const operand of operands) pending.push(operand);
    else if (op === Op.Mul && isConstant(a!) && a!.data >= 0) pending.push(b!);
    else if ((op === Op.Mul || op === Op.Div) && isConstant(b!) && b!.data >= 0) pending.push(a!);
    else if (!(op === Op.Leaf && isConstant(node) && node.data === 0)) return false;
  }
  return true;
}

const isConstant = (value: Value): boolean => value.op === Op.Leaf && !value.requiresGrad;
