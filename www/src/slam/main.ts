/** The SLAM page: pose graphs and bundles that come together step by step, with wrong measurements. */
import type { Engine, Problem, Solver, Variables } from "leastwise";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import type { Made } from "../shell/code.js";
import { button, choice, el, note, section, slider, tick } from "../shell/dom.js";
import { stepOf, type Running } from "../shell/loop.js";
import { complain, say, tell } from "../shell/notices.js";
import { importsFor, type Project } from "../shell/project.js";
import { counted } from "../shell/words.js";
import { MOST_CAMERAS, MOST_POSES, readWorld } from "./files.js";
import { filmMs, Picture } from "./picture.js";
import { knotBundle } from "./views.js";
import { bundleWorld, place, planeWorld, sphereWorld, type World } from "./worlds.js";

export interface SlamState extends CommonState {
  readonly world: string;
  readonly poses: number;
  /** Wrong closures as a share of the right ones, or of what a bundle may have. */
  readonly outliers: number;
  readonly ellipses: boolean;
}

const FILE = "file";
const WORLDS = [["streets", "Streets (like M3500)"], ["eight", "Figure of eight"], ["spiral", "Spiral"], ["sphere", "Sphere (sphere2500)"], ["bundle", "Bundle of views"], [FILE, "Your file"]] as const;
const COUNTS = [200, 500, 1000, 2000, 2500, 3500];
const DEFAULTS: SlamState = { backend: "cpu", code: "", world: "streets", poses: 500, outliers: 0, ellipses: false };
/** Poses up to which ellipses are computed. */
const MOST_ELLIPSES = 1000;

class SlamPage implements Page<SlamState> {
  world: World = planeWorld("streets", 200, 0);
  /** Places of poses, cameras and points, three numbers each. */
  places: Float64Array = new Float64Array();
  /** Weights of the suspects, once some are in doubt. */
  weights: Float64Array | undefined;
  /** Wrong ones that were found, of how many, and right ones that were lost; as far as it is known which are wrong. */
  found: { wrong: number; of: number; right: number; out: number } | undefined;
  readonly picture: Picture;
  #file: World | undefined;
  #problem: Problem | undefined;
  #tables: readonly Variables<unknown>[] = [];
  #made: readonly Made[] = [];
  #next: { problem: Problem; tables: readonly Variables<unknown>[]; made: readonly Made[]; world: World } | undefined;
  #lastStep = 0;
  readonly #controls;
  readonly #closures;

