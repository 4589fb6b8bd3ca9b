/** A sketch as the page's state: points, lines and circles by number, and constraints between them. */
import type { Engine } from "leastwise";
import { sketch, type Sketch, type SketchCircle, type SketchConstraint, type SketchLine, type SketchPoint, type SketchResult } from "leastwise/sketch";

export type Kind = "horizontal" | "vertical" | "coincident" | "distance" | "length" | "parallel" | "perpendicular" | "equalLength" | "angle" | "collinear" | "pointOnLine" | "midpoint" | "radius" | "equalRadius" | "tangent" | "concentric" | "pointOnCircle" | "symmetric";

export interface Model {
  /** x, y, and 1 for one that is fixed. */
  readonly points: readonly (readonly [number, number, number])[];
  readonly lines: readonly (readonly [number, number])[];
  /** Centre and radius. */
  readonly circles: readonly (readonly [number, number])[];
  /** Kind, what it is of ("p0", "l1", "c2"), and its value. */
  readonly constraints: readonly (readonly [Kind, readonly string[], number | null])[];
}

/** What selections allow: kinds by the letters of what is selected. */
export const ALLOWED: { readonly [letters: string]: readonly Kind[] } = {
  l: ["horizontal", "vertical", "length"], c: ["radius"], pp: ["coincident", "distance"], ll: ["parallel", "perpendicular", "equalLength", "angle", "collinear"], lp: ["pointOnLine", "midpoint", "distance"],
  cc: ["equalRadius", "tangent", "concentric"], cp: ["pointOnCircle"], cl: ["tangent"], lpp: ["symmetric"],
};
export const NAMES: { readonly [kind in Kind]: string } = {
  horizontal: "Horizontal", vertical: "Vertical", coincident: "Coincident", distance: "Distance", length: "Length", parallel: "Parallel", perpendicular: "Perpendicular", equalLength: "Equal length", angle: "Angle",
  collinear: "Collinear", pointOnLine: "On line", midpoint: "Midpoint", radius: "Radius", equalRadius: "Equal radius", tangent: "Tangent", concentric: "Concentric", pointOnCircle: "On circle", symmetric: "Symmetric",
};
export const VALUED: ReadonlySet<Kind> = new Set(["distance", "length", "angle", "radius"]);
export const lettersOf = (refs: readonly string[]): string => refs.map((ref) => ref[0]).sort().join("");
export const nameOf = (k: number, [kind]: Model["constraints"][number]): string => `${NAMES[kind]} ${k + 1}`;

/** The model of a text, or undefined for what is none. */
export function parseModel(text: string): Model | undefined {
  try {
    const { points, lines, circles, constraints } = JSON.parse(text) as Model;
    const number = (value: unknown) => Number.isFinite(value), index = (value: unknown, list: readonly unknown[]) => Number.isInteger(value) && list[value as number] !== undefined;
    const lists: Record<string, readonly unknown[]> = { p: points, l: lines, c: circles };
    const good = points.every((point) => point.length === 3 && point.every(number)) && lines.every(([a, b]) => index(a, points) && index(b, points) && a !== b) && circles.every(([at, radius]) => index(at, points) && radius > 0)
      && constraints.every(([kind, refs, value]) => ALLOWED[lettersOf(refs)]?.includes(kind) && refs.every((ref) => index(Number(ref.slice(1)), lists[ref[0]!]!)) && (VALUED.has(kind) ? number(value) : value === null));
    return good && points.length <= 200 && constraints.length <= 200 ? { points, lines, circles, constraints } : undefined;
  } catch {
    return undefined;
  }
}

/** What a distance, length, angle or radius is now. */
export function measure(model: Model, kind: Kind, refs: readonly string[]): number {
  const at = (ref: string) => Number(ref.slice(1)), point = (k: number) => model.points[k]!, ends = (ref: string) => model.lines[at(ref)]!.map(point) as [Model["points"][number], Model["points"][number]];
  const letters = lettersOf(refs), sorted = [...refs].sort();
  if (kind === "radius") return model.circles[at(refs[0]!)]![1];
  const direction = (ref: string) => { const [a, b] = ends(ref); return Math.atan2(b[1] - a[1], b[0] - a[0]); };
  if (kind === "angle") return Math.atan2(Math.sin(direction(refs[1]!) - direction(refs[0]!)), Math.cos(direction(refs[1]!) - direction(refs[0]!)));
  if (kind === "length") { const [a, b] = ends(refs[0]!); return Math.hypot(b[0] - a[0], b[1] - a[1]); }
  if (letters === "pp") { const [a, b] = refs.map((ref) => point(at(ref))); return Math.hypot(b![0] - a![0], b![1] - a![1]); }
  const [a, b] = ends(sorted[0]!), p = point(at(sorted[1]!));
  return Math.abs((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])) / (Math.hypot(b[0] - a[0], b[1] - a[1]) || 1);
}

export interface Solved { readonly result: SketchResult; readonly model: Model }

