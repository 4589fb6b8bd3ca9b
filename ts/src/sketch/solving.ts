/** Solves of a sketch: near where it was, and from places nearby where that does not do. */
import type { Engine } from "../engine.js";
import type { Report } from "../report.js";
import type { Constraint } from "./constraint.js";
import { Diagnoses, type Counted } from "./diagnosis.js";
import type { SparseRow } from "./elimination.js";
import type { Equations } from "./equations.js";
import type { Geometry } from "./geometry.js";
import type { SketchPlacement, SketchResult } from "./results.js";
import { segmentsOf } from "./spline.js";
import { System, type Anchors, type Curvature, type Stage } from "./system.js";

/** Weight of lengths beside movements, and where a line has shrunk instead of turning. */
const LENGTH = 2, STIFF_LENGTH = 20;

/** Constraints alone, by undamped steps that stay where they are. */
const RESTORING: Stage = { movement: 1e-10, drag: 1e-10, length: 0, isFromHere: true, solver: "exactUndamped" };
/** From minimisation to minimisation movements weigh less, and at the end nothing. */
const placing = (length: number): readonly Stage[] => [
  ...[1, 1e-1, 1e-2].map((weight): Stage => ({ movement: weight, drag: weight, length, isBilinear: true, solver: "damped" })),
  { movement: 1e-2, drag: 1e-2, length: LENGTH, solver: "damped" },
  ...[1e-4, 1e-6].map((weight): Stage => ({ movement: weight, drag: weight, length: LENGTH, solver: "undamped" })),
  // What 10⁻⁶ has left of stiff constraints takes two.
  RESTORING, RESTORING,
];
const PLACING = placing(LENGTH), STIFF = placing(STIFF_LENGTH);
/** The cursor weighs more than movements, and both ever less: what is stiff bends less, and what is loose has followed already. */
const DRAGGING: readonly Stage[] = [...[1e-2, 1e-4, 1e-6, 1e-8].map((weight): Stage => ({ movement: 1e-3 * weight, drag: weight, length: 0, solver: "undamped" })), RESTORING];
/** Constraints alone, from wherever it is: to the least squares of those that contradict. */
const ALONE: Stage = { movement: 0, drag: 0, length: 0, solver: "exact" };
/** Displacement of points that have nowhere to go, of the sketch's size. */
const SHAKE = 1e-3;
/** Golden angle: no two points are displaced in one direction. */
const GOLDEN = 2.399963;

/** Options, checked. */
interface Asked { readonly tolerance: number; readonly maxIterations: number; readonly diagnose: boolean }

interface Counting { builds: number; minimisations: number; steps: number }

/** What an attempt came to. */
interface Attempt { readonly report: Report | undefined; readonly equations: Equations; readonly residual: number; readonly worst: Constraint | undefined; readonly collapsed: ReadonlyMap<Constraint, readonly (readonly [number, number])[]> }

/** @internal */
export class Solving {
  #system: System | undefined;
  #curvature: Curvature = "gauss-newton";
  readonly #dragged = new Map<number, readonly [number, number]>();
  #diagnoses = new Diagnoses();
  #tolerance: number | undefined;
  /** Last verdict, and what it is about besides places. */
  #known: { readonly about: string; readonly signature: string; readonly verdict: Counted; readonly isContradictory: boolean } | undefined;

  constructor(private readonly lw: Engine, private readonly geometry: Geometry) {}

  forget(): void {
    this.#system?.dispose();
    this.#system = undefined;
    this.#curvature = "gauss-newton";
  }

