/** The UV page: a mesh, cut along seams and flattened. */
import { init, type Engine, type Variables, type Vec2 } from "leastwise";
import { lscm as energyOfLscm } from "leastwise/energies";
import { cutAlong, inspect, lscm, tutte, type Cut, type Mesh } from "leastwise/mesh";
import * as THREE from "three/webgpu";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import { runCode, weigh, type Made } from "../shell/code.js";
import { button, choice, el, note, section, slider } from "../shell/dom.js";
import type { Running } from "../shell/loop.js";
import { say, tell } from "../shell/notices.js";
import { importsFor } from "../shell/project.js";
import { colour } from "../shell/theme.js";
import { glow, heat } from "../scene/colouring.js";
import { generate, type MeshId, type Model } from "../scene/meshes.js";
import { around, Plane } from "../scene/plane.js";
import { View } from "../scene/view.js";
import { edgesOf, Graph } from "./seams.js";

export interface UvState extends CommonState {
  readonly mesh: string;
  /** Vertices that seams go through, seam by seam; empty for those that the page chooses. */
  readonly seams: readonly (readonly number[])[];
  /** 0: angles, 1: lengths. */
  readonly balance: number;
  readonly start: string;
}

const MESHES = [["bunny", "Stanford bunny"], ["icosphere", "Icosphere"], ["torus", "Torus"], ["hand", "Five tentacles"], ["sheet", "Sheet"]] as const;
const DEFAULTS: UvState = { backend: "auto", code: "", mesh: "bunny", seams: [], balance: 1, start: "lscm" };
const CODE = `// In scope: problem, uv (two numbers a vertex), mesh (cut along its seams), and what the package exports.
// ‖F‖² + ‖F⁻¹‖² of every face, undefined where it would turn over (Smith & Schaefer 2015).
const { inverses, areas } = triangleFrames(mesh);
problem.energy("symmetric Dirichlet",
  { over: mesh.triangles, of: [uv, uv, uv], data: { inverse: column(inverses, 4) }, weight: areas },
  formulas.symmetricDirichlet);
// Angles alone: σ₁/σ₂ + σ₂/σ₁ (Hormann & Greiner 2000).
mips(problem, mesh, { x: uv, name: "angles" });`;
/** The share that stays of the first energy, which keeps the scale. */
const LEAST = 0.02;
/** Shades of the plane's triangles: those of one are one path, for which a canvas takes a fraction of the time. */
const SHADES = 24;
const srgb = (value: number) => Math.round(255 * Math.min(1, value) ** (1 / 2.2));
const PAINTS = Array.from({ length: SHADES }, (_, k) => `rgb(${glow(k / (SHADES - 1)).map(srgb).join(" ")})`);

class UvPage implements Page<UvState> {
  model: Model = generate("bunny");
  view!: View;
  cut: Cut | undefined;
  flat: ArrayLike<number> = [];
  flips = 0;
  stretch = 0;
  seams: readonly (readonly number[])[] = [];
  begun = "";
  #graph!: Graph;
  /** An engine on the CPU for the start: its linear system is solved there before a GPU has compiled its forty kernels. */
  #starter: Promise<Engine> | undefined;
  #uv: Variables<Vec2> | undefined;
  #made: Made[] = [];
  #next: { uv: Variables<Vec2>; made: Made[]; cut: Cut; flat: ArrayLike<number> } | undefined;
  /** Distortion of vertices, from 0 to 1. */
  #heats: Float32Array = new Float32Array();
  /** Edges of one triangle: both ends of each. */
  #rim: readonly (readonly [number, number])[] = [];
  #lines: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial> | undefined;
  #reading = false;
  #texture: THREE.Texture | undefined;
  readonly #left = el("div", { class: "half" });
  readonly #right = el("div", { class: "half" });
  readonly #plane: Plane;
  readonly #facts = note("");
  readonly #controls;

