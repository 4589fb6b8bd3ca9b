/** The landing page: five lines of a residual, and the bunny that they hold together. */
import { column, rotateXYZ, type Data, type Engine, type Term, type Variables, type Vec3 } from "leastwise";
import { edges } from "leastwise/mesh";
import * as THREE from "three/webgpu";
import { handleOf, Knobs, parse, targets, type Handle } from "../mesh/handles.js";
import { point } from "../mesh/pointing.js";
import { generate } from "../scene/meshes.js";
import { linear, View } from "../scene/view.js";
import { byId } from "../shell/dom.js";
import { BACKENDS, openEngine, withoutWebGpu, type Backend } from "../shell/engines.js";
import { Loop, type Progress } from "../shell/loop.js";
import { mark } from "../shell/marks.js";
import { complain, say, tell, watchErrors } from "../shell/notices.js";
import { colour, onTheme, themeButton } from "../shell/theme.js";

const RESIDUAL = `const turn = problem.variables("turn", { shape: 3, values: zeros });
const rest = problem.constants("rest", { shape: 3, values: bunny });

problem.residuals("as rigid as possible",
  { over: edges, of: [x, x, turn.at(0), rest.at(0), rest.at(1)] },
  ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));`;
const PULL = 5;
const KEY_STEP = 0.03;
const KEY_TURN = Math.PI / 24;
const STEPS: { readonly [key: string]: readonly [number, number, number] } = { ArrowLeft: [-1, 0, 0], ArrowRight: [1, 0, 0], ArrowUp: [0, 1, 0], ArrowDown: [0, -1, 0], PageUp: [0, 0, -1], PageDown: [0, 0, 1] };

const asked = new URLSearchParams(location.hash.slice(1)).get("backend") as Backend, wish = BACKENDS.includes(asked) ? asked : "auto";
// It loads while the page makes its mesh.
const opening = openEngine(wish);
opening.catch(() => {});
const { mesh } = generate("bunny");
const rest = mesh.positions;

class Landing {
  engine: Engine | undefined;
  view!: View;
  loop: Loop | undefined;
  x: Variables<Vec3> | undefined;
  handles: Handle[] = parse("", rest);
  selected = 1;
  residuals = 0;
  readonly knobs = new Knobs();
  #pulled = true;

  async open(backend: Backend, opening = openEngine(backend)): Promise<void> {
    try {
      say("Loading the solver…");
      const { engine, why } = await opening;
      await this.loop?.dispose();
      this.loop = undefined;
      this.view?.dispose();
      this.engine?.dispose();
      this.engine = engine;
      const select = byId("backend") as HTMLSelectElement, gpu = [...select.options].find(({ value }) => value === "webgpu")!;
      gpu.disabled = withoutWebGpu !== undefined;
      select.value = why ? "cpu" : backend;
      byId("why").textContent = `${engine.backend === "cpu" ? "CPU" : "WebGPU"}, ${engine.precision}: ${why ?? engine.reason}.`;
      void engine.lost.then((error) => { if (this.engine === engine) { tell(`The GPU device is lost (${error.message}). The page goes on, on the CPU.`); void this.open("cpu"); } });
      await this.#show(engine);
      this.#solve(engine);
    } catch (thrown) {
      complain(thrown, { label: "Use the CPU", act: () => void this.open("cpu") });
    }
  }

