/** The live page: a bunny that is solved for in every frame, on the GPU that draws it where there is one. */
import { init, type Engine } from "leastwise";
import { bindAttribute } from "leastwise/three";
import { Vector3 } from "three/webgpu";
import { loadBunny } from "./model.js";
import { Deformation } from "./deformation.js";
import { makeDraggable } from "./dragging.js";
import { makePanel } from "./panel.js";
import { complain, say, watchErrors } from "./status.js";
import { exposeHook } from "./testing.js";
import { makeView, type View } from "./view.js";

watchErrors();

async function start(): Promise<void> {
  const canvas = document.querySelector<HTMLCanvasElement>("#view")!;
  const reset = document.querySelector<HTMLButtonElement>("#reset")!;
  const model = loadBunny();
  // `?backend=cpu` or `?backend=webgpu` insists on one.
  const wish = new URLSearchParams(location.search).get("backend") ?? "auto";
  say("Loading the solver…");
  const engine = await init({ backend: wish as "auto" });
  void engine.lost.then(complain);
  const view = await makeView(canvas, model, engine.device);
  const deformation = new Deformation(engine, model);
  say("Compiling kernels…");
  await deformation.prepare();
  const binding = bindAttribute(view.renderer, view.position, deformation.x);

  const rest = new Vector3(...model.top);
  const place = makeDraggable(canvas, view, (position) => deformation.move(position.clone().sub(rest)));
  reset.onclick = () => place(rest.clone());
  reset.disabled = false;
  canvas.addEventListener("keydown", (event) => { if (event.key === "r" && !event.ctrlKey && !event.metaKey) place(rest.clone()); });
  const showTimes = makePanel(engine, binding, deformation, model);
  exposeHook({ engine, view, deformation, binding, model, place });
  run(view, engine, (now) => {
    deformation.advance();
    view.draw();
    showTimes(now);
  });
  say("");
}

/** Calls `frame` for every frame, until one fails. */
function run(view: View, engine: Engine, frame: (now: number) => void): void {
  void view.renderer.setAnimationLoop((now: number) => {
    try {
      frame(now);
    } catch (thrown) {
      void view.renderer.setAnimationLoop(null);
      complain(thrown);
      engine.dispose();
    }
  });
}

start().catch(complain);
