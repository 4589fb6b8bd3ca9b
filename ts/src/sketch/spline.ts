/** Clamped uniform cubic B-splines: their segments as Bézier curves. */

const DEGREE = 3;

/** Number of segments. @internal */
export const segmentsOf = (controls: number): number => controls - DEGREE;

/** Knot k of a spline: 0 four times, 1, 2, …, and the number of segments four times. */
const knot = (k: number, controls: number): number => Math.min(Math.max(k - DEGREE, 0), segmentsOf(controls));

/**
 * Bézier control points of a segment in terms of the spline's control points `segment`, …, `segment + 3`: four rows of four
 * weights, by blossoming (Ramshaw 1989): the k-th is the blossom at k times the segment's end and 3 − k times its beginning.
 *
 * @internal
 */
export function bezierWeights(segment: number, controls: number): readonly (readonly number[])[] {
  return [0, 1, 2, 3].map((k) => {
    const at = [0, 1, 2].map((i) => segment + (i < DEGREE - k ? 0 : 1));
    return [0, 1, 2, 3].map((j) => blossom([0, 1, 2, 3].map((i) => (i === j ? 1 : 0)), at, segment, controls));
  });
}

/** De Boor's algorithm with another parameter in each round. */
function blossom(values: readonly number[], at: readonly number[], segment: number, controls: number): number {
  const points = [...values], last = segment + DEGREE;
  at.forEach((t, round) => {
    for (let j = DEGREE; j > round; j--) {
      const k = segment + j, [low, high] = [knot(k, controls), knot(k + DEGREE - round, controls)];
      const part = (t - low) / (high - low);
      points[j] = points[j - 1]! * (1 - part) + points[j]! * part;
    }
  });
  return points[last - segment]!;
}

/** Bézier control points of all segments. @internal */
export function beziersOf(controls: readonly (readonly [number, number])[]): (readonly [number, number])[][] {
  return Array.from({ length: segmentsOf(controls.length) }, (_, segment) => bezierWeights(segment, controls.length).map((weights) =>
    [0, 1].map((axis) => weights.reduce((sum, weight, j) => sum + weight * controls[segment + j]![axis]!, 0)) as unknown as readonly [number, number]));
}

/** Point of a Bézier curve. @internal */
export function bezierAt(points: readonly (readonly [number, number])[], t: number): readonly [number, number] {
  const s = 1 - t, weights = [s ** 3, 3 * s * s * t, 3 * s * t * t, t ** 3];
  return [0, 1].map((axis) => weights.reduce((sum, weight, k) => sum + weight * points[k]![axis]!, 0)) as unknown as readonly [number, number];
}

/** Segment and parameter of a spline's point nearest to a place: of 32 samples a segment, improved by golden sections. @internal */
export function nearestOn(controls: readonly (readonly [number, number])[], [x, y]: readonly [number, number]): { segment: number; t: number } {
  let best = { segment: 0, t: 0, far: Infinity };
  beziersOf(controls).forEach((points, segment) => {
    const far = (t: number): number => { const [px, py] = bezierAt(points, t); return Math.hypot(px - x, py - y); };
    let nearest = 0;
    for (let k = 1; k <= 32; k++) if (far(k / 32) < far(nearest / 32)) nearest = k;
    let [low, high] = [Math.max(0, (nearest - 1) / 32), Math.min(1, (nearest + 1) / 32)];
    for (let k = 0; k < 40; k++) {
      const [a, b] = [low + 0.381966 * (high - low), low + 0.618034 * (high - low)];
      if (far(a) < far(b)) high = b; else low = a;
    }
    const t = (low + high) / 2;
    if (far(t) < best.far) best = { segment, t, far: far(t) };
  });
  return best;
}
