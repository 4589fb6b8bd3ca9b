/** Unpacking of the module that is part of `leastwise/inline`. */
import { wordsOf } from "./errors.js";
import { failed } from "./load-errors.js";

/** Base64 of gzip, as bytes. Throws `load` in hosts without `DecompressionStream`. @internal */
export async function unpacked(text: string): Promise<ArrayBuffer> {
  if (typeof DecompressionStream !== "function") throw failed("this host has no DecompressionStream, which unpacks the module of leastwise/inline", "inline");
  try {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  } catch (thrown) {
    throw failed(`the module of leastwise/inline can't be unpacked: ${wordsOf(thrown)}`, "inline", undefined, thrown);
  }
}
