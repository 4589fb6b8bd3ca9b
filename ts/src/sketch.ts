/** Sketches of points, lines and circles in the plane, held by constraints: solved, and diagnosed by name. */
import type { Engine } from "./engine.js";
import { LeastwiseError } from "./errors.js";
import { describe } from "./expression.js";
import { shownValue } from "./instruction.js";
import type { Problem } from "./problem.js";
import type { Report } from "./report.js";
import { checked, given, hasMethods, real, whole } from "./options.js";
import { dependencies, type Row } from "./sketch/dependencies.js";
import { KINDS, type Kind } from "./sketch/kinds.js";
import type { Variables } from "./table.js";
import type { Term } from "./term.js";
import type { Scalar } from "./scalar.js";
import type { Vec2 } from "./vector.js";

/**
 * A point of a sketch; x and y are where it is, which is where it was made until {@link Sketch.solve}.
 *
 * @example
 * const p: SketchPoint = sketch(lw).point(1, 2);
 * console.log(p.x, p.y);  // where the last solve left it
 */
export interface SketchPoint { readonly x: number; readonly y: number }
/**
 * A line between two points; what holds it holds these.
 *
 * @example
 * const s = sketch(lw);
 * const line: SketchLine = s.line(s.point(0, 0), s.point(1, 0));
 */
export interface SketchLine { readonly from: SketchPoint; readonly to: SketchPoint }
/**
 * A circle.
 *
 * @example
 * const s = sketch(lw);
 * const wheel: SketchCircle = s.circle(s.point(0, 0), 2);
 */
export interface SketchCircle { readonly centre: SketchPoint; readonly radius: number }

/**
 * A dependency among constraints: the one that adds nothing, and those that say the same already.
 *
 * @example
 * const { redundant } = await sketch(lw).solve();
 * console.log(redundant.map(({ constraint, because }: Dependency) => `${constraint} follows from ${because}`));
 */
export interface Dependency {
  readonly constraint: string;
  readonly because: readonly string[];
}

/**
 * Result of a sketch's solve.
 *
 * @example
 * const { solved, degreesOfFreedom }: SketchResult = await sketch(lw).solve();
 */
export interface SketchResult {
  /** True if all constraints are met to `tolerance`, in the sketch's units. */
  readonly solved: boolean;
  /** The largest distance or angle (times a length) that is left of a constraint, and whose it is. */
  readonly residual: number;
  readonly worst: string | undefined;
  /** Unknowns minus independent constraints at the solution: 0 where nothing can move, 3 where all can only move as one. */
  readonly degreesOfFreedom: number;
  /** Constraints that hold but add nothing: each could be left out. */
  readonly redundant: readonly Dependency[];
  /** Constraints that can't hold together with those that they depend on. */
  readonly conflicting: readonly Dependency[];
  readonly report: Report | undefined;
}

/**
 * A constraint, by which it is removed or its value changed.
 *
 * @example
 * const s = sketch(lw), a = s.point(0, 0), b = s.point(2, 1);
 * const length: SketchConstraint = s.distance(a, b, 3);
 * length.value = 4;  // live
 */
export interface SketchConstraint {
  readonly name: string;
  readonly kind: string;
  /** The distance, radius or angle that it asks for; `undefined`, and not to be set, if it asks for none. */
  get value(): number | undefined;
  set value(value: number);
  remove(): void;
}

interface PointOf extends SketchPoint { x: number; y: number; readonly index: number; fixed: boolean }
interface LineOf extends SketchLine { readonly from: PointOf; readonly to: PointOf }
interface CircleOf extends SketchCircle { readonly centre: PointOf; radius: number; readonly index: number }

/**
 * Name of a constraint.
 *
 * @example
 * const s = sketch(lw), named: Named = { name: "length" };
 * s.distance(s.point(0, 0), s.point(2, 1), 3, named);
 */
export interface Named {
  /** Name in results and errors. @defaultValue kind and number, as `distance 3` */
  name?: string;
}

/**
 * A sketch. Every method that constrains takes a name for diagnoses; all lengths are in the units of the points. Where there are
 * several solutions, the one near the points' places is found.
 *
 * @example
 * const s: Sketch = sketch(lw);
 * s.horizontal(s.line(s.point(0, 0), s.point(1, 0.2)));
 * await s.solve();
 */
