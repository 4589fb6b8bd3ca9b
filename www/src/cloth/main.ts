/** The cloth page: implicit Euler, every frame a minimisation. */
import { type Engine, type Solver, type Variables, type Vec3 } from "leastwise";
import { planeContact } from "leastwise/energies";
import { edgeLengths, grid, type Mesh } from "leastwise/mesh";
import * as THREE from "three/webgpu";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import { runCode, weigh, type Made } from "../shell/code.js";
import { button, choice, el, note, section, slider, tick } from "../shell/dom.js";
import { LoopGone } from "../shell/gone.js";
import type { Running } from "../shell/loop.js";
import { complain } from "../shell/notices.js";
import { colour } from "../shell/theme.js";
import { counted } from "../shell/words.js";
import { diverging, strains } from "../scene/colouring.js";
import { linear, View } from "../scene/view.js";
import { bodyOf, HARDNESS, isBody, RANGE, touch, type Body } from "./bodies.js";
import { codeOf, MATERIALS } from "./materials.js";
import { point } from "./pointing.js";
import { projectOf } from "./program.js";
import { MOST, Stepping, type Moment, type Place } from "./stepping.js";

export interface ClothState extends CommonState {
  readonly scene: string;
  readonly size: number;
  readonly material: string;
  readonly wind: number;
  readonly stiffness: number;
  readonly bending: number;
  /** Newton steps of a frame; 0 for as many as the time of a frame allows. */
  readonly steps: number;
  /** Vertices that are held; empty for those of the scene. */
  readonly pins: readonly number[];
  readonly strain: boolean;
}

const SIZES = [16, 24, 32, 48, 64, 96, 128, 192, 256];
const SCENES = [["hang", "Hangs by two corners"], ["flag", "Flag"], ["sphere", "Falls on a sphere"], ["bunny", "Falls on the bunny"], ["trampoline", "Held all around"]] as const;
const STEPS = [[0, "Automatic"], [1, "1"], [2, "2"], [4, "4"], [MOST, String(MOST)]] as const;
const DEFAULTS: ClothState = { backend: "auto", code: "", scene: "hang", size: 24, material: "springs", wind: 2, stiffness: 1, bending: 1, steps: 0, pins: [], strain: false };
const MOST_DOTS = 1024;

class ClothPage implements Page<ClothState> {
  view!: View;
  x: Variables<Vec3> | undefined;
  stepping: Stepping | undefined;
  #mesh!: Mesh;
  /** Pins, and where they are: the solver holds them, so that nothing has to be read. */
  #pins = new Map<number, Place>();
  readonly #moved = new Map<number, Place>();
  #made: Made[] = [];
  #next: { x: Variables<Vec3>; made: Made[]; stepping: Stepping; body: Body | undefined; pins: readonly number[] } | undefined;
  /** Balls of the body that contact is with. */
  balls: Body["balls"] = [];
  #body: THREE.Object3D | undefined;
  #dots: THREE.InstancedMesh<THREE.SphereGeometry, THREE.MeshBasicMaterial> | undefined;
  readonly #about = note("");
  readonly #controls;

