// `leastwise/three` in a live renderer: which buffer three draws from, what it may not do to ours, and what it gets back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { browse, openTab, ownPage, serve } from "./support.mjs";

test("three draws from the solver's buffer", async (t) => {
  const address = await serve(t, ownPage("bridge"));
  const browser = await browse(t);
  const trial = (name, what, check) => t.test(what, async () => {
    const [trialName, options] = [name].flat();
    const { tab, problems } = await openTab(browser, address, { viewport: { width: 320, height: 240 } });
    await tab.waitForFunction(() => window.trials);
    check(await tab.evaluate(([name, options]) => window.trials[name](options), [trialName, options]));
    assert.deepEqual(problems, []);
    await tab.close();
  });

  await trial("shared", "shared: three neither writes nor destroys it, and gets its own back", (seen) => assert.deepEqual(seen, {
    mode: "shared", reason: "three draws from the solver's buffer", threesOwnDestroyed: 1, drawsOurs: true, moved: true, survivesUpdates: true,
    survivesGeometryDispose: true, givenBack: true, methodsGivenBack: true, boundAgain: true, survivesRendererDispose: true, destroyedByThree: 0,
  }));

  await trial("copied", "copied: a table that is not the first is copied on the device before every draw", (seen) => assert.deepEqual(seen, {
    mode: "copied",
    reason: "\"corners\" begins at byte 256 of the solver's buffer, but three binds vertices at byte 0 only; make it the first of its problem's variables to share the buffer",
    ownBuffer: true, moved: true, movedAgain: true, readbacks: 0, givenBack: true,
  }));

  const uploads = [
    ["another device", { own: true }, "three works on another GPU device; make it with new WebGPURenderer({ device: lw.device }) to share the solver's buffer"],
    ["the solver on the CPU", { backend: "cpu" }, "the solver works on the CPU"],
    ["three on WebGL", { webgl: true }, "three draws with WebGL, which has no use for the solver's buffer"],
  ];
  for (const [what, options, reason] of uploads) {
    await trial(["uploaded", options], `uploaded: ${what}`, ({ frames, ...seen }) => {
      assert.deepEqual(seen, { mode: "uploaded", reason, moved: true });
      assert.ok(frames < 1000, `the values had not come after ${frames} frames`);
    });
  }

  await trial("normals", "normals of vertices are drawn from the engine's own buffer, and nothing is read back", (seen) => assert.deepEqual(seen, {
    mode: "shared", reason: "three draws from the solver's buffer", drawsOurs: true, up: true, turned: true, readbacks: 0, givenBack: true,
  }));

  await trial("refusals", "what can't be bound is refused in words", (said) => assert.deepEqual(said, [
    "data-length: bindAttribute: the attribute has 4 vertices, but \"corners\" has 3 instances",
    "shape: bindAttribute: the attribute must be a Float32Array of item size 3, not a Float32Array of 9",
    "shape: bindAttribute: the attribute must be a Float32Array of item size 3, not a Uint16Array of 3",
    "shape: bindAttribute: the attribute is interleaved or for storage, which three lays out in its own way: use a plain BufferAttribute",
    "shape: bindAttribute: the attribute is interleaved or for storage, which three lays out in its own way: use a plain BufferAttribute",
    "shape: bindAttribute: the attribute is no BufferAttribute of three.js",
    "busy: bindAttribute: the attribute is bound already; dispose that binding before binding it to \"corners\"",
    "foreign-variable: bindAttribute takes a variable or constant of this copy of Leastwise, or normals of one",
  ]));
});
