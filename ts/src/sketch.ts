/** Sketches of points, lines, circles, arcs, ellipses and splines in the plane, held by constraints: solved, and diagnosed by name. */
import type { Engine } from "./engine.js";
import { LeastwiseError } from "./errors.js";
import { describe } from "./expression.js";
import { hasMethods } from "./options.js";
import { readJSON, type ReadSketch, type SketchJSON } from "./sketch/json.js";
import { SketchOf } from "./sketch/model.js";
import type { SketchOptions, SketchPlacement, SketchResult } from "./sketch/results.js";
import type { Drawing, SketchArc, SketchCircle, SketchEllipse, SketchGroup, SketchLine, SketchPoint, SketchSpline } from "./sketch/shapes.js";
import type { ReadPaths } from "./sketch/svg.js";

export type { ReadSketch, SketchJSON } from "./sketch/json.js";
export type { Dependency, SketchCounts, SketchDiagnosis, SketchOptions, SketchPlacement, SketchResult } from "./sketch/results.js";
export type { Drawing, Drawn, SketchArc, SketchCircle, SketchEllipse, SketchGroup, SketchLine, SketchPoint, SketchSpline } from "./sketch/shapes.js";
export type { ReadPaths } from "./sketch/svg.js";

/**
 * A constraint, by which it is removed or its value changed.
 *
 * @example
 * const s = sketch(lw), a = s.point(0, 0), b = s.point(2, 1);
 * const length: SketchConstraint = s.distance(a, b, 3);
 * length.value = 4;  // live
 */
export interface SketchConstraint {
  readonly name: string;
  readonly kind: string;
  /** The distance, radius, angle or ratio that it asks for; `undefined`, and not to be set, if it asks for none. */
  get value(): number | undefined;
  set value(value: number);
  remove(): void;
}

/**
 * Name of a constraint.
 *
 * @example
 * const s = sketch(lw), named: Named = { name: "length" };
 * s.distance(s.point(0, 0), s.point(2, 1), 3, named);
 */
export interface Named {
  /** Name in results and errors. @defaultValue kind and number, as `distance 3` */
  name?: string;
}

/**
 * A sketch. Every method that constrains takes a name for diagnoses; all lengths are in the units of the points. Where there are
 * several solutions, the one that moves points least is found, as far as it can be reached from where they are.
 *
 * @example
 * const s: Sketch = sketch(lw);
 * s.horizontal(s.line(s.point(0, 0), s.point(1, 0.2)));
 * await s.solve();
 */
