/** The digits, unpacked. */
import { digitsOf, type Digits } from "../../../examples/digits/data.mjs";

export async function loadDigits(): Promise<{ training: Digits; testing: Digits }> {
  // Apart from the rest of the page, which can be seen meanwhile.
  const { lengths, packed } = await import("virtual:digits");
  const { body } = await fetch(`data:application/octet-stream;base64,${packed}`);
  if (!body) throw new Error("this browser can't unpack the digits");
  const bytes = new Uint8Array(await new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  let first = 0;
  return digitsOf(lengths.map((length) => bytes.subarray(first, (first += length))));
}
