/** Files: vectors and indices in, results out, never half written. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { open, readFile, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Readable } from "node:stream";
import type { Engine, VectorIndex } from "leastwise";
import { formatOf, openLazily, openVectors, type ElementType, type LazyIndex, type OpenOptions, type RandomAccess, type Vectors } from "leastwise/vectors";
import { UsageError, type Arguments, type Option } from "./arguments.js";
import { remark } from "./engine.js";
import { openDataset } from "./hdf5.js";

const FORMATS = ["npy", "fvecs", "bvecs", "ivecs", "raw", "hdf5"] as const;

/** How a file of vectors is to be read. */
export const VECTOR_OPTIONS: { readonly [name: string]: Option } = {
  format: { value: "FORMAT", help: "npy, fvecs, bvecs, ivecs, hdf5 or raw; told by the file's name unless given" },
  dataset: { value: "NAME", help: "of an HDF5 file (which the package h5wasm reads): which of its datasets; \"train\" unless given" },
  type: { value: "TYPE", help: "of raw numbers: float16, float32, float64, uint8, …" },
  dim: { value: "D", help: "of raw numbers: components of a vector" },
};

/** The name of what comes in, or goes out, by the process' own streams. */
const STREAM = "-";

/** Vectors of a file, open until they are closed. */
export interface VectorFile extends Vectors { close(): Promise<void> }

export async function openVectorFile(path: string, args: Arguments): Promise<VectorFile> {
  const file = await fileOf(path).catch((thrown: unknown) => { throw named(path, thrown); });
  const reading = <T>(work: Promise<T>) => work.catch((thrown: unknown) => { throw named(path, thrown); });
  const opened = (vectors: Vectors, close: () => Promise<void>): VectorFile => ({
    format: vectors.format, type: vectors.type, dim: vectors.dim, count: vectors.count,
    rows: (first, count) => reading(vectors.rows(first, count)), elements: (first, count) => reading(vectors.elements(first, count)), chunks: (rows) => vectors.chunks(rows), close,
  });
  try {
    const options = await optionsOf(path, file, args);
    if (options !== "hdf5") return opened(await openVectors(file, options), () => file.close());
    if (!file.isFile) throw new UsageError(`${path}: an HDF5 file is read here and there, so it must be a file, not a stream`);
    await file.close();
    const { dataset, close } = await openDataset(path, args.text("dataset"));
    try {
      return opened(await openVectors(dataset), close);
    } catch (thrown) {
      await close();
      throw thrown;
    }
  } catch (thrown) {
    await file.close();
    throw named(path, thrown);
  }
}

/** What can be read anywhere, until it is closed. */
interface OpenFile extends RandomAccess { readonly isFile: boolean; close(): Promise<void> }

/** A file; of what can be read once only (standard input, a pipe) all of it. */
async function fileOf(path: string): Promise<OpenFile> {
  const file = path === STREAM ? undefined : await open(path);
  try {
    const status = await file?.stat();
    if (file && status!.isFile()) return { isFile: true, size: status!.size, read: (offset, length) => readAt(file, offset, length), close: () => file.close() };
    const bytes = await bytesOf(file ? file.createReadStream({ autoClose: false }) : process.stdin);
    await file?.close();
    return { isFile: false, size: bytes.length, read: async (offset, length) => bytes.subarray(offset, offset + length), close: async () => undefined };
  } catch (thrown) {
    await file?.close();
    throw thrown;
  }
}

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
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

async function optionsOf(path: string, file: OpenFile, args: Arguments): Promise<OpenOptions | "hdf5"> {
  const head = await file.read(0, Math.min(8, file.size));
  const format = args.choice("format", FORMATS) ?? formatOf(path, head);
  if (format === "raw" && formatOf("", head) === "npy") throw new UsageError(`${path} is a .npy file, whose header would be read as vectors: leave --format raw out`);
  if (format === undefined) throw new UsageError(`${path}: neither its name nor its first bytes say what it is; give --format (with raw, also --type and --dim)`);
  const [type, dim] = [args.text("type"), args.count("dim")];
  if (format !== "raw") {
    if (type !== undefined || dim !== undefined) throw new UsageError(`${path}: ${type !== undefined ? "--type" : "--dim"} is for --format raw; a ${format} file says itself what is in it`);
    if (format !== "hdf5" && args.text("dataset") !== undefined) throw new UsageError(`${path}: --dataset is for HDF5 files, but it is a ${format} file`);
    return format === "hdf5" ? format : { format };
  }
  if (type === undefined || dim === undefined) throw new UsageError("--format raw needs --type and --dim");
  return { format, type: type as ElementType, dim };
}

/** What the system's codes of errors mean to whoever typed the name. */
const MEANINGS: { readonly [code: string]: string } = {
  ENOENT: "there is no such file", EISDIR: "it is a folder, where a file is needed", ENOTDIR: "a part of this path is a file, where a folder is needed", EACCES: "access is not permitted",
  EPERM: "access is not permitted", ENOSPC: "there is no space left", EROFS: "it can't be written to: the file system is read-only", EMFILE: "too many files are open", EFBIG: "it would be too large a file",
};

