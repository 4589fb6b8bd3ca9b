/** The cloth page: implicit Euler, every frame a minimisation. */
import { type Data, type Engine, type Solver, type Variables, type Vec3 } from "leastwise";
import { inertia, planeContact, sphereContact, type Energy } from "leastwise/energies";
import { edgeLengths, grid, vertexAreas, type Mesh } from "leastwise/mesh";
import * as THREE from "three/webgpu";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import { runCode, weigh, type Made } from "../shell/code.js";
import { button, choice, el, note, section, slider, tick } from "../shell/dom.js";
import { stepOf, type Running } from "../shell/loop.js";
import { importsFor } from "../shell/project.js";
import { colour } from "../shell/theme.js";
import { diverging, strains } from "../scene/colouring.js";
import { normalsOnHost } from "../scene/normals.js";
import { linear, View } from "../scene/view.js";

export interface ClothState extends CommonState {
  readonly scene: string;
  readonly size: number;
  readonly material: string;
  readonly wind: number;
  readonly stiffness: number;
  readonly bending: number;
  /** Vertices that are held; empty for those of the scene. */
  readonly pins: readonly number[];
  readonly strain: boolean;
}

const SIZES = [16, 24, 32, 48, 64, 96, 128, 192, 256];
const SCENES = [["hang", "Hangs by two corners"], ["flag", "Flag"], ["sphere", "Falls on a sphere"], ["trampoline", "Held all around"]] as const;
const DEFAULTS: ClothState = { backend: "auto", code: "", scene: "hang", size: 24, material: "springs", wind: 2, stiffness: 1, bending: 1, pins: [], strain: false };
const H = 1 / 60;
const GRAVITY = -9.81;
/** Mass of a square of side 1. */
const DENSITY = 0.2;
/** Share of the velocity that a step keeps. */
const DRAG = 0.996;
const STEPS = 2;
const BALL = { centre: [0, 0.42, 0] as const, radius: 0.28 };
const RANGE = 0.02;
const REACH = 22;
const MOST_DOTS = 1024;

const HEADER = `// In scope: problem, x, mesh, material (the pattern of the cloth), and what the package exports.
// As energies, with their whole Hessian: JᵀJ of residuals would drop the curvature of
// what is stretched, and the cloth would move as in oil.
`;
const BENDING = `// Discrete shells (Grinspun et al. 2003).
bending(problem, mesh, { x, weight: 5e-5, angle: 0 });`;
const MATERIALS = {
  springs: { name: "Springs", code: `const over = edges(mesh.triangles), length = edgeLengths0;
problem.energy("springs", { over, of: [x, x], data: { length }, weight: 60 },
  ([a, b], { length }) => a.sub(b).norm().sub(length).square().mul(0.5));
` },
  membrane: { name: "Elastic membrane", code: `// St. Venant–Kirchhoff.
stVenantKirchhoff(problem, mesh, { x, name: "membrane", lambda: 40, mu: 60 });
` },
  woven: { name: "Woven (Baraff & Witkin)", code: `const half = (r) => r.normSq().mul(0.5);
const { inverses, areas } = triangleFrames(mesh, material);
const over = mesh.triangles, of = [x, x, x], inverse = column(inverses, 4);
problem.energy("stretch", { over, of, data: { inverse, wanted: [1, 1] }, weight: areas.map((a) => 150 * a) },
  (p, data) => half(formulas.stretch(p, data)));
problem.energy("shear", { over, of, data: { inverse }, weight: areas.map((a) => 40 * a) },
  (p, data) => formulas.shear(p, data).square().mul(0.5));
` },
} satisfies { readonly [id: string]: { readonly name: string; readonly code: string } };
const codeOf = (id: string): string => HEADER + MATERIALS[Object.hasOwn(MATERIALS, id) ? id as keyof typeof MATERIALS : "springs"].code + BENDING;

