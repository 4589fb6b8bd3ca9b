/** `leastwise query`: the nearest vectors of those in a file. */
import { once } from "node:events";
import { encodeNpy } from "leastwise/vectors";
import type { Filter, Hits, VectorIndex } from "leastwise";
import { UsageError, type Arguments, type Command } from "../arguments.js";
import { COMMON_OPTIONS, remark, withEngine } from "../engine.js";
import { linesOf, mustBeReadable, mustBeWritable, named, openIndexFile, openLazyFile, openVectorFile, VECTOR_OPTIONS, writeAtomically, type VectorFile } from "../files.js";
import { isBits, queryBits } from "../bits.js";
import { Progress } from "../progress.js";
import { counted, size, time } from "../text.js";
import { METRICS } from "./compress.js";

/** Queries that are searched at once, and neighbours of them. */
const BATCH = 4096, BATCH_HITS = 2 ** 22;
/** Numbers in a file of results. */
const MOST_HITS = 2 ** 28;
/** What stands in files where there are fewer neighbours than wanted. */
const NONE = 2 ** 32 - 1;
/** Queries from which on sketches pay: their making takes as long as 64 or so, searched together, take without. */
const WORTH_SKETCHES = 64;

/** An index in memory, or in its file. */
type Searched = Pick<VectorIndex, "dim" | "count" | "metric" | "info" | "search">;

export const query: Command = {
  name: "query",
  summary: "find the nearest vectors of those in a file",
  positionals: ["INDEX", "QUERIES"],
  options: {
    k: { short: "k", value: "K", help: "neighbours wanted of each; 10 unless given" },
    probes: { value: "P", help: "clusters that are looked into; all up to 256 and an eighth of those beyond,\nunless given" },
    effort: { value: "E", help: "beam of the walk in the graph of INDEX; 64, or three times K, unless given" },
    lazy: { help: "read only those parts of INDEX that the queries need (of one by \"leastwise compress --lazy\")" },
    ids: { value: "FILE", help: "write the ids as .npy (uint32, queries × k)" },
    distances: { value: "FILE", help: "write the distances as .npy (float32, queries × k)" },
    scores: { value: "FILE", help: "write the scores as .npy (float32, queries × k)" },
    only: { value: "FILE", help: "ids (or keys, if INDEX has them) that may be found, one a line; all unless given" },
    metric: { value: "NAME", help: "l2, cosine, dot or hamming: refuses an INDEX that was made for another" },
    ...VECTOR_OPTIONS,
    ...COMMON_OPTIONS,
  },
  notes: `QUERIES is a file as "leastwise compress" reads; a .npy file of one dimension is one query. INDEX or QUERIES may be -, standard input,
and a FILE of results -, standard output.
Without files of results, every neighbour is a line: query, rank, key or id, and the squared distance, the cosine or the dot product, as the
metric of INDEX is, with tabs between; with --json, every query is. Distances ascend: squared ones, 1 - cosine, or minus the dot product;
scores descend: the cosine, the dot product, or minus the squared distance. Where there are fewer than k, files have the id 4294967295,
the distance infinity and the score -infinity.`,

  async run(args, signal) {
    const [path, queries] = args.positionals as [string, string];
    const wanted = args.count("k") ?? 10, probes = args.count("probes"), effort = args.count("effort");
    if (probes !== undefined && effort !== undefined) throw new UsageError("--probes and --effort: a search goes through clusters or through the graph, so give one of them");
    const files = { ids: args.text("ids"), distances: args.text("distances"), scores: args.text("scores") };
    const toFiles = Object.values(files).some((file) => file !== undefined), only = args.text("only"), metric = args.choice("metric", [...METRICS, "hamming"] as const);
    mustBeReadable([path, queries, only]);
    const allowed = only === undefined ? undefined : await linesOf(only);
    const asked = await openVectorFile(queries, args);
    if (await isBits(path)) return queryBits(args, asked, allowed, signal).finally(() => asked.close());
    // A bar would stand among the lines.
    const progress = new Progress({ quiet: args.has("quiet") || (!toFiles && process.stdout.isTTY === true) });
    try {
      await mustBeWritable(Object.values(files), only === undefined ? [path, queries] : [path, queries, only]);
      await withEngine(args, async (lw) => {
        using whole = args.has("lazy") ? undefined : await openIndexFile(lw, path);
        const lazy = whole ? undefined : await openLazyFile(lw, path), index: Searched = whole ?? lazy!.index;
        try {
          if (metric !== undefined && metric !== index.metric) throw new UsageError(`--metric is ${metric}, but ${path} was made for ${index.metric}`);
          if (effort !== undefined && !index.info.graph) throw new UsageError(`--effort is for an INDEX with a graph (leastwise compress --graph), but ${path} has none`);
          const count = countOf(asked, index, queries), filter = allowed && filterOf(allowed, index, only!);
          if (toFiles && count * wanted > MOST_HITS) throw new UsageError(`--k is ${wanted}: ${count} queries would make files of ${count * wanted} numbers, of which there may be ${MOST_HITS}`);
          // There are no more than all.
          const k = Math.min(wanted, Math.max(1, index.count)), step = Math.max(1, Math.min(BATCH, Math.floor(BATCH_HITS / k)));
          const ids = toFiles ? new Uint32Array(count * wanted).fill(NONE) : undefined, distances = files.distances === undefined ? undefined : new Float32Array(count * wanted).fill(Infinity);
          const scores = files.scores === undefined ? undefined : new Float32Array(count * wanted).fill(-Infinity);
          if (whole) whole.sketches = count >= WORTH_SKETCHES;
          const move = progress.stage("searching");
          let spent = 0;
          for (let first = 0; first < count; first += step) {
            const rows = Math.min(step, count - first);
            const batch = await (count === asked.count ? asked.rows(first, rows) : asked.rows());
            const started = performance.now();
            const hits = await index.search(batch, { k, signal, ...(probes && { probes }), ...(effort && { effort }), ...(filter && { filter }) }).catch((thrown: unknown) => { throw named(queries, thrown); });
            spent += performance.now() - started;
            if (!toFiles) await print(hits, first, index, args);
            for (let row = 0; toFiles && row < rows; row++) {
              ids!.set(hits.ids.subarray(row * k, (row + 1) * k), (first + row) * wanted);
              distances?.set(hits.distances.subarray(row * k, (row + 1) * k), (first + row) * wanted);
              scores?.set(hits.scores.subarray(row * k, (row + 1) * k), (first + row) * wanted);
            }
            move(first + rows, count);
          }
          progress.end();
          if (files.ids !== undefined) await writeAtomically(files.ids, [encodeNpy(ids!, [count, wanted])]);
          if (files.distances !== undefined) await writeAtomically(files.distances, [encodeNpy(distances!, [count, wanted])]);
          if (files.scores !== undefined) await writeAtomically(files.scores, [encodeNpy(scores!, [count, wanted])]);
          const { sketchBytes } = index.info;
          remark(args, `${counted(count, "query", "queries")} in ${time(spent)}, ${time(spent / Math.max(1, count))} each, on ${lw.backend}${lazy ? `; read ${size(lazy.index.reads.bytes)} of ${size(lazy.index.bytes)}` : sketchBytes > 0 ? ` with sketches of ${size(sketchBytes)}` : ""}`);
        } finally {
          await lazy?.close();
        }
      });
    } finally {
      progress.end();
      await asked.close();
    }
  },
};

