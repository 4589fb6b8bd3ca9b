/** Making an engine: which backend it gets, and why. */
import { loadAddon, openAddon, standsIn } from "./addon.js";
import { bytesOf, type Device } from "./arrays.js";
import { EngineOf, type Backend, type Engine, type Origin, type Precision } from "./engine.js";
import { asError, LeastwiseError, reading } from "./errors.js";
import { describe } from "./instruction.js";
import type { NativeEngine, NativeLimits } from "./native.js";
import { checked, flag, given, oneOf, real, whole, type Checked, type Kind } from "./options.js";
import { NEEDS, PARTS, type Parts } from "./parts.js";
import { wasmSource, type WasmSource } from "./source.js";
import type { Threads } from "./threaded.js";
import { checkedTuning, type Tuning } from "./tuning.js";
import { loadWasm, type Places } from "./wasm.js";
import { openDevice, SoftwareAdapter, withDevice, type OpenDevice } from "./webgpu.js";

/**
 * What to run on.
 *
 * @example
 * const options: InitOptions = { backend: "webgpu", precision: "f32x2" };
 * const lw = await init(options);
 */
export interface InitOptions<P extends Precision = Precision> {
  /**
   * `"auto"` takes CUDA where the package `leastwise-cuda` is installed and finds a GPU, then WebGPU, then the
   * CPU; `reason` says why. A software adapter of WebGPU, which is slower than the CPU backend, is passed over; `"webgpu"` takes it.
   *
   * @defaultValue `"auto"`
   */
  backend?: "auto" | Backend;
  /**
   * `"f64"` on CUDA and on the CPU by default; `"f32"` is there too. WebGPU has no f64, and so
   * - by default, solves are in f32, and go on in mixed precision where f32 stops them;
   * - `"f32"`: in f32 alone;
   * - `"f32x2"`: in double-floats, sums of two f32s with 48 bits of significand and the range of one: residuals, derivatives, costs, and all that
   *   solvers compute, agree with f64 to 10⁻¹⁰ of the sums of magnitudes that they come from, for numbers between 10⁻²⁵ and 10³⁰;
   * - `"mixed"`: in double-floats, but for what conjugate gradients do in every inner iteration, which is in f32 (iterative refinement).
   *
   * Where `"f64"` is asked for, tensors are of f64, too, unless their `dtype` says otherwise; else they are of f32.
   *
   * Adapters on which double-floats are not exact are found out, and refused with the reason: {@link Engine.doubles}.
   *
   * @defaultValue `"f64"` on CUDA and on the CPU; on WebGPU f32 that goes on in mixed precision
   */
  precision?: P;
  /** A `GPUDevice` of yours to work on; it stays yours, and is not destroyed. @defaultValue a device of the engine's own */
  device?: Device;
  /** Which of several GPUs CUDA is to use, by the driver's index. @defaultValue 0, or by rank in a `world` */
  cudaDevice?: number;
  /**
   * Several GPUs of this process, by the driver's indices, for one engine with `backend: "cuda"`: solves are divided among them, and so are
   * clusterings with `ranks: true`; what else there is works on the first one. They exchange numbers over NCCL: `docs/RANKS.md`. A list of
   * one is that GPU by itself.
   *
   * `init` rejects with `invalid-option` for a GPU that is not there, and where NCCL is missing.
   *
   * @defaultValue one GPU: `cudaDevice`
   */
  devices?: readonly number[];
  /** Has the engine be one of several ranks, with `backend: "cuda"`: {@link World}. @defaultValue one GPU by itself */
  world?: World;
  /**
   * Milliseconds that ranks of a `world`, and those of `devices`, wait for each other in a call, from 1 to 86,400,000 (a day), with
   * `backend: "cuda"`. A rank that comes later ends the call with `device-lost`: raise it where ranks have much to do between calls, lower
   * it to learn earlier of one that hangs. All ranks of a world need the same, else `init` rejects with `invalid-option`. `init` itself
   * waits 30 seconds at least for all ranks over NCCL. An engine that is no rank waits for none.
   *
   * @defaultValue 30,000
   */
  timeoutMs?: number;
  /**
   * Source of the engine's module, where it can't be found beside this one: an address, a `Request`, a `Response`, its bytes, a
   * `WebAssembly.Module`, or a promise of one of these. The module is loaded once a process; later sources are checked and not read.
   *
   * @defaultValue the file of the package
   */
  wasm?: WasmSource;
  /** A tuning table, as {@link Engine.tune} gave it. @defaultValue none: schedules are chosen by structure */
  tuning?: Tuning;
  /**
   * Tighter limits than the device's, to see how a problem fares on small devices. `memoryBytes` is what all buffers of a precision may
   * take together, in bytes: what needs more is refused with `out-of-memory`. Buffers of another precision have the same bound by
   * themselves, and of several GPUs it is that of each. It does not count compiled kernels, memory of the driver, and messages between
   * ranks: 4 MiB for each rank and 4 MiB besides, and 20 bytes for each element of an exchange at most. @defaultValue those of the device
   */
  limits?: { bindingBytes?: number; memoryBytes?: number; groupSize?: number; groupsPerDimension?: number };
}

