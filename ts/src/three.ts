/**
 * The bridge to three.js: its `WebGPURenderer` draws vertices straight from a solver's buffer.
 *
 * three keeps an attribute's `GPUBuffer` in a slot of its backend, and makes one only where the slot is empty: filled
 * beforehand, it is drawn from. Left alone, three would overwrite that buffer on `needsUpdate` and destroy it with the
 * geometry, so both methods of its backend are intercepted for the attributes that are bound.
 * @packageDocumentation
 */
import type { Device, DeviceView } from "./arrays.js";
import { isA, LeastwiseError, reading } from "./errors.js";
import { describe, type Vec3 } from "./expression.js";
import { shownValue } from "./instruction.js";
import { NormalsOf, type NormalTable } from "./normals.js";
import { takesNoMore } from "./options.js";
import { TableOf, type Table } from "./table.js";

/**
 * An attribute whose vertices come from a solver, until it is disposed.
 *
 * @example
 * const binding: Binding = bindAttribute(renderer, geometry.attributes.position, x);
 * binding.dispose();
 */
export interface Binding extends Disposable {
  /**
   * `"shared"`: three draws from the solver's own buffer; nothing is copied.
   * `"copied"`: a copy on the device before every draw.
   * `"uploaded"`: the values go through memory, and are at most a frame or two late.
   */
  readonly mode: "shared" | "copied" | "uploaded";
  /** Why this mode. */
  readonly reason: string;
  /** Gives the attribute back to three, which draws its `array` from then on. To be called before the problem's own. */
  dispose(): void;
}

/**
 * The members of three's `BufferAttribute` that are used.
 *
 * @example
 * const attribute: BindableAttribute = geometry.attributes.position;
 */
export interface BindableAttribute { array: ArrayLike<number>; itemSize: number; needsUpdate: boolean }

/**
 * Makes three draw `attribute` (a plain `BufferAttribute` of `Float32Array` and item size 3) from the values of `x`, or from the
 * normals that `normalTable` of `leastwise/mesh` gives, which are never copied.
 *
 * Without a copy if the renderer works on the engine's device, `new WebGPURenderer({ device: lw.device })`, and `x` is the
 * first table of its problem; {@link Binding.mode} and `reason` tell. While it is bound, three neither writes nor destroys
 * the buffer, and `needsUpdate` does nothing. The attribute's `array`, which three takes bounds and ray hits from, keeps
 * its values in the modes that stay on the GPU: set `mesh.frustumCulled = false`.
 *
 * @throws `shape` for what is no `BufferAttribute`, and for one with other than three numbers a vertex
 * @example
 * const binding = bindAttribute(renderer, geometry.attributes.position, x);
 * console.log(binding.mode, binding.reason);  // "shared": nothing is copied
 */
export function bindAttribute(renderer: object, attribute: BindableAttribute, x: Table<Vec3> | NormalTable): Binding {
  takesNoMore("bindAttribute(renderer, attribute, x)", 3, arguments);
  if (!isA(x, TableOf<Vec3, boolean>) && !isA(x, NormalsOf)) {
    throw new LeastwiseError("foreign-variable", "bindAttribute takes a variable or constant of this copy of Leastwise, or normals of one");
  }
  const bindable = reading("bindAttribute: the attribute", () => checked(attribute, x));
  if (typeof renderer !== "object" || renderer === null) throw new LeastwiseError("invalid-option", `bindAttribute: the renderer must be one of three.js, not ${describe(renderer)}`);
  const { mode, reason, start } = reading("bindAttribute: the renderer", () => choose(renderer, bindable, x));
  bound.add(bindable);
  let stop: (() => void) | undefined = start();
  const dispose = () => {
    stop?.();
    if (stop) bound.delete(bindable);
    stop = undefined;
  };
  return { mode, reason, dispose, [Symbol.dispose]: dispose };
}

// ── what is used of three and of WebGPU ──

