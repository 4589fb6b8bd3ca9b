/** The developable page: a surface becomes one of paper, piece by piece. */
import { type Engine, type Variables, type Vec3 } from "leastwise";
import { developableShare } from "leastwise/energies";
import { angleDefects, hinges, icosphere, subdivide, type Mesh } from "leastwise/mesh";
import * as THREE from "three/webgpu";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import { runCode } from "../shell/code.js";
import { button, choice, el, note, section, slider, tick } from "../shell/dom.js";
import type { Running } from "../shell/loop.js";
import { complain, say, tell } from "../shell/notices.js";
import { importsFor } from "../shell/project.js";
import { colour } from "../shell/theme.js";
import { counted } from "../shell/words.js";
import { hot } from "../scene/colouring.js";
import { faults, generate, MOST_VERTICES, placed, read, type MeshId } from "../scene/meshes.js";
import { linear, View } from "../scene/view.js";

export interface DevelopableState extends CommonState {
  readonly mesh: string;
  readonly energy: string;
  readonly stay: number;
  readonly colour: string;
  /** Subdivides by itself. */
  readonly onwards: boolean;
}

const ENERGIES = {
  bimodalVariance: "Bimodal variance: normals of two halves of a vertex' faces. Smooth and cheap.",
  developableCovariance: "Covariance E^λ: the normals' spread across the hinge (Stein, Grinspun & Crane 2018).",
  developablePartition: "Partition E^P: the best two flat parts (Stein, Grinspun & Crane 2018).",
  hinge: "Hinge: the worst normal's part across the hinge.",
} as const;
const MESHES = [["ball", "Sphere, 642 vertices"], ["coarse", "Sphere, 42 vertices"], ["torus", "Torus"], ["bunny", "Stanford bunny"]] as const;
const DEFAULTS: DevelopableState = { backend: "auto", code: "", mesh: "ball", energy: "developablePartition", stay: 40, colour: "seams", onwards: true };
/** Edges bent by more than this, in radians, are seams. */
const SEAM = 0.35;
/** Steps of a level before the next, and the vertices of the last level that comes by itself. */
const STEPS_A_LEVEL = 400;
const LAST_LEVEL = 2562;

const codeOf = (energy: string): string => `// In scope: problem, x, mesh, first (the positions that it began with), stay (the slider).
${energy}(problem, mesh, { x, name: "developable" });
// Holds the shape, so that the surface does not shrink or drift.
const rest = problem.constants("rest", { shape: 3, values: first });
problem.residuals("stay", { of: [x, rest], weight: stay }, ([p, p0]) => p.sub(p0));`;

class DevelopablePage implements Page<DevelopableState> {
  view!: View;
  x: Variables<Vec3> | undefined;
  mesh: Mesh = ball(3);
  /** The mesh of the variables, and its hinges. */
  #solved: Mesh | undefined;
  #hinges: Uint32Array = new Uint32Array();
  /** The mesh that is shown. */
  #shown: Mesh | undefined;
  #dividing = false;
  /** The mesh that it began with, divided as often. */
  #first: Mesh = this.mesh;
  share = 0;
  seams = 0;
  #next: { x: Variables<Vec3>; stay: { set(changes: { weight: number }): void } | undefined } | undefined;
  #stay: { set(changes: { weight: number }): void } | undefined;
  #lines: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial> | undefined;
  #own: Mesh | undefined;
  readonly #controls;
  readonly #about = note("");

