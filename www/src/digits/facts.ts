/** What training takes: where it runs, how long steps are, and what they give to the device. */
import { byId, fact } from "../shell/notices.js";
import { counted } from "../shell/words.js";
import type { Place } from "./protocol.js";
import type { Session } from "./session.js";

export class Facts {
  readonly #backend = fact(byId("facts"), "backend");
  readonly #step = fact(byId("facts"), "step");
  readonly #work = fact(byId("facts"), "a step is");
  readonly #where = fact(byId("facts"), "kernels run");
  readonly #memory = fact(byId("facts"), "memory");
  readonly #tested = fact(byId("facts"), "tests");

  /** Where it runs, and why, if that is not what was wished for. */
  place({ backend, adapter, why }: Place): void {
    this.#backend(backend === "cpu" ? "CPU, one thread, f32" : "WebGPU, f32", why || adapter);
  }

  /** What was found by tests. */
  tested({ tests }: Pick<Session, "tests">, count: number): void {
    const last = tests.at(-1);
    const right = last ? Math.round(last.accuracy * count) : 0;
    this.#tested(last ? `${(100 * last.accuracy).toFixed(1)} % named right` : "–", last ? `${right.toLocaleString("en")} of ${count.toLocaleString("en")} after epoch ${last.epoch}` : "after each epoch");
  }

  /** What the last step came to. */
  step({ place, work }: Session): void {
    if (!work) return;
    const { stepMs, submissions, readbacks, kernels, fused, trace, routing: { routing, reason, source }, used, pooled } = work;
    this.#step(stepMs === undefined ? "…" : `${stepMs.toFixed(1)} ms`, stepMs === undefined ? "" : `${Math.round(1000 / stepMs).toLocaleString("en")} a second`);
    this.#work(`${counted(submissions, "submission")}, ${counted(readbacks, "readback")}`, `${counted(kernels, "kernel")}; ${counted(fused, "operation")} more ran within them`);
    const places = [...new Set(trace.map(({ place }) => place))];
    const why = routing === "auto" && place.backend === "webgpu" ? (source === "kept" ? "as measured in an earlier visit" : reason) : "as chosen";
    this.#where(places.map((place) => `${trace.filter((step) => step.place === place).length} on ${place === "webgpu" ? "WebGPU" : "the CPU"}`).join(", "), why);
    this.#memory(`${(used / 1e6).toFixed(1)} MB`, `and ${(pooled / 1e6).toFixed(1)} MB of buffers kept for the next step`);
  }

  clear(): void {
    for (const row of [this.#step, this.#work, this.#where, this.#memory]) row("–");
  }
}