interface Attribute { readonly array: Float32Array; readonly itemSize: number; version: number; dispose(): void }
interface Backend {
  readonly isWebGPUBackend?: boolean;
  /** Undefined before `renderer.init()`. */
  readonly device?: unknown;
  readonly parameters?: { readonly device?: unknown };
  get(object: object): { buffer?: unknown };
  delete(object: object): void;
  updateAttribute(attribute: object): void;
  destroyAttribute(attribute: object): void;
}
interface RawBuffer { mapAsync(mode: number): Promise<void>; getMappedRange(): ArrayBuffer; unmap(): void; destroy(): void }
interface Encoder { copyBufferToBuffer(from: unknown, fromOffset: number, to: unknown, toOffset: number, bytes: number): void; finish(): unknown }
interface RawDevice { createBuffer(descriptor: object): RawBuffer; createCommandEncoder(descriptor: object): Encoder; readonly queue: { submit(commands: unknown[]): void } }

const MAP_READ = 1;      // GPUBufferUsage.MAP_READ, and GPUMapMode.READ as well
const COPY_DST = 8;

/** Tables that an attribute can be bound to. */
type Bound = TableOf<Vec3, boolean> | NormalsOf;

const bound = new WeakSet<object>();

function checked(attribute: BindableAttribute, x: Bound): Attribute {
  const refuse = (what: string) => new LeastwiseError("shape", `bindAttribute: ${what}`);
  if (typeof attribute !== "object" || attribute === null) throw refuse("the attribute is no BufferAttribute of three.js");
  const { array, itemSize } = attribute;
  const known = attribute as unknown as Record<string, unknown>;
  if (known.isInterleavedBufferAttribute || known.isStorageBufferAttribute || known.isStorageInstancedBufferAttribute) {
    throw refuse("the attribute is interleaved or for storage, which three lays out in its own way: use a plain BufferAttribute");
  }
  if (typeof known.version !== "number" || typeof known.dispose !== "function") throw refuse("the attribute is no BufferAttribute of three.js");
  if (!isA(array, Float32Array) || itemSize !== 3) throw refuse(`the attribute must be a Float32Array of item size 3, not ${describe(array)} of ${shownValue(itemSize)}`);
  if (x.width !== 3) throw refuse(`"${x.name}" has ${x.width} scalars an instance, but a vertex has 3`);
  if (array.length !== 3 * x.count) throw new LeastwiseError("data-length", `bindAttribute: the attribute has ${array.length / 3} vertices, but "${x.name}" has ${x.count} instances`);
  if (bound.has(attribute)) throw new LeastwiseError("busy", `bindAttribute: the attribute is bound already; dispose that binding before binding it to "${x.name}"`);
  return attribute as unknown as Attribute;
}

interface Choice { readonly mode: Binding["mode"]; readonly reason: string; readonly start: () => () => void }

function choose({ backend }: { backend?: Backend }, attribute: Attribute, x: Bound): Choice {
  const view = x.buffer;
  const device = x.device;
  if (!view || !device) {
    return { mode: "uploaded", reason: "the solver works on the CPU", start: () => upload(attribute, { into: (array) => x.read(array), free: () => {} }) };
  }
  const through = (reason: string): Choice => ({ mode: "uploaded", reason, start: () => upload(attribute, readings(device, view, attribute.array.byteLength)) });
  if (!backend?.isWebGPUBackend) return through("three draws with WebGL, which has no use for the solver's buffer");
  // Before `init()`, three has only promised to take the device that it was given.
  if ((backend.device ?? backend.parameters?.device) !== device) {
    return through("three works on another GPU device; make it with new WebGPURenderer({ device: lw.device }) to share the solver's buffer");
  }
  const known = ["get", "delete", "updateAttribute", "destroyAttribute"].every((name) => typeof (backend as unknown as Record<string, unknown>)[name] === "function");
  if (!known) return through("this version of three keeps its buffers in a way that is not known here");
  if (view.offset !== 0) {
    const reason = `"${x.name}" begins at byte ${view.offset} of the solver's buffer, but three binds vertices at byte 0 only; make it the first of its problem's variables to share the buffer`;
    return { mode: "copied", reason, start: () => copy(backend, attribute, device, view) };
  }
  return { mode: "shared", reason: "three draws from the solver's buffer", start: () => share(backend, attribute, view) };
}

