/** Sums and means of tensors over the ranks of a world. */
import { LeastwiseError } from "../errors.js";
import type { NativeEngine, RankedNative } from "../native.js";
import { NEEDS } from "../parts.js";
import { computedWith } from "./apply.js";
import { unpacked, type TensorContext } from "./context.js";
import { mustBeTensors, type AnyTensor } from "./tensor.js";

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

/**
 * Means over ranks, as new tensors that {@link evaluatedByRanks} computes where all have made so many steps; none of an engine that is no rank, whose tensors are the means. @internal
 */
export function meansOverRanks(tensors: readonly AnyTensor[], step: number): readonly AnyTensor[] | undefined {
  const { context } = tensors[0]!, dtype = computedWith(tensors[0]!);
  if (!mayBeRank(context.tasks.native)) return undefined;
  const made = context.call((native) => (native as RankedNative).meansOverRanks(Uint32Array.from(tensors, (tensor) => tensor.id), step));
  return made.length ? context.outside(() => made.map((each) => new context.Tensor(context, each, dtype))) : undefined;
}

/**
 * Evaluates tensors that depend on means over ranks, and reads one of them. It begins at once: a task of all ranks waits for no evaluation of this one alone, since
 * ranks begin theirs in one order. Of what fails before it begins the others are told. @internal
 */
export async function evaluatedByRanks(outputs: readonly AnyTensor[], read: AnyTensor): Promise<number> {
  const { context } = read, { evaluations } = context;
  let leave: (() => void) | undefined, hasBegun = false;
  try {
    const ids = Uint32Array.from(outputs, (tensor) => tensor.id);
    leave = evaluations.hold([...outputs, read]);
    if (evaluations.before) await evaluations.before();
    if (evaluations.pull) await evaluations.pull(Uint32Array.of(...ids, read.id));
    const { values } = await context.tasks.begin(undefined, NEEDS.tensors, (native) => {
      const task = native.tensorEvaluate(ids, Uint32Array.of(read.id));
      hasBegun = true;
      return task;
    });
    return values![0]!;
  } catch (error) {
    if (!hasBegun) await noneOverRanks(context);
    throw error;
  } finally {
    leave?.();
  }
}

/** Tells other ranks that this one could not make the tensors that they wait for. @internal */
export async function noneOverRanks(context: TensorContext): Promise<void> {
  if (!mayBeRank(context.tasks.native)) return;
  // Its own error is that it has none; the reason is the caller's.
  await context.tasks.begin(undefined, NEEDS.tensors, (native) => (native as RankedNative).sumOverRanks(undefined, true)).catch(() => undefined);
}
