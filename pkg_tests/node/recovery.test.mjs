// GPUs that refuse memory, do not answer, or are lost.
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import test from "node:test";
import { init } from "leastwise";
import { ADDON, deviceThatReads, open, rejects } from "./support.mjs";

function cubic(lw, values = [1, 2, 3, 4]) {
  const problem = lw.problem(), x = problem.variables("x", { shape: 1, values });
  problem.residuals("r", { of: [x] }, ([a]) => a.mul(a).mul(a).sub(2));
  return { problem, x };
}

/** A device that refuses memory for buffers after so many. */
async function scarceDevice() {
  const device = await deviceThatReads((code) => code);
  const create = device.createBuffer.bind(device), pop = device.popErrorScope.bind(device), memory = { left: Infinity };
  device.createBuffer = (descriptor) => create(memory.left-- > 0 ? descriptor : { ...descriptor, size: 1e15 });
  device.popErrorScope = async () => {
    const error = await pop();
    return error && /exceeds the max buffer size/.test(error.message) ? new globalThis.GPUOutOfMemoryError("injected: not enough memory") : error;
  };
  return { device, memory };
}

if (!ADDON) {
  test("engines that are made at the same time have devices of their own", async () => {
    const begin = () => init({ backend: "webgpu" });
    // A first one brings Dawn, for which all would wait.
    (await begin()).dispose();
    // Each begins while the one before is finding out about double-floats.
    const begun = [];
    for (let k = 0; k < 4; k++) {
      begun.push(begin());
      await turn();
    }
    const engines = await Promise.all(begun), last = engines.pop();
    try {
      assert.equal(new Set([last, ...engines].map(({ device }) => device)).size, 4);
      for (const engine of engines) engine.dispose();
      assert.deepEqual([...(await last.tensor([1, 2]).add(1).read())], [2, 3], "the others' end is not its own");
    } finally {
      last.dispose();
    }
  });

  test("a GPU that refuses memory, does not answer and is lost", { timeout: 600_000 }, async (t) => {
    const { device, memory } = await scarceDevice();
    const lw = await open(t, { device, precision: "f32" });
    const options = { maxIterations: 4 }, first = cubic(lw);
    await first.problem.solve(options);
    await first.x.write([1, 2, 3, 4]);
    const known = (await first.problem.solve(options)).cost;

    await t.test("memory: whoever owns what was refused is told, and all goes on when there is memory again", async () => {
      const step = async (solver) => (await solver.step()).accepted;
      for (const left of [0, 1, 3, 8, 14]) {
        memory.left = left;
        const second = cubic(lw), solver = second.problem.solver();
        await rejects(second.problem.solve(options), "out-of-memory", /out of device memory/);
        memory.left = 0;
        await rejects(step(solver), "out-of-memory", /out of device memory/);
        // Without the buffers that are kept for tensors to come.
        lw.trim();
        await rejects(lw.tensor([1, 2]).add(1).read(), "out-of-memory", /out of device memory/);
        first.x.write([1, 2, 3, 4]);
        await rejects(first.problem.solve(options), "out-of-memory", /out of device memory/);
        memory.left = Infinity;
        assert.equal((await first.problem.solve(options)).cost, known, `the first problem, after ${left}`);
        assert.equal((await second.problem.solve(options)).cost, known, `the second problem, after ${left}`);
        assert.ok(typeof (await step(solver)) === "boolean");
        assert.deepEqual([...(await lw.tensor([1, 2]).add(1).read())], [2, 3]);
        second.problem.dispose();
      }
    });

    await t.test("a mapping that never settles is ended by abort and by the time limit, and the engine goes on", async () => {
      lw.tasks.waits.patienceMs = 80;
      const prototype = Object.getPrototypeOf(device.createBuffer({ size: 16, usage: 9 })), { mapAsync } = prototype;
      try {
        prototype.mapAsync = () => new Promise(() => {});
        const controller = new AbortController();
        first.x.write([1, 2, 3, 4]);
        const aborted = first.problem.solve({ ...options, signal: controller.signal });
        controller.abort(new RangeError("mine"));
        await assert.rejects(aborted, new RangeError("mine"));
        await rejects(first.problem.solve({ ...options, timeLimitMs: 20 }), "stopped", /^timeLimitMs = 20 ms are over, and the GPU has not answered for 80 ms since/);
      } finally {
        prototype.mapAsync = mapAsync;
      }
      first.x.write([1, 2, 3, 4]);
      assert.equal((await first.problem.solve(options)).cost, known);
    });

    await t.test("loss: what the host knows can still be read, and another engine goes on from there", async () => {
      const values = await first.x.read(), stuck = first.problem.solver();
      const other = cubic(lw, [5, 6]);
      other.x.write([7], { at: [1] });
      assert.equal(first.x.stale, false);
      device.destroy();
      assert.equal((await lw.lost).code, "device-lost");
      assert.equal(first.x.stale, true);
      assert.deepEqual(await first.x.read(), values);
      assert.deepEqual([...(await other.x.read())], [5, 7]);
      await rejects(first.problem.solve(), "device-lost", /destroyed/);
      assert.throws(() => stuck.advance(), { code: "device-lost" });
      const again = await open(t, { backend: "cpu", precision: "f32" });
      const { problem } = cubic(again, await first.x.read());
      const report = await problem.solve();
      assert.ok(report.initialCost <= known * 1.000001 && report.cost <= report.initialCost, `${report.initialCost} for ${known}: ${report.reason}`);
      lw.dispose();
      await rejects(first.x.read(), "disposed", /disposed/);
    });
  });
}
