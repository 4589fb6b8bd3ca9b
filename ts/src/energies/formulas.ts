/**
 * Formulas: what one instance of every energy computes, as traced functions to use, to read and to copy. Arguments are the slots
 * and the data of the instance, results a residual r (cost ½w‖r‖²) or an energy E (cost wE). The helpers of `leastwise/energies`
 * add index tables, data and weights.
 */
import { clamp, select } from "../choice.js";
import { log, reciprocal, sqrt } from "../functions.js";
import { cotangent, dihedralAngle, eigenSymmetric, triangleArea, triangleNormal } from "../geometry.js";
import { max, mean, min, sum } from "../lists.js";
import { mat3, type Mat3 } from "../matrix.js";
import type { Quat } from "../quaternion.js";
import type { Num, Scalar } from "../scalar.js";
import { angleBetween, vec, vector, type Vec, type Vec2, type Vec3, type Vec4 } from "../vector.js";

// ── deformation ──

/**
 * As rigid as possible, for a directed edge (Sorkine & Alexa 2007): a − b − R r, with the rotation R of a and the edge r at rest.
 */
export function arap([a, b, rotation]: readonly [Vec3, Vec3, Quat], { rest }: { readonly rest: Vec3 }): Vec3 {
  return a.sub(b).sub(rotation.rotate(rest));
}

/** Length of an edge: ‖a − b‖ − ℓ. */
export function edgeLength([a, b]: readonly [Vec<number>, Vec<number>], { length }: { readonly length: Num }): Scalar {
  return a.sub(b).norm().sub(length);
}

/** Area of a triangle in space: A − A₀. */
export function area([p, q, r]: readonly [Vec3, Vec3, Vec3], { area }: { readonly area: Num }): Scalar {
  return triangleArea(p, q, r).sub(area);
}

// ── deformation gradients: `inverse` is a row of triangleFrames(mesh) ──

/** Columns of F = (q − p, r − p) · inverse, the gradient of the map from a triangle at rest to p, q, r. */
export function gradient<V extends Vec<number>>(p: V, q: V, r: V, inverse: Vec4): readonly [V, V] {
  const [e, f] = [q.sub(p), r.sub(p)];
  return [e.mul(inverse.x).add(f.mul(inverse.z)) as V, e.mul(inverse.y).add(f.mul(inverse.w)) as V];
}

type InPlane = readonly [Vec2, Vec2, Vec2];
type InSpace = readonly [Vec3, Vec3, Vec3];
interface Inverse { readonly inverse: Vec4 }

/**
 * Symmetric Dirichlet energy (Smith & Schaefer 2015): ‖F‖² + ‖F⁻¹‖² = ‖F‖²(1 + 1/det²F). 4 for an isometry, the least; undefined
 * where the triangle is turned over, so that no step leads there.
 */
export function symmetricDirichlet([p, q, r]: InPlane, { inverse }: Inverse): Scalar {
  const [u, v] = gradient(p, q, r, inverse), det = u.cross(v);
  return select(det.gt(0), u.normSq().add(v.normSq()).mul(reciprocal(det.square()).add(1)), log(det));
}

/** MIPS (Hormann & Greiner 2000): ‖F‖²/det F = σ₁/σ₂ + σ₂/σ₁. 2 for a similarity, the least; undefined where the triangle is turned over. */
export function mips([p, q, r]: InPlane, { inverse }: Inverse): Scalar {
  const [u, v] = gradient(p, q, r, inverse), det = u.cross(v);
  return select(det.gt(0), u.normSq().add(v.normSq()).div(det), log(det));
}

/** LSCM (Lévy, Petitjean, Ray & Maillot 2002): the rows u_x − v_y and u_y + v_x of F, which vanish for a similarity. */
export function lscm([p, q, r]: InPlane, { inverse }: Inverse): Vec2 {
  const [x, y] = gradient(p, q, r, inverse);
  return vec(x.x.sub(y.y), y.x.add(x.y));
}

