/** The sketch page: points, lines and circles, held by constraints. */
import { LeastwiseError, type Engine } from "leastwise";
import type { SketchResult } from "leastwise/sketch";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import { button, el, note, section, segments } from "../shell/dom.js";
import { say, tell } from "../shell/notices.js";
import { colour } from "../shell/theme.js";
import { counted } from "../shell/words.js";
import { line, Plane } from "../scene/plane.js";
import { ALLOWED, FIRST, lettersOf, measure, NAMES, nameOf, parseModel, solveModel, VALUED, type Kind, type Model } from "./model.js";

export interface SketchState extends CommonState { readonly model: string }

type Tool = "select" | "point" | "line" | "circle";
const rounded = (model: Model): string => JSON.stringify({ ...model, points: model.points.map(([x, y, fixed]) => [Number(x.toFixed(5)), Number(y.toFixed(5)), fixed]), circles: model.circles.map(([at, radius]) => [at, Number(radius.toFixed(5))]) });
const DEFAULTS: SketchState = { backend: "cpu", code: "", model: rounded(FIRST) };
const REACH = 16;

class SketchPage implements Page<SketchState> {
  model: Model = FIRST;
  result: SketchResult | undefined;
  selected: string[] = [];
  solves = 0;
  #tool: Tool = "select";
  #from: number | undefined;
  #busy = false;
  #again: { held: number | undefined } | undefined;
  readonly #plane: Plane;
  readonly #allowed = el("div", { class: "buttons" });
  readonly #list = el("ol", { class: "constraints" });
  readonly #verdict = el("p", { class: "verdict", role: "status" });
  readonly #tools;

