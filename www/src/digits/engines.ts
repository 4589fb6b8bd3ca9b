/** Engines of the worker: one on WebGPU and one on the CPU, made when they are first needed. */
import { init, LeastwiseError, type Engine } from "leastwise";
import type { Choice } from "./protocol.js";

/** An engine, and why it is not the one that was chosen. */
export interface Found { readonly engine: Engine; readonly why?: string }

type Backend = Exclude<Choice, "auto">;

const opened = new Map<Backend, Promise<Found>>();

/** The engine of a backend; the CPU's where there is no WebGPU. A device that is lost is told to `lost`. */
export async function engineOf(choice: Choice, lost: (error: Error) => void): Promise<Found> {
  const found = await once(choice === "auto" ? "webgpu" : choice, lost);
  found.engine.tensors({ routing: choice === "auto" ? "auto" : "device" });
  return found;
}

function once(backend: Backend, lost: (error: Error) => void): Promise<Found> {
  let found = opened.get(backend);
  if (!found) opened.set(backend, (found = open(backend, lost)));
  // The next wish tries again.
  found.catch(() => opened.delete(backend));
  return found;
}

async function open(backend: Backend, lost: (error: Error) => void): Promise<Found> {
  try {
    const engine = await init({ backend });
    void engine.lost.then((error) => {
      opened.delete(backend);
      lost(error);
    });
    return { engine };
  } catch (error) {
    if (backend === "cpu" || !(error instanceof LeastwiseError && error.code === "no-adapter")) throw error;
    return { ...(await once("cpu", lost)), why: error.message };
  }
}
