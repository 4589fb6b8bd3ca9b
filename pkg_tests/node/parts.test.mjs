// The parts of the engine's module: what each call loads, that this is enough, and what becomes of it where a part is absent.
import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { FULL, inFreshProcess } from "./support.mjs";

const dist = dirname(fileURLToPath(import.meta.resolve("leastwise")));
const project = dirname(dirname(dirname(dist)));
const program = fileURLToPath(new URL("fresh/parts.mjs", import.meta.url));
const run = async (...args) => JSON.parse(await inFreshProcess(program, args));

/** Parts that a thing to do loads, besides those of an engine: of one on the CPU, and of one on WebGPU where that differs. */
const LOADS = {
  pcg: [], blocks: [], auto: ["direct"], dense: ["direct"], cholesky: ["direct"], assembled: ["direct"], frozen: ["direct"], dogleg: [], newton: [],
  lbfgs: ["descent"], adam: ["descent"], levels: ["levels"], complement: ["reduced"], eliminated: ["direct"], bundle: ["direct", "reduced"], step: ["direct"], advance: ["descent"], twice: ["descent", "direct"], constrained: ["direct", "rare", "seldom", "single"],
  cost: ["rare", "seldom"], ragged: ["seldom"], evaluate: ["direct", "rare", "seldom", "single"], check: ["direct", "rare", "seldom", "single"], covariance: ["direct", "seldom"], backward: ["direct", "rare", "seldom", "single"],
  graduated: ["descent", "direct", "levels", "rare", "reduced", "seldom", "single"], save: ["direct", "rare", "seldom", "single"], tune: ["direct", "rare", "seldom", "single"],
  energies: ["seldom"], curved: ["seldom"], traced: ["seldom"], tuned: ["rare", "seldom"], single: ["single"], doubles: ["doubles"], normals: ["normals"], fits: ["fits", "single"],
  tensors: ["single", "tensors"], gradients: ["single", "tensors"], cluster: ["seldom", "single", "vectors"], index: ["seldom", "single", "vectors"], graph: ["graph", "seldom", "single", "vectors"], lazy: ["graph", "seldom", "single", "vectors"], merged: ["graph", "seldom", "single", "vectors"], bits: ["graph", "seldom", "single", "vectors"], sketches: ["graph", "seldom", "single", "vectors"], saved: ["seldom", "single", "vectors"], open: ["seldom", "single", "vectors"],
};
/** What those on WebGPU load besides: a GPU eliminates by itself. */
const ON_GPUS = { eliminated: ["reduced"] };
/** Those that a backend has alone. */
const ONLY = { doubles: "webgpu" };
/** Those of them that load while the caller waits, who has no promise to wait for. */
const AT_ONCE = { bundle: ["seldom"], constrained: ["seldom"], ragged: ["seldom"], traced: ["seldom"], tuned: ["rare", "seldom"], energies: ["seldom"], curved: ["seldom"], tensors: ["tensors", "single"], gradients: ["tensors", "single"] };
/** What computes on the CPU beside a GPU. */
const BESIDE = ["fits", "constrained", "single", "evaluate", "check", "covariance", "backward", "graduated", "save", "tune", "tensors", "gradients", "cluster", "index", "graph", "lazy", "merged", "bits", "sketches", "saved", "open"];

/** What a quick run does on WebGPU as well: gates are the same there, but for what is beside it on the CPU. */
const ON_WEBGPU = ["pcg", "complement", "eliminated", "bundle", "auto", "constrained", "doubles", "normals", "fits", "tensors", "index"];

for (const backend of ["cpu", "webgpu"]) {
  test(`every call loads its own parts, which are enough, on ${backend}`, { concurrency: 2 }, async (t) => {
    const calls = Object.entries(LOADS).filter(([name]) => (ONLY[name] ?? backend) === backend && (FULL || backend === "cpu" || ON_WEBGPU.includes(name)));
    const ofWhole = run(backend, calls.map(([name]) => name).join(), "whole");
    await Promise.all(calls.map(([name, usual]) => t.test(name, async () => {
      const loads = [...usual, ...(backend === "webgpu" && ON_GPUS[name]) || []];
      const { parts, atOnce, result } = await run(backend, name);
      const own = backend === "webgpu" && BESIDE.includes(name) ? ["cpu", "webgpu"] : [backend];
      const waited = AT_ONCE[name] ?? [];
      assert.deepEqual([parts, atOnce], [["core", ...own, ...loads.filter((part) => !waited.includes(part))].sort(), waited]);
      assert.deepEqual(result, (await ofWhole)[name]);
    })));
  });
}

