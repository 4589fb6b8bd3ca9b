/** Making indices: from vectors, from files. */
import { bytesOf, joinedBytes, type U8 } from "./arrays.js";
import { isA, LeastwiseError, reading } from "./errors.js";
import { describe } from "./instruction.js";
import type { NativeCompressOptions } from "./native.js";
import { checked, given, oneOf, real, REPORTING, whole, type Reporting } from "./options.js";
import { NEEDS } from "./parts.js";
import { dimension, pointsOf, type Points } from "./points.js";
import type { Tasks } from "./tasks.js";
import type { BuildGraphOptions } from "./vector-index.js";
import { type Description, endsInEnvelope, envelope, envelopeBytes, mayBeEnvelope, nameOf, readEnvelope, spaceOf } from "./vectors/envelope.js";
import { Keys, keysOf, type KeyList } from "./vectors/keys.js";
import { maxNormKind, metricKind, Space, type Metric } from "./vectors/metric.js";

interface CompressBase extends Reporting {
  /** Components of a vector. */
  readonly dim: number;
  /** Number of clusters (inverted lists). @defaultValue chosen by the number of vectors; one, around the origin, for the codes `"f32"` and `"f16"` */
  readonly clusters?: number;
  /** Clustering method, see {@link Engine.cluster}. @defaultValue ten rounds of `"lloyd"`; more do not raise recall */
  readonly method?: "anneal" | "lloyd" | "vlc";
  /** Seed of all random numbers. @defaultValue 0 */
  readonly seed?: number;
  /**
   * Number of vectors that clusters are made of, drawn by the seed from the first to the last; all vectors are coded.
   *
   * @defaultValue 256 a cluster, and at least 32,768
   */
  readonly sample?: number;
  /**
   * Vectors that the index is to have, of which `points` are only a sample: clusters and `ratio` are chosen for so many. The index begins
   * empty, and {@link VectorIndex.add} takes them.
   *
   * @defaultValue the number of `points`
   */
  readonly trainFor?: number;
  /**
   * Metric of all searches: `"l2"` for vectors whose distances mean something, `"cosine"` for embeddings of text and images whose lengths
   * do not (zero vectors are refused, having no direction), `"dot"` for those trained by dot products, where greater length means more.
   *
   * @defaultValue `"l2"`
   */
  readonly metric?: Metric;
  /**
   * Greatest length of a vector that the index may ever take, with `metric: "dot"` only. Longer ones are refused with `"limits"`.
   *
   * @defaultValue 2 to 4 times the greatest length among `points` (or the first that are added), a power of two
   */
  readonly maxNorm?: number;
  /**
   * Own keys of the vectors, one each and none twice: strings or integers, by which {@link VectorIndex.upsert},
   * {@link VectorIndex.remove} and filters know them, and which hits have. They are kept in the file, beside what `ratio` counts.
   * `[]` for an index that is to be filled.
   *
   * @defaultValue none: vectors are known by their ids
   */
  readonly keys?: KeyList;
  /**
   * Makes a graph as well, as {@link VectorIndex.buildGraph} does. Its bytes come on top of what `ratio` asks for.
   *
   * @defaultValue false
   */
  readonly graph?: boolean | Pick<BuildGraphOptions, "degree" | "effort">;
}

/**
 * Code of a vector, stored beside its cluster:
 * - `"bits"`: its difference to the centroid, rotated, with as many bits a component as pay most; `bits` on average (up to 12,
 *   default: 4), or what makes the whole file `ratio` of the size of the vectors in f32.
 * - `"int8"`, `"int4"`: 8 or 4 bits a component.
 * - `"f32"`, `"f16"`: the numbers themselves, in single or half precision. Without `clusters` an index has one, around the origin, and searches are
 *   exact: every query is compared with every vector by ‖q − x‖². With `clusters`, the difference to the centroid is rounded.
 * - `"none"`: nothing; then all vectors of a cluster look alike.
 *
 * @example
 * const code: CodeOptions = { code: "bits", bits: 4 };  // four bits a component
 */
