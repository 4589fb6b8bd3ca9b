/** Sums and means of tensors over the ranks of a world. */
import { LeastwiseError } from "../errors.js";
import type { NativeEngine, RankedNative } from "../native.js";
import { NEEDS } from "../parts.js";
import { computedWith } from "./apply.js";
import { unpacked, type TensorContext } from "./context.js";
import { mustBeTensors, type AnyTensor, type DType, type Tensor } from "./tensor.js";

/** True for engines that may be ranks. */
const mayBeRank = (engine: NativeEngine): engine is RankedNative => "sumOverRanks" in engine;

/**
 * Sums or means over ranks, as new tensors. The engine computes what is given, so that ranks begin in the order of their calls, and not
 * in that of what is computed first. @internal
 */
export async function overRanks(what: string, tensors: readonly AnyTensor[], mean: boolean): Promise<readonly AnyTensor[]> {
  mustBeTensors(what, tensors);
  const { context } = tensors[0], dtype = computedWith(tensors[0]);
  const odd = tensors.find((tensor) => tensor.dtype !== dtype);
  if (odd) throw new LeastwiseError("dtype", `${what}: a tensor is of ${odd.dtype}, and sums over ranks are of f32 or f64: cast("${dtype}") makes one`);
  const ids = Uint32Array.from(tensors, (tensor) => tensor.id);
  // An engine of a module is no rank.
  if (!mayBeRank(context.tasks.native)) return context.outside(() => tensors.map((tensor) => tensor.detach()));
  const { values } = await context.tasks.begin(undefined, NEEDS.tensors, (native) => (native as RankedNative).sumOverRanks(ids, mean));
  return context.outside(() => unpacked(values!).map((made) => new context.Tensor(context, made, dtype)));
}

/** A number as a tensor without axes, to be given with others. @internal */
export function numberOf<D extends DType>(context: TensorContext, value: number, dtype: D): Tensor<D> {
  const { id } = context.apply("constant", [], [value], dtype);
  try {
    return new context.Tensor<D>(context, context.apply("detach", [id], [], dtype), dtype);
  } finally {
    context.release([id]);
  }
}

/** Tells other ranks that this one could not make the tensors that they wait for. @internal */
export async function noneOverRanks(context: TensorContext): Promise<void> {
  if (!mayBeRank(context.tasks.native)) return;
  // Its own error is that it has none; the reason is the caller's.
  await context.tasks.begin(undefined, NEEDS.tensors, (native) => (native as RankedNative).sumOverRanks(undefined, true)).catch(() => undefined);
}
