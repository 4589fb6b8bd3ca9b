/** Sketches as plain data. */
import { LeastwiseError, reading } from "../errors.js";
import { describe } from "../expression.js";
import { isList } from "../arrays.js";
import { shownValue } from "../instruction.js";
import type { Sketch, SketchConstraint } from "../sketch.js";
import { KINDS } from "./kinds.js";
import type { SketchOf } from "./model.js";
import type { SketchArc, SketchCircle, SketchEllipse, SketchGroup, SketchLine, SketchPoint, SketchSpline } from "./shapes.js";

/**
 * A sketch as data. Points are numbered in their order, and so are shapes; what a constraint is of is `"p3"` for a point and `"s0"` for a shape.
 * Constraints have the names of the methods that make them.
 *
 * @example
 * const json: SketchJSON = sketch(lw).toJSON();
 * console.log(json.points.length, json.constraints[0]?.type);
 */
export interface SketchJSON {
  readonly format: "leastwise-sketch";
  readonly version: 1;
  /** x, y, and true for a fixed one. */
  readonly points: readonly (readonly [x: number, y: number, fixed?: boolean])[];
  /** Lines, circles, arcs, ellipses and splines, by indices of their points. */
  readonly shapes: readonly {
    readonly type: "line" | "circle" | "arc" | "ellipse" | "spline";
    readonly points: readonly number[];
    readonly radius?: number;
    readonly construction?: boolean;
  }[];
  readonly constraints: readonly {
    readonly type: string;
    readonly name: string;
    readonly of: readonly string[];
    readonly value?: number;
    /** Side of a line on which its point or circle is to be: 1 left, −1 right. */
    readonly side?: number;
    /** True for circles that touch from within. */
    readonly within?: boolean;
  }[];
  readonly groups?: readonly { readonly name: string; readonly points: readonly number[] }[];
}

/**
 * A sketch that was read, with what is in it in the order of the data.
 *
 * @example
 * const { sketch: copy, points }: ReadSketch = sketchFromJSON(lw, JSON.stringify(sketch(lw)));
 */
export interface ReadSketch {
  readonly sketch: Sketch;
  readonly points: readonly SketchPoint[];
  readonly shapes: readonly (SketchLine | SketchCircle | SketchArc | SketchEllipse | SketchSpline)[];
  readonly constraints: readonly SketchConstraint[];
  readonly groups: readonly SketchGroup[];
}

/** Arguments of each method: points (p), shapes (s), either (e), then a value (v). */
const METHODS: { readonly [method: string]: string } = {
  coincident: "pp", midpoint: "ps", collinear: "ss", parallel: "ss", perpendicular: "ss", angle: "ssv", equalAngle: "ssss", distance: "pev", horizontalDistance: "ppv",
  verticalDistance: "ppv", equalLength: "ss", ratio: "ssv", equalRadius: "ss", radius: "sv", pointOnLine: "ps", pointOnCircle: "ps", pointOnEllipse: "ps", pointOnSpline: "ps",
  tangent: "ss", tangentAt: "pss", concentric: "ss", symmetric: "pps", horizontal: "s", vertical: "s",
};

/** @internal */
export function toJSON({ geometry, constraints, groups }: SketchOf): SketchJSON {
  const references = new Map<object, string>();
  geometry.points.forEach((point, k) => references.set(point, `p${k}`));
  geometry.shapes.forEach(({ object }, k) => references.set(object, `s${k}`));
  return {
    format: "leastwise-sketch", version: 1,
    points: geometry.points.map(({ x, y }, k) => (geometry.fixed[k] ? [x, y, true] as const : [x, y] as const)),
    shapes: geometry.shapes.map(({ shape, parts: { points, scalar }, construction }) => ({
      type: shape as Exclude<typeof shape, "point">, points, ...(scalar !== undefined && { radius: geometry.scalars[scalar]! }), ...(construction && { construction }),
    })),
    // An arc's own constraint is part of the arc.
    constraints: constraints.filter(({ method }) => method !== "arc").map(({ method, name, of, kind, value, side }) => ({
      type: method, name, of: of.map((object) => references.get(object)!), ...(value !== undefined && { value }),
      ...(kind === KINDS.distanceToLine || kind === KINDS.tangentToLine || kind === KINDS.tangentToEllipse ? { side } : {}), ...(kind === KINDS.tangentFromWithin && { within: true }),
    })),
    ...(groups.length > 0 && { groups: groups.map(({ name, points }) => ({ name, points: points.map((point) => Number(references.get(point)!.slice(1))) })) }),
  };
}

const refuse = (message: string): never => { throw new LeastwiseError("invalid-option", `sketchFromJSON: ${message}`); };

