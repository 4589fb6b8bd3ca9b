/** The fit page: a formula, points, and how well its parameters are known. */
import { LeastwiseError, type Engine, type Problem, type Report, type Scalar, type Term, type Variables } from "leastwise";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import { CodeError, runCode } from "../shell/code.js";
import { button, choice, el, note, section, settled, slider } from "../shell/dom.js";
import { say, tell } from "../shell/notices.js";
import { importsFor } from "../shell/project.js";
import { colour } from "../shell/theme.js";
import { counted } from "../shell/words.js";
import { around, line, Plane } from "../scene/plane.js";
import { parseFormula, type Formula } from "./formula.js";
import { lossOf, LOSSES } from "./losses.js";

export interface FitState extends CommonState {
  readonly formula: string;
  /** Points as lines of "x, y". */
  readonly data: string;
  readonly loss: string;
  readonly scale: number;
  readonly start: { readonly [parameter: string]: number };
}

interface Preset { readonly name: string; readonly formula: string; readonly from: number; readonly to: number; readonly f: (t: number) => number; readonly noise: number; readonly start: { readonly [name: string]: number }; readonly outliers?: number }

const PRESETS: readonly Preset[] = [
  { name: "Exponential decay", formula: "a * exp(-t / tau) + c", from: 0, to: 10, f: (t) => 3 * Math.exp(-t / 2.2) + 0.5, noise: 0.12, start: { a: 1, tau: 1, c: 0 }, outliers: 4 },
  { name: "Damped oscillation", formula: "a * exp(-t / tau) * cos(w * t + p)", from: 0, to: 12, f: (t) => 2 * Math.exp(-t / 5) * Math.cos(2.1 * t + 0.4), noise: 0.1, start: { a: 1, tau: 3, w: 2, p: 0 } },
  { name: "Gaussian peak", formula: "a * exp(-((x - m) / s)^2 / 2) + b", from: -5, to: 5, f: (x) => 4 * Math.exp(-(((x - 0.7) / 1.1) ** 2) / 2) + 0.6, noise: 0.18, start: { a: 1, m: 0, s: 1, b: 0 } },
  { name: "Michaelis–Menten", formula: "V * x / (K + x)", from: 0.1, to: 8, f: (x) => (2.4 * x) / (1.1 + x), noise: 0.08, start: { V: 1, K: 1 } },
  { name: "Logistic growth", formula: "L / (1 + exp(-k * (t - m)))", from: 0, to: 12, f: (t) => 5 / (1 + Math.exp(-0.9 * (t - 5.5))), noise: 0.15, start: { L: 4, k: 1, m: 5 } },
  { name: "Straight line", formula: "a * x + b", from: 0, to: 10, f: (x) => 0.7 * x + 1, noise: 0.3, start: { a: 1, b: 0 }, outliers: 3 },
];
const MOST_POINTS = 2000;
const GRID = 240;
/** Student's t is near its limit for the counts that this page has. */
const TWO_SIGMA = 1.96;
const REACH = 22;

/** Points of a preset, the same every time. */
function sample({ from, to, f, noise, outliers = 0 }: Preset): string {
  let state = 20240601;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
  const rows = Array.from({ length: 36 }, (_, k) => { const t = from + ((to - from) * k) / 35; return [t, f(t) + noise * normal()]; });
  for (let k = 0; k < outliers; k++) rows[5 + 8 * k]![1]! += 9 * noise * (k % 2 ? -1 : 1.6);
  return rows.map(([t, y]) => `${t!.toFixed(3)}, ${y!.toFixed(4)}`).join("\n");
}

const FIRST = PRESETS[0]!;
const DEFAULTS: FitState = { backend: "cpu", code: "", formula: FIRST.formula, data: sample(FIRST), loss: "squares", scale: 0.3, start: FIRST.start };

