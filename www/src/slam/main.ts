/** The SLAM page: a pose graph that unfolds step by step, with wrong loop closures. */
import { se2, type Engine, type Problem, type Solver, type Variables } from "leastwise";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import { runCode, type Made } from "../shell/code.js";
import { button, choice, el, note, section, slider, tick } from "../shell/dom.js";
import { stepOf, type Running } from "../shell/loop.js";
import { complain, say, tell } from "../shell/notices.js";
import { importsFor } from "../shell/project.js";
import { calm, colour } from "../shell/theme.js";
import { around, line, Plane } from "../scene/plane.js";
import { ANGLE, makeGraph, PLACE, type Graph, type Pose, type World } from "./graphs.js";

export interface SlamState extends CommonState {
  readonly world: string;
  readonly poses: number;
  /** Wrong loop closures, as a share of the right ones. */
  readonly outliers: number;
  readonly ellipses: boolean;
}

const WORLDS = [["streets", "Streets of a town"], ["eight", "Figure of eight"], ["spiral", "Spiral"]] as const;
const COUNTS = [200, 500, 1000, 2000, 3500];
const DEFAULTS: SlamState = { backend: "cpu", code: "", world: "streets", poses: 500, outliers: 0, ellipses: false };
/** χ² of three degrees of freedom: 99.9 % of right closures are below. */
const THRESHOLD = Math.sqrt(16.27);
/** Milliseconds that a step of the film takes. */
const FILM_MS = 220;

const CODE = `// In scope: problem, pose (SE(2) in the plane), odometry and closures (edges and motions), sigma.
// The error of a motion from pose a to pose b, over its standard deviations.
const error = ([a, b], { motion }) => {
  const e = motion.inverse().mul(a.inverse().mul(b));
  return [e.r.angle().div(sigma.angle), e.t.div(sigma.place)];
};
problem.residuals("odometry", { over: odometry.edges, of: [pose, pose], data: { motion: column(odometry.motions, se2) } }, error);
// One weight a closure, so that each can be taken out.
const weight = new Float64Array(closures.edges.length / 2).fill(1);
problem.residuals("closures", { over: closures.edges, of: [pose, pose], data: { motion: column(closures.motions, se2) }, weight }, error);`;

class SlamPage implements Page<SlamState> {
  graph: Graph = makeGraph("streets", 200, 0);
  /** cos, sin, x, y of every pose. */
  values: ArrayLike<number> = [];
  /** What each closure weighs after a graduated solve. */
  weights: Float64Array | undefined;
  found: { wrong: number; of: number; right: number } | undefined;
  ellipses: Float64Array | undefined;
  #problem: Problem | undefined;
  #pose: Variables<unknown> | undefined;
  #made: Made[] = [];
  #next: { problem: Problem; pose: Variables<unknown>; made: Made[]; graph: Graph } | undefined;
  #shown: Float64Array = new Float64Array();
  #from: Float64Array = new Float64Array();
  #moved = 0;
  #lastStep = 0;
  readonly #plane: Plane;
  readonly #controls;

