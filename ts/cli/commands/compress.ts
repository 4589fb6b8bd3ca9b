/** `leastwise compress`: a file of vectors to an index. */
import { LeastwiseError, type CodeOptions, type CompressOptions, type F32 } from "leastwise";
import { UsageError, type Arguments, type Command, type Option } from "../arguments.js";
import { COMMON_OPTIONS, remark, withEngine } from "../engine.js";
import { linesOf, mustBeReadable, mustBeWritable, openVectorFile, report, VECTOR_OPTIONS, writeAtomically, type VectorFile } from "../files.js";
import { compressBits } from "../bits.js";
import { Progress } from "../progress.js";
import { counted, percent, size, time } from "../text.js";

export const CODES = ["none", "int8", "int4", "bits", "f32", "f16"] as const;
export const METRICS = ["l2", "cosine", "dot"] as const;

/** Option of all commands that make an index. */
export const METRIC: Option = { value: "NAME", help: "l2 (the default), cosine or dot: what near means" };

/** What `compress` and `bench` have in common. */
export const BUILD_OPTIONS: { readonly [name: string]: Option } = {
  clusters: { value: "M", help: "inverted lists; chosen by the number of vectors unless given" },
  method: { value: "NAME", help: "how clusters are found: anneal, lloyd or vlc; ten rounds of lloyd unless given" },
  seed: { value: "N", help: "of everything that is drawn; 0 unless given" },
};

/** Ratios that can be asked for. */
export const RATIOS = { above: 0, most: 1 };

/**
 * What vectors may take in f32 that are compressed at once. Of more, clusters and codes are made of a sample, and all are added to that. The
 * engine keeps several copies of them while it works, of the 4 GiB that WebAssembly can address.
 */
const TRAINING_BYTES = 2 ** 28;
/** Vectors that are added at a time. */
const CHUNK_BYTES = 2 ** 26;

/** Refuses more clusters than there are vectors. */
export function mustHaveClusters(clusters: number | undefined, vectors: number, path: string): void {
  if (clusters !== undefined && clusters > vectors) throw new UsageError(`--clusters is ${clusters}, but ${path} has ${counted(vectors, "vector")}`);
}

export function buildOptions(args: Arguments): Pick<CompressOptions, "clusters" | "method" | "seed"> {
  const [clusters, method, seed] = [args.count("clusters"), args.choice("method", ["anneal", "lloyd", "vlc"]), args.count("seed", 0)];
  return { ...(clusters && { clusters }), ...(method && { method }), ...(seed !== undefined && { seed }) };
}

/** What there is beside the code. */
export function metricOptions(args: Arguments): Pick<CompressOptions, "metric" | "maxNorm"> {
  const metric = args.choice("metric", METRICS), maxNorm = args.number("max-norm", { above: 0 });
  if (maxNorm !== undefined && metric !== "dot") throw new UsageError("--max-norm is for --metric dot");
  return { ...(metric && { metric }), ...(maxNorm !== undefined && { maxNorm }) };
}

function codeOptions(args: Arguments): CodeOptions {
  const code = args.choice("code", CODES) ?? "bits";
  const [bits, ratio] = [args.number("bits", { above: 0, most: 12 }), args.number("ratio", RATIOS)];
  if (bits === undefined && ratio === undefined) return { code };
  if (code !== "bits") throw new UsageError(`--${bits === undefined ? "ratio" : "bits"} is for the code bits: ${code} has its size`);
  if (bits === undefined) return { code, ratio: ratio! };
  if (ratio !== undefined) throw new UsageError("--bits and --ratio follow from each other: give one of them");
  return { code, bits };
}

