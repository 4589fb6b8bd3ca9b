/** The engine's problem of a sketch: one term a kind of constraint, and terms that hold points where they were. */
import { column } from "../data.js";
import type { Engine } from "../engine.js";
import { LeastwiseError } from "../errors.js";
import type { Problem } from "../problem.js";
import type { Report } from "../report.js";
import type { Scalar } from "../scalar.js";
import type { SolveOptions, Solver } from "../solver.js";
import type { Variables } from "../table.js";
import type { Term } from "../term.js";
import type { Vec2, Vec4 } from "../vector.js";
import type { Constraint } from "./constraint.js";
import { Equations, type EquationsOfKind } from "./equations.js";
import type { Geometry } from "./geometry.js";
import { KINDS, type Asked, type Kind } from "./kinds.js";
import { bezierWeights } from "./spline.js";

/** Least lever of an angle, of the sketch's size: shorter lines turn as these would. */
const LEAST_LEVER = 1e-3;
/** Length of a line without a direction, of the sketch's size. */
const NO_LENGTH = 1e-9;
/** Length of a line that has shrunk instead of turning, relative to what it was. */
const SHRUNK = 0.05;
/** Weight of a parameter's movement beside that of a point. */
const PARAMETER = 1e-4;

/** Where points and scalars are to stay, and how strongly. @internal */
export interface Anchors {
  /** x and y of each point, and scalars, in the sketch's units. */
  readonly places: readonly number[];
  readonly scalars: readonly number[];
  /** Points that are dragged, whose anchors are the cursor's. */
  readonly dragged: ReadonlySet<number>;
}

/** Normalised coordinates: (x − centre) / unit. The unit is a power of two, so that it rounds nothing. */
interface Frame { readonly centre: readonly [number, number]; readonly unit: number }

interface TermOfKind { readonly term: Term<object>; readonly kind: Kind; readonly of: readonly Constraint[]; levers: Float64Array }

/**
 * Matrix of residuals: JᵀJ, or the whole Hessian, whose further part is the stiffness of what is stretched. A taut chain can't be turned
 * without it, nor what contradicts be balanced; where constraints can be met it is no help, and costs steps.
 *
 * @internal
 */
export type Curvature = "gauss-newton" | "full";

/** Greatest number of steps without that stiffness. */
const PATIENCE = 60;

/** A minimisation: what is weighed beside constraints, and how. @internal */
export interface Stage {
  /** Weight of movements from where points were; of the cursor; and of changes of length of lines that turn, beside that of movements. */
  readonly movement: number;
  readonly drag: number;
  /** Points alone would move least where a line shrinks instead of turning by 90°. */
  readonly length: number;
  /** True if products of vectors stand for angles, which suit any of two opposite directions. */
  readonly isBilinear?: boolean;
  /** True if movements are those from where the stage begins, which biases nothing. */
  readonly isFromHere?: boolean;
  readonly solver: keyof typeof SOLVERS;
}

/**
 * Solvers of stages. Gauss–Newton is undamped: where weights make JᵀJ regular it does not have to wait for Levenberg–Marquardt's damping to
 * become smaller than they are.
 */
const SOLVERS = {
  damped: { method: "lm", costTolerance: 1e-2, gradientTolerance: 1e-14, stepTolerance: 1e-14 },
  undamped: { method: "gauss-newton", costTolerance: 1e-3, gradientTolerance: 1e-14, stepTolerance: 1e-14 },
  exactUndamped: { method: "gauss-newton", costTolerance: 1e-15, gradientTolerance: 1e-15, stepTolerance: 1e-14 },
  exact: { method: "lm", costTolerance: 1e-15, gradientTolerance: 1e-15, stepTolerance: 1e-14 },
} as const satisfies Record<string, SolveOptions>;

/** @internal */
export class System {
  readonly #problem: Problem;
  readonly #points: Variables<Vec2>;
  readonly #scalars: Variables<Scalar> | undefined;
  readonly #terms: TermOfKind[] = [];
  readonly #hold: { readonly points: Term<object>; readonly scalars: Term<object> | undefined; readonly lengths: Term<object> | undefined };
  /** Ends of lines that constraints turn, each line once. */
  readonly #turned: readonly (readonly [number, number])[];
  readonly #fixed: boolean[];
  #frame: Frame;
  readonly #solvers: { -readonly [name in keyof typeof SOLVERS]?: Solver } = {};
  #maxIterations: number | undefined;
  #isBilinear = false;

