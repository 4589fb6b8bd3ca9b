/** Engines of the page: one on WebGPU and one on the CPU, made when they are first needed. */
import { init, LeastwiseError, type Engine } from "leastwise";
import { complain } from "../shell/notices.js";

/** `"auto"`: WebGPU and the CPU beside it, each kernel where a model of the machine says that it is done sooner. */
export type Choice = "webgpu" | "cpu" | "auto";

/** An engine, and why it is not the one that was chosen. */
export interface Found { readonly engine: Engine; readonly why?: string }

type Backend = Exclude<Choice, "auto">;

const opened = new Map<Backend, Promise<Found>>();

/** The engine of a backend; the CPU's where there is no WebGPU. */
export async function engineOf(choice: Choice): Promise<Found> {
  const found = await once(choice === "auto" ? "webgpu" : choice);
  found.engine.tensors({ routing: choice === "auto" ? "auto" : "device" });
  return found;
}

function once(backend: Backend): Promise<Found> {
  let found = opened.get(backend);
  if (!found) opened.set(backend, (found = open(backend)));
  return found;
}

async function open(backend: Backend): Promise<Found> {
  try {
    const engine = await init({ backend });
    void engine.lost.then(complain);
    return { engine };
  } catch (error) {
    if (backend === "cpu" || !(error instanceof LeastwiseError && error.code === "no-adapter")) throw error;
    return { ...(await once("cpu")), why: error.message };
  }
}
