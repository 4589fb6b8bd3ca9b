// Dispatches of an inner iteration on what says that it is hardware: schedules are chosen by that, and here is software alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { globals } from "webgpu";
import { column, init, rotateXYZ } from "leastwise";
import { edges, icosphere } from "leastwise/mesh";

const HARDWARE = { vendor: "nvidia", architecture: "", device: "", description: "some card", isFallbackAdapter: false };

test("an inner iteration of as-rigid-as-possible is three dispatches on WebGPU", async () => {
  for (const [name, value] of Object.entries(HARDWARE)) Object.defineProperty(globals.GPUAdapterInfo.prototype, name, { get: () => value, configurable: true });
  const lw = await init({ backend: "webgpu" });
  assert.match(lw.adapter, /some card/);
  const { positions, triangles } = icosphere({ subdivisions: 2 });
  const ends = edges(triangles);
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values: positions });
  const turn = problem.variables("rotation", { shape: 3, values: new Float64Array(positions.length) });
  const rest = problem.constants("rest", { shape: 3, values: positions });
  problem.residuals("arap", { over: ends, of: [x, x, turn.at(0), rest.at(0), rest.at(1)] },
    ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
  problem.residuals("handles", { of: [x.at(Uint32Array.of(0, 9))], data: { target: column(Float64Array.of(0, 0, 1, 0, 1, 0), 3) }, weight: 5 }, ([p], { target }) => p.sub(target));
  const report = await problem.solve({ linear: "pcg", preconditioner: "block-jacobi", maxIterations: 4 });
  const { rounds, roundDispatches } = report.counters;
  assert.ok(rounds > 4, `${rounds} rounds`);
  assert.equal(roundDispatches, 3 * rounds);
  lw.dispose();
});