export const compress: Command = {
  name: "compress",
  summary: "make a searchable index of a file of vectors",
  positionals: ["VECTORS", "INDEX"],
  options: {
    code: { value: "CODE", help: "bits (the default), int8, int4, f32, f16 or none" },
    bits: { value: "B", help: "bits a component, on average (code bits)" },
    ratio: { value: "R", help: "size of the index over that of the vectors in f32, such as 0.125 (code bits)" },
    metric: { ...METRIC, help: `${METRIC.help}; hamming for vectors of bits, packed in uint8` },
    "max-norm": { value: "L", help: "greatest length that a vector may have (--metric dot); 2 to 4 times that of VECTORS\nunless given" },
    keys: { value: "FILE", help: "names of the vectors, one a line, which queries then show" },
    ...BUILD_OPTIONS,
    graph: { help: "make a graph as well, with which a query looks at some hundred vectors instead of all" },
    degree: { value: "D", help: "neighbours of a vector in the graph, from 4 to 128; 32 unless given" },
    lazy: { help: "make INDEX so that \"leastwise query --lazy\" and openLazily() read only what a query needs of it" },
    sample: { value: "N", help: "clusters are made of N vectors, drawn by the seed from the first to the last;\n256 a cluster and 32768 at least unless given" },
    ...VECTOR_OPTIONS,
    ...COMMON_OPTIONS,
  },
  notes: `VECTORS is a .npy file (f2, f4, f8 or integers), .fvecs, .bvecs, or raw numbers; - is standard input. Vector i gets the id i.
With --metric hamming eight bits are a number of VECTORS (uint8), as numpy.packbits(x, axis=1) packs them, and INDEX has them as they are.
With --metric cosine zero vectors are refused, as they have no direction.
INDEX is written under another name first, and appears when it is complete; - is standard output.

  npx leastwise compress embeddings.npy embeddings.lwi --ratio 0.125`,

  async run(args, signal) {
    const [input, output] = args.positionals as [string, string];
    if (args.text("metric") === "hamming") {
      mustBeReadable([input, args.text("keys")]);
      const packed = await openVectorFile(input, args);
      return compressBits(args, packed, signal).finally(() => packed.close());
    }
    const asked = { ...codeOptions(args), ...buildOptions(args), ...metricOptions(args) }, sample = args.count("sample"), names = args.text("keys");
    const degree = args.count("degree");
    if (degree !== undefined && !args.has("graph")) throw new UsageError("--degree is for --graph");
    if (degree !== undefined && (degree < 4 || degree > 128)) throw new UsageError(`--degree is ${degree}, which is not from 4 to 128`);
    if (args.has("graph") && asked.code === "none") throw new UsageError("--graph is for codes: without one all vectors of a cluster look alike");
    if (args.has("lazy") && asked.code === "none") throw new UsageError("--lazy is for codes, which are read when they are needed: the code none has none");
    mustBeReadable([input, names]);
    const keys = names === undefined ? undefined : await linesOf(names);
    const vectors = await openVectorFile(input, args);
    const progress = new Progress({ quiet: args.has("quiet") });
    try {
      const { count, dim } = vectors;
      if (count === 0) throw new UsageError(`${input} has no vectors`);
      mustHaveClusters(asked.clusters, count, input);
      if (sample !== undefined && asked.clusters !== undefined && asked.clusters > Math.min(sample, count)) throw new UsageError(`--clusters is ${asked.clusters}, but --sample is ${sample}`);
      if (keys && keys.length !== count) throw new UsageError(`${names} has ${counted(keys.length, "line")}, but ${input} has ${counted(count, "vector")}`);
      await mustBeWritable([output], names === undefined ? [input] : [input, names]);
      await withEngine(args, async (lw) => {
        const started = performance.now();
        const atOnce = Math.max(1, Math.floor(TRAINING_BYTES / (4 * dim)));
        const options = { dim, ...asked, ...(sample !== undefined && { sample }), signal, onProgress: progress.stage("compressing") };
        const isWhole = count <= atOnce;
        const rows = isWhole ? undefined : sampleOf(count, Math.max(Math.min(sample ?? atOnce, atOnce), 1));
        if (rows) remark(args, `Clusters and codes are made of ${rows.length} of ${count} vectors.`);
        const [points, longest] = rows ? await rowsOf(vectors, rows) : [await vectors.rows(), 0];
        // Of a sample alone the greatest length of all is not known.
        const room = rows && asked.metric === "dot" && asked.maxNorm === undefined && longest > 0 ? { maxNorm: 2 * longest } : {};
        using index = await located(input, (row) => rows?.[row] ?? row, () => lw.compress(points, rows ? { ...options, ...room, trainFor: count, ...(keys && { keys: [] }) } : { ...options, ...(keys && { keys }) }));
        if (rows) {
          const move = progress.stage("adding");
          const step = Math.max(1, Math.floor(CHUNK_BYTES / (4 * dim)));
          for (let first = 0; first < count; first += step) {
            const chunk = await vectors.rows(first, Math.min(step, count - first));
            await located(input, (row) => first + row, () => index.add(chunk, { signal, ...(keys && { keys: keys.slice(first, first + step) }) }));
            move(first + step, count);
          }
        }
        if (args.has("graph")) await index.buildGraph({ ...(degree !== undefined && { degree }), signal, onProgress: progress.stage("building the graph") });
        progress.end();
        signal.throwIfAborted();
        const built = performance.now() - started;
        const file = await index.save({ lazy: args.has("lazy") });
        await writeAtomically(output, [file]);
        const info = { ...index.info, bytes: file.length }, ratio = file.length / (4 * info.count * info.dim), trainedOn = Number(info.about["trainedOn"]);
        if (isWhole && trainedOn < count) remark(args, `Clusters are made of ${trainedOn} of ${count} vectors.`);
        report(args, args.has("json")
          ? JSON.stringify({ ...info, ratio, trainedOn, buildMs: built, backend: lw.backend })
          : `${output}: ${counted(info.count, "vector")} of ${counted(info.dim, "component")} in ${size(info.bytes)}, ${percent(ratio)} of f32 (${counted(info.clusters, "cluster")}, code ${info.code}${info.metric === "l2" ? "" : `, metric ${info.metric}`}); built in ${time(built)} on ${lw.backend}`, [output]);
      });
    } finally {
      progress.end();
      await vectors.close();
    }
  },
};

