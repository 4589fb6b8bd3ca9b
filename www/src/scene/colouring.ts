/** Colours of vertices by numbers: cost and strain of the terms, or curvature. */
import { edgeLengths, edges, meanCurvature, type Mesh } from "leastwise/mesh";
import type { Made } from "../shell/code.js";

export type Colouring = "plain" | "cost" | "strain" | "curvature";

/** Cost of every vertex: that of the instances that name it, shared among their vertices. Read by `term.evaluate`. */
export async function costs(made: readonly Made[], count: number): Promise<Float64Array> {
  const sums = new Float64Array(count);
  for (const { term, over, weight } of made) {
    if (!term.enabled) continue;
    const { rows, residuals } = await term.evaluate();
    const columns = over ? over.length / term.count : 1;
    if (!over && term.count !== count) continue;
    for (let k = 0; k < term.count; k++) {
      let squares = 0;
      for (let row = 0; row < rows; row++) squares += residuals[k * rows + row]! ** 2;
      const share = (0.5 * squares * (typeof weight === "number" ? weight : weight[k]!)) / columns;
      for (let column = 0; column < columns; column++) {
        const vertex = over ? over[k * columns + column]! : k;
        if (vertex < count) sums[vertex]! += share;
      }
    }
  }
  return sums;
}

/** Stretch of a vertex' edges: the mean of now over rest, less 1. */
export function strains(rest: Mesh, now: ArrayLike<number>): Float64Array {
  const table = edges(rest.triangles), before = edgeLengths(rest, table), after = edgeLengths({ positions: now, triangles: rest.triangles }, table);
  const sums = new Float64Array(now.length / 3), counts = new Float64Array(now.length / 3);
  before.forEach((length, k) => {
    for (const vertex of [table[2 * k]!, table[2 * k + 1]!]) {
      sums[vertex]! += after[k]! / length - 1;
      counts[vertex]!++;
    }
  });
  return sums.map((sum, vertex) => sum / Math.max(1, counts[vertex]!));
}

export const curvatures = (mesh: Mesh, now: ArrayLike<number>): Float64Array => meanCurvature({ positions: now, triangles: mesh.triangles }).values as Float64Array;

/** The value that all but so many of the vertices are below. */
function scaleOf(values: Float64Array, share = 0.98): number {
  const sorted = values.map(Math.abs).sort();
  return sorted[Math.floor(share * (sorted.length - 1))]! || 1;
}

/** Heat from 0 to 1 of what is not negative. */
export function heat(values: Float64Array): Float32Array {
  const scale = scaleOf(values);
  return Float32Array.from(values, (value) => Math.min(1, Math.max(0, value / scale)) ** 0.5);
}

/** Colour of a heat, from white over yellow to red; linear. */
export const glow = (t: number): readonly [number, number, number] => [0.78, 0.72 * (1 - t) ** 1.2 + 0.03, 0.66 * (1 - t) ** 2.5 + 0.02];

/** Colours of the values' heats. */
export function hot(values: Float64Array, out: Float32Array): void { heat(values).forEach((t, v) => out.set(glow(t), 3 * v)); }

/** Blue for negative values, red for positive ones. */
export function diverging(values: Float64Array, out: Float32Array, scale = scaleOf(values)): void {
  values.forEach((value, v) => {
    const t = Math.max(-1, Math.min(1, value / scale)), fade = 1 - Math.abs(t);
    out.set(t > 0 ? [0.75, 0.1 + 0.62 * fade, 0.06 + 0.6 * fade] : [0.07 + 0.65 * fade, 0.2 + 0.52 * fade, 0.72], 3 * v);
  });
}