export type CodeOptions =
  | {
    /** Code, of its usual size. @defaultValue `"bits"` */
    readonly code?: "bits" | "int8" | "int4" | "f32" | "f16" | "none";
    readonly bits?: never;
    readonly ratio?: never;
  }
  | {
    /** Code, whose size is given. @defaultValue `"bits"` */
    readonly code?: "bits";
    /** Bits a component. @defaultValue 4 */
    readonly bits?: number;
    readonly ratio?: never;
  }
  | {
    /** Code, whose size follows from that of the file. @defaultValue `"bits"` */
    readonly code?: "bits";
    readonly bits?: never;
    /** Size of the whole file as a share of the vectors' size in f32. @defaultValue none: `bits` holds */
    readonly ratio?: number;
  };

/**
 * How to compress; sizes for codes that have one already do not compile.
 *
 * @example
 * const options: CompressOptions = { dim: 8, ratio: 0.125 };  // an eighth of the vectors' size in f32
 * const index = await lw.compress(points, options);
 */
export type CompressOptions = CompressBase & CodeOptions;

/**
 * An index in the format of the published compressor, file by file: `.idx`, `.anchors.bin`, `.assign.bin` and, if there are, the others.
 *
 * @example
 * const files: PublishedFiles = { idx: bytes, anchors: bytes, assign: bytes };
 * const index = await lw.openIndex(files);
 */
export interface PublishedFiles {
  readonly idx: Uint8Array;
  readonly anchors: Uint8Array;
  readonly assign: Uint8Array;
  readonly jacobians?: Uint8Array;
  readonly residuals?: Uint8Array;
}

const COMPRESS = {
  dim: dimension, clusters: whole(), method: oneOf("anneal", "lloyd", "vlc"), seed: whole(0), sample: whole(), trainFor: whole(1, 0xfffffffe), code: oneOf("none", "int8", "int4", "bits", "f32", "f16"),
  bits: real(0, 12), ratio: real(0, 1), metric: metricKind, maxNorm: maxNormKind, keys: given(), graph: given(), ...REPORTING,
} as const;

const GRAPH = { degree: whole(4, 128), effort: whole(1, 8192) } as const;

/** Options as the engine takes them, checked, and those that it does not. */
function compressOptions(options: CompressOptions) {
  const { signal, onProgress, code = "bits", metric = "l2", maxNorm, keys, graph = false, ...rest } = checked("compress(points, options): options", options, COMPRESS);
  const { bits, ratio } = rest;
  if (bits !== undefined && code !== "bits") throw new LeastwiseError("invalid-option", `bits: only the code "bits" has them, not "${code}"`);
  if (ratio !== undefined && code !== "bits") throw new LeastwiseError("invalid-option", `ratio: only the code "bits" can be made for one, not "${code}"`);
  for (const name of ["method", "sample"] as const) {
    if (rest[name] !== undefined && rest.clusters === undefined && (code === "f32" || code === "f16")) throw new LeastwiseError("invalid-option", `${name}: the code "${code}" has one cluster, around the origin, unless clusters says how many`);
  }
  if (ratio !== undefined && bits !== undefined) throw new LeastwiseError("invalid-option", "bits and ratio: each follows from the other, so give one of them");
  if (maxNorm !== undefined && metric !== "dot") throw new LeastwiseError("invalid-option", `maxNorm: only the metric "dot" has it, not "${metric}"`);
  if (typeof graph !== "boolean" && (typeof graph !== "object" || graph === null)) throw new LeastwiseError("invalid-option", `graph: it must be true, false or { degree, effort }, not ${describe(graph)}`);
  if (graph && code === "none") throw new LeastwiseError("invalid-option", 'graph: the code "none" can\'t have one, since all vectors of a cluster look alike');
  const watch = { ...(signal && { signal }), ...(onProgress && { onProgress }) };
  const ofGraph = graph === true ? watch : graph ? { ...checked("compress(points, { graph }): graph", graph, GRAPH), ...watch } : undefined;
  return { native: { ...rest, code } as NativeCompressOptions, metric, maxNorm, keys, graph: ofGraph, watch };
}

