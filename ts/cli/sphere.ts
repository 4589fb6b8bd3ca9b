/** A sphere that is pulled and turned at its top and held at its bottom, as rigid as possible between: the problem of `demo` and `doctor`. */
import { column, rotateXYZ, type Engine, type Report } from "leastwise";
import { edges } from "leastwise/mesh";

export interface Sphere {
  readonly rest: Float64Array;
  readonly triangles: Uint32Array;
  /** Vertices that are held, and where. */
  readonly handles: Uint32Array;
  readonly targets: Float64Array;
}

export interface Bent { readonly report: Report; readonly positions: ArrayLike<number> }

/** Share of the height, at either end, that is held; how far the top is lifted, in radii, and turned, in radians. */
const HELD = 0.12, LIFT = 0.9, TURN = 1.2;

/** A sphere of 10 · 4ⁿ + 2 vertices. */
export function sphere(subdivisions: number): Sphere {
  const golden = (1 + Math.sqrt(5)) / 2;
  const points = [[-1, golden, 0], [1, golden, 0], [-1, -golden, 0], [1, -golden, 0], [0, -1, golden], [0, 1, golden], [0, -1, -golden], [0, 1, -golden], [golden, 0, -1], [golden, 0, 1], [-golden, 0, -1], [-golden, 0, 1]].map(unit);
  let faces: readonly Triple[] = [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6], [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1]];
  for (let n = 0; n < subdivisions; n++) {
    const middles = new Map<string, number>();
    const middle = (a: number, b: number) => {
      const key = `${Math.min(a, b)} ${Math.max(a, b)}`;
      const known = middles.get(key);
      if (known !== undefined) return known;
      middles.set(key, points.length);
      return points.push(unit(points[a]!.map((value, axis) => value + points[b]![axis]!))) - 1;
    };
    faces = faces.flatMap(([a, b, c]): Triple[] => {
      const [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
      return [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]];
    });
  }
  const held = [...points.keys()].filter((i) => Math.abs(points[i]![1]!) > 1 - 2 * HELD);
  const targets = held.flatMap((i) => {
    const [x, y, z] = points[i] as unknown as Triple;
    return y < 0 ? [x, y, z] : [Math.cos(TURN) * x + Math.sin(TURN) * z, y + LIFT, Math.cos(TURN) * z - Math.sin(TURN) * x];
  });
  return { rest: Float64Array.from(points.flat()), triangles: Uint32Array.from(faces.flat()), handles: Uint32Array.from(held), targets: Float64Array.from(targets) };
}

type Triple = readonly [number, number, number];

function unit(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Solves it, until a step lowers the cost by less than this share of it. */
export async function bend(lw: Engine, { rest, triangles, handles, targets }: Sphere, costTolerance: number, signal?: AbortSignal): Promise<Bent> {
  using problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values: rest });
  const turn = problem.variables("rotation", { shape: 3, values: new Float64Array(rest.length) });
  const still = problem.constants("rest", { shape: 3, values: rest });
  problem.residuals("rigid", { over: edges(triangles, { directed: true }), of: [x, x, turn.at(0), still.at(0), still.at(1)] },
    ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
  problem.residuals("held", { of: [x.at(handles)], data: { target: column(targets, 3) }, weight: 5 }, ([p], { target }) => p.sub(target));
  const report = await problem.solve({ costTolerance, maxIterations: 200, ...(signal && { signal }) });
  return { report, positions: await x.read() };
}
