/** Normals of a mesh's vertices, computed on the device where the positions are. */
import { fill, roomIn, type Device, type DeviceView, type Floats, type Rows, type Values } from "./arrays.js";
import { isA, LeastwiseError } from "./errors.js";
import type { Vec3 } from "./expression.js";
import { facesOf } from "./mesh/input.js";
import { takesNoMore } from "./options.js";
import { remember, whenForgotten } from "./owners.js";
import { NEEDS } from "./parts.js";
import { TableOf, type Table } from "./table.js";
import type { Tasks } from "./tasks.js";

/**
 * Unit normals of the vertices of a mesh whose positions a problem has, in a buffer of the engine's device.
 *
 * @example
 * const normals: NormalTable = await normalTable(x, triangles);
 * console.log(await normals.read());  // x y z of every vertex
 */
export interface NormalTable extends Disposable {
  /** Name, for messages: that of the positions with "normals of " before it. */
  readonly name: string;
  /** Number of vertices. */
  readonly count: number;
  /**
   * Computes the normals of the accepted positions. On a GPU it is enqueued behind all steps that were begun, also while a solve
   * runs, and neither waits nor reads anything back: once a frame, before the picture is drawn. On the CPU it is done at once.
   *
   * @throws `disposed` once the problem or the normals are disposed, `device-lost`, `busy` on the CPU within a step of a solve,
   * and while a tensor that the problem is given is on its way
   */
  update(): void;
  /**
   * Computes the normals of the accepted positions and reads them: x y z of every vertex, flat, in an array of the engine's type as
   * `Table.read` gives one, or in one of the caller's, of exactly that length.
   *
   * @throws `data-length` for an array of another length, and what {@link NormalTable.update} throws
   */
  read(): Promise<Values>;
  read<A extends Floats>(out: A): Promise<A>;
  /** GPU buffer of the normals as the last {@link NormalTable.update} left them, tightly packed from byte 0. Undefined on the CPU and on CUDA. */
  readonly buffer: DeviceView | undefined;
  /** Frees the buffer. Bindings to it are disposed before. The problem's own `dispose` does the same. */
  dispose(): void;
}

/** @internal */
export class NormalsOf implements NormalTable {
  readonly name: string;
  readonly count: number;
  readonly width = 3;
  readonly #tasks: Tasks;
  #isDisposed = false;

  constructor(private readonly positions: TableOf<Vec3, boolean>, private readonly handle: number) {
    this.name = `normals of ${positions.name}`;
    this.count = positions.count;
    this.#tasks = positions.tasks;
    whenForgotten(this, freeing(this.#tasks, handle));
  }

  update(): void {
    takesNoMore("update()", 0, arguments);
    this.#tasks.mustHaveCome(this.positions.problem.aliveHandle, `"${this.name}".update()`);
    this.#tasks.call((native) => native.updateNormals(this.#alive()));
  }

  read(): Promise<Values>;
  read<A extends Floats>(out: A): Promise<A>;
  async read(out: Floats = new (this.#tasks.valuesAs === "f32" ? Float32Array : Float64Array)(3 * this.count)): Promise<Floats> {
    takesNoMore("read(out)", 1, arguments);
    const what = `"${this.name}".read(out): out`, length = roomIn(what, out);
    if (length !== 3 * this.count) throw new LeastwiseError("data-length", `${what} has ${length} values, but ${3 * this.count} are needed (${this.count} vertices of 3)`);
    this.#alive();
    const coming = this.#tasks.lent.get(this.positions.problem.aliveHandle)?.wait(false);
    if (coming) await coming;
    const task = this.#tasks.call((native) => native.computeNormals(this.#alive(), true));
    fill(what, out, (await this.#tasks.run(task)).values ?? []);
    return out;
  }

  get buffer(): DeviceView | undefined {
    const view = this.#tasks.call((native) => native.viewNormals(this.#alive()));
    if (view) {
      // Nobody can tell how long a renderer has the buffer.
      this.positions.problem.keep();
      remember(this);
    }
    return (view ?? undefined) as DeviceView | undefined;
  }

  /** The `GPUDevice` of `buffer`. */
  get device(): Device | undefined { return this.#tasks.device; }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    remember(this);
    freeing(this.#tasks, this.handle)();
  }
  [Symbol.dispose](): void { this.dispose(); }

  #alive(): number {
    if (this.#isDisposed) throw new LeastwiseError("disposed", `the ${this.name} were disposed`);
    return this.handle;
  }
}

/** A function of its own, so that what is called when normals are forgotten does not hold them. */
const freeing = (tasks: Tasks, handle: number) => (): void => tasks.release((native) => native.freeNormals(handle));

/**
 * Smooth normals of the vertices of a mesh, computed by the engine from the values of `x` where they are: on the GPU, so that a
 * renderer draws them without a readback (`bindAttribute` of `leastwise/three` takes them), or on the CPU.
 *
 * A vertex has the sum of (q − p) × (r − p) over its faces pqr in their order, divided by its length: normals of faces weighted by
 * their areas, as `vertexNormals(mesh, { weight: "area" })`, in the engine's precision. The same positions give the same bits on one
 * device. The normal is (0, 0, 0) where there is no face, where all faces lack an area, and where the sum overflows or is below
 * 1.2·10⁻³⁸. A face that names a vertex twice counts nothing.
 *
 * Resolves when the normals are computed for the first time and their kernel is compiled; {@link NormalTable.update} computes them anew.
 *
 * @param x variables or constants of three scalars an instance, which are the vertices
 * @param triangles three vertices of every face, counter-clockwise seen from outside
 * @throws `foreign-variable` for what is no table of this copy of Leastwise, `shape` for one of another width, `data-length` for indices that are no
 * multiple of 3, `index-out-of-range` for a vertex that is not there, `limits` for faces that exceed a buffer, `busy` on the CPU within a step of a solve
 * @example
 * const normals = await normalTable(x, triangles);
 * await problem.solve();
 * normals.update();  // those of the new positions
 */
export async function normalTable(x: Table<Vec3>, triangles: ArrayLike<number> | Rows): Promise<NormalTable> {
  const call = "normalTable(x, triangles)";
  takesNoMore(call, 2, arguments);
  if (!isA(x, TableOf<Vec3, boolean>)) throw new LeastwiseError("foreign-variable", `${call}: x is no variable or constant of this copy of Leastwise`);
  // A copy: the caller's may change while a part of the engine loads.
  const faces = facesOf(call, triangles, x.count).slice(), { tasks } = x;
  const coming = tasks.lent.get(x.problemHandle())?.wait(false);
  if (coming) await coming;
  let handle: number | undefined;
  try {
    await tasks.begin(undefined, NEEDS.normals, (native) => native.computeNormals(handle = native.normals(x.problemHandle(), x.handle, faces), false));
  } catch (thrown) {
    if (handle !== undefined) freeing(tasks, handle)();
    throw thrown;
  }
  return new NormalsOf(x, handle!);
}
