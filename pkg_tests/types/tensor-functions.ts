// Compiled, never run: functions of tensors that are made of others.
import { attention, conv2d, convTranspose2d, einsum, hvp, init, jvp, vjp } from "leastwise";
import type { Engine, F32, F64, HalfTensor, Kept, Tensor } from "leastwise";
import { linear, loadModel, loadTensors, saveModel, saveTensors } from "leastwise/nn";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}

export async function functions(subscripts: string) {
  using lw = await init();
  const a = lw.ones([2, 2]), d = lw.ones([2, 2], { dtype: "f64" }), half = lw.ones([2, 2], { dtype: "f16" });
  const product = einsum("ij,jk", a, half), exact = einsum("...ij,jk,k->...i", d, d, d);
  is<Same<typeof product, Tensor>>();
  is<Same<typeof exact, Tensor<"f64">>>();
  einsum(subscripts, a, a, a);
  // @ts-expect-error two operands are named, and one is given
  einsum("ij,jk", a);
  // @ts-expect-error one operand is named, and two are given
  einsum("ij", a, a);
  // @ts-expect-error one is of f32, the other of f64
  einsum("ij,jk", a, d);
  // @ts-expect-error an array is no tensor
  einsum("ij,j", a, [1, 2]);
  // @ts-expect-error subscripts come first
  einsum(a, "ij");

  const { value, pull } = vjp((x, y) => x.matmul(y), [d, d]), slopes = pull(d);
  is<Same<typeof value, Kept<"f64">>>();
  is<Same<typeof slopes, readonly [Tensor<"f64">, Tensor<"f64">]>>();
  const along = jvp((x) => x.square(), [a], [a]), curved = hvp((x, y) => x.mul(y).sum(), [a, a], [a, half]);
  is<Same<typeof along.tangent, Tensor>>();
  is<Same<typeof curved.products, readonly [Tensor, Tensor]>>();
  // @ts-expect-error a cotangent of another precision
  pull(a);
  // @ts-expect-error a tangent for each
  jvp((x, y) => x.mul(y), [a, a], [a]);
  // @ts-expect-error of the same precision
  jvp((x) => x.square(), [a], [d]);
  // @ts-expect-error a function of tensors gives a tensor
  vjp((x) => 1, [a]);
  // @ts-expect-error directions are needed
  hvp((x) => x.sum(), [a]);

  conv2d(d, d, { padding: "same", groups: 2 });
  const larger = convTranspose2d(d, d, { step: 2, outputPadding: [1, 0] });
  is<Same<typeof larger, Tensor<"f64">>>();
  attention(a, half, a, { lengths: [1, 2], grouped: true });
  // @ts-expect-error what is padded to a size has one word
  conv2d(a, a, { padding: "valid" });
  // @ts-expect-error a transpose has no such size
  convTranspose2d(a, a, { padding: "same" });
  // @ts-expect-error stride is called step
  conv2d(a, a, { stride: 2 });
  // @ts-expect-error lengths are whole numbers
  attention(a, a, a, { lengths: "all" });

  using exact64 = await init({ precision: "f64", backend: "cpu" });
  const zeros = exact64.zeros([2]), weights = linear(exact64, 2, 2, { seed: 1 }).parameters(), listed = exact64.tensor([1, 2]), rounded = exact64.zeros([2], { dtype: "f32" });
  is<Same<typeof zeros, Tensor<"f64">>>();
  is<Same<typeof weights, readonly Tensor<"f64">[]>>();
  is<Same<typeof listed, Tensor<"f64">>>();
  is<Same<typeof rounded, Tensor>>();
  const doubles = lw.tensor(new Float64Array(2)), singles = lw.tensor(new Float64Array(2), [2], { dtype: "f32" }), floats = lw.tensor(new Float32Array(2)), either = lw.tensor(new Float32Array(2) as F32 | F64, [2], { dtype: "f32" });
  is<Same<typeof doubles, Tensor<"f64">>>();
  is<Same<typeof singles, Tensor>>();
  is<Same<typeof floats, Tensor>>();
  is<Same<typeof either, Tensor>>();
  // @ts-expect-error of an array of either precision the dtype has to be said
  lw.tensor(new Float32Array(2) as F32 | F64);
  // @ts-expect-error a Float64Array makes a tensor of f64
  lw.ones([2]).add(lw.tensor(new Float64Array(2)));
  const engine: Engine = exact64;
  engine.problem();
  const file = await saveTensors({ a, d, half }, { metadata: { epoch: "3" } }), single = loadTensors(lw, file).tensors["a"]!, double = loadTensors(lw, file.buffer, { dtype: "f64" }).tensors["a"]!, small = loadTensors(lw, file, { dtype: "f16" }).tensors["a"]!;
  is<Same<typeof single, Kept>>();
  is<Same<typeof double, Tensor<"f64">>>();
  is<Same<typeof small, HalfTensor>>();
  const model = linear(lw, 2, 2, { seed: 1 }), texts = loadModel(model, await saveModel(model, { names: ["w", "b"] }), { strict: false });
  is<Same<typeof texts, { readonly [key: string]: string }>>();
  // @ts-expect-error tensors have names
  await saveTensors([a]);
  // @ts-expect-error texts are no numbers
  await saveTensors({ a }, { metadata: { epoch: 3 } });
  // @ts-expect-error a file is no text
  loadTensors(lw, "file");
  // @ts-expect-error the model is of f32
  loadModel(model, file, { dtype: "f64" });
}