/** How many queries a file has: a .npy file of one dimension has one component a row, and may be one vector. */
function countOf(asked: VectorFile, index: Searched, path: string): number {
  if (asked.dim === index.dim) return asked.count;
  if (asked.dim === 1 && asked.count === index.dim) return 1;
  const has = asked.dim === 1 ? counted(asked.count, "number") : `vectors of ${asked.dim} components`;
  throw new UsageError(`${path} has ${has}, but the vectors of the index have ${counted(index.dim, "component")}`);
}

/** Vectors that may be found: by keys, or by ids. */
function filterOf(lines: readonly string[], index: Searched, path: string): Filter {
  // A line may be meant as a string or as an integer.
  if (index.info.keyed) return { keys: lines.flatMap((line) => (line.trim() !== "" && Number.isSafeInteger(Number(line)) ? [line, Number(line)] : [line])) };
  const { nextId } = index.info;
  return {
    ids: lines.map((line, k) => {
      const id = line.trim() === "" ? NaN : Number(line);
      if (!(Number.isInteger(id) && id >= 0 && id < nextId)) throw new UsageError(`${path}: line ${k + 1} is "${line}", but the ids of the index are 0 to ${nextId - 1}`);
      return id;
    }),
  };
}

/** Lines of a batch of queries, the first of which is number `first`; done when the reader is ready for more. */
async function print(hits: Hits, first: number, index: Searched, args: Arguments): Promise<void> {
  const lines: string[] = [], { ids, keys, distances, scores, k } = hits, shown = index.metric === "l2" ? distances : scores;
  for (let at = 0; at < ids.length; at += k) {
    const query = first + at / k;
    const found = Array.from({ length: k }, (_, rank) => at + rank).filter((place) => distances[place] !== Infinity);
    const of = <T>(values: ArrayLike<T>) => found.map((place) => values[place]);
    if (args.has("json")) lines.push(JSON.stringify({ query, ids: of(ids), ...(keys && { keys: of(keys) }), distances: of(distances), ...(index.metric !== "l2" && { scores: of(scores) }) }));
    else found.forEach((place, rank) => lines.push(`${query}\t${rank}\t${keys?.[place] ?? ids[place]}\t${shown[place]}`));
  }
  if (lines.length && !process.stdout.write(`${lines.join("\n")}\n`)) await once(process.stdout, "drain");
}
