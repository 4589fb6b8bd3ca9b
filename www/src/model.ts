/** The Stanford bunny, scaled to height 1 and standing on the ground, and which of its vertices are held. */
import bunny from "bunny";

/** A mesh and its handles. */
export interface Model {
  /** Flat vertex positions at rest. */
  readonly positions: Float32Array<ArrayBuffer>;
  readonly triangles: Uint32Array<ArrayBuffer>;
  /** The held vertices: the base, which stays, then the tips of the ears, which follow the ball. */
  readonly held: Uint32Array;
  /** How many of `held` are the base's. */
  readonly baseCount: number;
  /** Where the ball is at rest: the middle of the ears' tips. */
  readonly top: readonly [number, number, number];
}

const BASE = 0.05;      // below this height a vertex is pinned
const TIPS = 0.86;      // above it, the ball moves it

export function loadBunny(): Model {
  const { positions: vertices, cells } = bunny;
  const range = (axis: 0 | 1 | 2) => {
    const values = vertices.map((vertex) => vertex[axis]);
    return { low: Math.min(...values), high: Math.max(...values) };
  };
  const [x, y, z] = [range(0), range(1), range(2)];
  const height = y.high - y.low;
  const origin = [(x.low + x.high) / 2, y.low, (z.low + z.high) / 2] as const;
  const positions = Float32Array.from(vertices.flatMap((vertex) => vertex.map((value, axis) => (value - origin[axis]!) / height)));
  const heightOf = (vertex: number) => positions[3 * vertex + 1]!;
  const all = Array.from(vertices, (_, vertex) => vertex);
  const base = all.filter((vertex) => heightOf(vertex) < BASE);
  const tips = all.filter((vertex) => heightOf(vertex) > TIPS);
  const middle = (axis: number) => tips.reduce((sum, vertex) => sum + positions[3 * vertex + axis]!, 0) / tips.length;
  return {
    positions,
    triangles: Uint32Array.from(cells.flat()),
    held: Uint32Array.from([...base, ...tips]),
    baseCount: base.length,
    top: [middle(0), middle(1), middle(2)],
  };
}