/**
 * A group of processes that run the same program and solve problems together, each on a GPU of its own: `docs/RANKS.md`.
 *
 * @example
 * const world: World = { rank: 0, size: 1, id: new Uint8Array(128) };
 */
export interface World {
  /** Number of this process, from 0. */
  rank: number;
  /** Number of processes. */
  size: number;
  /** What all of them have in common: `worldId()` of `leastwise-cuda`, which one of them calls. */
  id: Uint8Array;
}

/** No less than the engine can do with. */
const LIMITS = { bindingBytes: whole(1 << 16, Number.MAX_SAFE_INTEGER), memoryBytes: whole(1, Number.MAX_SAFE_INTEGER), groupSize: whole(64, 256), groupsPerDimension: whole() } as const;
const limits: Kind<Checked<typeof LIMITS>> = (name, value, place) => checked(`init(options): ${name}`, value, LIMITS, { prefix: `${name}.`, ...place });

const WORLD = { rank: whole(0), size: whole(), id: given<Uint8Array>() } as const;
const world: Kind<World> = (name, value, place) => {
  const { rank, size, id } = checked(`init(options): ${name}`, value, WORLD, { prefix: `${name}.`, ...place });
  const bytes = id && bytesOf(`${name}.id`, id, place);
  if (rank === undefined || !size || rank >= size || bytes?.length !== 128) throw new LeastwiseError("invalid-option", `${name} needs a size, a rank below it, and an id: the 128 bytes of worldId()`, place);
  return { rank, size, id: bytes };
};

const gpu = whole(0);
const devices: Kind<readonly number[]> = (name, value, place) => {
  const list = reading(name, () => (Array.isArray(value) ? [...value as readonly unknown[]] : undefined), place);
  if (!list?.length) throw new LeastwiseError("invalid-option", `${name} must be a list of GPUs, by the driver's indices, such as [0, 1], not ${list ? "an empty one" : describe(value)}`, place);
  const indices = list.map((index, k) => gpu(`${name}[${k}]`, index, place));
  const again = indices.find((index, k) => indices.indexOf(index) < k);
  if (again !== undefined) throw new LeastwiseError("invalid-option", `${name} has GPU ${again} twice: each GPU is one rank, so name it once`, place);
  return indices;
};

const tuning: Kind<ReturnType<typeof checkedTuning>> = (_, value) => checkedTuning(value as Tuning);

/** A `GPUDevice`, or what wraps one with all that the engine asks of it. */
const device: Kind<Device> = (name, value, place) => {
  const of = value as { limits?: { maxBufferSize?: unknown } | null; features?: { has?: unknown } | null; queue?: { submit?: unknown } | null; createBuffer?: unknown; lost?: { then?: unknown } | null } | null;
  const parts = reading(name, () => (typeof of === "object" && of !== null
    ? [typeof of.limits?.maxBufferSize === "number", typeof of.features?.has === "function", typeof of.queue?.submit === "function", typeof of.createBuffer === "function", typeof of.lost?.then === "function"] : []), place);
  if (parts.length === 0 || parts.includes(false)) {
    throw new LeastwiseError("invalid-option", `init(options): ${name} must be a GPUDevice, as adapter.requestDevice() gives it, not ${describe(value)}`, place);
  }
  return value as Device;
};

/** @internal */
export const INIT = {
  backend: oneOf("auto", "webgpu", "cuda", "cpu"), precision: oneOf("f32", "f64", "f32x2", "mixed"), device, cudaDevice: gpu, devices,
  wasm: wasmSource, tuning, limits, world, timeoutMs: real(1, 86_400_000),
} as const;

