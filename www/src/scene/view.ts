/** What is seen of a mesh: three's scene on the engine's device, a camera to turn, and quality that follows the frame time. */
import * as THREE from "three/webgpu";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { normalTable, type NormalTable } from "leastwise/mesh";
import { bindAttribute, type Binding } from "leastwise/three";
import { LeastwiseError, type Engine, type Variables, type Vec3 } from "leastwise";
import { el } from "../shell/dom.js";
import { mark } from "../shell/marks.js";
import type { Loop } from "../shell/loop.js";
import { complain } from "../shell/notices.js";
import { calm, colour, onTheme } from "../shell/theme.js";
import { normalsOnHost } from "./normals.js";

/** Pictures after which the next frame is later than this lower the resolution, step by step; a still picture is drawn in full. */
const SLOW_MS = 42;
const SLOW_FRAMES = 4;
/** Pictures at the start that say nothing of that: shaders are compiled for them. */
const FIRST = 8;
const COARSEST = 0.5;
/** Renderers of WebGL that are software: there, smooth edges take longer than everything else. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|basic render|software/i;

type Surface = THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;

export class View {
  readonly canvas = el("canvas", { tabIndex: 0 });
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(38, 1, 0.02, 60);
  readonly controls: OrbitControls;
  readonly renderer: THREE.WebGPURenderer;
  surface: Surface | undefined;
  binding: Binding | undefined;
  /** Pictures that were drawn. */
  drawn = 0;
  /** Pixels of CSS at the top that buttons lie on: what is in the middle is shown below them. */
  readonly #covered: number;
  #normals: { readonly table: NormalTable; readonly binding: Binding } | undefined;
  #triangles: Uint32Array = new Uint32Array();
  #scale = 1;
  #slow = 0;
  #judging = 0;
  #settled = true;
  readonly #resize: ResizeObserver;

  private constructor(readonly engine: Engine, private readonly stage: HTMLElement, label: string, private readonly redraw: () => void) {
    const { device } = engine;
    this.canvas.setAttribute("aria-label", label);
    stage.append(this.canvas);
    const tools = stage.parentElement?.querySelector<HTMLElement>(".tools");
    this.#covered = tools ? tools.offsetTop + tools.offsetHeight : 0;
    this.renderer = new THREE.WebGPURenderer({ canvas: this.canvas, ...(device ? { device, antialias: true } : webGl(this.canvas)) });
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = !calm();
    this.controls.addEventListener("change", redraw);
    this.#resize = new ResizeObserver(() => this.#fit());
    this.scene.add(new THREE.HemisphereLight(0xf4f7ff, 0x8a7864, 1.25));
    const key = new THREE.DirectionalLight(0xfff3e2, 2.3), fill = new THREE.DirectionalLight(0x9cc0ff, 0.9);
    key.position.set(1.6, 2.6, 1.8);
    fill.position.set(-2.2, 0.8, -1.4);
    this.scene.add(key, fill);
    this.#paint();
    onTheme(() => { this.#paint(); redraw(); });
  }

  static async make(engine: Engine, stage: HTMLElement, label: string, redraw: () => void): Promise<View> {
    const view = new View(engine, stage, label, redraw);
    await view.renderer.init();
    view.#resize.observe(stage);
    view.#fit();
    return view;
  }

  /** Where the camera looks from, and at what. */
  look(from: readonly [number, number, number], at: readonly [number, number, number] = [0, 0, 0], { near = 0.6, far = 8 } = {}): void {
    this.camera.position.set(...from);
    this.controls.target.set(...at);
    Object.assign(this.controls, { minDistance: near, maxDistance: far });
    this.controls.update();
  }

  /** Shows a mesh at rest. */
  show(positions: Float32Array, triangles: Uint32Array): Surface {
    this.unbind();
    if (this.surface) {
      this.scene.remove(this.surface);
      this.surface.geometry.dispose();
      this.surface.material.dispose();
    }
    const geometry = new THREE.BufferGeometry(), normals = new Float32Array(positions.length);
    normalsOnHost(positions, triangles, normals);
    geometry.setAttribute("position", new THREE.BufferAttribute(positions.slice(), 3));
    geometry.setAttribute("normal", new THREE.BufferAttribute(normals, 3));
    geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(positions.length).fill(1), 3));
    geometry.setIndex(new THREE.BufferAttribute(triangles, 1));
    const material = new THREE.MeshStandardMaterial({ color: 0xffffff, roughness: 0.58, metalness: 0.02, vertexColors: true, side: THREE.DoubleSide });
    this.surface = new THREE.Mesh(geometry, material);
    this.surface.frustumCulled = false;
    this.#triangles = triangles;
    this.scene.add(this.surface);
    this.redraw();
    return this.surface;
  }

  /**
   * Draws the values of `x` from here on, from the solver's own buffer where both work on one device, and normals that the engine
   * computes. `loop` makes their table while no step is under way. From the CPU, {@link move} brings both.
   */
  bind(x: Variables<Vec3>, loop: Loop): void {
    this.unbind();
    if (!this.engine.device) return;
    const binding = bindAttribute(this.renderer, this.surface!.geometry.getAttribute("position") as THREE.BufferAttribute, x);
    this.binding = binding;
    const isOver = () => this.binding !== binding;
    // Of a lost device the page hears by itself.
    const failed = (thrown: unknown) => { if (!isOver() && !(thrown instanceof LeastwiseError && thrown.code === "device-lost")) complain(thrown); };
    // Until their kernel is there, the normals are those at rest: the first step does not wait for it. What ended meanwhile needs none.
    void (loop.playing ? loop.begun : Promise.resolve()).then(() => loop.ask(() => this.#follow(x, isOver))).catch(failed);
  }

  async #follow(x: Variables<Vec3>, isOver: () => boolean): Promise<void> {
    if (isOver()) return;
    const table = await normalTable(x, this.#triangles);
    if (isOver()) return table.dispose();
    this.#normals = { table, binding: bindAttribute(this.renderer, this.#freshNormals(), table) };
    this.redraw();
  }

  /** An attribute with the last known normals, for which three has made no buffer yet. */
  #freshNormals(): THREE.BufferAttribute {
    const geometry = this.surface!.geometry, normal = new THREE.BufferAttribute((geometry.getAttribute("normal").array as Float32Array).slice(), 3);
    geometry.setAttribute("normal", normal);
    return normal;
  }

  unbind(): void {
    if (this.#normals) {
      this.#normals.binding.dispose();
      this.#normals.table.dispose();
      this.#normals = undefined;
      this.#freshNormals();
    }
    this.binding?.dispose();
    this.binding = undefined;
  }

  /** Has positions of the CPU drawn, and their normals. `write` fills what is drawn. */
  async move(write: (positions: Float32Array) => Promise<unknown>): Promise<void> {
    const { geometry } = this.surface!, [positions, normals] = ["position", "normal"].map((name) => geometry.getAttribute(name) as THREE.BufferAttribute) as [THREE.BufferAttribute, THREE.BufferAttribute];
    await write(positions.array as Float32Array);
    normalsOnHost(positions.array as Float32Array, this.#triangles, normals.array as Float32Array);
    positions.needsUpdate = normals.needsUpdate = true;
  }

  /** Positions that were read, for rays to hit and lassos to catch. */
  remember(positions: ArrayLike<number>): void {
    const geometry = this.surface!.geometry;
    (geometry.getAttribute("position").array as Float32Array).set(positions);
    geometry.boundingSphere = null;
  }

  /** Colours of vertices, from 0 to 1; in the working space of three, which is linear. */
  colours(write: (colours: Float32Array) => void): void {
    const attribute = this.surface!.geometry.getAttribute("color") as THREE.BufferAttribute;
    write(attribute.array as Float32Array);
    attribute.needsUpdate = true;
    this.redraw();
  }

  /** One picture; true while the camera still glides. */
  draw(now: number, moving: boolean): void {
    this.#normals?.table.update();
    if (this.controls.enabled) this.controls.update();
    this.#adapt(now, moving);
    this.drawn++;
    void this.renderer.render(this.scene, this.camera);
    if (this.surface) mark("picture");
  }

  /** World units of a CSS pixel at a point. */
  pixel(at: THREE.Vector3): number {
    return (2 * this.camera.position.distanceTo(at) * Math.tan((this.camera.fov * Math.PI) / 360)) / Math.max(1, this.canvas.clientHeight);
  }

  /** Where a point is on the screen, in CSS pixels of the window. */
  onScreen(at: THREE.Vector3): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect(), point = at.clone().project(this.camera);
    return { x: box.left + ((point.x + 1) / 2) * box.width, y: box.top + ((1 - point.y) / 2) * box.height };
  }

  dispose(): void {
    cancelAnimationFrame(this.#judging);
    this.unbind();
    this.#resize.disconnect();
    this.controls.dispose();
    this.surface?.geometry.dispose();
    this.renderer.dispose();
    this.canvas.remove();
  }

  #adapt(now: number, moving: boolean): void {
    if (!moving) {
      if (this.#scale < 1 && !this.#settled) { this.#settled = true; this.#ratio(1); }
      return;
    }
    if (this.#settled && this.#scale < 1) { this.#settled = false; this.#ratio(this.#scale); }
    // Steps of the CPU may be slower than that; what a picture takes is seen in when the next frame comes.
    if (this.#scale > COARSEST && this.drawn > FIRST) this.#judging = requestAnimationFrame((next) => this.#judge(next - now));
  }

  #judge(took: number): void {
    this.#slow = took > SLOW_MS && took < 1000 ? this.#slow + 1 : Math.max(0, this.#slow - 1);
    if (this.#slow < SLOW_FRAMES || this.#scale <= COARSEST) return;
    this.#slow = 0;
    this.#settled = false;
    this.#scale = Math.max(COARSEST, this.#scale * 0.75);
    this.#ratio(this.#scale);
  }

  #ratio(scale: number): void { this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2) * scale); }

  #fit(): void {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height) return;
    this.#ratio(this.#scale);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    // On a narrow screen the width is what has to hold the mesh.
    this.camera.fov = width < height ? Math.min(70, 38 * (height / width) ** 0.75) : 38;
    if (this.#covered) this.camera.setViewOffset(width, height, 0, -this.#covered / 2, width, height);
    this.camera.updateProjectionMatrix();
    this.redraw();
  }

  #paint(): void { this.scene.background = new THREE.Color(colour("stage")); }
}

/** What three draws with where there is no device: smooth edges where they are cheap. */
function webGl(canvas: HTMLCanvasElement): { context?: WebGL2RenderingContext; forceWebGL: true; antialias: boolean } {
  const context = canvas.getContext("webgl2", { alpha: true, depth: true, antialias: false }) ?? undefined;
  const named = context?.getExtension("WEBGL_debug_renderer_info"), name = named ? String(context!.getParameter(named.UNMASKED_RENDERER_WEBGL)) : "";
  return { ...(context && { context }), forceWebGL: true, antialias: !SOFTWARE.test(name) };
}

/** A colour of the style sheet in three's working space. */
export const linear = (name: string): readonly [number, number, number] => new THREE.Color(colour(name)).toArray() as [number, number, number];
