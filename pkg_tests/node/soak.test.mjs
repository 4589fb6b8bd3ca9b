// A bounded share of `npm run soak`, and the driver itself: failures of every kind are found, told and made smaller.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runJob, soak } from "../soak/driver.mjs";
import { planOf } from "../soak/plan.mjs";
import { shrunk, signature } from "../soak/shrink.mjs";
import { ADDON } from "./support.mjs";

const HERE = ADDON ? "cuda" : "cpu";
const silent = () => {};

/** The failures of sessions from a seed on. */
async function sessions(t, backend, options) {
  const out = mkdtempSync(join(tmpdir(), "soak-"));
  t.after(() => rmSync(out, { recursive: true }));
  const { failures, sessions: done, totals } = await soak({ backend, minutes: 10, limit: 120, out, print: silent, ...options });
  assert.deepEqual(failures.map(({ failure, plan }) => ({ ...failure, plan: JSON.stringify(plan) })), []);
  assert.equal(done, options.sessions);
  return totals;
}

test(`random sessions on ${HERE} end as their model says`, async (t) => {
  const { verified, mistakes, actions } = await sessions(t, HERE, { seed: 1, sessions: 12, only: ["index", "misuse", "tensor"] });
  // The share is not an empty one.
  assert.ok(verified > 10 && mistakes > 20 && actions > 300, JSON.stringify({ verified, mistakes, actions }));
});

if (!ADDON) {
  test("random sessions on threads end as their model says", (t) => sessions(t, "threads", { seed: 100, sessions: 2, only: ["index", "misuse", "tensor"] }));

  test("a random session on WebGPU ends as its model says", (t) => sessions(t, "webgpu", { seed: 4, sessions: 1, size: "small", only: ["tensor"] }));
}

test("a plan is the same whenever it is made", () => {
  for (const seed of [1, 2, 3]) assert.deepEqual(planOf(seed, { backend: HERE }), JSON.parse(JSON.stringify(planOf(seed, { backend: HERE }))));
});

const planWith = (...actions) => ({ seed: 0, backend: HERE, engines: [{}, {}], lanes: [
  { kind: "engine", engine: 0, actions: [{ do: "ask" }, { do: "trim" }] },
  { kind: "engine", engine: 1, actions: [{ do: "ask" }, ...actions, { do: "trim" }] },
] });

for (const [kind, action] of [["made-up", { do: "fail", kind: "made-up" }], ["hang", { do: "block" }], ["ended-early", { do: "wait" }], ["killed", { do: "die" }]]) {
  test(`the driver finds what ends as "${kind}"`, async () => {
    const failures = await runJob({ backend: HERE, plans: [planWith(action)] }, { limit: 3 });
    assert.deepEqual(failures.map((failure) => failure.kind), [kind]);
  });
}

test("what fails is made smaller until nothing can be left out, and can be run again", async () => {
  const plan = planWith({ do: "ask" }, { do: "fail", kind: "made-up" }, { do: "trim" });
  const fails = async (candidate) => candidate.lanes.some(({ actions }) => actions.some((action) => action.do === "fail"));
  const small = await shrunk(plan, fails);
  assert.deepEqual(small, { seed: 0, backend: HERE, engines: [{}], lanes: [{ kind: "engine", engine: 0, actions: [{ do: "fail", kind: "made-up" }] }] });
  const [failure, ...more] = await runJob({ backend: HERE, plans: [small] }, { limit: 60 });
  assert.deepEqual(more, []);
  assert.equal(signature(failure), "made-up | made | as it was told to");
});
