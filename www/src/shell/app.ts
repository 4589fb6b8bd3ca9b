/** The frame of a page: stage, panel, buttons and strip, the state in the address, and the engine behind them. */
import { LeastwiseError, type Engine } from "leastwise";
import { Chart } from "./chart.js";
import { CodeError } from "./code.js";
import { byId, button, choice, el, iconButton, settled } from "./dom.js";
import { Editor } from "./editor.js";
import { BACKENDS, openEngine, withoutWebGpu, type Backend, type Found } from "./engines.js";
import { Loop, type Progress, type Running } from "./loop.js";
import { mark } from "./marks.js";
import { complain, say, settle, tell, watchErrors } from "./notices.js";
import { giveProject, type Project } from "./project.js";
import { onTheme, themeButton } from "./theme.js";
import { decode, encode, type State } from "./url.js";

const UNDONE = 100;
const DRAWING = "Drawing…";
/** Below this width or height the panel folds away. */
const NARROW = "(max-width: 760px), (max-height: 480px)";

/** The part of a state that every page has. */
export interface CommonState extends State { readonly backend: Backend; readonly code: string }

export interface Page<S extends CommonState> {
  /** Sets up what is needed once an engine is there: the picture, which is drawn before anything is solved. */
  open(engine: Engine): Promise<void> | void;
  /** Frees that. */
  close(): void;
  /** The problem of the state. Throws a {@link CodeError} where the code is at fault: then the old one goes on. */
  /** Undefined for a page that solves on demand instead of in every frame. */
  build(state: S): Promise<Running | undefined>;
  /** Called when the new problem's loop is there, and has taken the place of the old one. */
  started?(): Promise<void> | void;
  draw?(now: number): void;
  /** Takes the theme's colours anew. */
  repaint?(): void;
  /** Shows the state in the controls. */
  show(state: S): void;
  /** Takes over a state that the visitor went back to, or false if that takes another problem. */
  apply(state: S, before: S): boolean;
  /** The page's own code for a state, if it has one. */
  code?(state: S): string;
  project?(state: S): Promise<Project> | Project;
  reset(): void;
  /** More to be said in the strip. */
  strip?(progress: Progress): string;
}

export class App<S extends CommonState> {
  readonly stage = el("div", { class: "stage" });
  readonly controls = el("div", { class: "tab" });
  /** Buttons of the page's own, before the common ones. */
  readonly tools = el("div", { class: "tools" });
  readonly chart = new Chart();
  readonly editor: Editor | undefined;
  readonly defaults: S;
  state: S;
  engine: Engine | undefined;
  loop: Loop | undefined;
  /** How often a problem was built. */
  built = 0;
  readonly #page: Page<S>;
  readonly #panel = el("aside", { class: "panel", "aria-label": "Settings" });
  readonly #play = iconButton("pause", "Pause", () => this.#toggle());
  readonly #undo = iconButton("undo", "Undo", () => this.undo());
  readonly #rewind = iconButton("rewind", "Rewind to the last checkpoint", () => void this.#goBack().catch(complain));
  readonly #facts = { cost: el("b", {}, "–"), step: el("b", {}, "–"), more: el("span"), why: el("p", { class: "fine" }) };
  readonly #backend = choice("Backend", BACKENDS.map((name) => [name, { auto: "Automatic", webgpu: "WebGPU", cpu: "CPU" }[name]] as const), (backend) => this.set({ backend } as Partial<S>));
  readonly #past: string[] = [];
  readonly #write = settled(250, () => history.replaceState(null, "", encode(this.state, this.defaults) || location.pathname + location.search));
  #working: Promise<void> = Promise.resolve();
  #compiling = true;
  #notice = "";

