/** The loop of a page: steps and pictures while something moves, costs a few times a second, checkpoints to go back to. */
import { LeastwiseError, type Engine, type Problem, type Report, type Solver } from "leastwise";
import { LoopGone } from "./gone.js";
import { turn } from "./turn.js";

/** Milliseconds that the CPU works before the page may draw and answer. */
export const BUDGET_MS = 6;
/** Frames that a GPU may be behind. */
const FRAMES_AHEAD = 2;
const SAMPLE_MS = 300;
/** The same once a sample was still: what rests is to rest soon. */
const STILL_MS = 100;
/** Samples between two checkpoints, and how many are kept. */
const SAMPLES_A_CHECKPOINT = 4;
const CHECKPOINTS = 16;
/** A sample whose cost is below the last one's by less than this share is still; so many of them, and the machine rests. */
const STILL = 1e-5;
const STILL_SAMPLES = 3;
/** Steps that have to be made between two costs for them to say that nothing moves. */
const STEPS_A_JUDGEMENT = 4;
/** Turns of the loop in which a single step is waited for. */
const TURNS_A_STEP = 60;

/** What a page has running. */
export interface Running {
  readonly problem: Problem;
  /** A solver with the page's options: made anew after an edit, when the damping of the last one is that of a finished solve. */
  readonly newSolver: () => Solver;
  /** Steps a frame. Default 1. */
  readonly iterations?: number;
  /** True for what moves by itself, such as a simulation: it never rests. */
  readonly endless?: boolean;
  /** A frame of the page's own, in place of steps that are enqueued: gives how many steps it made, 0 if it goes on in the next picture. */
  readonly frame?: (solver: Solver) => Promise<number>;
  /** What of the page belongs to a checkpoint, and takes it back. */
  readonly note?: () => unknown;
  readonly restored?: (note: unknown) => void;
  /** Called before every frame's steps. */
  readonly before?: (steps: number) => void;
  /** Takes over values that have changed, while no step is under way. On the CPU alone: a GPU draws from its own buffer. */
  readonly moved?: () => Promise<unknown>;
  /** Called with every sample of the costs; what it reads is read while no step is enqueued. */
  readonly sampled?: (report: Report) => void | Promise<void>;
  readonly dispose: () => void;
}

/** What the loop knows of the steps. */
export interface Progress {
  readonly steps: number;
  readonly stepMs: number | undefined;
  readonly cost: number | undefined;
  readonly costs: { readonly [term: string]: number };
  readonly compiling: boolean;
  readonly resting: boolean;
}

export class Loop {
  playing = true;
  /** Reports that were asked for: all that is read back while nothing else is asked. */
  samples = 0;
  /** Comes when the first step is made. */
  readonly begun: Promise<void>;
  #begin!: () => void;
  readonly #engine: Engine;
  readonly #running: Running;
  #solver: Solver;
  #asked = 0;
  #steps = 0;
  #stepMs: number | undefined;
  #unfinished = 0;
  #sampledAt = 0;
  /** Steps at the last sample: where pictures come more seldom than samples would, there is a step before each of these. */
  #sampledSteps = 0;
  #sampling = false;
  #still = 0;
  #cost: number | undefined;
  #judged: number | undefined;
  #judgedAt = 0;
  #costs: Readonly<Record<string, number>> = {};
  #checkpoints: { steps: number; file: Uint8Array; note: unknown; own: unknown }[] = [];
  #edited = false;
  #wanted = false;
  #ended = false;
  #gone = false;
  #waiting: Promise<unknown> = Promise.resolve();
  #busy = 0;

