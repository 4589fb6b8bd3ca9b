// A session: engines, and lanes of actions that run on them at once. What an action may come to is judged here; failures are told, not thrown.
import { CODES } from "./calls.mjs";
import { clusterLane } from "./cluster-lane.mjs";
import { engineLane } from "./engine-lane.mjs";
import { indexLane } from "./index-lane.mjs";
import { misuseLane } from "./misuse-lane.mjs";
import { problemLane } from "./problem-lane.mjs";
import { tensorLane } from "./tensor-lane.mjs";

const LANES = { problem: problemLane, tensor: tensorLane, cluster: clusterLane, index: indexLane, misuse: misuseLane, engine: engineLane };

/** Ends a lane whose engine or whose memory can't be trusted any more. */
class LaneOver extends Error {}

export class Session {
  /** What is to be repeated on engines of their own: `{ label, engine, again(lw) }`, which gives what differs, or undefined. */
  repeats = [];
  failures = [];

  /** `lib`: the package; `backend`: what engines are opened on; `tell(event)` hears of every action. */
  constructor(plan, { lib, tell = () => {}, totals = {} }) {
    Object.assign(this, { plan, lib, tell, totals });
    this.engines = [];
  }

  count(name, by = 1) { this.totals[name] = (this.totals[name] ?? 0) + by; }

  fail(kind, label, detail) {
    const failure = { kind, label, detail: String(detail).slice(0, 1200) };
    this.failures.push(failure);
    this.tell({ failure: { seed: this.plan.seed, ...failure } });
  }

  open(options = {}) {
    const { backend } = this.plan;
    const on = backend === "threads" ? { backend: "cpu", threads: options.threads ?? 2 } : { backend };
    const { precision, tuning } = options;
    return this.lib.init({ ...on, ...(precision && { precision }), ...(tuning && { tuning }) });
  }

  /** Opens an engine; what it holds with nothing on it is what it must come back to. */
  async #opened(options) {
    const lw = await this.open(options);
    return { lw, options, over: false, before: lw.memory() };
  }

  /**
   * Runs one action. It may reject with one of `codes`, or with `reason`, its signal's; with `disposed` where something that it needs was
   * disposed by design (`gone()`). Gives undefined where it did; `onThrow` is told of the engine's error.
   */
  async act(lane, label, work, { codes = [], reason, gone = () => false, onThrow } = {}) {
    this.tell({ at: [lane.number, label] });
    this.count("actions");
    try {
      return await work();
    } catch (thrown) {
      if (reason !== undefined && thrown === reason) return void this.count("aborted");
      if (thrown instanceof LaneOver) throw thrown;
      const engineOver = lane.engine?.over;
      if (!(thrown instanceof this.lib.LeastwiseError)) return void this.fail("not-a-LeastwiseError", label, thrown?.stack ?? thrown);
      const { code, message } = thrown;
      this.count(`refused: ${code}`);
      onThrow?.(thrown);
      if (code === "engine-dead" || code === "device-lost") {
        this.fail(code, label, message);
        lane.engine.over = true;
        throw new LaneOver();
      }
      if (code === "disposed" && engineOver) throw new LaneOver();
      if (code === "disposed" && gone()) return undefined;
      if (!CODES.includes(code)) this.fail("unknown-code", label, `${code}: ${message}`);
      else if (!codes.includes(code)) this.fail("unexpected-code", label, `${code}: ${message}`);
      return undefined;
    }
  }

  async run() {
    const { plan } = this;
    try {
      this.engines = await Promise.all(plan.engines.map((options) => this.#opened(options)));
    } catch (thrown) {
      this.fail("open", "init", thrown?.stack ?? thrown);
      return this.failures;
    }
    await Promise.all(plan.lanes.map((lane, number) => this.#runLane(lane, number)));
    for (const [number, engine] of this.engines.entries()) if (!engine.over) this.#close(engine, number);
    this.tell({ at: [-1, "verify"] });
    await this.#verify();
    return this.failures;
  }

  async #runLane(lane, number) {
    const running = { ...lane, number, engine: this.engines[lane.engine] };
    try {
      await LANES[lane.kind](this, running);
    } catch (thrown) {
      if (!(thrown instanceof LaneOver) && !(running.engine.over && thrown?.code === "disposed")) this.fail("lane", lane.kind, thrown?.stack ?? thrown);
    }
  }

  /** All lanes have disposed what they had: the engine holds what it held at first. */
  #close({ lw, before }, number) {
    const label = `close engine ${number}`;
    this.tell({ at: [-1, label] });
    try {
      lw.trim();
      const after = lw.memory();
      for (const name of ["live", "objects", "tensors", "pooled"]) {
        if (after[name] > before[name]) this.fail("memory", label, `${name}: ${before[name]} before, ${after[name]} after all was disposed`);
      }
      lw.dispose();
      lw.dispose();
      try {
        lw.problem();
        this.fail("use-after-dispose", label, "lw.problem() of a disposed engine made one");
      } catch (thrown) {
        if (thrown?.code !== "disposed") this.fail("use-after-dispose", label, thrown?.stack ?? thrown);
      }
    } catch (thrown) {
      this.fail("close", label, thrown?.stack ?? thrown);
    }
  }

  /** What was found beside everything else is what an engine of its own finds, to the bit. */
  async #verify() {
    for (const { label, engine, again } of this.repeats) {
      this.tell({ at: [-1, `again: ${label}`] });
      let lw;
      try {
        lw = await this.open(engine);
        this.count("verified");
        const differs = await again(lw);
        if (differs) this.fail("differs", label, differs);
      } catch (thrown) {
        this.fail("again", label, thrown?.stack ?? thrown);
      } finally {
        lw?.dispose();
      }
    }
  }
}
