/**
 * Files in Geomview's OFF (http://www.geomview.org/docs/html/OFF.html), as text: the one format here for which there is no well-kept
 * reader to take. Polygons become fans of triangles; colours and normals are left out.
 */
import { LeastwiseError } from "../errors.js";
import type { Mesh } from "./input.js";

const refuse = (message: string): never => { throw new LeastwiseError("file-format", `OFF: ${message}`); };

/** @internal */
export function readOff(text: string): Mesh {
  const lines = text.split(/\r?\n/).map((line) => line.replace(/#.*/, "").trim()).filter((line) => line !== "");
  const head = /^(ST)?(C)?(N)?OFF\b\s*(.*)$/.exec(lines[0] ?? "");
  if (!head) return refuse(`the first line must be OFF (or COFF, NOFF, …), not ${JSON.stringify((lines[0] ?? "").slice(0, 40))}`);
  if (/BINARY/.test(lines[0]!)) return refuse("binary files are not read: save it as text");
  let at = 1;
  const numbersIn = (line: string | undefined, what: string, least: number): number[] => {
    if (line === undefined) throw new LeastwiseError("file-truncated", `OFF: the file ends before ${what}`);
    const numbers = line.split(/\s+/).map(Number), bad = numbers.slice(0, least).findIndex((value) => !Number.isFinite(value));
    if (numbers.length < least || bad >= 0) refuse(`${what}: ${JSON.stringify(line.slice(0, 60))} must have ${least} numbers`);
    return numbers;
  };
  const [vertices, faces] = numbersIn(head[4] !== "" ? head[4] : lines[at++], "the counts", 2) as [number, number];
  if (![vertices, faces].every((count) => Number.isInteger(count) && count >= 0)) refuse(`the counts ${vertices} and ${faces} are no whole numbers`);
  if (vertices + faces > lines.length) throw new LeastwiseError("file-truncated", `OFF: ${vertices} vertices and ${faces} faces are announced, but there are ${lines.length} lines`);
  const positions = new Float64Array(3 * vertices), triangles: number[] = [];
  for (let v = 0; v < vertices; v++) positions.set(numbersIn(lines[at++], `vertex ${v}`, 3).slice(0, 3), 3 * v);
  for (let f = 0; f < faces; f++) {
    const line = lines[at++], [count = 0] = numbersIn(line, `face ${f}`, 1), corners = numbersIn(line, `face ${f}`, 1 + count).slice(1, 1 + count);
    const bad = corners.find((v) => !(Number.isInteger(v) && v >= 0 && v < vertices));
    if (bad !== undefined) throw new LeastwiseError("file-corrupt", `OFF: face ${f} has the vertex ${bad}, but there are ${vertices} (0 to ${vertices - 1})`);
    for (let k = 2; k < corners.length; k++) triangles.push(corners[0]!, corners[k - 1]!, corners[k]!);
  }
  return { positions, triangles: Uint32Array.from(triangles) };
}