/** Options, checked, and where the module is unless one is given. */
type Asked = Checked<typeof INIT> & { readonly places: Places };

const isOfDoubles = (precision: Precision | undefined) => precision === "f32x2" || precision === "mixed";

/** `init`, with the module from there where none is given. @internal */
export async function initFrom(options: InitOptions, places: Places): Promise<Engine> {
  const all = { ...checked("init(options): options", options, INIT), places };
  return initOn(all, () => plainHost(all));
}

/**
 * What to load ahead.
 *
 * @example
 * const options: PreloadOptions = { wasm: "/assets/leastwise_bg.wasm" };
 * await preload(options);
 */
export interface PreloadOptions extends Pick<InitOptions, "wasm"> {
  /** True to load all parts of the module, so that no later call has to. @defaultValue false */
  everything?: boolean;
}

/** @internal */
export const PRELOAD = { wasm: INIT.wasm, everything: flag } as const;

/** `preload`, with the module from there where none is given. @internal */
export async function preloadFrom(options: PreloadOptions, places: Places): Promise<void> {
  const { wasm, everything } = checked("preload(options): options", options, PRELOAD);
  const { navigator } = globalThis as { navigator?: { gpu?: unknown } };
  // The part that init is likely to want.
  await loadWasm(wasm, places, everything ? PARTS : [navigator?.gpu ? "webgpu" : "cpu"]);
}

/** What engines on the CPU run on. @internal */
export interface CpuHost {
  /** Makes the engine. */
  open(precision: "f32" | "f64", limits: NativeLimits | undefined): NativeEngine;
  lastPanic(): string | undefined;
  readonly parts: Parts;
  readonly threads: () => Threads;
  /** Called when the engine is disposed, or never came to be. */
  readonly release?: () => void;
}

/** One thread. @internal */
export async function plainHost(options: Pick<Asked, "wasm" | "places" | "precision">): Promise<CpuHost> {
  const { native: { openCpu, lastPanic }, parts } = await loadWasm(options.wasm, options.places, options.precision === "f32" ? ["cpu", "single"] : ["cpu"]);
  return { open: openCpu, lastPanic, parts, threads: () => ({ count: 1, code: "one-asked", reason: "engines of \"leastwise\" have one thread, and those of \"leastwise/threads\" more" }) };
}

/** `init`, with options that were checked, on the CPU with such a host. @internal */
export async function initOn(options: Asked, host: () => Promise<CpuHost>): Promise<EngineOf> {
  mustGoTogether(options);
  const openCpu = (reason: string) => openOnCpu(options, reason, host);
  const { backend = "auto", precision, device } = options;
  if (backend === "cpu") return openCpu("the CPU was asked for");
  // Why what comes first was not taken.
  const passed: string[] = [];
  if (backend === "cuda" || (backend === "auto" && !device)) {
    const cuda = isOfDoubles(precision) ? { why: `precision "${precision}" is for WebGPU`, installed: false } : await openCuda(options, backend === "cuda" ? "CUDA was asked for" : "CUDA is there");
    if (cuda instanceof EngineOf) return cuda;
    if (backend === "cuda") throw new LeastwiseError("no-adapter", cuda.why);
    if (cuda.installed) passed.push(cuda.why);
  }
  const because = (why: string) => [...passed, why].join("; ");
  if (backend === "auto" && precision === "f64" && !device) return openCpu(because("f64 was asked for, which WebGPU does not have"));
  // Nothing but WebGPU has double-floats.
  const hardware = backend === "auto" && !device && !isOfDoubles(precision);
  const webgpu = await openWebGpu(options, hardware, because(device ? "a device was given" : backend === "webgpu" ? "WebGPU was asked for" : "WebGPU is there"));
  if (webgpu instanceof EngineOf) return webgpu;
  if (backend === "webgpu" || isOfDoubles(precision)) throw new LeastwiseError("no-adapter", `WebGPU was demanded but can't be had: ${webgpu.why}`);
  return openCpu(because(webgpu.software ? webgpu.why : `WebGPU can't be had: ${webgpu.why}`));
}

