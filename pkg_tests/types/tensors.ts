// Compiled, never run: tensors, arrays and `leastwise/nn`.
import { attention, avgPool2d, batchNorm, cholesky, column, concat, conv2d, crossEntropy, dropout, eigh, einsum, exp, grad, groupNorm, init, linearSolve, map, maxPool2d, oneHot, perEntry, qr, select, solveAsTensors, stack, svd, valueAndGrad, where } from "leastwise";
import type { Arrays, BoolTensor, DeviceArray, DeviceView, DType, Engine, F32, F64, HalfTensor, IntTensor, Kept, Memory, Problem, Report, Storage, Tensor, TensorModel, TensorRouting, TensorStatistics, TensorStep, Variables, Vec2 } from "leastwise";
import { adam, adamW, conv, layer, linear, mlp, sequential, sgd, trainer } from "leastwise/nn";
import type { Batch, Module, Optimizer, Stepped, Trainer, TrainerOptions } from "leastwise/nn";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}

/** Tensors as parts of problems, and solutions as tensors. */
export async function meeting(lw: Engine, problem: Problem, x: Variables<Vec2>, single: Tensor, half: HalfTensor, exact: Tensor<"f64">) {
  const term = problem.residuals("near", { of: [x], data: { t: single, target: column(exact, 2), w: 3, all: [1, 2] }, weight: half }, ([p], { t, target, w, all }) => p.sub(target).mul(t).mul(w).add(all));
  term.set({ t: exact, target: single, w: single, all: half, weight: single });
  term.set({ t: new Float64Array(3), target: column(single, 2) });
  problem.residuals("around", { of: [x.rows([[0], [1]])], data: { w: perEntry(single) } }, ([around], { w }) => around.map((p, k) => p.mul(w[k]!)));
  x.write(single);
  // @ts-expect-error a tensor is of all instances
  x.write(single, { at: [0] });
  // @ts-expect-error there is no such column
  term.set({ other: single });
  // @ts-expect-error a column is a tensor or an array
  term.set({ t: { tensor: single } });
  const { tensors: [y], report } = await solveAsTensors(problem, { variables: [x], data: [[term, { t: single, weight: single }]], costTolerance: 1e-12 });
  is<Same<typeof y, Tensor>>();
  is<Same<typeof report, Report>>();
  const { tensors } = await solveAsTensors(problem, { variables: [x, x], data: [[term, { t: exact }]] });
  is<Same<typeof tensors, readonly [Tensor<"f64">, Tensor<"f64">]>>();
  const [slope] = grad(y.sum(), [single]);
  is<Same<typeof slope, Tensor>>();
  // @ts-expect-error data are tensors
  await solveAsTensors(problem, { variables: [x], data: [[term, { t: 3 }]] });
  // @ts-expect-error of one precision
  await solveAsTensors<[typeof x], "f32">(problem, { variables: [x], data: [[term, { t: exact }]] });
  // @ts-expect-error variables are named
  await solveAsTensors(problem, { data: [[term, { t: single }]] });
}

