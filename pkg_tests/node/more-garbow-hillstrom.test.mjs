// The functions of Moré, Garbow and Hillstrom from their starts, ten and a hundred times those.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./support.mjs";
import { AS_CERES, MORE_GARBOW_HILLSTROM, moreGarbowHillstrom, reaches } from "../problems/more-garbow-hillstrom.mjs";

/** Names and scales of starts from which none of the known minima is reached. */
async function missed(t, list, scales) {
  const lw = await open(t, { backend: "cpu" });
  const found = [];
  for (const entry of list) {
    for (const scale of scales) {
      const { problem } = moreGarbowHillstrom(lw, entry, scale);
      const cost = await problem.solve().then((report) => report.cost, (error) => {
        assert.equal(error.code, "non-finite");          // eˣ at a hundred times the start of 6
        return Infinity;
      });
      if (!entry.minima.some((minimum) => reaches(2 * cost, minimum))) found.push(`${entry.name}, ×${scale}: ${2 * cost}`);
      problem.dispose();
    }
  }
  t.diagnostic(`${list.length * scales.length - found.length} of ${list.length * scales.length}; missed: ${found.join("; ")}`);
  return found;
}

test("derivatives agree with differences at every start", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const entry of [...MORE_GARBOW_HILLSTROM, ...AS_CERES]) {
    const { problem, term } = moreGarbowHillstrom(lw, entry);
    const { error } = await term.checkGradients();
    assert.ok(error < 1e-4, `${entry.name}: ${error}`);       // Osborne 1 varies within 1/300 of a unit
    problem.dispose();
  }
});

test("from the standard starts", async (t) => {
  const found = await missed(t, MORE_GARBOW_HILLSTROM, [1]);
  assert.deepEqual(found, []);
});

// Ceres 2.1 with its own test program: 41 of 57.
test("as Ceres poses them, from three starts each", async (t) => {
  const found = await missed(t, AS_CERES, [1, 10, 100]);
  assert.ok(3 * AS_CERES.length - found.length >= 42, found.join("\n"));
});

// Ceres 2.1: 5 of 10.
test("as Ceres poses them within bounds", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const missed = [], list = AS_CERES.filter(({ bounded }) => bounded);
  for (const entry of list) {
    const { problem } = moreGarbowHillstrom(lw, entry, 1, true);
    const { cost, reason } = await problem.solve();
    if (!reaches(2 * cost, entry.bounded.minimum)) missed.push(`${entry.name}: ${2 * cost}, ${reason}`);
  }
  t.diagnostic(`${list.length - missed.length} of ${list.length}; missed: ${missed.join("; ")}`);
  assert.equal(list.length, 10);
  assert.ok(missed.length <= 1, missed.join("\n"));
});
