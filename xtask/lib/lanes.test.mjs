import assert from "node:assert/strict";
import { test } from "node:test";
import { inLanes } from "./lanes.mjs";

// What is printed in a test would mix with what the runner sends.
const quiet = { say() {} };

const recorder = () => {
  const ran = [];
  return { ran, stage: (name, options = {}, work = async () => {}) => ({ name, ...options, work: async () => { ran.push(name); await work(); } }) };
};

test("stages run after those that they need, and a failure leaves out what needs it alone", async () => {
  const { ran, stage } = recorder();
  const stages = [
    stage("last", { after: ["needs"] }), stage("needs", { after: ["fails"] }), stage("fails", {}, async () => { throw new Error("on purpose"); }),
    stage("behind", { behind: ["fails"] }), stage("free"),
  ];
  await assert.rejects(inLanes(stages, quiet), /1 of 5 stages failed: fails\. Not run without them: needs, last\./);
  assert.deepEqual(ran.sort(), ["behind", "fails", "free"]);
});

test("the end of what a failed stage said is said once more, last", async () => {
  const heard = [], { stage } = recorder();
  const fails = { name: "fails", work: async (say) => { for (let k = 0; k < 100; k++) say(`line ${k}\n`); throw new Error("on purpose"); } };
  await assert.rejects(inLanes([fails, stage("later", { behind: ["fails"] })], { say: (text) => heard.push(text) }));
  const last = heard.at(-1);
  assert.match(last, /^\n━━ fails, once more: the end of it\nline 40\n[^]*line 99\n✗ fails failed [^]*on purpose/);
  assert.equal(heard.filter((text) => text.includes("line 99")).length, 2);
});

test("what must be alone has no company", async () => {
  const { stage } = recorder();
  let running = 0, most = 0;
  const work = (limit) => async () => {
    running += 1;
    most = Math.max(most, running);
    assert.ok(running <= limit);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
  };
  const times = await inLanes([stage("alone", { alone: true }, work(1)), stage("a", {}, work(2)), stage("b", {}, work(2)), stage("c", {}, work(2))], quiet);
  assert.equal(most, 2);
  assert.equal(times.length, 4);
});

test("stages that wait for each other, or for nothing that exists, are told", async () => {
  const { stage } = recorder();
  await assert.rejects(inLanes([stage("a", { behind: ["b"] }), stage("b", { behind: ["a"] })], quiet), /wait for each other: a, b/);
  await assert.rejects(inLanes([stage("a", { after: ["c"] })], quiet), /"a" is to come after "c", which does not exist/);
});