class ClothPage implements Page<ClothState> {
  view!: View;
  x: Variables<Vec3> | undefined;
  now = new Float32Array();
  frames = 0;
  time = 0;
  #mesh!: Mesh;
  #before = new Float32Array();
  #normals = new Float32Array();
  #predicted = new Float32Array();
  #pins: number[] = [];
  #moved = new Map<number, [number, number, number]>();
  #made: Made[] = [];
  #next: { x: Variables<Vec3>; made: Made[]; inertia: Energy<{ predicted: Data<Vec3> }> } | undefined;
  #inertia: Energy<{ predicted: Data<Vec3> }> | undefined;
  #ball: THREE.Mesh | undefined;
  #dots: THREE.InstancedMesh<THREE.SphereGeometry, THREE.MeshBasicMaterial> | undefined;
  #rate = 0;
  #lastFrame = 0;
  readonly #controls;

  constructor(private readonly app: App<ClothState>) {
    this.#controls = {
      scene: choice<string>("Scene", SCENES, (scene) => app.set({ scene, pins: [] })),
      size: choice<string>("Mesh", SIZES.map((size) => [String(size), `${size} × ${size}`] as const), (size) => app.set({ size: Number(size), pins: [] })),
      material: choice("Material", Object.entries(MATERIALS).map(([id, { name }]) => [id, name] as const), (material) => app.set({ material, code: "" })),
      wind: slider("Wind", { min: 0, max: 12, step: 0.1, unit: " m/s" }, (wind) => app.set({ wind }, { undoable: false })),
      stiffness: slider("Stretch", { min: 0.05, max: 20, log: true, unit: " ×" }, (stiffness) => app.set({ stiffness: Number(stiffness.toPrecision(3)) }, { undoable: false })),
      bending: slider("Bending", { min: 0.01, max: 300, log: true, unit: " ×" }, (bending) => app.set({ bending: Number(bending.toPrecision(3)) }, { undoable: false })),
      strain: tick("Colour by strain", (strain) => app.set({ strain })),
    };
    app.controls.append(
      section("Cloth", this.#controls.scene.element, this.#controls.size.element, this.#controls.material.element, this.#controls.wind.element, this.#controls.stiffness.element, this.#controls.bending.element, this.#controls.strain.element),
      section("Pins", note("Tap the cloth to pin it or to let it go; drag a pin to move it."), el("div", { class: "buttons" }, button("Let go", () => this.#pin([-1])), button("Pins of the scene", () => app.set({ pins: [] })))),
      note("Every frame of 1/60 s minimises ½ m‖x − x̂‖²/h² + stretch + shear + bending by Newton's method. Positions are read back once a frame, since the next x̂ is made of two frames."),
    );
  }

  async open(engine: Engine): Promise<void> {
    this.view = await View.make(engine, this.app.stage, "A cloth that moves", () => this.app.loop ? this.app.loop.draw() : undefined);
    this.view.look([1.1, 1.15, 2.1], [0, 0.62, 0]);
    const ground = new THREE.Mesh(new THREE.CircleGeometry(1.6, 64), new THREE.MeshStandardMaterial({ color: 0x9a9a96, roughness: 1, transparent: true, opacity: 0.25 }));
    ground.rotation.x = -Math.PI / 2;
    this.#ball = new THREE.Mesh(new THREE.SphereGeometry(BALL.radius - 0.012, 48, 32), new THREE.MeshStandardMaterial({ color: 0x5b7bd6, roughness: 0.5 }));
    this.#ball.position.set(...BALL.centre);
    this.#dots = new THREE.InstancedMesh(new THREE.SphereGeometry(1, 16, 12), new THREE.MeshBasicMaterial({ color: colour("handle"), depthTest: false, transparent: true }), MOST_DOTS);
    this.#dots.frustumCulled = false;
    this.view.scene.add(ground, this.#ball, this.#dots);
    this.#pointing();
  }

  close(): void { this.view.dispose(); this.x = undefined; }
  code(state: ClothState): string { return codeOf(state.material); }

  async build(state: ClothState): Promise<Running> {
    const size = SIZES.includes(state.size) ? state.size : DEFAULTS.size, upright = state.scene === "flag";
    const flat = grid({ columns: size }), count = flat.positions.length / 3;
    const material = Float64Array.from({ length: 2 * count }, (_, k) => flat.positions[3 * (k >> 1) + (k & 1)]!);
    // Lying at a height, or upright for a flag.
    const positions = flat.positions.map((_, k) => {
      const v = 3 * Math.floor(k / 3), [u, w] = [flat.positions[v]! - 0.5, flat.positions[v + 1]! - 0.5], ripple = 2e-3 * Math.sin(9 * u + 13 * w);
      return [upright ? u + 0.2 : u, upright ? w + 0.75 : 1.05 + ripple, upright ? ripple : -w][k % 3]!;
    });
    this.#mesh = { positions, triangles: flat.triangles };
    this.#pins = state.pins.length ? state.pins.filter((v) => Number.isInteger(v) && v >= 0 && v < count) : pinsOf(state.scene, size);
    const problem = this.app.engine!.problem();
    try {
      const x = problem.variables("x", { shape: 3, values: positions });
      const made = await runCode(state.code || this.code(state), problem, { x, mesh: this.#mesh, material, edgeLengths0: edgeLengths(this.#mesh) });
      const mass = vertexAreas(this.#mesh).map((area) => DENSITY * area);
      const moving = inertia(problem, { x, predicted: positions, mass, step: H });
      planeContact(problem, { x, name: "ground", range: RANGE, offset: 0, weight: 300 });
      if (state.scene === "sphere") sphereContact(problem, { x, name: "sphere", center: BALL.centre, radius: BALL.radius, range: RANGE, weight: 300 });
      if (this.#pins.length) x.fix(this.#pins);
      this.#next = { x, made, inertia: moving };
      return {
        problem, endless: true, newSolver: () => problem.solver({ method: "newton", linear: "pcg", maxInnerIterations: 60 }), dispose: () => { this.view.unbind(); problem.dispose(); },
        frame: (solver) => this.#frame(solver),
        note: () => ({ before: this.#before.slice(), now: this.now.slice(), time: this.time }),
        restored: (kept) => { const { before, now, time } = kept as { before: Float32Array<ArrayBuffer>; now: Float32Array<ArrayBuffer>; time: number }; this.#before = before.slice(); this.now = now.slice(); this.time = time; },
        sampled: () => { if (this.app.state.strain) this.#strain(); },
      };
    } catch (error) {
      problem.dispose();
      throw error;
    }
  }

  started(): void {
    const { x, made, inertia } = this.#next!;
    this.x = x;
    this.#made = made;
    this.#inertia = inertia;
    this.now = Float32Array.from(this.#mesh.positions);
    this.#before = this.now.slice();
    this.#normals = new Float32Array(this.now.length);
    this.#predicted = new Float32Array(this.now.length);
    this.time = this.frames = 0;
    this.view.show(this.now, this.#mesh.triangles);
    this.#paint();
    this.view.bind(x);
    this.#ball!.visible = this.app.state.scene === "sphere";
    this.#weigh(this.app.state);
  }

  /** One step in time: where inertia, gravity and wind would lead, then the minimum. */
  async #frame(solver: Solver): Promise<number> {
    const x = this.x!, { now } = this, before = this.#before, predicted = this.#predicted, { wind } = this.app.state;
    for (const [v, place] of this.#moved) { now.set(place, 3 * v); x.write(place, { at: [v] }); }
    this.#moved.clear();
    this.time += H;
    normalsOnHost(now, this.#mesh.triangles, this.#normals);
    const gust = wind * (0.75 + 0.25 * Math.sin(2.1 * this.time) + 0.2 * Math.sin(5.3 * this.time)), air = [gust, 0.05 * gust, gust * 0.5 * Math.sin(0.7 * this.time + 0.6)] as const;
    for (let k = 0; k < now.length; k += 3) {
      // Pressure of the air that meets the surface, relative to its own velocity.
      const n = [this.#normals[k]!, this.#normals[k + 1]!, this.#normals[k + 2]!] as const;
      const flow = n.reduce((sum, one, axis) => sum + one * (air[axis]! - (now[k + axis]! - before[k + axis]!) / H), 0);
      const push = (1.2 * flow) / DENSITY / 4;
      for (let axis = 0; axis < 3; axis++) {
        const velocity = now[k + axis]! - before[k + axis]!;
        predicted[k + axis] = now[k + axis]! + DRAG * velocity + H * H * ((axis === 1 ? GRAVITY : 0) + push * n[axis]!);
      }
    }
    this.#inertia!.set({ predicted });
    let steps = 0;
    if (this.app.engine!.device) {
      if (solver.advance({ iterations: STEPS })) steps = STEPS;
    } else for (let k = 0; k < STEPS; k++) steps += await stepOf(solver);
    const next = await x.read(new Float32Array(now.length));
    // While kernels are compiled nothing moves, and no time goes by.
    if (!steps) { this.time -= H; return 0; }
    this.#before = now;
    this.now = next;
    this.frames++;
    const at = performance.now();
    this.#rate += 0.1 * (1000 / Math.max(1, at - this.#lastFrame) - this.#rate);
    this.#lastFrame = at;
    return steps;
  }

  draw(now: number): void {
    const dots = this.#dots!, at = new THREE.Vector3(), matrix = new THREE.Matrix4();
    dots.count = Math.min(MOST_DOTS, this.#pins.length);
    for (let k = 0; k < dots.count; k++) {
      at.fromArray(this.now, 3 * this.#pins[k]!);
      dots.setMatrixAt(k, matrix.makeScale(1, 1, 1).multiplyScalar((this.#pins.length > 40 ? 2.5 : 6) * this.view.pixel(at)).setPosition(at));
    }
    dots.instanceMatrix.needsUpdate = true;
    this.view.draw(now, this.app.loop!.playing);
  }

  show(state: ClothState): void {
    this.#controls.scene.show(state.scene);
    this.#controls.size.show(String(state.size));
    this.#controls.material.show(state.material);
    this.#controls.wind.show(state.wind);
    this.#controls.stiffness.show(state.stiffness);
    this.#controls.bending.show(state.bending);
    this.#controls.strain.show(state.strain);
  }

  apply(state: ClothState, before: ClothState): boolean {
    if (state.scene !== before.scene || state.size !== before.size || state.material !== before.material) return false;
    if (JSON.stringify(state.pins) !== JSON.stringify(before.pins)) {
      this.#pins = state.pins.length ? state.pins.filter((v) => v >= 0 && v < this.now.length / 3) : pinsOf(state.scene, state.size);
      this.x?.free();
      if (this.#pins.length) this.x?.fix(this.#pins);
    }
    this.#weigh(state);
    if (state.strain !== before.strain) { if (state.strain) this.#strain(); else this.#paint(); }
    return true;
  }

  reset(): void { void this.app.rebuild(); }
  strip(): string { return `${this.#rate.toFixed(0)} frames a second · ${this.time.toFixed(1)} s`; }

  project(state: ClothState): { name: string; files: { [path: string]: string } } {
    const code = state.code || this.code(state);
    const main = `// A cloth that hangs by two corners: implicit Euler, every frame a minimisation.
${importsFor(`${code}\ninit inertia grid vertexAreas`, ["edgeLengths"])}
import { edgeLengths } from "leastwise/mesh";

const size = ${state.size}, h = ${H};
const flat = grid({ columns: size });
const count = flat.positions.length / 3;
const material = Float64Array.from({ length: 2 * count }, (_, k) => flat.positions[3 * (k >> 1) + (k & 1)]);
const mesh = { positions: flat.positions.map((_, k) => [flat.positions[k], 1, flat.positions[k - 1]][k % 3]), triangles: flat.triangles };
const lw = await init();
const problem = lw.problem();
const x = problem.variables("x", { shape: 3, values: mesh.positions });
x.fix([size * (size + 1), size * (size + 1) + size]);
const edgeLengths0 = edgeLengths(mesh);
${code}
const moving = inertia(problem, { x, predicted: mesh.positions, mass: vertexAreas(mesh).map((area) => ${DENSITY} * area), step: h });
const solver = problem.solver({ method: "newton", linear: "pcg" });
let before = Float64Array.from(mesh.positions), now = before;
for (let frame = 0; frame < 120; frame++) {
  moving.set({ predicted: now.map((v, k) => 2 * v - before[k] + (k % 3 === 1 ? ${GRAVITY} * h * h : 0)) });
  for (let k = 0; k < ${STEPS}; k++) await solver.step();
  [before, now] = [now, await x.read({ as: "f64" })];
  if (frame % 20 === 19) console.log(frame + 1, Math.min(...now.filter((_, k) => k % 3 === 1)));
}
lw.dispose();
`;
    return { name: "leastwise-cloth", files: { "main.ts": main } };
  }

  #weigh({ stiffness, bending }: ClothState): void {
    for (const one of this.#made) weigh(one, one.term.name === "bending" ? bending : stiffness);
  }

  #paint(): void {
    const base = linear("mesh");
    this.view.colours((out) => { for (let v = 0; v < out.length; v += 3) out.set(base, v); });
  }

  #strain(): void { this.view.colours((out) => diverging(strains(this.#mesh, this.now), out, 0.1)); }

  #pin(pins: readonly number[]): void { this.app.set({ pins }); }

  #pointing(): void {
    const { canvas, camera, controls } = this.view, ray = new THREE.Raycaster();
    let held: { v: number; plane: THREE.Plane; id: number } | undefined, from = { x: 0, y: 0 };
    const aim = ({ clientX, clientY }: PointerEvent) => {
      const box = canvas.getBoundingClientRect();
      ray.setFromCamera(new THREE.Vector2(((clientX - box.left) / box.width) * 2 - 1, 1 - ((clientY - box.top) / box.height) * 2), camera);
    };
    const at = (v: number) => new THREE.Vector3().fromArray(this.now, 3 * v);
    canvas.addEventListener("pointerdown", (event) => {
      from = { x: event.clientX, y: event.clientY };
      const far = this.#pins.map((v) => { const p = this.view.onScreen(at(v)); return Math.hypot(p.x - event.clientX, p.y - event.clientY); }), best = far.indexOf(Math.min(...far));
      if (best < 0 || far[best]! > REACH) return;
      event.stopImmediatePropagation();
      canvas.setPointerCapture(event.pointerId);
      controls.enabled = false;
      const v = this.#pins[best]!;
      held = { v, id: event.pointerId, plane: new THREE.Plane().setFromNormalAndCoplanarPoint(camera.getWorldDirection(new THREE.Vector3()), at(v)) };
    }, { capture: true });
    canvas.addEventListener("pointermove", (event) => {
      if (held?.id !== event.pointerId) return;
      aim(event);
      const place = ray.ray.intersectPlane(held.plane, new THREE.Vector3());
      if (place) this.#moved.set(held.v, [place.x, Math.max(place.y, 2 * RANGE), place.z]);
    });
    const up = (event: PointerEvent) => {
      const was = held, tapped = Math.hypot(event.clientX - from.x, event.clientY - from.y) < 6 && event.type === "pointerup";
      held = undefined;
      controls.enabled = true;
      if (!tapped) return;
      if (was) {
        const left = this.#pins.filter((v) => v !== was.v);
        return this.#pin(left.length ? left : [-1]);
      }
      this.view.remember(this.now);
      aim(event);
      const face = ray.intersectObject(this.view.surface!, false)[0];
      if (!face?.face) return;
      const v = [face.face.a, face.face.b, face.face.c].sort((a, b) => at(a).distanceTo(face.point) - at(b).distanceTo(face.point))[0]!;
      this.#pin(this.#pins.includes(v) ? this.#pins.filter((one) => one !== v) : [...this.#pins, v]);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
  }
}

/** What a scene holds. */
function pinsOf(scene: string, size: number): number[] {
  const at = (i: number, j: number) => j * (size + 1) + i, all = Array.from({ length: size + 1 }, (_, k) => k);
  if (scene === "sphere") return [];
  if (scene === "flag") return [at(0, 0), at(0, size >> 1), at(0, size)];
  if (scene === "trampoline") return [...new Set(all.flatMap((k) => [at(k, 0), at(k, size), at(0, k), at(size, k)]))];
  return [at(0, size), at(size, size)];
}

new App<ClothState>(DEFAULTS, (app) => expose(app, new ClothPage(app)));
