/** The mesh page: one viewer, many energies. */
import { column, type Data, type Engine, type Term, type Values, type Variables, type Vec3 } from "leastwise";
import { edgeLengths, hinges, type Mesh } from "leastwise/mesh";
import * as THREE from "three/webgpu";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import { runCode, weigh, type Made } from "../shell/code.js";
import { button, choice, el, note, section, segments, slider } from "../shell/dom.js";
import type { Running } from "../shell/loop.js";
import { complain, say, tell } from "../shell/notices.js";
import { importsFor } from "../shell/project.js";
import { colour } from "../shell/theme.js";
import { costs, curvatures, diverging, hot, strains, type Colouring } from "../scene/colouring.js";
import { CHOICES, faults, generate, MOST_VERTICES, read, smaller, type MeshId, type Model } from "../scene/meshes.js";
import { linear, View } from "../scene/view.js";
import { codeOf, ENERGIES, isEnergy } from "./energies.js";
import { handleOf, Knobs, middle, parse, targets, write, type Handle } from "./handles.js";
import { point, type Tool } from "./pointing.js";

export interface MeshState extends CommonState {
  readonly mesh: string;
  readonly energy: string;
  /** Handles as text; empty for those that the page chooses. */
  readonly handles: string;
  readonly selected: number;
  /** Factors of the terms' weights, where they are not 1. */
  readonly weights: { readonly [term: string]: number };
  readonly colour: string;
}

const DEFAULTS: MeshState = { backend: "auto", code: "", mesh: "bunny", energy: "arap", handles: "", selected: 1, weights: {}, colour: "plain" };
/** How strongly handles hold. */
const PULL = 5;
/** How far around a clicked vertex its handle reaches. */
const REACH = 0.045;
const KEY_STEP = 0.03;
const KEY_TURN = Math.PI / 24;
const STEPS: { readonly [key: string]: readonly [number, number, number] } = { ArrowLeft: [-1, 0, 0], ArrowRight: [1, 0, 0], ArrowUp: [0, 1, 0], ArrowDown: [0, -1, 0], PageUp: [0, 0, -1], PageDown: [0, 0, 1] };

type Handles = Term<{ target: Data<Vec3> }>;

class MeshPage implements Page<MeshState> {
  model: Model = generate("bunny");
  view!: View;
  x: Variables<Vec3> | undefined;
  handles: Handle[] = [];
  readonly knobs = new Knobs();
  #shown: Mesh | undefined;
  #own: Model | undefined;
  #made: Made[] = [];
  #term: Handles | undefined;
  #next: { x: Variables<Vec3>; made: Made[]; term: Handles } | undefined;
  #target = new Float32Array();
  #pull = new Float32Array();
  #pulled = false;
  #tool: Tool = "look";
  #coloured = "";
  readonly #controls;
  readonly #weights = el("div");
  readonly #about = note("");
  readonly #facts = note("");