/** An error that says which file it is about. */
export function named(path: string, thrown: unknown): unknown {
  const meaning = thrown instanceof Error ? MEANINGS[(thrown as NodeJS.ErrnoException).code ?? ""] : undefined;
  if (meaning !== undefined) return new Error(`${path === STREAM ? (thrown as NodeJS.ErrnoException).path ?? path : path}: ${meaning}`, { cause: thrown });
  if (thrown instanceof Error && !(thrown instanceof UsageError) && !thrown.message.includes(path)) thrown.message = `${path}: ${thrown.message}`;
  return thrown;
}

/** An index from its file, or from the published compressor's files beside a `.idx`. */
export async function openIndexFile(lw: Engine, path: string): Promise<VectorIndex> {
  try {
    if (path.endsWith(".idx")) return await lw.openIndex(await publishedFiles(path));
    const stream = path === STREAM ? process.stdin : createReadStream(path, { highWaterMark: 1 << 20 });
    return await lw.openIndex(Readable.toWeb(stream) as ReadableStream<Uint8Array>);
  } catch (thrown) {
    throw named(path, thrown);
  }
}

/** An index that is searched in its file, which is open until it is closed. */
export async function openLazyFile(lw: Engine, path: string): Promise<{ readonly index: LazyIndex; close(): Promise<void> }> {
  if (path === STREAM) throw new UsageError("--lazy reads INDEX here and there, which a stream can't");
  const file = await open(path).catch((thrown: unknown) => { throw named(path, thrown); });
  try {
    const index = await openLazily(lw, file);
    return { index, close: async () => { index.dispose(); await file.close(); } };
  } catch (thrown) {
    await file.close();
    throw named(path, thrown);
  }
}

async function publishedFiles(path: string) {
  const base = path.slice(0, -".idx".length);
  const [idx, anchors, assign] = await Promise.all([path, `${base}.anchors.bin`, `${base}.assign.bin`].map((each) => readFile(each).catch((thrown: unknown) => { throw named(each, thrown); })));
  const [jacobians, residuals] = await Promise.all([`${base}.jacobians.bin`, `${base}.residuals.bin`].map((each) => readFile(each).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  })));
  return { idx: idx!, anchors: anchors!, assign: assign!, ...(jacobians && { jacobians }), ...(residuals && { residuals }) };
}

/** Lines of a text file, such as keys; a last one that is empty is none. */
export async function linesOf(path: string): Promise<string[]> {
  const bytes = await (path === STREAM ? bytesOf(process.stdin) : readFile(path)).catch((thrown: unknown) => { throw named(path, thrown); });
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${path}: it is no text in UTF-8`);
  }
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Refuses to read standard input twice. */
export function mustBeReadable(inputs: readonly (string | undefined)[]): void {
  if (inputs.filter((path) => path === STREAM).length > 1) throw new UsageError("- is standard input, which can be read once: give one of the files by its name");
}

/**
 * Finds out, before any work, whether files can be written, and refuses those that would replace what is read or each other. What is not
 * given is not written.
 */
export async function mustBeWritable(outputs: readonly (string | undefined)[], inputs: readonly string[]): Promise<void> {
  const given = outputs.filter((path) => path !== undefined);
  mustBeReadable(inputs);
  const twice = given.find((path, k) => given.findIndex((other) => resolve(other) === resolve(path)) < k);
  if (twice !== undefined) throw new UsageError(`${twice} is to be written twice`);
  if (given.includes(STREAM) && process.stdout.isTTY) throw new UsageError("- is standard output, which is a terminal: send it to a file or a program");
  for (const path of given.filter((each) => each !== STREAM)) {
    const there = await statOf(path);
    if (there?.isDirectory()) throw new UsageError(`${path} is a folder, where a file is to be written`);
    for (const input of inputs) {
      const read = input === STREAM ? undefined : await statOf(input);
      if (there && read && there.dev === read.dev && there.ino === read.ino) throw new UsageError(`${path} is to be written, but it is ${input === path ? "what is read" : `${input}, which is read`}: give another name`);
    }
    const temporary = temporaryBeside(path);
    await (await open(temporary, "wx").catch((thrown: unknown) => { throw notWritable(path, thrown); })).close();
    await unlink(temporary);
  }
}

function notWritable(path: string, thrown: unknown): unknown {
  return (thrown as NodeJS.ErrnoException).code === "ENOENT" ? new Error(`${path}: there is no folder ${dirname(path)}`, { cause: thrown }) : named(path, thrown);
}

async function statOf(path: string) {
  return stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
}

const temporaryBeside = (path: string) => join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);

/** Prints a result for people, or as JSON; as a remark where standard output takes a file. */
export function report(args: Arguments, text: string, outputs: readonly (string | undefined)[]): void {
  if (outputs.includes(STREAM)) remark(args, text);
  else console.log(text);
}

/**
 * Writes a file under another name beside it, and gives it its name once everything is on the disk: readers see all of it or none. The name -
 * is standard output.
 */
export async function writeAtomically(path: string, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  if (path === STREAM) {
    for await (const piece of pieces) {
      if (!process.stdout.write(piece)) await once(process.stdout, "drain");
    }
    return;
  }
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
