/** Sketches: geometry and constraints as they are made, edited and solved. */
import type { Engine } from "../engine.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../expression.js";
import { shownValue } from "../instruction.js";
import { listOf } from "../arrays.js";
import { checked, flag, given, real, whole } from "../options.js";
import type { Named, Sketch, SketchConstraint } from "../sketch.js";
import type { Constraint } from "./constraint.js";
import { withContacts } from "./contacts.js";
import { Geometry, type ShapeName } from "./geometry.js";
import { toJSON, type SketchJSON } from "./json.js";
import { KINDS, type Kind } from "./kinds.js";
import type { SketchOptions, SketchPlacement, SketchResult } from "./results.js";
import type { Drawing, SketchArc, SketchCircle, SketchEllipse, SketchGroup, SketchLine, SketchPoint, SketchSpline } from "./shapes.js";
import { Solving } from "./solving.js";
import { nearestOn } from "./spline.js";
import { addPaths, pathsOf, type ReadPaths } from "./svg.js";

const NAMED = { name: given<string>() } as const;
const DRAWING = { construction: flag } as const;
const SOLVE = { tolerance: real(0, Infinity, true), maxIterations: whole(0), diagnose: flag } as const;

const refuse = (message: string): never => { throw new LeastwiseError("invalid-option", message); };

/** What a method adds. */
interface Added {
  readonly kind: Kind;
  readonly method: string;
  readonly of: readonly unknown[];
  readonly points?: readonly number[];
  readonly scalars?: readonly number[];
  readonly value?: number;
  readonly side?: number;
  readonly curve?: { readonly controls: readonly number[]; segment: number };
}

type Curve = SketchLine | SketchCircle | SketchSpline;

/** @internal */
export class SketchOf implements Sketch {
  readonly geometry = new Geometry();
  readonly groups: SketchGroup[] = [];
  constraints: Constraint[] = [];
  /** Constraints as they are solved, until one changes. */
  #solved: readonly Constraint[] | undefined;
  readonly #solving: Solving;
  #count = 0;
  #disposed = false;
  #isSolving = false;

  constructor(lw: Engine) { this.#solving = new Solving(lw, this.geometry); }

  #alive(): void {
    if (this.#disposed) throw new LeastwiseError("disposed", "this sketch was disposed: it can't be used any more");
    if (this.#isSolving) throw new LeastwiseError("busy", "this sketch is being solved: change it when that has ended");
  }

  /** Geometry or constraints change, so another problem is built. */
  #changed(): void {
    this.#alive();
    this.#forget();
  }

  #forget(): void {
    this.#solved = undefined;
    this.#solving.forget();
  }

  #drawing(shape: string, options: Drawing): { construction: boolean } { return { construction: checked(`${shape}(…): options`, options, DRAWING, { prefix: `${shape}(…): ` }).construction ?? false }; }

