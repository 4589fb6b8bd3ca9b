/** Files of visitors: pose graphs as g2o, and bundles as those of "Bundle Adjustment in the Large"; as text, or gzipped. */
import { bundleWorld, graphWorld, type World } from "./worlds.js";

/** Bytes that are read at all, packed and unpacked. */
const MOST_BYTES = 64 * 2 ** 20, MOST_UNPACKED = 256 * 2 ** 20;
/** Limits of what the page solves. */
export const MOST_POSES = 20_000, MOST_EDGES = 200_000, MOST_CAMERAS = 2000, MOST_POINTS = 200_000, MOST_VIEWS = 1_000_000;

/** A mistake in a file, with its line, in words for people. */
export class FileError extends Error {}

const wrong = (line: number, message: string): never => { throw new FileError(`line ${line}: ${message}`); };
const few = (number: number): string => number.toLocaleString("en");

/** A visitor's file as a world. Throws in words for people. */
export async function readWorld(file: File): Promise<World> {
  if (file.size > MOST_BYTES) throw new FileError(`it has ${(file.size / 2 ** 20).toFixed(0)} MiB; this page reads files of up to ${MOST_BYTES / 2 ** 20} MiB`);
  const text = await textOf(file);
  return /^\s*\d+\s+\d+\s+\d+\s*$/.test(text.slice(0, text.indexOf("\n"))) ? readBal(text, file.name) : readG2o(text, file.name);
}

