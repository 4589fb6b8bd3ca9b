// A live renderer of three, and variables for it to draw: what `leastwise/three` promises is tried out here.
import { column, init, LeastwiseError } from "leastwise";
import { normalTable } from "leastwise/mesh";
import { bindAttribute } from "leastwise/three";
import * as THREE from "three/webgpu";

const TRIANGLE = [-1, -1, 0, 1, -1, 0, 0, 1, 0];

/** An engine with a problem that moves three vertices by (dx, 0, 0), and a renderer with a mesh of the vertices at rest. */
async function setUp({ backend = "webgpu", own = false, before = false, webgl = false } = {}) {
  const lw = await init({ backend });
  const problem = lw.problem();
  if (before) problem.constants("in front", { shape: 1, values: [1, 2, 3] });
  const x = problem.variables("corners", { shape: 3, values: TRIANGLE });
  const to = problem.residuals("to", { of: [x], data: { target: column(TRIANGLE, 3) } }, ([p], { target }) => p.sub(target));
  await problem.solver().step();          // compiles the kernels, and puts the first values into the buffer
  const options = webgl ? { forceWebGL: true } : lw.device && !own ? { device: lw.device } : {};
  const renderer = new THREE.WebGPURenderer({ canvas: document.createElement("canvas"), ...options });
  await renderer.init();
  const attribute = new THREE.BufferAttribute(new Float32Array(TRIANGLE), 3);
  const geometry = new THREE.BufferGeometry().setAttribute("position", attribute);
  const mesh = new THREE.Mesh(geometry, new THREE.MeshBasicMaterial());
  mesh.frustumCulled = false;
  const scene = new THREE.Scene().add(mesh);
  // A report waits for what live steps need; without it the first frames would do nothing.
  const first = problem.solver();
  await first.report();
  first.dispose();
  const camera = new THREE.OrthographicCamera(-2, 2, 2, -2, -1, 1);
  return {
    lw, problem, x, renderer, attribute, geometry,
    get material() { return mesh.material; },
    set material(material) { mesh.material = material; },
    moveBy: (dx) => {
      to.set({ target: Float32Array.from(TRIANGLE, (value, k) => value + (k % 3 ? 0 : dx)) });
      const solver = problem.solver();     // as a frame loop would: nothing is waited for
      for (let k = 0; k < 10; k++) solver.advance();
      solver.dispose();
    },
    draw: () => renderer.render(scene, camera),
    slot: () => renderer.backend.get(attribute).buffer,
  };
}

