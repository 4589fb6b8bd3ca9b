/** Pointing at a mesh: handles are dragged and turned, clicks pin, a lasso catches; everything else turns the camera. */
import * as THREE from "three/webgpu";
import type { View } from "../scene/view.js";
import { complain } from "../shell/notices.js";
import { Knobs } from "./handles.js";

export type Tool = "look" | "grab" | "lasso";

export interface Pointed {
  /** Positions as they are now, read for rays and lassos. */
  positions(): Promise<ArrayLike<number>>;
  tool(): Tool;
  selected(): number;
  begin(): void;
  /** Chosen, by its number. */
  select(handle: number): void;
  move(handle: number, by: THREE.Vector3): void;
  turn(handle: number, by: THREE.Quaternion): void;
  /** A vertex was clicked: pin it, or free it. */
  click(vertex: number): void;
  /** A vertex was taken: gives the handle that it is in now. */
  grab(vertex: number, at: ArrayLike<number>): number;
  caught(vertices: number[], at: ArrayLike<number>): void;
  end(): void;
}

/** Pixels that a click may slip. */
const SLIP = 6;

/** Listens on the view's canvas; gives the function that stops it. */
export function point(view: View, knobs: Knobs, on: Pointed): () => void {
  const { canvas, camera, controls } = view, ray = new THREE.Raycaster();
  let active: { id: number; kind: "move" | "turn" | "lasso" | "click" | "grab"; handle: number; plane: THREE.Plane; last: THREE.Vector3; from: { x: number; y: number }; path: { x: number; y: number }[] } | undefined;
  const outline = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polygon");
  outline.classList.add("lasso");
  outline.append(line);
  canvas.after(outline);

  const aim = ({ x, y }: { x: number; y: number }) => {
    const box = canvas.getBoundingClientRect();
    ray.setFromCamera(new THREE.Vector2(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2), camera);
  };
  const distance = (a: { x: number; y: number }, b: { x: number; y: number }) => Math.hypot(a.x - b.x, a.y - b.y);
  const nearest = (at: { x: number; y: number }) => {
    const far = knobs.places.map((place) => distance(view.onScreen(place), at));
    const best = far.indexOf(Math.min(...far));
    return best >= 0 && far[best]! <= Knobs.REACH ? best : -1;
  };
  const onRing = (at: { x: number; y: number }) => {
    const place = knobs.places[on.selected()];
    return place !== undefined && Math.abs(distance(view.onScreen(place), at) - Knobs.RING) < 12;
  };
  const facing = (at: THREE.Vector3) => new THREE.Plane().setFromNormalAndCoplanarPoint(camera.getWorldDirection(new THREE.Vector3()), at);
  const hit = (plane: THREE.Plane, at: { x: number; y: number }) => {
    aim(at);
    return ray.ray.intersectPlane(plane, new THREE.Vector3());
  };
  /** The vertex under a point of the screen, of the positions that were read. */
  const vertexAt = (at: { x: number; y: number }, positions: ArrayLike<number>): { vertex: number; place: THREE.Vector3 } | undefined => {
    view.remember(positions);
    aim(at);
    const found = ray.intersectObject(view.surface!, false)[0];
    if (!found?.face) return undefined;
    const corner = (v: number) => new THREE.Vector3(positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]);
    const { a, b, c } = found.face, vertex = [a, b, c].sort((one, other) => corner(one).distanceTo(found.point) - corner(other).distanceTo(found.point))[0]!;
    return { vertex, place: corner(vertex) };
  };

  const down = (event: PointerEvent) => {
    if (active || event.button !== 0) return;
    const from = { x: event.clientX, y: event.clientY }, handle = nearest(from), tool = on.tool();
    const kind = handle >= 0 ? "move" : onRing(from) ? "turn" : tool === "lasso" ? "lasso" : tool === "grab" ? "grab" : "click";
    const chosen = kind === "move" ? handle : on.selected(), place = knobs.places[chosen] ?? new THREE.Vector3();
    active = { id: event.pointerId, kind, handle: chosen, plane: facing(place), last: new THREE.Vector3(), from, path: [from] };
    canvas.focus({ preventScroll: true });
    // A click is the camera's, until it turns out that nothing was turned.
    if (kind === "click") return;
    event.stopImmediatePropagation();
    canvas.setPointerCapture(event.pointerId);
    controls.enabled = false;
    if (kind === "move" || kind === "turn") {
      on.begin();
      on.select(chosen);
      active.last.copy(hit(active.plane, from) ?? place);
    } else if (kind === "grab") void take(active).catch(complain);
  };

  /** Takes hold of the mesh where it is: the place has to be read first. */
  const take = async (mine: NonNullable<typeof active>) => {
    const positions = await on.positions(), found = vertexAt(mine.from, positions);
    if (active !== mine) return;
    if (!found) { mine.kind = "click"; controls.enabled = true; return; }
    on.begin();
    mine.handle = on.grab(found.vertex, positions);
    mine.plane = facing(found.place);
    mine.last.copy(hit(mine.plane, mine.from) ?? found.place);
    mine.kind = "move";
  };

  const move = (event: PointerEvent) => {
    const at = { x: event.clientX, y: event.clientY };
    if (!active) {
      if (event.pointerType === "mouse") canvas.style.cursor = nearest(at) >= 0 ? "grab" : onRing(at) ? "ew-resize" : on.tool() === "look" ? "" : "crosshair";
      return;
    }
    if (event.pointerId !== active.id) return;
    if (active.kind === "lasso") {
      active.path.push(at);
      const box = canvas.getBoundingClientRect();
      line.setAttribute("points", active.path.map(({ x, y }) => `${x - box.left},${y - box.top}`).join(" "));
    } else if (active.kind === "move") {
      const place = hit(active.plane, at);
      if (!place) return;
      on.move(active.handle, place.clone().sub(active.last));
      active.last.copy(place);
    } else if (active.kind === "turn") {
      const centre = view.onScreen(knobs.places[active.handle]!), last = active.path.at(-1)!;
      const angle = Math.atan2(last.y - centre.y, last.x - centre.x) - Math.atan2(at.y - centre.y, at.x - centre.x);
      active.path.push(at);
      // Towards us: counter-clockwise on the screen is a positive turn.
      on.turn(active.handle, new THREE.Quaternion().setFromAxisAngle(camera.getWorldDirection(new THREE.Vector3()).negate(), angle));
    }
  };

  const up = (event: PointerEvent) => {
    if (!active || event.pointerId !== active.id) return;
    const { kind, from, path } = active, at = { x: event.clientX, y: event.clientY };
    active = undefined;
    controls.enabled = true;
    if (event.type === "pointercancel") return on.end();
    if (kind === "click" && distance(from, at) < SLIP) void on.positions().then((positions) => { const found = vertexAt(at, positions); if (found) on.click(found.vertex); }).catch(complain);
    else if (kind === "lasso") void on.positions().then((positions) => { on.caught(inside(positions, path), positions); }).catch(complain);
    line.setAttribute("points", "");
    if (kind === "move" || kind === "turn") on.end();
  };

  /** Vertices within the lasso whose normals face the camera. */
  const inside = (positions: ArrayLike<number>, path: readonly { x: number; y: number }[]): number[] => {
    view.remember(positions);
    const geometry = view.surface!.geometry;
    geometry.computeVertexNormals();
    const normals = geometry.getAttribute("normal").array, found: number[] = [], p = new THREE.Vector3(), n = new THREE.Vector3();
    for (let v = 0; v < positions.length / 3; v++) {
      p.set(positions[3 * v]!, positions[3 * v + 1]!, positions[3 * v + 2]!);
      n.fromArray(normals, 3 * v);
      if (n.dot(p.clone().sub(camera.position)) < 0 && within(view.onScreen(p), path)) found.push(v);
    }
    return found;
  };

  canvas.addEventListener("pointerdown", down, { capture: true });
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  return () => outline.remove();
}

/** Even–odd rule. */
function within({ x, y }: { x: number; y: number }, path: readonly { x: number; y: number }[]): boolean {
  let odd = false;
  for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
    const a = path[i]!, b = path[j]!;
    if ((a.y > y) !== (b.y > y) && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) odd = !odd;
  }
  return odd;
}
