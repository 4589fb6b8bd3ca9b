/** The least-squares problem behind the page: every edge keeps its length and turns with its neighbours, held vertices pull. */
import { column, rotateXYZ, type Engine, type Solver, type Variables, type Vec3 } from "leastwise";
import { edges } from "leastwise/mesh";
import type { Model } from "./model.js";

/** Steps after the last movement: by then nothing visible is left to do, and the machine may rest. */
const STEPS_TO_REST = 120;
/** Steps without movement after which the next movement gets a fresh solver: the damping of a finished solve is too small for a new pull. */
const STILL = 3;
/** Frames that the GPU may be behind. */
const FRAMES_AHEAD = 2;

/** A mesh that deforms as rigidly as possible while its handle is moved. */
export class Deformation {
  readonly x: Variables<Vec3>;
  readonly residuals: number;
  /** Milliseconds that the last `advance` took here, on the CPU. */
  callMs = 0;
  /** Milliseconds from the last `advance` until the GPU was done with it and all that was queued before it. */
  doneMs: number | undefined;
  readonly #model: Model;
  readonly #engine: Engine;
  readonly #newSolver: () => Solver;
  readonly #pull: (targets: Float32Array) => void;
  readonly #targets: Float32Array<ArrayBuffer>;
  #solver: Solver;
  #moved = false;
  #stepsSinceMove = STEPS_TO_REST;
  #unfinished = 0;

  constructor(engine: Engine, model: Model) {
    const { positions, triangles, held } = model;
    const problem = engine.problem();
    // The first table, so that its vertices begin where a renderer looks for them.
    this.x = problem.variables("position", { shape: 3, values: positions });
    const turn = problem.variables("rotation", { shape: 3, values: new Float32Array(positions.length) });
    const rest = problem.constants("rest", { shape: 3, values: positions });
    const rigid = problem.residuals("as rigid as possible", { over: edges(triangles, { directed: true }), of: [this.x, this.x, turn.at(0), rest.at(0), rest.at(1)] },
      ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
    this.#targets = Float32Array.from(Array.from(held).flatMap((vertex) => [...positions.subarray(3 * vertex, 3 * vertex + 3)]));
    const handles = problem.residuals("handles", { of: [this.x.at(held)], data: { target: column(this.#targets, 3) }, weight: 5 },
      ([p], { target }) => p.sub(target));
    this.residuals = 3 * (rigid.count + handles.count);
    this.#pull = (target) => handles.set({ target });
    this.#newSolver = () => problem.solver({ linear: "pcg" });
    this.#model = model;
    this.#engine = engine;
    this.#solver = this.#newSolver();
  }

  /** Whether a movement is still being followed. */
  get atWork(): boolean { return this.#moved || this.#stepsSinceMove < STEPS_TO_REST; }

  /** Compiles the kernels and puts the first values where the renderer finds them. */
  async prepare(): Promise<void> {
    await this.#solver.step();
  }

  /** Has the tips of the ears pulled by this much from where they are at rest. */
  move(by: { readonly x: number; readonly y: number; readonly z: number }): void {
    const { positions, held, baseCount } = this.#model;
    const offset = [by.x, by.y, by.z];
    for (let k = 3 * baseCount; k < this.#targets.length; k++) {
      this.#targets[k] = positions[3 * held[Math.floor(k / 3)]! + (k % 3)]! + offset[k % 3]!;
    }
    this.#moved = true;
  }

  /** One frame's work. Nothing is read back. */
  advance(): void {
    if (this.#moved) {
      if (this.#stepsSinceMove > STILL) {
        this.#solver.dispose();
        this.#solver = this.#newSolver();
      }
      this.#pull(this.#targets);
      this.#moved = false;
      this.#stepsSinceMove = 0;
    }
    if (this.#stepsSinceMove >= STEPS_TO_REST || this.#unfinished >= FRAMES_AHEAD) return;
    this.#stepsSinceMove++;
    const started = performance.now();
    this.#solver.advance({ iterations: 1, budgetMs: 8 });
    this.callMs = performance.now() - started;
    const { device } = this.#engine;
    if (!device) return;
    this.#unfinished++;
    void device.queue.onSubmittedWorkDone().then(() => {
      this.#unfinished--;
      this.doneMs = performance.now() - started;
    });
  }
}
