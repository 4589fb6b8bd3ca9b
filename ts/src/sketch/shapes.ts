/** Geometry of a sketch, as its caller sees it. */

/**
 * A point of a sketch; x and y are where it is, which is where it was made until {@link Sketch.solve}. Neither can be assigned:
 * {@link Sketch.move} and {@link Sketch.drag} move points.
 *
 * @example
 * const p: SketchPoint = sketch(lw).point(1, 2);
 * console.log(p.x, p.y);  // where the last solve left it
 */
export interface SketchPoint { readonly x: number; readonly y: number }

/**
 * A line between two points; what holds it holds these.
 *
 * @example
 * const s = sketch(lw);
 * const line: SketchLine = s.line(s.point(0, 0), s.point(1, 0));
 */
export interface SketchLine extends Drawn { readonly from: SketchPoint; readonly to: SketchPoint }

/**
 * A circle.
 *
 * @example
 * const s = sketch(lw);
 * const wheel: SketchCircle = s.circle(s.point(0, 0), 2);
 */
export interface SketchCircle extends Drawn { readonly centre: SketchPoint; readonly radius: number }

/**
 * An arc, counter-clockwise from one point to another. It is a circle with two points on it, and constraints of circles take it.
 *
 * @example
 * const s = sketch(lw);
 * const quarter: SketchArc = s.arc(s.point(0, 0), s.point(1, 0), s.point(0, 1));
 */
export interface SketchArc extends SketchCircle { readonly from: SketchPoint; readonly to: SketchPoint }

/**
 * An ellipse: its centre, the end of one semi-axis, and the length of the other one.
 *
 * @example
 * const s = sketch(lw);
 * const ellipse: SketchEllipse = s.ellipse(s.point(0, 0), s.point(3, 0), 1);
 */
export interface SketchEllipse extends Drawn { readonly centre: SketchPoint; readonly vertex: SketchPoint; readonly radius: number }

/**
 * A cubic B-spline by its control points, with uniform knots, clamped: it begins at the first one and ends at the last one,
 * where the polygon of control points touches it. Four control points are a Bézier curve.
 *
 * @example
 * const s = sketch(lw);
 * const curve: SketchSpline = s.spline([s.point(0, 0), s.point(1, 1), s.point(2, 1), s.point(3, 0)]);
 */
export interface SketchSpline extends Drawn { readonly points: readonly SketchPoint[] }

/**
 * Geometry that is drawn, or only constructs other geometry: {@link Sketch.toSVG} leaves the latter out.
 *
 * @example
 * const s = sketch(lw);
 * const axis: Drawn = s.line(s.point(0, 0), s.point(1, 0), { construction: true });
 */
export interface Drawn { readonly construction: boolean }

/**
 * How geometry is made.
 *
 * @example
 * const s = sketch(lw), drawing: Drawing = { construction: true };
 * s.circle(s.point(0, 0), 2, drawing);
 */
export interface Drawing {
  /** True for geometry that only constructs other geometry. @defaultValue false */
  construction?: boolean;
}

/**
 * A group: points that are fixed, freed and moved together, under a name.
 *
 * @example
 * const s = sketch(lw), line = s.line(s.point(0, 0), s.point(1, 0));
 * const part: SketchGroup = s.group("part", [line]);
 * part.move(2, 0);
 */
export interface SketchGroup {
  readonly name: string;
  /** Points of the members, each once. */
  readonly points: readonly SketchPoint[];
  /** Keeps all points where they are. */
  fix(): void;
  free(): void;
  /** Translates all points, as {@link Sketch.move} does one. */
  move(dx: number, dy: number): void;
}
