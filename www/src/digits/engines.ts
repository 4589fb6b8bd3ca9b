/** Engines of the page: one a backend, made when it is first chosen. */
import { init, LeastwiseError, type Engine } from "leastwise";
import { complain } from "../status.js";

export type Choice = "webgpu" | "cpu";

/** An engine, and why it is not the one that was chosen. */
export interface Found { readonly engine: Engine; readonly why?: string }

const opened = new Map<Choice, Promise<Found>>();

/** The engine of a backend; the CPU's where there is no WebGPU. */
export function engineOf(choice: Choice): Promise<Found> {
  let found = opened.get(choice);
  if (!found) opened.set(choice, (found = open(choice)));
  return found;
}

async function open(choice: Choice): Promise<Found> {
  try {
    const engine = await init({ backend: choice });
    void engine.lost.then(complain);
    return { engine };
  } catch (error) {
    if (choice === "cpu" || !(error instanceof LeastwiseError && error.code === "no-adapter")) throw error;
    return { ...(await engineOf("cpu")), why: error.message };
  }
}
