/** Products with Jacobians and Hessians of functions of tensors, without these matrices. */
import { listOf } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { computedWith, mustBeTensor, mustGoTogether } from "./apply.js";
import { made } from "./composed.js";
import { grad, where } from "./functions.js";
import { shown } from "./shapes.js";
import { mustBeTensors, Tensor, type AnyTensor, type DType, type Kept } from "./tensor.js";

/** A tensor for each of `T`. */
type Each<T extends readonly unknown[], D extends DType> = { readonly [K in keyof T]: Tensor<D> };
type EachGiven<T extends readonly unknown[], D extends DType> = { readonly [K in keyof T]: Kept<D> };

/**
 * Result of {@link vjp}: the value, and the function that pulls a cotangent of it back.
 *
 * @example
 * const { value, pull }: Pullback<"f32", [Tensor]> = vjp((w) => w.square(), [weights]);
 * const [slope] = pull(lw.ones(value.shape));
 */
export interface Pullback<D extends DType, T extends readonly unknown[]> {
  readonly value: Kept<D>;
  /** Jᵀ·cotangent for each x, in x's shape: the cotangent has the value's shape. It may be called again, but not once the value was evaluated. */
  readonly pull: (cotangent: Kept<NoInfer<D>>) => Each<T, D>;
}

/** The function and its tensors, checked. */
function mustBeWork(what: string, work: unknown, of: unknown): asserts work is (...tensors: readonly unknown[]) => unknown {
  if (typeof work !== "function") throw new LeastwiseError("invalid-option", `${what}: work must be a function of tensors, not ${describe(work)}`);
  mustBeTensors(what, of);
}

/** The value of `work(…of)`, checked. What work made on the way is freed: the engine keeps what the value is made of. */
function valueOf<D extends DType>(what: string, work: (...tensors: readonly unknown[]) => unknown, of: readonly Kept<D>[]): Kept<D> {
  return made(what, of[0] as AnyTensor, () => {
    const value: unknown = work(...of);
    mustBeTensor(what, "what work returns", value);
    mustGoTogether(what, value, of as readonly AnyTensor[]);
    return value;
  }) as Kept<D>;
}

/** Tensors of the same shapes as these, checked. */
function likewise<D extends DType>(what: string, name: string, given: unknown, of: readonly Kept<D>[]): readonly Kept<D>[] {
  const list = listOf(`${what}: ${name}s`, given, "must be an array of tensors, one for each of those that the function is of");
  if (list.length !== of.length) throw new LeastwiseError("invalid-option", `${what}: there are ${list.length} ${name}s, for ${of.length} tensors`);
  list.forEach((each, k) => sameShape(what, `${name} ${k}`, each, of[k]!));
  return list as readonly Kept<D>[];
}

function sameShape<D extends DType>(what: string, name: string, given: unknown, like: Kept<D>): asserts given is Kept<D> {
  mustBeTensor(what, name, given);
  mustGoTogether(what, like as AnyTensor, [given]);
  if (shown(given.shape) !== shown(like.shape)) throw new LeastwiseError("shape", `${what}: ${name} is ${shown(given.shape)}, but must be ${shown(like.shape)}`);
}

/** Zeros by which one may differentiate. */
function zeros<D extends DType>(like: Kept<D>, shape: readonly number[]): Tensor<D> {
  const { context } = like, dtype = computedWith(like) as D, constant = context.apply("constant", [], [0, ...shape], dtype);
  try {
    return new Tensor<D>(context, context.apply("detach", [constant.id], [], dtype), dtype);
  } finally {
    context.release([constant.id]);
  }
}

/** Gradients of a sum of products, which are 0 by what it does not depend on. */
function pulled<D extends DType>(value: Tensor<D>, weight: Kept<D>, of: readonly Kept<D>[]): readonly Tensor<D>[] {
  const never = zeros(value as Kept<D>, []);
  // Where never chooses, x has no part: neither in the value nor, but for being named, in the gradient.
  const anchored = of.reduce((loss, x) => loss.add(where(never as Kept<D>, x as Kept<NoInfer<D>>, 0).sum() as Kept<D>), value.mul(weight).sum());
  return grad(anchored as Kept<D>, of);
}

/**
 * The value of `work(…of)`, of any shape, and its products with the transposed Jacobian (reverse mode: JAX's `vjp`): `pull(cotangent)` gives Jᵀ·cotangent for
 * each x of `of`, 0 by those that the value does not depend on. Pull before the value is evaluated. As in {@link jvp} and {@link hvp}, all other tensors that
 * `work` makes are freed.
 *
 * @throws `invalid-option` unless `work` is a function that gives a tensor; `shape` for a cotangent of another shape than the value's
 * @example
 * const { value, pull } = vjp((w) => w.matmul(w.T), [weights]);
 * const [slope] = pull(lw.ones(value.shape));
 */