/** Integers and booleans. */
export async function whole(lw: Engine, x: Tensor, exact: Tensor<"f64">) {
  const ids = lw.tensor(new Int32Array(2)), mask = x.less(0), both = mask.logicalAnd(ids), flags = await mask.read(), wrapped = ids.mul(3).add(mask).sub(1).neg().mod(ids).floorDivide(2).pow(2).bitwiseXor(ids).shiftLeft(2);
  is<Same<typeof ids, IntTensor>>();
  is<Same<typeof mask, BoolTensor>>();
  is<Same<typeof both, BoolTensor>>();
  is<Same<typeof flags, Uint8Array<ArrayBuffer>>>();
  is<Same<typeof wrapped, IntTensor>>();
  const values = await ids.reshape(-1).slice([0, 1]).expandDims(0).max().read(), count = mask.sum(0), real = ids.add(x), mean = ids.mean(), quotient = ids.div(2), masked = mask.mul(x);
  is<Same<typeof values, Int32Array<ArrayBuffer>>>();
  is<Same<typeof count, IntTensor>>();
  is<Same<typeof real, Tensor>>();
  is<Same<typeof mean, Tensor>>();
  is<Same<typeof quotient, Tensor>>();
  is<Same<typeof masked, Tensor>>();
  const joined = concat([ids, ids]), chosen = where(mask, ids, 0), made = lw.arange(3, { dtype: "int32", step: 2 }), truths = lw.tensor([[true], [false]]), filled = lw.full([2], true, { dtype: "bool" }), cast = x.cast("int32"), wide = exact.cast("bool");
  is<Same<typeof joined, IntTensor>>();
  is<Same<typeof chosen, IntTensor>>();
  is<Same<typeof made, IntTensor>>();
  is<Same<typeof truths, BoolTensor>>();
  is<Same<typeof filled, BoolTensor>>();
  is<Same<typeof cast, IntTensor>>();
  is<Same<typeof wide, BoolTensor<"f64">>>();
  const turned = ids.T, padded = mask.pad([[1, 1]]), either = mask.maximum(both), neither = mask.minimum(0), turnedHalf = x.cast("f16").T;
  is<Same<typeof turned, IntTensor>>();
  const places = [x.argmax(0), x.argmin(), x.argsort(), x.topk(1).indices], wides = exact.argmax();
  is<Same<typeof places, IntTensor[]>>();
  is<Same<typeof wides, IntTensor<"f64">>>();
  is<Same<typeof padded, BoolTensor>>();
  const ordered = [ids.sort(), ids.topk(2).values, ids.takeAlongAxis([0], 0), ids.putAlongAxis([0], mask, 0), ids.putAlongAxis([0], 7, 0), ids.scatterAdd([0], ids, 0), mask.putAlongAxis([0], ids, 0), mask.scatterAdd([0], ids, 0)], sums = [ids.cumsum(), ids.cumprod(0), mask.cumsum(0)];
  is<Same<typeof ordered, IntTensor[]>>();
  is<Same<typeof sums, IntTensor[]>>();
  const products = [ids.matmul(ids), ids.matmul(mask), mask.matmul(ids), einsum("i,i->", ids, ids), einsum("ii", ids), einsum("ij,ij->ij", mask, ids), einsum("ij->ji", mask), einsum("ij,jk->ik", mask, mask)], reals = [ids.matmul(x), ids.scatterAdd([0], x, 0), einsum("i,i->", ids, x), einsum("i,i->", mask, x), x.sort(), x.topk(1).values];
  is<Same<typeof products, IntTensor[]>>();
  is<Same<typeof reals, Tensor[]>>();
  const moved = [mask.sort(0, { descending: true }), mask.topk(1).values, mask.takeAlongAxis(ids, 0), mask.putAlongAxis([0], mask, 0)];
  is<Same<typeof moved, BoolTensor[]>>();
  // @ts-expect-error of one engine's precision
  ids.matmul(exact);
  // @ts-expect-error as many operands as subscripts
  einsum("i,i->", ids);
  is<Same<typeof either, BoolTensor>>();
  is<Same<typeof neither, Tensor>>();
  is<Same<typeof turnedHalf, Tensor>>();
  // @ts-expect-error bits are those of integers
  x.bitwiseAnd(1);
  // @ts-expect-error of one engine's precision
  ids.add(exact);
}

