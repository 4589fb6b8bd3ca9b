// A page as a user would write it. The test calls what it puts on `window`.
import { init } from "leastwise";
import { arap, arapMesh, icosphere } from "../../problems.mjs";

/** Solves a sphere once; gives the result as plain values. `busy` is the longest time in which the page could not answer. */
window.solve = async (backend, subdivisions, options) => {
  const lw = await init({ backend });
  const { problem, x, turn } = arap(lw, arapMesh(icosphere(subdivisions)));
  let busy = 0, turns = 0, last = performance.now();
  const beat = setInterval(() => {
    busy = Math.max(busy, performance.now() - last);
    last = performance.now();
    turns++;
  }, 1);
  const report = await problem.solve(options);
  clearInterval(beat);
  const result = {
    backend: lw.backend, reason: lw.reason, report: report.toJSON(), table: String(report), busy, turns,
    positions: [...await x.read()], angles: [...await turn.read()], shared: x.buffer?.buffer instanceof GPUBuffer,
  };
  lw.dispose();
  return { ...result, device: lw.device ? (await lw.device.lost).reason : "none" };
};

/** What "auto" and "webgpu" do where there is no adapter. */
window.withoutAdapter = async () => {
  const { requestAdapter } = GPU.prototype;
  GPU.prototype.requestAdapter = async () => null;
  try {
    const lw = await init();
    const refused = await init({ backend: "webgpu" }).catch(({ name, code, message }) => ({ name, code, message }));
    return { backend: lw.backend, reason: lw.reason, refused };
  } finally {
    GPU.prototype.requestAdapter = requestAdapter;
  }
};

/** Whether opening an engine left the page's globals as they were. */
window.untouched = async () => {
  const before = navigator.gpu;
  const lw = await init({ backend: "webgpu" });
  lw.dispose();
  return navigator.gpu === before && !Object.hasOwn(navigator, "gpu") && !("WorkerGlobalScope" in window);
};

window.ready = true;
