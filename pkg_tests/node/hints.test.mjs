// Hints: errors of residual functions that say what was probably meant.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, exp, quaternion } from "leastwise";
import { open, refuses } from "./support.mjs";

test("what was meant is said: `of: x`, a misspelt name of data or of a slot, an array literal in place of a column", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const own = lw.problem();
  const position = own.variables("position", { shape: 3, values: [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]] });
  const odd = own.variables("rest shape", { shape: 1, values: [1, 2] });
  const place = { term: "r" };
  refuses(() => own.residuals("r", { of: position }, ([a]) => a), "invalid-option", 'term "r": `of` is "position" itself, but lists what the residual takes: write `of: [position]`', place);
  refuses(() => own.energy("r", { of: odd.at([0]) }, ([a]) => a), "invalid-option", 'term "r": `of` is "rest shape" itself, but lists what the energy takes: write `of: [x]`', place);
  refuses(() => own.residuals("r", { of: [position], data: { target: [0, 0, 0] } }, ([a], { tagret }) => a.sub(tagret)), "invalid-option",
    'the residual "r": the data have no "tagret": did you mean "target"? (they have: target)', place);
  refuses(() => own.residuals("r", { of: [position] }, ([a], { target }) => a.sub(target)), "invalid-option", 'the residual "r": the data have no "target" (they have: none)', place);
  refuses(() => own.residuals("r", { of: { from: position, to: position } }, ({ form, to }) => form.sub(to)), "invalid-option",
    'the residual "r": the slots have no "form": did you mean "from"? (they have: from, to)', place);
  refuses(() => own.residuals("r", { of: [position], data: { t: [1, 2, 3, 4] } }, ([a], { t }) => a.mul(t)), "shape",
    'the residual "r": mul() of a Vec3 and a Vec4: it takes a vector, and a number, a scalar or a vector of that size. '
    + 'The data "t" are an array literal of 4 numbers, which is one vector for all 4 instances: for one number an instance give new Float64Array(t)', place);
  refuses(() => own.residuals("r", { of: [position], data: { t: new Array(2000).fill(1) } }, ([a], { t }) => a.mul(t)), "shape",
    'term "r": data column "t" is an array literal of 2000 numbers: that is one vector for all instances, of 1 to 1024 numbers; for one number an instance give new Float64Array(values)', place);
  refuses(() => own.residuals("r", { of: [position], data: { t: Int32Array.of(1, 2, 3, 4) } }, ([a], { t }) => a.mul(t)), "shape", /, not an Int32Array: Float64Array\.from\(values\) gives one number an instance$/, place);
  // What JavaScript itself looks for is no mistake.
  own.residuals("r", { of: { a: position }, data: { target: [0, 0, 0] } }, (slots, data) => {
    assert.equal(Object.prototype.toString.call(data), "[object Object]");
    assert.deepEqual([Object.keys(slots), "target" in data, { ...data }.other, data.then, typeof data.hasOwnProperty], [["a"], true, undefined, undefined, "function"]);
    return slots.a.sub(data.target);
  });
});

test("an array literal in place of a column is told where nothing else says how many instances there are", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const own = lw.problem();
  const s = own.variables("s", { shape: 1, values: [1] }), place = { term: "r" };
  const hint = (name, count) => `The data "${name}" are an array literal of ${count} numbers, which is one vector that all instances share, and there is one instance: for one number an instance give new Float64Array(${name})`;
  const refused = (data, residual, message) => refuses(() => own.residuals("r", { of: [s], data }, residual), "shape", `the residual "r": ${message}`, place);
  refused({ t: [0, 1, 2, 3], seen: [1, 2, 3, 4] }, ([a], { t, seen }) => a.mul(t).sub(seen), `mul() of a Scalar and a Vec4: it takes numbers and scalars. ${hint("t", 4)}`);
  const long = Array.from({ length: 23 }, (_, k) => k);
  refused({ gain: 2, t: long, seen: long }, ([a], { t, seen }) => exp(t).sub(seen), `exp() of a Vec<23>: it takes numbers and scalars. ${hint("t", 23)}`);
  // The literal is the one that was refused, and no vector that is a vector.
  refused({ axis: [1, 0, 0], t: [0, 1, 2, 3] }, ([a], { t }) => a.mul(t), `mul() of a Scalar and a Vec4: it takes numbers and scalars. ${hint("t", 4)}`);
  refused({ axis: [1, 0, 0] }, ([a], { axis }) => a.sub(axis.sub(axis.xy)), "sub() of a Vec3 and a Vec2: it takes two vectors of one size. " + hint("axis", 3));
  refused({ axis: [1, 0, 0] }, ([a]) => a.sub("2"), "sub() of a Scalar and a string: it takes numbers and scalars");
  // As the hint has it.
  assert.equal(own.residuals("r", { of: [s], data: { t: new Float64Array([0, 1, 2, 3]), seen: new Float64Array([1, 2, 3, 4]) } }, ([a], { t, seen }) => a.mul(t).sub(seen)).count, 4);
});