  constructor(private readonly app: App<MeshState>) {
    const file = el("input", { type: "file", accept: ".obj,.ply,.stl,.off,.gltf,.glb", hidden: true, onchange: () => { const chosen = file.files?.[0]; if (chosen) void this.take(chosen); file.value = ""; } });
    this.#controls = {
      mesh: choice("Mesh", CHOICES.map(([id, name]) => [id as string, name] as const), (mesh) => app.set({ mesh, handles: "", selected: 1 })),
      energy: choice("Energy", Object.entries(ENERGIES).map(([id, { name }]) => [id, name] as const), (energy) => app.set({ energy, code: "", weights: {} })),
      colour: choice<string>("Colour", [["plain", "plain"], ["cost", "cost"], ["strain", "strain"], ["curvature", "mean curvature"]], (colour) => app.set({ colour })),
      tool: segments<Tool>("Tool", [["look", "Pin", "Drag turns the camera, a click pins or frees"], ["grab", "Grab", "Take the mesh anywhere"], ["lasso", "Lasso", "Draw around vertices to hold them"]], (tool) => { this.#tool = tool; }),
    };
    this.#controls.tool.show("look");
    app.tools.append(this.#controls.tool.element);
    app.controls.append(
      section("Mesh", this.#controls.mesh.element, el("div", { class: "buttons" }, button("Open a file…", () => file.click()), file), this.#facts),
      section("Energy", this.#controls.energy.element, this.#about, this.#weights),
      section("Handles", note("Click the mesh to pin it, drag a ball to move it, its ring to turn it. Keys: arrows, Page Up and Down, R, N for the next, Delete."),
        el("div", { class: "buttons" }, button("Remove", () => this.remove()), button("Straighten", () => this.straighten()), button("Clear", () => app.set({ handles: "[]", selected: -1 })))),
      section("Look", this.#controls.colour.element),
    );
    const stop = (event: DragEvent) => { event.preventDefault(); };
    app.stage.addEventListener("dragover", stop);
    app.stage.addEventListener("drop", (event) => { stop(event); const dropped = event.dataTransfer?.files[0]; if (dropped) void this.take(dropped); });
    this.#choose(app.state);
  }

  // ── the page ──

  async open(engine: Engine): Promise<void> {
    this.view = await View.make(engine, this.app.stage, "A mesh that can be dragged by its handles", () => this.app.loop ? this.app.loop.draw() : this.#still());
    this.view.look([0.5, 0.95, 2.5], [0, 0.5, 0]);
    this.view.scene.add(this.knobs.group);
    this.#shown = undefined;
    point(this.view, this.knobs, {
      positions: () => this.positions(), tool: () => this.#tool, selected: () => this.app.state.selected,
      begin: () => this.app.remember(), select: (selected) => this.app.set({ selected }, { undoable: false }),
      move: (k, by) => this.#change(k, ({ t, ...rest }) => ({ ...rest, t: [t[0] + by.x, t[1] + by.y, t[2] + by.z] })),
      turn: (k, by) => this.#change(k, ({ q, ...rest }) => ({ ...rest, q: by.clone().multiply(new THREE.Quaternion(...q)).normalize().toArray() as unknown as Handle["q"] })),
      click: (vertex) => { void this.positions().then((now) => this.click(vertex, now)).catch(complain); },
      grab: (vertex, now) => { this.#add(this.#around(vertex, now), now, false); return this.handles.length - 1; },
      caught: (vertices, now) => { if (vertices.length) this.#add(vertices, now); else say("There is no vertex in the lasso."); },
      end: () => this.#keep(),
    });
    this.view.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.#display();
    this.#still();
  }

  close(): void { this.view.dispose(); this.x = undefined; this.#shown = undefined; }

  code(state: MeshState): string { return codeOf(isEnergy(state.energy) ? state.energy : "arap"); }

  async build(state: MeshState): Promise<Running> {
    const { mesh } = this.model, values = this.x && this.#shown === mesh && this.app.loop ? await this.positions() : mesh.positions;
    this.#display();
    const problem = this.app.engine!.problem();
    try {
      // The first table, so that its vertices begin where a renderer looks for them.
      const x = problem.variables("x", { shape: 3, values });
      const made = await runCode(state.code, this.code(state), problem, { x, mesh, edgeLengths0: edgeLengths(mesh), hingeAngles0: anglesOf(mesh) });
      for (const one of made) { const factor = state.weights[one.term.name]; if (factor !== undefined) weigh(one, factor); }
      this.#target = Float32Array.from(mesh.positions);
      this.#pull = new Float32Array(x.count);
      targets(this.handles, mesh.positions, this.#target, this.#pull, PULL);
      const term = problem.residuals("handles", { of: [x], data: { target: column(this.#target, 3) }, weight: this.#pull }, ([p], { target }) => p.sub(target));
      this.#next = { x, made, term };
      return {
        problem, newSolver: () => problem.solver({ linear: "pcg" }), dispose: () => { this.view.unbind(); problem.dispose(); },
        moved: () => this.view.move((positions) => x.read(positions)),
        before: () => {
          if (!this.#pulled) return;
          this.#pulled = false;
          targets(this.handles, mesh.positions, this.#target, this.#pull, PULL);
          this.#term?.set({ target: this.#target, weight: this.#pull });
        },
        sampled: () => this.#colour(),
      };
    } catch (error) {
      problem.dispose();
      throw error;
    }
  }

  started(): void {
    const { x, made, term } = this.#next!;
    this.x = x;
    this.#made = made;
    this.#term = term;
    this.view.bind(x, this.app.loop!);
    this.#pulled = true;
    this.#coloured = "";
    this.#showWeights();
    void this.app.loop!.ask(() => this.#colour()).catch(complain);
  }

  repaint(): void {
    if (!this.view?.surface) return;
    if (this.app.state.colour === "plain") this.#plain();
    this.#knobs();
  }

  draw(now: number): void {
    this.knobs.face(this.view.camera, (at) => this.view.pixel(at));
    this.view.draw(now, this.app.loop!.playing && !this.app.loop!.resting);
  }

  show(state: MeshState): void {
    const own = this.#controls.mesh.select.querySelector<HTMLOptionElement>("option[value=own]");
    if (state.mesh === "own" && this.#own && !own) this.#controls.mesh.select.append(el("option", { value: "own" }, this.#own.name));
    else if (own && this.#own) own.textContent = this.#own.name;
    this.#controls.mesh.show(state.mesh);
    this.#controls.energy.show(state.energy);
    this.#controls.colour.show(state.colour);
    this.#about.textContent = isEnergy(state.energy) ? ENERGIES[state.energy].about : "";
    this.#knobs();
  }

  apply(state: MeshState, before: MeshState): boolean {
    if (state.mesh !== before.mesh || state.energy !== before.energy) {
      this.#choose(state);
      return false;
    }
    if (state.handles !== before.handles) { this.handles = parse(state.handles, this.model.mesh.positions); this.#pulled = true; this.#coloured = ""; }
    const made = this.#made;
    this.app.loop?.edit(() => { for (const one of made) weigh(one, state.weights[one.term.name] ?? 1); });
    this.#showWeights();
    this.#knobs();
    if (this.#coloured !== this.#colouring(state)) void this.app.loop?.ask(() => this.#colour()).catch(complain);
    return true;
  }

  reset(): void {
    this.app.set({ handles: "", selected: 1, weights: {} });
    const { x } = this, { mesh } = this.model;
    void this.app.loop?.ask(async () => { x?.write(mesh.positions); }).then(() => { this.app.wake(); return this.app.loop?.taken(); }).catch(complain);
  }

  strip(): string { return `${(this.model.mesh.positions.length / 3).toLocaleString("en")} vertices`; }

  project(state: MeshState): { name: string; files: { [path: string]: string } } {
    const code = state.code || this.code(state), { mesh } = this.model;
    const body = `const edgeLengths0 = measured(mesh);\nconst hingeAngles0 = ${code.includes("hingeAngles0") ? "anglesOf(mesh)" : "undefined"};\n`;
    const main = `// ${this.model.name} with the energy of Leastwise's mesh page.
import { readFileSync, writeFileSync } from "node:fs";
${importsFor(code + "\ninit column edgeLengths", ["edgeLengths"])}
import { edgeLengths as measured } from "leastwise/mesh";

const { positions, triangles, handles } = JSON.parse(readFileSync(new URL("mesh.json", import.meta.url), "utf8"));
const mesh = { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles) };
const lw = await init();
const problem = lw.problem();
const x = problem.variables("x", { shape: 3, values: mesh.positions });
${code.includes("edgeLengths0") ? body.split("\n")[0] + "\n" : ""}${code.includes("hingeAngles0") ? "const hingeAngles0 = Float64Array.from(JSON.parse(readFileSync(new URL(\"mesh.json\", import.meta.url), \"utf8\")).angles);\n" : ""}
${code}

problem.residuals("handles", { of: [x.at(handles.vertices)], data: { target: column(handles.targets, 3) }, weight: ${PULL} }, ([p], { target }) => p.sub(target));
const report = await problem.solve();
console.log(String(report));
const values = await x.read();
const rows = (list, letter, shift) => Array.from({ length: list.length / 3 }, (_, k) => \`\${letter} \${[0, 1, 2].map((j) => list[3 * k + j] + shift).join(" ")}\`).join("\\n");
writeFileSync("solved.obj", \`\${rows(values, "v", 0)}\\n\${rows(mesh.triangles, "f", 1)}\\n\`);
lw.dispose();
`;
    const vertices = this.handles.flatMap(({ v }) => v);
    const data = { positions: [...mesh.positions], triangles: [...mesh.triangles], angles: code.includes("hingeAngles0") ? [...anglesOf(mesh)] : undefined, handles: { vertices, targets: vertices.flatMap((v) => [...this.#target.subarray(3 * v, 3 * v + 3)]) } };
    return { name: "leastwise-mesh", files: { "main.ts": main, "mesh.json": JSON.stringify(data) } };
  }

  // ── meshes ──

  /** A visitor's file: limits are told, and what is too large is decimated if they agree. */
  async take(file: File): Promise<void> {
    say(`Reading ${file.name}…`);
    try {
      const model = await read(file), fault = faults(model.mesh), vertices = model.mesh.positions.length / 3;
      if (fault) return tell(`${file.name} can't be used: ${fault}.`);
      if (vertices <= MOST_VERTICES) return this.#use(model);
      tell(`${file.name} has ${vertices.toLocaleString("en")} vertices; this page takes ${MOST_VERTICES.toLocaleString("en")}.`, { label: "Decimate it", act: () => {
        say("Decimating…");
        // After the line is shown.
        setTimeout(() => { try { this.#use(smaller(model)); } catch (error) { complain(error); } }, 50);
      } });
    } catch (error) {
      tell(`${file.name} can't be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #use(model: Model): void {
    this.#own = model;
    say("");
    const again = this.app.state.mesh === "own";
    this.app.set({ mesh: "own", handles: "", selected: 1 });
    if (again) { this.#choose(this.app.state); this.app.rebuild(); }
  }

  #choose(state: MeshState): void {
    if (state.mesh === "own" && !this.#own) tell("This link is of a mesh of somebody's own: open the file again to see it.");
    const known = CHOICES.some(([id]) => id === state.mesh);
    const before = this.model;
    if (state.mesh === "own" && this.#own) this.model = this.#own;
    else if (!known) this.model = generate("bunny");
    else if (this.model.name !== CHOICES.find(([id]) => id === state.mesh)![1]) this.model = generate(state.mesh as MeshId);
    this.handles = parse(state.handles, this.model.mesh.positions);
    const { positions, triangles } = this.model.mesh;
    this.#facts.textContent = `${(positions.length / 3).toLocaleString("en")} vertices, ${(triangles.length / 3).toLocaleString("en")} triangles${this.model.note ? `; ${this.model.note}` : ""}. Your own as OBJ, PLY, STL, OFF or glTF, up to ${MOST_VERTICES.toLocaleString("en")} vertices; it stays on this machine.`;
    if (before !== this.model) { this.x = undefined; this.#coloured = ""; }
  }

  #display(): void {
    const { mesh } = this.model;
    if (this.#shown === mesh) return;
    this.#shown = mesh;
    this.view.show(Float32Array.from(mesh.positions), mesh.triangles);
    this.#plain();
    this.#knobs();
  }

  /** A picture while nothing is solved yet. */
  #still(): void {
    if (!this.view?.surface || this.app.loop) return;
    this.knobs.face(this.view.camera, (at) => this.view.pixel(at));
    this.view.draw(performance.now(), false);
  }

  // ── handles ──

  positions(): Promise<Values> { return this.app.loop!.ask(() => this.x!.read()); }

  #change(k: number, change: (handle: Handle) => Handle): void {
    const handle = this.handles[k];
    if (!handle) return;
    this.handles[k] = change(handle);
    this.#pulled = true;
    this.#knobs();
    this.app.wake();
  }

  #keep(): void { this.app.set({ handles: write(this.handles) }, { undoable: false }); }

  #around(vertex: number, now: ArrayLike<number>): number[] {
    const taken = new Set(this.handles.flatMap(({ v }) => v)), near: number[] = [];
    for (let v = 0; v < now.length / 3; v++) {
      if (!taken.has(v) && Math.hypot(...[0, 1, 2].map((k) => now[3 * v + k]! - now[3 * vertex + k]!)) < REACH) near.push(v);
    }
    return near.length ? near : [vertex];
  }

  #add(vertices: readonly number[], now: ArrayLike<number>, undoable = true): void {
    const taken = new Set(vertices), rest = this.model.mesh.positions;
    const kept = this.handles.map((handle) => ({ ...handle, v: handle.v.filter((v) => !taken.has(v)) })).filter(({ v }) => v.length);
    const there = middle({ v: vertices }, now).sub(middle({ v: vertices }, rest));
    this.handles = [...kept, handleOf(vertices, [there.x, there.y, there.z])];
    this.app.set({ handles: write(this.handles), selected: this.handles.length - 1 }, { undoable });
  }

  /** Pins around a vertex, or frees the handle that it is in. */
  click(vertex: number, now: ArrayLike<number>): void {
    const held = this.handles.findIndex(({ v }) => v.includes(vertex));
    if (held < 0) return this.#add(this.#around(vertex, now), now);
    if (held === this.app.state.selected) this.remove();
    else this.app.set({ selected: held });
  }

  remove(): void {
    const { selected } = this.app.state;
    if (!this.handles[selected]) return say("No handle is chosen: click one.");
    this.app.set({ handles: write(this.handles.filter((_, k) => k !== selected)), selected: -1 });
  }

  straighten(): void { this.app.set({ handles: write(this.handles.map(({ v }) => handleOf(v))) }); }

  #key(event: KeyboardEvent): void {
    const step = STEPS[event.key], { selected } = this.app.state;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") this.app.set({ selected: this.handles.length ? (selected + 1) % this.handles.length : -1 }, { undoable: false });
    else if (!this.handles[selected]) return;
    else if (event.key === "Delete" || event.key === "Backspace") this.remove();
    else if (step || event.key.toLowerCase() === "r") {
      this.app.remember();
      const by = step && new THREE.Vector3(...step).multiplyScalar(KEY_STEP).applyQuaternion(this.view.camera.quaternion);
      const turn = new THREE.Quaternion().setFromAxisAngle(this.view.camera.getWorldDirection(new THREE.Vector3()).negate(), event.shiftKey ? -KEY_TURN : KEY_TURN);
      this.#change(selected, ({ v, t, q }) => by ? { v, q, t: [t[0] + by.x, t[1] + by.y, t[2] + by.z] } : { v, t, q: turn.multiply(new THREE.Quaternion(...q)).toArray() as unknown as Handle["q"] });
      this.#keep();
    } else return;
    event.preventDefault();
  }

  #knobs(): void {
    this.knobs.show(this.handles, this.model.mesh.positions, this.app.state.selected, { pin: colour("pin"), handle: colour("handle") });
    this.app.loop?.draw();
  }

  // ── weights and colours ──

  #showWeights(): void {
    const names = this.#made.map(({ term }) => term.name), shown = this.#weights.dataset.names;
    if (shown !== names.join()) {
      this.#weights.dataset.names = names.join();
      this.#sliders = this.#made.map((one) => slider(one.term.name, { min: 1e-3, max: 1e3, log: true, unit: " ×" },
        (factor) => { const now = this.#made.find(({ term }) => term.name === one.term.name); if (now) this.app.loop?.edit(() => weigh(now, factor)); },
        (factor) => this.app.set({ weights: { ...this.app.state.weights, [one.term.name]: Number(factor.toPrecision(3)) } })));
      this.#weights.replaceChildren(...this.#sliders.map(({ element }) => element));
    }
    this.#sliders.forEach((one, k) => one.show(this.app.state.weights[names[k]!] ?? 1));
  }
  #sliders: ReturnType<typeof slider>[] = [];

  #colouring(state: MeshState): string { return `${state.colour}/${state.handles}`; }

  async #colour(): Promise<void> {
    const { state } = this.app, colouring = state.colour as Colouring;
    if (colouring === "plain") {
      if (this.#coloured !== this.#colouring(state)) this.#plain();
    } else {
      const { mesh } = this.model, x = this.x!;
      const values = colouring === "cost" ? await costs(this.#made, x.count) : await x.read().then((now) => (colouring === "strain" ? strains(mesh, now) : curvatures(mesh, now)));
      if (x !== this.x) return;
      this.view.colours((out) => { if (colouring === "cost") hot(values, out); else diverging(values, out, colouring === "strain" ? 0.4 : undefined); });
    }
    this.#coloured = this.#colouring(state);
  }

  #plain(): void {
    const [base, pin, chosen] = [linear("mesh"), linear("pin"), linear("handle")];
    this.view.colours((out) => {
      for (let v = 0; v < out.length; v += 3) out.set(base, v);
      this.handles.forEach(({ v }, k) => { for (const at of v) out.set(k === this.app.state.selected ? chosen : pin, 3 * at); });
    });
  }
}

/** Angles at the hinges of a mesh at rest: dihedral angles by plain arithmetic. */
function anglesOf({ positions, triangles }: Mesh): Float64Array {
  const table = hinges(triangles), at = (v: number) => new THREE.Vector3().fromArray(positions, 3 * v);
  return Float64Array.from({ length: table.length / 4 }, (_, k) => {
    const [a, b, c, d] = [0, 1, 2, 3].map((j) => at(table[4 * k + j]!)) as [THREE.Vector3, THREE.Vector3, THREE.Vector3, THREE.Vector3];
    const edge = c.clone().sub(b), n = b.clone().sub(a).cross(c.clone().sub(a)), m = c.clone().sub(d).cross(b.clone().sub(d));
    return Math.atan2(edge.normalize().dot(n.clone().cross(m)), n.dot(m));
  });
}

new App<MeshState>(DEFAULTS, (app) => {
  const page = new MeshPage(app);
  return expose(app, page);
});

