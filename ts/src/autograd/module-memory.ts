/** Memories of WebAssembly, and their growth. */
const PAGE = 65536;
/** Addresses are compared as numbers with a sign. */
const MOST_BYTES = 2 ** 31 - PAGE;

/** A memory of a number of bytes at least; undefined where the host has none, or no more of them. @internal */
export function newMemory(bytes: number): WebAssembly.Memory | undefined {
  if (typeof WebAssembly === "undefined" || bytes > MOST_BYTES) return undefined;
  try {
    return new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
  } catch (thrown) {
    // Hosts bound the number of memories, and their size: those that are collected later are given back.
    if (thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

/** Makes a memory at least as large as a number of bytes. Arrays over its buffer are of no use afterwards. @internal */
export function grow(memory: WebAssembly.Memory, bytes: number): void {
  const missing = bytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
}
