// Double-floats on WebGPU: the adapter's self-check, NIST's regressions, and where f32 stops a solve.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LeastwiseError } from "leastwise";
import { open } from "./support.mjs";
import { digits, NIST, nist, readNist } from "../problems/nist.mjs";

const names = (process.env.LEASTWISE_NIST ?? "").split(",").filter(Boolean);

test("regressions on WebGPU reach the certified parameters where f32 alone does not", async (t) => {
  const lw = await open(t, { backend: "webgpu", precision: process.env.LEASTWISE_PRECISION });
  assert.ok(lw.doubles.available, lw.doubles.reason);
  let right = 0, all = 0;
  for (const name of names.length ? names : NIST) {
    const file = readNist(name);
    for (const start of [0, 1]) {
      const begun = performance.now();
      const { problem, b } = nist(lw, name, file, start);
      const report = await problem.solve();
      const found = digits(await b.read(new Float64Array(file.certified.length)), file.certified);
      right += found >= 6 ? 1 : 0;
      all++;
      console.log(`${name} from start ${start + 1}: ${found.toFixed(1)} digits, ${report.iterations.length} steps, ${report.termination}, ${report.precision}, ${Math.round(performance.now() - begun)} ms ${found < 6 ? report.reason : ""}`);
      problem.dispose();
    }
  }
  console.log(`${right} of ${all}`);
});
