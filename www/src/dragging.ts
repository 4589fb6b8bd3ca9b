/** Moving the ball: by mouse and touch in the plane that faces the camera, and by keys. */
import * as THREE from "three/webgpu";
import type { View } from "./view.js";

const KEY_STEP = 0.03;
/** How much larger than the ball its target for pointers is. */
const REACH = 1.6;
/** How far the ball may go from the middle of the scene, and how near to the ground. */
const FARTHEST = 1.4;
const LOWEST = 0.06;

/** Lets the visitor move the ball; `onMove` hears of every new position. Gives a function that puts the ball somewhere. */
export function makeDraggable(canvas: HTMLCanvasElement, { camera, controls, ball }: View, onMove: (position: THREE.Vector3) => void): (position: THREE.Vector3) => void {
  const ray = new THREE.Raycaster();
  const plane = new THREE.Plane();
  const grip = new THREE.Vector3();      // from the ball's middle to where it was taken
  let pointer: number | undefined;

  const place = (position: THREE.Vector3) => {
    ball.position.copy(position.clampLength(0, FARTHEST));
    ball.position.y = Math.max(ball.position.y, LOWEST);
    onMove(ball.position);
  };

  const aim = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    ray.setFromCamera(new THREE.Vector2(x, y), camera);
  };
  const hit = (): THREE.Vector3 | null => {
    const reach = ball.geometry.parameters.radius * REACH;
    return ray.ray.intersectSphere(new THREE.Sphere(ball.position, reach), new THREE.Vector3());
  };
  const highlight = (on: boolean) => {
    ball.material.emissiveIntensity = on ? 0.9 : 0.35;
    canvas.style.cursor = pointer !== undefined ? "grabbing" : on ? "grab" : "";
  };

  // Before the orbit controls hear of it: a pointer that takes the ball is not theirs.
  canvas.addEventListener("pointerdown", (event) => {
    aim(event);
    if (pointer !== undefined || event.button !== 0 || !hit()) return;
    event.stopImmediatePropagation();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    pointer = event.pointerId;
    controls.enabled = false;
    plane.setFromNormalAndCoplanarPoint(camera.getWorldDirection(new THREE.Vector3()), ball.position);
    const point = ray.ray.intersectPlane(plane, new THREE.Vector3());
    grip.copy(point ?? ball.position).sub(ball.position);
    highlight(true);
  }, { capture: true });

  canvas.addEventListener("pointermove", (event) => {
    aim(event);
    if (pointer === undefined) highlight(event.pointerType === "mouse" && hit() !== null);
    if (event.pointerId !== pointer) return;
    const point = ray.ray.intersectPlane(plane, new THREE.Vector3());
    if (point) place(point.sub(grip));
  });

  const drop = (event: PointerEvent) => {
    if (event.pointerId !== pointer) return;
    pointer = undefined;
    controls.enabled = true;
    highlight(false);
  };
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointercancel", drop);

  canvas.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    place(new THREE.Vector3(...step).multiplyScalar(KEY_STEP).applyQuaternion(camera.quaternion).add(ball.position));
  });
  return place;
}

/** In the camera's axes: right, up, towards us. */
const STEPS: { readonly [key: string]: readonly [number, number, number] } = {
  ArrowLeft: [-1, 0, 0], ArrowRight: [1, 0, 0], ArrowUp: [0, 1, 0], ArrowDown: [0, -1, 0], PageUp: [0, 0, -1], PageDown: [0, 0, 1],
};
