// Where the consumer has WebGPU's types, ours are those.
import type { Device, DeviceBuffer, Engine, Variables, Vec3 } from "leastwise";
import { init } from "leastwise";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}
is<Same<Device, GPUDevice>>();
is<Same<DeviceBuffer, GPUBuffer>>();

export async function share(device: GPUDevice, x: Variables<Vec3>): Promise<Engine> {
  const lw = await init({ device });
  lw.device?.queue.submit([]);
  const encoder = device.createCommandEncoder();
  if (x.buffer) encoder.copyBufferToBuffer(x.buffer.buffer, x.buffer.offset, device.createBuffer({ size: 12, usage: 8 }), 0, 12);
  return lw;
}
