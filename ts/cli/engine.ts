/** Opening an engine for a command. */
import { init, type Engine, type InitOptions } from "leastwise";
import { UsageError, type Arguments, type Option } from "./arguments.js";
import { counted } from "./text.js";

/** As `leastwise/threads` has it. */
const MOST_THREADS = 64;

export const COMMON_OPTIONS: { readonly [name: string]: Option } = {
  backend: { value: "NAME", help: "auto (the default), webgpu (needs the npm package webgpu), cuda (needs leastwise-cuda) or cpu" },
  threads: { value: "N", help: "threads of an engine on the CPU, up to 64; one unless given. Results are the same to the bit" },
  quiet: { short: "q", help: "no progress bar and no remarks" },
  json: { help: "the result as JSON" },
  help: { short: "h", help: "this text" },
};

/** Runs `work` on an engine, which is gone afterwards. */
export async function withEngine<T>(args: Arguments, work: (lw: Engine) => Promise<T>): Promise<T> {
  const backend = args.choice("backend", ["auto", "webgpu", "cuda", "cpu"]) ?? "auto", threads = args.count("threads");
  if (threads !== undefined && threads > MOST_THREADS) throw new UsageError(`--threads is ${threads}, but there may be ${MOST_THREADS}`);
  const lw = await (threads === undefined ? init({ backend }) : opened(args, backend, threads));
  try {
    return await work(lw);
  } finally {
    lw.dispose();
  }
}

async function opened(args: Arguments, backend: InitOptions["backend"], threads: number): Promise<Engine> {
  const { init } = await import("leastwise/threads");
  const lw = await init({ ...(backend && { backend }), threads });
  if (lw.threads.count < threads) remark(args, `On ${counted(lw.threads.count, "thread")} instead of ${threads}: ${lw.threads.reason}.`);
  return lw;
}

/** A remark, for people. */
export function remark(args: Arguments, text: string): void {
  if (!args.has("quiet")) console.error(text);
}