  point(x: number, y: number): SketchPoint { this.#changed(); return this.geometry.point(x, y); }

  line(from: SketchPoint, to: SketchPoint, options: Drawing = {}): SketchLine {
    this.#alive();
    const points = [this.#point("line", from), this.#point("line", to)];
    if (from === to) refuse("line(from, to): two points, not one");
    return this.geometry.shape("line", { points }, { from, to }, this.#drawing("line", options));
  }

  circle(centre: SketchPoint, radius: number, options: Drawing = {}): SketchCircle {
    this.#changed();
    if (!(Number.isFinite(radius) && radius > 0)) refuse(`circle(centre, ${shownValue(radius)}): the radius must be a positive number`);
    const points = [this.#point("circle", centre)], drawing = this.#drawing("circle", options);
    return this.geometry.shape("circle", { points, scalar: this.geometry.scalar(radius) }, { centre }, drawing);
  }

  arc(centre: SketchPoint, from: SketchPoint, to: SketchPoint, options: Drawing = {}): SketchArc {
    this.#changed();
    const points = [centre, from, to].map((point) => this.#point("arc", point)), [c, a, b] = points, drawing = this.#drawing("arc", options);
    if (c === a || c === b || a === b) refuse("arc(centre, from, to): three points, not one twice");
    const radius = (this.geometry.apart(c!, a!) + this.geometry.apart(c!, b!)) / 2;
    if (!(radius > 0)) refuse("arc(centre, from, to): both ends are at the centre");
    const scalar = this.geometry.scalar(radius), made = this.geometry.shape("arc", { points, scalar }, { centre, from, to }, drawing);
    this.#add({ kind: KINDS.arc, method: "arc", of: [made], points, scalars: [scalar] }, {});
    return made;
  }

  ellipse(centre: SketchPoint, vertex: SketchPoint, radius: number, options: Drawing = {}): SketchEllipse {
    this.#changed();
    if (!(Number.isFinite(radius) && radius > 0)) refuse(`ellipse(centre, vertex, ${shownValue(radius)}): the radius must be a positive number`);
    const points = [this.#point("ellipse", centre), this.#point("ellipse", vertex)], drawing = this.#drawing("ellipse", options);
    if (centre === vertex) refuse("ellipse(centre, vertex, radius): two points, not one");
    return this.geometry.shape("ellipse", { points, scalar: this.geometry.scalar(radius) }, { centre, vertex }, drawing);
  }

  spline(controls: readonly SketchPoint[], options: Drawing = {}): SketchSpline {
    this.#changed();
    const of = listOf("spline(points): points", controls, "must be a list of points") as readonly SketchPoint[], points = of.map((point) => this.#point("spline", point)), drawing = this.#drawing("spline", options);
    if (points.length < 4) refuse(`spline(points): at least 4 control points, not ${points.length}`);
    return this.geometry.shape("spline", { points }, { points: Object.freeze(of) }, drawing);
  }

  group(name: string, members: readonly object[]): SketchGroup {
    this.#alive();
    if (typeof name !== "string" || name === "") refuse(`group(name, members): the name must be a string that is not empty, not ${shownValue(name)}`);
    if (this.groups.some((group) => group.name === name)) refuse(`group("${name}", members): the sketch has a group of this name already`);
    const list = listOf("group(name, members): members", members, "must be a list of geometry");
    const { geometry } = this, all = new Set(list.flatMap((member) => geometry.parts("group(name, members)", member, "point", "line", "circle", "arc", "ellipse", "spline").points));
    const points = Object.freeze([...all].map((index) => geometry.points[index]!));
    const group: SketchGroup = Object.freeze({
      name, points,
      fix: () => { for (const point of points) this.fix(point); },
      free: () => { for (const point of points) this.free(point); },
      move: (dx: number, dy: number) => {
        if (!(Number.isFinite(dx) && Number.isFinite(dy))) refuse(`move(${shownValue(dx)}, ${shownValue(dy)}): two finite numbers`);
        for (const point of points) this.move(point, point.x + dx, point.y + dy);
      },
    });
    this.groups.push(group);
    return group;
  }

  fix(point: SketchPoint): void { this.#hold("fix", point, true); }
  free(point: SketchPoint): void { this.#hold("free", point, false); }

  #hold(method: string, point: SketchPoint, isFixed: boolean): void {
    this.#alive();
    this.geometry.fixed[this.#point(method, point)] = isFixed;
  }

  move(point: SketchPoint, x: number, y: number): void {
    if (!(Number.isFinite(x) && Number.isFinite(y))) refuse(`move(point, ${shownValue(x)}, ${shownValue(y)}): two finite numbers`);
    this.#alive();
    this.geometry.move(this.#point("move", point), x, y);
  }

  drag(point: SketchPoint, x: number, y: number): void {
    if (!(Number.isFinite(x) && Number.isFinite(y))) refuse(`drag(point, ${shownValue(x)}, ${shownValue(y)}): two finite numbers`);
    this.#alive();
    this.#solving.drag(this.#point("drag", point), x, y);
  }

  #point(method: string, point: unknown): number { return this.geometry.indexOf(method, point); }
  #line(method: string, line: unknown): readonly number[] { return this.geometry.parts(method, line, "line").points; }
  #circle(method: string, circle: unknown, ...shapes: readonly ShapeName[]): { readonly points: readonly number[]; readonly centre: number; readonly radius: number } {
    const { points, scalar } = this.geometry.parts(method, circle, "circle", "arc", ...shapes);
    return { points, centre: points[0]!, radius: scalar! };
  }

  /** 1 where a point lies left of a line, −1 where it lies right. */
  #side(point: number, [a, b]: readonly number[]): number {
    const { geometry: g } = this;
    return (g.x(b!) - g.x(a!)) * (g.y(point) - g.y(a!)) - (g.y(b!) - g.y(a!)) * (g.x(point) - g.x(a!)) < 0 ? -1 : 1;
  }

  #add({ kind, method, of, points = [], scalars = [], value, side = 1, curve }: Added, options: Named): SketchConstraint {
    this.#changed();
    const { name } = checked(`${kind.name}(…): options`, options, NAMED), isTaken = (other: string): boolean => this.constraints.some((made) => made.name === other);
    if (name !== undefined && (typeof name !== "string" || name === "")) refuse(`${kind.name}: the name must be a string that is not empty, not ${describe(name)}`);
    if (name !== undefined && isTaken(name)) refuse(`${kind.name}: the sketch has a constraint "${name}" already, and diagnoses tell them apart by it`);
    let free: string, serial: number;
    do free = `${kind.name} ${(serial = ++this.#count)}`; while (isTaken(free));
    const made: Constraint = { name: name ?? free, called: kind.name, method, of: of as readonly object[], kind, points, scalars, value, side, ...(curve && { curve }), version: 0, serial };
    const check = (next: unknown): void => {
      const { value: asks } = kind, isSigned = asks === "angle" || asks === "coordinate";
      if (asks ? typeof next === "number" && Number.isFinite(next) && (isSigned || next >= 0) : next === undefined) return;
      refuse(`"${made.name}": ${!asks ? `${kind.name} asks for no value` : `a finite number${isSigned ? "" : " that is not negative"}, not ${shownValue(next)}`}`);
    };
    check(value);
    // A distance of 0 takes two degrees of freedom: it is coincidence.
    const compile = (): void => { made.kind = kind === KINDS.distance && made.value === 0 ? KINDS.coincident : kind; };
    compile();
    this.constraints.push(made);
    const forget = (): void => this.#forget();
    // A distance of 0 may make a tangent one at that point.
    const isTie = (): boolean => made.kind === KINDS.distanceToLine && made.value === 0;
    const alive = (): void => {
      this.#alive();
      if (!this.constraints.includes(made)) refuse(`"${made.name}" was removed: it has no value to set`);
    };
    return {
      name: made.name,
      kind: kind.name,
      get value() { return made.value; },
      set value(next) {
        alive();
        check(next);
        const { kind: before } = made, wasTie = isTie();
        made.value = next;
        made.version++;
        compile();
        if (made.kind !== before || isTie() !== wasTie) forget();
      },
      remove: () => { this.#changed(); this.constraints = this.constraints.filter((other) => other !== made); },
    };
  }

  /** A constraint of points and lines, in the order of the kind's points. */
  #of(kind: Kind, method: string, options: Named, points: readonly unknown[], lines: readonly unknown[], value?: number): SketchConstraint {
    const of = [...points, ...lines], indices = [...points.map((point) => this.#point(method, point)), ...lines.flatMap((line) => this.#line(method, line))];
    // Pairs of equal angles may share a line, as a bisector does.
    for (const pair of method === "equalAngle" ? [lines.slice(0, 2), lines.slice(2)] : [lines]) this.#once(method, "lines", pair);
    this.#once(method, "points", points);
    if (method === "equalAngle" && lines[0] === lines[2] && lines[1] === lines[3]) refuse("equalAngle(a, b, c, d): two angles, not one twice");
    return this.#add({ kind, method, of, points: indices, ...(value !== undefined || kind.value ? { value: value as number } : {}) }, options);
  }

  #once(method: string, what: string, of: readonly unknown[]): void {
    if (new Set(of).size < of.length) refuse(`${method}(…): two ${what}, not one twice`);
  }

  #two(method: string, a: SketchPoint, b: unknown): readonly [SketchPoint, unknown] {
    if (a === b && this.geometry.is(a, "point")) refuse(`${method}(a, b, …): two points, not one twice`);
    return [a, b];
  }

  coincident(a: SketchPoint, b: SketchPoint, options: Named = {}): SketchConstraint { return this.#of(KINDS.coincident, "coincident", options, [a, b], []); }
  midpoint(point: SketchPoint, line: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.midpoint, "midpoint", options, [point], [line]); }
  collinear(a: SketchLine, b: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.collinear, "collinear", options, [], [a, b]); }
  parallel(a: SketchLine, b: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.parallel, "parallel", options, [], [a, b]); }
  perpendicular(a: SketchLine, b: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.perpendicular, "perpendicular", options, [], [a, b]); }
  angle(a: SketchLine, b: SketchLine, value: number, options: Named = {}): SketchConstraint { return this.#of(KINDS.angle, "angle", options, [], [a, b], value); }
  equalAngle(a: SketchLine, b: SketchLine, c: SketchLine, d: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.equalAngle, "equalAngle", options, [], [a, b, c, d]); }
  equalLength(a: SketchLine, b: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.equalLength, "equalLength", options, [], [a, b]); }
  ratio(a: SketchLine, b: SketchLine, value: number, options: Named = {}): SketchConstraint { return this.#of(KINDS.ratio, "ratio", options, [], [a, b], value); }
  pointOnLine(point: SketchPoint, line: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.pointOnLine, "pointOnLine", options, [point], [line]); }
  horizontal(line: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.horizontal, "horizontal", options, [], [line]); }
  vertical(line: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.vertical, "vertical", options, [], [line]); }
  symmetric(a: SketchPoint, b: SketchPoint, line: SketchLine, options: Named = {}): SketchConstraint { return this.#of(KINDS.symmetric, "symmetric", options, [a, b], [line]); }

  distance(a: SketchPoint, b: SketchPoint | SketchLine, value: number, options: Named = {}): SketchConstraint {
    const point = this.#point("distance", a);
    if (!this.geometry.is(b, "line")) {
      const points = [point, this.#point("distance", b)];
      return this.#add({ kind: KINDS.distance, method: "distance", of: this.#two("distance", a, b), points, value }, options);
    }
    const ends = this.#line("distance", b);
    return this.#add({ kind: KINDS.distanceToLine, method: "distance", of: [a, b], points: [point, ...ends], value, side: this.#side(point, ends) }, options);
  }

  horizontalDistance(a: SketchPoint, b: SketchPoint, value: number, options: Named = {}): SketchConstraint { return this.#of(KINDS.horizontalDistance, "horizontalDistance", options, this.#two("horizontalDistance", a, b), [], value); }
  verticalDistance(a: SketchPoint, b: SketchPoint, value: number, options: Named = {}): SketchConstraint { return this.#of(KINDS.verticalDistance, "verticalDistance", options, this.#two("verticalDistance", a, b), [], value); }

  radius(circle: SketchCircle | SketchEllipse, value: number, options: Named = {}): SketchConstraint {
    return this.#add({ kind: KINDS.radius, method: "radius", of: [circle], scalars: [this.#circle("radius", circle, "ellipse").radius], value }, options);
  }

  equalRadius(a: SketchCircle, b: SketchCircle, options: Named = {}): SketchConstraint {
    const scalars = [this.#circle("equalRadius", a).radius, this.#circle("equalRadius", b).radius];
    this.#once("equalRadius", "circles", [a, b]);
    return this.#add({ kind: KINDS.equalRadius, method: "equalRadius", of: [a, b], scalars }, options);
  }

  pointOnCircle(point: SketchPoint, given: SketchCircle, options: Named = {}): SketchConstraint {
    const { centre, radius } = this.#circle("pointOnCircle", given);
    return this.#add({ kind: KINDS.pointOnCircle, method: "pointOnCircle", of: [point, given], points: [this.#point("pointOnCircle", point), centre], scalars: [radius] }, options);
  }

  pointOnEllipse(point: SketchPoint, ellipse: SketchEllipse, options: Named = {}): SketchConstraint {
    const at = this.#point("pointOnEllipse", point), { points, scalar } = this.geometry.parts("pointOnEllipse", ellipse, "ellipse");
    return this.#add({ kind: KINDS.pointOnEllipse, method: "pointOnEllipse", of: [point, ellipse], points: [at, ...points], scalars: [scalar!] }, options);
  }

  pointOnSpline(point: SketchPoint, spline: SketchSpline, options: Named = {}): SketchConstraint {
    this.#alive();
    const { geometry } = this, at = this.#point("pointOnSpline", point), controls = geometry.parts("pointOnSpline", spline, "spline").points;
    const { segment, t } = nearestOn(controls.map((k) => [geometry.x(k), geometry.y(k)] as const), [point.x, point.y]);
    checked("point on spline(…): options", options, NAMED);
    return this.#add({ kind: KINDS.pointOnSpline, method: "pointOnSpline", of: [point, spline], points: [at, ...controls.slice(segment, segment + 4)], scalars: [geometry.scalar(t, true)], curve: { controls, segment } }, options);
  }

  concentric(a: SketchCircle, b: SketchCircle, options: Named = {}): SketchConstraint {
    const points = [this.#circle("concentric", a).centre, this.#circle("concentric", b).centre];
    this.#once("concentric", "circles", [a, b]);
    return this.#add({ kind: KINDS.concentric, method: "concentric", of: [a, b], points }, options);
  }

  tangent(given: SketchCircle | SketchEllipse, other: SketchLine | SketchCircle, options: Named = {}): SketchConstraint {
    const { geometry } = this, of = [given, other], method = "tangent";
    const { points, centre, radius } = this.#circle(method, given, "ellipse");
    this.#once(method, "curves", of);
    if (geometry.is(given, "ellipse")) {
      const ends = this.#line(method, other);
      return this.#add({ kind: KINDS.tangentToEllipse, method, of, points: [...points, ...ends], scalars: [radius], side: this.#side(centre, ends) }, options);
    }
    const shared = geometry.is(given, "arc") && geometry.is(other, "line", "arc") ? geometry.parts(method, other, "line", "arc").points.slice(geometry.is(other, "arc") ? 1 : 0).find((point) => points.indexOf(point) > 0) : undefined;
    if (shared !== undefined) return this.tangentAt(geometry.points[shared]!, given as SketchArc, other, options);
    if (geometry.is(other, "line")) {
      const ends = this.#line(method, other);
      return this.#add({ kind: KINDS.tangentToLine, method, of, points: [centre, ...ends], scalars: [radius], side: this.#side(centre, ends) }, options);
    }
    const second = this.#circle(method, other), isOutside = geometry.apart(centre, second.centre) >= Math.max(geometry.scalars[radius]!, geometry.scalars[second.radius]!);
    return this.#add({ kind: isOutside ? KINDS.tangentFromOutside : KINDS.tangentFromWithin, method, of, points: [centre, second.centre], scalars: [radius, second.radius] }, options);
  }

  tangentAt(point: SketchPoint, a: Curve, b: Curve, options: Named = {}): SketchConstraint {
    const at = this.#point("tangentAt", point), [first, second] = [this.#tangent(at, a), this.#tangent(at, b)];
    this.#once("tangentAt", "curves", [a, b]);
    return this.#add({ kind: first.isNormal === second.isNormal ? KINDS.tangentAlong : KINDS.tangentAcross, method: "tangentAt", of: [point, a, b], points: [...first.ends, ...second.ends] }, options);
  }

  /** Two points in the direction of a curve's tangent at a point, or of its normal. */
  #tangent(at: number, curve: Curve): { readonly ends: readonly number[]; readonly isNormal: boolean } {
    const { geometry } = this, { points } = geometry.parts("tangentAt", curve, "line", "circle", "arc", "spline");
    if (geometry.is(curve, "line")) return { ends: points, isNormal: false };
    if (geometry.is(curve, "spline")) {
      if (points[0] !== at && points.at(-1) !== at) refuse("tangentAt(point, a, b): of a spline, the point is its first or its last control point");
      return { ends: points[0] === at ? points.slice(0, 2) : points.slice(-2), isNormal: false };
    }
    if (points[0] === at) refuse("tangentAt(point, a, b): the point is a centre");
    return { ends: [points[0]!, at], isNormal: true };
  }

  solve(options: SketchOptions & { diagnose: false }): Promise<SketchPlacement>;
  solve(options?: SketchOptions): Promise<SketchResult>;
  async solve(options: SketchOptions = {}): Promise<SketchPlacement | SketchResult> {
    this.#alive();
    const { tolerance = 1e-6, maxIterations = 500, diagnose = true } = checked("solve(options): options", options, SOLVE, { prefix: "solve(options): " });
    this.#isSolving = true;
    try {
      return await this.#solving.solve(this.#solved ??= withContacts(this.constraints, this.geometry), { tolerance, maxIterations, diagnose });
    } finally {
      this.#isSolving = false;
    }
  }

  toJSON(): SketchJSON { return toJSON(this); }
  toSVG(): string { return pathsOf(this.geometry); }

  addSVG(path: string, options: Drawing = {}): ReadPaths {
    this.#changed();
    return addPaths(this, path, options);
  }

  dispose(): void {
    this.#solving.forget();
    this.#disposed = true;
  }

  [Symbol.dispose](): void { this.dispose(); }
}
