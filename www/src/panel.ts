/** The facts and times of the page's panel. */
import type { Engine } from "leastwise";
import type { Binding } from "leastwise/three";
import type { Deformation } from "./deformation.js";
import type { Model } from "./model.js";
import { byId, fact } from "./status.js";

/** Times are averaged, so that they can be read. */
const SMOOTHING = 0.08;
const SHOWN_EVERY_MS = 250;

/** The panel's facts; the function it gives is called every frame. */
export function makePanel(engine: Engine, binding: Binding, deformation: Deformation, model: Model): (now: number) => void {
  const list = byId("facts");
  fact(list, "backend")(engine.backend === "cpu" ? `CPU, ${engine.precision}` : `WebGPU, ${engine.precision}`, `${engine.reason}${engine.device ? `; ${engine.adapter}` : ""}`);
  fact(list, "vertices")((model.positions.length / 3).toLocaleString("en"), `${deformation.residuals.toLocaleString("en")} residuals`);
  fact(list, "drawing")({ shared: "from the solver's buffer", copied: "from a copy on the GPU", uploaded: "uploaded each frame" }[binding.mode], binding.mode === "shared" ? "" : binding.reason);
  const frame = fact(list, "frame");
  const solve = fact(list, "solve");

  let last: number | undefined;
  let shown = 0;
  let frameMs: number | undefined;
  let callMs = 0;
  let doneMs: number | undefined;
  const smooth = (old: number | undefined, value: number) => (old === undefined ? value : old + SMOOTHING * (value - old));
  return (now) => {
    if (last !== undefined) frameMs = smooth(frameMs, now - last);
    last = now;
    callMs = smooth(callMs, deformation.callMs);
    if (deformation.doneMs !== undefined) doneMs = smooth(doneMs, deformation.doneMs);
    if (frameMs === undefined || now - shown < SHOWN_EVERY_MS) return;
    shown = now;
    frame(`${frameMs.toFixed(1)} ms`, `${Math.round(1000 / frameMs)} a second`);
    if (engine.device) solve(`${callMs.toFixed(1)} ms to enqueue`, doneMs === undefined ? "" : `the GPU was done after ${doneMs.toFixed(1)} ms, drawing included; nothing is read back`);
    else solve(`${callMs.toFixed(1)} ms`, "on this thread, of a budget of 8 ms");
  };
}
