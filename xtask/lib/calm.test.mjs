// What tests on a software GPU are loaded with: setImmediate as it was for JavaScript, and a timer for functions of native code.
import assert from "node:assert/strict";
import { test } from "node:test";
import { promisify } from "node:util";
import "./calm.mjs";

test("JavaScript's own functions are called in the next turn, with their arguments, and can be cleared", async () => {
  const order = [];
  const cleared = setImmediate(() => order.push("cleared"));
  await new Promise((resolve) => {
    setTimeout(() => { order.push("timer"); resolve(); }, 50);
    setImmediate((word) => order.push(word), "immediate");
    clearImmediate(cleared);
  });
  assert.deepEqual(order, ["immediate", "timer"]);
  assert.equal(await promisify(setImmediate)("given"), "given");
});

test("functions of native code wait for a timer, and are called once", async () => {
  const calls = [];
  assert.equal(setImmediate(calls.push.bind(calls, "called")).constructor.name, "Timeout");
  assert.equal(setImmediate(() => calls.push("own")).constructor.name, "Immediate");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(calls.sort(), ["called", "own"]);
});
