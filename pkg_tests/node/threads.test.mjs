// `leastwise/threads`: the same bits on any number of threads, reasons where there is one, and workers that end.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { test } from "node:test";
import * as plain from "leastwise";
import * as threaded from "leastwise/threads";
import { SCENES } from "../problems/suite.mjs";
import { inClusters } from "../problems/vectors.mjs";
import { arap, arapMesh, FULL, icosphere, inFreshProcess, rejects } from "./support.mjs";

const { init } = threaded;

/** Every worker that is started, and whether it has ended; and whether those to come get a module that they can't begin with. */
const workers = [];
const broken = { module: undefined };
const threadsOfNode = createRequire(import.meta.url)("node:worker_threads");
threadsOfNode.Worker = class extends threadsOfNode.Worker {
  constructor(...args) {
    super(...args);
    workers.push(this);
    const exited = new Promise((resolve) => this.once("exit", resolve));
    // It keeps no process alive, so the test must.
    this.ended = () => { this.ref(); return exited; };
  }

  postMessage(message) { super.postMessage(broken.module ? { ...message, module: broken.module } : message); }
};
syncBuiltinESMExports();

// The module is there from the first engine that has threads on.
(await init({ backend: "cpu", threads: 2 })).dispose();
const { partsByWorkers, partsByModulesOfWorkers } = await import(new URL("wasm/threaded.js", import.meta.resolve("leastwise")).href);

async function open(t, options) {
  const lw = await init({ backend: "cpu", ...options });
  t.after(() => lw.dispose());
  return lw;
}