/** Rows of numbers, as spreadsheets and files have them; what is no row of two numbers is left out and counted. */
export function parseRows(text: string): { points: [number, number][]; left: number } {
  const rows = text.split(/\r?\n/).map((row) => row.trim()).filter((row) => row && !row.startsWith("#"));
  const numbers = rows.map((row) => row.split(/[\s,;]+/).filter(Boolean).map(Number));
  const points = numbers.filter((row) => row.length >= 2 && Number.isFinite(row[0]) && Number.isFinite(row[1])).map((row) => [row[0]!, row[1]!] as [number, number]);
  return { points, left: rows.length - points.length };
}
const rowsOf = (points: readonly (readonly [number, number])[]) => points.map(([x, y]) => `${Number(x.toPrecision(6))}, ${Number(y.toPrecision(6))}`).join("\n");

type Data = { t: Float64Array; y: Float64Array };
interface Built { readonly problem: Problem; readonly parameters: readonly Variables<Scalar>[]; readonly term: Term<Data> }

class FitPage implements Page<FitState> {
  points: [number, number][] = [];
  report: Report | undefined;
  values: number[] = [];
  errors: number[] = [];
  correlations: Float64Array | undefined;
  weights: number[] = [];
  curve: { t: number; f: number; se: number }[] = [];
  /** Solves so far. */
  solves = 0;
  #formula: Formula | undefined;
  #data: Built | undefined;
  #grid: Built | undefined;
  #busy = false;
  #again = false;
  #restart = true;
  readonly #plane: Plane;
  readonly #controls;
  readonly #formulaField = el("input", { type: "text", id: "formula", spellcheck: false, autocomplete: "off" });
  readonly #dataField = el("textarea", { rows: 7, id: "data", spellcheck: false });
  readonly #message = el("p", { class: "code-message", role: "status" });
  readonly #table = el("table", { class: "parameters" });
  readonly #matrix = el("table", { class: "correlations" });
  readonly #verdict = note("");
  readonly #lossPlot = el("canvas", { class: "loss", role: "img", "aria-label": "The loss over the residual" });