  constructor(private readonly app: App<SlamState>) {
    this.picture = new Picture(app.stage, { redraw: () => app.loop?.draw(), click: (event) => this.click(event) });
    const file = el("input", { type: "file", accept: ".g2o,.txt,.gz", hidden: true, onchange: () => { const chosen = file.files?.[0]; if (chosen) void this.take(chosen); file.value = ""; } });
    this.#controls = {
      world: choice<string>("World", WORLDS, (world) => (world === FILE && !this.#file ? (this.#controls.world.show(app.state.world), file.click()) : app.set({ world, code: "" }))),
      poses: choice<string>("Size", COUNTS.map((count) => [String(count), count.toLocaleString("en")] as const), (poses) => app.set({ poses: Number(poses) })),
      outliers: slider("Wrong ones", { min: 0, max: 1, step: 0.05, unit: " ×" }, () => {}, (outliers) => app.set({ outliers })),
      ellipses: tick("Covariance ellipses (1σ)", (ellipses) => app.set({ ellipses })),
    };
    this.#closures = note("");
    app.controls.append(
      section("World", this.#controls.world.element, this.#controls.poses.element, this.#controls.outliers.element, this.#closures,
        el("div", { class: "buttons" }, button("Open a file…", () => file.click()), file),
        note(`A pose graph (.g2o, SE2 or SE3:QUAT, up to ${MOST_POSES.toLocaleString("en")} poses) or a bundle (BAL's text, up to ${MOST_CAMERAS.toLocaleString("en")} cameras), gzipped or not. Or drop one. It stays on this machine.`)),
      section("Outliers", note("Least squares believes everything. Graduated non-convexity finds out what to believe (Yang et al. 2020). Click a closure to take it out or in."), el("div", { class: "buttons" }, button("Find the outliers", () => void app.after(() => this.graduate()), "primary"))),
      section("Uncertainty", this.#controls.ellipses.element),
      note("Size: poses, or points of a bundle. Drag to turn what is in space, or use the arrow keys. Ellipses are for graphs in the plane."),
    );
    app.stage.addEventListener("dragover", (event) => event.preventDefault());
    app.stage.addEventListener("drop", (event) => { event.preventDefault(); const dropped = event.dataTransfer?.files[0]; if (dropped) void this.take(dropped); });
  }

  open(_engine: Engine): void {}
  close(): void { this.#tables = []; this.#problem = undefined; }
  code(state: SlamState): string { return this.#worldOf({ ...state, poses: 200, outliers: 0 }).code; }

  /** A visitor's file: told what is wrong with it, or shown. */
  async take(file: File): Promise<void> {
    try {
      say(`Reading ${file.name}…`);
      const world = await readWorld(file);
      say("");
      this.#file = world;
      if (this.app.state.world === FILE) await this.app.rebuild();
      else this.app.set({ world: FILE, code: "" });
    } catch (error) {
      say("");
      tell(`${file.name} can't be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** The world of a state; that of a file which is not here any more is the streets. */
  #worldOf({ world, poses, outliers }: SlamState): World {
    const count = COUNTS.includes(poses) ? poses : DEFAULTS.poses, share = Math.min(1, Math.max(0, outliers));
    if (world === FILE && this.#file) return this.#file;
    if (world === "sphere") return sphereWorld(count, share);
    if (world === "bundle") return bundleWorld(knotBundle(count, share));
    return planeWorld(world === "eight" || world === "spiral" ? world : "streets", count, share);
  }

  async build(state: SlamState): Promise<Running> {
    const world = this.#worldOf(state), problem = this.app.engine!.problem();
    if (state.world === FILE && !this.#file) tell("The link is to a file of its visitor, which is not in it. Open yours, or choose a world.");
    try {
      const { tables, made } = await place(problem, world, state.code);
      this.#next = { problem, tables, made, world };
      return { problem, newSolver: () => problem.solver(), dispose: () => problem.dispose(), frame: (solver) => this.#frame(solver) };
    } catch (error) {
      problem.dispose();
      throw error;
    }
  }

  started(): void {
    const { problem, tables, made, world } = this.#next!;
    this.world = world;
    this.#problem = problem;
    this.#tables = tables;
    this.#made = made;
    this.weights = this.found = undefined;
    this.places = world.places(Object.values(world.tables).map(({ values }) => values));
    this.picture.show(world, this.places);
    this.#closures.textContent = world.wrong ? `${world.wrong.reduce((sum, one) => sum + one, 0).toLocaleString("en")} of ${world.count.toLocaleString("en")} ${world.suspects} are wrong.` : "Which of its measurements are wrong is not known.";
  }

  /** A step of the film; between two of them the picture moves from one to the other. */
  async #frame(solver: Solver): Promise<number> {
    const now = performance.now();
    if (now - this.#lastStep < filmMs()) {
      // Nothing to solve in this frame: the next one comes with the screen.
      await new Promise(requestAnimationFrame);
      return 0;
    }
    this.#lastStep = now;
    const steps = await stepOf(solver);
    await this.#read();
    return steps;
  }

  async #read(): Promise<void> {
    const values = await Promise.all(this.#tables.map((table) => table.read({ as: "f64" })));
    this.places = this.world.places(values);
    this.picture.take(this.places);
  }

  draw(now: number): void {
    if (this.picture.draw(now)) return this.app.loop?.draw();
    if (!this.app.state.ellipses || this.picture.ellipses || !this.app.loop?.resting || this.world.space !== 2) return;
    this.picture.ellipses = new Float64Array();
    void this.app.loop.ask(() => this.#uncertain()).catch(complain);
  }

  show(state: SlamState): void {
    this.#controls.world.show(state.world);
    this.#controls.poses.show(String(state.poses));
    this.#controls.outliers.show(state.outliers);
    this.#controls.ellipses.show(state.ellipses);
  }

  apply(state: SlamState, before: SlamState): boolean {
    if (state.world !== before.world || state.poses !== before.poses || state.outliers !== before.outliers) return false;
    this.picture.ellipses = undefined;
    return true;
  }

  reset(): void { void this.app.rebuild(); }

  strip(): string {
    const { found, world } = this, said = world.said(this.places, this.app.loop?.progress.cost);
    if (!found) return said;
    return `${said} · ${world.wrong ? `${found.wrong} of ${found.of} wrong ${world.suspects} found, ${found.right} right ones lost` : `${found.out} of ${world.count.toLocaleString("en")} ${world.suspects} left out`}`;
  }

  /** Finds which suspects to believe, and leaves the others out. */
  async graduate(): Promise<void> {
    const { world, app: { loop } } = this, term = this.#suspects(), problem = this.#problem;
    if (!term || !loop || !problem) return tell(`The code has no term "${world.suspects}".`);
    say("Graduated non-convexity…");
    await loop.ask(async () => {
      Object.values(world.tables).forEach(({ values }, k) => this.#tables[k]!.write(values));
      const report = await problem.solveGraduated({ suspects: [{ term, threshold: world.threshold }] });
      this.#weigh(Float64Array.from(report.weights(term)));
      const { wrong } = world, weights = this.weights!, count = (is: 0 | 1) => weights.reduce((sum, weight, k) => sum + Number(wrong?.[k] === is && weight < 0.5), 0);
      this.found = { wrong: count(1), of: wrong?.reduce((sum, one) => sum + one, 0) ?? 0, right: count(0), out: weights.reduce((sum, weight) => sum + Number(weight < 0.5), 0) };
      await this.#read();
      say(`${counted(report.rounds, "round")}, ${counted(report.steps, "step")}: ${wrong ? `${this.found.wrong} of ${this.found.of} wrong ${world.suspects} found` : `${this.found.out} ${world.suspects} left out`}.`);
    });
    this.app.wake();
  }

  /** Takes the closure nearest to a click out, or in again. */
  click(event: MouseEvent): void {
    const k = this.#suspects() && this.picture.nearest(event);
    if (k === undefined) return;
    const weights = this.weights ?? new Float64Array(this.world.count).fill(1);
    weights[k] = weights[k]! > 0.5 ? 0 : 1;
    this.app.loop?.edit(() => this.#weigh(weights));
  }

  #suspects(): Made["term"] | undefined { return this.#made.find(({ term }) => term.name === this.world.suspects)?.term; }

  #weigh(weights: Float64Array): void {
    this.weights = this.picture.weights = weights;
    this.#suspects()!.set({ weight: weights });
  }

  async #uncertain(): Promise<void> {
    if (this.world.poses > MOST_ELLIPSES) return say(`Ellipses are computed for up to ${MOST_ELLIPSES.toLocaleString("en")} poses.`);
    const marginals = await this.#problem!.marginals({ variance: 1 });
    const blocks = await marginals.covariance(this.#tables[0]!, undefined, { space: "values" });
    marginals.dispose();
    this.picture.ellipses = Float64Array.from(blocks);
    this.picture.plane.redraw();
  }

  project(state: SlamState): Project {
    const { world } = this, code = state.code || world.code, call = `problem.residuals("${world.suspects}"`;
    const list = (values: ArrayLike<number>) => Array.from(values, (value) => Number(value.toPrecision(9)));
    const plain = (value: unknown): unknown => (ArrayBuffer.isView(value) ? list(value as Float64Array) : typeof value === "object" ? Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name, plain(one)])) : value);
    const shape = (name: string, width: number) => (name === "pose" ? (width === 4 ? "se2" : "se3") : String(width));
    const tables = Object.entries(world.tables).map(([name, { width }]) => `const ${name} = problem.variables("${name}", { shape: ${shape(name, width)}, values: world.${name} });${name === "pose" ? "\npose.fix([0]);" : ""}`).join("\n");
    const main = `// ${world.suspects === "views" ? "A bundle of views" : "A pose graph"}, with graduated non-convexity for its ${world.suspects}.
import { readFileSync } from "node:fs";
${importsFor(`${code}\n${tables}\ninit`, [...Object.keys(world.scope), ...Object.keys(world.tables)])}

const world = JSON.parse(readFileSync(new URL("world.json", import.meta.url), "utf8"));
const { ${Object.keys(world.scope).join(", ")} } = world;
const lw = await init({ backend: "cpu" });
const problem = lw.problem();
${tables}
let term;
${code.replace(call, `term = ${call}`)}

const { report, rounds } = await problem.solveGraduated({ suspects: [{ term, threshold: ${world.threshold.toFixed(3)} }] });
console.log(rounds, "rounds");
console.log(String(report));
lw.dispose();
`;
    const values = Object.fromEntries(Object.entries(world.tables).map(([name, { values }]) => [name, list(values)]));
    return { name: "leastwise-slam", files: { "main.ts": main, "world.json": JSON.stringify({ ...values, ...plain(world.scope) as object }) } };
  }
}

new App<SlamState>(DEFAULTS, (app) => expose(app, new SlamPage(app)));