/** Stretch (Baraff & Witkin 1998): ‖w_u‖ − b_u and ‖w_v‖ − b_v of the columns of F. b: wanted stretch along both directions. */
export function stretch([p, q, r]: InSpace, { inverse, wanted }: Inverse & { readonly wanted: Vec2 }): Vec2 {
  const [u, v] = gradient(p, q, r, inverse);
  return vec(u.norm(), v.norm()).sub(wanted);
}

/** Shear (Baraff & Witkin 1998): w_u · w_v of the columns of F. */
export function shear([p, q, r]: InSpace, { inverse }: Inverse): Scalar {
  const [u, v] = gradient(p, q, r, inverse);
  return u.dot(v);
}

/** Lamé parameters λ and μ. */
interface Lame { readonly lambda: Num; readonly mu: Num }

/** St. Venant–Kirchhoff membrane: ½λ(tr G)² + μ tr(G²) with Green's strain G = ½(FᵀF − I). */
export function stVenantKirchhoff([p, q, r]: InSpace, { inverse, lambda, mu }: Inverse & Lame): Scalar {
  const [u, v] = gradient(p, q, r, inverse);
  const [xx, yy, xy] = [u.normSq().sub(1).div(2), v.normSq().sub(1).div(2), u.dot(v).div(2)];
  const squares = xx.square().add(yy.square()).add(xy.square().mul(2));
  return xx.add(yy).square().mul(lambda).div(2).add(squares.mul(mu));
}

/**
 * Neo-Hookean membrane (Bonet & Wood 2008): ½μ(‖F‖² − 2 − 2 ln J) + ½λ(ln J)², J = √det(FᵀF) being the area over that at rest. Infinite
 * for a triangle without area.
 */
export function neoHookean([p, q, r]: InSpace, { inverse, lambda, mu }: Inverse & Lame): Scalar {
  const [u, v] = gradient(p, q, r, inverse), logJ = log(u.cross(v).normSq()).div(2);
  return u.normSq().add(v.normSq()).sub(2).sub(logJ.mul(2)).mul(mu).div(2).add(logJ.square().mul(lambda).div(2));
}

/** Discrete shells, bending (Grinspun, Hirani, Desbrun & Schröder 2003): θ − θ₀ of a hinge abc, dcb. */
export function bending([a, b, c, d]: readonly [Vec3, Vec3, Vec3, Vec3], { angle }: { readonly angle: Num }): Scalar {
  return dihedralAngle(a, b, c, d).sub(angle);
}

// ── fairing ──

/** Dirichlet energy of an edge: a − b, weighted by (cot α + cot β)/2 (Pinkall & Polthier 1993). */
export function dirichlet([a, b]: readonly [Vec<number>, Vec<number>]): Vec<number> {
  return a.sub(b);
}

/** Laplacian of a vertex with fixed weights: Σ wⱼ (xⱼ − x). */
export function laplacian([x, neighbours]: readonly [Vec<number>, readonly Vec<number>[]], { weights }: { readonly weights: readonly Scalar[] }): Vec<number> {
  return sum(neighbours.map((other, k) => other.sub(x).mul(weights[k]!)));
}

/** A vertex and its fan: corner k of its faces is (x, next[k], previous[k]). */
type Fan = readonly [x: Vec3, next: readonly Vec3[], previous: readonly Vec3[]];

/**
 * Willmore energy of a vertex inside: ½‖r‖² = H²A with r = S/√(8A), S = Σ (cot α + cot β)(x − xⱼ) = 4AHn (Meyer, Desbrun, Schröder & Barr
 * 2003), and a third of its faces for A. 4π on a sphere, whatever its size.
 */
export function willmore([x, next, previous]: Fan): Vec3 {
  const pulls = next.map((b, k) => x.sub(b).mul(cotangent(previous[k]!, x, b)).add(x.sub(previous[k]!).mul(cotangent(b, previous[k]!, x))));
  const third = sum(next.map((b, k) => triangleArea(x, b, previous[k]!))).div(3);
  return sum(pulls).div(sqrt(third.mul(8)));
}

