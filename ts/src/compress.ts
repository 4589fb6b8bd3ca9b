/** Making indices: from vectors, from files. */
import { bytesOf, type U8 } from "./arrays.js";
import { isA, LeastwiseError, reading } from "./errors.js";
import { describe } from "./instruction.js";
import type { NativeCompressOptions } from "./native.js";
import { checked, given, oneOf, real, REPORTING, whole, type Reporting } from "./options.js";
import { NEEDS } from "./parts.js";
import { dimension, pointsOf, type Points } from "./points.js";
import type { Tasks } from "./tasks.js";

interface CompressBase extends Reporting {
  /** Components of a vector. */
  readonly dim: number;
  /** Number of clusters (inverted lists). @defaultValue chosen by the number of vectors */
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
}

/**
 * Code of a vector, stored beside its cluster:
 * - `"bits"`: its difference to the centroid, rotated, with as many bits a component as pay most; `bits` on average (up to 12,
 *   default: 4), or what makes the whole file `ratio` of the size of the vectors in f32.
 * - `"int8"`, `"int4"`: 8 or 4 bits a component.
 * - `"pq"`: product quantisation, a byte for several components; `bits` a component (up to 8, default: 2), or `ratio`.
 * - `"none"`: nothing; then all vectors of a cluster look alike.
 *
 * @example
 * const code: CodeOptions = { code: "bits", bits: 4 };  // four bits a component
 */
export type CodeOptions =
  | {
    /** Code, of its usual size. @defaultValue `"bits"` */
    readonly code?: "bits" | "int8" | "int4" | "pq" | "none";
    readonly bits?: never;
    readonly ratio?: never;
  }
  | {
    /** Code, whose size is given. @defaultValue `"bits"` */
    readonly code?: "bits" | "pq";
    /** Bits a component. @defaultValue 4 for `"bits"`, 2 for `"pq"` */
    readonly bits?: number;
    readonly ratio?: never;
  }
  | {
    /** Code, whose size follows from that of the file. @defaultValue `"bits"` */
    readonly code?: "bits" | "pq";
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
  dim: dimension, clusters: whole(), method: oneOf("anneal", "lloyd", "vlc"), seed: whole(0), sample: whole(), trainFor: whole(1, 0xfffffffe), code: oneOf("none", "int8", "int4", "pq", "bits"),
  bits: real(0, 12), ratio: real(0, 1), ...REPORTING,
} as const;

/** Options as the engine takes them, checked, and what reports on the work. @internal */
export function nativeCompressOptions(options: CompressOptions): { native: NativeCompressOptions } & Pick<CompressBase, "signal" | "onProgress"> {
  const { signal, onProgress, code = "bits", ...rest } = checked("compress(points, options): options", options, COMPRESS);
  const { bits, ratio } = rest;
  if (code === "pq" && bits !== undefined) real(0, 8)("bits", bits, {});
  if (bits !== undefined && code !== "bits" && code !== "pq") throw new LeastwiseError("invalid-option", `bits: only the codes "bits" and "pq" have them, not "${code}"`);
  if (ratio !== undefined && code !== "bits" && code !== "pq") throw new LeastwiseError("invalid-option", `ratio: only the codes "bits" and "pq" can be made for one, not "${code}"`);
  if (ratio !== undefined && bits !== undefined) throw new LeastwiseError("invalid-option", "bits and ratio: each follows from the other, so give one of them");
  return { native: { ...rest, code } as NativeCompressOptions, ...(signal && { signal }), ...(onProgress && { onProgress }) };
}

/** The handle of a new index, and how many numbers its vectors had. @internal */
export async function compress(tasks: Tasks, points: Points, options: CompressOptions): Promise<{ handle: number; length: number }> {
  const { native, signal, onProgress } = nativeCompressOptions(options);
  const floats = pointsOf("compress(points): points", points, native.dim);
  const { index } = await tasks.beginWith(NEEDS.vectors, floats, (engine, vectors) => engine.compress(vectors, native), { signal, onProgress, onAbort: "reject" });
  // An index that is to be filled has none of them.
  return { handle: index!, length: native.trainFor === undefined ? floats.length : 0 };
}

const PUBLISHED = { idx: given(), anchors: given(), assign: given(), jacobians: given(), residuals: given() } as const;

/** The handle of an index that was saved. @internal */
export async function openIndex(tasks: Tasks, file: Uint8Array | ArrayBuffer | ReadableStream<Uint8Array> | PublishedFiles): Promise<number> {
  const loading = tasks.parts.need(NEEDS.vectors);
  if (loading) await loading;
  if (isA(file, ArrayBuffer)) {
    const all = reading("openIndex(file): file", () => new Uint8Array(file));
    return tasks.call((engine) => engine.openIndex(all));
  }
  const bytes = bytesOf("openIndex(file): file", file);
  if (bytes) return tasks.call((engine) => engine.openIndex(bytes));
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
  return tasks.call((engine) => engine.openPublished(idx, anchors, assign, jacobians, residuals));
}

/** Checks what arrives while it arrives: a file that is none is refused at its first piece. */
async function readIndex(tasks: Tasks, stream: ReadableStream<U8 | Uint8Array>): Promise<number> {
  const pieces = reading("openIndex(stream): the stream", () => stream.getReader());
  const reader = tasks.call((engine) => engine.indexReader());
  try {
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return tasks.call((engine) => engine.finishIndexReader(reader));
      const piece = bytesOf("openIndex(stream): a piece", value);
      if (!piece) throw new LeastwiseError("invalid-option", "openIndex(stream): it must bring Uint8Arrays");
      tasks.call((engine) => engine.feedIndexReader(reader, piece));
    }
  } catch (thrown) {
    tasks.release((engine) => engine.freeIndexReader(reader));
    await pieces.cancel().catch(() => undefined);
    throw thrown;
  }
}
