/**
 * Contacts: tangency at a point that other constraints hold on both curves. A condition on distances would be a double root there, whose
 * derivative vanishes at the solution.
 */
import type { Constraint } from "./constraint.js";
import type { Geometry } from "./geometry.js";
import { KINDS, type Kind } from "./kinds.js";

const TANGENT: readonly Kind[] = [KINDS.tangentToLine, KINDS.tangentFromOutside, KINDS.tangentFromWithin];

/** Sets of things that belong together. */
class Classes<T> {
  readonly #parent = new Map<T, T>();

  root(of: T): T {
    let root = of;
    for (let parent = this.#parent.get(root); parent !== undefined; parent = this.#parent.get(root)) root = parent;
    return root;
  }

  join(a: T, b: T): void {
    const [from, to] = [this.root(a), this.root(b)];
    if (from !== to) this.#parent.set(from, to);
  }
}

/**
 * Constraints as they are solved: a tangent of two curves becomes one at a point where that is on both, by their ends, `pointOnCircle`,
 * `pointOnLine`, `midpoint`, `collinear`, a distance of 0 and `coincident`. All others are the same objects.
 *
 * @internal
 */
export function withContacts(constraints: readonly Constraint[], geometry: Geometry): readonly Constraint[] {
  if (!constraints.some(({ kind }) => TANGENT.includes(kind))) return constraints;
  const places = new Classes<number>(), lines = new Classes<object>();
  for (const { kind, method, points, of: [a, b] } of constraints) {
    if (kind === KINDS.coincident || kind === KINDS.concentric) places.join(points[0]!, points[1]!);
    if (method === "collinear") lines.join(a!, b!);
  }
  const on = new Map<object, number[]>();
  const add = (curve: object, ...points: readonly number[]): void => {
    const key = lines.root(curve), known = on.get(key);
    if (known) known.push(...points); else on.set(key, [...points]);
  };
  for (const { shape, object, parts: { points } } of geometry.shapes) {
    if (shape === "line") add(object, ...points);
    if (shape === "arc") add(object, ...points.slice(1));
  }
  for (const { kind, method, points, value, of } of constraints) {
    const isOn = method === "pointOnCircle" || method === "pointOnLine" || method === "midpoint" || (kind === KINDS.distanceToLine && value === 0);
    if (isOn) add(of[1]!, points[0]!);
  }
  return constraints.map((made) => {
    if (!TANGENT.includes(made.kind)) return made;
    const [first, second] = made.of as [object, object], isLine = made.kind === KINDS.tangentToLine, [centre, ...rest] = made.points as [number, ...number[]];
    const centres = (isLine ? [centre] : [centre, rest[0]!]).map((point) => places.root(point)), others = new Set((on.get(lines.root(second)) ?? []).map((point) => places.root(point)));
    const at = (on.get(lines.root(first)) ?? []).find((point) => { const place = places.root(point); return others.has(place) && !centres.includes(place); });
    if (at === undefined) return made;
    // On the side of the line, outside or within, where the distances of the tangent have them.
    return isLine ? { ...made, kind: KINDS.contactWithLine, points: [centre, at, ...rest] }
      : { ...made, kind: KINDS.contactOfCircles, points: [centre, at, rest[0]!, at], side: made.kind === KINDS.tangentFromOutside ? -1 : 1 };
  });
}
