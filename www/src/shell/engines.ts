/** The engine of a page: on the backend that was chosen, or on the one that can be had, with the reason. */
import { init, LeastwiseError, type Engine } from "leastwise";

export type Backend = "auto" | "webgpu" | "cpu";
export const BACKENDS: readonly Backend[] = ["auto", "webgpu", "cpu"];

/** An engine, and why it is not the one that was chosen. */
export interface Found { readonly engine: Engine; readonly why?: string }

/** Why there is no WebGPU here, once that is known. */
export let withoutWebGpu: string | undefined = navigator.gpu ? undefined : "this browser has no WebGPU, or the page is not served over https";

export async function openEngine(wish: Backend): Promise<Found> {
  try {
    const engine = await init({ backend: wish });
    if (wish === "auto" && engine.backend === "cpu") withoutWebGpu ??= /software/i.test(engine.reason) ? undefined : engine.reason;
    return { engine };
  } catch (error) {
    if (wish !== "webgpu" || !(error instanceof LeastwiseError && error.code === "no-adapter")) throw error;
    withoutWebGpu = error.message;
    return { engine: await init({ backend: "cpu" }), why: error.message };
  }
}
