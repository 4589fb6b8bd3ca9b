/** Residuals of each kind of constraint, as lengths. */
import { atan2, cos, sin, sqrt } from "../functions.js";
import type { Scalar } from "../scalar.js";
import { select } from "../expression.js";
import type { Vec2, Vec4 } from "../vector.js";

/**
 * Data of a constraint: the value that it asks for, the side of a line (1 left, −1 right), the lever of an angle (the length that
 * turns it into a movement), the factor of a product of two lines where that or distances stand for the angle, else 0, and of a spline the control points of its Bézier segment.
 *
 * @internal
 */
export interface Asked { readonly value: Scalar; readonly side: Scalar; readonly lever: Scalar; readonly product: Scalar; readonly segment: readonly Vec4[] }

/** Values that constraints ask for. @internal */
export type ValueKind = "length" | "coordinate" | "angle" | "ratio";

/** A kind of constraint. @internal */
export interface Kind {
  readonly name: string;
  /** How many points and scalars (radii, parameters) it is about. */
  readonly points: number;
  readonly scalars: number;
  readonly value: ValueKind | undefined;
  /** Pairs of points whose difference must have a direction, and pairs whose distance has a kink at 0. */
  readonly directions: readonly (readonly [number, number])[];
  readonly distances: readonly (readonly [number, number])[];
  /** True if the residual is an angle times the lever of its lines, which are `directions`. */
  readonly isArc: boolean;
  /** True if something else stands for that angle in the first minimisations, where `product` is above 0. */
  readonly isStaged: boolean;
  /** True if it is of a spline's segment. */
  readonly isOfSegment: boolean;
  residual(points: readonly Vec2[], scalars: readonly Scalar[], asked: Asked): Scalar | Vec2 | readonly (Scalar | Vec2)[];
}

type Pairs = readonly (readonly [number, number])[];
interface Properties { value?: ValueKind; directions?: Pairs; distances?: Pairs; isOfSegment?: boolean }

const LINE = [[1, 2]] as const, FIRST = [[0, 1]] as const, BOTH = [[0, 1], [2, 3]] as const;

const kind = (name: string, points: number, scalars: number, residual: Kind["residual"], { value, directions = [], distances = [], isOfSegment = false }: Properties = {}): Kind =>
  ({ name, points, scalars, value, directions, distances, isArc: false, isStaged: false, isOfSegment, residual });

/** An angle that is to be 0, of sine and cosine up to one factor, as an arc: its derivative does not vanish where the angle is large. */
const arc = (name: string, points: number, sides: (points: readonly Vec2[], value: Scalar) => readonly [sine: Scalar, cosine: Scalar], { value, isEither = false }: { value?: "angle"; isEither?: boolean } = {}): Kind => ({
  ...kind(name, points, 0, (all, _, asked) => {
    const [sine, cosine] = sides(all, asked.value), exact = atan2(sine, cosine).mul(asked.lever);
    // Of two directions the arc leads to the nearer one, and a product of vectors to the one that fits what else there is.
    return isEither ? select(asked.product.gt(0), sine.mul(asked.product), exact) : exact;
  }, { ...(value && { value }), directions: Array.from({ length: points / 2 }, (_, k) => [2 * k, 2 * k + 1] as const) }),
  isArc: true, isStaged: isEither,
});

/** |a|, with a derivative at 0. */
const size = (a: Scalar): Scalar => select(a.lt(0), a.neg(), a);

/** The angle between the normals of two curves at a point of both, as an arc, that is 0 on one side only; `apart` are the distances that it stands for, which lead there from afar. */
const contact = (name: string, scalars: number, apart: Kind["residual"], sides: (all: readonly Vec2[], side: Scalar) => readonly [sine: Scalar, cosine: Scalar], distances: Pairs = []): Kind => ({
  ...kind(name, 4, scalars, (all, radii, asked) => {
    const [sine, cosine] = sides(all, asked.side);
    return select(asked.product.gt(0), apart(all, radii, asked) as Scalar, atan2(sine, cosine).mul(asked.lever));
  }, { directions: BOTH, distances }),
  isArc: true, isStaged: true,
});