  constructor(engine: Engine, running: Running, private readonly on: {
    readonly draw: (now: number) => void;
    readonly shown: (progress: Progress) => void;
    readonly failed: (thrown: unknown) => void;
    /** What belongs to a checkpoint besides the solver's values. */
    readonly note: () => unknown;
  }) {
    this.#engine = engine;
    this.#running = running;
    this.begun = new Promise((resolve) => { this.#begin = resolve; });
    this.#solver = running.newSolver();
    this.wake();
    void this.taken().catch((thrown) => this.#fail(thrown));
  }

  get resting(): boolean { return !this.#running.endless && this.#still >= STILL_SAMPLES; }
  get checkpoints(): number { return this.#checkpoints.length; }
  get progress(): Progress {
    return { steps: this.#steps, stepMs: this.#stepMs, cost: this.#cost, costs: this.#costs, compiling: this.#steps === 0 && !this.#ended, resting: this.resting };
  }

  /** Something was edited: the next frame takes it in, and nothing rests. */
  wake(): void {
    if (this.resting || this.#steps === 0) this.#edited = this.#steps > 0;
    this.#still = 0;
    this.draw();
  }

  /** Asks for a picture, in the next frame. */
  draw(): void {
    this.#wanted = true;
    this.#request();
  }

  /** Edits the problem, which takes nothing while it is read: now, or when what is read has come. The next step takes it in. */
  edit(work: () => void): void {
    // What ended has no terms any more.
    void this.ask(async () => { if (!this.#ended) work(); }).then(() => this.wake()).catch((thrown) => this.on.failed(thrown));
  }

  /** Values were written: the page takes them over. */
  taken(): Promise<void> { return this.ask(() => this.#moved()); }

  #request(): void { if (!this.#asked && !this.#ended) this.#asked = requestAnimationFrame((now) => this.#turn(now)); }

  async #moved(): Promise<void> { if (!this.#engine.device && !this.#ended) await this.#running.moved?.(); }

  play(): void { this.playing = true; this.wake(); }
  pause(): void { this.playing = false; this.draw(); void this.#sample(); }

  /** One step, and its costs. */
  async step(): Promise<void> {
    this.playing = false;
    await this.ask(async () => {
      this.#running.before?.(this.#steps);
      const { frame } = this.#running, before = this.#steps;
      // A frame of a slow machine takes several turns.
      for (let turn = 0; frame && turn < TURNS_A_STEP && this.#steps === before; turn++) {
        this.#steps += await frame(this.#solver);
        if (this.#steps === before) await new Promise(requestAnimationFrame);
      }
      if (!frame) this.#steps += await stepOf(this.#solver);
      await this.#moved();
    });
    await this.#sample();
    this.draw();
  }

  /** Back to the checkpoint before this one; gives what was noted with it. */
  async rewind(): Promise<unknown> {
    this.playing = false;
    const now = this.#steps;
    while (this.#checkpoints.length > 1 && this.#checkpoints.at(-1)!.steps >= now) this.#checkpoints.pop();
    const last = this.#checkpoints.at(-1);
    if (!last) return undefined;
    await this.ask(async () => {
      this.#solver.restore(last.file);
      this.#running.restored?.(last.own);
      await this.#moved();
    });
    this.#steps = last.steps;
    this.#still = 0;
    await this.#sample();
    this.draw();
    return last.note;
  }

  /** Does something with the problem while no step is being enqueued. Rejects with {@link LoopGone} where the page went on with another one before. */
  ask<T>(work: () => Promise<T>): Promise<T> {
    this.#busy++;
    const done = this.#waiting.then(() => { if (this.#gone) throw new LoopGone(); return work(); }).finally(() => { this.#busy--; this.draw(); });
    this.#waiting = done.catch(() => {});
    return done;
  }

  /** Ends it. What was being read comes to an end first. */
  async dispose(): Promise<void> {
    this.#ended = true;
    cancelAnimationFrame(this.#asked);
    await this.#waiting;
    this.#gone = true;
    this.#solver.dispose();
    this.#running.dispose();
  }

  #turn(now: number): void {
    this.#asked = 0;
    if (this.#ended) return;
    try {
      const moving = this.playing && !this.resting, { device } = this.#engine;
      // A GPU's values may have changed in any frame; those of the CPU are new when its steps are made.
      const wanted = this.#wanted || (moving && device !== undefined);
      this.#wanted = false;
      if (moving) this.#advance(now);
      if (wanted) this.on.draw(now);
      this.on.shown(this.progress);
      if (this.#steps > 0) this.#begin();
      if (moving || this.#wanted) this.#request();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #fail(thrown: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.on.failed(thrown);
  }

  #advance(now: number): void {
    if (this.#busy || this.#unfinished >= FRAMES_AHEAD) return;
    if (now - this.#sampledAt > (this.#still && !this.#running.endless ? STILL_MS : SAMPLE_MS) && this.#steps !== this.#sampledSteps) return void this.#sample();
    if (this.#edited) {
      this.#edited = false;
      this.#solver.dispose();
      this.#solver = this.#running.newSolver();
      this.#checkpoints = [];
    }
    const started = performance.now(), iterations = this.#running.iterations ?? 1;
    this.#running.before?.(this.#steps);
    const { frame } = this.#running;
    if (frame) {
      void this.ask(async () => {
        const steps = await frame(this.#solver);
        if (!steps) return;
        this.#smooth((performance.now() - started) / steps);
        this.#steps += steps;
        await this.#moved();
      }).catch((thrown) => this.#fail(thrown));
      return;
    }
    const { device } = this.#engine;
    if (!device) return void this.ask(() => this.#work(iterations)).catch((thrown) => this.#fail(thrown));
    const known = this.#solver.advance({ iterations });
    this.#unfinished++;
    void device.queue.onSubmittedWorkDone().then(() => {
      this.#unfinished--;
      // Until kernels are compiled nothing is known of any step.
      if (known) this.#smooth((performance.now() - started) / iterations);
    });
    if (known) this.#steps += iterations;
  }

  /** The CPU works in slices, between which the page draws and answers, until no step is under way: after the frame's picture, not before it. */
  async #work(iterations: number): Promise<void> {
    for (let spent = 0, wanted = iterations; ; wanted = 1) {
      await turn();
      if (this.#ended) return;
      const started = performance.now(), known = this.#solver.advance({ iterations: wanted, budgetMs: BUDGET_MS });
      spent += performance.now() - started;
      // A part of the engine is still being loaded.
      if (!known) return;
      if (known.unfinished) continue;
      const done = known.accepted + known.rejected, made = done >= this.#done ? done - this.#done : done;
      this.#done = done;
      if (!made) return;
      this.#smooth(spent / made);
      this.#steps += made;
      return this.#moved();
    }
  }
  /** Steps of the solver when it was last asked; a new solver counts from 0. */
  #done = 0;

  #smooth(ms: number): void { this.#stepMs = this.#stepMs === undefined ? ms : this.#stepMs + 0.1 * (ms - this.#stepMs); }

  async #sample(): Promise<void> {
    if (this.#sampling || this.#ended) return;
    this.#sampling = true;
    try {
      await this.ask(async () => {
        this.#sampledSteps = this.#steps;
        const report = await this.#solver.report();
        this.samples++;
        const before = this.#judged, enough = this.#steps - this.#judgedAt >= STEPS_A_JUDGEMENT;
        this.#cost = report.cost;
        this.#costs = report.costByTerm;
        if (enough || before === undefined) {
          this.#still = before !== undefined && Math.abs(before - report.cost) <= STILL * Math.abs(before) + 1e-12 ? this.#still + 1 : 0;
          this.#judged = report.cost;
          this.#judgedAt = this.#steps;
        }
        await this.#running.sampled?.(report);
        if (this.samples % SAMPLES_A_CHECKPOINT === 1 && this.playing && !this.#ended) await this.#checkpoint();
      });
    } catch (thrown) {
      if (!this.#ended && !isBusy(thrown)) this.on.failed(thrown);
    }
    this.#sampledAt = performance.now();
    this.#sampling = false;
    if (!this.#ended) this.on.shown(this.progress);
  }

  async #checkpoint(): Promise<void> {
    if (this.#checkpoints.at(-1)?.steps === this.#steps) return;
    this.#checkpoints.push({ steps: this.#steps, file: await this.#solver.save(), note: this.on.note(), own: this.#running.note?.() });
    if (this.#checkpoints.length > CHECKPOINTS) this.#checkpoints.splice(1, 1);
  }
}

/** One step, or none where there is none to be made. */
export async function stepOf(solver: Solver): Promise<number> {
  try {
    await solver.step();
    return 1;
  } catch (error) {
    if (!(error instanceof LeastwiseError && error.code === "no-step")) throw error;
    return 0;
  }
}

/** Another call is at work on the problem: the next sample will come through. */
const isBusy = (thrown: unknown): boolean => thrown instanceof LeastwiseError && thrown.code === "busy";