  constructor(private readonly app: App<SlamState>) {
    this.#plane = new Plane(app.stage, "The robot's way, and the places that it recognised", (context) => this.#paint(context), true);
    this.#plane.margin = { left: 18, right: 18, top: 18, bottom: 18 };
    this.#controls = {
      world: choice<string>("World", WORLDS, (world) => app.set({ world })),
      poses: choice<string>("Poses", COUNTS.map((count) => [String(count), count.toLocaleString("en")] as const), (poses) => app.set({ poses: Number(poses) })),
      outliers: slider("Wrong closures", { min: 0, max: 1, step: 0.05, unit: " of the right ones" }, () => {}, (outliers) => app.set({ outliers })),
      ellipses: tick("Covariance ellipses (1σ)", (ellipses) => app.set({ ellipses })),
    };
    app.controls.append(
      section("Graph", this.#controls.world.element, this.#controls.poses.element, this.#controls.outliers.element),
      section("Outliers", note("Least squares believes everything. Graduated non-convexity finds out which closures to believe (Yang et al. 2020). Click a closure to take it out or in."), el("div", { class: "buttons" }, button("Find the outliers", () => void app.after(() => this.graduate()), "primary"))),
      section("Uncertainty", this.#controls.ellipses.element),
    );
    this.#plane.canvas.onclick = (event) => this.click(event);
  }

  open(_engine: Engine): void {}
  close(): void { this.#pose = undefined; this.#problem = undefined; }
  code(): string { return CODE; }

  async build(state: SlamState): Promise<Running> {
    const world = (WORLDS.some(([id]) => id === state.world) ? state.world : "streets") as World, count = COUNTS.includes(state.poses) ? state.poses : 500;
    const graph = makeGraph(world, count, Math.min(1, Math.max(0, state.outliers)));
    const problem = this.app.engine!.problem();
    try {
      const pose = problem.variables("pose", { shape: se2, values: stored(graph.driven) });
      pose.fix([0]);
      const part = (first: number, end: number) => ({ edges: Uint32Array.from(graph.edges.slice(first, end).flat()), motions: stored(graph.measured.slice(first, end)) });
      const made = await runCode(state.code || CODE, problem, { pose, odometry: part(0, graph.odometry), closures: part(graph.odometry, graph.edges.length), sigma: { angle: ANGLE, place: PLACE } });
      this.#next = { problem, pose: pose as Variables<unknown>, made, graph };
      return { problem, newSolver: () => problem.solver(), dispose: () => problem.dispose(), frame: (solver) => this.#frame(solver) };
    } catch (error) {
      problem.dispose();
      throw error;
    }
  }

  started(): void {
    this.graph = this.#next!.graph;
    this.#problem = this.#next!.problem;
    this.#pose = this.#next!.pose;
    this.#made = this.#next!.made;
    this.weights = this.found = this.ellipses = undefined;
    this.values = stored(this.graph.driven);
    this.#shown = this.#from = Float64Array.from(this.values);
    this.#range();
  }

  /** A step of the film; between two of them the picture moves from one to the other. */
  async #frame(solver: Solver): Promise<number> {
    const now = performance.now();
    if (now - this.#lastStep < FILM_MS) {
      // Nothing to solve in this frame: the next one comes with the screen.
      await new Promise(requestAnimationFrame);
      return 0;
    }
    this.#lastStep = now;
    const steps = await stepOf(solver), pose = this.#pose!;
    this.#take(await pose.read({ as: "f64" }));
    if (this.app.state.ellipses && this.app.loop?.resting) await this.#uncertain();
    return steps;
  }

  #take(values: ArrayLike<number>): void {
    this.#from = this.#shown.slice();
    this.values = values;
    this.#moved = performance.now();
    if (calm()) this.#from = Float64Array.from(values);
    this.ellipses = undefined;
  }

  draw(now: number): void {
    const share = Math.min(1, (now - this.#moved) / FILM_MS), eased = share * (2 - share);
    this.#shown = Float64Array.from(this.values, (value, k) => this.#from[k]! + (value - this.#from[k]!) * eased);
    this.#range();
    this.#plane.redraw();
    if (share < 1) this.app.loop?.draw();
    else if (this.app.state.ellipses && !this.ellipses && this.app.loop?.resting) { this.ellipses = new Float64Array(); void this.app.loop.ask(() => this.#uncertain()).catch(complain); }
  }

  show(state: SlamState): void {
    this.#controls.world.show(state.world);
    this.#controls.poses.show(String(state.poses));
    this.#controls.outliers.show(state.outliers);
    this.#controls.ellipses.show(state.ellipses);
  }

  apply(state: SlamState, before: SlamState): boolean {
    if (state.world !== before.world || state.poses !== before.poses || state.outliers !== before.outliers) return false;
    this.ellipses = undefined;
    return true;
  }

  reset(): void { void this.app.rebuild(); }

  strip(): string {
    const off = meanOff(this.values, this.graph), { found } = this;
    return `${this.graph.edges.length - this.graph.odometry} closures · ${off.toFixed(2)} m off on average${found ? ` · ${found.wrong} of ${found.of} wrong closures found, ${found.right} right ones lost` : ""}`;
  }

  /** Finds which closures to believe, and leaves the others out. */
  async graduate(): Promise<void> {
    const term = this.#made.find(({ term }) => term.name === "closures")?.term, { loop } = this.app, problem = this.#problem, pose = this.#pose;
    if (!term || !loop || !problem || !pose) return tell("The code has no term \"closures\".");
    say("Graduated non-convexity…");
    const { graph } = this;
    await loop.ask(async () => {
      pose.write(stored(graph.driven));
      const report = await problem.solveGraduated({ suspects: [{ term, threshold: THRESHOLD }] });
      this.weights = Float64Array.from(report.weights(term));
      term.set({ weight: this.weights });
      const wrong = graph.wrong.subarray(graph.odometry);
      const count = (is: 0 | 1, out: boolean) => wrong.reduce((sum, one, k) => sum + Number(one === is && (this.weights![k]! < 0.5) === out), 0);
      this.found = { wrong: count(1, true), of: wrong.reduce((sum, one) => sum + one, 0), right: count(0, true) };
      this.#take(await pose.read({ as: "f64" }));
      say(`${report.rounds} rounds, ${report.steps} steps: ${this.found.wrong} of ${this.found.of} wrong closures found.`);
    });
    this.app.wake();
  }

  /** Takes the closure nearest to a click out, or in again. */
  click(event: MouseEvent): void {
    const term = this.#made.find(({ term }) => term.name === "closures")?.term, { graph } = this;
    if (!term) return;
    let best = -1, nearest = 12;
    for (let k = graph.odometry; k < graph.edges.length; k++) {
      const [a, b] = graph.edges[k]!, p = this.#place(a), q = this.#place(b), box = this.#plane.canvas.getBoundingClientRect(), at = [event.clientX - box.left, event.clientY - box.top] as const;
      const d = [q[0] - p[0], q[1] - p[1]] as const, length = d[0] ** 2 + d[1] ** 2 || 1, t = Math.min(1, Math.max(0, ((at[0] - p[0]) * d[0] + (at[1] - p[1]) * d[1]) / length));
      const far = Math.hypot(at[0] - p[0] - t * d[0], at[1] - p[1] - t * d[1]);
      if (far < nearest) { nearest = far; best = k - graph.odometry; }
    }
    if (best < 0) return;
    this.weights ??= new Float64Array(graph.edges.length - graph.odometry).fill(1);
    this.weights[best] = this.weights[best]! > 0.5 ? 0 : 1;
    term.set({ weight: this.weights });
    this.app.wake();
  }

  async #uncertain(): Promise<void> {
    if (this.graph.truth.length > 1000) { say("Ellipses are computed for up to 1,000 poses."); return; }
    const marginals = await this.#problem!.marginals({ variance: 1 });
    const blocks = await marginals.covariance(this.#pose!, undefined, { space: "values" });
    marginals.dispose();
    this.ellipses = Float64Array.from(blocks);
    this.#plane.redraw();
  }

  project(state: SlamState): { name: string; files: { [path: string]: string } } {
    const code = state.code || CODE, { graph } = this, list = (values: Iterable<number>) => [...values].map((value) => Number(value.toPrecision(8)));
    const part = (first: number, end: number) => ({ edges: graph.edges.slice(first, end).flat(), motions: list(stored(graph.measured.slice(first, end))) });
    const main = `// A pose graph, with graduated non-convexity for its closures.
import { readFileSync } from "node:fs";
${importsFor(`${code}\ninit`, [])}

const { driven, odometry, closures } = JSON.parse(readFileSync(new URL("graph.json", import.meta.url), "utf8"));
const sigma = { angle: ${ANGLE}, place: ${PLACE} };
const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const pose = problem.variables("pose", { shape: se2, values: driven });
pose.fix([0]);
${code.replace('problem.residuals("closures"', 'const term = problem.residuals("closures"')}

const { report, rounds } = await problem.solveGraduated({ suspects: [{ term, threshold: ${THRESHOLD.toFixed(3)} }] });
console.log(rounds, "rounds");
console.log(String(report));
lw.dispose();
`;
    return { name: "leastwise-slam", files: { "main.ts": main, "graph.json": JSON.stringify({ driven: list(stored(graph.driven)), odometry: part(0, graph.odometry), closures: part(graph.odometry, graph.edges.length) }) } };
  }

  // ── the picture ──

  #place(k: number): [number, number] { return this.#plane.to(this.#shown[4 * k + 2]!, this.#shown[4 * k + 3]!); }

  #range(): void {
    const x: number[] = [], y: number[] = [];
    for (let k = 0; k < this.#shown.length; k += 4) { x.push(this.#shown[k + 2]!); y.push(this.#shown[k + 3]!); }
    for (const [, tx, ty] of this.graph.truth) { x.push(tx); y.push(ty); }
    const [x0, x1] = around(x, 0.03), [y0, y1] = around(y, 0.03), old = this.#plane.range;
    // The frame follows slowly, so that the eye can.
    const follow = (from: number, to: number) => (old.x[1] === 1 || calm() ? to : from + 0.15 * (to - from));
    this.#plane.range = { x: [follow(old.x[0], x0), follow(old.x[1], x1)], y: [follow(old.y[0], y0), follow(old.y[1], y1)] };
  }

  #paint(context: CanvasRenderingContext2D): void {
    const { graph } = this, count = this.#shown.length / 4;
    if (!count) return;
    context.lineWidth = 1;
    context.strokeStyle = colour("line");
    context.lineWidth = 3;
    line(context, graph.truth.map(([, x, y]) => this.#plane.to(x, y)));
    context.lineWidth = 1.2;
    for (let k = graph.odometry; k < graph.edges.length; k++) {
      const [a, b] = graph.edges[k]!, weight = this.weights?.[k - graph.odometry] ?? 1;
      context.strokeStyle = colour(weight > 0.5 ? "series-3" : "series-2");
      context.globalAlpha = weight > 0.5 ? 0.75 : 0.35;
      context.setLineDash(weight > 0.5 ? [] : [4, 4]);
      line(context, [this.#place(a), this.#place(b)]);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.strokeStyle = colour("series-1");
    context.lineWidth = 1.8;
    line(context, Array.from({ length: count }, (_, k) => this.#place(k)));
    if (this.ellipses?.length === 16 * count) {
      context.strokeStyle = colour("series-4");
      context.lineWidth = 1;
      context.globalAlpha = 0.6;
      for (let k = 1; k < count; k += Math.max(1, Math.floor(count / 160))) this.#ellipse(context, k, this.ellipses.subarray(16 * k, 16 * k + 16));
      context.globalAlpha = 1;
    }
    const [x, y] = this.#place(count - 1);
    context.fillStyle = colour("handle");
    context.beginPath();
    context.arc(x, y, 6, 0, 2 * Math.PI);
    context.fill();
  }

  /** One standard deviation of a place: rows and columns x, y of a block of cos, sin, x, y. */
  #ellipse(context: CanvasRenderingContext2D, k: number, block: Float64Array): void {
    const [a, b, c] = [block[10]!, block[11]!, block[15]!], mean = (a + c) / 2, apart = Math.hypot((a - c) / 2, b), scale = 1 / this.#plane.unit;
    const [x, y] = this.#place(k);
    context.beginPath();
    context.ellipse(x, y, scale * Math.sqrt(Math.max(0, mean + apart)), scale * Math.sqrt(Math.max(0, mean - apart)), -Math.atan2(2 * b, a - c) / 2, 0, 2 * Math.PI);
    context.stroke();
  }
}

/** Poses as the engine stores them. */
const stored = (poses: readonly Pose[]): Float64Array => Float64Array.from(poses.flatMap(([angle, x, y]) => [Math.cos(angle), Math.sin(angle), x, y]));

/** The mean distance from the true places. */
function meanOff(values: ArrayLike<number>, { truth }: Graph): number {
  return truth.reduce((sum, [, x, y], k) => sum + Math.hypot((values[4 * k + 2] ?? 0) - x, (values[4 * k + 3] ?? 0) - y), 0) / truth.length;
}

new App<SlamState>(DEFAULTS, (app) => expose(app, new SlamPage(app)));