/** How far p lies left of the line from a to b. */
const left = (p: Vec2, a: Vec2, b: Vec2): Scalar => b.sub(a).cross(p.sub(a)).div(b.sub(a).norm());

/** Sine and cosine of the angle from one line to another, times the lines' lengths. */
const turn = ([a, b, c, d]: readonly Vec2[]): readonly [sine: Scalar, cosine: Scalar] => [b!.sub(a!).cross(d!.sub(c!)), b!.sub(a!).dot(d!.sub(c!))];
/** Sine and cosine of the difference of two angles. */
const difference = ([s, c]: readonly [Scalar, Scalar], [z, x]: readonly [Scalar, Scalar]): readonly [Scalar, Scalar] => [s.mul(x).sub(c.mul(z)), c.mul(x).add(s.mul(z))];

const EITHER = { isEither: true } as const;

/** @internal */
export const KINDS = {
  coincident: kind("coincident", 2, 0, ([p, q]) => p!.sub(q!)),
  midpoint: kind("midpoint", 3, 0, ([p, a, b]) => p!.sub(a!.add(b!).mul(0.5))),
  collinear: kind("collinear", 4, 0, ([a, b, c, d]) => [left(c!, a!, b!), left(d!, a!, b!)], { directions: FIRST }),
  // The nearer one of the two directions.
  parallel: arc("parallel", 4, (all) => { const [sine, cosine] = turn(all); return [sine, size(cosine)]; }, EITHER),
  perpendicular: arc("perpendicular", 4, (all) => { const [sine, cosine] = turn(all); return [cosine, size(sine)]; }, EITHER),
  tangentAlong: arc("tangent along", 4, (all) => { const [sine, cosine] = turn(all); return [sine, size(cosine)]; }, EITHER),
  tangentAcross: arc("tangent across", 4, (all) => { const [sine, cosine] = turn(all); return [cosine, size(sine)]; }, EITHER),
  angle: arc("angle", 4, (all, value) => difference(turn(all), [sin(value), cos(value)]), { value: "angle" }),
  equalAngle: arc("equal angle", 8, (all) => difference(turn(all.slice(4)), turn(all))),
  distance: kind("distance", 2, 0, ([p, q], _, { value }) => p!.sub(q!).norm().sub(value), { value: "length", distances: FIRST }),
  horizontalDistance: kind("horizontal distance", 2, 0, ([p, q], _, { value }) => q!.x.sub(p!.x).sub(value), { value: "coordinate" }),
  verticalDistance: kind("vertical distance", 2, 0, ([p, q], _, { value }) => q!.y.sub(p!.y).sub(value), { value: "coordinate" }),
  distanceToLine: kind("distance to line", 3, 0, ([p, a, b], _, { value, side }) => left(p!, a!, b!).mul(side).sub(value), { value: "length", directions: LINE }),
  equalLength: kind("equal length", 4, 0, ([a, b, c, d]) => b!.sub(a!).norm().sub(d!.sub(c!).norm()), { distances: BOTH }),
  ratio: kind("ratio", 4, 0, ([a, b, c, d], _, { value }) => b!.sub(a!).norm().sub(d!.sub(c!).norm().mul(value)), { value: "ratio", distances: BOTH }),
  equalRadius: kind("equal radius", 0, 2, (_, [r, s]) => r!.sub(s!)),
  radius: kind("radius", 0, 1, (_, [r], { value }) => r!.sub(value), { value: "length" }),
  pointOnLine: kind("point on line", 3, 0, ([p, a, b]) => left(p!, a!, b!), { directions: LINE }),
  pointOnCircle: kind("point on circle", 2, 1, ([p, centre], [r]) => p!.sub(centre!).norm().sub(r!), { distances: FIRST }),
  arc: kind("arc", 3, 1, ([centre, from, to], [r]) => [from!.sub(centre!).norm().sub(r!), to!.sub(centre!).norm().sub(r!)], { distances: [[0, 1], [0, 2]] }),
  tangentToLine: kind("tangent to line", 3, 1, ([centre, a, b], [r], { side }) => left(centre!, a!, b!).mul(side).sub(r!), { directions: LINE }),
  tangentFromOutside: kind("tangent from outside", 2, 2, ([p, q], [r, s]) => p!.sub(q!).norm().sub(r!.add(s!)), { distances: FIRST }),
  // Either may be the larger one.
  tangentFromWithin: kind("tangent from within", 2, 2, ([p, q], [r, s]) => p!.sub(q!).norm().sub(size(r!.sub(s!))), { distances: FIRST }),
  // At a point of both, the normal of the circle is across the line, with the centre on its side; normals of circles are opposite (side −1) or one (1).
  contactWithLine: contact("contact with line", 1, ([centre, , a, b], [r], { side }) => left(centre!, a!, b!).mul(side).sub(r!), (all, side) => { const [sine, cosine] = turn(all); return [cosine, sine.mul(side)]; }),
  contactOfCircles: contact("contact of circles", 2, ([p, , q], [r, s], { side }) => p!.sub(q!).norm().sub(size(r!.sub(s!.mul(side)))), (all, side) => { const [sine, cosine] = turn(all); return [sine, cosine.mul(side)]; }, [[0, 2]]),
  concentric: kind("concentric", 2, 0, ([p, q]) => p!.sub(q!)),
  symmetric: kind("symmetric", 4, 0, ([p, q, a, b]) => [left(p!.add(q!).mul(0.5), a!, b!), q!.sub(p!).dot(b!.sub(a!)).div(b!.sub(a!).norm())], { directions: [[2, 3]] }),
  horizontal: kind("horizontal", 2, 0, ([a, b]) => b!.y.sub(a!.y)),
  vertical: kind("vertical", 2, 0, ([a, b]) => b!.x.sub(a!.x)),
  // Sampson's distance: F / ‖∇F‖ of F = √((u/a)² + (v/b)²) − 1 in the ellipse's axes.
  pointOnEllipse: kind("point on ellipse", 3, 1, ([p, centre, vertex], [b]) => {
    const axis = vertex!.sub(centre!), a = axis.norm(), from = p!.sub(centre!);
    const u = from.dot(axis).div(a), v = axis.cross(from).div(a);
    const level = sqrt(u.div(a).square().add(v.div(b!).square()));
    const slope = sqrt(u.div(a.square()).square().add(v.div(b!.square()).square())).div(level);
    return level.sub(1).div(slope);
  }, { directions: [[1, 2]], distances: FIRST }),
  // The support function: a line with the unit normal n is √(a²n_u² + b²n_v²) from the centre.
  tangentToEllipse: kind("tangent to ellipse", 4, 1, ([centre, vertex, p, q], [b], { side }) => {
    const axis = vertex!.sub(centre!), along = q!.sub(p!), length = along.norm();
    const reach = sqrt(axis.cross(along).div(length).square().add(axis.dot(along).div(length).div(axis.norm()).mul(b!).square()));
    return left(centre!, p!, q!).mul(side).sub(reach);
  }, { directions: BOTH }),
  pointOnSpline: kind("point on spline", 5, 1, ([p, ...controls], [t], { segment }) => {
    const s = t!.neg().add(1), bernstein = [s.square().mul(s), s.square().mul(t!).mul(3), t!.square().mul(s).mul(3), t!.square().mul(t!)];
    const weightOf = (j: number) => bernstein.reduce<Scalar | undefined>((sum, b, k) => (sum ? sum.add(b.mul(segment[k]!.at(j))) : b.mul(segment[k]!.at(j))), undefined)!;
    return controls.reduce((rest, control, j) => rest.sub(control.mul(weightOf(j))), p!);
  }, { isOfSegment: true }),
} satisfies Record<string, Kind>;
