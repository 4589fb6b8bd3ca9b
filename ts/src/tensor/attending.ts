/** Attention with masks, lengths, batches that broadcast and heads that share keys: around the engine's own, or by products. */
import { isArrayLike } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { apply, computedWith, LARGEST, mustBeTensor, mustGoTogether, withNumbers } from "./apply.js";
import { made } from "./composed.js";
import { shown, type Sizes } from "./shapes.js";
import { Tensor, type AnyTensor, type DType, type Kept } from "./tensor.js";

/** Longest query, key and value of the engine's kernel. */
const LONGEST = 256;

interface How {
  readonly scale: number;
  readonly causal: boolean;
  readonly grouped: boolean;
  readonly mask: unknown;
  readonly lengths: unknown;
}

/** Sizes that batches broadcast to. */
function joint(what: string, shapes: readonly Sizes[]): Sizes {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    const own = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1), size = own.find((each) => each !== 1) ?? 1;
    if (own.some((each) => each !== 1 && each !== size)) throw new LeastwiseError("shape", `${what}: axes before the last two, ${shapes.map(shown).join(" and ")}, do not broadcast`);
    return size;
  });
}

/** softmax(scale · q kᵀ) v over the last two axes. @internal */
export function attended<D extends DType>(what: string, q: Kept<D>, k: Kept<D>, v: Kept<D>, how: How): Tensor<D> {
  const { scale, causal, grouped, mask, lengths } = how, batches = [q, k, v].map(({ shape }) => shape.slice(0, -2));
  const isShort = Math.max(q.shape.at(-1) ?? 0, v.shape.at(-1) ?? 0) <= LONGEST, isOne = batches.every((batch) => shown(batch) === shown(batches[0]!));
  // The engine's own, which refuses what does not fit.
  if (mask === undefined && lengths === undefined && !grouped && isOne && isShort) return apply("attention", [q, k, v], [scale, causal ? 1 : 0]);
  const [n, m, d] = [q.shape.at(-2), k.shape.at(-2), q.shape.at(-1)];
  if (n === undefined || m === undefined || v.rank < 2 || v.shape.at(-2) !== m || k.shape.at(-1) !== d) throw new LeastwiseError("shape", `${what}: queries ${shown(q.shape)}, keys ${shown(k.shape)} and values ${shown(v.shape)} must be [.., n, d], [.., m, d] and [.., m, e]`);
  if (mask !== undefined) {
    mustBeTensor(what, "mask", mask);
    mustGoTogether(what, q as AnyTensor, [mask]);
  }
  return made(what, q as AnyTensor, () => {
    if (grouped) return ofGroups(what, q, k, v, how);
    if (lengths !== undefined) {
      if (!isArrayLike(lengths)) mustBeTensor(what, "lengths", lengths);
      return withNumbers(`${what}: lengths`, lengths as Kept<D> | ArrayLike<number>, q, (given) => masked(q, k, v, how, counted(what, given, joint(what, batches), m, q)));
    }
    if (mask !== undefined || !isShort) return masked(q, k, v, how);
    const batch = joint(what, batches), [a, b, c] = [q, k, v].map((each) => each.broadcastTo([...batch, ...each.shape.slice(-2)])) as [Tensor<D>, Tensor<D>, Tensor<D>];
    return apply<D>("attention", [a as Kept<D>, b as Kept<D>, c as Kept<D>], [scale, causal ? 1 : 0]);
  });
}

const count = <D extends DType>(like: Kept<D>, size: number): Tensor<D> => new Tensor<D>(like.context, like.context.apply("count", [], [size], computedWith(like)), computedWith(like) as D);

