/** Making an engine: which backend it gets, and why. */
import { loadAddon, openAddon, standsIn } from "./addon.js";
import type { Device } from "./arrays.js";
import { EngineOf, type Backend, type Engine, type Origin } from "./engine.js";
import { asError, LeastwiseError, mustBeObject } from "./errors.js";
import type { NativeEngine, NativeLimits } from "./native.js";
import { checkedTuning, type Tuning } from "./tuning.js";
import { loadWasm, type WasmSource } from "./wasm.js";
import { openDevice, withDevice, type OpenDevice } from "./webgpu.js";

/** What to run on. */
export interface InitOptions {
  /**
   * `"auto"` (the default) takes CUDA where the package `leastwise-cuda` is installed and finds a GPU, then WebGPU, then the
   * CPU; `reason` says why.
   */
  backend?: "auto" | Backend;
  /** `"f64"` on CUDA and on the CPU, unless told. WebGPU has `"f32"` only. */
  precision?: "f32" | "f64";
  /** A `GPUDevice` of yours to work on; it stays yours, and is not destroyed. */
  device?: Device;
  /** Which of several GPUs CUDA is to use, by the driver's index; 0 unless told. */
  cudaDevice?: number;
  /** The engine's module, where it can't be found beside this one. */
  wasm?: WasmSource;
  /** A tuning table, as {@link Engine.tune} gave it. */
  tuning?: Tuning;
  /** Tighter limits than the device's, to see how a problem fares on small devices. */
  limits?: { bindingBytes?: number; groupSize?: number; groupsPerDimension?: number };
}

/** Makes an engine. Throws `no-adapter` when WebGPU or CUDA was demanded and cannot be had. */
export async function init(options: InitOptions = {}): Promise<Engine> {
  check(options);
  const { backend = "auto", precision, device } = options;
  if (backend === "cpu") return openCpu(options, "the CPU was asked for");
  // Why what comes first was not taken.
  const passed: string[] = [];
  if (backend === "cuda" || (backend === "auto" && !device)) {
    const cuda = await openCuda(options, backend === "cuda" ? "CUDA was asked for" : "CUDA is there");
    if (cuda instanceof EngineOf) return cuda;
    if (backend === "cuda") throw new LeastwiseError("no-adapter", cuda.why);
    if (cuda.installed) passed.push(cuda.why);
  }
  const because = (why: string) => [...passed, why].join("; ");
  if (backend === "auto" && precision === "f64" && !device) return openCpu(options, because("f64 was asked for, which WebGPU does not have"));
  const webgpu = await openWebGpu(options, because(device ? "a device was given" : backend === "webgpu" ? "WebGPU was asked for" : "WebGPU is there"));
  if (webgpu instanceof EngineOf) return webgpu;
  if (backend === "webgpu") throw new LeastwiseError("no-adapter", `WebGPU was demanded but can't be had: ${webgpu.why}`);
  return openCpu(options, because(`WebGPU can't be had: ${webgpu.why}`));
}

function check(options: InitOptions): void {
  mustBeObject(options, "init(options): options");
  const { backend = "auto", precision, device, cudaDevice } = options;
  const refuse = (message: string) => { throw new LeastwiseError("invalid-option", message); };
  if (!["auto", "webgpu", "cuda", "cpu"].includes(backend)) refuse(`backend: "${String(backend)}" is not one of "auto", "webgpu", "cuda", "cpu"`);
  if (precision !== undefined && precision !== "f32" && precision !== "f64") refuse(`precision: "${String(precision)}" is not one of "f32", "f64"`);
  if (backend === "webgpu" && precision === "f64") refuse("WebGPU has no f64: use precision \"f32\", or backend \"cuda\" or \"cpu\"");
  if ((backend === "cuda" || backend === "cpu") && device) refuse(`a device was given, but backend "${backend}" uses none`);
  if (cudaDevice !== undefined && !(Number.isInteger(cudaDevice) && cudaDevice >= 0)) refuse(`cudaDevice: ${String(cudaDevice)} is not the index of a GPU`);
  if (options.tuning) checkedTuning(options.tuning);
}

/** Runs what may throw the engine's errors, and makes ours of them. */
async function opened(work: () => Promise<NativeEngine> | NativeEngine, panic: () => string | undefined, { tuning }: InitOptions, origin: Origin): Promise<EngineOf> {
  try {
    const native = await work();
    if (tuning) {
      const { keys, choices } = checkedTuning(tuning);
      native.setTuning(keys, choices);
    }
    return new EngineOf(native, panic, origin);
  } catch (thrown) {
    throw asError(thrown, panic);
  }
}

const limitsOf = ({ limits }: InitOptions) => limits as NativeLimits | undefined;
const isMissing = (thrown: unknown): thrown is LeastwiseError => thrown instanceof LeastwiseError && thrown.code === "no-adapter";

async function openCpu(options: InitOptions, reason: string): Promise<EngineOf> {
  const wasm = await loadWasm(options.wasm);
  const precision = options.precision ?? "f64";
  return opened(() => wasm.openCpu(precision, limitsOf(options)), wasm.lastPanic, options, { backend: "cpu", precision, reason });
}

async function openWebGpu(options: InitOptions, reason: string): Promise<EngineOf | { why: string }> {
  const wasm = await loadWasm(options.wasm);
  let found: OpenDevice;
  try {
    found = await openDevice(options.device);
  } catch (thrown) {
    return { why: thrown instanceof Error ? thrown.message : String(thrown) };
  }
  const open = () => withDevice(found, () => wasm.openWebGpu(limitsOf(options)));
  try {
    return await opened(open, wasm.lastPanic, options, { backend: "webgpu", precision: "f32", reason, open: found });
  } catch (thrown) {
    if (found.ours) found.device.destroy();
    if (isMissing(thrown)) return { why: thrown.message };
    throw thrown;
  }
}

async function openCuda(options: InitOptions, reason: string): Promise<EngineOf | { why: string; installed: boolean }> {
  const precision = options.precision ?? "f64";
  try {
    const addon = await loadAddon();
    if (!addon) return { why: "CUDA can't be used: it needs Node and the package leastwise-cuda (`npm install leastwise-cuda`)", installed: false };
    const open = () => openAddon(addon, precision, limitsOf(options), options.cudaDevice ?? 0);
    const origin: Origin = { backend: "cuda", precision, reason: standsIn() ? "LEASTWISE_ADDON=cpu: the addon's engine on the CPU stands in for CUDA's" : reason };
    // A panic of the addon's is the error itself.
    return await opened(open, () => undefined, options, origin);
  } catch (thrown) {
    if (isMissing(thrown)) return { why: thrown.message, installed: true };
    throw thrown;
  }
}
