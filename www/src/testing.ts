/** `window.leastwiseDemo`: what the browser tests look at and take hold of. */
import { Vector3 } from "three/webgpu";
import type { Engine } from "leastwise";
import type { Binding } from "leastwise/three";
import type { Model } from "./model.js";
import type { Deformation } from "./deformation.js";
import type { View } from "./view.js";

/** The parts of the page that tests may see. */
export interface Parts {
  readonly engine: Engine;
  readonly view: View;
  readonly deformation: Deformation;
  readonly binding: Binding;
  readonly model: Model;
  readonly place: (position: Vector3) => void;
}

/** Three's backend, as far as it says which buffer it draws an attribute from. */
interface Slots { get(attribute: object): { readonly buffer?: GPUBuffer } }

export interface Hook extends Parts {
  /** Puts the ball somewhere, as dragging does. */
  drag(x: number, y: number, z: number): void;
  /** Where the ball is on the screen, in CSS pixels. */
  ballOnScreen(): { x: number; y: number };
  /** The buffer that three draws the bunny's vertices from. */
  drawnBuffer(): GPUBuffer | undefined;
  /** What lies in that buffer now; from the solver where three has none of its kind. Not through the engine: its counters stay. */
  vertices(): Promise<number[]>;
}

declare global {
  interface Window { leastwiseDemo?: Hook }
}

export function exposeHook(parts: Parts): void {
  const { engine, view, deformation, model, place } = parts;
  const drawnBuffer = () => (view.renderer.backend as unknown as Slots).get(view.position).buffer;
  window.leastwiseDemo = {
    ...parts,
    drag: (x, y, z) => place(new Vector3(x, y, z)),
    ballOnScreen: () => {
      const box = view.renderer.domElement.getBoundingClientRect();
      const at = view.ball.position.clone().project(view.camera);
      return { x: box.left + ((at.x + 1) / 2) * box.width, y: box.top + ((1 - at.y) / 2) * box.height };
    },
    drawnBuffer,
    vertices: async () => {
      const buffer = drawnBuffer();
      if (!engine.device || !buffer) return Array.from(await deformation.x.read());
      return copyBack(engine.device, buffer, model.positions.byteLength);
    },
  };
}

async function copyBack(device: GPUDevice, buffer: GPUBuffer, bytes: number): Promise<number[]> {
  const staging = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const values = Array.from(new Float32Array(staging.getMappedRange()));
  staging.destroy();
  return values;
}
