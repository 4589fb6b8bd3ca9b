/** Files: vectors and indices in, results out, never half written. */
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readFile, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Readable } from "node:stream";
import type { Engine, VectorIndex } from "leastwise";
import { formatOf, openVectors, type ElementType, type OpenOptions, type Vectors } from "leastwise/vectors";
import { UsageError, type Arguments, type Option } from "./arguments.js";

const FORMATS = ["npy", "fvecs", "bvecs", "ivecs", "raw"] as const;

/** How a file of vectors is to be read. */
export const VECTOR_OPTIONS: { readonly [name: string]: Option } = {
  format: { value: "FORMAT", help: "npy, fvecs, bvecs, ivecs or raw; told by the file's name unless given" },
  type: { value: "TYPE", help: "of raw numbers: float16, float32, float64, uint8, …" },
  dim: { value: "D", help: "of raw numbers: components of a vector" },
};

/** Vectors of a file, open until they are closed. */
export interface VectorFile extends Vectors { close(): Promise<void> }

export async function openVectorFile(path: string, args: Arguments): Promise<VectorFile> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const vectors = await openVectors({ size, read: (offset, length) => readAt(file, offset, length) }, await optionsOf(path, file, args));
    return {
      format: vectors.format, type: vectors.type, dim: vectors.dim, count: vectors.count,
      rows: (first, count) => vectors.rows(first, count), elements: (first, count) => vectors.elements(first, count), chunks: (rows) => vectors.chunks(rows),
      close: () => file.close(),
    };
  } catch (thrown) {
    await file.close();
    throw named(path, thrown);
  }
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(length);
  let got = 0;
  while (got < length) {
    const { bytesRead } = await file.read(buffer, got, length - got, offset + got);
    if (bytesRead === 0) break;
    got += bytesRead;
  }
  return buffer.subarray(0, got);
}

async function optionsOf(path: string, file: FileHandle, args: Arguments): Promise<OpenOptions> {
  const format = args.choice("format", FORMATS) ?? formatOf(path, await readAt(file, 0, 6));
  if (format === undefined) throw new UsageError(`${path}: neither its name nor its first bytes say what it is; give --format (with raw, also --type and --dim)`);
  const [type, dim] = [args.text("type"), args.count("dim")];
  if (format !== "raw") {
    if (type !== undefined || dim !== undefined) throw new UsageError(`${path}: ${type !== undefined ? "--type" : "--dim"} is for --format raw; a ${format} file says itself what is in it`);
    return { format };
  }
  if (type === undefined || dim === undefined) throw new UsageError("--format raw needs --type and --dim");
  return { format, type: type as ElementType, dim };
}

/** An error that says which file it is about. */
export function named(path: string, thrown: unknown): unknown {
  if (thrown instanceof Error && !(thrown instanceof UsageError) && !thrown.message.includes(path)) thrown.message = `${path}: ${thrown.message}`;
  return thrown;
}

/** An index from its file, or from the published compressor's files beside a `.idx`. */
export async function openIndexFile(lw: Engine, path: string): Promise<VectorIndex> {
  try {
    if (path.endsWith(".idx")) return await lw.openIndex(await publishedFiles(path));
    return await lw.openIndex(Readable.toWeb(createReadStream(path, { highWaterMark: 1 << 20 })) as ReadableStream<Uint8Array>);
  } catch (thrown) {
    throw named(path, thrown);
  }
}

async function publishedFiles(path: string) {
  const base = path.slice(0, -".idx".length);
  const [idx, anchors, assign] = await Promise.all([path, `${base}.anchors.bin`, `${base}.assign.bin`].map((each) => readFile(each)));
  const [jacobians, residuals] = await Promise.all([`${base}.jacobians.bin`, `${base}.residuals.bin`].map((each) => readFile(each).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  })));
  return { idx: idx!, anchors: anchors!, assign: assign!, ...(jacobians && { jacobians }), ...(residuals && { residuals }) };
}

/**
 * Finds out, before any work, whether files can be written, and refuses those that would replace what is read or each other. What is not
 * given is not written.
 */
export async function mustBeWritable(outputs: readonly (string | undefined)[], inputs: readonly string[]): Promise<void> {
  const given = outputs.filter((path) => path !== undefined);
  const twice = given.find((path, k) => given.findIndex((other) => resolve(other) === resolve(path)) < k);
  if (twice !== undefined) throw new UsageError(`${twice} is to be written twice`);
  for (const path of given) {
    const there = await statOf(path);
    if (there?.isDirectory()) throw new UsageError(`${path} is a folder, where a file is to be written`);
    for (const input of inputs) {
      const read = await statOf(input);
      if (there && read && there.dev === read.dev && there.ino === read.ino) throw new UsageError(`${path} is to be written, but it is ${input === path ? "what is read" : `${input}, which is read`}: give another name`);
    }
    const temporary = temporaryBeside(path);
    await (await open(temporary, "wx").catch((thrown: unknown) => { throw named(path, thrown); })).close();
    await unlink(temporary);
  }
}

async function statOf(path: string) {
  return stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
}

const temporaryBeside = (path: string) => join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);

/** Writes a file under another name beside it, and gives it its name once everything is on the disk: readers see all of it or none. */
export async function writeAtomically(path: string, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = temporaryBeside(path);
  const file = await open(temporary, "wx");
  try {
    try {
      for await (const piece of pieces) await file.writeFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (thrown) {
    await unlink(temporary).catch(() => undefined);
    throw named(path, thrown);
  }
}
