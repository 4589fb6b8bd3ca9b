/** Pictures of the playground, below the program. */
declare module "playground" {
  /** Points of a line: pairs of numbers, or numbers alone, which stand at 0, 1, 2, … */
  type Points = Iterable<ArrayLike<number>> | ArrayLike<number>;
  interface Axes {
    title?: string;
    /** Name of the axis, which is logarithmic with `logX`. */
    x?: string;
    y?: string;
    logX?: boolean;
    logY?: boolean;
    /** The same scale on both axes. Default: false. */
    equal?: boolean;
  }
  /** A plot of lines, by name; `{ dots }` are points that no line joins. */
  export function plot(lines: Record<string, Points | { readonly dots: Points }>, axes?: Axes): void;
  /** A shaded mesh: three coordinates a vertex, three vertices a triangle. */
  export function mesh(positions: ArrayLike<number>, triangles: ArrayLike<number>, view?: { title?: string; /** Radians about the upright axis. Default: 0.6. */ turn?: number; /** Radians. Default: 0.5. */ tilt?: number; /** Upright axis: 1 is y, 2 is z. Default: 1. */ up?: 1 | 2 }): void;
}

declare module "node:assert/strict" {
  interface Assert {
    (value: unknown, message?: string | Error): asserts value;
    ok(value: unknown, message?: string | Error): asserts value;
    equal(actual: unknown, expected: unknown, message?: string | Error): void;
    deepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
  }
  const assert: Assert;
  export default assert;
}
