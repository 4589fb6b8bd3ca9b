// The array API standard's names: each has a program with the right answer, or a reason why there is none, and what has a reason is not there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import * as leastwise from "leastwise";
import { namesOf, operandsOf, ROWS, STANDARD } from "../array-api.mjs";
import { BACKENDS, open } from "./support.mjs";

const NAMES = Object.values(STANDARD).flatMap((section) => section.split(" "));

test("every name of the standard has a program or a reason, and nothing else has", () => {
  assert.equal(new Set(NAMES).size, NAMES.length);
  assert.deepEqual(Object.keys(ROWS).sort(), [...NAMES].sort());
});

for (const backend of BACKENDS) {
  test(`${backend}: every program gives what the standard says`, async (t) => {
    const lw = await open(t, { backend }), given = { ...leastwise, lw, ...operandsOf(lw) }, isTensor = (value) => value instanceof given.x.constructor;
    /** The tensors of a result: one, an array, or factors by their names. */
    const tensorsIn = (made) => [made, ...(typeof made === "object" && !isTensor(made) ? Object.values(made) : [])].filter(isTensor);
    const holds = async (name, made, expected) => {
      const tensors = tensorsIn(made);
      if (!tensors.length) return assert.deepEqual(made, typeof expected === "function" ? expected(backend) : expected, name);
      const values = (await Promise.all(tensors.map((tensor) => tensor.read()))).flatMap((part) => [...part]);
      assert.equal(values.length, expected.length, name);
      // Integers and booleans are exact, to the last bit.
      const isExact = tensors.every(({ dtype }) => dtype === "int32" || dtype === "bool");
      expected.forEach((value, k) => assert.ok(isExact ? values[k] === value : Number.isFinite(value) ? Math.abs(values[k] - value) <= 2e-6 * (1 + Math.abs(value)) : Object.is(values[k], value), `${name}: element ${k} is ${values[k]}, not ${value}`));
      return undefined;
    };
    await Promise.all(Object.entries(ROWS).filter(([, row]) => typeof row !== "string").map(async ([name, [program, expected, ...rest]]) => {
      const known = rest.find((each) => typeof each === "function") ?? ((made) => made);
      await holds(name, known(program(given)), expected);
      await Promise.all(rest.filter(Array.isArray).map(([operands, right]) => holds(`${name} of ${inspect(operands)}`, known(program({ ...given, ...Object.fromEntries(Object.entries(operands).map(([key, values]) => [key, lw.tensor(values)])) })), right)));
    }));
  });
}

test("what has a reason is not there", async (t) => {
  const lw = await open(t, { backend: "cpu" }), tensor = lw.ones([1]);
  const found = Object.entries(ROWS).filter(([, row]) => typeof row === "string").flatMap(([name]) => namesOf(name)).filter((name) => name in leastwise || name in tensor || name in lw);
  assert.deepEqual(found, [], "it has a program, then: pkg_tests/array-api.mjs");
});
