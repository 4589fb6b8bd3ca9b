/**
 * Envelope of an index file that has a metric or keys. An index by `"l2"` without keys is the engine's file alone, as it always was.
 * `docs/internals/COMPRESSION.md` has the layout.
 */
import type { U8 } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { Keys, type Key } from "./keys.js";
import { Space, type Metric } from "./metric.js";

const MAGIC = Uint8Array.from("LWVINDX\n", (letter) => letter.charCodeAt(0));
const VERSION = 1, HEADER = 64, ALIGNMENT = 64, CHECKSUM_AT = 16;

/** What the engine does not know of an index. @internal */
export interface Description { readonly metric: Metric; readonly maxNorm?: number; readonly ratio?: number; readonly keys?: Keys }

let table: Uint32Array | undefined;

/** Space of an index whose engine's part has these components, vectors and next id, unless the description contradicts them. @internal */
export function spaceOf(sizes: ArrayLike<number>, { metric, maxNorm, keys }: Description): Space {
  const [width, count, nextId] = [sizes[0]!, sizes[1]!, sizes[2]!];
  if (metric === "dot" && width < 2) throw new LeastwiseError("file-corrupt", "the index has no component beside that of its metric");
  const last = keys?.entries().at(-1)?.[0] ?? -1;
  if (keys && (keys.size !== count || last >= nextId)) throw new LeastwiseError("file-corrupt", `the index has ${count} vectors and ${nextId} ids, which its ${keys.size} keys are not of`);
  return new Space(metric, metric === "dot" ? width - 1 : width, maxNorm);
}

/** CRC-32C (Castagnoli; RFC 3720, appendix B.4). @internal */
export function crc32c(bytes: Uint8Array, before = 0): number {
  table ??= Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
    return value;
  });
  let value = ~before;
  for (let k = 0; k < bytes.length; k++) value = table[(value ^ bytes[k]!) & 255]! ^ (value >>> 8);
  return ~value >>> 0;
}

const checksumOf = (head: Uint8Array) => crc32c(head.subarray(HEADER), crc32c(head.subarray(0, CHECKSUM_AT)));

/** Name of a file's content: of its envelope, if there is one, and of the engine's header, whose table has the checksums of all sections. @internal */
export function nameOf(head: Uint8Array, engine: Uint8Array): string {
  const sections = engine.length < HEADER ? 0 : new DataView(engine.buffer, engine.byteOffset, engine.length).getUint32(12, true);
  return [crc32c(head), crc32c(engine.subarray(0, HEADER + 32 * sections)), engine.subarray(0, HEADER)].join();
}

/** Everything before the engine's file. @internal */
export function envelope({ keys, ...rest }: Description): U8 {
  const runs: [first: number, count: number][] = [], names: Key[] = [];
  for (const [id, key] of keys?.entries() ?? []) {
    const last = runs.at(-1);
    if (last && last[0] + last[1] === id) last[1]++;
    else runs.push([id, 1]);
    names.push(key);
  }
  const text = new TextEncoder().encode(JSON.stringify({ ...rest, ...(keys && { ids: runs, keys: names }) }));
  const head = new Uint8Array(HEADER + Math.ceil(text.length / ALIGNMENT) * ALIGNMENT), view = new DataView(head.buffer);
  head.set(MAGIC);
  view.setUint32(8, VERSION, true);
  view.setUint32(12, text.length, true);
  head.set(text, HEADER);
  view.setUint32(CHECKSUM_AT, checksumOf(head), true);
  return head;
}

/** False as soon as a file's beginning shows that it has no envelope. @internal */
export function mayBeEnvelope(start: Uint8Array): boolean {
  return start.subarray(0, MAGIC.length).every((byte, k) => byte === MAGIC[k]);
}

/** Bytes of the envelope; of fewer than 64 bytes of it, those 64. @internal */
export function envelopeBytes(start: Uint8Array): number {
  if (start.length < HEADER) return HEADER;
  const view = new DataView(start.buffer, start.byteOffset, start.length), version = view.getUint32(8, true);
  if (version !== VERSION) throw new LeastwiseError("file-version", `the file is of version ${version} of indices with a metric or keys; version ${VERSION} can be read`);
  return HEADER + Math.ceil(view.getUint32(12, true) / ALIGNMENT) * ALIGNMENT;
}

/** An envelope that is all there. @internal */
export function readEnvelope(head: Uint8Array): Description {
  const view = new DataView(head.buffer, head.byteOffset, head.length), length = view.getUint32(12, true);
  if (checksumOf(head) !== view.getUint32(CHECKSUM_AT, true)) throw new LeastwiseError("file-corrupt", "the description of the index does not match its checksum: the file was damaged; copy it again");
  const isZero = (from: number, to: number) => head.subarray(from, to).every((byte) => byte === 0);
  if (!isZero(CHECKSUM_AT + 4, HEADER) || !isZero(HEADER + length, head.length)) throw bad("unused bytes are not zero");
  return descriptionOf(head.subarray(HEADER, HEADER + length));
}

/** @internal */
export const endsInEnvelope = (needed: number, there: number) => new LeastwiseError("file-truncated", `the file ends too early: its description needs ${needed} bytes, but there are ${there}; copy it again, or make it anew`);

const bad = (why: string) => new LeastwiseError("file-format", `this is no index with a metric or keys: ${why}`);
const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;
const isPositive = (value: unknown): value is number => typeof value === "number" && value > 0 && Number.isFinite(value);

function descriptionOf(bytes: Uint8Array): Description {
  let said: { readonly [name: string]: unknown };
  try {
    said = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as typeof said;
  } catch {
    throw bad("its description is no JSON");
  }
  if (typeof said !== "object" || said === null || Array.isArray(said)) throw bad("its description is no object");
  const { metric, maxNorm, ratio, ids, keys, ...others } = said;
  if (Object.keys(others).length > 0) throw bad("its description has other names than are known");
  if (metric !== "l2" && metric !== "cosine" && metric !== "dot") throw bad("its metric is not known");
  if (maxNorm !== undefined && !(metric === "dot" && isPositive(maxNorm))) throw bad("its maxNorm can't be");
  if (ratio !== undefined && !isPositive(ratio)) throw bad("its ratio can't be");
  return { metric, ...(maxNorm !== undefined && { maxNorm }), ...(ratio !== undefined && { ratio: ratio }), ...((ids !== undefined || keys !== undefined) && { keys: namesOf(ids, keys) }) };
}

function namesOf(runs: unknown, names: unknown): Keys {
  if (!Array.isArray(runs) || !Array.isArray(names)) throw bad("its keys are no list");
  const keys = new Keys();
  let next = 0, at = 0;
  for (const run of runs as unknown[]) {
    const [first, count] = Array.isArray(run) && run.length === 2 ? run as unknown[] : [];
    if (!isCount(first) || !isCount(count) || first < next || count === 0 || first + count >= 2 ** 32) throw bad("its ids are not in order");
    if (at + count > names.length) throw bad("it has fewer keys than ids");
    for (let k = 0; k < count; k++) {
      const key: unknown = names[at++];
      if (typeof key !== "string" && !Number.isSafeInteger(key)) throw bad("a key is neither a string nor an integer");
      if (keys.id(key as Key) !== undefined) throw bad("it has a key twice");
      keys.set(first + k, key as Key);
    }
    next = first + count;
  }
  if (at < names.length) throw bad("it has more keys than ids");
  return keys;
}