export async function tensors(floats: F32, doubles: F64, words: Uint32Array) {
  using lw = await init();
  using a = lw.tensor(floats, [2, 3]);
  const nested = lw.tensor([[1, 2], [3, 4]]), one = lw.tensor(1), d = lw.tensor(doubles, [6], { dtype: "f64" });
  is<Same<typeof a, Tensor>>();
  is<Same<typeof nested, Tensor<"f32">>>();
  is<Same<typeof d, Tensor<"f64">>>();
  is<Same<typeof a.shape, readonly number[]>>();
  const values = await a.read(), exact = await d.exp().read(), item = await one.item();
  is<Same<typeof values, F32>>();
  is<Same<typeof exact, F64>>();
  is<Same<typeof item, number>>();
  is<Same<typeof a.buffer, DeviceView | undefined>>();
  is<Same<typeof a.T, Tensor>>();
  const chain = a.add(1).mul(nested).sub(a).div(2).pow(2).maximum(0).matmul(a.transpose(1, 0)).reshape(-1, 2).sum([0, -1], { keepDims: true });
  is<Same<typeof chain, Tensor>>();
  a.slice([0, 5], ":", { step: -1 }, 3, null, [null, -1, 2]).flip(0).pad([[1, 1], [0, 2]], 7).expandDims(0).squeeze().softmax(-1).layerNorm({ scale: a, epsilon: 1e-6 });
  a.reshape([2, 3]).broadcastTo([4, 2, 3]).gather(words).gather([0, 1]).gather(lw.indices([0]));
  concat([a, nested], 1);
  stack([a, a]);
  where(a.less(0), 0, a);
  crossEntropy(a, words);
  attention(a, a, a, { causal: true });
  conv2d(a, a, { step: 2, padding: [1, 0] });
  maxPool2d(a, { size: 2 });
  avgPool2d(a, { size: 2, step: [1, 2] });
  batchNorm(a, { scale: a, mean: a, variance: a });
  groupNorm(d, 2, { shift: d, epsilon: 1e-3 });
  attention(d, d, d, { mask: d });
  // @ts-expect-error a mask is computed with as the rest is
  attention(a, a, a, { mask: d });
  // @ts-expect-error a rate and a seed are needed
  dropout(a, { rate: 0.5 });
  const parts = d.split(2, -1), spread = d.var(0, { correction: 1 }).add(d.std()).add(d.norm([0], { order: Infinity })).add(d.logsumexp()).add(d.prod(0, { keepDims: true }));
  is<Same<typeof parts, Tensor<"f64">[]>>();
  is<Same<typeof spread, Tensor<"f64">>>();
  a.clip(0, null).mod(2).atan2(a).log2().leakyRelu().tile([2, 1]).repeat(2, 0).argmin(0).isNaN().notEqual(a);
  oneHot(lw.indices([0, 1]), 2).add(lw.eye(2));
  a.cumsum().cumprod(0).sort(1, { descending: true }).argsort().takeAlongAxis(words, 0).putAlongAxis(a, 0, -1).scatterAdd([0], a, 0);
  const top = d.topk(2, 0), { r } = qr(d), { s, vh } = svd(d), { eigenvalues } = eigh(d);
  is<Same<typeof top.values, Tensor<"f64">>>();
  is<Same<typeof r, Tensor<"f64">>>();
  is<Same<typeof eigenvalues, Tensor<"f64">>>();
  linearSolve(cholesky(d), s.add(vh));
  // @ts-expect-error one is of f32, the other of f64
  linearSolve(a, d);
  const both = valueAndGrad((x, y) => x.mul(y).sum(), [d, d]);
  is<Same<typeof both.gradients, readonly [Tensor<"f64">, Tensor<"f64">]>>();
  const shape: number[] = [2, 3];
  lw.zeros(shape);
  lw.random(shape, { seed: 1, distribution: "normal", deviation: 2 });
  lw.arange(3, { start: 1 });
  // A function that takes tensors of either precision.
  const norm = <D extends DType>(x: Tensor<D>): Tensor<D> => x.square().sum().sqrt();
  is<Same<ReturnType<typeof norm<"f64">>, Tensor<"f64">>>();
  // @ts-expect-error one is of f32, the other of f64
  a.add(d);
  // @ts-expect-error nor are they multiplied
  attention(a, a, d);
  // @ts-expect-error a product of matrices is of tensors
  a.matmul(2);
  // @ts-expect-error an array is no tensor
  a.add([1, 2, 3]);
  // @ts-expect-error JavaScript operators compute nothing
  a * 2;
  // @ts-expect-error nor does Math
  Math.exp(a);
  // @ts-expect-error what has no elements yet has none to index
  a[0];
  // @ts-expect-error a condition is a tensor
  where(true, a, a);
  // @ts-expect-error the size of windows is needed
  maxPool2d(a, {});
  // @ts-expect-error a range is no name
  a.slice("all");
  // @ts-expect-error a range has two ends
  a.slice([1]);
  // @ts-expect-error names are no sizes
  lw.zeros(["2"]);
  // @ts-expect-error there is no such type of number
  lw.tensor([1], [1], { dtype: "bf16" });
  // @ts-expect-error random numbers need a seed
  lw.random([2], {});
  // @ts-expect-error a deviation is a normal distribution's
  lw.random([2], { seed: 1, deviation: 2 });
  // @ts-expect-error tensors are immutable
  a.shape = [6];
  // @ts-expect-error and are made by an engine
  new Tensor();
}

