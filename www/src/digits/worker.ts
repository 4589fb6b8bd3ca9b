/** The page's worker: it unpacks the digits, trains, and answers. */
import { digitsOf, type Digits } from "../../../examples/digits/data.mjs";
import { convolutional, perceptron } from "../../../examples/digits/networks.mjs";
import { engineOf } from "./engines.js";
import type { Reply, RequestName, Requests, Sent } from "./protocol.js";
import { Training } from "./training.js";

const NETWORKS = { perceptron, convolutional };
/** Milliseconds between two news of steps, and of what they give to the device. */
const NEWS_MS = 30, WORK_MS = 250;

const tell = (reply: Reply): void => postMessage(reply);
let unpacked!: (digits: { training: Digits; testing: Digits }) => void;
const digits = new Promise<{ training: Digits; testing: Digits }>((resolve) => { unpacked = resolve; });
let training: Training | undefined;

/** Has the package keep its measurements: workers have no storage, so the page lends its own. */
function lendStorage(kept: Requests["open"]["given"]["kept"]): void {
  const texts = new Map(kept);
  const getItem = (key: string) => texts.get(key) ?? null;
  const setItem = (key: string, text: string) => {
    texts.set(key, text);
    tell({ kind: "keep", key, text });
  };
  Object.defineProperty(globalThis, "localStorage", { configurable: true, value: { getItem, setItem } });
}

type Handlers = { readonly [Name in RequestName]: (given: Requests[Name]["given"]) => Promise<Requests[Name]["gives"]> };

const handlers: Handlers = {
  async load({ lengths, packed }) {
    const bytes = new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
    let first = 0;
    const all = digitsOf(lengths.map((length) => bytes.subarray(first, (first += length)))), { images, labels, count } = all.testing;
    unpacked(all);
    return { images: images.slice(), labels: labels.slice(), count };
  },

  async open({ choice, network, seed, kept }) {
    await training?.dispose();
    training = undefined;
    lendStorage(kept);
    const { engine, why = "" } = await engineOf(choice, ({ message }) => tell({ kind: "lost", message }));
    const { training: given, testing } = await digits;
    training = new Training(engine, NETWORKS[network], seed, given, testing);
    return { backend: engine.backend, adapter: engine.device ? engine.adapter : "", why, total: training.total, epochs: NETWORKS[network].epochs };
  },

  async train() {
    const current = opened();
    let losses: number[] = [], made = false, toldAt = -Infinity, workAt = -Infinity;
    const news = (last: boolean) => {
      const now = performance.now(), works = last || now - workAt > WORK_MS;
      // The last step's work is told even if its loss was.
      if (last ? !made : now - toldAt < NEWS_MS) return;
      tell({ kind: "steps", losses, work: works ? current.work() : undefined });
      losses = [];
      toldAt = now;
      if (works) workAt = now;
    };
    try {
      return await current.run({
        step: (loss) => {
          losses.push(loss);
          made = true;
          news(false);
        },
        tested: (tested) => {
          news(true);
          tell({ kind: "tested", tested });
        },
      });
    } finally {
      news(true);
    }
  },

  async stop() { training?.stop(); return undefined; },
  async ask(pixels) { return opened().ask(pixels); },
};

function opened(): Training {
  if (!training) throw new Error("no network is opened");
  return training;
}

addEventListener("message", ({ data: { id, name, given } }: MessageEvent<Sent>) => {
  const handle = handlers[name] as (given: unknown) => Promise<unknown>;
  handle(given).then(
    (value) => tell({ kind: "done", id, value }),
    (thrown) => tell({ kind: "failed", id, message: thrown instanceof Error ? thrown.message : String(thrown) }),
  );
});
