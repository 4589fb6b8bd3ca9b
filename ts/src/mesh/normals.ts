/** Normals of vertices that are solved for: a table of constants that the device makes anew, without a readback. */
import type { Rows } from "../arrays.js";
import { LeastwiseError, isA, reading } from "../errors.js";
import { describe } from "../instruction.js";
import type { Vec3 } from "../expression.js";
import { checked, given, takesNoMore } from "../options.js";
import type { Problem } from "../problem.js";
import { TableOf, type Constants, type Table } from "../table.js";
import { facesOf, offsetsOf } from "./input.js";
import { vertexNormals } from "./measures.js";

/**
 * Table of unit normals of a mesh's vertices, as {@link normalTable} makes it: constants, which terms may gather, three.js may draw
 * (`bindAttribute`), and `read()` gives.
 *
 * @example
 * const normal: NormalTable = await normalTable(problem, "normal", { of: x, triangles });
 * normal.update();
 */
export interface NormalTable extends Constants<Vec3> {
  /**
   * Makes the normals anew from the present values of the vertices, behind all steps that were begun: on a GPU one kernel, at once, and nothing is
   * read back. Where a term gathers the table, it is an edit like any other. False while the kernel is being compiled: the values stay.
   *
   * @throws `busy` while a task of the problem runs
   */
  update(): boolean;
}

const OPTIONS = { of: given(), triangles: given<ArrayLike<number> | Rows>() } as const;

/**
 * Makes a table of constants that holds the unit normals of the vertices in `of`, a table of three scalars an instance: Σ (q − p) × (r − p) over
 * the faces of a vertex, divided by its length, so faces weigh by area; 0 for a vertex without faces. The device adds up each vertex' faces
 * in their order, so the same values give the same bits. {@link NormalTable.update} makes them anew.
 *
 * To be made before `x.buffer` is asked for, as every table is.
 *
 * @throws `shape` for a table that has not three scalars an instance, `index-out-of-range` for a face with a vertex that is not there, `foreign-variable` for a table of another problem, `load` where a part of the engine can't be loaded
 * @example
 * const normal = await normalTable(problem, "normal", { of: x, triangles: mesh.triangles });
 * bindAttribute(renderer, geometry.attributes.normal, normal);
 * solver.advance();
 * normal.update();
 */
export async function normalTable(problem: Problem, name: string, options: { of: Table<Vec3>; triangles: ArrayLike<number> | Rows }): Promise<NormalTable> {
  const call = "normalTable(problem, name, options)";
  takesNoMore(call, 3, arguments);
  const { of, triangles } = checked(`${call}: options`, options, OPTIONS, { prefix: `${call}: ` });
  if (!isA(of, TableOf<Vec3, boolean>)) throw new LeastwiseError("foreign-variable", `${call}: of must be a variable or constant of this copy of Leastwise, not ${describe(of)}`);
  if (of.problem !== (problem as unknown)) throw new LeastwiseError("foreign-variable", `${call}: of is "${of.name}" of another problem`);
  if (of.width !== 3) throw new LeastwiseError("shape", `${call}: "${of.name}" has ${of.width} scalars an instance, but a vertex has 3`);
  const faces = reading(call, () => facesOf(call, triangles, of.count)).slice();
  const values = vertexNormals({ positions: await of.read({ as: "f64" }), triangles: faces }, { weight: "area" });
  const table = problem.constants(name, { shape: 3, values }) as unknown as TableOf<Vec3, true>;
  const update = await table.followNormals(of, pairsAround(faces, of.count));
  return Object.assign(table, { update }) as unknown as NormalTable;
}

/**
 * For every vertex and one more where its pairs begin, then the pairs: the next and the last corner of each of its faces. Faces that name a vertex twice
 * are left out: they have no area, of which a device with fused operations would make a direction.
 */
function pairsAround(all: Uint32Array, vertices: number): Uint32Array {
  const faces = all.filter((_, k) => { const [a, b, c] = all.subarray(k - (k % 3), k - (k % 3) + 3); return a !== b && b !== c && c !== a; });
  const counts = new Uint32Array(vertices);
  for (const vertex of faces) counts[vertex]! += 2;
  const first = offsetsOf(counts).map((offset) => offset + vertices + 1), filled = first.slice();
  const words = new Uint32Array(vertices + 1 + 2 * faces.length);
  words.set(first);
  for (let face = 0; face < faces.length; face += 3) {
    for (let corner = 0; corner < 3; corner++) {
      const vertex = faces[face + corner]!;
      words[filled[vertex]!++] = faces[face + ((corner + 1) % 3)]!;
      words[filled[vertex]!++] = faces[face + ((corner + 2) % 3)]!;
    }
  }
  return words;
}
