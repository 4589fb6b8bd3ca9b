/** Head of a file of this package before the engine's part: magic, version, a JSON object, and a checksum. `docs/internals/COMPRESSION.md` has the layout. */
import type { U8 } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { crc32c } from "./envelope.js";
import { Keys, type Key } from "./keys.js";

const VERSION = 1, HEADER = 64, ALIGNMENT = 64, CHECKSUM_AT = 16;

/** A kind of file: eight letters, and its name in messages. @internal */
export interface Kind { readonly magic: string; readonly name: string }

const magicOf = ({ magic }: Kind): Uint8Array => Uint8Array.from(magic, (letter) => letter.charCodeAt(0));
const checksumOf = (head: Uint8Array): number => crc32c(head.subarray(HEADER), crc32c(head.subarray(0, CHECKSUM_AT)));
const refusal = ({ name }: Kind, why: string): LeastwiseError => new LeastwiseError("file-format", `this is not ${name}: ${why}`);

/** A head, and the engine's part after it. @internal */
export function framed(kind: Kind, said: object, rest: Uint8Array): U8 {
  const text = new TextEncoder().encode(JSON.stringify(said)), length = HEADER + Math.ceil(text.length / ALIGNMENT) * ALIGNMENT;
  const file = new Uint8Array(length + rest.length), view = new DataView(file.buffer);
  file.set(magicOf(kind));
  view.setUint32(8, VERSION, true);
  view.setUint32(12, text.length, true);
  file.set(text, HEADER);
  view.setUint32(CHECKSUM_AT, checksumOf(file.subarray(0, length)), true);
  file.set(rest, length);
  return file;
}

/** True for a file that begins as this kind does. @internal */
export const isFramed = (kind: Kind, file: Uint8Array): boolean => file.length >= 8 && magicOf(kind).every((letter, k) => letter === file[k]);

/** Description in a head, its checksum, and the engine's part. @internal */
export function unframed(kind: Kind, file: Uint8Array): { readonly said: { readonly [name: string]: unknown }; readonly sum: number; readonly rest: Uint8Array } {
  if (file.length < 8) throw new LeastwiseError("file-truncated", `the file ends too early: its header needs ${HEADER} bytes, but there are ${file.length}; copy it again`);
  if (!isFramed(kind, file)) throw refusal(kind, `it doesn't begin with ${kind.magic.trim()}`);
  const needed = (bytes: number) => { if (file.length < bytes) throw new LeastwiseError("file-truncated", `the file ends too early: its description needs ${bytes} bytes, but there are ${file.length}; copy it again`); };
  needed(HEADER);
  const view = new DataView(file.buffer, file.byteOffset, file.length), version = view.getUint32(8, true), text = view.getUint32(12, true), sum = view.getUint32(CHECKSUM_AT, true);
  if (version !== VERSION) throw new LeastwiseError("file-version", `${kind.name} has version ${version}; version ${VERSION} can be read`);
  const length = HEADER + Math.ceil(text / ALIGNMENT) * ALIGNMENT;
  needed(length);
  const head = file.subarray(0, length);
  if (checksumOf(head) !== sum) throw new LeastwiseError("file-corrupt", "the description in the file does not match its checksum: the file was damaged; copy it again");
  const isZero = (from: number, to: number) => head.subarray(from, to).every((byte) => byte === 0);
  if (!isZero(CHECKSUM_AT + 4, HEADER) || !isZero(HEADER + text, length)) throw refusal(kind, "unused bytes are not zero");
  let said: unknown;
  try {
    said = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(head.subarray(HEADER, HEADER + text)));
  } catch {
    throw refusal(kind, "its description is no JSON");
  }
  if (typeof said !== "object" || said === null || Array.isArray(said)) throw refusal(kind, "its description is no object");
  return { said: said as { readonly [name: string]: unknown }, sum, rest: file.subarray(length) };
}

/** Runs `[first, count]` of ascending ids. @internal */
export function runsOf(ids: readonly number[]): [first: number, count: number][] {
  const runs: [number, number][] = [];
  for (const id of ids) {
    const last = runs.at(-1);
    if (last && last[0] + last[1] === id) last[1]++;
    else runs.push([id, 1]);
  }
  return runs;
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;

/** Ids of runs in a file, `most` at most. @internal */
export function idsIn(kind: Kind, runs: unknown, most: number): number[] {
  if (!Array.isArray(runs)) throw refusal(kind, "its ids are no list");
  const ids: number[] = [];
  for (const run of runs as unknown[]) {
    const [first, count] = Array.isArray(run) && run.length === 2 ? run as unknown[] : [];
    if (!isCount(first) || !isCount(count) || count === 0 || first <= (ids.at(-1) ?? -1) || first + count >= 2 ** 32) throw refusal(kind, "its ids are not in order");
    if (ids.length + count > most) throw refusal(kind, "it has more ids than keys or vectors");
    for (let k = 0; k < count; k++) ids.push(first + k);
  }
  return ids;
}

/** Ids of the engine's part of a file that it has found sound: `count` of them as runs, in turn of ids that are there and that are not, LEB128; 0, 1, 2… without the section. @internal */
export function idsOfSection(engine: Uint8Array, kind: number, count: number): number[] {
  const view = new DataView(engine.buffer, engine.byteOffset, engine.length);
  const entry = Array.from({ length: view.getUint32(12, true) }, (_, k) => HEADER + 32 * k).find((at) => view.getUint32(at, true) === kind);
  if (entry === undefined) return Array.from({ length: count }, (_, k) => k);
  const ids: number[] = [];
  for (let at = Number(view.getBigUint64(entry + 8, true)), next = 0, isThere = true; ids.length < count; isThere = !isThere) {
    let run = 0, scale = 1, byte: number;
    do {
      byte = view.getUint8(at++);
      run += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    if (isThere) for (let k = 0; k < run; k++) ids.push(next + k);
    next += run;
  }
  return ids;
}

/** Refuses ids of keys that are not those of the vectors. @internal */
export function mustBe(kind: Kind, expected: readonly number[], ids: readonly number[]): void {
  if (ids.length !== expected.length || ids.some((id, k) => id !== expected[k])) throw refusal(kind, "its keys are not those of its vectors");
}

/** Puts keys of a file to their ids. @internal */
export function putKeys(kind: Kind, into: Keys, runs: unknown, names: unknown): void {
  if (!Array.isArray(names)) throw refusal(kind, "its keys are no list");
  const ids = idsIn(kind, runs, names.length);
  if (ids.length !== names.length) throw refusal(kind, "it has more keys than ids");
  names.forEach((key: unknown, k) => {
    if (typeof key !== "string" && !Number.isSafeInteger(key)) throw refusal(kind, "a key is neither a string nor an integer");
    if (into.id(key as Key) !== undefined || into.key(ids[k]!) !== undefined) throw refusal(kind, "it has a key or an id twice");
    into.set(ids[k]!, key as Key);
  });
}