  constructor(private readonly app: App<ClothState>) {
    this.#controls = {
      scene: choice<string>("Scene", SCENES, (scene) => app.set({ scene, pins: [] })),
      size: choice<string>("Mesh", SIZES.map((size) => [String(size), `${size} × ${size}`] as const), (size) => app.set({ size: Number(size), pins: [] })),
      material: choice("Material", Object.entries(MATERIALS).map(([id, { name }]) => [id, name] as const), (material) => app.set({ material, code: "" })),
      wind: slider("Wind", { min: 0, max: 12, step: 0.1, unit: " m/s" }, (wind) => app.set({ wind }, { undoable: false })),
      stiffness: slider("Stretch", { min: 0.05, max: 20, log: true, unit: " ×" }, (stiffness) => app.set({ stiffness: Number(stiffness.toPrecision(3)) }, { undoable: false })),
      bending: slider("Bending", { min: 0.01, max: 300, log: true, unit: " ×" }, (bending) => app.set({ bending: Number(bending.toPrecision(3)) }, { undoable: false })),
      steps: choice<string>("Newton steps a frame", STEPS.map(([steps, name]) => [String(steps), name] as const), (steps) => app.set({ steps: Number(steps) })),
      strain: tick("Colour by strain", (strain) => app.set({ strain })),
    };
    const { scene, size, material, wind, stiffness, bending, steps, strain } = this.#controls;
    app.controls.append(
      section("Cloth", scene.element, size.element, material.element, wind.element, stiffness.element, bending.element, steps.element, strain.element),
      section("Pins", note("Tap the cloth to pin it or to let it go; drag a pin to move it."), el("div", { class: "buttons" }, button("Let go", () => this.#pin([-1])), button("Pins of the scene", () => app.set({ pins: [] })))),
      note("Every frame of 1/60 s minimises ½ m‖x − x̂‖²/h² + stretch + shear + bending + contact by Newton's method. Each frame hands its values on to the next one on the device; positions are read where you tap, and for colours."),
      this.#about,
    );
  }

  async open(engine: Engine): Promise<void> {
    this.view = await View.make(engine, this.app.stage, "A cloth that moves", () => this.app.loop?.draw());
    this.view.look([1.22, 1.2, 2.33], [0, 0.6, 0]);
    const ground = new THREE.Mesh(new THREE.CircleGeometry(1.6, 64), new THREE.MeshStandardMaterial({ color: 0x9a9a96, roughness: 1, transparent: true, opacity: 0.25 }));
    ground.rotation.x = -Math.PI / 2;
    this.#dots = new THREE.InstancedMesh(new THREE.SphereGeometry(1, 16, 12), new THREE.MeshBasicMaterial({ color: colour("handle"), depthTest: false, transparent: true }), MOST_DOTS);
    this.#dots.frustumCulled = false;
    this.view.scene.add(ground, this.#dots);
    point(this.view, {
      positions: () => this.positions(),
      pins: () => this.#pins,
      move: (pin, [x, y, z]) => {
        const to = [x, Math.max(y, 2 * RANGE), z] as const;
        this.#pins.set(pin, to);
        this.#moved.set(pin, to);
        this.app.wake();
      },
      tap: (vertex, at) => {
        const left = [...this.#pins.keys()].filter((v) => v !== vertex);
        if (!this.#pins.has(vertex)) this.#pins.set(vertex, at);
        else if (!left.length) return this.#pin([-1]);
        else return this.#pin(left);
        this.#pin([...left, vertex]);
      },
      failed: complain,
    });
  }

  close(): void { this.view.dispose(); this.x = undefined; }
  code(state: ClothState): string { return codeOf(state.material); }

  async build(state: ClothState): Promise<Running> {
    const { scene } = state, engine = this.app.engine!, size = SIZES.includes(state.size) ? state.size : DEFAULTS.size, upright = scene === "flag";
    const flat = grid({ columns: size }), count = flat.positions.length / 3;
    const material = Float64Array.from({ length: 2 * count }, (_, k) => flat.positions[3 * (k >> 1) + (k & 1)]!);
    // Lying at a height, or upright for a flag.
    const positions = flat.positions.map((_, k) => {
      const v = 3 * Math.floor(k / 3), [u, w] = [flat.positions[v]! - 0.5, flat.positions[v + 1]! - 0.5], ripple = 2e-3 * Math.sin(9 * u + 13 * w);
      return [upright ? u + 0.2 : u, upright ? w + 0.75 : 1.05 + ripple, upright ? ripple : -w][k % 3]!;
    });
    const mesh = { positions, triangles: flat.triangles }, pins = pinsOf(state, size, count), body = await bodyOf(scene, engine, size);
    const problem = engine.problem();
    try {
      const x = problem.variables("x", { shape: 3, values: positions });
      const made = await runCode(state.code, this.code(state), problem, { x, mesh, material, edgeLengths0: edgeLengths(mesh) });
      const stepping = new Stepping(engine, problem, x, mesh);
      planeContact(problem, { x, name: "ground", range: RANGE, offset: 0, weight: HARDNESS });
      if (body) touch(problem, body, { x, last: stepping.last, inertia: Stepping.inertiaOf(count) });
      if (pins.length) x.fix(pins);
      this.#mesh = mesh;
      this.#next = { x, made, stepping, body, pins };
      return {
        problem, endless: true, newSolver: () => problem.solver({ method: "newton", linear: "pcg", forcing: 1e-3, maxInnerIterations: 60 }), dispose: () => { this.view.unbind(); problem.dispose(); },
        frame: (solver) => this.#frame(solver, stepping),
        note: () => ({ moment: stepping.moment(), pins: [...this.#pins] }),
        restored: (kept) => { const { moment, pins } = kept as { moment: Moment; pins: [number, Place][] }; stepping.restore(moment); this.#pins = new Map(pins); },
        moved: () => this.view.move((positions) => x.read(positions)),
        sampled: async () => { if (this.app.state.strain) this.#strain(await x.read()); },
      };
    } catch (error) {
      problem.dispose();
      throw error;
    }
  }

  started(): void {
    const { x, made, stepping, body, pins } = this.#next!;
    this.x = x;
    this.#made = made;
    this.stepping = stepping;
    const now = Float32Array.from(this.#mesh.positions);
    this.#pins = new Map(pins.map((v) => [v, placeOf(now, v)]));
    this.#moved.clear();
    this.view.show(now, this.#mesh.triangles);
    this.#paint();
    this.view.bind(x, this.app.loop!);
    if (this.#body) this.view.scene.remove(this.#body);
    this.#body = body?.object;
    this.balls = body?.balls ?? [];
    if (this.#body) this.view.scene.add(this.#body);
    this.#about.textContent = body?.note ?? "";
    this.#weigh(this.app.state);
  }

  /** Positions as they are, read between two frames. None while there is no cloth. */
  async positions(): Promise<Float32Array> {
    const { x, app: { loop } } = this;
    if (!x || !loop) return new Float32Array();
    return loop.ask(() => x.read({ as: "f32" })).catch((thrown) => { if (thrown instanceof LoopGone) return new Float32Array(); throw thrown; });
  }

  async #frame(solver: Solver, stepping: Stepping): Promise<number> {
    const { wind, steps } = this.app.state;
    const air = (time: number): Place => {
      const gust = wind * (0.75 + 0.25 * Math.sin(2.1 * time) + 0.2 * Math.sin(5.3 * time));
      return [gust, 0.05 * gust, gust * 0.5 * Math.sin(0.7 * time + 0.6)];
    };
    return stepping.frame(solver, { steps: STEPS.some(([one]) => one === steps) ? steps : 0, air, moved: this.#moved });
  }

  draw(now: number): void {
    const dots = this.#dots!, at = new THREE.Vector3(), matrix = new THREE.Matrix4(), pixels = this.#pins.size > 40 ? 2.5 : 6;
    let k = 0;
    for (const place of this.#pins.values()) {
      if (k === MOST_DOTS) break;
      at.set(...place);
      dots.setMatrixAt(k++, matrix.makeScale(1, 1, 1).multiplyScalar(pixels * this.view.pixel(at)).setPosition(at));
    }
    dots.count = k;
    dots.instanceMatrix.needsUpdate = true;
    this.view.draw(now, this.app.loop!.playing);
  }

  repaint(): void {
    this.#dots?.material.color.set(colour("handle"));
    if (this.view?.surface && !this.app.state.strain) this.#paint();
  }

  show(state: ClothState): void {
    this.#controls.scene.show(state.scene);
    this.#controls.size.show(String(state.size));
    this.#controls.material.show(state.material);
    this.#controls.wind.show(state.wind);
    this.#controls.stiffness.show(state.stiffness);
    this.#controls.bending.show(state.bending);
    this.#controls.steps.show(String(state.steps));
    this.#controls.strain.show(state.strain);
  }

  apply(state: ClothState, before: ClothState): boolean {
    if (state.scene !== before.scene || state.size !== before.size || state.material !== before.material) return false;
    if (JSON.stringify(state.pins) !== JSON.stringify(before.pins)) this.#hold(pinsOf(state, state.size, this.#mesh.positions.length / 3));
    this.#weigh(state);
    if (state.strain !== before.strain && !state.strain) this.#paint();
    else if (state.strain !== before.strain) void this.positions().then((now) => this.#strain(now)).catch(complain);
    return true;
  }

  reset(): void { void this.app.rebuild(); }

  strip(): string {
    const { rate = 0, iterations = 0, time = 0 } = this.stepping ?? {}, { steps } = this.app.state;
    return `${counted(Math.round(rate), "frame")} a second · ${counted(iterations, "Newton step")} each${steps ? "" : " (automatic)"} · ${time.toFixed(1)} s`;
  }

  project(state: ClothState): { name: string; files: { [path: string]: string } } {
    return projectOf(state.code || this.code(state), state.size, state.steps);
  }

  /** Fixes these vertices and no others; where those are that were not held before is read. */
  #hold(pins: readonly number[]): void {
    const before = this.#pins;
    const { x } = this;
    this.app.loop?.edit(() => { x?.free(); if (pins.length) x?.fix(pins); });
    this.#pins = new Map(pins.flatMap((v) => (before.has(v) ? [[v, before.get(v)!] as const] : [])));
    if (this.#pins.size === pins.length) return;
    void this.positions().then((now) => { if (now.length) this.#pins = new Map(pins.map((v) => [v, this.#pins.get(v) ?? placeOf(now, v)])); this.app.loop?.draw(); }).catch(complain);
  }

  #weigh({ stiffness, bending }: ClothState): void {
    const made = this.#made;
    this.app.loop?.edit(() => { for (const one of made) weigh(one, one.term.name === "bending" ? bending : stiffness); });
  }

  #paint(): void {
    const base = linear("mesh");
    this.view.colours((out) => { for (let v = 0; v < out.length; v += 3) out.set(base, v); });
  }

  #strain(now: ArrayLike<number>): void {
    if (this.app.state.strain && now.length === this.#mesh.positions.length) this.view.colours((out) => diverging(strains(this.#mesh, now), out, 0.1));
  }

  #pin(pins: readonly number[]): void { this.app.set({ pins }); }
}

const placeOf = (now: ArrayLike<number>, v: number): Place => [now[3 * v]!, now[3 * v + 1]!, now[3 * v + 2]!];

/** Pins of a state: a visitor's, else those of the scene. */
function pinsOf({ pins, scene }: ClothState, size: number, count: number): number[] {
  if (pins.length) return pins.filter((v) => Number.isInteger(v) && v >= 0 && v < count);
  const at = (i: number, j: number) => j * (size + 1) + i, all = Array.from({ length: size + 1 }, (_, k) => k);
  if (isBody(scene)) return [];
  if (scene === "flag") return [at(0, 0), at(0, size >> 1), at(0, size)];
  if (scene === "trampoline") return [...new Set(all.flatMap((k) => [at(k, 0), at(k, size), at(0, k), at(size, k)]))];
  return [at(0, size), at(size, size)];
}

new App<ClothState>(DEFAULTS, (app) => expose(app, new ClothPage(app)));