/** 1 for the first keys of each batch, of which there are so many: lengths are of the first axes. */
function counted<D extends DType>(what: string, lengths: Kept<D>, batch: Sizes, m: number, like: Kept<D>): Kept<D> {
  mustGoTogether(`${what}: lengths`, like as AnyTensor, [lengths as AnyTensor]);
  if (lengths.rank > batch.length || lengths.shape.some((size, axis) => size !== batch[axis] && size !== 1)) throw new LeastwiseError("shape", `${what}: lengths are ${shown(lengths.shape)}, but must be of the first of the axes ${shown(batch)} before the last two`);
  if (lengths.largest !== undefined && lengths.largest > m) throw new LeastwiseError("index-out-of-range", `${what}: there is a ${lengths.largest} among the lengths, but there are ${m} keys`);
  return count(like, m).less(lengths.reshape([...lengths.shape, ...batch.slice(lengths.rank).map(() => 1), 1, 1]) as Kept<D>);
}

/** By products of matrices, with the scores in memory. */
function masked<D extends DType>(q: Kept<D>, k: Kept<D>, v: Kept<D>, { scale, causal, mask }: How, within?: Kept<D>): Tensor<D> {
  const scores = q.matmul(k.T as Kept<D>).mul(scale), [n, m] = scores.shape.slice(-2) as [number, number];
  const conditions = [
    ...(mask === undefined ? [] : [mask as Kept<D>]), ...(within ? [within as Kept<D>] : []),
    ...(causal ? [count(q, m).lessEqual(count(q, n).expandDims(1) as Kept<D>) as Kept<D>] : []),
  ];
  if (conditions.length === 0) return scores.softmax().matmul(v);
  const seen = conditions.length === 1 ? conditions[0]! : conditions.map((each) => each.notEqual(0)).reduce((all, each) => all.logicalAnd(each as Kept<D>));
  // Far below every score, and finite, so that a query without keys is defined.
  return apply<D>("where", [seen as Kept<D>, scores as Kept<D>, -LARGEST[computedWith(q)] / 4]).softmax().matmul(v);
}

/** Queries of h heads, keys and values of g: head i of the queries sees head ⌊i g/h⌋ of the keys. */
function ofGroups<D extends DType>(what: string, q: Kept<D>, k: Kept<D>, v: Kept<D>, how: How): Tensor<D> {
  const heads = q.shape.at(-3), groups = k.shape.at(-3);
  if (heads === undefined || groups === undefined || v.shape.at(-3) !== groups || !(heads % groups === 0)) {
    throw new LeastwiseError("shape", `${what}: grouped queries are [.., heads, n, d], keys and values [.., groups, m, d] and [.., groups, m, e], with heads a multiple of groups, not ${shown(q.shape)}, ${shown(k.shape)} and ${shown(v.shape)}`);
  }
  const each = heads / groups, batch = q.shape.slice(0, -3), [n, d] = q.shape.slice(-2) as [number, number], ungrouped = { ...how, grouped: false };
  const back = (result: Tensor<D>, axes: number): Tensor<D> => result.reshape([...result.shape.slice(0, -axes), heads, n, v.shape.at(-1)!]);
  // What does not depend on a query's place is one matter of more queries.
  if (!how.causal && how.mask === undefined) return back(attended(what, q.reshape([...batch, groups, each * n, d]) as Kept<D>, k, v, ungrouped), 3);
  const mask = how.mask as Kept<D> | undefined, split = mask === undefined || mask.rank < 3 ? mask
    : mask.shape.at(-3) === 1 ? mask.expandDims(-3)
    : mask.shape.at(-3) === heads ? mask.reshape([...mask.shape.slice(0, -3), groups, each, ...mask.shape.slice(-2)])
    : mask;
  if (split === mask && mask !== undefined && mask.rank >= 3) throw new LeastwiseError("shape", `${what}: the mask is ${shown(mask.shape)}, but there are ${heads} heads`);
  return back(attended(what, q.reshape([...batch, groups, each, n, d]) as Kept<D>, k.expandDims(-3) as Kept<D>, v.expandDims(-3) as Kept<D>, { ...ungrouped, mask: split }), 4);
}