export function vjp<D extends DType, const T extends readonly [Kept<D>, ...Kept<D>[]]>(work: (...of: T) => Kept<D>, of: T): Pullback<D, T> {
  const what = "vjp(work, of)";
  mustBeWork(what, work, of);
  const value = valueOf<D>(what, work, of);
  return {
    value,
    pull(cotangent) {
      sameShape(`${what}: pull(cotangent)`, "the cotangent", cotangent, value);
      return made(`${what}: pull(cotangent)`, value as AnyTensor, () => pulled(value as Tensor<D>, cotangent as Kept<D>, of) as unknown as readonly AnyTensor[]) as unknown as Each<T, D>;
    },
  };
}

/**
 * The value of `work(…of)`, of any shape, and its derivative along tangents, Σ Jₓ·tangentₓ, in the value's shape (JAX's `jvp`). It is the gradient of Jᵀu with
 * respect to u, which is linear in u: two reverse sweeps, whatever the shapes are.
 *
 * @throws `invalid-option` unless `work` is a function that gives a tensor; `shape` for tangents of other shapes; the error of operations without second derivatives (`attention`)
 * @example
 * const { value, tangent } = jvp((w) => w.matmul(w.T), [weights], [lw.ones(weights.shape)]);
 */
export function jvp<D extends DType, const T extends readonly [Kept<D>, ...Kept<D>[]]>(work: (...of: T) => Kept<D>, of: T, tangents: EachGiven<T, NoInfer<D>>): { readonly value: Kept<D>; readonly tangent: Tensor<D> } {
  const what = "jvp(work, of, tangents)";
  mustBeWork(what, work, of);
  const along = likewise<D>(what, "tangent", tangents, of);
  const [value, tangent] = made(what, of[0] as AnyTensor, () => {
    const value = valueOf<D>(what, work, of), u = zeros(value, value.shape), slopes = pulled(value as Tensor<D>, u as Kept<D>, of);
    return [value, pulled(sumOf(slopes, along), zeros(value, []).add(1) as Kept<D>, [u as Kept<D>])[0]!] as unknown as readonly [AnyTensor, AnyTensor];
  });
  return { value: value as unknown as Kept<D>, tangent: tangent as unknown as Tensor<D> };
}

/**
 * A loss, its gradients, and the products of its Hessian with directions (Pearlmutter 1994): for each x of `of` Σ_y ∂²loss/∂x∂y · direction_y. It is the gradient
 * of the gradients' product with the directions.
 *
 * @throws `invalid-option` unless `work` is a function that gives a tensor; `shape` where that is more than one number, and for directions of other shapes
 * @example
 * const { gradients: [slope], products: [curved] } = hvp((w) => w.square().sum(), [weights], [lw.ones(weights.shape)]);
 */
export function hvp<D extends DType, const T extends readonly [Kept<D>, ...Kept<D>[]]>(work: (...of: T) => Kept<D>, of: T, directions: EachGiven<T, NoInfer<D>>): { readonly value: Kept<D>; readonly gradients: Each<T, D>; readonly products: Each<T, D> } {
  const what = "hvp(work, of, directions)";
  mustBeWork(what, work, of);
  const along = likewise<D>(what, "direction", directions, of);
  const [value, ...all] = made(what, of[0] as AnyTensor, () => {
    const value = valueOf<D>(what, work, of);
    if (value.size !== 1) throw new LeastwiseError("shape", `${what}: the loss must be one number, not ${shown(value.shape)}: take its sum or its mean`);
    const one = zeros(value, []).add(1) as Kept<D>, slopes = pulled(value as Tensor<D>, one, of);
    return [value, ...slopes, ...pulled(sumOf(slopes, along), one, of)] as unknown as readonly [AnyTensor, ...AnyTensor[]];
  });
  return { value: value as unknown as Kept<D>, gradients: all.slice(0, of.length) as unknown as Each<T, D>, products: all.slice(of.length) as unknown as Each<T, D> };
}

/** Σ slope · direction over all elements. */
const sumOf = <D extends DType>(slopes: readonly Tensor<D>[], along: readonly Kept<D>[]): Tensor<D> =>
  slopes.map((slope, k) => slope.mul(along[k]!).sum()).reduce((all, each) => all.add(each as Kept<D>));
