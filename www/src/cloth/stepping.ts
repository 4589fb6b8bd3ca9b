/** Frames of implicit Euler on the device: values are handed on from frame to frame, and nothing is read back. */
import { type Constants, type Engine, type Problem, type Solver, type Term, type Variables, type Vec3 } from "leastwise";
import { triangleFrames, vertexAreas, type Mesh } from "leastwise/mesh";
import { BUDGET_MS } from "../shell/loop.js";
import { turn } from "../shell/turn.js";

/** Seconds of a frame. */
export const H = 1 / 60;
export const GRAVITY = -9.81;
/** Mass of a square of side 1. */
export const DENSITY = 0.2;
/** Share of the velocity that a frame keeps. */
export const KEPT = 0.996;
/** Pressure of the air at 1 m/s. */
const PRESSURE = 0.3;
/** Newton steps of a frame: the least is linearly implicit Euler (Baraff & Witkin 1998). */
export const FEWEST = 1, MOST = 6, FIRST = 2;
/** Milliseconds of solving in a frame above which it gets a step less, and below which it gets one more. */
const SLOW_MS = 13, FAST_MS = 8;
/** Frames between two such changes. */
const FRAMES_A_CHANGE = 20;
const NEW_TIME = 0.15;
/** Frames that a GPU may be behind. */
const FRAMES_AHEAD = 2;

export type Place = readonly [number, number, number];

/** What a frame takes from the page. */
export interface Frame {
  /** Newton steps; 0 for as many as the time of a frame allows. */
  readonly steps: number;
  /** Velocity of the wind at a time. */
  readonly air: (time: number) => Place;
  /** Vertices that a visitor holds, and where. Emptied when they were taken over. */
  readonly moved: Map<number, Place>;
}

/** What of the time stepping belongs to a checkpoint besides the values of tables. */
export interface Moment { readonly time: number; readonly begun: boolean }

export class Stepping {
  /** Frames that were made, and seconds of the cloth. */
  frames = 0;
  time = 0;
  /** Newton steps of a frame. */
  iterations = FIRST;
  /** Frames a second. */
  rate = 0;
  readonly last: Constants<Vec3>;
  readonly #ahead: Constants<Vec3>;
  readonly #wind: Term<{ air: Place }>;
  /** True between the values' being handed on and the frame's last step. */
  #begun = false;
  #target = 0;
  #solver: Solver | undefined;
  #known = 0;
  #ms = 0;
  #changed = 0;
  #finished = 0;
  readonly #queue: Promise<void>[] = [];

  /** Adds inertia and wind to a problem. */
  constructor(private readonly engine: Engine, problem: Problem, private readonly x: Variables<Vec3>, mesh: Mesh) {
    const { positions, triangles } = mesh, areas = vertexAreas(mesh);
    this.last = problem.constants("last", { shape: 3, values: positions });
    this.#ahead = problem.constants("ahead", { shape: 3, values: positions });
    problem.residuals("inertia", { of: [x, this.#ahead], data: { fall: [0, GRAVITY * H * H, 0] }, weight: areas.map((area) => (DENSITY * area) / H ** 2) },
      ([p, ahead], { fall }) => p.sub(ahead).sub(fall));
    // Rayleigh's dissipation: its gradient is the pressure of the air that meets a triangle, along the normal of the last frame.
    const { areas: faces } = triangleFrames(mesh);
    this.#wind = problem.residuals("wind", { over: triangles, of: [x, x, x, this.last.at(0), this.last.at(1), this.last.at(2)], data: { air: [0, 0, 0] as Place }, weight: faces.map((area) => PRESSURE * area * H) }, ([a, b, c, p, q, r], { air }) => {
      const normal = q.sub(p).cross(r.sub(p)), velocity = a.add(b).add(c).sub(p).sub(q).sub(r).div(3 * H);
      return velocity.sub(air).dot(normal).div(normal.norm().add(1e-12));
    });
  }

  /** Inertia of a vertex: its mass over h². */
  static inertiaOf(count: number): number { return DENSITY / count / H ** 2; }

