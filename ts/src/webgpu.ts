/** Getting a WebGPU device — the browser's, Dawn's in Node, or the user's — and handing it to the engine. */
import type { Device } from "./arrays.js";

// The little of WebGPU that is needed here, so that no consumer needs its types.
interface Info {
  readonly vendor?: string;
  readonly architecture?: string;
  readonly device?: string;
  readonly description?: string;
  readonly isFallbackAdapter?: boolean;
  /** Chromium's, behind a flag. */
  readonly type?: string;
}
interface Adapter {
  readonly features: Iterable<string>;
  readonly limits: Record<string, number>;
  readonly info?: Info;
  /** Where it was before it went into `info`. */
  readonly isFallbackAdapter?: boolean;
  requestDevice(descriptor: object): Promise<RawDevice>;
}
interface Gpu { requestAdapter(options?: object): Promise<Adapter | null>; readonly wgslLanguageFeatures?: unknown; getPreferredCanvasFormat?(): string }
interface RawDevice { readonly features: Iterable<string>; readonly limits: Record<string, number>; readonly adapterInfo?: Info; readonly lost: Promise<{ reason: string; message: string }>; destroy(): void }

/** A device and what is known of where it came from. @internal */
export interface OpenDevice {
  readonly device: RawDevice;
  readonly info: object;
  /** True if this package made the device, and so destroys it. */
  readonly ours: boolean;
  /** The name of an adapter that is software; undefined for a GPU. */
  readonly software: string | undefined;
}

/** An adapter that is software, where a GPU was wanted. @internal */
export class SoftwareAdapter extends Error {}

const SOFTWARE = /swiftshader|llvmpipe|lavapipe|softpipe|basic render|software rasterizer/i;

/** The name of an adapter that computes on the CPU; undefined for a GPU. */
function softwareOf(info: Info | undefined, isFallback: boolean | undefined): string | undefined {
  const names = [info?.description, info?.device, info?.vendor, info?.architecture].filter((name) => typeof name === "string" && name !== "");
  const named = names.find((name) => SOFTWARE.test(name!));
  if (named !== undefined) return named;
  return info?.isFallbackAdapter === true || isFallback === true || info?.type === "CPU" ? names[0] ?? "a fallback adapter" : undefined;
}

/** Dawn's instance in Node, one a process: a second one that is collected while a device lives aborts the process. */
let dawn: Promise<Gpu> | undefined;

/** What `navigator.gpu` was before a shim stood there, of whichever copy of this package. */
const BEFORE = Symbol.for("leastwise: navigator.gpu before");

/** The host's own. A shim hands out the device of another engine, which destroys it at its end. */
function hostGpu(): Gpu | undefined {
  const { navigator } = globalThis as { navigator?: { gpu?: Gpu & { [BEFORE]?: Gpu | undefined } } };
  const there = navigator?.gpu;
  return there && BEFORE in there ? there[BEFORE] : there;
}

async function findGpu(): Promise<Gpu> {
  const host = hostGpu();
  if (host) return host;
  const process = (globalThis as { process?: { versions?: { node?: string } } }).process;
  if (!process?.versions?.node) {
    throw new Error("this browser has no WebGPU (navigator.gpu is missing; it needs a secure context: https or localhost)");
  }
  // Set before anything is awaited, so that calls at the same time share it; a failed import may be tried again.
  dawn ??= openDawn().catch((thrown: unknown) => {
    dawn = undefined;
    throw thrown;
  });
  return dawn;
}

async function openDawn(): Promise<Gpu> {
  // The name in a variable keeps bundlers from looking for the package.
  const name = "webgpu";
  let found: { create(flags: string[]): Gpu; globals: object };
  try {
    found = await import(/* @vite-ignore */ /* webpackIgnore: true */ name);
  } catch (thrown) {
    const { code, message = String(thrown) } = thrown as { code?: unknown; message?: string };
    if (code === "ERR_MODULE_NOT_FOUND" && message.includes(`package '${name}'`)) throw new Error("Node has no WebGPU of its own; `npm install webgpu` brings it");
    throw new Error(`the package ${name} can't be loaded: ${message}`);
  }
  for (const [key, value] of Object.entries(found.globals)) {
    if (!(key in globalThis)) (globalThis as Record<string, unknown>)[key] = value;
  }
  return found.create([]);
}

/** Limits that we ask for when the adapter has them. */
const LIMITS = [
  "maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage", "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY", "maxComputeWorkgroupSizeZ", "maxComputeWorkgroupStorageSize", "maxComputeWorkgroupsPerDimension",
];

/**
 * Requests a device with all that the adapter offers, or takes the user's. Throws an `Error` that says why there is none, and a
 * {@link SoftwareAdapter} where only hardware will do. @internal
 */
export async function openDevice(given: Device | undefined, hardware: boolean): Promise<OpenDevice> {
  if (given) {
    const device = given as unknown as RawDevice;
    return { device, info: device.adapterInfo ?? {}, ours: false, software: softwareOf(device.adapterInfo, undefined) };
  }
  const gpu = await findGpu();
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("WebGPU found no adapter (no GPU, a blocked driver, or no software fallback)");
  const software = softwareOf(adapter.info, adapter.isFallbackAdapter);
  if (hardware && software !== undefined) throw new SoftwareAdapter(software);
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]).filter((entry) => entry[1] !== undefined));
  const device = await adapter.requestDevice({ requiredFeatures: [...adapter.features], requiredLimits, label: "leastwise" });
  return { device, info: adapter.info ?? {}, ours: true, software };
}

/**
 * Runs `open` while `navigator.gpu` is a shim whose adapter hands out our device: wgpu cannot wrap a device, but it
 * takes whatever its adapter gives.
 */
let opening: Promise<unknown> = Promise.resolve();
export function withDevice<T>(found: OpenDevice, open: () => Promise<T>): Promise<T> {
  // One at a time: the shim is global while it stands.
  const next = opening.then(async () => {
    const scope = globalThis as Record<string, unknown>;
    const { device } = found;
    const adapter = { features: device.features, limits: device.limits, info: found.info, isFallbackAdapter: false, requestDevice: async () => device };
    const undo: (() => void)[] = [];
    const restore = () => undo.splice(0).reverse().forEach((work) => work());
    // wgpu has the shim by then, and whoever else asks is to find the host's own.
    const requestAdapter = async () => { restore(); return adapter; };
    const shim = { requestAdapter, getPreferredCanvasFormat: () => "bgra8unorm", wgslLanguageFeatures: new Set(), [BEFORE]: hostGpu() };
    const define = (target: object, key: string, value: unknown) => {
      const before = Object.getOwnPropertyDescriptor(target, key);
      Object.defineProperty(target, key, { configurable: true, writable: true, enumerable: true, value });
      undo.push(() => (before ? Object.defineProperty(target, key, before) : delete (target as Record<string, unknown>)[key]));
    };
    // wgpu looks for a global of one of these names to find the navigator by.
    if (!("Window" in scope) && !("WorkerGlobalScope" in scope)) define(scope, "WorkerGlobalScope", class {});
    if (!scope.navigator) define(scope, "navigator", {});
    define(scope.navigator as object, "gpu", shim);
    try {
      return await open();
    } finally {
      restore();
    }
  });
  // What came of it is not held here: an engine that was forgotten is to be collected.
  opening = next.then(() => undefined, () => undefined);
  return next;
}
