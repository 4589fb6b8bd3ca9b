/** `leastwise query`: the nearest vectors of those in a file. */
import { encodeNpy } from "leastwise/vectors";
import type { VectorIndex } from "leastwise";
import { UsageError, type Command } from "../arguments.js";
import { COMMON_OPTIONS, remark, withEngine } from "../engine.js";
import { named, openIndexFile, openVectorFile, VECTOR_OPTIONS, writeAtomically, type VectorFile } from "../files.js";
import { Progress } from "../progress.js";
import { time } from "../text.js";

/** Queries that are searched at once. */
const BATCH = 4096;

export const query: Command = {
  name: "query",
  summary: "find the nearest vectors of those in a file",
  positionals: ["INDEX", "QUERIES"],
  options: {
    k: { short: "k", value: "K", help: "neighbours wanted of each; 10 unless given" },
    probes: { value: "P", help: "clusters that are looked into; all unless given" },
    ids: { value: "FILE", help: "write the ids as .npy (uint32, queries × k)" },
    distances: { value: "FILE", help: "write the squared distances as .npy (float32, queries × k)" },
    ...VECTOR_OPTIONS,
    ...COMMON_OPTIONS,
  },
  notes: `QUERIES is a file as "leastwise compress" reads; a .npy file of one dimension is one query.
Without --ids and --distances, every neighbour is a line: query, rank, id, squared distance, with tabs between; with --json, every query is.
Where there are fewer than k, files have the id 4294967295 and the distance infinity.`,

  async run(args, signal) {
    const [path, queries] = args.positionals as [string, string];
    const k = args.count("k") ?? 10, probes = args.count("probes");
    const asked = await openVectorFile(queries, args);
    const progress = new Progress({ quiet: args.has("quiet") });
    try {
      await withEngine(args, async (lw) => {
        using index = await openIndexFile(lw, path);
        const count = countOf(asked, index, queries);
        const [ids, distances] = [new Uint32Array(count * k), new Float32Array(count * k)];
        const toFiles = args.text("ids") !== undefined || args.text("distances") !== undefined;
        const move = progress.stage("searching");
        let spent = 0;
        for (let first = 0; first < count; first += BATCH) {
          const batch = await (count === asked.count ? asked.rows(first, Math.min(BATCH, count - first)) : asked.rows());
          const started = performance.now();
          const hits = await index.search(batch, { k, signal, ...(probes && { probes }) }).catch((thrown: unknown) => { throw named(queries, thrown); });
          spent += performance.now() - started;
          ids.set(hits.ids, first * k);
          distances.set(hits.distances, first * k);
          move(Math.min(count, first + BATCH), count);
        }
        progress.end();
        if (args.text("ids") !== undefined) await writeAtomically(args.text("ids")!, [encodeNpy(ids, [count, k])]);
        if (args.text("distances") !== undefined) await writeAtomically(args.text("distances")!, [encodeNpy(distances, [count, k])]);
        if (!toFiles) print(ids, distances, k, args.has("json"));
        remark(args, `${count} queries in ${time(spent)}, ${time(spent / Math.max(1, count))} each, on ${lw.backend}`);
      });
    } finally {
      progress.end();
      await asked.close();
    }
  },
};

/** How many queries a file has: a .npy file of one dimension has one component a row, and may be one vector. */
function countOf(asked: VectorFile, index: VectorIndex, path: string): number {
  if (asked.dim === index.dim) return asked.count;
  if (asked.dim === 1 && asked.count === index.dim) return 1;
  throw new UsageError(`${path} has vectors of ${asked.dim} components, those of the index have ${index.dim}`);
}

function print(ids: Uint32Array, distances: Float32Array, k: number, json: boolean): void {
  const lines: string[] = [];
  for (let at = 0; at < ids.length; at += k) {
    const found = [...ids.subarray(at, at + k).keys()].map((rank) => ({ id: ids[at + rank]!, distance: distances[at + rank]! })).filter(({ distance }) => distance !== Infinity);
    if (json) lines.push(JSON.stringify({ query: at / k, ids: found.map(({ id }) => id), distances: found.map(({ distance }) => distance) }));
    else found.forEach(({ id, distance }, rank) => lines.push(`${at / k}\t${rank}\t${id}\t${distance}`));
  }
  if (lines.length) process.stdout.write(`${lines.join("\n")}\n`);
}
