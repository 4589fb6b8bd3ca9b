/** What the page says: the facts and times of its panel, its state, and what went wrong. */
import type { Engine } from "leastwise";
import type { Binding } from "leastwise/three";
import type { Deformation } from "./deformation.js";
import type { Model } from "./model.js";

/** Times are averaged, so that they can be read. */
const SMOOTHING = 0.08;
const SHOWN_EVERY_MS = 250;

const byId = (id: string): HTMLElement => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element "${id}"`);
  return found;
};

/** The line at the bottom; empty, it is gone. */
export function say(message: string): void {
  const status = byId("status");
  if (status.classList.contains("error")) return;      // the first error stays: what follows mostly follows from it
  status.textContent = message;
}

/** The same for what the visitor has to know. */
export function complain(thrown: unknown): void {
  console.error(thrown);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  say(`Sorry, this went wrong: ${message} — reloading the page may help.`);
  const status = byId("status");
  status.classList.add("error");
  status.setAttribute("role", "alert");
}

/** The panel's facts; the function it gives is called every frame. */
export function makePanel(engine: Engine, binding: Binding, deformation: Deformation, model: Model): (now: number) => void {
  const list = byId("facts");
  const row = (name: string, value = "", note = ""): ((value: string, note: string) => void) => {
    const term = Object.assign(document.createElement("dt"), { textContent: name });
    const detail = document.createElement("dd");
    const write = (text: string, small: string) => {
      detail.replaceChildren(text, ...(small ? [Object.assign(document.createElement("small"), { textContent: small })] : []));
    };
    write(value, note);
    list.append(term, detail);
    return write;
  };
  row("backend", engine.backend === "cpu" ? `CPU, ${engine.precision}` : `WebGPU, ${engine.precision}`, `${engine.reason}${engine.device ? `; ${engine.adapter}` : ""}`);
  row("vertices", (model.positions.length / 3).toLocaleString("en"), `${deformation.residuals.toLocaleString("en")} residuals`);
  row("drawing", { shared: "from the solver's buffer", copied: "from a copy on the GPU", uploaded: "uploaded each frame" }[binding.mode], binding.mode === "shared" ? "" : binding.reason);
  const frame = row("frame");
  const solve = row("solve");

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