  constructor(private readonly app: App<SketchState>) {
    this.#plane = new Plane(app.stage, "The sketch", (context) => this.#paint(context), true);
    this.#plane.range = { x: [-4.5, 4.5], y: [-3.2, 3.2] };
    this.#tools = segments<Tool>("Tool", [["select", "Select"], ["point", "Point"], ["line", "Line"], ["circle", "Circle"]], (tool) => { this.#tool = tool; this.#from = undefined; this.select([]); });
    this.#tools.show("select");
    app.tools.append(this.#tools.element);
    app.controls.append(this.#verdict,
      section("Selected", this.#allowed, note("Click to select, with Shift to add. Drag points; Delete removes.")),
      section("Constraints", this.#list),
      el("div", { class: "buttons" }, button("Empty sheet", () => app.set({ model: rounded({ points: [], lines: [], circles: [], constraints: [] }) }))));
    this.#pointing();
    this.#read(app.state);
  }

  open(_engine: Engine): void {}
  close(): void {}
  async build(state: SketchState): Promise<undefined> { this.#read(state); return undefined; }
  async started(): Promise<void> { await this.solve(); }
  show(): void {}

  apply(state: SketchState, before: SketchState): boolean {
    if (state.model === before.model) return true;
    if (state.model !== rounded(this.model)) { this.#read(state); this.select(this.selected.filter((ref) => this.#there(ref))); }
    void this.solve();
    return true;
  }

  reset(): void { this.app.set({ model: DEFAULTS.model }); }

  #read({ model }: SketchState): void {
    const read = parseModel(model);
    if (!read) tell("The link's sketch can't be read: here is the first one.");
    this.model = read ?? FIRST;
  }

  #there(ref: string): boolean { return ({ p: this.model.points, l: this.model.lines, c: this.model.circles } as Record<string, readonly unknown[]>)[ref[0]!]![Number(ref.slice(1))] !== undefined; }

  /** Another model, which is solved and goes to the address. */
  #change(model: Model): void { this.model = model; this.app.set({ model: rounded(model) }); }

  /** Solves from where the points are; asked for while it does, it does so once more. */
  async solve(held?: number): Promise<void> {
    if (this.#busy) { this.#again = { held }; return; }
    this.#busy = true;
    try {
      for (let next: { held: number | undefined } | undefined = { held }; next; next = this.#again) {
        this.#again = undefined;
        const { model } = this, { result, model: solved } = await solveModel(this.app.engine!, model, next.held);
        this.solves++;
        this.result = result;
        // What was moved by hand meanwhile is solved for in the next turn.
        if (model === this.model) this.model = solved;
        this.#tell();
      }
    } catch (error) {
      if (error instanceof LeastwiseError && error.code === "invalid-option") tell(error.message);
      else this.app.failed(error);
    } finally {
      this.#busy = false;
    }
  }

  // ── what is said ──

  #tell(): void {
    const { result, model } = this, bad = this.#marked("conflicting"), idle = this.#marked("redundant");
    const free = result?.degreesOfFreedom ?? 0;
    this.#verdict.className = `verdict ${bad.size ? "bad" : ""}`;
    this.#verdict.textContent = bad.size ? "Some constraints contradict each other." : free ? `${free} ${free === 1 ? "degree" : "degrees"} of freedom are left.` : "Fully constrained.";
    this.#list.replaceChildren(...model.constraints.map((constraint, k) => {
      const name = nameOf(k, constraint), [kind, refs, value] = constraint, state = bad.has(name) ? "bad" : idle.has(name) ? "idle" : "";
      const because = [...(result?.conflicting ?? []), ...(result?.redundant ?? [])].find((one) => one.constraint === name)?.because;
      const degrees = kind === "angle" ? 180 / Math.PI : 1;
      const field = VALUED.has(kind) && el("input", { type: "number", step: "any", value: String(Number((value! * degrees).toFixed(3))), "aria-label": `${name}: ${kind === "angle" ? "degrees" : "length"}`, onchange: (event: Event) => this.#value(k, Number((event.target as HTMLInputElement).value) / degrees) });
      return el("li", { class: state, onmouseenter: () => this.#light(refs), onmouseleave: () => this.#light([]) },
        el("span", {}, `${name} `, el("small", {}, refs.join(" ")), because?.length ? el("small", { class: "because" }, `${state === "bad" ? "contradicts" : "follows from"} ${because.join(", ")}`) : undefined),
        field, el("button", { type: "button", class: "icon", "aria-label": `Remove ${name}`, onclick: () => this.#change({ ...this.model, constraints: this.model.constraints.filter((_, at) => at !== k) }) }, "×"));
    }));
    this.app.tellFacts(`${counted(free, "degree of freedom", "degrees of freedom")} · ${counted(model.constraints.length, "constraint")} · ${result?.redundant.length ?? 0} redundant · ${result?.conflicting.length ?? 0} conflicting`);
    this.#plane.redraw();
  }

  #marked(which: "conflicting" | "redundant"): Set<string> { return new Set((this.result?.[which] ?? []).flatMap(({ constraint, because }) => which === "conflicting" ? [constraint, ...because] : [constraint])); }

  #value(k: number, value: number): void {
    if (!Number.isFinite(value)) return;
    this.#change({ ...this.model, constraints: this.model.constraints.map((one, at) => (at === k ? [one[0], one[1], value] as const : one)) });
  }

  #lit: readonly string[] = [];
  #light(refs: readonly string[]): void { this.#lit = refs; this.#plane.redraw(); }

  select(refs: string[]): void {
    this.selected = refs;
    const kinds = ALLOWED[lettersOf(refs)] ?? [], points = refs.filter((ref) => ref.startsWith("p")).map((ref) => Number(ref.slice(1)));
    const fix = refs.length && points.length === refs.length && button(points.every((k) => this.model.points[k]![2]) ? "Let go" : "Fix", () => this.fix(points));
    this.#allowed.replaceChildren(...kinds.map((kind) => button(NAMES[kind], () => this.constrain(kind))), ...(fix ? [fix] : []), ...(refs.length ? [button("Delete", () => this.remove())] : [note("Nothing is selected.")]));
    this.#plane.redraw();
  }

  fix(points: readonly number[]): void {
    const fixed = points.every((k) => this.model.points[k]![2]) ? 0 : 1;
    this.#change({ ...this.model, points: this.model.points.map(([x, y, was], k) => [x, y, points.includes(k) ? fixed : was]) });
    this.select([...this.selected]);
  }

  /** Adds a constraint of what is selected, with the value that holds now. */
  constrain(kind: Kind): void {
    const refs = this.selected, value = VALUED.has(kind) ? Number(measure(this.model, kind, refs).toFixed(3)) : null;
    this.#change({ ...this.model, constraints: [...this.model.constraints, [kind, refs, value]] });
    this.select([]);
  }

  /** Removes what is selected, and what hangs on it. */
  remove(): void {
    const gone = new Set(this.selected), { model } = this;
    model.lines.forEach(([a, b], k) => { if (gone.has(`p${a}`) || gone.has(`p${b}`)) gone.add(`l${k}`); });
    model.circles.forEach(([at], k) => { if (gone.has(`p${at}`)) gone.add(`c${k}`); });
    const number = (letter: string, count: number) => { let next = 0; return Array.from({ length: count }, (_, k) => (gone.has(`${letter}${k}`) ? -1 : next++)); };
    const to: Record<string, number[]> = { p: number("p", model.points.length), l: number("l", model.lines.length), c: number("c", model.circles.length) };
    const kept = <T>(letter: string, list: readonly T[]) => list.filter((_, k) => to[letter]![k]! >= 0);
    const renamed = (ref: string) => `${ref[0]}${to[ref[0]!]![Number(ref.slice(1))]}`;
    this.select([]);
    this.#change({
      points: kept("p", model.points), lines: kept("l", model.lines).map(([a, b]) => [to.p![a]!, to.p![b]!]), circles: kept("c", model.circles).map(([at, radius]) => [to.p![at]!, radius]),
      constraints: model.constraints.filter(([, refs]) => !refs.some((ref) => gone.has(ref))).map(([kind, refs, value]) => [kind, refs.map(renamed), value]),
    });
  }

  // ── pointing ──

  /** What is under a point of the window: points before circles before lines. */
  #under(event: { clientX: number; clientY: number }): string | undefined {
    const { points, lines, circles } = this.model, plane = this.#plane, at = [event.clientX, event.clientY] as const;
    const place = (k: number) => { const p = plane.onScreen(points[k]![0], points[k]![1]); return [p.x, p.y] as const; };
    const far = (p: readonly [number, number]) => Math.hypot(p[0] - at[0], p[1] - at[1]);
    const nearest = (letter: string, count: number, distance: (k: number) => number, reach: number) => {
      let best: string | undefined, least = reach;
      for (let k = 0; k < count; k++) { const d = distance(k); if (d < least) { least = d; best = `${letter}${k}`; } }
      return best;
    };
    return nearest("p", points.length, (k) => far(place(k)), REACH)
      ?? nearest("c", circles.length, (k) => Math.abs(far(place(circles[k]![0])) - circles[k]![1] / plane.unit), REACH * 0.6)
      ?? nearest("l", lines.length, (k) => {
        const [a, b] = lines[k]!.map(place) as [readonly [number, number], readonly [number, number]], d = [b[0] - a[0], b[1] - a[1]] as const;
        const t = Math.min(1, Math.max(0, ((at[0] - a[0]) * d[0] + (at[1] - a[1]) * d[1]) / (d[0] ** 2 + d[1] ** 2 || 1)));
        return far([a[0] + t * d[0], a[1] + t * d[1]]);
      }, REACH * 0.6);
  }

  #pointing(): void {
    const { canvas } = this.#plane;
    let dragged: number | undefined, moved = false;
    canvas.onpointerdown = (event) => {
      if (event.button !== 0) return;
      const under = this.#under(event), place = this.#plane.from(event);
      if (this.#tool !== "select") return this.#draw(under, place);
      if (!under) { if (!event.shiftKey) this.select([]); return; }
      // Fingers have no Shift: another tap adds, until the sheet is tapped.
      const adds = event.shiftKey || event.pointerType === "touch";
      this.select(this.selected.includes(under) ? this.selected.filter((ref) => ref !== under) : adds ? [...this.selected, under] : [under]);
      if (under.startsWith("p") && !this.model.points[Number(under.slice(1))]![2]) { dragged = Number(under.slice(1)); moved = false; canvas.setPointerCapture(event.pointerId); }
    };
    canvas.onpointermove = (event) => {
      if (dragged === undefined) { canvas.style.cursor = this.#tool === "select" ? (this.#under(event) ? "pointer" : "") : "crosshair"; return; }
      if (!moved) this.app.remember();
      moved = true;
      const [x, y] = this.#plane.from(event);
      this.model = { ...this.model, points: this.model.points.map((point, k) => (k === dragged ? [x, y, point[2]] : point)) };
      this.#plane.redraw();
      void this.solve(dragged);
    };
    canvas.onpointerup = canvas.onpointercancel = () => {
      if (dragged !== undefined && moved) void this.solve().then(() => this.app.set({ model: rounded(this.model) }, { undoable: false }));
      dragged = undefined;
    };
    canvas.onkeydown = (event) => {
      if (event.key === "Delete" || event.key === "Backspace") this.remove();
      else if (event.key === "Escape") { this.#from = undefined; this.select([]); }
      else if (event.key === "n") {
        const all = [...this.model.points.map((_, k) => `p${k}`), ...this.model.lines.map((_, k) => `l${k}`), ...this.model.circles.map((_, k) => `c${k}`)];
        if (all.length) this.select([all[(all.indexOf(this.selected.at(-1) ?? "") + 1) % all.length]!]);
      } else return;
      event.preventDefault();
    };
  }

  /** A click with one of the drawing tools. */
  #draw(under: string | undefined, [x, y]: [number, number]): void {
    const on = under?.startsWith("p") ? Number(under.slice(1)) : undefined, { model } = this;
    const points = on === undefined ? [...model.points, [x, y, 0] as const] : model.points, at = on ?? points.length - 1;
    if (this.#tool === "point") { if (on === undefined) this.#change({ ...model, points }); return; }
    if (this.#from === undefined) {
      this.#from = at;
      if (on === undefined) this.#change({ ...model, points });
      say(this.#tool === "line" ? "Now the other end." : "Now a point that the circle goes through.");
      return;
    }
    const from = this.#from;
    this.#from = undefined;
    if (this.#tool === "line") { if (from !== at) this.#change({ ...model, points, lines: [...model.lines, [from, at]] }); return; }
    const [cx, cy] = model.points[from]!, radius = Math.hypot(x - cx, y - cy);
    if (radius > 0) this.#change({ ...model, circles: [...model.circles, [from, radius]] });
  }

  // ── the picture ──

  /** Where a point is in the window. */
  onScreen(k: number): { x: number; y: number } { return this.#plane.onScreen(this.model.points[k]![0], this.model.points[k]![1]); }

  #paint(context: CanvasRenderingContext2D): void {
    const { points, lines, circles, constraints } = this.model, plane = this.#plane, place = (k: number) => plane.to(points[k]![0], points[k]![1]);
    plane.margin = { left: 20, right: 20, top: 64, bottom: 20 };
    const refs = (names: Set<string>) => new Set(constraints.flatMap((one, k) => (names.has(nameOf(k, one)) ? one[1] : [])));
    const bad = refs(this.#marked("conflicting")), idle = refs(this.#marked("redundant"));
    const free = (this.result?.degreesOfFreedom ?? 1) > 0;
    const pen = (ref: string) => {
      const is = this.selected.includes(ref) || this.#lit.includes(ref);
      context.strokeStyle = context.fillStyle = colour(bad.has(ref) ? "error" : is ? "handle" : idle.has(ref) ? "series-5" : free ? "series-1" : "ink");
      context.lineWidth = is || bad.has(ref) ? 3.5 : 2;
      context.shadowColor = bad.has(ref) ? "#ff3020" : idle.has(ref) ? "#e0b000" : "transparent";
      context.shadowBlur = bad.has(ref) || idle.has(ref) ? 12 : 0;
    };
    circles.forEach(([at, radius], k) => { pen(`c${k}`); context.beginPath(); context.arc(...place(at), radius / plane.unit, 0, 2 * Math.PI); context.stroke(); });
    lines.forEach(([a, b], k) => { pen(`l${k}`); line(context, [place(a), place(b)]); });
    points.forEach(([, , fixed], k) => {
      pen(`p${k}`);
      const [x, y] = place(k);
      context.beginPath();
      if (fixed) context.rect(x - 5.5, y - 5.5, 11, 11); else context.arc(x, y, 5, 0, 2 * Math.PI);
      context.fill();
    });
    context.shadowBlur = 0;
    context.textAlign = "center";
    for (const [kind, of, value] of constraints) {
      if (value === null) continue;
      const middles = of.map((ref) => { const k = Number(ref.slice(1)); return ref[0] === "p" ? place(k) : ref[0] === "c" ? [place(circles[k]![0])[0], place(circles[k]![0])[1] - circles[k]![1] / plane.unit] as const : [0, 1].map((axis) => (place(lines[k]![0])[axis]! + place(lines[k]![1])[axis]!) / 2) as unknown as [number, number]; });
      const [x, y] = [0, 1].map((axis) => middles.reduce((sum, one) => sum + one[axis]!, 0) / middles.length) as [number, number];
      const text = kind === "angle" ? `${((value * 180) / Math.PI).toFixed(0)}°` : `${kind === "radius" ? "R" : ""}${Number(value.toFixed(3))}`, wide = context.measureText(text).width;
      context.fillStyle = colour("stage");
      context.fillRect(x - wide / 2 - 3, y - 9, wide + 6, 18);
      context.fillStyle = colour("muted");
      context.fillText(text, x, y + 4);
    }
  }
}

new App<SketchState>(DEFAULTS, (app) => expose(app, new SketchPage(app)), { live: false, code: false });