  constructor(private readonly app: App<DevelopableState>) {
    const file = el("input", { type: "file", accept: ".obj,.ply,.stl,.off,.gltf,.glb", hidden: true, onchange: () => { const chosen = file.files?.[0]; if (chosen) void this.take(chosen); file.value = ""; } });
    this.#controls = {
      mesh: choice<string>("Mesh", MESHES, (mesh) => app.set({ mesh })),
      energy: choice<string>("Energy", [["developablePartition", "Partition"], ["developableCovariance", "Covariance"], ["bimodalVariance", "Bimodal variance"], ["hinge", "Hinge"]], (energy) => app.set({ energy, code: "" })),
      stay: slider("Stays", { min: 0.1, max: 1000, log: true }, (stay) => app.set({ stay: Number(stay.toPrecision(3)) }, { undoable: false })),
      onwards: tick("Subdivide by itself", (onwards) => app.set({ onwards })),
      colour: choice<string>("Colour", [["seams", "seams"], ["defect", "angle defect"]], (colour) => app.set({ colour })),
    };
    app.controls.append(
      section("Mesh", this.#controls.mesh.element, el("div", { class: "buttons" }, button("Open a file…", () => file.click()), file, button("Subdivide and go on", () => void this.subdivide().catch(complain)))),
      section("Energy", this.#controls.energy.element, this.#about, this.#controls.stay.element),
      section("Look", this.#controls.colour.element),
      this.#controls.onwards.element, note("A vertex is developable where the angles around it sum to 2π. Seams are edges bent by more than 20°."),
    );
    app.stage.addEventListener("dragover", (event) => event.preventDefault());
    app.stage.addEventListener("drop", (event) => { event.preventDefault(); const dropped = event.dataTransfer?.files[0]; if (dropped) void this.take(dropped); });
    this.#choose(app.state);
  }

  async open(engine: Engine): Promise<void> {
    this.view = await View.make(engine, this.app.stage, "A surface that becomes developable", () => this.app.loop ? this.app.loop.draw() : this.view?.surface && this.view.draw(performance.now(), false));
    this.view.look([0.9, 0.9, 1.9], [0, 0.5, 0]);
    this.#lines = this.#shown = undefined;
    this.#display();
  }

  close(): void { this.view.dispose(); this.x = undefined; }
  code(state: DevelopableState): string { return codeOf(Object.hasOwn(ENERGIES, state.energy) ? state.energy : DEFAULTS.energy); }

  async build(state: DevelopableState): Promise<Running> {
    this.#display();
    const problem = this.app.engine!.problem(), { mesh } = this;
    try {
      const x = problem.variables("x", { shape: 3, values: mesh.positions });
      const made = await runCode(state.code, this.code(state), problem, { x, mesh, first: this.#first.positions, stay: state.stay / x.count });
      this.#next = { x, stay: made.find(({ term }) => term.name === "stay")?.term };
      return { problem, iterations: 4, newSolver: () => problem.solver({ method: "lbfgs" }), dispose: () => { this.view.unbind(); problem.dispose(); }, moved: () => this.view.move((positions) => x.read(positions)), sampled: () => this.#look() };
    } catch (error) {
      problem.dispose();
      throw error;
    }
  }

  async started(): Promise<void> {
    const { x, stay } = this.#next!;
    this.x = x;
    this.#stay = stay;
    this.#solved = this.mesh;
    this.#hinges = hinges(this.mesh.triangles);
    this.view.bind(x, this.app.loop!);
    await this.app.loop!.ask(() => this.#look());
  }

  draw(now: number): void { this.view.draw(now, this.app.loop!.playing && !this.app.loop!.resting); }

  repaint(): void {
    this.#lines?.material.color.set(colour("handle"));
    if (this.view?.surface && this.app.state.colour === "seams") this.#plain();
  }

  show(state: DevelopableState): void {
    const list = this.#controls.mesh.select;
    if (state.mesh === "own" && !list.querySelector("[value=own]")) list.append(el("option", { value: "own" }, "Your own"));
    this.#controls.mesh.show(state.mesh);
    this.#controls.energy.show(state.energy);
    this.#controls.stay.show(state.stay);
    this.#controls.colour.show(state.colour);
    this.#controls.onwards.show(state.onwards);
    this.#about.textContent = (ENERGIES as { [id: string]: string })[state.energy] ?? "";
  }

  apply(state: DevelopableState, before: DevelopableState): boolean {
    if (state.mesh !== before.mesh) this.#choose(state);
    if (state.mesh !== before.mesh || state.energy !== before.energy) return false;
    const stay = this.#stay, { count } = this.x!;
    this.app.loop?.edit(() => stay?.set({ weight: state.stay / count }));
    if (state.colour !== before.colour) void this.app.loop?.ask(() => this.#look()).catch(complain);
    return true;
  }

  reset(): void { this.#choose(this.app.state); void this.app.rebuild(); }
  strip(): string { return `${(100 * this.share).toFixed(1)} % developable · ${counted(this.seams, "seam edge")} · ${(this.mesh.positions.length / 3).toLocaleString("en")} vertices`; }

  project(state: DevelopableState): { name: string; files: { [path: string]: string } } {
    const code = state.code || this.code(state);
    const main = `// A surface becomes piecewise developable.
import { readFileSync } from "node:fs";
${importsFor(`${code}\ninit developableShare`, ["stay", "first"])}

const { positions, triangles } = JSON.parse(readFileSync(new URL("mesh.json", import.meta.url), "utf8"));
const mesh = { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles) };
const first = mesh.positions, stay = ${state.stay / this.x!.count};
const lw = await init();
const problem = lw.problem();
const x = problem.variables("x", { shape: 3, values: mesh.positions });
${code}

console.log(String(await problem.solve({ method: "lbfgs", maxIterations: 500 })));
console.log("developable:", developableShare({ positions: await x.read(), triangles: mesh.triangles }));
lw.dispose();
`;
    return { name: "leastwise-developable", files: { "main.ts": main, "mesh.json": JSON.stringify({ positions: [...this.mesh.positions], triangles: [...this.mesh.triangles] }) } };
  }

  /** Every face becomes four, where the surface is now, and it goes on from there. */
  async subdivide(): Promise<void> {
    const { x, mesh } = this;
    if (!x || !this.app.loop || this.#dividing) return;
    if (4 * mesh.positions.length / 3 > MOST_VERTICES) return tell(`The next mesh would have more than ${MOST_VERTICES.toLocaleString("en")} vertices.`);
    this.#dividing = true;
    try {
      const positions = await this.app.loop.ask(() => x.read({ as: "f64" }));
      this.#first = subdivide(this.#first);
      this.mesh = subdivide({ positions, triangles: mesh.triangles });
      await this.app.rebuild();
    } finally {
      this.#dividing = false;
    }
  }

  async take(file: File): Promise<void> {
    say(`Reading ${file.name}…`);
    try {
      const { mesh } = await read(file), fault = faults(mesh);
      if (fault) return tell(`${file.name} can't be used: ${fault}.`);
      if (mesh.positions.length / 3 > MOST_VERTICES) return tell(`${file.name} has ${(mesh.positions.length / 3).toLocaleString("en")} vertices; this page takes ${MOST_VERTICES.toLocaleString("en")}. The mesh page decimates.`);
      this.#own = mesh;
      say("");
      if (this.app.state.mesh === "own") this.reset();
      else this.app.set({ mesh: "own" });
    } catch (error) {
      tell(`${file.name} can't be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #choose({ mesh }: DevelopableState): void {
    if (mesh === "own" && !this.#own) tell("This link is of a mesh of somebody's own: open the file again to see it.");
    this.mesh = mesh === "own" && this.#own ? this.#own : mesh === "torus" || mesh === "bunny" ? generate(mesh as MeshId).mesh : ball(mesh === "coarse" ? 1 : 3);
    this.#first = this.mesh;
  }

  #display(): void {
    if (this.#shown === this.mesh) return;
    this.#shown = this.mesh;
    this.view.show(Float32Array.from(this.mesh.positions), this.mesh.triangles);
    this.#plain();
    // The picture shows facets, since they are what it is about.
    Object.assign(this.view.surface!.material, { flatShading: true, needsUpdate: true, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 });
  }

  /** Share, seams and colours of the surface as it is now. */
  async #look(): Promise<void> {
    const { x } = this, mesh = this.#solved!;
    if (!x) return;
    const positions = await x.read(), now = { positions, triangles: mesh.triangles };
    if (x !== this.x) return;
    this.share = developableShare(now);
    const found = bent(positions, this.#hinges);
    this.seams = found.length / 6;
    if (this.#lines) { this.view.scene.remove(this.#lines); this.#lines.geometry.dispose(); }
    this.#lines = new THREE.LineSegments(new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(found, 3)), new THREE.LineBasicMaterial({ color: colour("handle") }));
    this.#lines.frustumCulled = false;
    this.#lines.visible = found.length > 0;
    this.view.scene.add(this.#lines);
    const { steps, resting } = this.app.loop!.progress;
    if (this.app.state.onwards && this.app.loop!.playing && (steps >= STEPS_A_LEVEL || resting) && x.count < LAST_LEVEL) void this.subdivide().catch(complain);
    if (this.app.state.colour !== "defect") return this.#plain();
    const defects = angleDefects(now).map(Math.abs) as Float64Array;
    this.view.colours((out) => hot(defects, out));
  }

  #plain(): void {
    const base = linear("mesh");
    this.view.colours((out) => { for (let v = 0; v < out.length; v += 3) out.set(base, v); });
  }
}

/** A sphere that is not quite one: of its symmetry, none of the hinges would come out. */
function ball(subdivisions: number): Mesh {
  const mesh = icosphere({ subdivisions });
  return placed({ positions: mesh.positions.map((value, k) => value + 0.002 * Math.sin(12.9 * k)), triangles: mesh.triangles });
}

/** Both ends of every edge whose faces are bent by more than a seam is. */
function bent(p: ArrayLike<number>, table: Uint32Array): Float32Array<ArrayBuffer> {
  const found: number[] = [], normals = new Float64Array(6), flat = Math.cos(SEAM);
  /** The normal of a triangle, not of length 1. */
  const normal = (to: number, a: number, b: number, c: number) => {
    const ux = p[3 * b]! - p[3 * a]!, uy = p[3 * b + 1]! - p[3 * a + 1]!, uz = p[3 * b + 2]! - p[3 * a + 2]!;
    const vx = p[3 * c]! - p[3 * a]!, vy = p[3 * c + 1]! - p[3 * a + 1]!, vz = p[3 * c + 2]! - p[3 * a + 2]!;
    normals[to] = uy * vz - uz * vy;
    normals[to + 1] = uz * vx - ux * vz;
    normals[to + 2] = ux * vy - uy * vx;
  };
  for (let k = 0; k < table.length; k += 4) {
    const [a, b, c, d] = [table[k]!, table[k + 1]!, table[k + 2]!, table[k + 3]!];
    normal(0, a, b, c);
    normal(3, d, c, b);
    const [ax, ay, az, dx, dy, dz] = normals as unknown as [number, number, number, number, number, number];
    if (ax * dx + ay * dy + az * dz >= flat * Math.hypot(ax, ay, az) * Math.hypot(dx, dy, dz)) continue;
    for (const v of [b, c]) found.push(p[3 * v]!, p[3 * v + 1]!, p[3 * v + 2]!);
  }
  return Float32Array.from(found);
}

new App<DevelopableState>(DEFAULTS, (app) => expose(app, new DevelopablePage(app)));