  /** Goes on with a frame; gives its Newton steps when the last of them is made, else 0. */
  async frame(solver: Solver, { steps, air, moved }: Frame): Promise<number> {
    if (this.#solver !== solver) {
      // No frame passes while kernels are compiled.
      await solver.report();
      this.#solver = solver;
      this.#known = 0;
      this.#begun = false;
      return 0;
    }
    if (steps) this.iterations = steps;
    if (!this.#begun) this.#begin(air, moved);
    return this.engine.device ? this.#enqueue(solver, steps === 0) : this.#work(solver, steps === 0);
  }

  moment(): Moment { return { time: this.time, begun: this.#begun }; }
  restore({ time, begun }: Moment): void { this.time = time; this.#begun = begun; this.#target = this.#known + this.iterations; }

  /** Hands the values on: last = xₙ, and inertia leads to xₙ + kept · (xₙ − xₙ₋₁). Steps begin at xₙ, which no contact forbids. */
  #begin(air: (time: number) => Place, moved: Map<number, Place>): void {
    const { x, last } = this;
    this.#ahead.copyFrom([[1 + KEPT, x], [-KEPT, last]]);
    last.copyFrom(x);
    if (moved.size) x.write([...moved.values()].flat(), { at: [...moved.keys()] });
    moved.clear();
    this.#wind.set({ air: air(this.time + H) });
    this.#begun = true;
    this.#target = this.#known + this.iterations;
  }

  /** A GPU gets all steps at once, and is two frames behind at most. */
  async #enqueue(solver: Solver, adapts: boolean): Promise<number> {
    if (this.#queue.length >= FRAMES_AHEAD) await this.#queue.shift();
    const started = performance.now(), made = solver.advance({ iterations: this.iterations });
    const done = this.engine.device!.queue.onSubmittedWorkDone().then(() => {
      const now = performance.now();
      if (made && adapts) this.#adapt(now - Math.max(started, this.#finished));
      this.#finished = now;
    });
    this.#queue.push(done);
    // Until something is known of the first steps, they may not have been begun.
    if (!made) return 0;
    return this.#end();
  }

  /** The CPU works in slices, between which the page draws and answers. */
  async #work(solver: Solver, adapts: boolean): Promise<number> {
    let spent = 0;
    // Whoever reads in between has the step finished that a slice left: so counts are looked at first.
    while (this.#left(solver) > 0) {
      await turn();
      const started = performance.now();
      solver.advance({ iterations: this.#left(solver), budgetMs: BUDGET_MS });
      spent += performance.now() - started;
    }
    // A part of the engine is still being loaded.
    if (this.#left(solver) < 0) return 0;
    if (adapts) this.#adapt(spent);
    return this.#end();
  }

  /** Steps that a frame of the CPU still lacks; negative where nothing is known. */
  #left(solver: Solver): number {
    const steps = solver.advance({ iterations: 0 });
    if (!steps) return -1;
    const known = steps.accepted + steps.rejected;
    // After a checkpoint was restored, counts may begin anew.
    if (known < this.#known) this.#target = known + this.iterations;
    this.#known = known;
    return Math.max(0, this.#target - known);
  }

  #end(): number {
    this.#begun = false;
    this.frames++;
    this.time += H;
    const now = performance.now();
    this.rate += 0.1 * (1000 / Math.max(1, now - this.#at) - this.rate);
    this.#at = now;
    return this.iterations;
  }
  #at = 0;

  /** Fewer steps where a frame takes too long, more where there is time. */
  #adapt(ms: number): void {
    this.#ms = this.#ms ? this.#ms + NEW_TIME * (ms - this.#ms) : ms;
    if (this.frames - this.#changed < FRAMES_A_CHANGE) return;
    const more = this.#ms > SLOW_MS ? -1 : (this.#ms * (this.iterations + 1)) / this.iterations < FAST_MS ? 1 : 0, next = Math.min(MOST, Math.max(FEWEST, this.iterations + more));
    if (next === this.iterations) return;
    this.iterations = next;
    this.#changed = this.frames;
    this.#ms = 0;
  }
}
