/** Geometry of points, triangles and normals. */
import { Matrix3x3 } from "./matrix.js";
import { V } from "./v.js";
import { Vec3 } from "./vectors.js";
import type { Value } from "./value.js";

/**
 * Functions of points and normals in space.
 *
 * @example
 * const [a, b, c] = [Vec3.W(0, 0, 0), Vec3.W(1, 0, 0), Vec3.W(0, 1, 0)];
 * console.log(Geometry.triangleArea(a, b, c).data);  // 0.5
 */
export class Geometry {
  private static spanned(a: Vec3, b: Vec3, c: Vec3): Vec3 { return Vec3.cross(b.sub(a), c.sub(a)); }

  /** The unit normal. @throws `non-finite` for a triangle without area */
  static triangleNormal(a: Vec3, b: Vec3, c: Vec3): Vec3 { return Geometry.spanned(a, b, c).normalized; }
  /** The area, with slopes 0 where it is 0. */
  static triangleArea(a: Vec3, b: Vec3, c: Vec3): Value { return V.mul(Geometry.spanned(a, b, c).magnitude, 0.5); }
  /** The angle at b. */
  static interiorAngle(a: Vec3, b: Vec3, c: Vec3): Value { return Vec3.angleBetween(a.sub(b), c.sub(b)); }
  /** 2π minus the angles at `center` between neighbours that follow each other in a closed ring. */
  static angleDefect(center: Vec3, neighbors: readonly Vec3[]): Value {
    const angles = neighbors.map((neighbor, k) => Geometry.interiorAngle(neighbor, center, neighbors[(k + 1) % neighbors.length]!));
    return V.sub(2 * Math.PI, V.sum(angles));
  }
  /** The mean of points; 0 of none. */
  static centroid(points: readonly Vec3[]): Vec3 { return Geometry.average(points); }
  /** The mean of vectors; 0 of none. */
  static average(vectors: readonly Vec3[]): Vec3 {
    return new Vec3(V.mean(vectors.map(({ x }) => x)), V.mean(vectors.map(({ y }) => y)), V.mean(vectors.map(({ z }) => z)));
  }
  /** The unit normal of triangles, each weighted by its area. `center` is not used. */
  static vertexNormal(_center: Vec3, triangles: readonly (readonly [Vec3, Vec3, Vec3])[]): Vec3 {
    const normals = triangles.map(([a, b, c]) => Geometry.spanned(a, b, c));
    return new Vec3(V.sum(normals.map(({ x }) => x)), V.sum(normals.map(({ y }) => y)), V.sum(normals.map(({ z }) => z))).normalized;
  }
  /** The nearest point of a plane with a unit normal. */
  static projectToPlane(point: Vec3, planePoint: Vec3, planeNormal: Vec3): Vec3 {
    return point.sub(planeNormal.mul(Geometry.distanceToPlane(point, planePoint, planeNormal)));
  }
  /** The signed distance from a plane with a unit normal. */
  static distanceToPlane(point: Vec3, planePoint: Vec3, planeNormal: Vec3): Value { return Vec3.dot(point.sub(planePoint), planeNormal); }
  /** The angle between two normals, in [0, π]; slopes 0 where they are parallel. */
  static dihedralAngle(first: Vec3, second: Vec3): Value { return Vec3.angleBetween(first, second); }
  /** Smallest eigenvalue of Σnnᵀ: 0 where a plane contains all normals. */
  static normalCoplanarity(normals: readonly Vec3[]): Value {
    const sum = (of: (n: Vec3) => Value) => V.sum(normals.map(of));
    return Matrix3x3.smallestEigenvalue(
      sum(({ x }) => V.square(x)), sum(({ x, y }) => V.mul(x, y)), sum(({ x, z }) => V.mul(x, z)), sum(({ y }) => V.square(y)), sum(({ y, z }) => V.mul(y, z)), sum(({ z }) => V.square(z)),
    );
  }
  /** The least and greatest components of points; 0 of none. */
  static boundingBox(points: readonly Vec3[]): { min: Vec3; max: Vec3 } {
    const [first, ...rest] = points;
    if (!first) return { min: Vec3.zero(), max: Vec3.zero() };
    return { min: rest.reduce(Vec3.min, first), max: rest.reduce(Vec3.max, first) };
  }
}