/** Rows at equal distances, `sample` of them. */
function sampleOf(count: number, sample: number): number[] {
  return Array.from({ length: sample }, (_, run) => Math.floor(((run + 0.5) * count) / sample));
}

/** Some rows, ascending, of a file that is read once, and the greatest length of all its vectors. */
async function rowsOf(vectors: VectorFile, rows: readonly number[]): Promise<[F32, number]> {
  const { count, dim } = vectors, step = Math.max(1, Math.floor(CHUNK_BYTES / (4 * dim)));
  const points = new Float32Array(rows.length * dim);
  let place = 0, longest = 0;
  for (let first = 0; first < count; first += step) {
    const chunk = await vectors.rows(first, Math.min(step, count - first));
    for (let at = 0; at < chunk.length; at += dim) {
      let sum = 0;
      for (let k = at; k < at + dim; k++) sum += chunk[k]! ** 2;
      if (Number.isFinite(sum)) longest = Math.max(longest, Math.sqrt(sum));
    }
    for (; place < rows.length && rows[place]! < first + step; place++) points.set(chunk.subarray((rows[place]! - first) * dim, (rows[place]! - first + 1) * dim), place * dim);
  }
  return [points, longest];
}

/** Runs `work` on vectors of a file; errors then name the vector of the file, `rowOf` that which was given. */
export async function located<T>(path: string, rowOf: (row: number) => number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof LeastwiseError && thrown.code === "non-finite" && thrown.instance !== undefined) throw new Error(`${path}: vector ${rowOf(thrown.instance)} has a NaN or an infinity`);
    if (thrown instanceof LeastwiseError && thrown.instance !== undefined) throw new Error(`${path}: ${thrown.message.slice(thrown.message.indexOf("vector ")).replace(`vector ${thrown.instance}`, `vector ${rowOf(thrown.instance)}`)}`);
    throw thrown;
  }
}
