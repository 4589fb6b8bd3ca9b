// Energies of developable surfaces, one vertex at a time (after Stein, Grinspun & Crane 2018): each is a function of a star's faces,
// and a sum over vertices is minimised by `lbfgs`, as a function or compiled.
import { Geometry, V, Vec3 } from "leastwise/autograd";

/** What energies see of a vertex: unit normals, angles at the vertex and areas of the faces around it. */
export function starOf(points, faces, star, vertex) {
  return star.map((face) => {
    // The vertex comes first in every face, so that stars of one orientation have one structure.
    const at = faces[face].indexOf(vertex), [a, b, c] = [0, 1, 2].map((k) => points[faces[face][(at + k) % 3]]);
    const normal = Vec3.cross(b.sub(a), c.sub(a)), size = normal.magnitude;
    return { normal: normal.div(size), area: V.mul(size, 0.5), angle: Geometry.interiorAngle(c, a, b) };
  });
}

const halves = (star) => [star.slice(0, Math.floor(star.length / 2)), star.slice(Math.floor(star.length / 2))];
const meanNormal = (part) => Geometry.average(part.map(({ normal }) => normal));

/** The mean of |N − n̄|² over each half of the star. */
export function bimodalVariance(star) {
  return V.sum(halves(star).filter((part) => part.length > 1).map((part) => {
    const mean = meanNormal(part);
    return V.mean(part.map(({ normal }) => Vec3.sqrDistance(normal, mean)));
  }));
}

/** The mean of 1 − cos of the angle to the mean normal, over a part. */
function alignment(part) {
  const mean = meanNormal(part).normalized;
  return V.mean(part.map(({ normal }) => V.sub(1, V.clamp(Vec3.dot(normal, mean), -1, 1))));
}

/** The alignment of each half of the star. */
export function bimodalAlignment(star) {
  return V.sum(halves(star).filter((part) => part.length > 1).map(alignment));
}

/** The alignment of the two arcs between the two largest angles of consecutive normals, which are found when the graph is built. */
export function ridge(star) {
  const { length } = star, angles = star.map(({ normal }, k) => Vec3.angleBetween(normal, star[(k + 1) % length].normal).data);
  const order = angles.map((_, k) => k).sort((a, b) => angles[b] - angles[a] || a - b), [first, second] = [order[0], order[1]].sort((a, b) => a - b);
  const arcs = [star.slice(first + 1, second + 1), [...star.slice(second + 1), ...star.slice(0, first + 1)]];
  return V.sum(arcs.map((arc) => (arc.length === 1 ? V.C(1) : alignment(arc))));
}

/** E^P: the least Σ|N − n̄|² over all ways to cut the star into two arcs. */
export function partition(star) {
  const { length } = star, distances = star.map(({ normal }, i) => star.map(({ normal: other }, j) => (i < j ? Vec3.sqrDistance(normal, other) : undefined)));
  // Σ|N − n̄|² is Σ over pairs of |N − N′|², over the number of faces.
  const spread = (faces) => V.div(V.sum(faces.flatMap((i) => faces.flatMap((j) => (i < j ? [distances[i][j]] : [])))), faces.length);
  const costs = [];
  for (let from = 0; from < length; from++) {
    for (let to = from + 1; to < length; to++) {
      const inside = star.map((_, k) => k).filter((k) => k >= from && k < to), outside = star.map((_, k) => k).filter((k) => k < from || k >= to);
      costs.push(V.add(spread(inside), spread(outside)));
    }
  }
  return costs.reduce((least, cost) => V.min(least, cost));
}

/** E^λ: the covariance of normals in the tangent plane; its smaller eigenvalue, where the one along the vertex normal, always 0, is dropped. */
export function tangentCovariance(star) {
  const vertexNormal = star.map(({ normal, area }) => normal.mul(area)).reduce((sum, part) => sum.add(part)).normalized;
  const tangents = star.map(({ normal }) => {
    const cosine = Vec3.dot(vertexNormal, normal), across = normal.sub(vertexNormal.mul(cosine)), sine = across.magnitude;
    // The angle over its sine is 1 where normals agree.
    return across.mul(V.ifThenElse(V.gt(sine, 1e-8), V.div(V.atan2(sine, cosine), V.max(sine, 1e-8)), 1));
  });
  const entry = (of) => V.sum(tangents.map((w, k) => V.mul(star[k].angle, of(w))));
  const [xx, yy, zz] = [entry(({ x }) => V.square(x)), entry(({ y }) => V.square(y)), entry(({ z }) => V.square(z))];
  const [xy, xz, yz] = [entry(({ x, y }) => V.mul(x, y)), entry(({ x, z }) => V.mul(x, z)), entry(({ y, z }) => V.mul(y, z))];
  // The matrix has rank two: its eigenvalues have the sum of the diagonal, and the product of the principal minors.
  const half = V.mul(V.sum([xx, yy, zz]), 0.5), product = V.sum([V.sub(V.mul(xx, yy), V.square(xy)), V.sub(V.mul(xx, zz), V.square(xz)), V.sub(V.mul(yy, zz), V.square(yz))]);
  const larger = V.add(half, V.sqrt(V.max(V.sub(V.square(half), product), 0)));
  return V.div(product, V.max(larger, 1e-12));
}

/** How far normals are from the plane across one common direction, which is a mean over pairs. */
export function planeAlignment(star) {
  const axes = star.flatMap((a, i) => star.slice(i + 1).map((b) => {
    const axis = Vec3.cross(a.normal, b.normal), weight = V.mul(V.mul(a.angle, b.angle), V.sub(1, Vec3.dot(a.normal, b.normal)));
    return axis.mul(V.div(weight, V.max(axis.magnitude, 1e-9)));
  }));
  const u = axes.reduce((sum, axis) => sum.add(axis)).normalized;
  return V.div(V.sum(star.map(({ normal, angle }) => V.mul(angle, V.square(Vec3.dot(u, normal))))), V.sum(star.map(({ angle }) => angle)));
}

/** The energies of all vertices, from the coordinates of their points. */
export function energies(energy, faces, stars, coordinates) {
  const points = Array.from({ length: coordinates.length / 3 }, (_, k) => new Vec3(coordinates[3 * k], coordinates[3 * k + 1], coordinates[3 * k + 2]));
  return stars.flatMap((star, vertex) => (star.length < 2 || star.length === 3 ? [] : [energy(starOf(points, faces, star, vertex))]));
}
