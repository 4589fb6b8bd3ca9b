/** Waiting for a GPU that may never answer. */
import { LeastwiseError } from "./errors.js";

/** Milliseconds that a GPU has to answer after its task was to end. */
const PATIENCE_MS = 10_000;

/** Promises of a GPU that are waited for, all of which end with the engine. @internal */
export class Waits {
  /** For tests, which have less. */
  patienceMs = PATIENCE_MS;
  readonly #open = new Set<(error: LeastwiseError) => void>();

  /** Ends all of them. */
  end(error: LeastwiseError): void {
    for (const reject of [...this.#open]) reject(error);
  }

  /** Resolves with `ready`; rejects when the engine ends, or when `why` has given a reason to end for so long. */
  until(ready: Promise<void>, why: (() => string | undefined) | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      let due: number | undefined, timer: ReturnType<typeof setInterval> | undefined;
      const settled = (settle: () => void) => {
        clearInterval(timer);
        this.#open.delete(ended);
        settle();
      };
      const ended = (error: LeastwiseError) => settled(() => reject(error));
      this.#open.add(ended);
      ready.then(() => settled(resolve), (error: unknown) => settled(() => reject(error)));
      if (!why) return;
      timer = setInterval(() => {
        const reason = why(), now = performance.now();
        if (reason === undefined) due = undefined;
        else if (now - (due ??= now) >= this.patienceMs) {
          ended(new LeastwiseError("stopped", `${reason}, and the GPU has not answered for ${this.patienceMs} ms since: values may be those of a step in between; the engine goes on if the GPU does`));
        }
      }, this.patienceMs / 8);
    });
  }
}