export async function halves(lw: Engine, a: Tensor, d: Tensor<"f64">) {
  const made = lw.tensor([1, 2], [2], { dtype: "f16" }), kept = a.cast("f16");
  is<Same<typeof made, HalfTensor>>();
  is<Same<typeof kept, Tensor<"f32", "f16">>>();
  is<Same<typeof kept.dtype, "f16">>();
  is<Same<typeof a.dtype, "f32">>();
  const others = [lw.zeros([2], { dtype: "f16" }), lw.ones([2], { dtype: "f16" }), lw.full([2], 3, { dtype: "f16" }), lw.arange(2, { dtype: "f16", start: 1 }), lw.random([2], { dtype: "f16", seed: 1 }), kept.cast("f16")];
  is<Same<typeof others, HalfTensor[]>>();
  // What is computed of halves is f32, with f32 or without.
  const results = [kept.add(a), a.add(kept), kept.mul(kept), kept.matmul(a), kept.T, kept.sum(), concat([a, kept]), where(kept, a, kept), attention(kept, a, kept), map((x, y) => x.add(y), kept, a), kept.cast("f32"), kept.gather([0]), conv2d(a, kept)];
  is<Same<typeof results, Tensor[]>>();
  const values = await kept.read();
  is<Same<typeof values, F32>>();
  const [first, second] = grad(kept.mul(a).sum(), [kept, a]);
  is<Same<typeof first, Tensor>>();
  is<Same<typeof second, Tensor>>();
  await lw.evaluate(kept, a);
  // A function of tensors, however they are kept.
  const norm = <D extends DType>(x: Kept<D>): Tensor<D> => x.square().sum().sqrt();
  is<Same<ReturnType<typeof norm<"f32">>, Tensor>>();
  norm(kept);
  norm(d);
  const arrays = [lw.arrays.allocate([2], { dtype: "f16" })], list: readonly Storage[] = ["f16", "f32", "f64"];
  is<Same<typeof arrays, DeviceArray<"f32", "f16">[]>>();
  lw.arrays.add(arrays[0]!, lw.arrays.allocate([2]), arrays[0]!);
  is<Same<(typeof arrays)[0]["precision"], "f32">>();
  // @ts-expect-error halves do not mix with f64
  kept.add(d);
  // @ts-expect-error nor the other way round
  d.matmul(kept);
  // @ts-expect-error nor in a function
  attention(kept, kept, d);
  // @ts-expect-error tensors of f64 are not kept as halves
  d.cast("f16");
  // @ts-expect-error nor computed with in another precision
  kept.cast("f64");
  // @ts-expect-error there is no such kind
  a.cast("bf16");
  // @ts-expect-error what is kept as halves is not what is kept as f32
  const plain: Tensor = kept;
  // @ts-expect-error whole numbers are not kept as halves
  lw.indices([1], [1], { dtype: "f16" });
  // @ts-expect-error parameters are trained in f32
  layer([kept], ([w], x) => x.mul(w));
  // @ts-expect-error an array of f64 takes no halves
  lw.arrays.add(arrays[0]!, arrays[0]!, lw.arrays.allocate([2], { dtype: "f64" }));
  void plain, list;
}

export function gradients(lw: Engine, a: Tensor, b: Tensor, d: Tensor<"f64">) {
  const loss = map((x, y) => select(x.gt(y), exp(x), y.square()), a, b).sum();
  is<Same<typeof loss, Tensor>>();
  const found = grad(loss, [a, b]);
  is<Same<typeof found, readonly [Tensor, Tensor]>>();
  const [first] = grad(loss, [a]);
  is<Same<typeof first, Tensor>>();
  const list: readonly Tensor[] = [a, b], many = grad(loss, list);
  is<Same<typeof many, readonly Tensor[]>>();
  const [precise] = grad(d.sum(), [d]);
  is<Same<typeof precise, Tensor<"f64">>>();
  // @ts-expect-error there are two, not three
  const [x, y, z] = grad(loss, [a, b]);
  // @ts-expect-error a loss is a tensor
  grad(3, [a]);
  // @ts-expect-error numbers have no gradient
  grad(loss, [1]);
  // @ts-expect-error it takes as many elements as there are tensors
  map((x, y) => x.add(y), a);
  // @ts-expect-error it returns a scalar
  map((x) => x.gt(0), a);
  // @ts-expect-error which a number is not
  map(() => 1, a);
  // @ts-expect-error an expression is no tensor
  map((x) => x.matmul(x), a);
}