  constructor(private readonly app: App<FitState>) {
    const typed = settled(300, () => app.set({ formula: this.#formulaField.value, code: "", start: {} }));
    this.#formulaField.oninput = typed;
    const pasted = settled(400, () => app.set({ data: this.#dataField.value }));
    this.#dataField.oninput = pasted;
    this.#controls = {
      preset: choice("Example", [["", "…"], ...PRESETS.map(({ name }) => [name, name] as const)] as const, (name) => {
        const preset = PRESETS.find((one) => one.name === name);
        if (preset) app.set({ formula: preset.formula, data: sample(preset), start: preset.start, code: "" });
      }),
      loss: choice("Loss", Object.entries(LOSSES).map(([id, { name }]) => [id, name] as const), (loss) => app.set({ loss })),
      scale: slider("Scale c", { min: 0.01, max: 10, log: true }, (scale) => { this.app.set({ scale: Number(scale.toPrecision(3)) }, { undoable: false }); }),
    };
    app.controls.append(
      section("Formula", this.#controls.preset.element, el("label", { for: "formula", class: "fine" }, "of t or x; every other name is a parameter"), this.#formulaField, this.#message),
      section("Parameters", this.#table, this.#verdict, el("div", { class: "buttons" }, button("Multi-start", () => void app.after(() => this.many())), button("From the start", () => { this.#restart = true; this.solve(); }))),
      section("Correlations", this.#matrix),
      section("Loss", this.#controls.loss.element, this.#controls.scale.element, this.#lossPlot),
      section("Points", note("Drag them; a double click adds one, Delete takes the chosen one away. Or paste rows of two numbers:"), this.#dataField),
    );
    this.#plane = new Plane(app.stage, "Points and the fitted curve", (context) => this.#paint(context));
    this.#pointing();
    this.points = parseRows(app.state.data).points;
    this.#fit();
  }

  open(_engine: Engine): void {}
  close(): void { this.#free(); }

  code(state: FitState): string {
    try {
      const { parameters, variable, code } = parseFormula(state.formula);
      const list = parameters.join(", ");
      return `// ${state.formula.replaceAll("\n", " ")}\nconst f = ([${list}], ${variable}) =>\n  ${code};\nproblem.residuals("fit", { of: [${list}], data: { t, y }, loss },\n  (p, { t, y }) => f(p, t).sub(y));`;
    } catch {
      return "";
    }
  }

  async build(state: FitState): Promise<undefined> {
    try {
      this.#formula = parseFormula(state.formula);
      this.#message.textContent = "";
      this.#formulaField.removeAttribute("aria-invalid");
    } catch (error) {
      // What was fitted before stays on the page.
      this.#message.textContent = (error as Error).message;
      this.#formulaField.setAttribute("aria-invalid", "true");
      return undefined;
    }
    const { points, left } = parseRows(state.data);
    if (left) say(`${counted(left, "row is no pair of numbers, and is", "rows are no pairs of numbers, and are")} left out.`);
    if (points.length > MOST_POINTS) tell(`There are ${points.length.toLocaleString("en")} points; the first ${MOST_POINTS.toLocaleString("en")} are taken.`);
    this.points = points.slice(0, MOST_POINTS);
    this.#fit();
    const { parameters } = this.#formula;
    if (this.points.length < parameters.length) {
      this.#message.textContent = `${parameters.length} parameters need at least as many points; there are ${this.points.length}.`;
      return undefined;
    }
    const xs = this.#plane.range.x;
    const grid = { t: Float64Array.from({ length: GRID }, (_, k) => xs[0] + ((xs[1] - xs[0]) * k) / (GRID - 1)), y: new Float64Array(GRID) };
    const data = await this.#make(state, this.#columns(), lossOf(state.loss).make(state.scale));
    const curve = await this.#make(state, grid, undefined).catch((error) => { data.problem.dispose(); throw error; });
    this.#free();
    this.#data = data;
    this.#grid = curve;
    this.#restart = true;
    return undefined;
  }

  async started(): Promise<void> { await this.#solve(); }

  async #make(state: FitState, { t, y }: Data, loss: unknown): Promise<Built> {
    const problem = this.app.engine!.problem(), { start } = state;
    try {
      const parameters = this.#formula!.parameters.map((name) => problem.variables(name, { shape: 1, values: [start[name] ?? 1] }));
      const made = await runCode(state.code, this.code(state), problem, { ...Object.fromEntries(parameters.map((one) => [one.name, one])), t, y, loss });
      if (made.length !== 1) throw new CodeError("the code has to add one term: that of the points", undefined);
      return { problem, parameters, term: made[0]!.term as unknown as Term<Data> };
    } catch (error) {
      problem.dispose();
      throw error;
    }
  }

  #columns(): Data { return { t: Float64Array.from(this.points, ([x]) => x), y: Float64Array.from(this.points, ([, y]) => y) }; }

  #free(): void {
    this.#data?.problem.dispose();
    this.#grid?.problem.dispose();
    this.#data = this.#grid = undefined;
  }

  /** Solves with the points as they are now; asked for while it does, it does so once more. */
  solve(): void {
    if (this.#busy) this.#again = true;
    else void this.app.after(() => this.#solve());
  }

  async #solve(): Promise<void> {
    this.#busy = true;
    try {
      do {
        this.#again = false;
        await this.#once();
      } while (this.#again);
    } catch (error) {
      if (error instanceof LeastwiseError && error.code === "non-finite") tell(`The formula is not defined with these parameters: ${error.message}`);
      else this.app.failed(error);
    } finally {
      this.#busy = false;
    }
  }

  async #once(): Promise<void> {
    const { state } = this.app, data = this.#data, grid = this.#grid;
    if (!data || !grid) return;
    if (data.term.count === this.points.length) data.term.set({ ...this.#columns(), loss: lossOf(state.loss).make(state.scale) } as Parameters<typeof data.term.set>[0]);
    if (this.#restart) for (const one of data.parameters) one.write([state.start[one.name] ?? 1]);
    this.#restart = false;
    this.report = await data.problem.solve();
    await this.#know(data, grid);
    this.solves++;
  }

  /** What is known at the solution: errors, correlations, the band, and what each point weighs. All of it is shown at once, when the last of it is there. */
  async #know(data: Built, grid: Built): Promise<void> {
    const { state } = this.app, loss = lossOf(state.loss), { iterations, time, cost, converged, reason } = this.report!;
    const values = await Promise.all(data.parameters.map(async (one) => (await one.read({ as: "f64" }))[0]!));
    const n = values.length;
    let covariance: Float64Array | undefined, verdict: string;
    try {
      const marginals = await data.problem.marginals();
      covariance = Float64Array.from(await marginals.joint(data.parameters));
      marginals.dispose();
      verdict = `${converged ? "Converged" : `Ended: ${reason}`} after ${iterations.length} steps; cost ${cost.toPrecision(4)}, σ = ${Math.sqrt(marginals.variance).toPrecision(3)}. ± is one standard error, the band 95 %.`;
    } catch (error) {
      if (!(error instanceof LeastwiseError)) throw error;
      verdict = error.code === "rank-deficient" ? `The points don't determine all parameters: ${error.message}` : error.message;
    }
    const errors = covariance ? values.map((_, k) => Math.sqrt(covariance[k * n + k]!)) : [];
    grid.parameters.forEach((one, k) => one.write([values[k]!]));
    const { residuals, jacobian } = await grid.term.evaluate(), seen = await data.term.evaluate();
    this.values = values;
    this.errors = errors;
    this.correlations = covariance?.map((value, k) => value / (errors[Math.floor(k / n)]! * errors[k % n]!));
    this.curve = Array.from(this.#gridTimes(), (t, at) => {
      let variance = 0;
      if (covariance) for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) variance += jacobian[at * n + i]! * covariance[i * n + j]! * jacobian[at * n + j]!;
      return { t, f: residuals[at]!, se: Math.sqrt(Math.max(0, variance)) };
    });
    this.weights = Array.from(seen.residuals, (r) => loss.slope(r * r, state.scale));
    this.#verdict.textContent = verdict;
    this.#tell();
    this.app.tellFacts(`${counted(iterations.length, "step")} · ${(time.solveMs / Math.max(1, iterations.length)).toFixed(2)} ms a step · cost ${cost.toPrecision(4)} · ${counted(this.points.length, "point")}`);
    this.#plane.redraw();
  }

  #gridTimes(): Float64Array {
    const [low, high] = this.#gridRange;
    return Float64Array.from({ length: GRID }, (_, k) => low + ((high - low) * k) / (GRID - 1));
  }
  #gridRange: readonly [number, number] = [0, 1];

  /** Several starts around the given one, over powers of ten and both signs. */
  async many(): Promise<void> {
    const data = this.#data;
    if (!data || this.#busy) return;
    this.#busy = true;
    try {
      const { costs, best, report } = await data.problem.multiStart({
        starts: { count: 24, seed: 7, sample: (random) => data.parameters.map((one) => [one, [(this.app.state.start[one.name] ?? 1) * 10 ** (2 * random() - 1) * (random() < 0.3 ? -1 : 1)]] as const) },
      });
      this.report = report;
      await this.#know(data, this.#grid!);
      const near = costs.filter((cost) => cost < costs[best]! * 1.001 + 1e-12).length;
      say(`24 starts: ${near} of them end at the lowest cost, ${costs[best]!.toPrecision(4)}; the worst ends at ${Math.max(...costs.filter(Number.isFinite)).toPrecision(3)}.`);
    } catch (error) {
      this.app.failed(error);
    } finally {
      this.#busy = false;
    }
  }

  repaint(): void { this.#drawLoss(this.app.state); }

  show(state: FitState): void {
    if (document.activeElement !== this.#formulaField) this.#formulaField.value = state.formula;
    if (document.activeElement !== this.#dataField) this.#dataField.value = state.data;
    this.#controls.preset.show(PRESETS.find(({ formula }) => formula === state.formula)?.name ?? "");
    this.#controls.loss.show(state.loss);
    this.#controls.scale.show(state.scale);
    this.#controls.scale.element.hidden = state.loss === "squares";
    this.#drawLoss(state);
  }

  apply(state: FitState, before: FitState): boolean {
    const same = state.formula === before.formula && state.start === before.start;
    if (!same) return false;
    if (state.data !== before.data) {
      const { points } = parseRows(state.data);
      if (points.length !== this.points.length) return false;
      this.points = points;
    }
    // Another kind of loss is another term; its scale is live.
    if (state.loss !== before.loss) return false;
    this.solve();
    return true;
  }

  reset(): void { this.app.set({ ...DEFAULTS, backend: this.app.state.backend }); }

  project(state: FitState): { name: string; files: { [path: string]: string } } {
    const code = state.code || this.code(state), { parameters } = this.#formula!, call = state.loss === "squares" ? "undefined" : `${state.loss}(${state.scale})`;
    const main = `// ${state.formula}
${importsFor(`${code}\ninit ${call}`, [...parameters, "loss", "t", "y"])}

const rows: [number, number][] = ${JSON.stringify(this.points)};
const t = Float64Array.from(rows, ([x]) => x), y = Float64Array.from(rows, ([, y]) => y);
const loss = ${call};
const lw = await init({ backend: "cpu" });
const problem = lw.problem();
${parameters.map((name) => `const ${name} = problem.variables("${name}", { shape: 1, values: [${state.start[name] ?? 1}] });`).join("\n")}
${code}

console.log(String(await problem.solve()));
const marginals = await problem.marginals();
for (const one of [${parameters.join(", ")}]) {
  console.log(one.name, "=", (await one.read())[0], "±", (await marginals.standardErrors(one))[0]);
}
lw.dispose();
`;
    return { name: "leastwise-fit", files: { "main.ts": main } };
  }

  // ── the picture ──

  /** Where a point is in the window. */
  onScreen(k: number): { x: number; y: number } { return this.#plane.onScreen(...this.points[k]!); }

  #fit(): void {
    if (!this.points.length) return;
    this.#plane.range = { x: around(this.points.map(([x]) => x), 0.04), y: around(this.points.map(([, y]) => y), 0.12) };
    this.#gridRange = this.#plane.range.x;
  }

  #paint(context: CanvasRenderingContext2D): void {
    const plane = this.#plane, inside = this.curve.filter(({ f }) => Number.isFinite(f));
    plane.axes(context);
    const { left, right, top, bottom } = plane.margin;
    context.save();
    context.beginPath();
    context.rect(left, top, plane.width - left - right, plane.height - top - bottom);
    context.clip();
    if (inside.length) {
      context.fillStyle = colour("series-1");
      context.globalAlpha = 0.16;
      line(context, [...inside.map(({ t, f, se }) => plane.to(t, f + TWO_SIGMA * se)), ...inside.map(({ t, f, se }) => plane.to(t, f - TWO_SIGMA * se)).reverse()], { close: true, fill: true });
      context.globalAlpha = 1;
      context.strokeStyle = colour("series-1");
      context.lineWidth = 2.5;
      line(context, inside.map(({ t, f }) => plane.to(t, f)));
    }
    context.restore();
    this.points.forEach(([x, y], k) => {
      const [px, py] = plane.to(x, y), weight = this.weights[k] ?? 1;
      context.globalAlpha = 0.15 + 0.85 * Math.min(1, weight);
      context.fillStyle = colour("series-2");
      context.beginPath();
      context.arc(px, py, k === this.#chosen ? 7.5 : 5.5, 0, 2 * Math.PI);
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = weight < 0.5 ? colour("muted") : colour("stage");
      context.lineWidth = 1.5;
      context.stroke();
    });
  }

  #drawLoss(state: FitState): void {
    const canvas = this.#lossPlot, width = (canvas.width = 600), height = (canvas.height = 220), context = canvas.getContext("2d")!;
    const { rho } = lossOf(state.loss), span = 4 * (state.loss === "squares" ? 1 : state.scale), high = (span / 2) ** 2;
    context.lineWidth = 4;
    for (const [f, name] of [[(s: number) => s, "line"], [(s: number) => rho(s, state.scale), "series-4"]] as const) {
      context.strokeStyle = colour(name);
      line(context, Array.from({ length: 101 }, (_, k) => { const r = (k / 50 - 1) * span; return [(k / 100) * width, height - 8 - (Math.min(f(r * r), 1.3 * high) / high) * (height - 16)] as const; }));
    }
  }

  #tell(): void {
    const { parameters } = this.#formula!, n = parameters.length;
    this.#table.replaceChildren(...parameters.map((name, k) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, this.values[k]!.toPrecision(5)), el("td", {}, this.errors.length ? `± ${this.errors[k]!.toPrecision(2)}` : "± ?"))));
    const cell = (i: number, j: number) => {
      const value = this.correlations![i * n + j]!;
      return el("td", { style: `background: color-mix(in srgb, var(${value > 0 ? "--series-2" : "--series-1"}) ${Math.round(Math.abs(value) * 70)}%, transparent)` }, value.toFixed(2));
    };
    this.#matrix.replaceChildren(...(this.correlations ? [el("tr", {}, el("th"), ...parameters.map((name) => el("th", {}, name))), ...parameters.map((name, i) => el("tr", {}, el("th", { scope: "row" }, name), ...parameters.map((_, j) => cell(i, j))))] : []));
  }

  // ── pointing ──

  #chosen = -1;

  #pointing(): void {
    const { canvas } = this.#plane;
    let held = false;
    const near = (event: PointerEvent | MouseEvent) => {
      const far = this.points.map(([x, y]) => { const at = this.#plane.onScreen(x, y); return Math.hypot(at.x - event.clientX, at.y - event.clientY); });
      const best = far.indexOf(Math.min(...far));
      return best >= 0 && far[best]! < REACH ? best : -1;
    };
    canvas.onpointerdown = (event) => {
      this.#chosen = near(event);
      this.#plane.redraw();
      if (this.#chosen < 0) return;
      this.app.remember();
      held = true;
      canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointermove = (event) => {
      if (!held) { canvas.style.cursor = near(event) >= 0 ? "grab" : ""; return; }
      this.#move(this.#plane.from(event));
    };
    canvas.onpointerup = canvas.onpointercancel = () => { if (held) this.#keep(); held = false; };
    canvas.ondblclick = (event) => {
      if (near(event) >= 0) return;
      this.app.set({ data: rowsOf([...this.points, this.#plane.from(event)].sort(([a], [b]) => a - b)) });
    };
    canvas.onkeydown = (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key], point = this.points[this.#chosen];
      if (event.key === "n") { this.#chosen = (this.#chosen + 1) % this.points.length; this.#plane.redraw(); }
      else if ((event.key === "Delete" || event.key === "Backspace") && point) { this.app.set({ data: rowsOf(this.points.filter((one) => one !== point)) }); this.#chosen = -1; }
      else if (step && point) {
        const { x, y } = this.#plane.range;
        this.app.remember();
        this.#move([point[0] + (step[0]! * (x[1] - x[0])) / 100, point[1] + (step[1]! * (y[1] - y[0])) / 100]);
        this.#keep();
      } else return;
      event.preventDefault();
    };
  }

  #move(to: [number, number]): void {
    this.points[this.#chosen] = to;
    this.#plane.redraw();
    this.solve();
  }

  #keep(): void { this.app.set({ data: rowsOf(this.points) }, { undoable: false }); }
}

new App<FitState>(DEFAULTS, (app) => {
  const page = new FitPage(app);
  return expose(app, page);
}, { live: false });