// ── polygons ──

/**
 * Planarity of a polygon: the least eigenvalue of Σ (xₖ − x̄)(xₖ − x̄)ᵀ, which is the sum of the squared distances from the best plane.
 * An energy.
 */
export function planarPolygon([corners]: readonly [readonly Vec3[]]): Scalar {
  const center = mean(corners);
  return eigenSymmetric(sum(corners.map((corner) => outer(corner.sub(center))))).values.x;
}

const outer = (v: Vec3): Mat3 => mat3(v.mul(v.x), v.mul(v.y), v.mul(v.z));

/**
 * Regularity of a polygon of n corners. Its rows vanish if it is an affine image of the regular one, xₖ₋₁ + xₖ₊₁ − 2x̄ = 2 cos(2π/n)(xₖ − x̄) (Berlekamp,
 * Gilbert & Sinden 1965), with all edges of one length and all corners at one distance from the centre.
 */
export function regularPolygon([corners]: readonly [readonly Vec3[]]): Vec<number> {
  const n = corners.length, center = mean(corners), spokes = corners.map((corner) => corner.sub(center)), cosine = 2 * Math.cos((2 * Math.PI) / n);
  const edges = corners.map((corner, k) => corner.sub(corners[(k + 1) % n]!).norm()), radii = spokes.map((spoke) => spoke.norm());
  const [edge, radius] = [mean(edges), mean(radii)];
  const affine = spokes.map((spoke, k) => spokes[(k + 1) % n]!.add(spokes[(k + n - 1) % n]!).sub(spoke.mul(cosine)));
  return vector([...affine.flatMap((row) => [row.x, row.y, row.z]), ...edges.map((length) => length.sub(edge)), ...radii.map((length) => length.sub(radius))]);
}

// ── dynamics and contact ──

/** Inertia: x − y, where y is the place that the vertex would have without forces. With the weight m/h² it is that of implicit Euler. */
export function inertia([x]: readonly [Vec<number>], { predicted }: { readonly predicted: Vec<number> }): Vec<number> {
  return x.sub(predicted);
}

/**
 * Log barrier of a distance d (Li et al. 2020, incremental potential contact): −(d − d̂)² ln(d/d̂) for 0 < d < d̂, 0 beyond; twice
 * differentiable, and undefined for d ≤ 0, so that no step ends there.
 */
export function barrier(distance: Scalar, range: Num): Scalar {
  return select(distance.lt(range), distance.sub(range).square().mul(log(distance.div(range))).neg(), 0);
}

/** Barrier at a plane: d = n·x − o for a unit normal n and an offset o. */
export function planeContact([x]: readonly [Vec3], { normal, offset, range }: { readonly normal: Vec3; readonly offset: Num; readonly range: Num }): Scalar {
  return barrier(x.dot(normal).sub(offset), range);
}

/** Barrier at the outside of a sphere: d = ‖x − c‖ − r. */
export function sphereContact([x]: readonly [Vec3], { center, radius, range }: { readonly center: Vec3; readonly radius: Num; readonly range: Num }): Scalar {
  return barrier(x.sub(center).norm().sub(radius), range);
}

/** Barrier between two vertices: d = ‖a − b‖ − t for a thickness t. */
export function vertexContact([a, b]: readonly [Vec3, Vec3], { thickness, range }: { readonly thickness: Num; readonly range: Num }): Scalar {
  return barrier(a.sub(b).norm().sub(thickness), range);
}

// ── developability (Stein, Grinspun & Crane, Developability of Triangle Meshes, 2018) ──

const normalsOf = ([x, next, previous]: Fan): readonly Vec3[] => next.map((b, k) => triangleNormal(x, b, previous[k]!));

/**
 * Covariance energy E^λ, tangent form (section 4.1.1): Σ θₖ wₖ wₖᵀ of the normals' directions wₖ around the vertex normal N, each as long as the
 * angle between Nₖ and N; its smaller eigenvalue of those two whose vectors are tangent. N itself always has eigenvalue 0.
 */