/** An index of the engine's, and what the engine does not know of it. @internal */
export interface Made { readonly handle: number; readonly space: Space; readonly keys?: Keys | undefined; readonly ratio?: number | undefined; readonly file?: string }

/** A new index, and how many numbers its vectors had. @internal */
export async function compress(tasks: Tasks, points: Points, options: CompressOptions): Promise<Made & { length: number; graph: BuildGraphOptions | undefined }> {
  const { native, metric, maxNorm, keys: named, graph, watch } = compressOptions(options);
  const { dim, ratio, trainFor } = native;
  const floats = pointsOf("compress(points): points", points, dim), space = new Space(metric, dim, maxNorm);
  const stored = space.enter("compress(points)", floats), count = trainFor === undefined ? floats.length / dim : 0;
  const keys = named === undefined ? undefined : new Keys();
  keysOf("keys", named ?? [], keys && count).forEach((key, id) => keys!.set(id, key));
  const asked = ratio === undefined ? undefined : ratioOf(ratio, space, trainFor ?? count);
  const sized: NativeCompressOptions = { ...native, dim: space.width, ...(asked !== undefined && { ratio: asked }) };
  try {
    const { index } = await tasks.beginWith(NEEDS.vectors, stored, (engine, vectors) => engine.compress(vectors, sized), { ...watch, onAbort: "reject" });
    // An index that is to be filled has none of them.
    return { handle: index!, space, keys, ratio: metric === "l2" ? undefined : ratio, graph, length: trainFor === undefined ? floats.length : 0 };
  } catch (thrown) {
    throw asked === undefined || metric === "l2" ? thrown : inTermsOf(thrown, space, ratio!, asked, trainFor ?? count);
  }
}

/** Bytes of the envelope as a share of the vectors' size in f32, and what the added component of a metric takes: `file = ratio · grown + share`. */
function besides({ metric, dim, width, maxNorm }: Space, ratio: number, count: number): { grown: number; share: number } {
  const bytes = envelope({ metric, ...(maxNorm !== undefined && { maxNorm }), ratio }).length;
  return { grown: width / dim, share: count > 0 ? bytes / (4 * dim * count) : 0 };
}

/** Ratio of the engine's file that leaves room for the envelope, and counts the vectors as they were given. Short, as the file has it. */
function ratioOf(ratio: number, space: Space, count: number): number {
  if (space.metric === "l2") return ratio;
  const { grown, share } = besides(space, ratio, count);
  return Math.max(Math.floor(((ratio - share) / grown) * 1e6), 1) / 1e6;
}

/** The engine's refusal of a ratio, in terms of what was given. */
function inTermsOf(thrown: unknown, space: Space, ratio: number, asked: number, count: number): unknown {
  if (!isA(thrown, LeastwiseError) || !thrown.message.includes(`ratio of ${asked}`)) return thrown;
  const { dim, width } = space, { grown, share } = besides(space, ratio, count);
  const least = (text: string) => Math.ceil((Number(text) * grown + share) * 1000 + 0.5) / 1000;
  const message = thrown.message.replace(`of ${width} dimensions`, `of ${dim} dimensions`).replace(`ratio of ${asked}`, `ratio of ${ratio}`).replace(/ask for (0[\d.]+)/, (_, text: string) => `ask for ${least(text)}`);
  return new LeastwiseError(thrown.code, message, { cause: thrown });
}

const PUBLISHED = { idx: given(), anchors: given(), assign: given(), jacobians: given(), residuals: given() } as const;

