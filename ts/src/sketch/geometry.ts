/** Geometry that a sketch has made: places in flat lists, and the objects by which its caller knows them. */
import { LeastwiseError } from "../errors.js";
import { describe } from "../expression.js";
import { shownValue } from "../instruction.js";
import type { Drawn, SketchArc, SketchCircle, SketchEllipse, SketchLine, SketchPoint, SketchSpline } from "./shapes.js";

/** Indices of points and scalars that something consists of. @internal */
export interface Parts { readonly points: readonly number[]; readonly scalar?: number }

/** Types of geometry, by name. @internal */
export interface Shapes { point: SketchPoint; line: SketchLine; circle: SketchCircle; arc: SketchArc; ellipse: SketchEllipse; spline: SketchSpline }
/** @internal */
export type ShapeName = keyof Shapes;

/** A shape that was made, in the order of making. @internal */
export interface MadeShape { readonly shape: ShapeName; readonly object: object; readonly parts: Parts; readonly construction: boolean }

const refuse = (message: string): never => { throw new LeastwiseError("invalid-option", message); };

/** @internal */
export class Geometry {
  /** x and y of each point. */
  readonly places: number[] = [];
  readonly fixed: boolean[] = [];
  /** Radii, and parameters of points on splines. */
  readonly scalars: number[] = [];
  readonly isParameter: boolean[] = [];
  readonly points: SketchPoint[] = [];
  /** Lines, circles, arcs, ellipses and splines. */
  readonly shapes: MadeShape[] = [];
  /** Nothing of anything else is looked at. */
  readonly #made = new WeakMap<object, { readonly shape: ShapeName; readonly parts: Parts }>();

  point(x: number, y: number): SketchPoint {
    if (!(Number.isFinite(x) && Number.isFinite(y))) refuse(`point(${shownValue(x)}, ${shownValue(y)}): two finite numbers`);
    const index = this.points.length, { places } = this, point = {} as SketchPoint;
    places.push(x, y);
    for (const [k, axis] of ["x", "y"].entries()) {
      Object.defineProperty(point, axis, {
        enumerable: true, get: () => places[2 * index + k]!,
        set: (value: unknown) => refuse(`point.${axis} = ${shownValue(value)}: a point is moved by move(point, x, y) or drag(point, x, y)`),
      });
    }
    this.fixed.push(false);
    this.points.push(point);
    this.#made.set(point, { shape: "point", parts: { points: [index] } });
    return Object.freeze(point);
  }

  /** A radius, or another scalar to solve for. */
  scalar(value: number, isParameter = false): number {
    this.isParameter.push(isParameter);
    return this.scalars.push(value) - 1;
  }

  /** A shape of these parts: an object of these properties, and `radius` if it has one. */
  shape<S extends ShapeName>(shape: S, parts: Parts, properties: Partial<Shapes[S]>, { construction }: Drawn): Shapes[S] {
    const object = { ...properties, construction }, { scalars } = this, { scalar } = parts;
    if (scalar !== undefined) {
      Object.defineProperty(object, "radius", {
        enumerable: true, get: () => scalars[scalar]!,
        set: (value: unknown) => refuse(`${shape}.radius = ${shownValue(value)}: a radius is asked for by radius(${shape}, value)`),
      });
    }
    Object.freeze(object);
    this.#made.set(object, { shape, parts });
    this.shapes.push({ shape, object, parts, construction });
    return object as unknown as Shapes[S];
  }

  /** True if something is of this sketch, and one of these shapes. */
  is(given: unknown, ...shapes: readonly ShapeName[]): boolean {
    const made = typeof given === "object" && given !== null ? this.#made.get(given) : undefined;
    return made !== undefined && shapes.includes(made.shape);
  }

  /** Parts of something of this sketch that has one of these shapes; refuses anything else. */
  parts(method: string, given: unknown, ...shapes: readonly ShapeName[]): Parts {
    if (!this.is(given, ...shapes)) {
      const [first, ...others] = shapes.filter((shape) => shape !== "arc" || !shapes.includes("circle"));
      refuse(`${method}: ${/^[aeiou]/.test(first!) ? "an" : "a"} ${[first, ...others].join(" or ")} of this sketch, not ${describe(given)}`);
    }
    return this.#made.get(given as object)!.parts;
  }

  indexOf(method: string, given: unknown): number { return this.parts(method, given, "point").points[0]!; }

  x(point: number): number { return this.places[2 * point]!; }
  y(point: number): number { return this.places[2 * point + 1]!; }
  apart(a: number, b: number): number { return Math.hypot(this.x(a) - this.x(b), this.y(a) - this.y(b)); }

  move(point: number, x: number, y: number): void { [this.places[2 * point], this.places[2 * point + 1]] = [x, y]; }

  /** Corners of the box around points and circles. */
  box(): { readonly low: readonly [number, number]; readonly high: readonly [number, number] } {
    const low: [number, number] = [Infinity, Infinity], high: [number, number] = [-Infinity, -Infinity];
    const add = (x: number, y: number, reach: number): void => {
      [low[0], low[1], high[0], high[1]] = [Math.min(low[0], x - reach), Math.min(low[1], y - reach), Math.max(high[0], x + reach), Math.max(high[1], y + reach)];
    };
    this.points.forEach((_, point) => add(this.x(point), this.y(point), 0));
    for (const { parts } of this.shapes) if (parts.scalar !== undefined) add(this.x(parts.points[0]!), this.y(parts.points[0]!), this.scalars[parts.scalar]!);
    return { low, high };
  }
}