  drag(point: number, x: number, y: number): void { this.#dragged.set(point, [x, y]); }

  async solve(constraints: readonly Constraint[], asked: Asked): Promise<SketchPlacement | SketchResult> {
    const { geometry } = this, counting: Counting = { builds: 0, minimisations: 0, steps: 0 };
    const dragged = new Map(this.#dragged);
    this.#dragged.clear();
    const freedom = 2 * geometry.fixed.filter((is) => !is).length + geometry.scalars.length;
    if (constraints.length === 0) {
      for (const [point, [x, y]] of dragged) if (!geometry.fixed[point]) geometry.move(point, x, y);
      const placement = { solved: true, residual: 0, worst: undefined, report: undefined, counts: { ...counting, components: 0, eliminated: 0, operations: 0 } };
      return asked.diagnose ? { ...placement, degreesOfFreedom: freedom, redundant: [], partly: [], conflicting: [] } : placement;
    }
    const anchors: Anchors = { places: [...geometry.places], scalars: [...geometry.scalars], dragged: new Set(dragged.keys()) };
    for (const [point, [x, y]] of dragged) [(anchors.places as number[])[2 * point], (anchors.places as number[])[2 * point + 1]] = [x, y];
    const attempt = await this.#best(constraints, anchors, asked, freedom, counting), { report, equations, residual, worst, collapsed } = attempt;
    const tolerance = asked.tolerance * this.#system!.size, solved = residual <= tolerance && collapsed.size === 0;
    const isEnded = freedom === 0 || (report !== undefined && !["max-iterations", "time-limit", "stopped"].includes(report.termination));
    const placement = { solved, residual, worst: solved ? undefined : (collapsed.keys().next().value ?? worst!).name, report };
    if (!asked.diagnose) return { ...placement, counts: { ...counting, components: 0, eliminated: 0, operations: 0 } };
    // What is met is another question with another tolerance.
    if (this.#tolerance !== asked.tolerance) [this.#tolerance, this.#diagnoses, this.#known] = [asked.tolerance, new Diagnoses(), undefined];
    const about = `${solved} ${isEnded} ${this.#signature(constraints)}`, isKnown = collapsed.size === 0 && this.#known?.about === about;
    if (!isKnown) {
      const differences = new Map([...collapsed].map(([made, pairs]) => [made, pairs.flatMap((pair) => this.#differences(pair))]));
      const verdict = this.#diagnoses.diagnose(equations.rows(constraints, geometry), { freedom, unknowns: geometry.places.length + geometry.scalars.length, tolerance, isEnded, collapsed: differences });
      this.#known = { about, verdict, isContradictory: verdict.conflicting.length > 0, signature: this.#signature(constraints) };
    }
    const { components, eliminated, operations, ...diagnosis } = this.#known!.verdict;
    return { ...placement, ...diagnosis, counts: { ...counting, ...(isKnown ? { components: 0, eliminated: 0, operations: 0 } : { components, eliminated, operations }) } };
  }

  /** Rows of x and y of the difference of two points. */
  #differences([p, q]: readonly [number, number]): SparseRow[] {
    return [0, 1].map((axis) => {
      const of = [p, q].flatMap((point, k) => (this.geometry.fixed[point] ? [] : [[2 * point + axis, k === 0 ? 1 : -1] as const])).sort(([a], [b]) => a - b);
      return { unknowns: of.map(([unknown]) => unknown), derivatives: of.map(([, derivative]) => derivative) };
    });
  }

  /** What a verdict is about, besides places: constraints, their values, and fixed points. */
  #signature(constraints: readonly Constraint[]): string {
    return `${constraints.map(({ serial, version }) => `${serial}.${version}`).join()} ${this.geometry.fixed.map(Number).join("")} ${this.geometry.scalars.length}`;
  }

  /** The first attempt, or a second one from places nearby if that leaves less. */
  async #best(constraints: readonly Constraint[], anchors: Anchors, asked: Asked, freedom: number, counting: Counting): Promise<Attempt> {
    this.#prepare(constraints, counting);
    if (freedom === 0) return this.#attempt(undefined, asked);
    const coinciding = this.#system!.coinciding();
    if (coinciding.length) this.#shake(new Set(coinciding.flat()));
    const isDragged = anchors.dragged.size > 0;
    let first = await this.#run(constraints, anchors, asked, counting, isDragged ? DRAGGING : PLACING);
    if (!isDragged && this.#system!.shrunk(anchors)) {
      this.#place(anchors);
      first = await this.#run(constraints, anchors, asked, counting, STIFF);
    }
    // A sketch that is known to be contradictory is not tried twice at every step of a drag.
    if (this.#isDone(first, asked) || (this.#known?.isContradictory && this.#known.signature === this.#signature(constraints))) return first;
    // Points in one place, or on one line, may have nowhere to go.
    const places = [...this.geometry.places], scalars = [...this.geometry.scalars];
    this.#shake();
    const second = await this.#run(constraints, anchors, asked, counting, isDragged ? DRAGGING : PLACING);
    if (this.#isDone(second, asked) || second.collapsed.size < first.collapsed.size || (second.collapsed.size === first.collapsed.size && second.residual < first.residual)) return second;
    this.#place({ places, scalars });
    return this.#attempt(first.report, asked);
  }

  /** Puts everything in its place again. */
  #place({ places, scalars }: { readonly places: readonly number[]; readonly scalars: readonly number[] }): void {
    places.forEach((place, k) => { this.geometry.places[k] = place; });
    scalars.forEach((scalar, k) => { this.geometry.scalars[k] = scalar; });
    this.#system?.update();
  }

  #prepare(constraints: readonly Constraint[], counting: Counting): void {
    if (this.#system) return this.#system.update();
    this.#system = new System(this.lw, this.geometry, constraints, this.#curvature);
    counting.builds++;
  }

  async #run(constraints: readonly Constraint[], anchors: Anchors, asked: Asked, counting: Counting, stages: readonly Stage[]): Promise<Attempt> {
    const from = { places: [...this.geometry.places], scalars: [...this.geometry.scalars] };
    const minimise = async (of: readonly Stage[]): Promise<Attempt | undefined> => {
      const { report, steps, isStuck } = await this.#system!.minimise(anchors, of, asked.maxIterations);
      counting.minimisations += of.length;
      counting.steps += steps;
      if (isStuck) return undefined;
      await this.#system!.read();
      return this.#attempt(report, asked);
    };
    for (let turn = 0; ; turn++) {
      this.#prepare(constraints, counting);
      let attempt = await minimise(stages);
      if (attempt && turn < 16 && this.#slide(constraints)) continue;
      if (attempt && attempt.residual > asked.tolerance * this.#system!.size) attempt = await minimise([ALONE]);
      if (attempt) return attempt;
      // From the beginning with the stiffness of what is stretched, and in later solves as well.
      this.forget();
      this.#curvature = "full";
      this.#place(from);
    }
  }

  #isDone({ residual, collapsed }: Attempt, { tolerance }: Asked): boolean { return collapsed.size === 0 && residual <= tolerance * this.#system!.size; }

  /** Points that have come to the end of a spline's segment go on in the next one. */
  #slide(constraints: readonly Constraint[]): boolean {
    let isMoved = false;
    for (const made of constraints) {
      if (!made.curve) continue;
      const { curve: { controls }, scalars: [k] } = made, t = this.geometry.scalars[k!]!, to = made.curve.segment + (t <= 0 ? -1 : t >= 1 ? 1 : 0);
      if (to === made.curve.segment || to < 0 || to >= segmentsOf(controls.length)) continue;
      made.curve.segment = to;
      made.points = [made.points[0]!, ...controls.slice(to, to + 4)];
      // Not at the very end, from which it would come back.
      this.geometry.scalars[k!] = t <= 0 ? 0.99 : 0.01;
      isMoved = true;
    }
    if (isMoved) this.forget();
    return isMoved;
  }

  async #attempt(report: Report | undefined, { tolerance }: Asked): Promise<Attempt> {
    const system = this.#system!, collapsed = system.collapsed(tolerance * system.size), { geometry } = this;
    const places = collapsed.size ? [...geometry.places] : undefined;
    // Directions of lines without length have no derivatives: they are taken nearby, and not used.
    if (places) { this.#shake(new Set([...collapsed.values()].flatMap((pairs) => pairs.flat())), 1e-9); system.write(); }
    const equations = await system.evaluate(), { residual, constraint: worst } = equations.worst(collapsed);
    places?.forEach((place, k) => { geometry.places[k] = place; });
    return { report, equations, residual, worst, collapsed };
  }

  /** Displaces free points a little, the same way every time. */
  #shake(which?: ReadonlySet<number>, by = SHAKE): void {
    const { geometry } = this, reach = by * this.#system!.size;
    geometry.fixed.forEach((fixed, point) => {
      if (fixed || (which && !which.has(point))) return;
      const turn = GOLDEN * (point + 1);
      geometry.move(point, geometry.x(point) + reach * Math.cos(turn), geometry.y(point) + reach * Math.sin(turn));
    });
    this.#system!.write();
  }
}
