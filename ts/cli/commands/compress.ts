/** `leastwise compress`: a file of vectors to an index. */
import { LeastwiseError, type CodeOptions, type CompressOptions } from "leastwise";
import { UsageError, type Arguments, type Command, type Option } from "../arguments.js";
import { COMMON_OPTIONS, remark, withEngine } from "../engine.js";
import { mustBeWritable, openVectorFile, VECTOR_OPTIONS, writeAtomically } from "../files.js";
import { Progress } from "../progress.js";
import { percent, size, time } from "../text.js";

export const CODES = ["none", "int8", "int4", "pq", "bits"] as const;

/** What `compress` and `bench` have in common. */
export const BUILD_OPTIONS: { readonly [name: string]: Option } = {
  clusters: { value: "M", help: "inverted lists; chosen by the number of vectors unless given" },
  method: { value: "NAME", help: "how clusters are found: anneal, lloyd or vlc; ten rounds of lloyd unless given" },
  seed: { value: "N", help: "of everything that is drawn; 0 unless given" },
};

/** Ratios that can be asked for. */
export const RATIOS = { above: 0, most: 1 };

/**
 * Vectors that clusters and codes are made of, unless told: those of 256 MiB in f32. The engine keeps several copies of them while it works,
 * of the 4 GiB that WebAssembly can address.
 */
const TRAINING_BYTES = 2 ** 28;
/** Vectors that are added at a time. */
const CHUNK_BYTES = 2 ** 26;

export function buildOptions(args: Arguments): Pick<CompressOptions, "clusters" | "method" | "seed"> {
  const [clusters, method, seed] = [args.count("clusters"), args.choice("method", ["anneal", "lloyd", "vlc"]), args.count("seed", 0)];
  return { ...(clusters && { clusters }), ...(method && { method }), ...(seed !== undefined && { seed }) };
}

function codeOptions(args: Arguments): CodeOptions {
  const code = args.choice("code", CODES) ?? "bits";
  const [bits, ratio] = [args.number("bits", { above: 0, most: code === "pq" ? 8 : 12 }), args.number("ratio", RATIOS)];
  if (bits === undefined && ratio === undefined) return { code };
  if (code !== "bits" && code !== "pq") throw new UsageError(`--${bits === undefined ? "ratio" : "bits"} is for the codes bits and pq: ${code} has its size`);
  if (bits === undefined) return { code, ratio: ratio! };
  if (ratio !== undefined) throw new UsageError("--bits and --ratio follow from each other: give one of them");
  return { code, bits };
}

export const compress: Command = {
  name: "compress",
  summary: "make a searchable index of a file of vectors",
  positionals: ["VECTORS", "INDEX"],
  options: {
    code: { value: "CODE", help: "bits (the default), int8, int4, pq or none" },
    bits: { value: "B", help: "bits a component, on average (codes bits and pq)" },
    ratio: { value: "R", help: "size of the index over that of the vectors in f32, such as 0.125 (codes bits and pq)" },
    ...BUILD_OPTIONS,
    sample: { value: "N", help: "clusters and codes are made of the first N vectors, the rest is added;\nas many as 256 MiB hold in f32 unless given. Shuffle a file that is sorted" },
    ...VECTOR_OPTIONS,
    ...COMMON_OPTIONS,
  },
  notes: `VECTORS is a .npy file (f2, f4, f8 or integers), .fvecs, .bvecs, or raw numbers. Vector i gets the id i.
INDEX is written under another name first, and appears when it is complete.

  npx leastwise compress embeddings.npy embeddings.lwi --ratio 0.125`,

  async run(args, signal) {
    const [input, output] = args.positionals as [string, string];
    const asked = { ...codeOptions(args), ...buildOptions(args) }, most = args.count("sample");
    const vectors = await openVectorFile(input, args);
    const progress = new Progress({ quiet: args.has("quiet") });
    try {
      if (vectors.count === 0) throw new UsageError(`${input} has no vectors`);
      await mustBeWritable([output], [input]);
      await withEngine(args, async (lw) => {
        const started = performance.now();
        const sample = Math.min(vectors.count, most ?? Math.max(1, Math.floor(TRAINING_BYTES / (4 * vectors.dim))));
        if (sample < vectors.count) remark(args, `Clusters and codes are made of the first ${sample} of ${vectors.count} vectors.`);
        const points = await vectors.rows(0, sample);
        const reporting = { signal, onProgress: progress.stage("compressing") };
        using index = await located(input, 0, () => lw.compress(points, { dim: vectors.dim, ...asked, ...reporting }));
        const move = progress.stage("adding");
        const step = Math.max(1, Math.floor(CHUNK_BYTES / (4 * vectors.dim)));
        for (let first = sample; first < vectors.count; first += step) {
          const chunk = await vectors.rows(first, Math.min(step, vectors.count - first));
          await located(input, first, () => index.add(chunk, { signal }));
          move(first + step - sample, vectors.count - sample);
        }
        progress.end();
        signal.throwIfAborted();
        const built = performance.now() - started;
        await writeAtomically(output, [await index.save()]);
        const { info } = index;
        if (args.has("json")) return console.log(JSON.stringify({ ...info, ratio: index.ratio, trainedOn: sample, buildMs: built, backend: lw.backend }));
        console.log(`${output}: ${info.count} vectors of ${info.dim} components in ${size(info.bytes)}, ${percent(index.ratio)} of f32 (${info.clusters} clusters, code ${info.code}); built in ${time(built)} on ${lw.backend}`);
      });
    } finally {
      progress.end();
      await vectors.close();
    }
  },
};

/** Runs `work` on vectors of a file, from `first` on; errors then name the vector of the file. */
export async function located<T>(path: string, first: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof LeastwiseError && thrown.code === "non-finite" && thrown.instance !== undefined) throw new Error(`${path}: vector ${first + thrown.instance} has a NaN or an infinity`);
    throw thrown;
  }
}