  constructor(lw: Engine, private readonly geometry: Geometry, private readonly constraints: readonly Constraint[], readonly curvature: Curvature) {
    this.#frame = this.#framed();
    const problem = (this.#problem = lw.problem()), { fixed } = geometry, count = geometry.points.length;
    const points = (this.#points = problem.variables("points", { shape: 2, values: this.#normal(geometry.places) }));
    this.#fixed = [...fixed];
    const held = fixed.flatMap((is, point) => (is ? [point] : []));
    if (held.length) points.fix(held);
    const scalars = (this.#scalars = geometry.scalars.length ? problem.variables("scalars", { shape: 1, values: this.#normalScalars(geometry.scalars) }) : undefined);
    scalars?.bound({ lower: 0, upper: geometry.isParameter.map((is) => (is ? 1 : Infinity)) });
    const turned = constraints.flatMap(({ kind, points: of }) => (kind.isArc ? kind.directions.map(([p, q]) => [Math.min(of[p]!, of[q]!), Math.max(of[p]!, of[q]!)] as const) : []));
    this.#turned = [...new Map(turned.map((pair) => [pair.join(), pair])).values()];
    const lengths = new Float64Array(this.#turned.length);
    this.#hold = {
      points: problem.residuals("movement", { of: [points], data: { target: column(this.#normal(geometry.places), 2) }, weight: new Float64Array(count) }, ([p], { target }) => p.sub(target)) as unknown as Term<object>,
      scalars: scalars && problem.residuals("movement of scalars", { of: [scalars], data: { target: this.#normalScalars(geometry.scalars) }, weight: new Float64Array(geometry.scalars.length) }, ([r], { target }) => r.sub(target)) as unknown as Term<object>,
      lengths: lengths.length ? problem.residuals("change of lengths", { over: Uint32Array.from(this.#turned.flat()), of: [points.at(0), points.at(1)], data: { target: lengths }, weight: lengths }, ([p, q], { target }) => p.sub(q).norm().sub(target)) as unknown as Term<object> : undefined,
    };
    for (const kind of Object.values<Kind>(KINDS)) {
      const of = constraints.filter((made) => made.kind === kind);
      if (of.length) this.#add(kind, of);
    }
  }

  #add(kind: Kind, of: readonly Constraint[]): void {
    const columns = kind.points + kind.scalars, over = new Uint32Array(columns * of.length);
    of.forEach((made, i) => over.set([...made.points, ...made.scalars], columns * i));
    const slots = Array.from({ length: columns }, (_, k) => (k < kind.points ? this.#points : this.#scalars!).at(k));
    const levers = this.#levers(kind, of);
    const segments = kind.isOfSegment && Object.fromEntries([0, 1, 2, 3].map((row) => [`segment${row}`, column(of.flatMap(({ curve }) => bezierWeights(curve!.segment, curve!.controls.length)[row]!), 4)]));
    const data = { value: this.#values(of), side: Float64Array.from(of, (made) => made.side), lever: levers, product: new Float64Array(of.length), ...segments };
    const term = this.#problem.residuals(kind.name, { over, of: slots as never, data, curvature: this.curvature }, ((all: readonly (Vec2 | Scalar)[], row: Omit<Asked, "segment"> & { [name: `segment${number}`]: Vec4 }) =>
      kind.residual(all.slice(0, kind.points) as Vec2[], all.slice(kind.points) as Scalar[], { value: row.value, side: row.side, lever: row.lever, product: row.product, segment: kind.isOfSegment ? [0, 1, 2, 3].map((k) => row[`segment${k}`]!) : [] })) as never);
    this.#terms.push({ term: term as unknown as Term<object>, kind, of, levers });
  }

  /** Sketch's size: its box, or the largest length that is asked for. */
  #size(): number {
    const { low, high } = this.geometry.box();
    const asked = this.constraints.map(({ kind, value }) => (kind.value === "length" || kind.value === "coordinate" ? Math.abs(value!) : 0));
    return asked.reduce((most, one) => Math.max(most, one), Math.hypot(high[0] - low[0], high[1] - low[1]));
  }

  /** Present size, that of a sketch in one place not quite 0. */
  get size(): number { return Math.max(this.#size(), NO_LENGTH * this.#frame.unit); }

  #framed(): Frame {
    const { low, high } = this.geometry.box(), unit = 2 ** Math.ceil(Math.log2(this.#size() || 1));
    const centre = (axis: 0 | 1): number => 2 * unit * Math.round((low[axis] + high[axis]) / 4 / unit);
    return { centre: [centre(0), centre(1)], unit };
  }

  #normal(places: readonly number[]): Float64Array { const { centre, unit } = this.#frame; return Float64Array.from(places, (place, k) => (place - centre[k % 2]!) / unit); }
  #normalScalars(scalars: readonly number[]): Float64Array { return Float64Array.from(scalars, (scalar, k) => (this.geometry.isParameter[k] ? scalar : scalar / this.#frame.unit)); }

  #values(of: readonly Constraint[]): Float64Array {
    return Float64Array.from(of, ({ kind, value = 0 }) => (kind.value === "length" || kind.value === "coordinate" ? value / this.#frame.unit : value));
  }

  /** Of angles, the length that turns them into movements: that of the least movement of ends which closes a small angle. */
  #levers(kind: Kind, of: readonly Constraint[]): Float64Array {
    if (!kind.isArc) return new Float64Array(of.length).fill(1);
    return Float64Array.from(of, ({ points }) => {
      let sum = 0;
      for (const [p, q] of kind.directions) sum += (this.#frame.unit / this.geometry.apart(points[p]!, points[q]!)) ** 2;
      return Math.max(LEAST_LEVER, Math.sqrt(1 / sum));
    });
  }

  /** Takes values, fixed points and places over. */
  update(): void {
    const { geometry } = this, frame = this.#framed(), { centre, unit } = this.#frame;
    const isMoved = frame.unit !== unit || frame.centre.some((at, axis) => at !== centre[axis]);
    if (isMoved) this.#frame = frame;
    for (const made of this.#terms) {
      made.levers = this.#levers(made.kind, made.of);
      if (made.kind.value || made.kind.isArc) made.term.set({ ...(made.kind.value && { value: this.#values(made.of) }), ...(made.kind.isArc && { lever: made.levers }) });
    }
    const changed = (to: boolean): number[] => geometry.fixed.flatMap((is, point) => (is === to && this.#fixed[point] !== to ? [point] : []));
    const [held, freed] = [changed(true), changed(false)];
    if (held.length) this.#points.fix(held);
    if (freed.length) this.#points.free(freed);
    geometry.fixed.forEach((is, point) => { this.#fixed[point] = is; });
    this.write();
  }

  /** Writes the places to the engine. */
  write(): void {
    this.#points.write(this.#normal(this.geometry.places));
    this.#scalars?.write(this.#normalScalars(this.geometry.scalars));
  }

  /** Minimises with anchors of decreasing weights, from the places that were written. */
  async minimise(anchors: Anchors, stages: readonly Stage[], maxIterations: number): Promise<{ report: Report; steps: number; isStuck: boolean }> {
    const { geometry } = this;
    if (this.#maxIterations !== maxIterations) this.#disposeSolvers();
    this.#maxIterations = maxIterations;
    this.#hold.points.set({ target: column(this.#normal(anchors.places), 2) } as object);
    this.#hold.scalars?.set({ target: this.#normalScalars(anchors.scalars) } as object);
    this.#hold.lengths?.set({ target: Float64Array.from(this.#turned, ([p, q]) => Math.hypot(...[0, 1].map((axis) => anchors.places[2 * p + axis]! - anchors.places[2 * q + axis]!)) / this.#frame.unit) } as object);
    const patience = this.curvature === "full" ? maxIterations : Math.min(maxIterations, PATIENCE);
    let report: Report | undefined, steps = 0, isStuck = false;
    for (const { movement, drag, length, isBilinear = false, isFromHere = false, solver: name } of stages) {
      this.#multiply(isBilinear);
      if (isFromHere) this.#hold.points.set({ target: column(await this.#points.read(new Float64Array(geometry.places.length)), 2) } as object);
      if (isFromHere && this.#scalars) this.#hold.scalars!.set({ target: await this.#scalars.read(new Float64Array(geometry.scalars.length)) } as object);
      const solver = (this.#solvers[name] ??= this.#problem.solver({ ...SOLVERS[name], maxIterations: patience }));
      this.#hold.points.set({ weight: Float64Array.from(geometry.points, (_, point) => (anchors.dragged.has(point) ? drag : movement)) });
      this.#hold.scalars?.set({ weight: Float64Array.from(geometry.scalars, (_, k) => movement * (geometry.isParameter[k] ? PARAMETER : 1)) });
      this.#hold.lengths?.set({ weight: new Float64Array(this.#turned.length).fill(isFromHere ? 0 : length * movement) });
      solver.reset();
      report = await this.#named(() => solver.solve()) as Report;
      steps += report.iterations.length;
      isStuck ||= patience < maxIterations && report.termination === "max-iterations";
      if (isStuck) break;
    }
    return { report: report!, steps, isStuck };
  }

  /** Lets products of vectors, and distances of curves that touch, stand for angles, or no longer. */
  #multiply(isBilinear: boolean): void {
    if (isBilinear === this.#isBilinear) return;
    this.#isBilinear = isBilinear;
    for (const { term, kind, of, levers } of this.#terms) {
      if (!kind.isStaged) continue;
      const length = (made: Constraint, k: number): number => { const [p, q] = kind.directions[k]!; return Math.max(LEAST_LEVER, this.geometry.apart(made.points[p]!, made.points[q]!) / this.#frame.unit); };
      term.set({ product: Float64Array.from(of, (made, i) => (isBilinear ? levers[i]! / (length(made, 0) * length(made, 1)) : 0)) } as object);
    }
  }

  /** Reads where the engine has left free points and scalars. */
  async read(): Promise<void> {
    const { geometry } = this, { centre, unit } = this.#frame;
    const places = await this.#points.read(new Float64Array(geometry.places.length));
    geometry.fixed.forEach((fixed, point) => {
      if (!fixed) geometry.move(point, centre[0] + unit * places[2 * point]!, centre[1] + unit * places[2 * point + 1]!);
    });
    const scalars = this.#scalars && await this.#scalars.read(new Float64Array(geometry.scalars.length));
    scalars?.forEach((scalar, k) => { geometry.scalars[k] = geometry.isParameter[k] ? scalar : unit * scalar; });
  }

  /** Lines that constraints turn and that have become much shorter than they were. */
  shrunk({ places }: Anchors): number {
    const least = SHRUNK * LEAST_LEVER * this.#frame.unit;
    return this.#turned.filter(([p, q]) => {
      const before = Math.hypot(places[2 * p]! - places[2 * q]!, places[2 * p + 1]! - places[2 * q + 1]!);
      return before > least && this.geometry.apart(p, q) < SHRUNK * before;
    }).length;
  }

  /** Constraints with a line whose ends are no farther apart than this, and these. */
  collapsed(least: number): Map<Constraint, readonly (readonly [number, number])[]> {
    const { geometry } = this, found = new Map<Constraint, readonly (readonly [number, number])[]>();
    for (const made of this.constraints) {
      const pairs = made.kind.directions.map(([p, q]) => [made.points[p]!, made.points[q]!] as const).filter(([p, q]) => geometry.apart(p, q) <= least);
      if (pairs.length) found.set(made, pairs);
    }
    return found;
  }

  /** Pairs of points in one place whose distance or direction a constraint is about. */
  coinciding(): (readonly [number, number])[] {
    const { geometry } = this, least = NO_LENGTH * this.size;
    return this.constraints.flatMap(({ kind, points }) => [...kind.directions, ...kind.distances].map(([p, q]) => [points[p]!, points[q]!] as const)).filter(([p, q]) => geometry.apart(p, q) <= least);
  }

  /** Equations of all constraints at the places that were written; residuals in the sketch's units. */
  async evaluate(): Promise<Equations> {
    const terms: EquationsOfKind[] = [];
    for (const { term, kind, of, levers } of this.#terms) {
      const evaluation = await this.#named(() => term.evaluate()), present = kind.isArc ? this.#levers(kind, of) : levers;
      terms.push({ ...evaluation, kind, of, scales: kind.isArc ? present.map((lever, i) => lever / levers[i]!) : undefined });
    }
    return new Equations(terms, this.#frame.unit);
  }

  /** A value that is not finite is a line or a distance without a direction: said of the constraint, not of the term that it is in. */
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

  #disposeSolvers(): void {
    for (const name of Object.keys(SOLVERS) as (keyof typeof SOLVERS)[]) {
      this.#solvers[name]?.dispose();
      delete this.#solvers[name];
    }
  }

  dispose(): void {
    this.#disposeSolvers();
    this.#problem.dispose();
  }
}