async function textOf(file: File): Promise<string> {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (head[0] !== 0x1f || head[1] !== 0x8b) return file.text();
  const reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader(), decoder = new TextDecoder();
  let text = "", bytes = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((thrown: unknown) => { throw new FileError(`it can't be unpacked: ${thrown instanceof Error ? thrown.message : String(thrown)}`); });
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > MOST_UNPACKED) {
      await reader.cancel();
      throw new FileError(`unpacked it has more than ${MOST_UNPACKED / 2 ** 20} MiB`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Lines with what they have, counted from 1; empty ones and comments are passed over. */
function* rows(text: string): Generator<{ line: number; words: string[] }> {
  for (let at = 0, line = 1; at < text.length; line++) {
    const found = text.indexOf("\n", at), end = found < 0 ? text.length : found, row = text.slice(at, end).trim();
    at = end + 1;
    if (row && !row.startsWith("#")) yield { line, words: row.split(/\s+/) };
  }
}

function numbers(words: readonly string[], count: number, line: number, what: string): number[] {
  if (words.length !== count) wrong(line, `${what} has ${count} numbers, but here are ${words.length}`);
  return words.map((word) => {
    const value = Number(word);
    return Number.isFinite(value) ? value : wrong(line, `"${word.slice(0, 20)}" is no number`);
  });
}

const index = (value: number, line: number): number => (Number.isInteger(value) && value >= 0 ? value : wrong(line, `${value} is no number of a vertex`));

/** What the kinds of lines have: numbers of a pose, those of an upper triangle of the information matrix. */
const KINDS = { SE2: { pose: 3, width: 4, side: 3 }, "SE3:QUAT": { pose: 7, width: 7, side: 6 } } as const;
type Kind = keyof typeof KINDS;

/** A pose graph of VERTEX_SE2 and EDGE_SE2, or of VERTEX_SE3:QUAT and EDGE_SE3:QUAT. Other lines are passed over, and counted. */
export function readG2o(text: string, name: string): World {
  let kind: Kind | undefined, others = 0;
  const ids = new Map<number, number>(), start: number[] = [], measured: { a: number; b: number; line: number }[] = [], motions: number[] = [], roots: number[] = [];
  for (const { line, words } of rows(text)) {
    const [tag = "", ...rest] = words, match = /^(VERTEX|EDGE)_(SE2|SE3:QUAT)$/.exec(tag);
    if (!match) { others++; continue; }
    const [, what, group] = match as unknown as [string, "VERTEX" | "EDGE", Kind];
    if (kind && kind !== group) wrong(line, `${tag} is of another space than the lines before, which are of ${kind}`);
    kind = group;
    const { pose, side } = KINDS[group], triangle = (side * (side + 1)) / 2;
    if (what === "VERTEX") {
      const [id, ...values] = numbers(rest, 1 + pose, line, tag), key = index(id!, line);
      if (ids.has(key)) wrong(line, `vertex ${key} is there twice`);
      if (ids.size === MOST_POSES) wrong(line, `this page takes ${few(MOST_POSES)} poses at most`);
      ids.set(key, ids.size);
      start.push(...motionOf(group, values, line));
      continue;
    }
    const values = numbers(rest, 2 + pose + triangle, line, tag);
    if (measured.length === MOST_EDGES) wrong(line, `this page takes ${few(MOST_EDGES)} edges at most`);
    measured.push({ a: index(values[0]!, line), b: index(values[1]!, line), line });
    motions.push(...motionOf(group, values.slice(2, 2 + pose), line));
    roots.push(...rootOf(values.slice(2 + pose), side, line));
  }
  if (!kind || !ids.size || !measured.length) throw new FileError(`it has no pose graph: ${few(ids.size)} vertices and ${few(measured.length)} edges of SE2 or SE3:QUAT in ${few(others)} other lines`);
  const edges = measured.map(({ a, b, line }) => {
    const ends = [a, b].map((id) => ids.get(id) ?? wrong(line, `there is no vertex ${id}`)) as [number, number];
    if (a === b) wrong(line, `the edge leads from vertex ${a} to itself`);
    return ends;
  });
  if (!edges.some(([a, b]) => b - a !== 1)) throw new FileError("it has no loop closure: each edge leads from a vertex to the next one");
  return graphWorld({ name, width: KINDS[kind].width, start: Float64Array.from(start), edges, motions: Float64Array.from(motions), roots: Float64Array.from(roots) });
}

/** A pose as the engine stores it: of x, y, angle or x, y, z and a quaternion. */
function motionOf(kind: Kind, values: readonly number[], line: number): number[] {
  if (kind === "SE2") return [Math.cos(values[2]!), Math.sin(values[2]!), values[0]!, values[1]!];
  const q = values.slice(3), length = Math.hypot(...q);
  if (!(length > 1e-6)) wrong(line, "the quaternion is 0");
  return [...q.map((value) => value / length), ...values.slice(0, 3)];
}

/** R with RᵀR = A, of a packed upper triangle, by Cholesky. */
function rootOf(a: readonly number[], side: number, line: number): number[] {
  const at = (i: number, j: number) => side * i - (i * (i - 1)) / 2 + j - i, r = new Array<number>(a.length).fill(0);
  for (let i = 0; i < side; i++) {
    for (let j = i; j < side; j++) {
      let value = a[at(i, j)]!;
      for (let k = 0; k < i; k++) value -= r[at(k, i)]! * r[at(k, j)]!;
      if (j === i && !(value > 0)) wrong(line, "the information matrix is not positive definite");
      r[at(i, j)] = j === i ? Math.sqrt(value) : value / r[at(i, i)]!;
    }
  }
  return r;
}

/** A bundle: counts of cameras, points and views, the views, then the numbers of cameras and points, one a line or more. */
export function readBal(text: string, name: string): World {
  const lines = rows(text), { words, line: first } = lines.next().value as { words: string[]; line: number };
  const [cameras, points, views] = numbers(words, 3, first, "the first line") as [number, number, number];
  for (const [count, most, what] of [[cameras, MOST_CAMERAS, "cameras"], [points, MOST_POINTS, "points"], [views, MOST_VIEWS, "views"]] as const) {
    if (!Number.isInteger(count) || count < 1 || count > most) wrong(first, `there are ${few(count)} ${what}, but it must be 1 to ${few(most)}`);
  }
  const pairs = new Uint32Array(2 * views), seen = new Float64Array(2 * views), values = new Float64Array(9 * cameras + 3 * points);
  let view = 0, filled = 0, last = first;
  for (const { line, words } of lines) {
    last = line;
    if (view < views) {
      const [camera, point, x, y] = numbers(words, 4, line, "a view") as [number, number, number, number];
      if (!Number.isInteger(camera) || camera < 0 || camera >= cameras) wrong(line, `there is no camera ${camera}`);
      if (!Number.isInteger(point) || point < 0 || point >= points) wrong(line, `there is no point ${point}`);
      pairs.set([camera, point], 2 * view);
      seen.set([x, y], 2 * view++);
      continue;
    }
    if (filled + words.length > values.length) wrong(line, `${few(values.length)} numbers of cameras and points were to come, but here are more`);
    values.set(numbers(words, words.length, line, "a row"), filled);
    filled += words.length;
  }
  if (view < views) wrong(last, `the file ends after ${few(view)} of ${few(views)} views`);
  if (filled < values.length) wrong(last, `the file ends after ${few(filled)} of ${few(values.length)} numbers of cameras and points`);
  return bundleWorld({ name, cameras: values.slice(0, 9 * cameras), points: values.slice(9 * cameras), pairs, seen });
}