  constructor(private readonly app: App<UvState>) {
    app.stage.classList.add("split");
    app.stage.append(this.#left, this.#right);
    this.#plane = new Plane(this.#right, "The flattened mesh", (context) => this.#paint(context), true);
    this.#plane.margin = { left: 14, right: 14, top: 14, bottom: 14 };
    this.#controls = {
      mesh: choice("Mesh", MESHES.map(([id, name]) => [id as string, name] as const), (mesh) => app.set({ mesh, seams: [] })),
      start: choice<string>("Start", [["lscm", "conformal (LSCM)"], ["tutte", "Tutte"]], (start) => app.set({ start })),
      balance: slider("Angles – lengths", { min: 0, max: 1 }, (balance) => this.#weigh(balance), (balance) => app.set({ balance })),
    };
    app.controls.append(
      section("Mesh", this.#controls.mesh.element, this.#controls.start.element, this.#facts),
      section("Distortion", this.#controls.balance.element, note("Colours: white is undistorted, red is not. Newton's method never turns a triangle over.")),
      section("Seams", note("Click vertices of the mesh: the seam takes the shortest way from one to the next."), el("div", { class: "buttons" },
        button("New seam", () => { app.set({ seams: [...this.seams, []] }); }), button("Remove last", () => this.#shorten()), button("Automatic", () => app.set({ seams: [] })))),
    );
    this.#choose(app.state);
  }

  async open(engine: Engine): Promise<void> {
    this.#starter = engine.device ? init({ backend: "cpu" }) : Promise.resolve(engine);
    this.#starter.catch(() => {});
    this.view = await View.make(engine, this.#left, "The mesh with a checkerboard", () => this.app.loop ? this.app.loop.draw() : this.view?.surface && this.view.draw(performance.now(), false));
    this.view.look([0.5, 0.95, 2.5], [0, 0.5, 0]);
    let from: { x: number; y: number } | undefined;
    this.view.canvas.addEventListener("pointerdown", ({ clientX: x, clientY: y }) => { from = { x, y }; });
    this.view.canvas.addEventListener("pointerup", ({ clientX: x, clientY: y }) => { if (from && Math.hypot(x - from.x, y - from.y) < 6) this.click(x, y); });
    this.#texture = checkerboard();
    if (this.cut) this.#display(this.cut);
  }

  close(): void {
    const { engine } = this.app;
    void this.#starter?.then((one) => { if (one !== engine) one.dispose(); }, () => {});
    this.view.dispose();
    this.#lines = undefined;
  }
  code(): string { return CODE; }

  async build(state: UvState): Promise<Running | undefined> {
    const { mesh } = this.model, engine = this.app.engine!, starter = await this.#starter!;
    this.seams = state.seams.some((seam) => seam.length) ? state.seams : this.#automatic();
    const cut = cutAlong(mesh, edgesOf(this.#graph, this.seams).flat());
    this.#show(cut);
    const fault = notDisk(cut);
    if (fault) { tell(fault); this.#uv = undefined; this.cut = cut; return undefined; }
    let flat: ArrayLike<number> = new Float64Array(), used = state.start;
    if (state.start !== "tutte") flat = sized(await lscm(starter, cut), cut);
    if (state.start === "tutte" || flips(flat, cut.triangles)) { used = "tutte"; flat = sized(await tutte(starter, cut), cut); }
    if (flips(flat, cut.triangles)) { tell("No start without turned triangles was found: cut the mesh with more seams."); return undefined; }
    this.begun = used;
    const problem = engine.problem();
    try {
      const uv = problem.variables("uv", { shape: 2, values: flat });
      uv.fix([0]);
      const made = await runCode(state.code, CODE, problem, { uv, x: uv, mesh: cut, lscm: energyOfLscm });
      this.#next = { uv, made, cut, flat };
      return { problem, newSolver: () => problem.solver({ method: "newton", linear: "pcg" }), dispose: () => problem.dispose(), before: () => { if (engine.device) this.#read(); }, moved: async () => this.#take(await uv.read()), sampled: () => this.#look() };
    } catch (error) {
      problem.dispose();
      throw error;
    }
  }

  started(): void {
    if (!this.#next) { this.#plane.redraw(); return; }
    const { uv, made, cut, flat } = this.#next;
    this.#next = undefined;
    this.#uv = uv;
    this.#made = made;
    this.cut = cut;
    this.#weigh(this.app.state.balance);
    this.#take(flat);
    this.#plane.range = { x: around(values(flat, 0), 0.03), y: around(values(flat, 1), 0.03) };
    if (this.begun !== this.app.state.start) say("The conformal map turned triangles over, so it starts from Tutte's.");
  }

  draw(now: number): void { this.view.draw(now, this.app.loop!.playing && !this.app.loop!.resting); }

  repaint(): void { this.#lines?.material.color.set(colour("handle")); }

  show(state: UvState): void {
    this.#controls.mesh.show(state.mesh);
    this.#controls.start.show(state.start);
    this.#controls.balance.show(state.balance);
  }

  apply(state: UvState, before: UvState): boolean {
    if (state.mesh !== before.mesh) this.#choose(state);
    if (state.mesh !== before.mesh || state.start !== before.start || JSON.stringify(state.seams) !== JSON.stringify(before.seams)) return false;
    this.#weigh(state.balance);
    return true;
  }

  reset(): void { this.app.set({ ...DEFAULTS, mesh: this.app.state.mesh, backend: this.app.state.backend }); void this.app.rebuild(); }
  strip(): string { return `${this.flips} flipped · stretch ${this.stretch.toFixed(3)}`; }

  project(state: UvState): { name: string; files: { [path: string]: string } } {
    const code = state.code || CODE;
    const main = `// A mesh, cut along seams and flattened.
import { readFileSync, writeFileSync } from "node:fs";
${importsFor(`${code}\ninit tutte`, [])}

const { positions, triangles } = JSON.parse(readFileSync(new URL("mesh.json", import.meta.url), "utf8"));
const mesh = { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles) };
const lw = await init();
const problem = lw.problem();
const uv = problem.variables("uv", { shape: 2, values: await tutte(lw, mesh) });
uv.fix([0]);
${code}

console.log(String(await problem.solve({ method: "newton", maxIterations: 100 })));
writeFileSync("uv.json", JSON.stringify([...await uv.read()]));
lw.dispose();
`;
    return { name: "leastwise-uv", files: { "main.ts": main, "mesh.json": JSON.stringify({ positions: [...this.cut!.positions], triangles: [...this.cut!.triangles] }) } };
  }

  // ── seams ──

  #choose(state: UvState): void {
    const id = (MESHES.some(([one]) => one === state.mesh) ? state.mesh : "bunny") as MeshId;
    this.model = generate(id);
    this.#graph = new Graph(this.model.mesh);
  }

  #automatic(): number[][] {
    const { triangles, positions } = this.model.mesh, { eulerCharacteristic, boundaryEdges } = inspect(triangles, positions.length / 3);
    if (boundaryEdges) return [];
    // Around a torus both ways, in the order that it was made in.
    if (eulerCharacteristic === 0) return [[0, 9, 18, 0], [0, 21 * 28, 42 * 28, 0]];
    return this.#graph.tree(5);
  }

  /** A vertex of the mesh was clicked: the last seam goes on to it. */
  click(x: number, y: number): void {
    const box = this.view.canvas.getBoundingClientRect(), ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2), this.view.camera);
    const face = ray.intersectObject(this.view.surface!, false)[0];
    if (!face?.face || !this.cut) return;
    const corner = (v: number) => new THREE.Vector3().fromArray(this.cut!.positions, 3 * v);
    const nearest = [face.face.a, face.face.b, face.face.c].sort((a, b) => corner(a).distanceTo(face.point) - corner(b).distanceTo(face.point))[0]!;
    const vertex = this.cut.toOriginal[nearest]!, seams = this.seams.map((seam) => [...seam]);
    if (!seams.length) seams.push([]);
    if (seams.at(-1)!.at(-1) === vertex) return;
    seams.at(-1)!.push(vertex);
    this.app.set({ seams });
  }

  #shorten(): void {
    const seams = this.seams.map((seam) => [...seam]);
    while (seams.length && !seams.at(-1)!.length) seams.pop();
    seams.at(-1)?.pop();
    if (seams.at(-1)?.length === 1) seams.pop();
    this.app.set({ seams });
  }

  // ── pictures ──

  /** The cut mesh, and its seams. */
  #show(cut: Cut): void {
    this.cut = cut;
    const { triangles } = this.model.mesh;
    this.#facts.textContent = `${(cut.positions.length / 3).toLocaleString("en")} vertices after the cut, ${(triangles.length / 3).toLocaleString("en")} triangles.`;
    if (this.view) this.#display(cut);
  }

  #display(cut: Cut): void {
    const surface = this.view.show(Float32Array.from(cut.positions), cut.triangles), { geometry, material } = surface;
    geometry.setAttribute("uv", new THREE.BufferAttribute(new Float32Array((2 * cut.positions.length) / 3), 2));
    Object.assign(material, { map: this.#texture, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1, needsUpdate: true });
    this.#heats = new Float32Array(cut.positions.length / 3);
    this.#rim = boundary(cut.triangles);
    this.#paintMesh();
    if (this.#lines) { this.view.scene.remove(this.#lines); this.#lines.geometry.dispose(); }
    const { positions } = this.model.mesh, points = edgesOf(this.#graph, this.seams).flat().map((v) => new THREE.Vector3().fromArray(positions, 3 * v));
    this.#lines = new THREE.LineSegments(new THREE.BufferGeometry().setFromPoints(points), new THREE.LineBasicMaterial({ color: colour("handle"), linewidth: 2 }));
    this.#lines.frustumCulled = false;
    this.view.scene.add(this.#lines);
  }

  #weigh(balance: number): void {
    const [lengths, angles] = this.#made;
    if (lengths && angles && !this.app.state.code) this.app.loop?.edit(() => { weigh(lengths, Math.max(LEAST, balance)); weigh(angles, 1 - balance); });
  }

  /** Reads the map between two frames, as soon as the last one has come. */
  #read(): void {
    const uv = this.#uv;
    if (this.#reading || !uv) return;
    this.#reading = true;
    void this.app.loop!.ask(() => uv.read()).then((flat) => { if (uv === this.#uv) this.#take(flat); }, () => {}).finally(() => { this.#reading = false; });
  }

  #take(flat: ArrayLike<number>): void {
    const { cut } = this;
    if (!cut || !this.view.surface) return;
    this.flat = flat;
    this.flips = flips(flat, cut.triangles);
    const attribute = this.view.surface.geometry.getAttribute("uv") as THREE.BufferAttribute | undefined;
    if (attribute && attribute.array.length === flat.length) {
      (attribute.array as Float32Array).set(flat);
      attribute.needsUpdate = true;
    }
    const [x, y] = [around(values(flat, 0), 0.03), around(values(flat, 1), 0.03)];
    this.#plane.range = { x, y };
    this.#plane.redraw();
    this.app.loop?.draw();
  }

  /** Distortion of vertices: the mean of their faces'. */
  async #look(): Promise<void> {
    const [first] = this.#made, { cut } = this;
    if (!first || !cut) return;
    this.#read();
    const { residuals } = await first.term.evaluate();
    if (residuals.length !== cut.triangles.length / 3 || cut !== this.cut) return;
    const sums = new Float64Array(cut.positions.length / 3), counts = new Float64Array(sums.length);
    let total = 0;
    residuals.forEach((energy, face) => {
      // The factor by which lengths change, if it is the same in both directions or in one: 1 for none.
      const stretch = Math.sqrt(Math.max(1, energy / 4));
      total += stretch;
      for (let k = 0; k < 3; k++) { sums[cut.triangles[3 * face + k]!]! += stretch - 1; counts[cut.triangles[3 * face + k]!]!++; }
    });
    this.stretch = total / residuals.length;
    this.#heats = heat(sums.map((sum, v) => Math.min(1, sum / Math.max(1, counts[v]!))));
    this.#paintMesh();
    this.#plane.redraw();
  }

  #paintMesh(): void { this.view.colours((out) => this.#heats.forEach((t, v) => out.set(glow(t), 3 * v))); }

  #paint(context: CanvasRenderingContext2D): void {
    const { cut, flat } = this;
    if (!cut || !flat.length || flat.length * 3 !== cut.positions.length * 2) return;
    const place = this.#plane.all(flat), { triangles } = cut, shade = (t: number) => Math.round(((this.#heats[triangles[t]!]! + this.#heats[triangles[t + 1]!]! + this.#heats[triangles[t + 2]!]!) / 3) * (SHADES - 1));
    const move = (v: number) => context.moveTo(place[2 * v]!, place[2 * v + 1]!), go = (v: number) => context.lineTo(place[2 * v]!, place[2 * v + 1]!);
    const shades = Array.from({ length: SHADES }, () => [] as number[]);
    for (let t = 0; t < triangles.length; t += 3) shades[shade(t)]!.push(t);
    context.lineWidth = 0.6;
    shades.forEach((list, k) => {
      if (!list.length) return;
      context.fillStyle = context.strokeStyle = PAINTS[k]!;
      context.beginPath();
      for (const t of list) { move(triangles[t]!); go(triangles[t + 1]!); go(triangles[t + 2]!); context.closePath(); }
      context.fill();
      context.stroke();
    });
    context.strokeStyle = colour("handle");
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [a, b] of this.#rim) { move(a); go(b); }
    context.stroke();
  }
}

const values = (flat: ArrayLike<number>, axis: number): number[] => Array.from({ length: flat.length / 2 }, (_, v) => flat[2 * v + axis]!);

function areaOf(flat: ArrayLike<number>, triangles: Uint32Array, t: number): number {
  const [a, b, c] = [2 * triangles[t]!, 2 * triangles[t + 1]!, 2 * triangles[t + 2]!];
  return ((flat[b]! - flat[a]!) * (flat[c + 1]! - flat[a + 1]!) - (flat[b + 1]! - flat[a + 1]!) * (flat[c]! - flat[a]!)) / 2;
}

/** Triangles that are turned over. */
function flips(flat: ArrayLike<number>, triangles: Uint32Array): number {
  let count = 0;
  for (let t = 0; t < triangles.length; t += 3) if (!(areaOf(flat, triangles, t) > 0)) count++;
  return count;
}

/** The map with the area of the mesh, and the right way up. */
function sized(flat: ArrayLike<number>, { positions, triangles }: Mesh): Float64Array {
  let plane = 0, space = 0;
  const p = [0, 1, 2].map(() => new THREE.Vector3()) as [THREE.Vector3, THREE.Vector3, THREE.Vector3];
  for (let t = 0; t < triangles.length; t += 3) {
    plane += areaOf(flat, triangles, t);
    p.forEach((one, k) => one.fromArray(positions, 3 * triangles[t + k]!));
    space += p[1].sub(p[0]).cross(p[2].sub(p[0])).length() / 2;
  }
  const scale = Math.sqrt(space / Math.abs(plane));
  return Float64Array.from(flat, (value, k) => value * scale * (plane < 0 && k % 2 ? -1 : 1));
}

/** Directed edges of one triangle. */
function boundary(triangles: Uint32Array): [number, number][] {
  const found = new Map<number, [number, number]>(), key = (a: number, b: number) => a * 2 ** 24 + b;
  for (let t = 0; t < triangles.length; t += 3) {
    for (let k = 0; k < 3; k++) {
      const [a, b] = [triangles[t + k]!, triangles[t + ((k + 1) % 3)]!];
      if (!found.delete(key(b, a))) found.set(key(a, b), [a, b]);
    }
  }
  return [...found.values()];
}

/** What keeps a mesh from being flattened, in words. */
function notDisk({ triangles, positions }: Mesh): string | undefined {
  const { components, eulerCharacteristic, boundaryEdges } = inspect(triangles, positions.length / 3);
  if (components > 1) return `The seams cut the mesh into ${components} parts: take one away.`;
  if (!boundaryEdges) return "The mesh is closed: click vertices for a seam.";
  return eulerCharacteristic === 1 ? undefined : "The seams don't open the mesh to a disk: a handle or a hole is left; click a seam through it.";
}

function checkerboard(): THREE.Texture {
  const canvas = el("canvas", { width: 64, height: 64 }), context = canvas.getContext("2d")!;
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, 64, 64);
  context.fillStyle = "#8a93a6";
  context.fillRect(0, 0, 32, 32);
  context.fillRect(32, 32, 32, 32);
  const texture = new THREE.CanvasTexture(canvas);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.repeat.set(9, 9);
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.generateMipmaps = true;
  texture.anisotropy = 4;
  return texture;
}

new App<UvState>(DEFAULTS, (app) => expose(app, new UvPage(app)));