export async function engines(lw: Engine) {
  const kept = lw.scope(() => ({ a: lw.ones([2]), list: [lw.ones([1])] }));
  is<Same<typeof kept, { a: Tensor<"f32">; list: Tensor<"f32">[] }>>();
  // @ts-expect-error an asynchronous scope would free at the wrong time
  lw.scope(async () => lw.ones([2]));
  // @ts-expect-error nor may it return what is to be awaited
  lw.scope(() => kept.a.read());
  await lw.evaluate(kept.a, lw.ones([1], { dtype: "f64" }));
  lw.tensors({ routing: "cpu", poolBytes: 1e6, slopes: "limits" });
  // @ts-expect-error there are two kinds of slopes
  lw.tensors({ slopes: "jax" });
  const [mean] = await lw.meanOverRanks([lw.ones([2])]), [exactMean] = await lw.meanOverRanks([lw.ones([2], { dtype: "f64" })]), sums = await lw.sumOverRanks(grad(lw.ones([2]).sum(), [lw.ones([2])]));
  is<Same<typeof mean, Tensor>>();
  is<Same<typeof exactMean, Tensor<"f64">>>();
  is<Same<(typeof sums)[0], Tensor>>();
  // @ts-expect-error sums are of floats
  await lw.sumOverRanks([lw.ones([2], { dtype: "int32" })]);
  const model = await lw.measureTensors();
  is<Same<typeof model, TensorModel>>();
  lw.tensors({ model, advantage: 2 });
  const routing = lw.tensorRouting();
  is<Same<typeof routing, TensorRouting>>();
  is<Same<typeof routing.model, TensorModel | undefined>>();
  is<Same<typeof routing.source, "given" | "measured" | "kept" | "none">>();
  // @ts-expect-error a model has rates of both devices
  lw.tensors({ model: { device: model.device } });
  // @ts-expect-error what is told is not to be written over
  routing.advantage = 2;
  // @ts-expect-error there is no such route
  lw.tensors({ routing: "gpu" });
  is<Same<ReturnType<typeof lw.tensorTrace>, readonly TensorStep[]>>();
  is<Same<ReturnType<typeof lw.tensorStatistics>, TensorStatistics>>();
  is<Same<ReturnType<typeof lw.memory>, Memory>>();
  lw.trim();
}

export async function arrays(lw: Engine) {
  const { arrays } = lw;
  is<Same<typeof arrays, Arrays>>();
  const a = arrays.allocate([2, 2]), b = arrays.allocate([2, 2]), d = arrays.allocate([2], { dtype: "f64" });
  is<Same<typeof a, DeviceArray>>();
  arrays.write(a, [1, 2, 3, 4]);
  arrays.add(a, b, a);
  arrays.sum(a, b, { axis: 0, keepDims: true });
  const values = await arrays.read(d);
  is<Same<typeof values, F64>>();
  await arrays.synchronize();
  // @ts-expect-error where to?
  arrays.add(a, b);
  // @ts-expect-error into an array of the same precision
  arrays.add(a, b, d);
  // @ts-expect-error a tensor can't be written over
  arrays.relu(a, lw.ones([2, 2]));
}

export async function networks(lw: Engine, images: F32, labels: Uint32Array) {
  const model = sequential(conv(lw, 1, 8, 5, { seed: 1, padding: 2 }), (x) => maxPool2d(x.relu(), { size: 2 }), (x) => x.reshape(-1, 8 * 196), mlp(lw, [8 * 196, 32, 10], { seed: 2, activation: "gelu" }));
  is<Same<typeof model, Module>>();
  const run = trainer(model, (model, { x, y }: { x: F32; y: Uint32Array }) => crossEntropy(model.forward(lw.tensor(x, [10, 1, 28, 28])), y), adam({ learningRate: (step) => 1 / step }));
  is<Same<typeof run, Trainer<{ x: F32; y: Uint32Array }>>>();
  const loss = await run.step({ x: images, y: labels });
  is<Same<typeof loss, number>>();
  const untyped = trainer(model, (model, { x, y }) => crossEntropy(model.forward(lw.tensor(x, [10, 1, 28, 28])), y), adam());
  is<Same<typeof untyped, Trainer<Batch>>>();
  await untyped.step({ x: images, y: labels });
  // @ts-expect-error a batch is a record of columns
  await untyped.step(3);
  const own = layer([lw.ones([2]), lw.zeros([2])], ([scale, shift], x) => x.mul(scale).add(shift));
  is<Same<typeof own, Module>>();
  const exact = linear(lw, 2, 1, { seed: 1, dtype: "f64" });
  is<Same<typeof exact, Module<"f64">>>();
  const optimizers: Optimizer[] = [sgd({ learningRate: 0.1, momentum: 0.9 }), adamW({ weightDecay: 0.1 })];
  const stepped = optimizers[0]!.step(own.parameters(), own.parameters());
  is<Same<typeof stepped, Stepped>>();
  // @ts-expect-error a rate is needed
  sgd({});
  // @ts-expect-error a seed is needed
  linear(lw, 2, 1, {});
  // @ts-expect-error there is no such activation
  mlp(lw, [1, 2], { seed: 1, activation: "swish" });
  // @ts-expect-error a part is a module or a function
  sequential(model, 3);
  // @ts-expect-error labels are missing in the batch
  await run.step({ x: images });
  // @ts-expect-error a loss is a tensor, and comes at once
  trainer(model, async (model, x: Tensor) => model.forward(x), adam());
  const options: TrainerOptions = { ranks: true };
  trainer(model, (model, x: Tensor) => model.forward(x).mean(), adam(), options);
  // @ts-expect-error a module of f32 takes no f64
  own.forward(lw.ones([2], { dtype: "f64" }));
}
