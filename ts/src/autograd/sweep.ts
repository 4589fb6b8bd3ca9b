/** Reverse sweeps over graphs of values, without recursion: chains of a million operations are common. */
import { LIST_RULES, Op, RULES } from "./rules.js";

/** Value, as sweeps see it. @internal */
export interface Node {
  readonly data: number;
  grad: number;
  readonly requiresGrad: boolean;
  readonly op: Op;
  readonly operands: readonly Node[];
  readonly custom: (() => void) | undefined;
  stamp: number;
  place: number;
}

let walks = 0;

/** Number of a new walk, with which it stamps what it has met. @internal */
export const newWalk = (): number => ++walks;

/**
 * Calls `visit` for the nodes that `root` depends on and for itself, operands first, each once. Operands for which `enter`
 * is false are passed over.
 *
 * @internal
 */
export function postorder<N extends { readonly operands: readonly N[]; stamp: number }>(root: N, walk: number, enter: (node: N) => boolean, visit: (node: N) => void): void {
  if (root.stamp === walk || !enter(root)) return;
  const path: N[] = [root], next: number[] = [0];
  root.stamp = walk;
  while (path.length > 0) {
    const top = path.length - 1, node = path[top]!, k = next[top]!;
    if (k === node.operands.length) {
      visit(node);
      path.pop();
      next.pop();
      continue;
    }
    next[top] = k + 1;
    const operand = node.operands[k]!;
    if (operand.stamp === walk || !enter(operand)) continue;
    operand.stamp = walk;
    path.push(operand);
    next.push(0);
  }
}

const requires = (node: Node): boolean => node.requiresGrad;
const all = (): boolean => true;

/** Adds ∂root/∂leaf to the gradients of all leaves that require it; those of results are of this sweep alone. @internal */
export function sweep(root: Node): void {
  const order: Node[] = [];
  postorder(root, newWalk(), requires, (node) => {
    if (node.op === Op.Leaf) return;
    node.grad = 0;
    order.push(node);
  });
  root.grad = 1;
  for (let k = order.length - 1; k >= 0; k--) propagate(order[k]!);
}

/** Slopes with respect to the leaves that require gradients, whose own gradients stay as they are. @internal */
export function gradientOf<N extends Node>(root: N): { leaf: N; slope: number }[] {
  const order: Node[] = [], leaves: Node[] = [];
  postorder<Node>(root, newWalk(), requires, (node) => { (node.op === Op.Leaf ? leaves : order).push(node); });
  const before = leaves.map(({ grad }) => grad);
  for (const leaf of leaves) leaf.grad = 0;
  for (const node of order) node.grad = 0;
  if (root.requiresGrad) root.grad = 1;
  for (let k = order.length - 1; k >= 0; k--) propagate(order[k]!);
  return leaves.map((leaf, k) => {
    const { grad } = leaf;
    leaf.grad = before[k]!;
    return { leaf: leaf as N, slope: grad };
  });
}

/** Scratch for the operations of lists. */
let values = new Float64Array(16), slopes = new Float64Array(16);

/** Adds to the gradients of a result's operands. */
function propagate(node: Node): void {
  const { op, operands, grad, data } = node;
  if (op === Op.Custom) {
    node.custom?.();
    for (const operand of operands) if (!operand.requiresGrad) operand.grad = 0;
    return;
  }
  const rule = RULES[op];
  if (!rule) return propagateList(node);
  const a = operands[0]!.data, b = operands.length > 1 ? operands[1]!.data : 0, c = operands.length > 2 ? operands[2]!.data : 0;
  for (let k = 0; k < operands.length; k++) {
    if (operands[k]!.requiresGrad) operands[k]!.grad += grad * rule.slope(k, a, b, c, data);
  }
}

function propagateList({ op, operands, grad }: Node): void {
  const { length } = operands;
  if (values.length < length) [values, slopes] = [new Float64Array(2 * length), new Float64Array(2 * length)];
  for (let k = 0; k < length; k++) values[k] = operands[k]!.data;
  LIST_RULES[op]!.slopes(values, slopes);
  for (let k = 0; k < length; k++) if (operands[k]!.requiresGrad) operands[k]!.grad += grad * slopes[k]!;
}

/** Clears the gradients of a value and of all that it came from. @internal */
export function clear(root: Node): void {
  postorder(root, newWalk(), all, (node) => { node.grad = 0; });
}
