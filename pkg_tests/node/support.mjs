// What the tests in Node share: engines, checks, processes. The problems are in a file that the browser's page has, too.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { init, LeastwiseError } from "leastwise";

export * from "../problems.mjs";

/** `LEASTWISE_SUITE=cuda`: the run is about the addon's engine alone, which then stands where tests ask for the CPU as well. */
export const ADDON = process.env.LEASTWISE_SUITE === "cuda";

/** Whether that engine has a GPU; `LEASTWISE_ADDON=cpu` runs it without. */
export const ON_CUDA = ADDON && process.env.LEASTWISE_ADDON !== "cpu";

/** Whether this run has all sizes and repetitions (`npm run test:full`), of which a quick one has a share. On a GPU every run has. */
export const FULL = Boolean(process.env.LEASTWISE_FULL) || ON_CUDA;

/** Every backend is tested; one that cannot be had is a failure. */
export const BACKENDS = ADDON ? ["cuda"] : ["cpu", "webgpu"];

/**
 * An engine for tests that are not about precision. Where f32 ends, a solve on WebGPU goes on in double-floats, whose kernels take a software adapter
 * ten seconds for each problem: a quick run stays in f32.
 */
export const engineOf = (backend) => ({ backend, ...(backend === "webgpu" && !FULL && { precision: "f32" }) });

/** What a test's engine is made with in this run. */
export const wanted = (options) => (ADDON && options.backend === "cpu" ? { ...options, backend: "cuda" } : options);

/** What has all that a GPUDevice is known by, for calls that refuse one. */
export const deviceOfNothing = () => ({ limits: { maxBufferSize: 1 }, features: new Set(), queue: { submit() {} }, createBuffer() {}, lost: new Promise(() => {}) });

/** Engines on GPUs that a test of this file is done with. Compiling kernels is what takes longest there. */
const idle = new Map();
// Processes of their own share this file, and node's test runner would print to where their results go.
if (process.argv[1]?.endsWith(".test.mjs")) after(() => { for (const engines of idle.values()) for (const lw of engines) lw.dispose(); });

/**
 * An engine for one test. Those on GPUs are handed on to the file's next test that wants the same, unless the test is about a `fresh` one: of
 * kernels compiled so far, limits or losses. Nothing may be left on it then.
 */
export async function open(t, options, { fresh = false } = {}) {
  const full = wanted(options), key = JSON.stringify(full);
  if (fresh || !["webgpu", "cuda"].includes(full.backend) || Object.values(full).some((value) => typeof value === "object")) {
    const lw = await init(full);
    t.after(() => lw.dispose());
    assert.equal(lw.backend, full.device ? "webgpu" : full.backend, lw.reason);
    return lw;
  }
  const lw = idle.get(key)?.pop() ?? await init(full);
  assert.equal(lw.backend, full.backend, lw.reason);
  const made = new Set();
  for (const name of ["problem", "compress", "openIndex"]) {
    lw[name] = (...args) => noted(made, Object.getPrototypeOf(lw)[name].apply(lw, args));
  }
  // What holds for an engine as a whole would hold for the next test as well.
  let isSet = false;
  for (const name of ["tensors", "tune", "setTuning", "measureTensors"]) {
    lw[name] = (...args) => { isSet = true; return Object.getPrototypeOf(lw)[name].apply(lw, args); };
  }
  t.after(() => {
    let left;
    try {
      for (const each of made) each.dispose();
      lw.trim();
      left = lw.memory();
    } catch {
      // Disposed, lost or busy, as some tests leave it.
    }
    if (!left || isSet || left.tensors > 0) return lw.dispose();
    assert.equal(left.live, 0, "buffers are left");
    idle.set(key, [...(idle.get(key) ?? []), lw]);
  });
  return lw;
}

function noted(made, object) {
  if (typeof object.then === "function") return object.then((later) => noted(made, later));
  made.add(object);
  return object;
}

/** Asserts the whole error: class, code, message (or what it matches), and place. */
export function refuses(work, code, message, place = {}) {
  assert.throws(work, (error) => matches(error, code, message, place));
}

/** The same for a promise. */
export async function rejects(promise, code, message, place = {}) {
  await assert.rejects(promise, (error) => matches(error, code, message, place));
}

function matches(error, code, message, place) {
  assert.ok(error instanceof LeastwiseError, `not a LeastwiseError: ${error?.stack ?? error}`);
  if (message instanceof RegExp) assert.match(error.message, message);
  else assert.equal(error.message, message);
  assert.equal(error.code, code);
  assert.deepEqual({ term: error.term, slot: error.slot, instance: error.instance }, { term: undefined, slot: undefined, instance: undefined, ...place });
  return true;
}

export function closeTo(actual, expected, relative, what) {
  // Written so that a NaN fails, too.
  assert.ok(Math.abs(actual - expected) <= relative * Math.abs(expected), `${what}: ${actual} is not within ${relative} of ${expected}`);
}

/** Runs a file beside this one in a process of its own; gives what it printed. It must exit by itself. */
export async function inFreshProcess(name, args = [], { seconds = 120, cwd, flags = [], env } = {}) {
  const file = name.startsWith("/") ? name : fileURLToPath(new URL(name, import.meta.url));
  const child = spawn(process.execPath, [...flags, file, ...args], { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"]) child[stream].setEncoding("utf8").on("data", (text) => { said[stream] += text; });
  const timer = setTimeout(() => child.kill("SIGKILL"), seconds * 1000);
  const [status, signal] = await new Promise((resolve) => child.on("close", (...how) => resolve(how)));
  clearTimeout(timer);
  assert.equal(status, 0, `${name} ${args.join(" ")} ended with ${signal ?? status}${signal === "SIGKILL" ? ` (it did not exit within ${seconds} s)` : ""}\n${said.stderr}${said.stdout}`);
  return said.stdout.trim();
}

// Held for the life of the process: Dawn's binding polls for a device's end after `destroy()`, and crashes where the GPU was collected.
let dawn;

/** The tests' own GPU of Dawn's, which is not the package's. */
export async function ownGpu() {
  const { create } = await import("webgpu");
  return dawn ??= create([]);
}

/** A device of Dawn's whose compiler gets other text than it was given. */
export async function deviceThatReads(rewritten) {
  const { globals } = await import("webgpu");
  Object.assign(globalThis, globals);
  const adapter = await (await ownGpu()).requestAdapter();
  const device = await adapter.requestDevice({ requiredLimits: Object.fromEntries(["maxStorageBuffersPerShaderStage", "maxBufferSize", "maxStorageBufferBindingSize"].map((name) => [name, adapter.limits[name]])) });
  const createShaderModule = device.createShaderModule.bind(device);
  device.createShaderModule = (descriptor) => createShaderModule({ ...descriptor, code: rewritten(descriptor.code) });
  return device;
}

/** Runs `work` where the addon does as for users. */
export async function asUsers(work) {
  const before = process.env.LEASTWISE_ADDON;
  delete process.env.LEASTWISE_ADDON;
  try {
    return await work();
  } finally {
    if (before !== undefined) process.env.LEASTWISE_ADDON = before;
  }
}
