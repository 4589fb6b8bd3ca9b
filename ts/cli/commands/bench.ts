/** `leastwise bench`: what codes cost and find on a file's vectors. */
import { LeastwiseError, type CodeOptions, type Engine, type F32 } from "leastwise";
import { UsageError, type Arguments, type Command } from "../arguments.js";
import { COMMON_OPTIONS, remark, withEngine } from "../engine.js";
import { mustBeReadable, openVectorFile, VECTOR_OPTIONS } from "../files.js";
import { Progress } from "../progress.js";
import { counted, percent, row, short, time } from "../text.js";
import { buildOptions, BUILD_OPTIONS, CODES, located, METRIC, metricOptions, mustHaveClusters, RATIOS } from "./compress.js";

interface Result { code: string; clusters: number; bytesPerVector: number; ratio: number; buildMs: number; recall: number; msSingle: number; msPerQuery: number; exactMsPerQuery: number }
/** A code that could not be made of these vectors, and why. */
interface Refused { code: string; reason: string }

const HEAD = ["code", "clusters", "bytes", "of f32", "build", "recall", "one query", "of many", "exact"];
const WIDTHS = [12, 8, 8, 8, 8, 7, 10, 10, 10];
const HELD_OUT = 500;

export const bench: Command = {
  name: "bench",
  summary: "measure size, recall, build time and latency of codes on your vectors",
  positionals: ["VECTORS"],
  options: {
    queries: { value: "FILE", help: `vectors to ask for; the last ${HELD_OUT} of VECTORS (a tenth, of few), left out of the index, unless given` },
    code: { value: "CODE", multiple: true, help: "bits, int8, int4, f32, f16 or none; may be given several times" },
    ratio: { value: "R", multiple: true, help: "code bits, made for this size over that in f32; may be given several times" },
    k: { short: "k", value: "K", help: "recall is that of the K nearest; 10 unless given" },
    probes: { value: "P", help: "clusters that are looked into; all up to 256 and an eighth of those beyond,\nunless given" },
    limit: { value: "N", help: "the first N vectors only" },
    metric: METRIC,
    ...BUILD_OPTIONS,
    ...VECTOR_OPTIONS,
    ...COMMON_OPTIONS,
  },
  notes: `Default codes: int8, int4, and ratios of 0.125 and 0.066. All stored bytes are counted. Recall is the share of the truly nearest vectors
that are found, without the originals; "one query" is the time of one asked alone, "of many" a query's share of all at once, "exact" that
of an exact search among the originals. Times are the least of up to five passes. VECTORS or FILE may be -, standard input.`,

  async run(args, signal) {
    const k = args.count("k") ?? 10, probes = args.count("probes"), build = { ...buildOptions(args), ...metricOptions(args) };
    const codes: CodeOptions[] = [...args.choices("code", CODES).map((code) => ({ code })), ...args.numbers("ratio", RATIOS).map((ratio) => ({ ratio }))];
    const { points, queries, dim } = await load(args);
    if (k > points.length / dim) throw new UsageError(`--k is ${k}, but there are ${points.length / dim} vectors to find`);
    mustHaveClusters(build.clusters, points.length / dim, args.positionals[0]!);
    if (codes.length === 0) codes.push({ code: "int8" }, { code: "int4" }, { ratio: 0.125 }, { ratio: 0.066 });
    const progress = new Progress({ quiet: args.has("quiet") });
    try {
      await withEngine(args, async (lw) => {
        remark(args, `${counted(points.length / dim, "vector")} of ${counted(dim, "component")}, ${counted(queries.length / dim, "query", "queries")}, recall of the ${k} nearest; on ${lw.backend} (${lw.adapter}, ${lw.precision})`);
        const results: (Result | Refused)[] = [];
        if (!args.has("json")) console.log(row(HEAD, WIDTHS));
        for (const code of codes) {
          const result = await measure(lw, args, { points, queries, dim, k, probes, build, code, signal, progress });
          results.push(result);
          if (!args.has("json")) console.log(row(cells(result), WIDTHS));
        }
        if (args.has("json")) console.log(JSON.stringify({ backend: lw.backend, vectors: points.length / dim, dim, metric: build.metric ?? "l2", queries: queries.length / dim, k, results }, null, 2));
        const first = results[0]!;
        if (results.every((each) => "reason" in each) && "reason" in first) throw new Error(`no code could be measured: ${first.reason}`);
      });
    } finally {
      progress.end();
    }
  },
};

/** Vectors to index and vectors to ask for. */
async function load(args: Arguments): Promise<{ points: F32; queries: F32; dim: number }> {
  const [path] = args.positionals as [string];
  const from = args.text("queries");
  mustBeReadable([path, from]);
  const vectors = await openVectorFile(path, args);
  try {
    const { dim } = vectors;
    const all = Math.min(vectors.count, args.count("limit", 2) ?? vectors.count);
    if (from === undefined) {
      const held = Math.min(HELD_OUT, Math.floor(all / 10));
      if (held === 0) throw new UsageError(`${path} has ${all} vectors, too few to leave some out as queries; give --queries`);
      return { points: await vectors.rows(0, all - held), queries: await vectors.rows(all - held, held), dim };
    }
    const asked = await openVectorFile(from, args);
    try {
      if (asked.dim !== dim) throw new UsageError(`${from} has vectors of ${asked.dim} components, ${path} of ${dim}`);
      return { points: await vectors.rows(0, all), queries: await asked.rows(), dim };
    } finally {
      await asked.close();
    }
  } finally {
    await vectors.close();
  }
}

interface Work { points: F32; queries: F32; dim: number; k: number; probes: number | undefined; build: ReturnType<typeof buildOptions> & ReturnType<typeof metricOptions>; code: CodeOptions; signal: AbortSignal; progress: Progress }

async function measure(lw: Engine, args: Arguments, { points, queries, dim, k, probes, build, code, signal, progress }: Work): Promise<Result | Refused> {
  const [path] = args.positionals as [string];
  const name = code.ratio === undefined ? code.code! : `bits @ ${code.ratio}`;
  const started = performance.now();
  const reporting = { signal, onProgress: progress.stage(name) };
  const made = await located(path, (row) => row, () => lw.compress(points, { dim, ...code, ...build, ...reporting })).catch((thrown: unknown) => {
    // Each option was found to be right by itself: what is left is a ratio that such vectors cannot have.
    if (code.ratio !== undefined && thrown instanceof LeastwiseError && thrown.code === "invalid-option") return thrown.message;
    throw thrown;
  });
  if (typeof made === "string") {
    progress.end();
    return { code: name, reason: made };
  }
  using index = made;
  const buildMs = performance.now() - started;
  progress.end();
  const { recall, msSingle, msPerQuery, exactMsPerQuery } = await index.evaluate(queries, { k, points, signal, ...(probes && { probes }) });
  const { clusters, count, bytes } = index.info;
  return { code: name, clusters, bytesPerVector: bytes / count, ratio: index.ratio, buildMs, recall, msSingle, msPerQuery, exactMsPerQuery };
}

function cells(result: Result | Refused): string[] {
  if ("reason" in result) return [result.code, ` ${result.reason}`];
  const { code, clusters, bytesPerVector, ratio, buildMs, recall, msSingle, msPerQuery, exactMsPerQuery } = result;
  return [code, String(clusters), short(bytesPerVector), percent(ratio), time(buildMs), recall.toFixed(4), time(msSingle), time(msPerQuery), time(exactMsPerQuery)];
}
