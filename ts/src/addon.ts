/** Loading the addon `leastwise-cuda`: CUDA for Node, in a package of its own. */
import { LeastwiseError } from "./errors.js";
import type { NativeAddon, NativeEngine, NativeLimits, NativeWorld } from "./native.js";

interface Process { readonly versions?: { readonly node?: string }; readonly env?: Readonly<Record<string, string | undefined>> }
const { process } = globalThis as { process?: Process };

/** The addon; undefined outside of Node and where it is not installed. Throws `no-adapter` where it is and does not load. @internal */
export async function loadAddon(): Promise<NativeAddon | undefined> {
  if (!process?.versions?.node) return undefined;
  // The name in a variable keeps bundlers from looking for the package.
  const name = "leastwise-cuda";
  try {
    return (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as NativeAddon;
  } catch (thrown) {
    const { code, message = String(thrown) } = thrown as { code?: unknown; message?: string };
    if (code === "ERR_MODULE_NOT_FOUND" && message.includes(`package '${name}'`)) return undefined;
    throw new LeastwiseError("no-adapter", `CUDA can't be used: ${message}`);
  }
}

/**
 * True to use the addon's engine on the CPU in place of the one on CUDA: for the tests, so that they run on machines
 * without a GPU, and for `leastwise-cuda doctor`. @internal
 */
export const standsIn = (): boolean => process?.env?.LEASTWISE_ADDON === "cpu";

/** GPUs of an engine: one by its index, a rank of a world, or several; and how long ranks wait for each other. @internal */
export interface Gpus { readonly cudaDevice?: number; readonly world?: NativeWorld; readonly devices?: readonly number[]; readonly timeoutMs?: number }

/** @internal */
export function openAddon(addon: NativeAddon, precision: "f32" | "f64", limits: NativeLimits | undefined, { cudaDevice, world, devices, timeoutMs }: Gpus): Promise<NativeEngine> {
  return standsIn() ? addon.openCpu(precision, limits, world, devices, timeoutMs) : addon.openCuda(precision, limits, cudaDevice, world, devices, timeoutMs);
}
