/** Vectors of bits on the command line: indices by Hamming distance. */
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { encodeNpy, indexBits, openBits, type BitHits, type BitIndex } from "leastwise/vectors";
import type { Engine, Filter } from "leastwise";
import { UsageError, type Arguments } from "./arguments.js";
import { remark, withEngine } from "./engine.js";
import { linesOf, mustBeWritable, named, report, writeAtomically, type VectorFile } from "./files.js";
import { counted, size, time } from "./text.js";

/** Options of `compress` that only codes have. */
const OF_CODES = ["code", "bits", "ratio", "max-norm", "clusters", "method", "seed", "graph", "degree", "lazy", "sample"] as const;
/** Options of `query` that an exhaustive search has no use for, and those whose results are not Hamming distances. */
const OF_SEARCHES = ["probes", "effort", "lazy"] as const;
/** Queries that are searched at once. */
const BATCH = 4096;

const NONE = 2 ** 32 - 1;

function mustNotHave(args: Arguments, options: readonly string[]): void {
  const wrong = options.find((option) => args.has(option) || args.text(option) !== undefined);
  if (wrong !== undefined) throw new UsageError(`--${wrong} is not for --metric hamming: vectors of bits are kept as they are, and all are compared`);
}

/** Packed rows of a file: eight bits a number. */
async function packedRows(file: VectorFile, path: string, first?: number, count?: number): Promise<Uint8Array> {
  if (file.type !== "uint8") throw new UsageError(`${path} has numbers of type ${file.type}, but vectors of bits are packed in uint8, eight a byte, as numpy.packbits(x, axis=1) packs them`);
  return (await file.elements(first, count)) as Uint8Array;
}

/** `leastwise compress --metric hamming`. */
export async function compressBits(args: Arguments, vectors: VectorFile, signal: AbortSignal): Promise<void> {
  const [input, output] = args.positionals as [string, string], names = args.text("keys");
  mustNotHave(args, OF_CODES);
  const keys = names === undefined ? undefined : await linesOf(names);
  if (vectors.count === 0) throw new UsageError(`${input} has no vectors`);
  if (keys && keys.length !== vectors.count) throw new UsageError(`${names} has ${counted(keys.length, "line")}, but ${input} has ${counted(vectors.count, "vector")}`);
  await mustBeWritable([output], names === undefined ? [input] : [input, names]);
  const rows = await packedRows(vectors, input);
  await withEngine(args, async (lw) => {
    const started = performance.now();
    using index = await indexBits(lw, rows, { dim: 8 * vectors.dim, ...(keys && { keys }) }).catch((thrown: unknown) => { throw named(input, thrown); });
    signal.throwIfAborted();
    const file = await index.save();
    await writeAtomically(output, [file]);
    const info = { ...infoOf(index), bytes: file.length };
    report(args, args.has("json") ? JSON.stringify({ ...info, buildMs: performance.now() - started, backend: lw.backend }) : `${output}: ${counted(info.count, "vector")} of ${counted(info.dim, "bit")} in ${size(file.length)} (metric hamming)`, [output]);
  });
}

/** True for the file of an index of bits. */
export async function isBits(path: string): Promise<boolean> {
  if (path === "-") return false;
  const file = await open(path).catch(() => undefined);
  if (!file) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(8), 0, 8, 0), start = buffer.toString("latin1", 0, bytesRead);
    return start === "LWBITS\0\n" || start === "LWVBITS\n";
  } catch {
    return false;
  } finally {
    await file.close();
  }
}

export async function openBitsFile(lw: Engine, path: string): Promise<BitIndex> {
  try {
    return await openBits(lw, await readFile(path));
  } catch (thrown) {
    throw named(path, thrown);
  }
}

/** Description of an index of bits. */
export const infoOf = ({ dim, count, nextId, keyed, memory, metric }: BitIndex) => ({ metric, dim, count, nextId, keyed, memory });

/** `leastwise query` of an index of bits. */
export async function queryBits(args: Arguments, asked: VectorFile, only: readonly string[] | undefined, signal: AbortSignal): Promise<void> {
  const [path, queries] = args.positionals as [string, string], k = args.count("k") ?? 10, metric = args.text("metric");
  mustNotHave(args, OF_SEARCHES);
  if (metric !== undefined && metric !== "hamming") throw new UsageError(`--metric is ${metric}, but ${path} was made for hamming`);
  if (args.text("scores") !== undefined) throw new UsageError("--scores: of vectors of bits there are distances alone (--distances)");
  const files = { ids: args.text("ids"), distances: args.text("distances") }, toFiles = files.ids !== undefined || files.distances !== undefined;
  await mustBeWritable(Object.values(files), [path, queries]);
  const rows = await packedRows(asked, queries);
  await withEngine(args, async (lw) => {
    using index = await openBitsFile(lw, path);
    const bytes = Math.ceil(index.dim / 8), count = rows.length / bytes;
    if (asked.dim !== bytes && !(asked.dim === 1 && asked.count === bytes)) throw new UsageError(`${queries} has vectors of ${8 * asked.dim} bits, but those of the index have ${index.dim}`);
    const filter = only && filterOf(only, index), ids = new Uint32Array(toFiles ? count * k : 0), distances = new Uint32Array(ids.length);
    const started = performance.now();
    for (let first = 0; first < count; first += BATCH) {
      const hits = await index.search(rows.subarray(first * bytes, (first + BATCH) * bytes), { k, signal, ...(filter && { filter }) });
      if (toFiles) {
        ids.set(hits.ids, first * k);
        distances.set(hits.distances, first * k);
      } else await print(hits, first, args);
    }
    const spent = performance.now() - started;
    if (files.ids !== undefined) await writeAtomically(files.ids, [encodeNpy(ids, [count, k])]);
    if (files.distances !== undefined) await writeAtomically(files.distances, [encodeNpy(distances, [count, k])]);
    remark(args, `${counted(count, "query", "queries")} in ${time(spent)}, ${time(spent / Math.max(1, count))} each, on the CPU${lw.backend === "cpu" ? "" : ": vectors of bits are searched there"}`);
  });
}

function filterOf(lines: readonly string[], index: BitIndex): Filter {
  if (index.keyed) return { keys: lines.flatMap((line) => (line.trim() !== "" && Number.isSafeInteger(Number(line)) ? [line, Number(line)] : [line])) };
  return {
    ids: lines.map((line, k) => {
      const id = line.trim() === "" ? NaN : Number(line);
      if (!(Number.isInteger(id) && id >= 0 && id < index.nextId)) throw new UsageError(`--only: line ${k + 1} is "${line}", but the ids of the index are 0 to ${index.nextId - 1}`);
      return id;
    }),
  };
}

async function print({ ids, keys, distances, k }: BitHits, first: number, args: Arguments): Promise<void> {
  const lines: string[] = [];
  for (let at = 0; at < ids.length; at += k) {
    const query = first + at / k, found = Array.from({ length: k }, (_, rank) => at + rank).filter((place) => ids[place] !== NONE), of = <T>(values: ArrayLike<T>) => found.map((place) => values[place]);
    if (args.has("json")) lines.push(JSON.stringify({ query, ids: of(ids), ...(keys && { keys: of(keys) }), distances: of(distances) }));
    else found.forEach((place, rank) => lines.push(`${query}\t${rank}\t${keys?.[place] ?? ids[place]}\t${distances[place]}`));
  }
  if (lines.length && !process.stdout.write(`${lines.join("\n")}\n`)) await once(process.stdout, "drain");
}
