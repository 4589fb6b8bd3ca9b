/** Opening an engine for a command. */
import { init, type Engine } from "leastwise";
import type { Arguments, Option } from "./arguments.js";

export const COMMON_OPTIONS: { readonly [name: string]: Option } = {
  backend: { value: "NAME", help: "auto (the default), webgpu (needs the npm package webgpu), cuda (needs leastwise-cuda) or cpu" },
  quiet: { short: "q", help: "no progress bar and no remarks" },
  json: { help: "the result as JSON" },
  help: { short: "h", help: "this text" },
};

/** Runs `work` on an engine, which is gone afterwards. */
export async function withEngine<T>(args: Arguments, work: (lw: Engine) => Promise<T>): Promise<T> {
  const lw = await init({ backend: args.choice("backend", ["auto", "webgpu", "cuda", "cpu"]) ?? "auto" });
  try {
    return await work(lw);
  } finally {
    lw.dispose();
  }
}

/** A remark, for people. */
export function remark(args: Arguments, text: string): void {
  if (!args.has("quiet")) console.error(text);
}