export interface Sketch extends Disposable {
  point(x: number, y: number): SketchPoint;
  line(from: SketchPoint, to: SketchPoint): SketchLine;
  circle(centre: SketchPoint, radius: number): SketchCircle;
  /** Keeps a point where it is. */
  fix(point: SketchPoint): void;
  free(point: SketchPoint): void;
  /** Moves a point by hand, as in dragging. */
  move(point: SketchPoint, x: number, y: number): void;
  /** Frees what solving it took. */
  dispose(): void;
  coincident(a: SketchPoint, b: SketchPoint, options?: Named): SketchConstraint;
  midpoint(point: SketchPoint, line: SketchLine, options?: Named): SketchConstraint;
  /** Two lines on one line. */
  collinear(a: SketchLine, b: SketchLine, options?: Named): SketchConstraint;
  parallel(a: SketchLine, b: SketchLine, options?: Named): SketchConstraint;
  perpendicular(a: SketchLine, b: SketchLine, options?: Named): SketchConstraint;
  /** From line a to line b counter-clockwise, in radians. */
  angle(a: SketchLine, b: SketchLine, value: number, options?: Named): SketchConstraint;
  /** Between two points, or of a point from a line on the side where it is. Not negative. */
  distance(a: SketchPoint, b: SketchPoint | SketchLine, value: number, options?: Named): SketchConstraint;
  equalLength(a: SketchLine, b: SketchLine, options?: Named): SketchConstraint;
  equalRadius(a: SketchCircle, b: SketchCircle, options?: Named): SketchConstraint;
  radius(circle: SketchCircle, value: number, options?: Named): SketchConstraint;
  pointOnLine(point: SketchPoint, line: SketchLine, options?: Named): SketchConstraint;
  pointOnCircle(point: SketchPoint, circle: SketchCircle, options?: Named): SketchConstraint;
  /** A circle with a line, on the side where it is, or with a circle: from within if one contains the other's centre, else from outside. */
  tangent(circle: SketchCircle, other: SketchLine | SketchCircle, options?: Named): SketchConstraint;
  concentric(a: SketchCircle, b: SketchCircle, options?: Named): SketchConstraint;
  /** Two points about a line. */
  symmetric(a: SketchPoint, b: SketchPoint, line: SketchLine, options?: Named): SketchConstraint;
  horizontal(line: SketchLine, options?: Named): SketchConstraint;
  vertical(line: SketchLine, options?: Named): SketchConstraint;
  /**
   * Finds where everything goes, near where it is, by Levenberg–Marquardt on the constraints' residuals, and a second time from places
   * nearby where that leaves something, since points in one place or on one line may have no way to go. Then it looks at these
   * residuals' Jacobian: rows that are combinations of others tell redundant constraints, and conflicting ones where the residuals
   * are not the same combination.
   */
  solve(options?: { tolerance?: number; maxIterations?: number }): Promise<SketchResult>;
}

interface Made {
  readonly name: string;
  readonly kind: Kind;
  /** Indices of points, then of radii. */
  readonly points: readonly number[];
  readonly radii: readonly number[];
  value: number | undefined;
  readonly side: number;
}

/**
 * A sketch whose problems are solved by an engine, best by one in f64 (`init({ backend: "cpu" })`): digits decide what is redundant.
 *
 * @throws `invalid-option` unless `lw` is an engine
 * @example
 * const s = sketch(lw);
 * const a = s.point(0, 0), b = s.point(2, 1);
 * s.fix(a);
 * s.distance(a, b, 3);
 * console.log(await s.solve(), b.x, b.y);
 */
export function sketch(lw: Engine): Sketch {
  if (!hasMethods(lw, "problem")) throw new LeastwiseError("invalid-option", `sketch(lw): lw must be an engine, as init() makes one, not ${describe(lw)}`);
  return new SketchOf(lw);
}

const NAMED = { name: given<string>() } as const;
const SOLVE = { tolerance: real(0, Infinity, true), maxIterations: whole(0) } as const;