  async #show(engine: Engine): Promise<void> {
    this.view = await View.make(engine, byId("stage"), "A bunny whose ears can be moved", () => this.loop ? this.loop.draw() : this.#picture(performance.now()));
    this.view.canvas.setAttribute("aria-describedby", "help");
    this.view.look([0.45, 0.95, 2.5], [0, 0.5, 0]);
    this.view.controls.enableZoom = false;               // the wheel scrolls the page
    this.view.scene.add(this.knobs.group);
    this.view.show(Float32Array.from(rest), mesh.triangles);
    this.#paint();
    point(this.view, this.knobs, {
      positions: () => this.loop!.ask(() => this.x!.read()), tool: () => "look", selected: () => this.selected, begin: () => {}, end: () => {}, click: () => {}, grab: () => -1, caught: () => {},
      select: (k) => { this.selected = k; this.#paint(); },
      move: (k, by) => this.move(k, by),
      turn: (k, by) => this.#change(k, ({ q, ...other }) => ({ ...other, q: by.clone().multiply(new THREE.Quaternion(...q)).toArray() as unknown as Handle["q"] })),
    });
    this.view.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  #solve(engine: Engine): void {
    const problem = engine.problem();
    const x = problem.variables("x", { shape: 3, values: rest });
    const turn = problem.variables("turn", { shape: 3, values: new Float64Array(rest.length) });
    const still = problem.constants("rest", { shape: 3, values: rest });
    const rigid = problem.residuals("as rigid as possible", { over: edges(mesh.triangles, { directed: true }), of: [x, x, turn.at(0), still.at(0), still.at(1)] },
      ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
    const target = Float32Array.from(rest), pull = new Float32Array(x.count);
    targets(this.handles, rest, target, pull, PULL);
    const held: Term<{ target: Data<Vec3> }> = problem.residuals("handles", { of: [x], data: { target: column(target, 3) }, weight: pull }, ([p], { target }) => p.sub(target));
    this.residuals = 3 * (rigid.count + this.handles.reduce((sum, { v }) => sum + v.length, 0));
    this.x = x;
    say("Compiling kernels…");
    const loop = new Loop(engine, {
      problem, newSolver: () => problem.solver({ linear: "pcg" }), dispose: () => { this.view.unbind(); problem.dispose(); },
      moved: () => this.view.move((positions) => x.read(positions)),
      before: () => {
        if (!this.#pulled) return;
        this.#pulled = false;
        targets(this.handles, rest, target, pull, PULL);
        held.set({ target, weight: pull });
      },
    }, { draw: (now) => this.#picture(now), shown: (progress) => this.#facts(progress), failed: (thrown) => complain(thrown, { label: "Start again", act: () => void this.open("auto") }), note: () => undefined });
    this.loop = loop;
    this.view.bind(x, loop);
    (byId("reset") as HTMLButtonElement).disabled = false;
  }

  move(k: number, by: THREE.Vector3): void { this.#change(k, ({ t, ...other }) => ({ ...other, t: [t[0] + by.x, t[1] + by.y, t[2] + by.z] })); }
  reset(): void { this.handles = this.handles.map(({ v }) => handleOf(v)); this.#changed(); }

  #change(k: number, change: (handle: Handle) => Handle): void {
    this.handles[k] = change(this.handles[k]!);
    this.#changed();
  }

  #changed(): void {
    this.#pulled = true;
    this.#knobs();
    this.loop?.wake();
  }

  #key(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") { this.selected = (this.selected + 1) % this.handles.length; this.#paint(); }
    else if (step) this.move(this.selected, new THREE.Vector3(...step).multiplyScalar(KEY_STEP).applyQuaternion(this.view.camera.quaternion));
    else if (event.key.toLowerCase() === "r") {
      const turn = new THREE.Quaternion().setFromAxisAngle(this.view.camera.getWorldDirection(new THREE.Vector3()).negate(), event.shiftKey ? -KEY_TURN : KEY_TURN);
      this.#change(this.selected, ({ v, t, q }) => ({ v, t, q: turn.multiply(new THREE.Quaternion(...q)).toArray() as unknown as Handle["q"] }));
    } else return;
    event.preventDefault();
  }

  #picture(now: number): void {
    if (!this.view?.surface) return;
    this.knobs.face(this.view.camera, (at) => this.view.pixel(at));
    this.view.draw(now, this.loop !== undefined && !this.loop.resting);
  }

  #facts({ stepMs, cost, compiling }: Progress): void {
    if (!compiling) { say(""); mark("interactive"); }
    byId("facts").textContent = `${this.engine!.backend === "cpu" ? "CPU" : "WebGPU"} · ${this.residuals.toLocaleString("en")} residuals · ${stepMs === undefined ? "…" : stepMs.toFixed(stepMs < 10 ? 2 : 0)} ms a step · cost ${cost === undefined ? "…" : cost.toPrecision(3)}`;
  }

  #knobs(): void { this.knobs.show(this.handles, rest, this.selected, { pin: colour("pin"), handle: colour("handle") }); this.loop?.draw(); }

  #paint(): void {
    const [base, pin, chosen] = [linear("mesh"), linear("pin"), linear("handle")];
    this.view.colours((out) => {
      for (let v = 0; v < out.length; v += 3) out.set(base, v);
      this.handles.forEach(({ v }, k) => { for (const at of v) out.set(k === this.selected ? chosen : pin, 3 * at); });
    });
    this.#knobs();
  }

  repaint(): void { if (this.view?.surface) this.#paint(); }
}

watchErrors();
themeButton();
byId("residual").textContent = RESIDUAL;
const copy = byId("copy") as HTMLButtonElement;
copy.onclick = () => void navigator.clipboard.writeText("npm install leastwise").then(() => { copy.textContent = "Copied"; }, () => tell("The browser does not allow copying: select the line."));
const page = new Landing(), select = byId("backend") as HTMLSelectElement;
select.onchange = () => {
  history.replaceState(null, "", select.value === "auto" ? location.pathname : `#backend=${select.value}`);
  void page.open(select.value as Backend);
};
byId("reset").onclick = () => page.reset();
onTheme(() => page.repaint());
Object.assign(window, { leastwisePage: { page } });
void page.open(wish, opening);