/** @internal */
export function readJSON(sketch: SketchOf, given: unknown): ReadSketch {
  const json = parsed(given) as { readonly [name: string]: unknown };
  if (typeof json !== "object" || json === null || json.format !== "leastwise-sketch") refuse(`the data must be of the format "leastwise-sketch", not ${describe(json)}`);
  if (json.version !== 1) refuse(`version ${shownValue(json.version)} is not known: this release reads version 1`);
  const points = listIn(json, "points").map((entry, k) => {
    const [x, y, fixed] = (isList(entry) ? entry : []) as [number, number, unknown];
    if (!(Number.isFinite(x) && Number.isFinite(y))) refuse(`points[${k}]: [x, y] or [x, y, true], of finite numbers`);
    const point = sketch.point(x, y);
    if (fixed === true) sketch.fix(point);
    return point;
  });
  const shapes = listIn(json, "shapes").map((entry, k) => within(`shapes[${k}]`, () => shape(sketch, points, record(entry))));
  const constraints = listIn(json, "constraints").map((entry, k) => within(`constraints[${k}]`, () => constraint(sketch, points, shapes, record(entry))));
  const groups = json.groups === undefined ? [] : listIn(json, "groups").map((entry, k) => within(`groups[${k}]`, () => {
    const { name, points: of } = record(entry);
    return sketch.group(name as string, indices(of).map((index) => pointAt(points, index)));
  }));
  return { sketch, points, shapes, constraints, groups };
}

/** A plain copy of the data, each part of which is read once. */
function parsed(given: unknown): unknown {
  const text = typeof given === "string" ? given : reading("sketchFromJSON(lw, json): json", () => JSON.stringify(given) as string | undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (thrown) {
    return refuse(`the text is not JSON: ${(thrown as Error).message}`);
  }
}

function listIn(json: { readonly [name: string]: unknown }, name: string): readonly unknown[] {
  const list = json[name];
  return isList(list) ? list : refuse(`${name} must be a list, not ${describe(list)}`);
}

const record = (entry: unknown): { readonly [name: string]: unknown } => (typeof entry === "object" && entry !== null ? entry as { readonly [name: string]: unknown } : refuse(`an object, not ${describe(entry)}`));
const indices = (of: unknown): readonly unknown[] => (isList(of) ? of : refuse(`points must be a list, not ${describe(of)}`));
const pointAt = (points: readonly SketchPoint[], index: unknown): SketchPoint => points[index as number] ?? refuse(`there is no point ${shownValue(index)}`);

/** Says of an error where in the data it is. */
function within<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof LeastwiseError)) throw thrown;
    return refuse(`${where}: ${thrown.message.replace(/^sketchFromJSON: /, "")}`);
  }
}

function shape(sketch: SketchOf, points: readonly SketchPoint[], { type, points: given, radius, construction }: { readonly [name: string]: unknown }): ReadSketch["shapes"][number] {
  const of = indices(given).map((index) => pointAt(points, index)), drawing = construction === undefined ? {} : { construction: construction as boolean };
  const counts: { readonly [type: string]: number } = { line: 2, circle: 1, arc: 3, ellipse: 2 }, count = Object.hasOwn(counts, String(type)) ? counts[String(type)]! : undefined;
  if (count === undefined && type !== "spline") refuse(`type ${shownValue(type)} is not one of "line", "circle", "arc", "ellipse", "spline"`);
  if (count !== undefined && of.length !== count) refuse(`${String(type)} has ${of.length} points, but ${count} are needed`);
  const [a, b, c] = of as [SketchPoint, SketchPoint, SketchPoint];
  if (type === "line") return sketch.line(a, b, drawing);
  if (type === "circle") return sketch.circle(a, radius as number, drawing);
  if (type === "ellipse") return sketch.ellipse(a, b, radius as number, drawing);
  return type === "arc" ? sketch.arc(a, b, c, drawing) : sketch.spline(of, drawing);
}

function constraint(sketch: SketchOf, points: readonly SketchPoint[], shapes: readonly object[], { type, name, of, value, side, within: isWithin }: { readonly [name: string]: unknown }): SketchConstraint {
  const takes = Object.hasOwn(METHODS, String(type)) ? METHODS[String(type)]! : refuse(`type ${shownValue(type)} is not a constraint`);
  const references = isList(of) ? of : refuse(`of must be a list, not ${describe(of)}`), needed = takes.replace("v", "");
  if (references.length !== needed.length) refuse(`${String(type)} is of ${needed.length} points and shapes, not ${references.length}`);
  const objects = references.map((reference) => {
    const [, letter, index] = /^([ps])(\d+)$/.exec(String(reference)) ?? [], list = letter === "p" ? points : shapes;
    return (letter ? list[Number(index)] : undefined) ?? refuse(`there is no ${shownValue(reference)}`);
  });
  const method = (sketch as unknown as { readonly [method: string]: (...of: readonly unknown[]) => SketchConstraint })[String(type)]!;
  const made = method.call(sketch, ...objects, ...(takes.endsWith("v") ? [value] : []), name === undefined ? {} : { name });
  const own = sketch.constraints.at(-1)!;
  if (side === 1 || side === -1) own.side = side;
  if (own.kind === KINDS.tangentFromOutside || own.kind === KINDS.tangentFromWithin) own.kind = isWithin === true ? KINDS.tangentFromWithin : KINDS.tangentFromOutside;
  return made;
}
