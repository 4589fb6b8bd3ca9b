/** `leastwise cluster`: centroids and labels of a file's vectors. */
import type { ClusterOptions, Mean } from "leastwise";
import { encodeNpy } from "leastwise/vectors";
import { numberOf, UsageError, type Arguments, type Bounds, type Command } from "../arguments.js";
import { COMMON_OPTIONS, withEngine } from "../engine.js";
import { mustBeWritable, openVectorFile, report, VECTOR_OPTIONS, writeAtomically } from "../files.js";
import { Progress } from "../progress.js";
import { counted, short, time } from "../text.js";
import { located, mustHaveClusters } from "./compress.js";

/** Options that are numbers: what the façade calls them, and what they may be. */
const NUMBERS: { readonly [option: string]: { readonly name: string; readonly integer?: true } & Bounds } = {
  "max-iterations": { name: "maxIterations", integer: true, least: 1 },
  tolerance: { name: "tolerance", least: 0 },
  "min-changes": { name: "minChanges", integer: true, least: 0 },
  temperature: { name: "temperature", above: 0 },
  cooling: { name: "cooling", least: 0, most: 0.999 },
  "learning-rate": { name: "learningRate", above: 0 },
  momentum: { name: "momentum", least: 0, most: 0.999 },
  "maintenance-interval": { name: "maintenanceInterval", integer: true, least: 1 },
  seed: { name: "seed", integer: true, least: 0 },
};

/** Options that not all methods have. */
const OF_METHODS: { readonly [option: string]: readonly string[] } = {
  start: ["lloyd", "vlc"], mean: ["lloyd", "vlc"], "min-changes": ["lloyd", "vlc"], cooling: ["anneal", "vlc"],
  temperature: ["vlc"], "learning-rate": ["vlc"], momentum: ["vlc"], "maintenance-interval": ["vlc"],
};

export const cluster: Command = {
  name: "cluster",
  summary: "find centroids, and the nearest of them to each vector",
  positionals: ["VECTORS"],
  options: {
    clusters: { short: "m", value: "M", help: "how many centroids (needed)" },
    method: { value: "NAME", help: "anneal (the default), lloyd, or vlc (the published algorithm)" },
    metric: { value: "NAME", help: "l2 (the default), or cosine: vectors are brought to unit length first" },
    start: { value: "NAME", help: "k-means++ or farthest (lloyd, vlc)" },
    mean: { value: "MEAN", help: "plain, trim:SHARE or huber:DISTANCE (lloyd, vlc)" },
    "max-iterations": { value: "N", help: "iterations at most" },
    tolerance: { value: "E", help: "converged when the energy changes by less" },
    "min-changes": { value: "N", help: "converged when fewer assignments change (lloyd, vlc)" },
    temperature: { value: "T", help: "at the start (vlc)" },
    cooling: { value: "C", help: "how fast the temperature falls (anneal, vlc)" },
    "learning-rate": { value: "R", help: "of moves towards means (vlc)" },
    momentum: { value: "P", help: "share of its last move that a centroid goes on with (vlc)" },
    "maintenance-interval": { value: "N", help: "iterations between merging and splitting (vlc)" },
    seed: { value: "N", help: "of everything that is drawn; 0 unless given" },
    centroids: { value: "FILE", help: "write the centroids as .npy (float32, clusters × dim)" },
    labels: { value: "FILE", help: "write each vector's centroid as .npy (uint32)" },
    ...VECTOR_OPTIONS,
    ...COMMON_OPTIONS,
  },
  notes: `VECTORS is a file as "leastwise compress" reads, - standard input; FILE may be -, standard output. The energy is the mean squared distance of a vector to its centroid.

  npx leastwise cluster colours.npy -m 16 --centroids palette.npy`,

  async run(args, signal) {
    const [path] = args.positionals as [string];
    const clusters = args.count("clusters");
    if (clusters === undefined) throw new UsageError("--clusters is missing");
    const asked = methodOptions(args);
    const vectors = await openVectorFile(path, args);
    const progress = new Progress({ quiet: args.has("quiet") });
    try {
      const outputs = [args.text("centroids"), args.text("labels")];
      mustHaveClusters(clusters, vectors.count, path);
      await mustBeWritable(outputs, [path]);
      const points = await vectors.rows();
      await withEngine(args, async (lw) => {
        const options = { dim: vectors.dim, clusters, ...asked, signal, onProgress: progress.stage("clustering") } as ClusterOptions;
        const found = await located(path, (row) => row, () => lw.cluster(points, options));
        progress.end();
        signal.throwIfAborted();
        if (args.text("centroids") !== undefined) await writeAtomically(args.text("centroids")!, [encodeNpy(found.centroids, [found.clusters, found.dim])]);
        if (args.text("labels") !== undefined) await writeAtomically(args.text("labels")!, [encodeNpy(found.labels)]);
        const { energy, termination, reason, iterations, ms } = found;
        report(args, args.has("json")
          ? JSON.stringify({ backend: lw.backend, vectors: vectors.count, dim: found.dim, clusters: found.clusters, energy, termination, reason, ms, iterations }, null, 2)
          : `${counted(vectors.count, "vector")} of ${counted(found.dim, "component")}, ${counted(found.clusters, "centroid")}: energy ${short(energy)} after ${counted(iterations.length, "iteration")} in ${time(ms)} on ${lw.backend} (${termination}: ${reason})`, outputs);
      });
    } finally {
      progress.end();
      await vectors.close();
    }
  },
};

function methodOptions(args: Arguments): Partial<ClusterOptions> {
  const method = args.choice("method", ["anneal", "lloyd", "vlc"]);
  for (const [option, methods] of Object.entries(OF_METHODS)) {
    if (args.text(option) !== undefined && !methods.includes(method ?? "anneal")) throw new UsageError(`--${option} is an option of --method ${methods.join(" and ")}, not of ${method ?? "anneal"}`);
  }
  const start = args.choice("start", ["k-means++", "farthest"]);
  const mean = meanOf(args.text("mean"));
  const numbers = Object.entries(NUMBERS).map(([option, { name, integer, ...bounds }]) => [name, integer ? args.count(option, bounds.least) : args.number(option, bounds)] as const).filter(([, value]) => value !== undefined);
  const metric = args.choice("metric", ["l2", "cosine"]);
  return { ...(method && { method }), ...(metric && { metric }), ...(start && { start }), ...(mean && { mean }), ...Object.fromEntries(numbers) } as Partial<ClusterOptions>;
}

function meanOf(given: string | undefined): Mean | undefined {
  if (given === undefined || given === "plain") return given;
  const [kind, value] = given.split(":", 2);
  if (kind === "trim" && value) return { trim: numberOf("mean trim", value, { least: 0, most: 0.49 }) };
  if (kind === "huber" && value) return { huber: numberOf("mean huber", value, { above: 0 }) };
  throw new UsageError(`--mean is "${given}", which is not plain, trim:SHARE or huber:DISTANCE`);
}
