/** What training takes: where it runs, how long steps are, and what they give to the device. */
import type { Engine } from "leastwise";
import { byId, fact } from "../shell/notices.js";
import type { Session } from "./session.js";

const SHOWN_EVERY_MS = 250;
const count = (number: number, what: string): string => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

export class Facts {
  readonly #backend = fact(byId("facts"), "backend");
  readonly #step = fact(byId("facts"), "step");
  readonly #work = fact(byId("facts"), "a step is");
  readonly #where = fact(byId("facts"), "kernels run");
  readonly #memory = fact(byId("facts"), "memory");
  readonly #tested = fact(byId("facts"), "tests");
  #shown = -Infinity;

  /** Where it runs; `why` is there where that is not what was wished for. */
  engine(engine: Engine, why = ""): void {
    this.#backend(engine.backend === "cpu" ? "CPU, one thread, f32" : "WebGPU, f32", why || (engine.device ? engine.adapter : ""));
  }

  /** What was found by tests. */
  tested({ tests, testing }: Pick<Session, "tests" | "testing">): void {
    const last = tests.at(-1);
    const right = last ? Math.round(last.accuracy * testing.count) : 0;
    this.#tested(last ? `${(100 * last.accuracy).toFixed(1)} % named right` : "–", last ? `${right.toLocaleString("en")} of ${testing.count.toLocaleString("en")} after epoch ${last.epoch}` : "after each epoch");
  }

  /** What the last step came to; after a test, that is what the engine tells about. */
  step({ engine, stepMs, submitted, curve }: Session): void {
    const now = performance.now();
    if (now - this.#shown < SHOWN_EVERY_MS && curve.length > 1) return;
    this.#shown = now;
    const { kernels, fused } = engine.tensorStatistics(), trace = engine.tensorTrace();
    this.#step(stepMs === undefined ? "…" : `${stepMs.toFixed(1)} ms`, stepMs === undefined ? "" : `${Math.round(1000 / stepMs).toLocaleString("en")} a second`);
    if (submitted) this.#work(`${count(submitted.submissions, "submission")}, ${count(submitted.readbacks, "readback")}`, `${count(kernels, "kernel")}; ${count(fused, "operation")} more ran within them`);
    const places = [...new Set(trace.map(({ place }) => place))];
    const { routing, reason, source } = engine.tensorRouting();
    const why = routing === "auto" && engine.device ? (source === "kept" ? "as measured in an earlier visit" : reason) : "as chosen";
    this.#where(places.map((place) => `${trace.filter((step) => step.place === place).length} on ${place === "webgpu" ? "WebGPU" : "the CPU"}`).join(", "), why);
    const { live, pooled } = engine.memory();
    this.#memory(`${((live - pooled) / 1e6).toFixed(1)} MB`, `and ${(pooled / 1e6).toFixed(1)} MB of buffers kept for the next step`);
  }

  clear(): void {
    this.#shown = -Infinity;
    for (const row of [this.#step, this.#work, this.#where, this.#memory]) row("–");
  }
}