/** The sketch of the last model: while only places, values and fixed points change, nothing is built anew. */
interface Kept {
  readonly engine: Engine;
  readonly structure: string;
  readonly sketch: Sketch;
  readonly points: readonly SketchPoint[];
  readonly circles: readonly SketchCircle[];
  readonly constraints: readonly SketchConstraint[];
}

let kept: Kept | undefined;

/** What a sketch is built of; of circles the radii, which can't be set. */
const structureOf = ({ points, lines, circles, constraints }: Model): string => JSON.stringify([points.length, lines, circles, constraints.map(([kind, refs]) => [kind, refs])]);

function keep(engine: Engine, model: Model): Kept {
  const structure = structureOf(model);
  if (kept?.engine === engine && kept.structure === structure) return kept;
  // An engine that is gone has taken its problems along.
  if (kept?.engine === engine) kept.sketch.dispose();
  kept = undefined;
  const s = sketch(engine);
  try {
    const points = model.points.map(([x, y]) => s.point(x, y)), lines = model.lines.map(([a, b]) => s.line(points[a]!, points[b]!)), circles = model.circles.map(([at, radius]) => s.circle(points[at]!, radius));
    const constraints = model.constraints.map((constraint, k) => add(s, { points, lines, circles }, constraint, nameOf(k, constraint)));
    return (kept = { engine, structure, sketch: s, points, circles, constraints });
  } catch (error) {
    s.dispose();
    throw error;
  }
}

/** Solves a model near where its points are; `held` is a point that is dragged, from where it was to where it is in the model. */
export async function solveModel(lw: Engine, model: Model, held?: number): Promise<Solved> {
  const made = keep(lw, model), { sketch: s, points, circles, constraints } = made;
  model.points.forEach(([x, y, fixed], k) => {
    const point = points[k]!;
    if (fixed) s.fix(point); else s.free(point);
    if (k === held) s.drag(point, x, y); else if (point.x !== x || point.y !== y) s.move(point, x, y);
  });
  model.constraints.forEach(([, , value], k) => { if (value !== null && constraints[k]!.value !== value) constraints[k]!.value = value; });
  const result = await s.solve();
  const solved: Model = { ...model, points: points.map(({ x, y }, k) => [x, y, model.points[k]![2]]), circles: circles.map(({ radius }, k) => [model.circles[k]![0], radius]) };
  if (kept === made) kept = { ...made, structure: structureOf(solved) };
  return { result, model: solved };
}

function add(s: Sketch, made: { points: SketchPoint[]; lines: SketchLine[]; circles: SketchCircle[] }, [kind, refs, value]: Model["constraints"][number], name: string): SketchConstraint {
  const of = <T>(letter: string, list: readonly T[]): T[] => refs.filter((ref) => ref[0] === letter).map((ref) => list[Number(ref.slice(1))]!);
  const [p, l, c] = [of("p", made.points), of("l", made.lines), of("c", made.circles)], options = { name };
  switch (kind) {
    case "horizontal": return s.horizontal(l[0]!, options);
    case "vertical": return s.vertical(l[0]!, options);
    case "coincident": return s.coincident(p[0]!, p[1]!, options);
    case "distance": return s.distance(p[0]!, p[1] ?? l[0]!, value!, options);
    case "length": return s.distance(l[0]!.from, l[0]!.to, value!, options);
    case "parallel": return s.parallel(l[0]!, l[1]!, options);
    case "perpendicular": return s.perpendicular(l[0]!, l[1]!, options);
    case "equalLength": return s.equalLength(l[0]!, l[1]!, options);
    case "angle": return s.angle(l[0]!, l[1]!, value!, options);
    case "collinear": return s.collinear(l[0]!, l[1]!, options);
    case "pointOnLine": return s.pointOnLine(p[0]!, l[0]!, options);
    case "midpoint": return s.midpoint(p[0]!, l[0]!, options);
    case "radius": return s.radius(c[0]!, value!, options);
    case "equalRadius": return s.equalRadius(c[0]!, c[1]!, options);
    case "tangent": return s.tangent(c[0]!, l[0] ?? c[1]!, options);
    case "concentric": return s.concentric(c[0]!, c[1]!, options);
    case "pointOnCircle": return s.pointOnCircle(p[0]!, c[0]!, options);
    case "symmetric": return s.symmetric(p[0]!, p[1]!, l[0]!, options);
  }
}

/** A plate with a hole and a slot's outline, drawn roughly. */
export const FIRST: Model = {
  points: [[-3, -2, 1], [3.2, -1.8, 0], [2.9, 2.1, 0], [-3.1, 1.8, 0], [0.2, 0.1, 0], [2.1, 0.9, 0]],
  lines: [[0, 1], [1, 2], [2, 3], [3, 0]],
  circles: [[4, 1.1], [5, 0.5]],
  constraints: [["horizontal", ["l0"], null], ["vertical", ["l1"], null], ["parallel", ["l0", "l2"], null], ["perpendicular", ["l0", "l3"], null], ["length", ["l0"], 6], ["length", ["l1"], 4], ["radius", ["c0"], 1.1], ["distance", ["p4", "l0"], 2], ["distance", ["p4", "l3"], 2.5], ["radius", ["c1"], 0.5]],
};