export interface Sketch extends Disposable {
  point(x: number, y: number): SketchPoint;
  line(from: SketchPoint, to: SketchPoint, options?: Drawing): SketchLine;
  circle(centre: SketchPoint, radius: number, options?: Drawing): SketchCircle;
  /** An arc, counter-clockwise; its radius begins as the mean of the distances of its ends from the centre. */
  arc(centre: SketchPoint, from: SketchPoint, to: SketchPoint, options?: Drawing): SketchArc;
  /** An ellipse with one semi-axis from the centre to `vertex`; `radius` is the other one. */
  ellipse(centre: SketchPoint, vertex: SketchPoint, radius: number, options?: Drawing): SketchEllipse;
  /** A cubic B-spline of at least four control points. */
  spline(points: readonly SketchPoint[], options?: Drawing): SketchSpline;
  /** Names points, and those of lines, circles, arcs, ellipses and splines, to fix, free and move them together. */
  group(name: string, members: readonly (SketchPoint | SketchLine | SketchCircle | SketchEllipse | SketchSpline)[]): SketchGroup;
  /** Keeps a point where it is. */
  fix(point: SketchPoint): void;
  free(point: SketchPoint): void;
  /** Moves a point by hand. The next solve moves it on if constraints say so. */
  move(point: SketchPoint, x: number, y: number): void;
  /**
   * Asks the next solve to bring a point as near to (x, y) as constraints and fixed points allow; other points move as little as they
   * can. Degrees of freedom stay as they are, and nothing is built anew: for a pointer that drags.
   *
   * ```ts
   * canvas.onpointermove = async ({ offsetX, offsetY }) => { s.drag(corner, offsetX, offsetY); await s.solve(); };
   * ```
   */
  drag(point: SketchPoint, x: number, y: number): void;
  /** Frees what solving it took. */
  dispose(): void;
  coincident(a: SketchPoint, b: SketchPoint, options?: Named): SketchConstraint;
  midpoint(point: SketchPoint, line: SketchLine, options?: Named): SketchConstraint;
  /** Two lines on one line. */
  collinear(a: SketchLine, b: SketchLine, options?: Named): SketchConstraint;
  parallel(a: SketchLine, b: SketchLine, options?: Named): SketchConstraint;
  perpendicular(a: SketchLine, b: SketchLine, options?: Named): SketchConstraint;
  /** From line a to line b counter-clockwise, in radians. */
  angle(a: SketchLine, b: SketchLine, value: number, options?: Named): SketchConstraint;
  /** The angle from a to b equals the angle from c to d, both counter-clockwise. */
  equalAngle(a: SketchLine, b: SketchLine, c: SketchLine, d: SketchLine, options?: Named): SketchConstraint;
  /** Between two points, or of a point from a line on the side where it is. Not negative; between points 0 is as {@link coincident}. */
  distance(a: SketchPoint, b: SketchPoint | SketchLine, value: number, options?: Named): SketchConstraint;
  /** b.x − a.x, which may be negative. */
  horizontalDistance(a: SketchPoint, b: SketchPoint, value: number, options?: Named): SketchConstraint;
  /** b.y − a.y, which may be negative. */
  verticalDistance(a: SketchPoint, b: SketchPoint, value: number, options?: Named): SketchConstraint;
  equalLength(a: SketchLine, b: SketchLine, options?: Named): SketchConstraint;
  /** Length of a over length of b. Not negative. */
  ratio(a: SketchLine, b: SketchLine, value: number, options?: Named): SketchConstraint;
  equalRadius(a: SketchCircle, b: SketchCircle, options?: Named): SketchConstraint;
  /** Of a circle or arc, or the semi-axis of an ellipse that is not at its vertex. */
  radius(circle: SketchCircle | SketchEllipse, value: number, options?: Named): SketchConstraint;
  pointOnLine(point: SketchPoint, line: SketchLine, options?: Named): SketchConstraint;
  pointOnCircle(point: SketchPoint, circle: SketchCircle, options?: Named): SketchConstraint;
  pointOnEllipse(point: SketchPoint, ellipse: SketchEllipse, options?: Named): SketchConstraint;
  /** The parameter on the spline is one more unknown. */
  pointOnSpline(point: SketchPoint, spline: SketchSpline, options?: Named): SketchConstraint;
  /**
   * A circle or ellipse with a line, on the side where it is, or a circle with a circle: from within if one contains the other's centre, else from
   * outside. Where a point is on both, as an end of an arc or a line or by `pointOnCircle`, `pointOnLine`, `midpoint`, `collinear` and `coincident`,
   * made before or after, this is {@link tangentAt} that point. An ellipse has no such point: hold none of the line on it.
   */
  tangent(circle: SketchCircle | SketchEllipse, other: SketchLine | SketchCircle, options?: Named): SketchConstraint;
  /**
   * Two curves that pass through a point have one tangent there: lines, circles and arcs, and splines at their ends. That they pass
   * through it is not part of it, so degrees of freedom are right where {@link tangent} would be a double root.
   */
  tangentAt(point: SketchPoint, a: SketchLine | SketchCircle | SketchSpline, b: SketchLine | SketchCircle | SketchSpline, options?: Named): SketchConstraint;
  concentric(a: SketchCircle, b: SketchCircle, options?: Named): SketchConstraint;
  /** Two points about a line. */
  symmetric(a: SketchPoint, b: SketchPoint, line: SketchLine, options?: Named): SketchConstraint;
  horizontal(line: SketchLine, options?: Named): SketchConstraint;
  vertical(line: SketchLine, options?: Named): SketchConstraint;
  /**
   * Finds where everything goes by Levenberg–Marquardt on the constraints' residuals, with a weight on the movement that goes to 0, and a
   * second time from places nearby where that leaves something, since points in one place or on one line may have no way to go. Then
   * rows of the residuals' Jacobian that are combinations of others tell redundant constraints, and conflicting ones where the
   * residuals are not the same combination.
   */
  solve(options: SketchOptions & { diagnose: false }): Promise<SketchPlacement>;
  solve(options?: SketchOptions): Promise<SketchResult>;
  /** The sketch as plain data, which {@link sketchFromJSON} reads; `JSON.stringify(s)` calls it. */
  toJSON(): SketchJSON;
  /** Path data of SVG for all that is not construction geometry, with y downwards as SVG has it. */
  toSVG(): string;
  /**
   * Adds what path data of SVG draws: lines, arcs of circles, splines for all other curves. Points where segments meet are shared. y is
   * turned upwards. No constraints are added.
   *
   * @throws `invalid-option` for what is no path data
   */
  addSVG(path: string, options?: Drawing): ReadPaths;
}

/**
 * A sketch whose problems are solved by an engine, best by one in f64 (`init({ backend: "cpu" })`): digits decide what is redundant.
 *
 * @throws `invalid-option` unless `lw` is an engine
 * @example
 * const s = sketch(lw);
 * const a = s.point(0, 0), b = s.point(2, 1);
 * s.fix(a);
 * s.distance(a, b, 3);
 * console.log(await s.solve(), b.x, b.y);
 */
export function sketch(lw: Engine): Sketch {
  if (!hasMethods(lw, "problem")) throw new LeastwiseError("invalid-option", `sketch(lw): lw must be an engine, as init() makes one, not ${describe(lw)}`);
  return new SketchOf(lw);
}

/**
 * A sketch from what {@link Sketch.toJSON} gave, or its text, with lists of what is in it, in the order of the file.
 *
 * @throws `invalid-option` for what is no such data, naming the place
 * @example
 * const text = JSON.stringify(sketch(lw));
 * const { sketch: copy, points } = sketchFromJSON(lw, text);
 */
export function sketchFromJSON(lw: Engine, json: SketchJSON | string): ReadSketch {
  const made = sketch(lw) as SketchOf;
  return readJSON(made, json);
}