/** An index that was saved. @internal */
export async function openIndex(tasks: Tasks, file: Uint8Array | ArrayBuffer | ReadableStream<Uint8Array> | PublishedFiles): Promise<Made> {
  const loading = tasks.parts.need(NEEDS.vectors);
  if (loading) await loading;
  if (isA(file, ArrayBuffer)) return openBytes(tasks, reading("openIndex(file): file", () => new Uint8Array(file)));
  const bytes = bytesOf("openIndex(file): file", file);
  if (bytes) return openBytes(tasks, bytes);
  if (typeof ReadableStream !== "undefined" && isA(file, ReadableStream)) return readIndex(tasks, file);
  if (typeof file !== "object" || file === null || !reading("openIndex(file): file", () => "idx" in file)) {
    throw new LeastwiseError("invalid-option", `openIndex(file): it takes the bytes of a file, a stream of them, or the published format's { idx, anchors, assign }, not ${describe(file)}`);
  }
  const files = checked("openIndex({ idx, anchors, assign }): files", file, PUBLISHED);
  const part = (name: keyof typeof PUBLISHED): Uint8Array => {
    const found = bytesOf(`openIndex({ ${name} })`, files[name]);
    if (!found) throw new LeastwiseError("invalid-option", `openIndex({ ${name} }): ${name} must be the bytes of the file, a Uint8Array, not ${describe(files[name])}`);
    return found;
  };
  const [idx, anchors, assign] = [part("idx"), part("anchors"), part("assign")];
  const [jacobians, residuals] = (["jacobians", "residuals"] as const).map((name) => (files[name] === undefined ? undefined : part(name)));
  return described(tasks, tasks.call((engine) => engine.openPublished(idx, anchors, assign, jacobians, residuals)), { metric: "l2" });
}

/** An index of the engine's with its description, unless they contradict each other. */
function described(tasks: Tasks, handle: number, description: Description): Made {
  try {
    const { ratio, keys } = description;
    return { handle, space: spaceOf(tasks.call((engine) => engine.indexSizes(handle)), description), keys, ratio };
  } catch (thrown) {
    tasks.release((engine) => engine.freeIndex(handle));
    throw thrown;
  }
}

function openBytes(tasks: Tasks, bytes: Uint8Array): Made {
  const [description, start] = bytes.length > 0 && mayBeEnvelope(bytes) ? opened(bytes) : [{ metric: "l2" } as const, 0];
  const own = bytes.subarray(start);
  return { ...described(tasks, tasks.call((engine) => engine.openIndex(own)), description), file: nameOf(bytes.subarray(0, start), own) };
}

/** What an envelope says, and where it ends. */
function opened(bytes: Uint8Array): [Description, number] {
  const needed = envelopeBytes(bytes);
  if (bytes.length < needed) throw endsInEnvelope(needed, bytes.length);
  return [readEnvelope(bytes.subarray(0, needed)), needed];
}

/** Checks what arrives while it arrives: a file that is none is refused at its first piece. */
async function readIndex(tasks: Tasks, stream: ReadableStream<U8 | Uint8Array>): Promise<Made> {
  const pieces = reading("openIndex(stream): the stream", () => stream.getReader());
  const reader = tasks.call((engine) => engine.indexReader());
  const feed = (piece: Uint8Array) => tasks.call((engine) => engine.feedIndexReader(reader, piece));
  // What came so far, while it may be an envelope that has not ended.
  let held: Uint8Array[] | undefined = [], length = 0, needed = 64, description: Description = { metric: "l2" }, handle: number;
  try {
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) break;
      const piece = bytesOf("openIndex(stream): a piece", value);
      if (!piece) throw new LeastwiseError("invalid-option", "openIndex(stream): it must bring Uint8Arrays");
      if (!held) {
        feed(piece);
        continue;
      }
      held.push(piece.slice());
      length += piece.length;
      if (length === 0 || (length < needed && needed > 64)) continue;
      const start: Uint8Array = joinedBytes(held, length);
      held = [start];
      if (!mayBeEnvelope(start)) {
        held = undefined;
        feed(start);
        continue;
      }
      needed = envelopeBytes(start);
      if (length < needed) continue;
      [description] = opened(start);
      held = undefined;
      feed(start.subarray(needed));
    }
    if (held && length > 2) throw endsInEnvelope(needed, length);
    if (held) feed(joinedBytes(held, length));
    handle = tasks.call((engine) => engine.finishIndexReader(reader));
  } catch (thrown) {
    tasks.release((engine) => engine.freeIndexReader(reader));
    await pieces.cancel().catch(() => undefined);
    throw thrown;
  }
  return described(tasks, handle, description);
}