async function contents(device, buffer, offset = 0) {
  const staging = device.createBuffer({ size: 36, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, offset, staging, 0, 36);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  return [...new Float32Array(staging.getMappedRange())];
}

/** Counts the calls of `destroy` on a buffer; the buffer lives on. */
function countDestroys(buffer) {
  const counter = { count: 0 };
  buffer.destroy = () => { counter.count++; };
  return counter;
}

const isMoved = (values, dx) => values.every((value, k) => Math.abs(value - TRIANGLE[k] - (k % 3 ? 0 : dx)) < 1e-4);

window.trials = {
  async shared() {
    const it = await setUp();
    it.draw();
    const threes = it.slot();
    const threesDestroyed = countDestroys(threes);
    const binding = bindAttribute(it.renderer, it.attribute, it.x);
    const ours = it.x.buffer.buffer;
    const destroyed = countDestroys(ours);
    const seen = { mode: binding.mode, reason: binding.reason, threesOwnDestroyed: threesDestroyed.count };
    it.moveBy(0.5);
    it.draw();
    seen.drawsOurs = it.slot() === ours;
    seen.moved = isMoved(await contents(it.lw.device, it.slot()), 0.5);
    it.attribute.needsUpdate = true;
    it.draw();
    it.attribute.usage = THREE.DynamicDrawUsage;
    it.draw();
    seen.survivesUpdates = isMoved(await contents(it.lw.device, ours), 0.5);
    it.geometry.dispose();
    it.draw();
    seen.survivesGeometryDispose = it.slot() === ours && destroyed.count === 0;
    binding.dispose();
    binding.dispose();
    it.draw();
    seen.givenBack = it.slot() !== ours && isMoved(await contents(it.lw.device, it.slot()), 0);
    seen.methodsGivenBack = !Object.hasOwn(it.renderer.backend, "updateAttribute") && !Object.hasOwn(it.renderer.backend, "destroyAttribute");
    const again = bindAttribute(it.renderer, it.attribute, it.x);
    it.draw();
    seen.boundAgain = it.slot() === ours;
    it.renderer.dispose();
    seen.survivesRendererDispose = destroyed.count === 0 && isMoved(await contents(it.lw.device, ours), 0.5);
    again.dispose();
    seen.destroyedByThree = destroyed.count;
    return seen;
  },

  async copied() {
    const it = await setUp({ before: true });
    const binding = bindAttribute(it.renderer, it.attribute, it.x);
    const seen = { mode: binding.mode, reason: binding.reason };
    it.draw();
    it.moveBy(0.25);
    const { readbacks } = it.lw.counters();
    it.draw();
    seen.ownBuffer = it.slot() !== it.x.buffer.buffer;
    seen.moved = isMoved(await contents(it.lw.device, it.slot()), 0.25);
    it.moveBy(-0.25);
    it.attribute.needsUpdate = true;
    it.draw();
    seen.movedAgain = isMoved(await contents(it.lw.device, it.slot()), -0.25);
    seen.readbacks = it.lw.counters().readbacks - readbacks;
    binding.dispose();
    it.draw();
    seen.givenBack = isMoved(await contents(it.lw.device, it.slot()), 0);
    return seen;
  },

  async uploaded(options) {
    const it = await setUp(options);
    const binding = bindAttribute(it.renderer, it.attribute, it.x);
    const seen = { mode: binding.mode, reason: binding.reason, frames: 0 };
    it.draw();
    it.moveBy(0.75);
    while (!isMoved([...it.attribute.array], 0.75) && seen.frames++ < 1000) {
      it.draw();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    it.draw();
    const device = it.renderer.backend.device;
    seen.moved = device ? isMoved(await contents(device, it.slot()), 0.75) : seen.frames < 1000;
    it.moveBy(0.5);
    it.draw();
    binding.dispose();
    it.draw();
    return seen;
  },

  async normals() {
    const it = await setUp({ before: true });
    const normals = await normalTable(it.x, [0, 1, 2]), { buffer, offset } = normals.buffer;
    const normal = new THREE.BufferAttribute(new Float32Array(9), 3);
    it.geometry.setAttribute("normal", normal);
    it.material.dispose();
    it.material = new THREE.MeshNormalMaterial();
    const binding = bindAttribute(it.renderer, normal, normals);
    const seen = { mode: binding.mode, reason: binding.reason };
    const points = async (z) => (await contents(it.lw.device, buffer, offset)).every((value, k) => value === (k % 3 === 2 ? z : 0));
    it.draw();
    seen.drawsOurs = it.renderer.backend.get(normal).buffer === buffer;
    seen.up = await points(1);
    const { readbacks } = it.lw.counters();
    it.x.write(TRIANGLE.map((value, k) => (k % 3 === 0 ? -value : value)));
    normals.update();
    it.draw();
    seen.turned = await points(-1);
    seen.readbacks = it.lw.counters().readbacks - readbacks;
    binding.dispose();
    it.draw();
    seen.givenBack = it.renderer.backend.get(normal).buffer !== buffer;
    normals.dispose();
    return seen;
  },

  async refusals() {
    const it = await setUp();
    const bind = (attribute, x = it.x) => {
      try {
        bindAttribute(it.renderer, attribute, x).dispose();
        return "accepted";
      } catch (error) {
        return error instanceof LeastwiseError ? `${error.code}: ${error.message}` : String(error);
      }
    };
    const array = new Float32Array(9);
    const twice = new THREE.BufferAttribute(array, 3);
    bindAttribute(it.renderer, twice, it.x);
    return [
      bind(new THREE.BufferAttribute(new Float32Array(12), 3)),
      bind(new THREE.BufferAttribute(array, 9)),
      bind(new THREE.BufferAttribute(new Uint16Array(9), 3)),
      bind(new THREE.InterleavedBufferAttribute(new THREE.InterleavedBuffer(array, 3), 3, 0)),
      bind(new THREE.StorageBufferAttribute(array, 3)),
      bind({ array, itemSize: 3, needsUpdate: false }),
      bind(twice),
      bind(new THREE.BufferAttribute(array, 3), { buffer: undefined }),
    ];
  },
};
