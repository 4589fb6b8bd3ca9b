/**
 * Structures: the shape of a residual's graph without its numbers. Residuals of one structure share a kernel, which
 * computes all of them; their leaves become tables of indices.
 */
import { LeastwiseError } from "../errors.js";
import { isFlat, Op } from "./rules.js";
import { newWalk } from "./sweep.js";
import type { Value } from "./value.js";

/** Words of leaves; an operation is its number, how many operands it has, and their places. */
const PARAMETER = -1, CONSTANT = -2;

/** Node of a structure that computes something. @internal */
export interface Step {
  readonly op: Op;
  /** Place of the result: places count the nodes, operands first. */
  readonly place: number;
  readonly operands: Int32Array;
  /** True for the operands that derivatives go to: they depend on a parameter, and the slope is not 0 everywhere. */
  readonly active: readonly boolean[];
  /** True if the second operand depends on something trainable. */
  readonly moves: boolean;
}

/** @internal */
export interface Structure {
  readonly words: Int32Array;
  readonly steps: readonly Step[];
  /** Places of the leaves, in order of their first visit, and which of them are parameters. */
  readonly leaves: Int32Array;
  readonly isParameter: readonly boolean[];
  /** Number of places. */
  readonly size: number;
  readonly root: number;
}

/** Numbers leaves, over all residuals of a set. @internal */
export interface Leaves {
  /** Index of a parameter, if it is one that gradients are taken with respect to. */
  parameter(leaf: Value): number | undefined;
  constant(leaf: Value): number;
}

/** Reads graphs into words; its arrays are used again for the next one. @internal */
export class Reader {
  /** The graph's words, and the indices of its leaves. */
  words: number[] = [];
  leaves: number[] = [];
  private nodes: Value[] = [];
  private next: number[] = [];
  private places: number[] = [];
  private size = 0;

  constructor(private readonly numbering: Leaves) {}

  /**
   * Reads a graph. A parameter is one leaf wherever it occurs; a constant is a leaf of its own at every occurrence, so that
   * equal numbers make no other structure than different ones.
   */
  read(root: Value): void {
    this.words = [];
    this.leaves = [];
    this.size = 0;
    const walk = newWalk(), { nodes, next, places } = this;
    nodes.length = next.length = places.length = 0;
    this.enter(root, walk);
    while (nodes.length > 0) {
      const top = nodes.length - 1, node = nodes[top]!, k = next[top]!;
      if (k < node.operands.length) {
        next[top] = k + 1;
        this.enter(node.operands[k]!, walk);
        continue;
      }
      nodes.pop();
      next.pop();
      const count = node.operands.length, first = places.length - count;
      this.words.push(node.op, count);
      for (let j = first; j < places.length; j++) this.words.push(places[j]!);
      places.length = first;
      node.place = this.size++;
      places.push(node.place);
    }
  }

  /** Puts a node's place on the stack, or the node on the path to be computed. */
  private enter(node: Value, walk: number): void {
    if (node.stamp === walk) {
      this.places.push(node.place);
      return;
    }
    if (node.op === Op.Leaf) {
      const parameter = this.numbering.parameter(node);
      this.words.push(parameter === undefined ? CONSTANT : PARAMETER);
      this.leaves.push(parameter ?? this.numbering.constant(node));
      const place = this.size++;
      this.places.push(place);
      if (parameter !== undefined) {
        node.stamp = walk;
        node.place = place;
      }
      return;
    }
    if (node.op === Op.Custom) {
      throw new LeastwiseError("tape", `the custom operation "${node.label}" can't be compiled: give the residuals as a function, or write it with the operations of V`);
    }
    node.stamp = walk;
    this.nodes.push(node);
    this.next.push(0);
  }
}

/** @internal */
export function structureOf(words: readonly number[]): Structure {
  const steps: Step[] = [], leaves: number[] = [], isParameter: boolean[] = [], moves: boolean[] = [], slopes: boolean[] = [];
  for (let at = 0; at < words.length;) {
    const word = words[at++]!, place = moves.length;
    if (word === PARAMETER || word === CONSTANT) {
      leaves.push(place);
      isParameter.push(word === PARAMETER);
      moves.push(word === PARAMETER);
      slopes.push(word === PARAMETER);
      continue;
    }
    const op = word as Op, count = words[at++]!, operands = new Int32Array(count), active = new Array<boolean>(count);
    let hasParameter = false, hasSlope = false;
    for (let k = 0; k < count; k++) {
      const operand = operands[k] = words[at++]!, isActive = active[k] = slopes[operand]! && !isFlat(op, k);
      hasParameter ||= moves[operand]!;
      hasSlope ||= isActive;
    }
    steps.push({ op, place, operands, active, moves: count > 1 && moves[operands[1]!]! });
    moves.push(hasParameter);
    slopes.push(hasSlope);
  }
  return { words: Int32Array.from(words), steps, leaves: Int32Array.from(leaves), isParameter, size: moves.length, root: moves.length - 1 };
}

/** FNV-1a over the words: equal hashes are compared word by word. @internal */
export function hashOf(words: readonly number[]): number {
  let hash = 0x811c9dc5;
  for (let k = 0; k < words.length; k++) hash = Math.imul(hash ^ words[k]!, 0x01000193);
  return hash >>> 0;
}

/** @internal */
export function hasWords({ words }: Structure, other: readonly number[]): boolean {
  if (words.length !== other.length) return false;
  for (let k = 0; k < words.length; k++) if (words[k] !== other[k]) return false;
  return true;
}
