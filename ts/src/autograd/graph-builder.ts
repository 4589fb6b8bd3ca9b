/** Signatures of graphs, as compiled sets group them. */
import { hashOf, Reader } from "./structure.js";
import { Value } from "./value.js";

/**
 * Signature of a graph: graphs of equal hashes have the same structure.
 *
 * @example
 * const { hash, leaves }: GraphSignature = new GraphBuilder().build(() => V.mul(V.W(2), 3)).signature;
 */
export interface GraphSignature {
  /** The structure as text: operations and places, without numbers. */
  readonly hash: string;
  /** Leaves, in the order of their first visit. */
  readonly leaves: readonly Value[];
  /** Index of a leaf among `leaves`. */
  readonly leafIndexMap: ReadonlyMap<Value, number>;
}

/**
 * Builder that says which structure a graph has. Leaves that are trainable, or among the known parameters, are variables; all
 * others are constants, whose numbers are no part of the signature.
 *
 * @example
 * const a = V.W(1), b = V.W(2), builder = new GraphBuilder([a, b]);
 * const [first, second] = [builder.build(() => V.sub(a, b)), builder.build(() => V.sub(b, a))];
 * console.log(first.signature.hash === second.signature.hash);  // true
 */
export class GraphBuilder {
  private readonly known: ReadonlySet<Value>;
  private last: Value | undefined;

  constructor(knownParams: readonly Value[] = []) { this.known = new Set(knownParams); }

  /** Runs a function that builds a graph. */
  build(build: () => Value): { output: Value; signature: GraphSignature } {
    const output = build();
    this.recordOp(output);
    return { output, signature: this.getCurrentSignature() };
  }

  /** Makes a value the one whose signature is asked for. */
  recordOp(value: Value): void { this.last = value; }

  /** Signature of the value that was built or recorded last; without one, that of an empty graph. */
  getCurrentSignature(): GraphSignature {
    const leafIndexMap = new Map<Value, number>(), number = (leaf: Value) => {
      if (!leafIndexMap.has(leaf)) leafIndexMap.set(leaf, leafIndexMap.size);
      return leafIndexMap.get(leaf)!;
    };
    const reader = new Reader({ parameter: (leaf) => (leaf.requiresGrad || this.known.has(leaf) ? number(leaf) : undefined), constant: number });
    if (this.last) reader.read(this.last);
    const { words } = reader;
    return { hash: `${hashOf(words).toString(16).padStart(8, "0")}:${words.join(",")}`, leaves: [...leafIndexMap.keys()], leafIndexMap };
  }
}