test("preload with everything leaves nothing to be loaded", async () => {
  const { parts, result } = await run("cpu", "everything");
  assert.deepEqual(result, [0]);
  assert.deepEqual(parts, ["core", "cpu", "descent", "direct", "doubles", "fits", "graph", "levels", "normals", "rare", "reduced", "seldom", "single", "tensors", "vectors", "webgpu"]);
});

/** A copy of the package from which `change` has taken something, and what a program of these lines prints there. */
async function changed(t, change, lines) {
  const folder = await mkdtemp(join(project, "parts-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await cp(dirname(dist), join(folder, "node_modules/leastwise"), { recursive: true });
  await change(join(folder, "node_modules/leastwise/dist/wasm"));
  await writeFile(join(folder, "program.mjs"), lines.join("\n"));
  return inFreshProcess(join(folder, "program.mjs"), [], { cwd: folder });
}

const HEAD = ["import { init } from 'leastwise';", "const lw = await init({ backend: 'cpu' }), told = ({ code, message }) => console.log(code, message);",
  "const problem = lw.problem(), x = problem.variables('x', { shape: 1, values: [1] });", "problem.residuals('r', { of: [x] }, ([a]) => a.mul(a).sub(2));"];

test("while a call waits for a part its problem is busy, and no other one", async () => {
  const outcome = JSON.parse(await inFreshProcess("fresh/held.mjs"));
  assert.deepEqual(outcome, { edit: "busy", picture: "done", drawn: "done", second: "busy", read: "busy", other: "done", first: "done", after: "done" });
});

test("a part that is missing is an error that says where it was looked for, and all else goes on", async (t) => {
  const said = await changed(t, (wasm) => rm(join(wasm, "leastwise_direct.wasm")), [...HEAD,
    "await problem.solve().catch(told);", "const solver = problem.solver();", "await solver.solve().catch(told);", "let failed;",
    "for (let k = 0; k < 1000 && !failed; k++) { try { solver.advance(); } catch (error) { failed = error; } await new Promise((resolve) => setTimeout(resolve, 2)); }", "told(failed);",
    "console.log((await problem.solve({ linear: 'pcg' })).converged);"]);
  const [solve, again, advance, pcg] = said.split("\n");
  for (const each of [solve, again, advance]) assert.match(each, /^load .*leastwise_direct\.wasm could not be read: ENOENT/);
  assert.equal(pcg, "true");
});

test("a part of another build is refused", async (t) => {
  const other = async (wasm) => {
    const [key] = WebAssembly.Module.customSections(await WebAssembly.compile(await readOf(wasm, "direct")), "leastwise-split");
    const bytes = await readOf(wasm, "direct");
    bytes.write("0".repeat(key.byteLength), bytes.indexOf(Buffer.from(key)));
    await writeFile(join(wasm, "leastwise_direct.wasm"), bytes);
  };
  assert.match(await changed(t, other, [...HEAD, "await problem.solve().catch(told);"]), /^load .*its part "direct" is of another build.* What to do: give init\(\{ wasm \}\)/);
});

const readOf = (wasm, part) => readFile(join(wasm, `leastwise_${part}.wasm`));

test("where nothing but the whole was copied, it is what is loaded", async (t) => {
  const onlyWhole = async (wasm) => {
    for (const name of await readdir(wasm)) if (/^leastwise_(?!bg)\w+\.wasm$/.test(name)) await rm(join(wasm, name));
  };
  assert.equal(await changed(t, onlyWhole, [...HEAD, "console.log((await problem.solve()).converged);"]), "true");
});

test("a call that slips through a gate has its part loaded at once; where that fails it ends the engine, and says what it needed", async (t) => {
  // The interface below the façade has no gates.
  const said = await changed(t, (wasm) => rm(join(wasm, "leastwise_vectors.wasm")), [...HEAD, "import { Tasks } from './node_modules/leastwise/dist/tasks.js';", "let tasks;",
    "const plain = Tasks.prototype.call; Tasks.prototype.call = function (work) { tasks = this; return plain.call(this, work); };", "lw.stats();",
    "try { tasks.call((native) => native.cluster(new Float32Array(4), { dim: 1, clusters: 2, method: 'lloyd' })); } catch (error) { told(error); }",
    "await problem.solve({ linear: 'pcg' }).catch(told);"]);
  for (const each of said.split("\n")) assert.match(each, /^engine-dead .*it needs its part "vectors", which could not be: .*/);
  assert.equal(said.split("\n").length, 2);
});
