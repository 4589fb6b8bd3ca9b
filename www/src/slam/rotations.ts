/** Rotations and motions of space in plain numbers: unit quaternions x, y, z, w, and places. */

export type Quaternion = readonly [number, number, number, number];
export type Point = readonly [number, number, number];
/** A rigid motion p ↦ q p q⁻¹ + t. */
export interface Motion { readonly q: Quaternion; readonly t: Point }

export const multiply = ([a, b, c, d]: Quaternion, [x, y, z, w]: Quaternion): Quaternion =>
  [d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x, d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z];
export const conjugate = ([x, y, z, w]: Quaternion): Quaternion => [-x, -y, -z, w];
export const plus = (a: Point, b: Point): Point => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const minus = (a: Point, b: Point): Point => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const dot = (a: Point, b: Point): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const scaled = (a: Point, factor: number): Point => [a[0] * factor, a[1] * factor, a[2] * factor];
export const cross = (a: Point, b: Point): Point => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const unit = (a: Point): Point => scaled(a, 1 / Math.hypot(...a));

export function rotate(q: Quaternion, v: Point): Point {
  const [x, y, z] = multiply(multiply(q, [...v, 0]), conjugate(q));
  return [x, y, z];
}

/** The rotation by a vector's length around its direction. */
export function fromAngleAxis(v: Point): Quaternion {
  const angle = Math.hypot(...v), s = angle > 1e-12 ? Math.sin(angle / 2) / angle : 0.5;
  return [s * v[0], s * v[1], s * v[2], Math.cos(angle / 2)];
}

export function toAngleAxis([x, y, z, w]: Quaternion): Point {
  const sign = w < 0 ? -1 : 1, sine = Math.hypot(x, y, z), k = sign * (sine > 1e-12 ? (2 * Math.atan2(sine, sign * w)) / sine : 2);
  return [k * x, k * y, k * z];
}

export const times = (a: Motion, b: Motion): Motion => ({ q: multiply(a.q, b.q), t: plus(rotate(a.q, b.t), a.t) });
/** a⁻¹ · b: b as seen from a. */
export const from = (a: Motion, b: Motion): Motion => ({ q: multiply(conjugate(a.q), b.q), t: rotate(conjugate(a.q), minus(b.t, a.t)) });

/** Random numbers that are the same for the same seed: uniform from 0 to 1, and normal. */
export function random(seed: number): { uniform(): number; normal(): number; point(sigma: number): Point } {
  let state = seed;
  const uniform = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal, point: (sigma) => [sigma * normal(), sigma * normal(), sigma * normal()] };
}