const hashed = (...arrays) => {
  const hash = createHash("sha256");
  for (const array of arrays) hash.update(typeof array === "string" ? array : new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  return hash.digest("hex").slice(0, 16);
};

const numbers = (count, seed) => Float32Array.from({ length: count }, (_, k) => Math.sin(seed + 12.9898 * k) * 0.7);

/** Enough work for several threads, and in full for them to meet more often. */
const LEVEL = FULL ? 5 : 4;

/** What an engine computes, in hashes: all that is spread over threads. */
const WORK = {
  async "residuals and Jacobians"(lw) {
    const { problem, x, rigid } = arap(lw, arapMesh(icosphere(LEVEL)));
    const { residuals, jacobian } = await rigid.evaluate();
    const { error } = await rigid.checkGradients();
    const found = hashed(residuals, jacobian, String(await rigid.cost()), String(error), JSON.stringify(await rigid.worst(20)), await x.read());
    problem.dispose();
    return found;
  },
  async "a solve by PCG"(lw) {
    const { problem, x, turn } = arap(lw, arapMesh(icosphere(LEVEL)));
    const report = await problem.solve({ linear: "pcg", maxIterations: 4 });
    const found = hashed(await x.read(), await turn.read(), JSON.stringify(report.iterations.map(({ ms, ...rest }) => rest)));
    problem.dispose();
    return found;
  },
  async "a fit"(lw) {
    const problem = lw.problem(), count = 40_000;
    const p = problem.variables("p", { shape: 3, values: [1, 1, 0] });
    const t = Float64Array.from({ length: count }, (_, k) => k / count), y = t.map((t, k) => 2.5 * Math.exp(-1.3 * t) + 0.5 + 0.01 * Math.sin(7 * k));
    problem.residuals("fit", { of: [p], data: { t: plain.column(t, 1), y: plain.column(y, 1) } },
      ([p], { t, y }) => p.x.mul(plain.exp(p.y.mul(t).neg())).add(p.z).sub(y));
    const report = await problem.solve({ maxIterations: 20 });
    const found = hashed(await p.read(), String(report.cost), report.termination);
    problem.dispose();
    return found;
  },
  async "problems of every kind"(lw) {
    const hash = [];
    for (const { make } of SCENES) {
      const { problem, tables } = make(lw);
      const report = await problem.solve({ maxIterations: 3 });
      for (const table of tables) hash.push(await table.read());
      hash.push(JSON.stringify([report.costByTerm, report.iterations.map(({ ms, ...rest }) => rest)]));
      problem.dispose();
    }
    return hashed(...hash);
  },
  async "a clustering and an index"(lw) {
    const { points, dim } = inClusters(6000, 24, 7);
    const { centroids, labels, energy } = await lw.cluster(points, { dim, clusters: 40 });
    const index = await lw.compress(points, { dim, code: "bits", bits: 4, clusters: 16 });
    const { ids, distances } = await index.search(points.slice(0, 64 * dim), { k: 10 });
    index.dispose();
    return hashed(centroids, labels, String(energy), ids, distances);
  },
  async "tensors"(lw) {
    const a = lw.tensor(numbers(320 * 384, 1), [320, 384]), b = lw.tensor(numbers(384 * 256, 2), [384, 256]);
    const product = a.matmul(b), soft = product.softmax(1), sums = soft.mul(product).sum(0);
    const found = hashed(await product.read(), await soft.read(), await sums.read());
    for (const tensor of [a, b, product, soft, sums]) tensor.dispose();
    return found;
  },
};

// Every precision, on two threads and on more than there may be cores: f64 and f32 differ in what is computed, not in how it is spread.
const COUNTS = FULL ? { f64: [1, 2, 3, 4], f32: [1, 2, 3, 4] } : { f64: [3], f32: [2] };
for (const precision of ["f64", "f32"]) {
  test(`the same bits on ${COUNTS[precision].join(", ")} threads in ${precision}, and those of "leastwise"`, async (t) => {
    const lw = await plain.init({ backend: "cpu", precision });
    t.after(() => lw.dispose());
    const expected = {};
    for (const [name, work] of Object.entries(WORK)) expected[name] = await work(lw);
    for (const threads of COUNTS[precision]) {
      await t.test(`${threads} threads`, async (t) => {
        const lw = await open(t, { precision, threads });
        assert.deepEqual([lw.backend, lw.precision, lw.threads.count], ["cpu", precision, threads], lw.threads.reason);
        for (const [name, work] of Object.entries(WORK)) {
          const before = partsByWorkers();
          assert.equal(await work(lw), expected[name], `${name} on ${threads} threads`);
          const helped = partsByWorkers() - before;
          // It is no test of threads where only one has worked.
          if (threads === 1) assert.equal(helped, 0, name);
          else assert.ok(helped > 0, `workers took no part in ${name}`);
        }
      });
    }
  });
}

for (const precision of FULL ? ["f64", "f32"] : ["f64"]) {
  test(`workers run programs as modules in ${precision}, which come and go with their problems, with the interpreter's bits`, async (t) => {
    const forced = (evaluator) => ({ products: {}, evaluators: { "*": evaluator } });
    const interpreting = await open(t, { precision, threads: 2, tuning: forced("interpreted") });
    const work = ["residuals and Jacobians", "a solve by PCG", "a fit"];
    const expected = {};
    let before = partsByModulesOfWorkers();
    for (const name of work) expected[name] = await WORK[name](interpreting);
    assert.equal(partsByModulesOfWorkers(), before, "nothing is compiled");
    const lw = await open(t, { precision, threads: 2 });
    // Problems that are there for a while: their places are given back, and others have them, at this worker too.
    for (let round = 0; round < (FULL ? 3 : 1); round++) {
      const { problem } = arap(lw, arapMesh(icosphere(4)));
      await problem.solve({ linear: "pcg", maxIterations: 2 });
      for (const name of work) assert.equal(await WORK[name](lw), expected[name], `${name}, round ${round}`);
      problem.dispose();
    }
    before = partsByModulesOfWorkers();
    // Long enough for the module to be there, on both threads.
    const { problem } = arap(lw, arapMesh(icosphere(LEVEL)));
    let report;
    for (let round = 0; round < 20 && partsByModulesOfWorkers() - before < 100; round++) {
      report = await problem.solve({ linear: "pcg", maxIterations: 4 });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.ok(partsByModulesOfWorkers() - before >= 100, `workers did ${partsByModulesOfWorkers() - before} parts by modules`);
    const many = report.evaluators.filter(({ instances }) => instances >= 256);
    assert.ok(many.length > 4 && many.every(({ evaluator, module }) => evaluator === "compiled" && module === "ready"), JSON.stringify(many));
    assert.ok(!lw.threads.reason.includes("interpret"), lw.threads.reason);
  });
}

test("a worker that can't begin leaves engines as they are", async (t) => {
  const lw = await open(t, { threads: 2 });
  const bits = await WORK["a solve by PCG"](lw);
  // (module), which gives a worker nothing to call.
  broken.module = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  t.after(() => { broken.module = undefined; });
  const other = await open(t, { threads: 4 });
  assert.deepEqual([other.threads.count, other.threads.code], [2, "fewer"]);
  assert.match(other.threads.reason, /^2 of 3 workers did not start or have ended: TypeError/);
  broken.module = undefined;
  for (const engine of [lw, other]) assert.equal(await WORK["a solve by PCG"](engine), bits);
  assert.equal(lw.threads.code, "on");
  // An engine that needs no more workers does not forget what became of others.
  const two = await open(t, { threads: 2 });
  assert.equal(two.threads.code, "on");
  assert.match(other.threads.reason, /TypeError/);
});

test("tune() on threads gives a table by which programs then run", async (t) => {
  const lw = await open(t, { threads: 2 });
  const { problem } = arap(lw, arapMesh(icosphere(3)));
  const table = await lw.tune(problem);
  assert.ok(Object.keys(table.evaluators).length >= 4, JSON.stringify(table));
  const { evaluators } = await problem.solve({ linear: "pcg", maxIterations: 2 });
  const known = evaluators.filter(({ key }) => table.evaluators[key] !== undefined);
  assert.ok(known.length >= 4);
  for (const { key, evaluator, reason } of known) assert.deepEqual([evaluator, reason], [table.evaluators[key], "the tuning table says so"]);
});

test("it has all that \"leastwise\" has", () => {
  assert.deepEqual(Object.keys(threaded).sort(), Object.keys(plain).sort());
  for (const name of Object.keys(plain)) assert.equal(threaded[name] === plain[name], !["init", "preload"].includes(name), name);
});

test("what is no number of threads is refused", async () => {
  for (const threads of [0, -1, 1.5, NaN, Infinity, 65, 1e9]) {
    await rejects(init({ backend: "cpu", threads }), "invalid-option", `threads: ${threads} is no number of threads: it is a whole one from 1 to 64`);
  }
  for (const threads of ["2", null, {}, true, [2], 2n]) {
    await rejects(init({ backend: "cpu", threads }), "invalid-option", /^threads: .+ is no number of threads: it is a whole one from 1 to 64$/);
  }
  await rejects(init(null), "invalid-option", /options must be an object/);
});

test("it says how many threads there are, and why", async (t) => {
  const one = await open(t, { threads: 1 });
  assert.deepEqual(one.threads, { count: 1, code: "one-asked", reason: "one thread was asked for" });
  const three = await open(t, { threads: 3 });
  assert.deepEqual(three.threads, { count: 3, code: "on", reason: "3 threads were asked for" });
  const gpu = await init({ backend: "webgpu", threads: 2 });
  assert.deepEqual(gpu.threads, { count: 1, code: "not-cpu", reason: `the work is done by WebGPU: ${gpu.reason}` });
  gpu.dispose();
  const broken = await open(t, { threads: 2, threadedWasm: new Uint8Array([0, 97, 115, 109]) });
  // The module was loaded already: a source only matters the first time.
  assert.equal(broken.threads.code, "on");
});

test("engines share workers, and the last one ends them", async () => {
  const before = workers.length;
  const engines = await Promise.all([2, 3, 2].map((threads) => init({ backend: "cpu", threads })));
  const started = workers.slice(before);
  assert.equal(started.length, 2, "as many as the engine with the most threads has");
  assert.deepEqual(engines.map((lw) => lw.threads.count), [2, 3, 2]);
  engines[1].dispose();
  engines[1].dispose();
  engines[1][Symbol.dispose]();
  assert.equal(engines[1].threads.count, 1);
  assert.deepEqual([engines[0], engines[2]].map((lw) => lw.threads.count), [2, 2]);
  const bits = await WORK["a solve by PCG"](engines[0]);
  engines[0].dispose();
  engines[2].dispose();
  assert.deepEqual(await Promise.all(started.map((worker) => worker.ended())), [0, 0]);
  const again = await init({ backend: "cpu", threads: 2 });
  assert.equal(again.threads.code, "on");
  const helped = partsByWorkers();
  assert.equal(await WORK["a solve by PCG"](again), bits);
  assert.ok(partsByWorkers() > helped);
  again.dispose();
  assert.equal(await workers.at(-1).ended(), 0);
});

test("an engine goes on when its workers are ended by others", async (t) => {
  const before = workers.length;
  const lw = await open(t, { threads: 3 });
  const bits = await WORK["a solve by PCG"](lw);
  const [first, second] = workers.slice(before);
  await first.terminate();
  assert.deepEqual([lw.threads.count, lw.threads.code], [2, "fewer"]);
  assert.match(lw.threads.reason, /^1 of 2 workers did not start or have ended: it exited with code 1$/);
  assert.equal(await WORK["a solve by PCG"](lw), bits);
  await second.terminate();
  assert.deepEqual([lw.threads.count, lw.threads.code], [1, "no-worker"]);
  assert.equal(await WORK["a solve by PCG"](lw), bits);
});

test("a solve that is aborted, and one of wrong values, leave the threads as they were", async (t) => {
  const lw = await open(t, { threads: 2 });
  const controller = new AbortController();
  const { problem } = arap(lw, arapMesh(icosphere(LEVEL)));
  const report = await problem.solve({ linear: "pcg", signal: controller.signal, onIteration: () => controller.abort() });
  assert.equal(report.termination, "stopped");
  const u = problem.variables("u", { shape: 1, values: [1] });
  assert.throws(() => u.write([NaN]), { code: "non-finite" });
  assert.equal(lw.threads.code, "on");
  const plainEngine = await plain.init({ backend: "cpu" });
  assert.equal(await WORK["tensors"](lw), await WORK["tensors"](plainEngine));
  plainEngine.dispose();
});

const LACKING = {
  isolation: ["not-isolated", /^the page is not cross-origin isolated, .*"Cross-Origin-Opener-Policy: same-origin" and "Cross-Origin-Embedder-Policy: require-corp"/],
  sharedMemory: ["no-shared-memory", /^there is no SharedArrayBuffer here$/],
  cores: ["one-core", /^this host has one core$/, {}],
  permission: ["no-worker", /^no worker could be started: refused by the content policy$/],
  script: ["no-worker", /^no worker could be started: its script could not be loaded: a content policy \(worker-src\)/],
  answer: ["no-worker", /^no worker could be started: it did not start within 10 s$/],
  start: ["no-worker", /^no worker could be started: RuntimeError: out of memory$/],
};

test("where threads can't be had, it says why and does the same on one", async (t) => {
  const run = async (what, options) => JSON.parse(await inFreshProcess("fresh/threads.mjs", [what, JSON.stringify(options), ...(FULL ? [] : ["hasty"])]));
  // This one is not disposed, and must end all the same.
  const { threads, bits } = await run("nothing", { threads: 2 });
  assert.deepEqual([threads.count, threads.code], [2, "on"]);
  for (const [what, [code, reason, options = { threads: 2 }]] of Object.entries(LACKING)) {
    await t.test(`no ${what}`, async () => {
      const found = await run(what, options);
      assert.deepEqual([found.threads.count, found.threads.code], [1, code], found.threads.reason);
      assert.match(found.threads.reason, reason);
      assert.equal(found.bits, bits);
      assert.ok(found.seconds < 15, `it took ${found.seconds} s to say so`);
    });
  }
});

test("a module that can't be loaded is no error", async () => {
  const said = await inFreshProcess("fresh/threads-module.mjs");
  assert.deepEqual(JSON.parse(said), { codes: ["no-module", "no-module"], then: "on" });
});

test("a worker that traps in the middle of its work is an error, and no hang", async () => {
  const { count, solve, seconds, then, after, next } = JSON.parse(await inFreshProcess("fresh/threads-trap.mjs"));
  assert.equal(count, 2);
  assert.deepEqual([after.count, after.code], [1, "no-worker"]);
  assert.match(after.reason, /^the module with threads has failed: /);
  assert.deepEqual([next.threads.count, next.threads.code, next.solve], [1, "no-module", "done"]);
  assert.match(next.threads.reason, /^the module with threads has failed, and can't be loaded a second time: [^]*a thread of the engine failed/);
  assert.equal(solve.code, "engine-dead");
  assert.match(solve.message, /a thread of the engine failed/);
  assert.equal(then, "engine-dead");
  assert.ok(seconds < 30, `it took ${seconds} s to say so`);
});
