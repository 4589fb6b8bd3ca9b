// NIST's nonlinear regressions from both starts, in f64: certified parameters to six digits, with the default options.
import assert from "node:assert/strict";
import { test } from "node:test";
import { closeTo, open } from "./support.mjs";
import { digits, NIST, nist, readNist } from "../problems/nist.mjs";

const DIGITS = 6;

test("the files' certified parameters give their certified residual sums of squares", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const name of NIST) {
    const file = readNist(name);
    const { problem } = nist(lw, name, { ...file, starts: [file.certified] }, 0);
    const { cost } = await problem.solve({ maxIterations: 0 });
    // Lanczos1 is exact data: its sum, 1.4e-25, is below what eleven digits of parameters give.
    if (name === "Lanczos1") assert.ok(2 * cost < 1e-20);
    else closeTo(2 * cost, file.residualSquares, 1e-9, name);
    problem.dispose();
  }
});

test("certified parameters are found to six digits", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const missed = [];
  for (const name of NIST) {
    const file = readNist(name);
    for (const start of [0, 1]) {
      const { problem, b } = nist(lw, name, file, start);
      const report = await problem.solve();
      const right = digits(await b.read(new Float64Array(file.certified.length)), file.certified);
      t.diagnostic(`${name} from start ${start + 1}: ${right.toFixed(1)} digits, ${report.iterations.length} steps, ${report.termination}`);
      if (!(right >= DIGITS)) missed.push(`${name} from start ${start + 1}`);
      problem.dispose();
    }
  }
  assert.deepEqual(missed, []);
});
