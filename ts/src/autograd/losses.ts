/** Losses of outputs and targets: means over them. */
import { LeastwiseError } from "../errors.js";
import { V, type Operand } from "./v.js";
import type { Value } from "./value.js";

/** The mean of a loss over outputs and targets. */
function meanOf(outputs: readonly Value[], targets: readonly Operand[], loss: (output: Value, target: Operand) => Value): Value {
  if (outputs.length !== targets.length) throw new LeastwiseError("data-length", `Outputs and targets must have the same length: there are ${outputs.length} and ${targets.length}`);
  return V.mean(outputs.map((output, k) => loss(output, targets[k]!)));
}

/**
 * Means of losses; 0 where there is nothing.
 *
 * @example
 * const loss = Losses.mse([V.W(1), V.W(2)], [V.C(1), V.C(4)]);
 * console.log(loss.data);  // 2
 */
export class Losses {
  /** What keeps logarithms of probabilities finite. */
  static readonly EPS = 1e-12;

  /** The mean of (output − target)². */
  static mse(outputs: readonly Value[], targets: readonly Operand[]): Value { return meanOf(outputs, targets, (output, target) => V.square(V.sub(output, target))); }
  /** The mean of |output − target|. */
  static mae(outputs: readonly Value[], targets: readonly Operand[]): Value { return meanOf(outputs, targets, (output, target) => V.abs(V.sub(output, target))); }
  /** The mean of −t ln p − (1 − t) ln(1 − p), for outputs p clamped to [EPS, 1 − EPS]. */
  static binaryCrossEntropy(outputs: readonly Value[], targets: readonly Operand[]): Value {
    return meanOf(outputs, targets, (output, target) => {
      const p = V.clamp(output, Losses.EPS, 1 - Losses.EPS);
      return V.neg(V.add(V.mul(target, V.log(p)), V.mul(V.sub(1, target), V.log(V.sub(1, p)))));
    });
  }
  /** The mean over targets of −ln(p + EPS), where p is the target's share of one softmax over the outputs. */
  static categoricalCrossEntropy(outputs: readonly Value[], targets: readonly number[]): Value {
    if (outputs.length === 0 || targets.length === 0) return V.C(0);
    targets.forEach((target, k) => {
      if (!(Number.isInteger(target) && target >= 0 && target < outputs.length)) throw new LeastwiseError("index-out-of-range", `targets[${k}] is ${target}: class indices are whole numbers from 0 to ${outputs.length - 1}`);
    });
    // The largest is subtracted, which changes no share and keeps the exponentials finite.
    const largest = outputs.reduce((most, output) => V.max(most, output)), powers = outputs.map((output) => V.exp(V.sub(output, largest))), all = V.sum(powers);
    return V.mean(targets.map((target) => V.neg(V.log(V.add(V.div(powers[target]!, all), Losses.EPS)))));
  }
  /** The mean of ½r² where |r| ≤ δ, else δ(|r| − ½δ). */
  static huber(outputs: readonly Value[], targets: readonly Operand[], delta = 1): Value {
    return meanOf(outputs, targets, (output, target) => {
      const r = V.sub(output, target), size = V.abs(r);
      return V.ifThenElse(V.lte(size, delta), V.mul(V.square(r), 0.5), V.mul(V.sub(size, 0.5 * delta), delta));
    });
  }
  /** The mean of c²/6 · (1 − (1 − r²/c²)³) where |r| ≤ c, else c²/6. */
  static tukey(outputs: readonly Value[], targets: readonly Operand[], c = 4.685): Value {
    const bound = (c * c) / 6;
    return meanOf(outputs, targets, (output, target) => {
      const r = V.sub(output, target);
      return V.ifThenElse(V.lte(V.abs(r), c), V.mul(V.sub(1, V.cube(V.sub(1, V.div(V.square(r), c * c)))), bound), bound);
    });
  }
}
