/** The digits, unpacked. */
import { digitsOf, type Digits } from "../../../examples/digits/data.mjs";

export async function loadDigits(): Promise<{ training: Digits; testing: Digits }> {
  // Apart from the rest of the page, which can be seen meanwhile.
  const { lengths, address } = await import("virtual:digits");
  const { body, ok, status } = await fetch(address);
  if (!ok || !body) throw new Error(`the digits could not be loaded (${status})`);
  const bytes = new Uint8Array(await new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  let first = 0;
  return digitsOf(lengths.map((length) => bytes.subarray(first, (first += length))));
}