export function developableCovariance(fan: Fan): Scalar {
  const [x, next, previous] = fan, normals = normalsOf(fan);
  const axis = sum(next.map((b, k) => b.sub(x).cross(previous[k]!.sub(x)))).normalize();
  const covariance = sum(normals.map((n, k) => {
    const along = axis.cross(n).cross(axis).normalize().mul(angleBetween(axis, n));
    return outer(along).mul(angleBetween(next[k]!.sub(x), previous[k]!.sub(x)));
  }));
  // N gets the trace, which is more than the other two have.
  return eigenSymmetric(covariance.add(outer(axis).mul(covariance.trace()))).values.x;
}

/** Squared distances of vectors from their mean: Σ ‖v‖² − ‖Σ v‖²/n. */
const spread = (vectors: readonly Vec3[]): Scalar => sum(vectors.map((v) => v.normSq())).sub(sum(vectors).normSq().div(vectors.length));

/**
 * Partition energy E^P (section 4.1.2): the least, over all ways to part the fan into two arcs of faces, of Σ ‖Nₖ − N̄‖² in both. 0 for a hinge:
 * two flat parts. The derivative is that of the best partition.
 */
export function developablePartition(fan: Fan): Scalar {
  const normals = normalsOf(fan), n = normals.length, before: Vec3[] = [];
  for (const normal of normals) before.push(before.length > 0 ? before.at(-1)!.add(normal) : normal);
  const all = before[n - 1]!, gains: Scalar[] = [];
  // A part from `first` to `end`, and the others; Σ ‖N − N̄‖² = Σ ‖N‖² − ‖Σ N‖²/n.
  for (let first = 0; first < n; first++) {
    for (let end = first + 1; end < n; end++) {
      const part = first > 0 ? before[end - 1]!.sub(before[first - 1]!) : before[end - 1]!, size = end - first;
      gains.push(part.normSq().div(size).add(all.sub(part).normSq().div(n - size)));
    }
  }
  return sum(normals.map((normal) => normal.normSq())).sub(max(...gains));
}

const halves = (fan: Fan): readonly (readonly Vec3[])[] => {
  const normals = normalsOf(fan), middle = Math.floor(normals.length / 2);
  return [normals.slice(0, middle), normals.slice(middle)];
};

/** Bimodal variance: Σ ‖Nₖ − N̄‖²/|P| of the first ⌊n/2⌋ faces of the fan, and of the others. Smooth, unlike E^P; the parts are those of the fan's order. */
export function bimodalVariance(fan: Fan): Scalar {
  return sum(halves(fan).map((part) => spread(part).div(part.length)));
}

/** Bimodal alignment: Σ (1 − Nₖ·N̄/‖N̄‖)/|P| of the first ⌊n/2⌋ faces of the fan, and of the others. */
export function bimodalAlignment(fan: Fan): Scalar {
  return sum(halves(fan).map((part) => {
    const axis = sum(part).normalize();
    return mean(part.map((n) => clamp(n.dot(axis), -1, 1).neg().add(1)));
  }));
}

/**
 * Hinge energy, the maximum form of E^λ: over all directions u = Nᵢ × Nⱼ/‖Nᵢ × Nⱼ‖ that a hinge through two of the normals would have, the
 * least of maxₖ (u·Nₖ)². 0 where all normals lie in a plane. Neither smooth nor convex. A parallel pair has no such direction: it counts with
 * maxₖ ‖Nᵢ × Nₖ‖², which no direction at right angles to it exceeds.
 */
export function hinge(fan: Fan): Scalar {
  const normals = normalsOf(fan), costs: Scalar[] = [];
  normals.forEach((a, i) => normals.slice(i + 1).forEach((b) => {
    const u = a.cross(b), direction = u.normalize();
    costs.push(select(u.normSq().gt(1e-12), max(...normals.map((n) => direction.dot(n).square())), max(...normals.map((n) => a.cross(n).normSq()))));
  }));
  return min(...costs);
}