// ── the three modes; each gives what ends it ──

function share(backend: Backend, attribute: Attribute, view: DeviceView): () => void {
  attribute.dispose();                           // a buffer that three made for it before
  backend.get(attribute).buffer = view.buffer;
  const release = intercept(backend, attribute, { updateAttribute: () => {}, destroyAttribute: () => {} });
  return () => {
    attribute.dispose();                         // three forgets the attribute, and destroys nothing
    release();
    backend.delete(attribute);
  };
}

function copy(backend: Backend, attribute: Attribute, device: Device, view: DeviceView): () => void {
  const raw = device as unknown as RawDevice;
  const updateAttribute = () => submitCopy(raw, view, backend.get(attribute).buffer, attribute.array.byteLength);
  const release = intercept(backend, attribute, { updateAttribute });
  let version = attribute.version;
  const restore = watchVersion(attribute, () => ++version);   // never the one that three has seen
  return () => { restore(); release(); };
}

/** Where values come from, on their way through memory. */
interface Source { into(array: Float32Array): Promise<unknown>; free(): void }

function upload(attribute: Attribute, source: Source): () => void {
  let version = attribute.version;
  let reading = false;
  let ended = false;
  const read = async (): Promise<void> => {
    reading = true;
    try {
      await source.into(attribute.array);
      version++;
    } catch (thrown) {
      if (ended) return;
      // In the middle of a solve: later, then. With anything else there is no point in going on, and the page should hear.
      if (!(thrown instanceof LeastwiseError && thrown.code === "busy")) throw thrown;
    }
    reading = false;
  };
  const restore = watchVersion(attribute, () => {
    if (!reading) void read();
    return version;
  });
  return () => { ended = true; restore(); source.free(); };
}

/** Copies to mappable memory that are not the engine's: an engine that reads for us would be busy for the next step. */
function readings(device: Device, view: DeviceView, bytes: number): Source {
  const raw = device as unknown as RawDevice;
  const staging = raw.createBuffer({ label: "leastwise attribute", size: bytes, usage: COPY_DST | MAP_READ });
  return {
    into: async (array) => {
      submitCopy(raw, view, staging, bytes);
      await staging.mapAsync(MAP_READ);
      array.set(new Float32Array(staging.getMappedRange()));
      staging.unmap();
    },
    free: () => staging.destroy(),
  };
}

function submitCopy(device: RawDevice, from: DeviceView, to: unknown, bytes: number): void {
  const encoder = device.createCommandEncoder({ label: "leastwise attribute" });
  encoder.copyBufferToBuffer(from.buffer, from.offset, to, 0, bytes);
  device.queue.submit([encoder.finish()]);
}

// ── the two hooks ──

/** three asks for an attribute's version before every draw, and has the attribute updated if it is newer than the last. */
function watchVersion(attribute: Attribute, version: () => number): () => void {
  Object.defineProperty(attribute, "version", { configurable: true, enumerable: true, get: version, set: () => {} });
  return () => {
    const next = version() + 1;
    Object.defineProperty(attribute, "version", { configurable: true, enumerable: true, writable: true, value: next });
  };
}

type Methods = Partial<Record<"updateAttribute" | "destroyAttribute", () => void>>;
const intercepted = new WeakMap<Backend, Map<object, Methods>>();

/** Has `methods` called instead of the backend's own when they are about `attribute`. */
function intercept(backend: Backend, attribute: object, methods: Methods): () => void {
  const names = ["updateAttribute", "destroyAttribute"] as const;
  const known = intercepted.get(backend) ?? new Map<object, Methods>();
  if (!intercepted.has(backend)) {
    intercepted.set(backend, known);
    for (const name of names) {
      const original = backend[name];
      backend[name] = (about) => {
        const instead = known.get(about)?.[name];
        if (instead) instead();
        else original.call(backend, about);
      };
    }
  }
  known.set(attribute, methods);
  return () => {
    known.delete(attribute);
    if (known.size > 0) return;
    intercepted.delete(backend);
    for (const name of names) delete (backend as Partial<Backend>)[name];   // its prototype's again
  };
}
