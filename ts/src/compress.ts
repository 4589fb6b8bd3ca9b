/** Making indices: from vectors, from files. */
import type { U8 } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { describe } from "./instruction.js";
import type { NativeCompressOptions } from "./native.js";
import { pointsOf, type Points } from "./points.js";
import { given, mustBeBetween, mustBeCount, mustBeOneOf, mustBeReporting, mustHaveOnly, type Reporting } from "./settings.js";
import type { Tasks } from "./tasks.js";

interface CompressBase extends Reporting {
  /** Components of a vector. */
  readonly dim: number;
  /** Clusters (inverted lists); chosen by the number of vectors unless told. */
  readonly clusters?: number;
  /** How they are found, see {@link Engine.cluster}: ten rounds of `"lloyd"` unless told, from which recall gains as much as from more. */
  readonly method?: "anneal" | "lloyd" | "vlc";
  /** Of everything that is drawn; 0 unless told. */
  readonly seed?: number;
  /**
   * Vectors that clusters are made of, drawn by the seed from the first to the last; all of them are coded. 256 a cluster and 32,768 at least
   * unless told.
   */
  readonly sample?: number;
  /**
   * Vectors that the index is to have, of which `points` are only a sample: clusters and `ratio` are chosen for so many. The index begins
   * empty, and {@link VectorIndex.add} takes them.
   */
  readonly trainFor?: number;
}

/**
 * What is stored of a vector besides its cluster, `code`:
 * - `"bits"` (the default): its difference to the centroid, rotated, with as many bits a component as pay most; `bits` on average (up to 12,
 *   4 unless told), or what makes the whole file `ratio` of the size of the vectors in f32.
 * - `"int8"`, `"int4"`: 8 or 4 bits a component.
 * - `"pq"`: product quantisation, a byte for several components; `bits` a component (up to 8, 2 unless told), or `ratio`.
 * - `"none"`: nothing; then all vectors of a cluster look alike.
 */
export type CodeOptions =
  | { readonly code?: "bits" | "int8" | "int4" | "pq" | "none"; readonly bits?: never; readonly ratio?: never }
  | { readonly code?: "bits" | "pq"; readonly bits?: number; readonly ratio?: never }
  | { readonly code?: "bits" | "pq"; readonly bits?: never; readonly ratio?: number };

/** How to compress; sizes for codes that have one already do not compile. */
export type CompressOptions = CompressBase & CodeOptions;

/** An index in the format of the published compressor, file by file: `.idx`, `.anchors.bin`, `.assign.bin` and, if there are, the others. */
export interface PublishedFiles {
  readonly idx: Uint8Array;
  readonly anchors: Uint8Array;
  readonly assign: Uint8Array;
  readonly jacobians?: Uint8Array;
  readonly residuals?: Uint8Array;
}

const CODES = ["none", "int8", "int4", "pq", "bits"];
const KNOWN = ["dim", "clusters", "method", "seed", "sample", "trainFor", "code", "bits", "ratio", "signal", "onProgress"];

/** Checks options, and gives them as the engine takes them. @internal */
export function nativeCompressOptions(options: CompressOptions): NativeCompressOptions {
  mustHaveOnly(options, KNOWN, "compress(points, options)");
  mustBeReporting(options);
  const { signal: _, onProgress: __, ...rest } = options;
  const { code = "bits", bits, ratio } = rest;
  mustBeCount("clusters", rest.clusters);
  mustBeCount("seed", rest.seed, { least: 0 });
  mustBeCount("sample", rest.sample);
  mustBeCount("trainFor", rest.trainFor, { most: 0xfffffffe });
  mustBeOneOf("method", rest.method, ["anneal", "lloyd", "vlc"]);
  mustBeOneOf("code", code, CODES);
  mustBeBetween("bits", bits, 0, code === "pq" ? 8 : 12);
  mustBeBetween("ratio", ratio, 0, 1);
  if (bits !== undefined && code !== "bits" && code !== "pq") throw new LeastwiseError("invalid-option", `bits: only the codes "bits" and "pq" have them, not "${code}"`);
  if (ratio !== undefined && code !== "bits" && code !== "pq") throw new LeastwiseError("invalid-option", `ratio: only the codes "bits" and "pq" can be made for one, not "${code}"`);
  if (ratio !== undefined && bits !== undefined) throw new LeastwiseError("invalid-option", "bits and ratio: each follows from the other, so give one of them");
  return { ...(given(rest) as NativeCompressOptions), code };
}

/** The handle of a new index. @internal */
export async function compress(tasks: Tasks, points: Points, options: CompressOptions): Promise<number> {
  const native = nativeCompressOptions(options);
  const floats = pointsOf("compress(points): points", points, options.dim);
  const task = tasks.call((engine) => engine.compress(floats, native));
  const { index } = await tasks.run(task, { signal: options.signal, onProgress: options.onProgress, onAbort: "reject" });
  return index!;
}

/** The handle of an index that was saved. @internal */
export async function openIndex(tasks: Tasks, file: Uint8Array | ArrayBuffer | ReadableStream<Uint8Array> | PublishedFiles): Promise<number> {
  if (file instanceof ArrayBuffer) return openIndex(tasks, new Uint8Array(file));
  if (file instanceof Uint8Array) return tasks.call((engine) => engine.openIndex(file));
  if (typeof ReadableStream !== "undefined" && file instanceof ReadableStream) return readIndex(tasks, file);
  if (typeof file !== "object" || file === null || !("idx" in file)) {
    throw new LeastwiseError("invalid-option", `openIndex(file): it takes the bytes of a file, a stream of them, or the published format's { idx, anchors, assign }, not ${describe(file)}`);
  }
  mustHaveOnly(file, ["idx", "anchors", "assign", "jacobians", "residuals"], "openIndex({ idx, anchors, assign })");
  const { idx, anchors, assign, jacobians, residuals } = file;
  for (const [name, bytes] of Object.entries({ idx, anchors, assign, ...given({ jacobians, residuals }) })) {
    if (!(bytes instanceof Uint8Array)) throw new LeastwiseError("invalid-option", `openIndex({ ${name} }): ${name} must be the bytes of the file, a Uint8Array, not ${describe(bytes)}`);
  }
  return tasks.call((engine) => engine.openPublished(idx, anchors, assign, jacobians, residuals));
}

/** Checks what arrives while it arrives: a file that is none is refused at its first piece. */
async function readIndex(tasks: Tasks, stream: ReadableStream<U8 | Uint8Array>): Promise<number> {
  const reader = tasks.call((engine) => engine.indexReader());
  const pieces = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return tasks.call((engine) => engine.finishIndexReader(reader));
      if (!(value instanceof Uint8Array)) throw new LeastwiseError("invalid-option", "openIndex(stream): it must bring Uint8Arrays");
      tasks.call((engine) => engine.feedIndexReader(reader, value));
    }
  } catch (thrown) {
    tasks.release((engine) => engine.freeIndexReader(reader));
    await pieces.cancel().catch(() => undefined);
    throw thrown;
  }
}