test("a field that a record does not have, a slot that is not there", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const own = lw.problem();
  const pose = own.variables("pose", { shape: { rot: quaternion, t: 3 }, values: [0, 0, 0, 1, 0, 0, 0] });
  const nested = own.variables("nested", { shape: { inner: { low: 1, high: 1 } }, values: [0, 1] });
  const p = own.variables("p", { shape: 3, values: [1, 2, 3] }), place = { term: "r" };
  refuses(() => own.residuals("r", { of: [pose] }, ([{ rto, t }]) => rto.rotate(t)), "invalid-option", 'the residual "r": a record has no "rto": did you mean "rot"? (it has: rot, t)', place);
  refuses(() => own.residuals("r", { of: [nested] }, ([{ inner }]) => inner.hihg), "invalid-option", 'the residual "r": a record has no "hihg": did you mean "high"? (it has: low, high)', place);
  refuses(() => own.residuals("r", { of: [p], data: { frame: column([0, 0, 0, 1, 0, 0, 0], { q: quaternion, at: 3 }) } }, ([a], { frame }) => a.sub(frame.to)), "invalid-option", 'the residual "r": a record has no "to" (it has: q, at)', place);
  refuses(() => own.residuals("r", { of: [p, p] }, ([a, b, c]) => a.sub(b).sub(c)), "shape", 'the residual "r": sub() of a Vec3 and undefined: it takes two vectors of one size. `of` has 2 slots, and the function takes more: those are undefined', place);
  refuses(() => own.residuals("r", { of: [p] }, ([a, b]) => b.sub(a)), "shape", /^the residual "r": .*undefined.*\. `of` has 1 slot, and the function takes more: those are undefined$/, place);
  refuses(() => own.residuals("r", { of: [p, p] }, ([a, b]) => a.sub(b.sub())), "shape", 'the residual "r": sub() of a Vec3 and undefined: it takes two vectors of one size', place);
  // What is thrown for another reason stays what it is.
  assert.throws(() => own.residuals("r", { of: [p] }, ([a]) => a.subtract(a)), TypeError);
  own.residuals("r", { of: [pose] }, ([record]) => {
    assert.ok(Object.isFrozen(record));
    assert.deepEqual([Object.keys(record), "rot" in record, { ...record }.other, record.then], [["rot", "t"], true, undefined, undefined]);
    const { rot, t } = record;
    return rot.rotate(t);
  });
});

test("rows of `over` that are longer than what slots take are refused, unless slots say which columns they take", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const own = lw.problem();
  const y = own.variables("y", { shape: 3, values: [[0, 0, 0], [1, 0, 0], [2, 0, 0]] }), one = own.constants("one", { shape: 1, values: [1] }), place = { term: "r" };
  const over = [[0, 1, 2], [1, 2, 0]], pair = ([a, b]) => a.sub(b);
  const words = (length, taking) => `term "r": the rows of \`over\` have ${length} indices, but ${taking} an index from it: leave the others out of the rows, or say by .at(column) which ones slots take`;
  refuses(() => own.residuals("r", { over, of: [y, y] }, pair), "data-length", words(3, "2 slots take"), place);
  refuses(() => own.residuals("r", { over, of: [y, y.at([0, 1])] }, pair), "data-length", words(3, "1 slot takes"), place);
  refuses(() => own.residuals("r", { over: [[0, 1, 0, 0], [1, 2, 0, 0]], of: [y, y, one] }, pair), "data-length", words(4, "3 slots take"), place);
  assert.equal(own.residuals("named", { over, of: [y.at(0), y.at(2)] }, pair).count, 2);
  assert.equal(own.residuals("shared", { over: [[0, 1], [1, 2]], of: [y, y, one] }, pair).count, 2);
  assert.equal(own.residuals("shared with a column", { over: [[0, 1, 0], [1, 2, 0]], of: [y, y, one] }, pair).count, 2);
});

test("operands that can't be looked at are refused in words", async (t) => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: [1, 2] });
  refuses(() => problem.residuals("revoked operand", { of: [x] }, ([p]) => p.add(proxy)), "shape", /add/, { term: "revoked operand" });
  refuses(() => problem.residuals("revoked factor", { of: [x] }, ([p]) => p.x.mul(proxy)), "shape", /mul/, { term: "revoked factor" });
});
