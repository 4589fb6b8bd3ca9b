/** Normals of vertices: a kernel on the device where the positions are, or a loop on the CPU where they are in memory. */
import { vertexFaces } from "leastwise/mesh";
import type { Variables, Vec3 } from "leastwise";
import type * as THREE from "three/webgpu";

const GROUP = 64;
const SHADER = /* wgsl */ `
@group(0) @binding(0) var<storage, read> position: array<f32>;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> faces: array<u32>;
@group(0) @binding(3) var<storage, read> triangles: array<u32>;
@group(0) @binding(4) var<storage, read_write> normal: array<f32>;

fn place(vertex: u32) -> vec3f { return vec3f(position[3u * vertex], position[3u * vertex + 1u], position[3u * vertex + 2u]); }

@compute @workgroup_size(${GROUP})
fn main(@builtin(global_invocation_id) id: vec3u) {
  let vertex = id.x;
  if (vertex + 1u >= arrayLength(&offsets)) { return; }
  var sum = vec3f(0.0);
  for (var k = offsets[vertex]; k < offsets[vertex + 1u]; k++) {
    let face = 3u * faces[k];
    let p = place(triangles[face]);
    sum += cross(place(triangles[face + 1u]) - p, place(triangles[face + 2u]) - p);
  }
  let unit = sum / max(length(sum), 1e-20);
  normal[3u * vertex] = unit.x;
  normal[3u * vertex + 1u] = unit.y;
  normal[3u * vertex + 2u] = unit.z;
}`;

/** Keeps an attribute's normals up to those of `x`, on the device: three draws them from the kernel's buffer. */
export function normalsOnDevice(renderer: THREE.WebGPURenderer, device: GPUDevice, attribute: THREE.BufferAttribute, x: Variables<Vec3>, triangles: Uint32Array): { update(): void; dispose(): void } | undefined {
  const view = x.buffer;
  if (!view || !triangles.length) return undefined;
  const { offsets, indices } = vertexFaces(triangles, x.count);
  const made: GPUBuffer[] = [];
  const upload = (values: Uint32Array) => {
    const buffer = device.createBuffer({ size: values.byteLength, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST });
    device.queue.writeBuffer(buffer, 0, values as Uint32Array<ArrayBuffer>);
    made.push(buffer);
    return buffer;
  };
  const normal = device.createBuffer({ label: "normals", size: 12 * x.count, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC });
  made.push(normal);
  const pipeline = device.createComputePipeline({ label: "normals", layout: "auto", compute: { module: device.createShaderModule({ code: SHADER }), entryPoint: "main" } });
  const resources = [{ buffer: view.buffer as GPUBuffer, offset: view.offset, size: 12 * x.count }, ...[offsets, indices, triangles].map((values) => ({ buffer: upload(values) })), { buffer: normal }];
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries: resources.map((resource, binding) => ({ binding, resource })) });
  const slot = renderer.backend as unknown as { get(attribute: object): { buffer?: GPUBuffer }; delete(attribute: object): void };
  slot.get(attribute).buffer = normal;
  return {
    update: () => {
      const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(Math.ceil(x.count / GROUP));
      pass.end();
      device.queue.submit([encoder.finish()]);
    },
    dispose: () => { for (const buffer of made) buffer.destroy(); },
  };
}

/** Normals of positions in memory, weighted by area. */
export function normalsOnHost(positions: Float32Array, triangles: Uint32Array, normals: Float32Array): void {
  normals.fill(0);
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t]!, b = 3 * triangles[t + 1]!, c = 3 * triangles[t + 2]!;
    const ux = positions[b]! - positions[a]!, uy = positions[b + 1]! - positions[a + 1]!, uz = positions[b + 2]! - positions[a + 2]!;
    const vx = positions[c]! - positions[a]!, vy = positions[c + 1]! - positions[a + 1]!, vz = positions[c + 2]! - positions[a + 2]!;
    const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    for (const at of [a, b, c]) {
      normals[at]! += nx;
      normals[at + 1]! += ny;
      normals[at + 2]! += nz;
    }
  }
  for (let k = 0; k < normals.length; k += 3) {
    const length = Math.hypot(normals[k]!, normals[k + 1]!, normals[k + 2]!) || 1;
    normals[k]! /= length;
    normals[k + 1]! /= length;
    normals[k + 2]! /= length;
  }
}