  constructor(defaults: S, page: (app: App<S>) => Page<S>, { live = true, code = true }: { live?: boolean; code?: boolean } = {}) {
    watchErrors();
    themeButton();
    this.defaults = defaults;
    this.state = decode(location.hash, defaults);
    if (!BACKENDS.includes(this.state.backend)) this.state = { ...this.state, backend: defaults.backend };
    // It loads while the page is laid out and makes its mesh.
    const opening = openEngine(this.state.backend);
    opening.catch(() => {});
    if (code) this.editor = new Editor((source) => this.#edited(source), () => this.#page.code?.(this.state) ?? "", () => this.copy());
    this.#layout(live);
    this.#page = page(this);
    this.#page.show(this.state);
    onTheme(() => { this.#page.repaint?.(); this.loop?.draw(); });
    addEventListener("hashchange", () => location.reload());
    addEventListener("visibilitychange", () => this.#seen());
    addEventListener("keydown", (event) => this.#key(event));
    void this.#restart(opening);
  }

  /** Changes the state by hand of the visitor; what it means is the page's affair. Undo comes back to before. */
  set(changes: Partial<S>, { undoable = true } = {}): void {
    const before = this.state, next = { ...before, ...changes };
    if (JSON.stringify(before) === JSON.stringify(next)) return;
    if (undoable) this.remember();
    this.#take(next, before);
  }

  /** Marks a place that undo comes back to. */
  remember(): void {
    const text = JSON.stringify(this.state);
    if (this.#past.at(-1) !== text) this.#past.push(text);
    if (this.#past.length > UNDONE) this.#past.shift();
    this.#undo.disabled = false;
  }

  undo(): void {
    const text = this.#past.pop();
    this.#undo.disabled = this.#past.length === 0;
    if (text !== undefined) this.#take(JSON.parse(text) as S, this.state);
  }

  /** What was edited is in the next frame. */
  wake(): void { this.loop?.wake(); }

  /** Builds the problem anew; what runs goes on if that fails. */
  rebuild(): Promise<void> {
    this.#working = this.#working.then(() => this.#build());
    return this.#working;
  }

  /** Does `work` after what is being built. */
  after(work: () => Promise<void>): Promise<void> {
    this.#working = this.#working.then(work).catch((error) => this.#failed(error));
    return this.#working;
  }

  /** What the strip says of a page without a loop. */
  tellFacts(text: string): void { this.#facts.more.textContent = text; }

  copy(): void { void Promise.resolve(this.#page.project?.(this.state)).then((project) => project && giveProject(project)).catch(complain); }

  #take(next: S, before: S): void {
    this.state = next;
    this.#write();
    this.#page.show(next);
    if (next.backend !== before.backend) void this.#restart();
    else if (!this.#page.apply(next, before) || next.code !== before.code) void this.rebuild();
    else this.wake();
  }

  #edited(source: string): void {
    const own = this.#page.code?.(this.state) ?? "";
    this.set({ code: source === own ? "" : source } as Partial<S>);
  }

  async #restart(opening?: Promise<Found>): Promise<void> {
    this.#working = this.#working.then(() => this.#open(opening));
    await this.#working;
    await this.rebuild();
  }

  async #open(opening?: Promise<Found>): Promise<void> {
    try {
      say("Loading the solver…");
      const { engine, why } = await (opening ?? openEngine(this.state.backend));
      await this.loop?.dispose();
      this.loop = undefined;
      if (this.engine) this.#page.close();
      this.engine?.dispose();
      this.engine = engine;
      this.#tellBackend(engine, why);
      void engine.lost.then((error) => { if (this.engine === engine) this.#lost(error); });
      say(DRAWING);
      await this.#page.open(engine);
    } catch (thrown) {
      complain(thrown, { label: "Use the CPU", act: () => this.set({ backend: "cpu" } as Partial<S>) });
    }
  }

  async #build(): Promise<void> {
    const { engine } = this;
    if (!engine) return;
    const source = this.state.code || (this.#page.code?.(this.state) ?? "");
    this.editor?.show(source);
    try {
      // What the page finds wrong with the new state is said after this.
      settle();
      const running = await this.#page.build(this.state);
      const playing = this.loop?.playing ?? true;
      await this.loop?.dispose();
      this.loop = undefined;
      this.built++;
      this.#compiling = true;
      this.chart.clear();
      this.editor?.error(undefined);
      if (this.#notice) tell(this.#notice);
      this.#notice = "";
      if (!running) {
        if (byId("status").textContent === DRAWING) say("");
        await this.#page.started?.();
        return mark("interactive");
      }
      say("Compiling kernels… the picture is already live.");
      this.loop = new Loop(engine, running, { draw: (now) => this.#page.draw?.(now), shown: (progress) => this.#shown(progress), failed: (thrown) => this.#failed(thrown), note: () => this.state });
      this.loop.playing = playing;
      this.#showPlay();
      await this.#page.started?.();
      (this.loop as Loop | undefined)?.draw();
    } catch (thrown) {
      if (!(thrown instanceof CodeError)) return this.#failed(thrown);
      this.editor?.error(thrown);
      tell(`The code does not run${thrown.line ? `, line ${thrown.line}` : ""}: ${thrown.message}`, { label: "Show the code", act: () => this.#openTab("code") });
    }
  }

  /** Something that a page asked for failed: told at its line, if it has one. */
  failed(thrown: unknown): void { this.#failed(thrown); }

  #failed(thrown: unknown): void {
    // A lost device is noticed by itself, and the page goes on without it.
    if (thrown instanceof LeastwiseError && thrown.code === "device-lost") return;
    if (thrown instanceof CodeError) this.editor?.error(thrown);
    complain(thrown, { label: "Start again", act: () => void this.#restart() }, ...(this.engine?.backend === "cpu" ? [] : [{ label: "Use the CPU", act: () => this.set({ backend: "cpu" } as Partial<S>) }]));
  }

  #lost(error: Error): void {
    this.#notice = `The GPU device was lost (${error.message}). The page went on from its state, on the CPU.`;
    this.state = { ...this.state, backend: "cpu" };
    this.#page.show(this.state);
    this.#write();
    void this.#restart();
  }

  /** Hidden tabs get no frames, so nothing runs there. */
  #seen(): void {
    const moving = this.loop !== undefined && this.loop.playing && !this.loop.resting;
    if (document.hidden) this.#left = moving;
    else if (this.#left) say("It paused while the tab was hidden, and goes on.");
    if (!document.hidden) this.loop?.draw();
  }
  #left = false;

  #shown(progress: Progress): void {
    const { cost, stepMs, steps, costs } = progress;
    if (this.#compiling && !progress.compiling) { this.#compiling = false; say(""); mark("interactive"); }
    this.#facts.cost.textContent = cost === undefined ? "–" : cost.toPrecision(4);
    this.#facts.step.textContent = stepMs === undefined ? "…" : stepMs < 10 ? stepMs.toFixed(2) : stepMs.toFixed(0);
    this.#facts.more.textContent = this.#page.strip?.(progress) ?? "";
    this.#rewind.disabled = !this.loop?.checkpoints;
    if (cost !== undefined && this.#last !== costs) { this.#last = costs; this.chart.push(steps, costs); }
  }
  #last: unknown;

  #tellBackend(engine: Engine, why?: string): void {
    this.#backend.show(this.state.backend);
    const gpu = [...this.#backend.select.options].find(({ value }) => value === "webgpu")!;
    gpu.disabled = withoutWebGpu !== undefined;
    gpu.textContent = withoutWebGpu ? "WebGPU (not available)" : "WebGPU";
    this.#facts.why.textContent = `${engine.backend === "cpu" ? "CPU" : "WebGPU"}, ${engine.precision}: ${why ?? engine.reason}${engine.device ? `; ${engine.adapter}` : ""}`;
    this.#name.textContent = engine.backend === "cpu" ? "CPU" : "WebGPU";
  }
  readonly #name = el("b", {}, "…");

  async #goBack(): Promise<void> {
    const note = await this.loop?.rewind();
    this.#showPlay();
    if (note === undefined) return;
    const before = this.state;
    this.state = note as S;
    this.#write();
    this.#page.show(this.state);
    this.#page.apply(this.state, before);
    this.loop?.draw();
  }

  #toggle(): void {
    if (!this.loop) return;
    if (this.loop.playing) this.loop.pause();
    else this.loop.play();
    this.#showPlay();
  }

  #showPlay(): void {
    const playing = this.loop?.playing ?? true, [name, label] = playing ? ["pause", "Pause"] as const : ["play", "Play"] as const;
    const fresh = iconButton(name, label, () => {});
    this.#play.replaceChildren(...fresh.children);
    this.#play.setAttribute("aria-label", label);
    this.#play.title = label;
  }

  #key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (target.closest("input, select, textarea, .cm-editor, [contenteditable]") || event.altKey) return;
    if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.undo(); }
    else if (event.ctrlKey || event.metaKey) return;
    else if (event.key === " " && !target.closest("button, a")) { event.preventDefault(); this.#toggle(); }
    else if (event.key === ".") { void this.loop?.step().then(() => this.#showPlay()).catch(complain); this.#showPlay(); }
    else if (event.key === ",") void this.#goBack().catch(complain);
  }

  // ── layout ──

  readonly #tabs = new Map<string, { readonly tab: HTMLButtonElement; readonly body: HTMLElement }>();

  #openTab(name: string): void {
    for (const [one, { tab, body }] of this.#tabs) {
      tab.setAttribute("aria-selected", String(one === name));
      body.hidden = one !== name;
    }
    this.#panel.classList.remove("folded");
    if (name === "code") void this.editor?.open().catch(complain);
  }

  #layout(live: boolean): void {
    const bodies: [string, string, HTMLElement][] = [["settings", "Settings", this.controls]];
    if (live) bodies.push(["chart", "Chart", el("div", { class: "tab" }, this.chart.element, el("p", { class: "fine" }, "Costs are read back about three times a second."))]);
    if (this.editor) bodies.push(["code", "Code", el("div", { class: "tab" }, this.editor.element)]);
    const list = el("div", { class: "tabs", role: "tablist" });
    for (const [name, label, body] of bodies) {
      const tab = el("button", { type: "button", role: "tab", "aria-selected": String(name === "settings"), "aria-controls": `tab-${name}`, onclick: () => this.#openTab(name) }, label);
      body.id = `tab-${name}`;
      body.hidden = name !== "settings";
      body.setAttribute("role", "tabpanel");
      this.#tabs.set(name, { tab, body });
      list.append(tab);
    }
    const fold = iconButton("sheet", "Fold or unfold the panel", () => this.#panel.classList.toggle("folded"));
    fold.classList.add("fold");
    list.append(fold);
    const folded = matchMedia(NARROW);
    if (folded.matches) this.#panel.classList.add("folded");
    const share = button("Copy link", () => void navigator.clipboard.writeText(location.href).then(() => say("The link has everything that this page shows."), () => say(location.href)));
    this.#panel.append(list, ...bodies.map(([, , body]) => body), el("div", { class: "tab common" }, this.#backend.element, this.#facts.why, el("div", { class: "buttons" }, share)));
    this.#undo.disabled = this.#rewind.disabled = true;
    const step = iconButton("step", "One step", () => { void this.loop?.step().then(() => this.#showPlay()).catch((error) => this.#failed(error)); this.#showPlay(); });
    const common = live ? [this.#play, step, this.#rewind] : [];
    const buttons = el("div", { class: "buttons", role: "toolbar", "aria-label": "Playing" }, ...common, iconButton("reset", "Reset", () => { this.remember(); this.#page.reset(); }), this.#undo);
    const facts = [el("span", {}, this.#name), ...(live ? [el("span", {}, this.#facts.step, " ms a step"), el("span", {}, "cost ", this.#facts.cost)] : []), this.#facts.more];
    const strip = el("div", { class: "strip" }, buttons, el("p", { class: "facts", id: "facts" }, ...facts.flatMap((one) => [one, " "])));
    byId("app").append(el("div", { class: "middle" }, this.stage, this.tools, strip), this.#panel);
  }

  /** Opens a tab of the panel: `"settings"`, `"chart"` or `"code"`. */
  open(name: "settings" | "chart" | "code"): void { this.#openTab(name); }
}

declare global {
  /** What the browser tests look at and take hold of. */
  interface Window { leastwisePage?: { app: unknown; page: unknown } }
}

/** Shows a page to the browser tests. */
export function expose<P>(app: unknown, page: P): P {
  window.leastwisePage = { app, page };
  return page;
}
