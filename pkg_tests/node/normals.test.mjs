// Normals of vertices as a kernel on the device: values, updates without readbacks, parts that load, and what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { init } from "leastwise";
import { icosphere, normalTable, vertexNormals } from "leastwise/mesh";
import { bindAttribute } from "leastwise/three";
import { BACKENDS, closeTo, engineOf, open, refuses, rejects } from "./support.mjs";

/** A sphere with a dent, whose numbers f32 has exactly. */
function dented() {
  const { positions, triangles } = icosphere({ subdivisions: 2 });
  return { positions: Float64Array.from(positions, (value, k) => Math.fround(value * (1 + 0.2 * Math.sin(7 * k)))), triangles };
}

/** The mesh drawn to another place, so that a solve moves it. */
function moving(lw, { positions, triangles }) {
  const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: positions });
  problem.residuals("target", { of: [x], data: { to: [2, -1, 0.5], by: [0.3, 0.3, 0.3] } }, ([p], { to, by }) => p.mul(to).sub(by));
  return { problem, x, triangles };
}

const area = (positions, triangles) => vertexNormals({ positions, triangles }, { weight: "area" });

for (const backend of BACKENDS) {
  test(`${backend}: normals are those that vertexNormals weighs by area`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const { problem, x, triangles } = moving(lw, dented()), normals = await normalTable(x, triangles);
    assert.deepEqual([normals.name, normals.count], ["normals of x", x.count]);
    const compare = async () => {
      const expected = area(await x.read({ as: "f64" }), triangles), found = await normals.read();
      assert.equal(found.constructor, (await x.read()).constructor);
      assert.equal(found.length, 3 * x.count);
      found.forEach((value, k) => closeTo(value + 10, expected[k] + 10, 1e-5, `component ${k}`));
      return found;
    };
    const first = await compare();
    assert.deepEqual(await normals.read(), first, "the same bits");
    await problem.solver().step();
    const second = await compare();
    assert.notDeepEqual(second, first);
    const own = new Float32Array(3 * x.count);
    assert.equal(await normals.read(own), own);
    own.forEach((value, k) => assert.equal(value, Math.fround(second[k])));
  });

  test(`${backend}: an update is one dispatch, behind steps and writes, without a readback`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const mesh = dented(), { problem, x, triangles } = moving(lw, mesh), normals = await normalTable(x, triangles), solver = problem.solver();
    await solver.report();
    const before = lw.counters();
    x.write(mesh.positions.map((value, k) => (k % 3 === 0 ? 2 * value : value)));
    for (let frame = 0; frame < 10; frame++) normals.update();
    const after = lw.counters();
    assert.deepEqual([after.readbacks - before.readbacks, after.dispatches - before.dispatches, after.kernelsCreated - before.kernelsCreated], [0, 10, 0]);
    for (let frame = 0; frame < 3; frame++) {
      solver.advance({ iterations: 2 });
      normals.update();
    }
    assert.equal(lw.counters().readbacks, before.readbacks);
    const found = await normals.read(), expected = area(await x.read({ as: "f64" }), triangles);
    found.forEach((value, k) => closeTo(value + 10, expected[k] + 10, 1e-5, `component ${k}`));
  });

  test(`${backend}: between two iterations of a solve normals are those of that step`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const { problem, x, triangles } = moving(lw, dented()), normals = await normalTable(x, triangles);
    const reads = [];
    await problem.solve({ onIteration: () => { reads.push(Promise.all([x.read({ as: "f64" }), normals.read()])); normals.update(); } });
    assert.ok(reads.length > 0);
    for (const [positions, found] of await Promise.all(reads)) {
      const expected = area(positions, triangles);
      found.forEach((value, k) => closeTo(value + 10, expected[k] + 10, 1e-5, `component ${k}`));
    }
  });

  test(`${backend}: normals go with their problem, and by themselves`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const { problem, x, triangles } = moving(lw, dented());
    await x.read();
    const before = lw.counters().bytesLive, normals = await normalTable(x, triangles), other = await normalTable(x, triangles);
    assert.ok(lw.counters().bytesLive > before);
    normals.dispose();
    normals.dispose();
    refuses(() => normals.update(), "disposed", /the normals of x were disposed/);
    await rejects(normals.read(), "disposed", /the normals of x were disposed/);
    other[Symbol.dispose]();
    assert.equal(lw.counters().bytesLive, before);
    const last = await normalTable(x, triangles);
    problem.dispose();
    refuses(() => last.update(), "disposed", /./);
    await rejects(normalTable(x, triangles), "disposed", /problem/);
    last.dispose();
  });

  test(`${backend}: faces without area and vertices without faces have no direction`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const problem = lw.problem(), x = problem.constants("x", { shape: 3, values: [0, 0, 0, 1, 0, 0, 0, 1, 0, 5, 5, 5, 5, 5, 5, 6, 6, 6] });
    const zeros = (count) => new Array(3 * count).fill(0);
    const read = async (triangles) => [...await (await normalTable(x, triangles)).read()];
    assert.deepEqual(await read([[0, 1, 2], [0, 3, 3], [3, 4, 5]]), [0, 0, 1, 0, 0, 1, 0, 0, 1, ...zeros(3)]);
    assert.deepEqual(await read([]), zeros(6));
  });

  test(`${backend}: what is no mesh of the table is refused`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: [0, 0, 0, 1, 0, 0, 0, 1, 0] }), flat = problem.variables("flat", { shape: 2, values: [0, 0] });
    await rejects(normalTable(x, [0, 1, 3]), "index-out-of-range", /face 0 has the vertex 3, but there are 3 vertices/);
    await rejects(normalTable(x, [0, 1, -1]), "index-out-of-range", /face 0 has the vertex/);
    await rejects(normalTable(x, [0, 1, NaN]), "index-out-of-range", /face 0 has the vertex/);
    await rejects(normalTable(x, [0, 1, 0.5]), "index-out-of-range", /face 0 has the vertex/);
    await rejects(normalTable(x, [0, 1]), "data-length", /2 indices, which is not a multiple of 3/);
    await rejects(normalTable(x, "faces"), "invalid-option", /normalTable\(x, triangles\): triangles/);
    await rejects(normalTable(x, undefined), "invalid-option", /normalTable\(x, triangles\): triangles/);
    await rejects(normalTable(flat, []), "shape", /"flat": its instances have 2 scalars, but a vertex has 3/);
    for (const other of [undefined, null, 3, {}, [0, 0, 0]]) await rejects(normalTable(other, [0, 1, 2]), "foreign-variable", /x is no variable or constant/);
    await rejects(normalTable(x, [0, 1, 2], {}), "invalid-option", /normalTable/);
    const normals = await normalTable(x, [0, 1, 2]);
    await rejects(normals.read(new Float32Array(8)), "data-length", /has 8 values, but 9 are needed \(3 vertices of 3\)/);
    refuses(() => normals.update(1), "invalid-option", /./);
  });
}

test("on the CPU there is no buffer, and a renderer's attribute is filled with the present normals", async (t) => {
  const lw = await init({ backend: "cpu" });
  t.after(() => lw.dispose());
  const { x, triangles } = moving(lw, dented()), normals = await normalTable(x, triangles);
  assert.equal(normals.buffer, undefined);
  const attribute = { array: new Float32Array(3 * x.count), itemSize: 3, needsUpdate: false, version: 0, dispose() {} };
  const binding = bindAttribute({}, attribute, normals);
  assert.deepEqual([binding.mode, binding.reason], ["uploaded", "the solver works on the CPU"]);
  const first = attribute.version;
  while (attribute.version === first) await new Promise((resolve) => setTimeout(resolve, 1));
  const expected = await normals.read();
  attribute.array.forEach((value, k) => assert.equal(value, Math.fround(expected[k])));
  binding.dispose();
});
