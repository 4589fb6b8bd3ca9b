/** Pointing at the cloth: a tap pins or lets go, a pin is dragged; everything else turns the camera. */
import * as THREE from "three/webgpu";
import type { View } from "../scene/view.js";
import type { Place } from "./stepping.js";

/** Pixels around a pin that take hold of it, and pixels that a tap may slip. */
const REACH = 22, SLIP = 6;

export interface Pointed {
  /** Positions as they are now: read, for a ray to hit. */
  positions(): Promise<ArrayLike<number>>;
  /** Pins, and where they are. */
  pins(): ReadonlyMap<number, Place>;
  move(pin: number, to: Place): void;
  /** A vertex was tapped: pin it, or let it go. */
  tap(vertex: number, at: Place): void;
  failed(thrown: unknown): void;
}

/** Listens on the view's canvas. */
export function point(view: View, on: Pointed): void {
  const { canvas, camera, controls } = view, ray = new THREE.Raycaster();
  let held: { v: number; plane: THREE.Plane; id: number } | undefined, from = { x: 0, y: 0 };
  const aim = ({ x, y }: { x: number; y: number }) => {
    const box = canvas.getBoundingClientRect();
    ray.setFromCamera(new THREE.Vector2(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2), camera);
  };
  canvas.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY };
    let best: number | undefined, least = REACH;
    for (const [v, place] of on.pins()) {
      const at = view.onScreen(new THREE.Vector3(...place)), far = Math.hypot(at.x - from.x, at.y - from.y);
      if (far < least) { least = far; best = v; }
    }
    if (best === undefined) return;
    event.stopImmediatePropagation();
    canvas.setPointerCapture(event.pointerId);
    controls.enabled = false;
    held = { v: best, id: event.pointerId, plane: new THREE.Plane().setFromNormalAndCoplanarPoint(camera.getWorldDirection(new THREE.Vector3()), new THREE.Vector3(...on.pins().get(best)!)) };
  }, { capture: true });
  canvas.addEventListener("pointermove", (event) => {
    if (held?.id !== event.pointerId || Math.hypot(event.clientX - from.x, event.clientY - from.y) < SLIP) return;
    aim({ x: event.clientX, y: event.clientY });
    const place = ray.ray.intersectPlane(held.plane, new THREE.Vector3());
    if (place) on.move(held.v, [place.x, place.y, place.z]);
  });
  const up = (event: PointerEvent) => {
    const was = held, at = { x: event.clientX, y: event.clientY }, tapped = Math.hypot(at.x - from.x, at.y - from.y) < SLIP && event.type === "pointerup";
    held = undefined;
    controls.enabled = true;
    if (!tapped) return;
    if (was) return on.tap(was.v, on.pins().get(was.v)!);
    void on.positions().then((positions) => {
      if (!positions.length) return;
      view.remember(positions);
      aim(at);
      const found = ray.intersectObject(view.surface!, false)[0];
      if (!found?.face) return;
      const corner = (v: number) => new THREE.Vector3(positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]);
      const { a, b, c } = found.face, v = [a, b, c].sort((one, other) => corner(one).distanceTo(found.point) - corner(other).distanceTo(found.point))[0]!;
      on.tap(v, corner(v).toArray());
    }).catch(on.failed);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
}
