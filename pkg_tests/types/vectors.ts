// Compiled, never run: `leastwise/vectors`.
import type { F32 } from "leastwise";
import { encodeNpy, fromHalf, half, openVectors, toHalf } from "leastwise/vectors";
import type { Elements, Half, Vectors, VectorStream } from "leastwise/vectors";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}

export async function files(bytes: Uint8Array, stream: ReadableStream<Uint8Array>) {
  const vectors = await openVectors(bytes);
  const streamed = await openVectors(stream, { format: "fvecs" });
  is<Same<typeof vectors, Vectors>>();
  is<Same<typeof streamed, VectorStream>>();
  is<Same<typeof vectors.count, number>>();
  is<Same<typeof streamed.count, number | undefined>>();
  const rows = await vectors.rows(0, 10), elements = await vectors.elements();
  is<Same<typeof rows, F32>>();
  is<Same<typeof elements, Elements>>();
  for await (const chunk of streamed.chunks(1000)) is<Same<typeof chunk, F32>>();
  await openVectors({ size: 100, read: async (offset, length) => bytes.subarray(offset, offset + length) }, { format: "raw", type: "float16", dim: 4, offset: 2 });
  // @ts-expect-error raw numbers say nothing of themselves
  await openVectors(bytes, { format: "raw" });
  // @ts-expect-error a .npy file says itself what it is
  await openVectors(bytes, { format: "npy", dim: 3 });
  // @ts-expect-error there is no such type of number
  await openVectors(bytes, { format: "raw", type: "f4", dim: 3 });
  // @ts-expect-error a stream comes in order, once
  await streamed.rows(0, 10);
  // @ts-expect-error a name is not a file
  await openVectors("vectors.npy");
}

export function halves(words: Uint16Array, floats: F32) {
  const numbers = half(words);
  is<Same<typeof numbers, Half>>();
  is<Same<ReturnType<typeof toHalf>, Half>>();
  is<Same<ReturnType<typeof fromHalf>, F32>>();
  // @ts-expect-error words stand for halves, numbers don't
  half(floats);
  // @ts-expect-error a list is no typed array
  encodeNpy([1, 2, 3]);
  encodeNpy(numbers, [2, 3]);
  const file = encodeNpy(Uint32Array.of(1, 2, 3), [1, 3]);
  is<Same<typeof file, InstanceType<Uint8ArrayConstructor>>>();
}
