/** Residuals of each kind of constraint, as lengths. */
import { atan2, cos, sin } from "../functions.js";
import type { Scalar } from "../scalar.js";
import type { Vec2 } from "../vector.js";

/** What a constraint knows besides: the value that it asks for, on which side of a line (1 left, −1 right), and how long its second line began. */
export interface Asked { readonly value: Scalar; readonly side: Scalar; readonly length: Scalar }

/** A kind of constraint. @internal */
export interface Kind {
  readonly name: string;
  /** How many points and radii it is about. */
  readonly points: number;
  readonly radii: number;
  /** True if the kind takes a value, and true if that value may be negative. */
  readonly asks: boolean;
  readonly signed: boolean;
  residual(points: readonly Vec2[], radii: readonly Scalar[], asked: Asked): Scalar | Vec2 | readonly (Scalar | Vec2)[];
}

const kind = (name: string, points: number, radii: number, residual: Kind["residual"], value?: "length" | "angle"): Kind =>
  ({ name, points, radii, asks: value !== undefined, signed: value === "angle", residual });

/** How far p lies left of the line from a to b. */
const left = (p: Vec2, a: Vec2, b: Vec2): Scalar => b.sub(a).cross(p.sub(a)).div(b.sub(a).norm());

const direction = (a: Vec2, b: Vec2): Vec2 => b.sub(a).div(b.sub(a).norm());

/** @internal */
export const KINDS = {
  coincident: kind("coincident", 2, 0, ([p, q]) => p!.sub(q!)),
  midpoint: kind("midpoint", 3, 0, ([p, a, b]) => p!.sub(a!.add(b!).mul(0.5))),
  collinear: kind("collinear", 4, 0, ([a, b, c, d]) => [left(c!, a!, b!), left(d!, a!, b!)]),
  // Directions are compared, so that lines turn: what is proportional to their lengths is met by lines without any.
  parallel: kind("parallel", 4, 0, ([a, b, c, d], _, { length }) => direction(a!, b!).cross(direction(c!, d!)).mul(length)),
  perpendicular: kind("perpendicular", 4, 0, ([a, b, c, d], _, { length }) => direction(a!, b!).dot(direction(c!, d!)).mul(length)),
  // The angle that is left, as an arc: one solution, where a sine alone would have two.
  angle: kind("angle", 4, 0, ([a, b, c, d], _, { value, length }) => {
    const [p, q] = [b!.sub(a!), d!.sub(c!)];
    const [sine, cosine] = [p.cross(q), p.dot(q)];
    const [s, c_] = [sin(value), cos(value)];
    return atan2(sine.mul(c_).sub(cosine.mul(s)), cosine.mul(c_).add(sine.mul(s))).mul(length);
  }, "angle"),
  distance: kind("distance", 2, 0, ([p, q], _, { value }) => p!.sub(q!).norm().sub(value), "length"),
  distanceToLine: kind("distance to line", 3, 0, ([p, a, b], _, { value, side }) => left(p!, a!, b!).mul(side).sub(value), "length"),
  equalLength: kind("equal length", 4, 0, ([a, b, c, d]) => b!.sub(a!).norm().sub(d!.sub(c!).norm())),
  equalRadius: kind("equal radius", 0, 2, (_, [r, s]) => r!.sub(s!)),
  radius: kind("radius", 0, 1, (_, [r], { value }) => r!.sub(value), "length"),
  pointOnLine: kind("point on line", 3, 0, ([p, a, b]) => left(p!, a!, b!)),
  pointOnCircle: kind("point on circle", 2, 1, ([p, centre], [r]) => p!.sub(centre!).norm().sub(r!)),
  tangentToLine: kind("tangent to line", 3, 1, ([centre, a, b], [r], { side }) => left(centre!, a!, b!).mul(side).sub(r!)),
  tangentFromOutside: kind("tangent from outside", 2, 2, ([p, q], [r, s]) => p!.sub(q!).norm().sub(r!.add(s!))),
  tangentFromWithin: kind("tangent from within", 2, 2, ([p, q], [r, s]) => p!.sub(q!).norm().sub(r!.sub(s!))),
  concentric: kind("concentric", 2, 0, ([p, q]) => p!.sub(q!)),
  symmetric: kind("symmetric", 4, 0, ([p, q, a, b]) => [left(p!.add(q!).mul(0.5), a!, b!), q!.sub(p!).dot(b!.sub(a!)).div(b!.sub(a!).norm())]),
  horizontal: kind("horizontal", 2, 0, ([a, b]) => b!.y.sub(a!.y)),
  vertical: kind("vertical", 2, 0, ([a, b]) => b!.x.sub(a!.x)),
} satisfies Record<string, Kind>;
