/** The page's side of a training: what has come of it so far, as the worker tells. */
import { address, lengths } from "virtual:digits";
import type { Digits } from "../../../examples/digits/data.mjs";
import type { Choice, NetworkId, Place, Reply, RequestName, Requests, Sent, Tested, Work } from "./protocol.js";

/** Of the mean of losses that is shown: how much of it is new with every step. */
const NEW_LOSS = 0.05;
/** Keys of the package in the page's storage. */
const OWN = "leastwise/tensors-";

/** A network that is trained in the worker. */
export class Session {
  /** Losses of all steps, and their mean, which forgets. */
  readonly curve: number[] = [];
  readonly smoothed: number[] = [];
  readonly tests: Tested[] = [];
  work: Work | undefined;
  running = false;
  #mean = 0;

  constructor(private readonly trainer: Trainer, readonly place: Place) {}

  get total(): number { return this.place.total; }
  get done(): boolean { return this.curve.length === this.total; }

  /** Trains until it is done or stopped. */
  async run(): Promise<void> {
    this.running = true;
    try { await this.trainer.request("train", undefined); } finally { this.running = false; }
  }

  stop(): void { void this.trainer.request("stop", undefined); }

  /** Probabilities of the ten digits for an image. */
  ask(pixels: Float32Array): Promise<number[]> { return this.trainer.request("ask", pixels); }

  /** Takes in losses of steps. */
  note(losses: readonly number[], work: Work | undefined): void {
    this.work = work ?? this.work;
    for (const loss of losses) {
      this.curve.push(loss);
      // Weighted as if what came before the first step had no weight, as in Adam.
      this.#mean += NEW_LOSS * (loss - this.#mean);
      this.smoothed.push(this.#mean / (1 - (1 - NEW_LOSS) ** this.curve.length));
    }
  }
}

/** The worker. It fails as a whole where its script can't be loaded or an error in it is not caught. */
export class Trainer {
  session: Session | undefined;
  readonly #worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "training" });
  readonly #open = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  #requests = 0;
  #failed: Error | undefined;

  constructor(private readonly on: { steps(session: Session): void; tested(session: Session, tested: Tested): void; lost(error: Error): void; failed(error: Error): void }) {
    this.#worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => this.#hear(data));
    this.#worker.addEventListener("messageerror", () => this.#fail("a message of the worker could not be read"));
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#fail(event.message || "its script could not be loaded");
    });
  }

  /** Asks the worker for something; `moved` is handed over to it. */
  request<Name extends RequestName>(name: Name, given: Requests[Name]["given"], moved: Transferable[] = []): Promise<Requests[Name]["gives"]> {
    if (this.#failed) return Promise.reject(this.#failed);
    return new Promise((resolve, reject) => {
      const id = ++this.#requests;
      this.#open.set(id, { resolve, reject });
      this.#worker.postMessage({ id, name, given } satisfies Sent, moved);
    });
  }

  /** Fetches the digits, while the worker starts, and has them unpacked; gives those of the tests. */
  async load(): Promise<Digits> {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`the digits could not be loaded (${response.status})`);
    const packed = await response.arrayBuffer();
    return this.request("load", { lengths, packed }, [packed]);
  }

  /** A new network in place of the last one. */
  async open(choice: Choice, network: NetworkId, seed: number): Promise<Session> {
    this.session = undefined;
    return (this.session = new Session(this, await this.request("open", { choice, network, seed, kept: keptTexts() })));
  }

  end(): void { this.#worker.terminate(); }

  #hear(reply: Reply): void {
    const { session } = this;
    if (reply.kind === "done" || reply.kind === "failed") {
      const waiting = this.#open.get(reply.id);
      this.#open.delete(reply.id);
      if (reply.kind === "done") waiting?.resolve(reply.value as never);
      else waiting?.reject(new Error(reply.message));
    } else if (reply.kind === "keep") keepText(reply.key, reply.text);
    else if (reply.kind === "lost") this.on.lost(new Error(reply.message));
    else if (!session) return;
    else if (reply.kind === "steps") {
      session.note(reply.losses, reply.work);
      this.on.steps(session);
    } else {
      session.tests.push(reply.tested);
      this.on.tested(session, reply.tested);
    }
  }

  #fail(why: string): void {
    this.#failed = new Error(`the worker that trains has failed: ${why}`);
    this.#worker.terminate();
    for (const { reject } of this.#open.values()) reject(this.#failed);
    this.on.failed(this.#failed);
    this.#open.clear();
  }
}

function keptTexts(): [string, string][] {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(OWN)).map((key) => [key, localStorage.getItem(key) ?? ""]);
  } catch {
    return [];
  }
}

function keepText(key: string, text: string): void {
  // Storage may be full or forbidden: then it is measured again at the next visit.
  try { localStorage.setItem(key, text); } catch (thrown) { console.warn(thrown); }
}
