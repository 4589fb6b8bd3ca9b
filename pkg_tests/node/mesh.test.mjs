// `leastwise/mesh` against slower ways to the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import bunny from "bunny";
import { edges, weld } from "leastwise/mesh";
import { directedEdges, icosphere } from "./support.mjs";

const pairs = (table) => Array.from({ length: table.length / 2 }, (_, e) => [table[2 * e], table[2 * e + 1]]);
const byNumbers = ([a, b], [c, d]) => a - c || b - d;

for (const [name, { cells }] of Object.entries({ bunny, icosphere: icosphere(2) })) {
  test(`edges of the ${name}: each once, or in both directions, sorted`, () => {
    const triangles = Uint32Array.from(cells.flat());
    const both = directedEdges(triangles).sort(byNumbers);
    assert.deepEqual(pairs(edges(triangles, { directed: true })), both);
    assert.deepEqual(pairs(edges(triangles)), both.filter(([a, b]) => a < b));
    assert.deepEqual(edges(cells.flat()), edges(triangles), "a plain array is as good");
  });
}

test("edges: a map renames, and what it collapses is left out", () => {
  assert.deepEqual(pairs(edges([0, 1, 2, 3, 2, 1], { map: Uint32Array.of(0, 1, 2, 0) })), [[0, 1], [0, 2], [1, 2]]);
  assert.deepEqual(pairs(edges([0, 1, 2], { map: Uint32Array.of(0, 0, 1), directed: true })), [[0, 1], [1, 0]]);
  assert.deepEqual(edges([]), new Uint32Array(0));
});

test("weld: the vertices at one place become one; the mesh stays", () => {
  const { positions, cells } = icosphere(1);
  const split = cells.flat().flatMap((v) => positions[v].map(Math.fround));
  const { values, toWelded } = weld(split);
  assert.equal(values.length, 3 * positions.length);
  assert.equal(toWelded.length, 3 * cells.length);
  toWelded.forEach((to, from) => assert.deepEqual([...values.subarray(3 * to, 3 * to + 3)], split.slice(3 * from, 3 * from + 3)));
  const soup = Uint32Array.from({ length: toWelded.length }, (_, k) => k);
  assert.equal(edges(soup, { map: toWelded }).length / 2, (3 * cells.length) / 2, "a closed mesh has 3/2 edges a triangle");
  assert.equal(weld([0, 0, 0, -0, 0, -0]).values.length, 3, "0 and -0 are one place");
});
