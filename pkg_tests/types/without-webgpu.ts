// Where the consumer has none, the little that everyone needs is there.
import type { Engine, Variables, Vec3 } from "leastwise";

export function look(lw: Engine, x: Variables<Vec3>): number {
  lw.device?.destroy();
  const size: number | undefined = x.buffer?.buffer.size;
  return size ?? 0;
}
