// A sketch in the plane, held by fifteen kinds of constraints, each a few lines of values. Distances are signed and directions have
// length 1, so that residuals are lengths (or radians) and smooth at the solution.
import { nonlinearLeastSquares, V, Vec2 } from "leastwise/autograd";

const along = (line) => line.end.sub(line.start);
const direction = (line) => along(line).normalized;
const offset = (point, line) => Vec2.cross(direction(line), point.sub(line.start));
const both = (vector) => [vector.x, vector.y];
const middle = (a, b) => a.add(b).mul(0.5);
/** Sign of a distance as it is at the start, on which side a circle stays. */
const side = (distance) => (distance.data < 0 ? -1 : 1);

/** Residuals of a constraint, whose points, lines and circles are those of values. */
export const CONSTRAINTS = {
  coincident: ({ point1, point2 }) => both(point1.sub(point2)),
  midpoint: ({ point, line }) => both(point.sub(middle(line.start, line.end))),
  collinear: ({ line1, line2 }) => [offset(line2.start, line1), offset(line2.end, line1)],
  parallel: ({ line1, line2 }) => [Vec2.cross(direction(line1), direction(line2))],
  perpendicular: ({ line1, line2 }) => [Vec2.dot(direction(line1), direction(line2))],
  angle: ({ line1, line2, angleDegrees }) => {
    const [a, b] = [direction(line1), direction(line2)], turn = V.atan2(Vec2.cross(a, b), Vec2.dot(a, b));
    return [V.sub(V.mul(turn, side(turn)), (angleDegrees * Math.PI) / 180)];
  },
  "point-on-line": ({ point, line }) => [offset(point, line)],
  "point-on-circle": ({ point, circle }) => [V.sub(point.sub(circle.center).magnitude, circle.radius)],
  tangent: ({ line, circle }) => {
    const distance = offset(circle.center, line);
    return [V.sub(V.mul(distance, side(distance)), circle.radius)];
  },
  "radial-alignment": ({ point1, circle, point2 }) => [Vec2.cross(circle.center.sub(point1), point2.sub(point1).normalized)],
  "equal-length": ({ lines: [first, ...others] }) => others.map((line) => V.sub(along(line).magnitude, along(first).magnitude)),
  "equal-radius": ({ circles: [first, ...others] }) => others.map((circle) => V.sub(circle.radius, first.radius)),
  "circles-tangent": ({ circle1, circle2 }) => [V.sub(circle2.center.sub(circle1.center).magnitude, V.add(circle1.radius, circle2.radius))],
  concentric: ({ circle1, circle2 }) => both(circle1.center.sub(circle2.center)),
  symmetry: ({ point1, point2, symmetryLine }) => [offset(middle(point1, point2), symmetryLine), Vec2.dot(point2.sub(point1), direction(symmetryLine))],
};

/** Solves a project of points, lines, circles and constraints, whose numbers it changes. Unknowns: points that are not pinned, radii that are not fixed. */
export function solveSketch({ points, lines = [], circles = [], constraints = [] }, options = {}) {
  const params = [], of = new Map();
  const unknown = (value) => { const leaf = V.W(value); params.push(leaf); return leaf; };
  for (const point of points) of.set(point, point.pinned ? new Vec2(V.Param(point.x, "x"), V.Param(point.y, "y")) : new Vec2(unknown(point.x), unknown(point.y)));
  for (const line of lines) of.set(line, { start: of.get(line.start), end: of.get(line.end) });
  for (const circle of circles) of.set(circle, { center: of.get(circle.center), radius: circle.fixedRadius ? V.Param(circle.radius, "radius") : unknown(circle.radius) });
  const valued = (field) => (Array.isArray(field) ? field.map((item) => of.get(item)) : of.get(field) ?? field);
  const given = constraints.map(({ type, ...fields }) => [CONSTRAINTS[type], Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, valued(field)]))]);
  const residuals = () => [
    ...lines.flatMap((line) => {
      const d = along(of.get(line));
      return [
        ...(line.fixedLength === undefined ? [] : [V.sub(d.magnitude, line.fixedLength)]),
        ...(line.constraintType === "horizontal" ? [d.y] : line.constraintType === "vertical" ? [d.x] : []),
      ];
    }),
    ...given.flatMap(([build, fields]) => build(fields)),
  ];
  const result = nonlinearLeastSquares(params, residuals, { costTolerance: 1e-20, gradientTolerance: 1e-12, paramTolerance: 1e-12, ...options });
  for (const point of points) [point.x, point.y] = [of.get(point).x.data, of.get(point).y.data];
  for (const circle of circles) circle.radius = of.get(circle).radius.data;
  return { residual: Math.sqrt(result.finalCost), ...result };
}