function mustGoTogether({ backend = "auto", precision, device, world, devices, cudaDevice, timeoutMs }: Asked): void {
  const refuse = (message: string) => { throw new LeastwiseError("invalid-option", message); };
  if ((backend === "cuda" || backend === "cpu") && isOfDoubles(precision)) refuse(`precision: "${precision}" is for WebGPU, which has no f64; backend "${backend}" has "f64"`);
  if (world && backend !== "cuda") refuse(`world: ranks are on backend "cuda", not on "${backend}"`);
  if (devices && backend !== "cuda") refuse(`devices: several GPUs are on backend "cuda", not on "${backend}"`);
  if (timeoutMs !== undefined && backend !== "cuda") refuse(`timeoutMs: ranks, which wait for each other, are on backend "cuda", not on "${backend}"`);
  if (devices && world) refuse("devices and world: the ranks of a world are processes with one GPU each, which cudaDevice names; leave one of the two out");
  if (devices && cudaDevice !== undefined) refuse("devices and cudaDevice: devices names all GPUs of the engine; leave cudaDevice out");
  if (backend === "webgpu" && precision === "f64") refuse("WebGPU has no f64: use precision \"f32x2\", or backend \"cuda\" or \"cpu\"");
  if ((backend === "cuda" || backend === "cpu") && device) refuse(`a device was given, but backend "${backend}" uses none`);
}

/** Runs what may throw the engine's errors, and makes ours of them. */
async function opened(work: () => Promise<NativeEngine> | NativeEngine, panic: () => string | undefined, { tuning, precision }: Asked, origin: Origin): Promise<EngineOf> {
  try {
    const native = await work();
    if (tuning) {
      await origin.parts?.need(NEEDS.tuning);
      native.setTuning(tuning.keys, tuning.choices);
    }
    return new EngineOf(native, panic, { ...origin, dtype: precision === "f64" ? precision : undefined });
  } catch (thrown) {
    throw asError(thrown, () => origin.parts?.trapped ?? panic());
  }
}

const limitsOf = ({ limits }: Asked) => limits as NativeLimits | undefined;
const isMissing = (thrown: unknown): thrown is LeastwiseError => thrown instanceof LeastwiseError && thrown.code === "no-adapter";

async function openOnCpu(options: Asked, reason: string, find: () => Promise<CpuHost>): Promise<EngineOf> {
  const { open, lastPanic, parts, threads, release } = await find();
  const precision = options.precision === "f32" ? "f32" : "f64";
  try {
    return await opened(() => open(precision, limitsOf(options)), lastPanic, options, { backend: "cpu", precision, reason, parts, threads, release });
  } catch (thrown) {
    release?.();
    throw thrown;
  }
}

async function openWebGpu(options: Asked, hardware: boolean, asked: string): Promise<EngineOf | { why: string; software?: true }> {
  let found: OpenDevice;
  try {
    found = await openDevice(options.device, hardware);
  } catch (thrown) {
    if (thrown instanceof SoftwareAdapter) return { why: `WebGPU's adapter is software (${thrown.message}), which is slower than the CPU backend; backend "webgpu" takes it all the same`, software: true };
    return { why: thrown instanceof Error ? thrown.message : String(thrown) };
  }
  const reason = found.software === undefined ? asked : `${asked}; its adapter is software (${found.software}), which is slower than the CPU backend`;
  try {
    const { native, parts } = await loadWasm(options.wasm, options.places, isOfDoubles(options.precision) ? ["webgpu", "doubles"] : ["webgpu"]);
    const open = () => withDevice(found, () => native.openWebGpu(options.precision, limitsOf(options)));
    return await opened(open, native.lastPanic, options, { backend: "webgpu", precision: options.precision ?? "f32", reason, parts, open: found });
  } catch (thrown) {
    if (found.ours) found.device.destroy();
    if (isMissing(thrown)) return { why: thrown.message };
    throw thrown;
  }
}

async function openCuda(options: Asked, reason: string): Promise<EngineOf | { why: string; installed: boolean }> {
  const precision = options.precision === "f32" ? "f32" : "f64";
  try {
    const addon = await loadAddon();
    if (!addon) return { why: "CUDA can't be used: it needs Node and the package leastwise-cuda (`npm install leastwise-cuda`)", installed: false };
    const open = () => openAddon(addon, precision, limitsOf(options), options);
    const origin: Origin = { backend: "cuda", precision, reason: standsIn() ? "LEASTWISE_ADDON=cpu: the addon's engine on the CPU stands in for CUDA's" : reason };
    // A panic of the addon's is the error itself.
    return await opened(open, () => undefined, options, origin);
  } catch (thrown) {
    if (isMissing(thrown)) return { why: thrown.message, installed: true };
    throw thrown;
  }
}