/** @internal */
class SketchOf implements Sketch {
  readonly #points: PointOf[] = [];
  readonly #circles: CircleOf[] = [];
  /** What this sketch has made: nothing of anything else is looked at. */
  readonly #made = { point: new WeakSet<object>(), line: new WeakSet<object>(), circle: new WeakSet<object>() };
  #constraints: Made[] = [];
  #problem: Problem | undefined;
  #terms: { readonly term: Term<object>; readonly kind: Kind; readonly of: readonly Made[] }[] = [];
  #unknowns: { points: Variables<Vec2>; radii: Variables<Scalar> | undefined } | undefined;
  #count = 0;
  #disposed = false;
  #solving = false;

  constructor(private readonly lw: Engine) {}

  #alive(): void {
    if (this.#disposed) throw new LeastwiseError("disposed", "this sketch was disposed: it can't be used any more");
    if (this.#solving) throw new LeastwiseError("busy", "this sketch is being solved: change it when that has ended");
  }

  #changed(): void {
    this.#alive();
    this.#problem?.dispose();
    this.#problem = undefined;
    this.#terms = [];
  }

  point(x: number, y: number): SketchPoint {
    this.#changed();
    if (!(Number.isFinite(x) && Number.isFinite(y))) throw new LeastwiseError("invalid-option", `point(${shownValue(x)}, ${shownValue(y)}): two finite numbers`);
    const point: PointOf = { x, y, index: this.#points.length, fixed: false };
    this.#made.point.add(point);
    this.#points.push(point);
    return point;
  }

  line(from: SketchPoint, to: SketchPoint): SketchLine {
    const line: LineOf = { from: this.#point("line", from), to: this.#point("line", to) };
    if (line.from === line.to) throw new LeastwiseError("invalid-option", "line(from, to): two points, not one");
    this.#made.line.add(line);
    return line;
  }

  circle(centre: SketchPoint, radius: number): SketchCircle {
    this.#changed();
    if (!(Number.isFinite(radius) && radius > 0)) throw new LeastwiseError("invalid-option", `circle(centre, ${shownValue(radius)}): the radius must be a positive number`);
    const circle: CircleOf = { centre: this.#point("circle", centre), radius, index: this.#circles.length };
    this.#made.circle.add(circle);
    this.#circles.push(circle);
    return circle;
  }

  fix(point: SketchPoint): void { this.#point("fix", point).fixed = true; this.#changed(); }
  free(point: SketchPoint): void { this.#point("free", point).fixed = false; this.#changed(); }

  move(point: SketchPoint, x: number, y: number): void {
    if (!(Number.isFinite(x) && Number.isFinite(y))) throw new LeastwiseError("invalid-option", `move(point, ${shownValue(x)}, ${shownValue(y)}): two finite numbers`);
    this.#alive();
    Object.assign(this.#point("move", point), { x, y });
  }

  #point(method: string, given: unknown): PointOf {
    if (!this.#is("point", given)) throw new LeastwiseError("invalid-option", `${method}: a point of this sketch, not ${describe(given)}`);
    return given as PointOf;
  }

  #line(method: string, given: unknown): LineOf {
    if (!this.#is("line", given)) throw new LeastwiseError("invalid-option", `${method}: a line of this sketch, not ${describe(given)}`);
    return given as LineOf;
  }

  #circle(method: string, given: unknown): CircleOf {
    if (!this.#is("circle", given)) throw new LeastwiseError("invalid-option", `${method}: a circle of this sketch, not ${describe(given)}`);
    return given as CircleOf;
  }

  #is(kind: "point" | "line" | "circle", given: unknown): boolean { return typeof given === "object" && given !== null && this.#made[kind].has(given); }

  #add(kind: Kind, options: Named, points: readonly PointOf[], circles: readonly CircleOf[] = [], value?: number, side = 1): SketchConstraint {
    this.#changed();
    const { name } = checked(`${kind.name}(…): options`, options, NAMED);
    const isTaken = (other: string): boolean => this.#constraints.some((made) => made.name === other);
    let free: string;
    do free = `${kind.name} ${++this.#count}`; while (isTaken(free));
    const made: Made = { name: name ?? free, kind, points: points.map((point) => point.index), radii: circles.map((circle) => circle.index), value, side };
    if (typeof made.name !== "string" || made.name === "") throw new LeastwiseError("invalid-option", `${kind.name}: the name must be a string that is not empty, not ${describe(name)}`);
    if (isTaken(made.name)) throw new LeastwiseError("invalid-option", `${kind.name}: the sketch has a constraint "${made.name}" already, and diagnoses tell them apart by it`);
    const check = (next: unknown): void => {
      if (!kind.asks ? next !== undefined : !(typeof next === "number" && Number.isFinite(next) && (kind.signed || next >= 0))) {
        throw new LeastwiseError("invalid-option", `"${made.name}": ${!kind.asks ? `${kind.name} asks for no value` : `a finite number${kind.signed ? "" : " that is not negative"}, not ${typeof next === "number" ? next : describe(next)}`}`);
      }
    };
    check(value);
    this.#constraints.push(made);
    const changed = (): void => this.#changed();
    return {
      name: made.name,
      kind: kind.name,
      get value() { return made.value; },
      set value(next) { check(next); made.value = next; changed(); },
      remove: () => { this.#constraints = this.#constraints.filter((other) => other !== made); changed(); },
    };
  }

  #ends(method: string, ...lines: unknown[]): PointOf[] {
    return lines.flatMap((given) => { const line = this.#line(method, given); return [line.from, line.to]; });
  }

  coincident(a: SketchPoint, b: SketchPoint, options: Named = {}): SketchConstraint { return this.#add(KINDS.coincident, options, [this.#point("coincident", a), this.#point("coincident", b)]); }
  midpoint(point: SketchPoint, line: SketchLine, options: Named = {}): SketchConstraint { return this.#add(KINDS.midpoint, options, [this.#point("midpoint", point), ...this.#ends("midpoint", line)]); }
  collinear(a: SketchLine, b: SketchLine, options: Named = {}): SketchConstraint { return this.#add(KINDS.collinear, options, this.#ends("collinear", a, b)); }
  parallel(a: SketchLine, b: SketchLine, options: Named = {}): SketchConstraint { return this.#add(KINDS.parallel, options, this.#ends("parallel", a, b)); }
  perpendicular(a: SketchLine, b: SketchLine, options: Named = {}): SketchConstraint { return this.#add(KINDS.perpendicular, options, this.#ends("perpendicular", a, b)); }
  angle(a: SketchLine, b: SketchLine, value: number, options: Named = {}): SketchConstraint { return this.#add(KINDS.angle, options, this.#ends("angle", a, b), [], value); }
  equalLength(a: SketchLine, b: SketchLine, options: Named = {}): SketchConstraint { return this.#add(KINDS.equalLength, options, this.#ends("equalLength", a, b)); }
  pointOnLine(point: SketchPoint, line: SketchLine, options: Named = {}): SketchConstraint { return this.#add(KINDS.pointOnLine, options, [this.#point("pointOnLine", point), ...this.#ends("pointOnLine", line)]); }
  horizontal(line: SketchLine, options: Named = {}): SketchConstraint { return this.#add(KINDS.horizontal, options, this.#ends("horizontal", line)); }
  vertical(line: SketchLine, options: Named = {}): SketchConstraint { return this.#add(KINDS.vertical, options, this.#ends("vertical", line)); }

  symmetric(a: SketchPoint, b: SketchPoint, line: SketchLine, options: Named = {}): SketchConstraint {
    return this.#add(KINDS.symmetric, options, [this.#point("symmetric", a), this.#point("symmetric", b), ...this.#ends("symmetric", line)]);
  }

  distance(a: SketchPoint, b: SketchPoint | SketchLine, value: number, options: Named = {}): SketchConstraint {
    const point = this.#point("distance", a);
    if (!this.#is("line", b)) return this.#add(KINDS.distance, options, [point, this.#point("distance", b)], [], value);
    const ends = this.#ends("distance", b);
    return this.#add(KINDS.distanceToLine, options, [point, ...ends], [], value, sideOf(point, ends));
  }

  radius(circle: SketchCircle, value: number, options: Named = {}): SketchConstraint { return this.#add(KINDS.radius, options, [], [this.#circle("radius", circle)], value); }

  equalRadius(a: SketchCircle, b: SketchCircle, options: Named = {}): SketchConstraint {
    return this.#add(KINDS.equalRadius, options, [], [this.#circle("equalRadius", a), this.#circle("equalRadius", b)]);
  }

  pointOnCircle(point: SketchPoint, given: SketchCircle, options: Named = {}): SketchConstraint {
    const circle = this.#circle("pointOnCircle", given);
    return this.#add(KINDS.pointOnCircle, options, [this.#point("pointOnCircle", point), circle.centre], [circle]);
  }

  concentric(a: SketchCircle, b: SketchCircle, options: Named = {}): SketchConstraint {
    return this.#add(KINDS.concentric, options, [this.#circle("concentric", a).centre, this.#circle("concentric", b).centre]);
  }

  tangent(given: SketchCircle, other: SketchLine | SketchCircle, options: Named = {}): SketchConstraint {
    const circle = this.#circle("tangent", given);
    if (this.#is("line", other)) {
      const ends = this.#ends("tangent", other);
      return this.#add(KINDS.tangentToLine, options, [circle.centre, ...ends], [circle], undefined, sideOf(circle.centre, ends));
    }
    const second = this.#circle("tangent", other);
    const apart = Math.hypot(circle.centre.x - second.centre.x, circle.centre.y - second.centre.y);
    if (apart >= Math.max(circle.radius, second.radius)) return this.#add(KINDS.tangentFromOutside, options, [circle.centre, second.centre], [circle, second]);
    const [large, small] = circle.radius >= second.radius ? [circle, second] : [second, circle];
    return this.#add(KINDS.tangentFromWithin, options, [large.centre, small.centre], [large, small]);
  }

  /** One term a kind, however many constraints there are. */
  #build(): Problem {
    const problem = this.lw.problem();
    const points = problem.variables("points", { shape: 2, values: this.#points.flatMap(({ x, y }) => [x, y]) });
    const fixed = this.#points.filter((point) => point.fixed).map((point) => point.index);
    if (fixed.length) points.fix(fixed);
    const radii = this.#circles.length ? problem.variables("radii", { shape: 1, values: this.#circles.map((circle) => circle.radius) }) : undefined;
    radii?.bound({ lower: 0 });
    this.#unknowns = { points, radii };
    for (const kind of Object.values(KINDS)) {
      const of = this.#constraints.filter((made) => made.kind === kind);
      if (of.length === 0) continue;
      const columns = kind.points + kind.radii;
      const over = new Uint32Array(columns * of.length);
      of.forEach((made, i) => over.set([...made.points, ...made.radii], columns * i));
      const slots = Array.from({ length: columns }, (_, column) => (column < kind.points ? points : radii!).at(column));
      const data = { value: Float64Array.from(of, (made) => made.value ?? 0), side: Float64Array.from(of, (made) => made.side), length: Float64Array.from(of, (made) => this.#lengthOf(made)) };
      const term = problem.residuals(kind.name, { over, of: slots as never, data }, ((all: readonly (Vec2 | Scalar)[], row: { value: Scalar; side: Scalar; length: Scalar }) =>
        kind.residual(all.slice(0, kind.points) as Vec2[], all.slice(kind.points) as Scalar[], row)) as never);
      this.#terms.push({ term: term as unknown as Term<object>, kind, of });
    }
    return problem;
  }

  /** Of a kind about two lines, how long the second one is. */
  #lengthOf({ kind, points }: Made): number {
    if (kind.points !== 4) return 1;
    const [a, b] = [this.#points[points[2]!]!, this.#points[points[3]!]!];
    return Math.hypot(b.x - a.x, b.y - a.y);
  }

  async solve(options: { tolerance?: number; maxIterations?: number } = {}): Promise<SketchResult> {
    this.#alive();
    const { tolerance = 1e-6, maxIterations = 500 } = checked("solve(options): options", options, SOLVE, { prefix: "solve(options): " });
    this.#solving = true;
    try {
      return await this.#solve(tolerance, maxIterations);
    } finally {
      this.#solving = false;
    }
  }

  async #solve(tolerance: number, maxIterations: number): Promise<SketchResult> {
    const unknowns = 2 * this.#points.filter((point) => !point.fixed).length + this.#circles.length;
    if (this.#constraints.length === 0) {
      return { solved: true, residual: 0, worst: undefined, degreesOfFreedom: unknowns, redundant: [], conflicting: [], report: undefined };
    }
    const problem = (this.#problem ??= this.#build());
    const { points, radii } = this.#unknowns!;
    let report: Report | undefined;
    let rows: Row[] = [];
    for (const isAgain of [false, true]) {
      // Points in one place, or on one line, may have nowhere to go: a thousandth of the sketch's size besides they have.
      if (isAgain) this.#shake();
      points.write(this.#points.flatMap(({ x, y }) => [x, y]));
      radii?.write(this.#circles.map((circle) => circle.radius));
      if (unknowns > 0) report = await this.#named(() => problem.solve({ maxIterations }));
      await this.#take(points, radii);
      rows = await this.#named(() => this.#rows());
      if (unknowns === 0 || rows.every((row) => Math.abs(row.residual) <= tolerance)) break;
    }
    const found = dependencies(rows, 2 * this.#points.length + this.#circles.length, tolerance);
    const worst = rows.reduce<Row | undefined>((most, row) => (most && Math.abs(most.residual) >= Math.abs(row.residual) ? most : row), undefined);
    const residual = Math.abs(worst?.residual ?? 0);
    const solved = residual <= tolerance;
    return {
      solved,
      residual,
      worst: solved ? undefined : worst!.name,
      degreesOfFreedom: unknowns - found.rank,
      redundant: solved ? [...found.redundant, ...found.conflicting] : found.redundant,
      conflicting: solved ? [] : found.conflicting,
      report,
    };
  }

  /** Moves what may move a little, the same way every time. */
  #shake(): void {
    const size = Math.max(1e-3, ...this.#points.flatMap(({ x, y }) => [Math.abs(x), Math.abs(y)]));
    for (const point of this.#points) {
      if (point.fixed) continue;
      const turn = 2.399963 * (point.index + 1);       // the golden angle: no two in one direction
      point.x += 1e-3 * size * Math.cos(turn);
      point.y += 1e-3 * size * Math.sin(turn);
    }
  }

  /** What is not finite is a line or a distance without a direction: said of the constraint, not of the term that it is in. */
  async #named<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const of = error instanceof LeastwiseError && error.code === "non-finite" ? this.#terms.find(({ kind }) => kind.name === error.term)?.of : undefined;
      const made = of?.[(error as LeastwiseError).instance ?? -1];
      if (!made) throw error;
      throw new LeastwiseError("non-finite", `"${made.name}": one of its lines has no length, so it has no direction: move one of its points`);
    }
  }

  async #take(points: Variables<Vec2>, radii: Variables<Scalar> | undefined): Promise<void> {
    const places = await points.read(new Float64Array(2 * this.#points.length));
    this.#points.forEach((point) => { [point.x, point.y] = [places[2 * point.index]!, places[2 * point.index + 1]!]; });
    const sizes = radii && await radii.read(new Float64Array(this.#circles.length));
    if (sizes) this.#circles.forEach((circle) => { circle.radius = sizes[circle.index]!; });
  }

  /** The constraints' rows at the solution, in the order in which they were made. */
  async #rows(): Promise<Row[]> {
    const rows = new Map<Made, Row[]>();
    const first = 2 * this.#points.length;
    for (const { term, kind, of } of this.#terms) {
      const { rows: count, columns, residuals, jacobian } = await term.evaluate();
      of.forEach((made, i) => rows.set(made, Array.from({ length: count }, (_, row) => {
        const place = i * count + row;
        const entries: [number, number][] = [];
        const add = (column: number, unknown: number): void => { entries.push([unknown, jacobian[place * columns + column]!]); };
        made.points.forEach((point, slot) => { if (!this.#points[point]!.fixed) for (const c of [0, 1]) add(2 * slot + c, 2 * point + c); });
        made.radii.forEach((radius, slot) => add(2 * kind.points + slot, first + radius));
        return { name: made.name, residual: residuals[place]!, entries };
      })));
    }
    return this.#constraints.flatMap((made) => rows.get(made) ?? []);
  }

  dispose(): void {
    this.#problem?.dispose();
    this.#problem = undefined;
    this.#disposed = true;
  }

  [Symbol.dispose](): void { this.dispose(); }
}

/** 1 where a point lies left of a line, −1 where it lies right. */
function sideOf(point: SketchPoint, [a, b]: readonly SketchPoint[]): number {
  return (b!.x - a!.x) * (point.y - a!.y) - (b!.y - a!.y) * (point.x - a!.x) < 0 ? -1 : 1;
}
