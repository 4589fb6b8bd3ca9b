// Einsum beside sums over all places, on every backend; products with Jacobians and Hessians beside differences.
import assert from "node:assert/strict";
import { test } from "node:test";
import { attention, einsum, grad, hvp, jvp, vjp } from "leastwise";
import { BACKENDS, open, refuses } from "./support.mjs";

const sizeOf = (shape) => shape.reduce((product, size) => product * size, 1);
/** Numbers between −1 and 1, the same ones each time, that f32 has. */
const sample = (shape, seed) => { let state = seed * 7919 + 17; return { shape, values: Array.from({ length: sizeOf(shape) }, () => { state = (state * 16807) % 2147483647; return Math.fround((state / 2147483647) * 2 - 1); }) }; };
const placesOf = (shape) => Array.from({ length: sizeOf(shape) }, (_, k) => shape.reduceRight(([rest, place], size) => [Math.floor(rest / size), [rest % size, ...place]], [k, []])[1]);

/** By definition: over every place of every letter. `free` are the axes of the ellipsis, as digits from the last one on. */
function slow(inputs, output, operands) {
  const sizes = {};
  inputs.forEach((labels, k) => [...labels].forEach((label, axis) => { if ((sizes[label] ?? 1) === 1) sizes[label] = operands[k].shape[axis]; }));
  const labels = Object.keys(sizes), shape = [...output].map((label) => sizes[label]), values = new Array(sizeOf(shape)).fill(0);
  for (const place of placesOf(labels.map((label) => sizes[label]))) {
    const at = (names, own) => [...names].reduce((sum, label, axis) => sum * own[axis] + (own[axis] === 1 ? 0 : place[labels.indexOf(label)]), 0);
    values[at(output, shape)] += inputs.reduce((product, names, k) => product * operands[k].values[at(names, operands[k].shape)], 1);
  }
  return { shape, values };
}

// Subscripts, the same with digits for the ellipsis, and shapes.
const CASES = [
  ["ij,jk->ik", "ij,jk->ik", [2, 3], [3, 4]], ["ij,jk", "ij,jk->ik", [2, 3], [3, 4]], ["ij,jk->ki", "ij,jk->ki", [2, 3], [3, 4]], ["b a, c b", "ba,cb->ac", [2, 3], [4, 2]],
  ["i,i", "i,i->", [5], [5]], ["i,j", "i,j->ij", [3], [4]], ["ij,j->i", "ij,j->i", [3, 4], [4]], ["ij,ij->i", "ij,ij->i", [3, 4], [3, 4]], ["ij,ij->ij", "ij,ij->ij", [3, 4], [3, 4]], ["ij,ij", "ij,ij->", [3, 4], [3, 4]],
  ["ii", "ii->", [4, 4]], ["ii->i", "ii->i", [4, 4]], ["iji->j", "iji->j", [3, 2, 3]], ["iii->i", "iii->i", [3, 3, 3]], ["iijj->ij", "iijj->ij", [3, 3, 2, 2]], ["ij->ji", "ij->ji", [2, 3]], ["ji", "ji->ij", [2, 3]], ["ijk->", "ijk->", [2, 3, 4]], ["ijk->k", "ijk->k", [2, 3, 4]], ["i->i", "i->i", [3]],
  ["bij,bjk->bik", "bij,bjk->bik", [2, 3, 4], [2, 4, 5]], ["bij,bkj", "bij,bkj->ik", [2, 3, 4], [2, 5, 4]], ["bqhd,bkhd->bhqk", "bqhd,bkhd->bhqk", [2, 3, 2, 4], [2, 5, 2, 4]], ["ijkl,klmn->ijmn", "ijkl,klmn->ijmn", [2, 3, 2, 2], [2, 2, 3, 2]], ["ijk,l,jk->il", "ijk,l,jk->il", [2, 3, 2], [4], [3, 2]],
  ["ij,jk,kl,lm->im", "ij,jk,kl,lm->im", [2, 3], [3, 4], [4, 2], [2, 5]], ["i,i,i->i", "i,i,i->i", [3], [3], [3]], ["ij,i,j->", "ij,i,j->", [3, 4], [3], [4]], ["ii,ij,jj->j", "ii,ij,jj->j", [3, 3], [3, 2], [2, 2]],
  ["...ij,...jk->...ik", "10ij,10jk->10ik", [2, 3, 2, 3], [2, 3, 3, 2]], ["...ij,...jk", "10ij,0jk->10ik", [2, 3, 2, 3], [3, 3, 2]], ["i...->...", "i10->10", [2, 3, 4]], ["...i->i...", "10i->i10", [2, 3, 4]], ["...", "10->10", [2, 3]], ["...,...", "0,10->10", [3], [2, 3]], ["...ii->...i", "0ii->0i", [2, 3, 3]], ["i...j,j->...i", "i0j,j->0i", [2, 3, 4], [4]],
  ["...ij,...jk->...ik", "10ij,10jk->10ik", [1, 3, 2, 3], [2, 1, 3, 2]], ["ij,jk", "ij,jk->ik", [2, 1], [3, 4]], ["ij,ij->ij", "ij,ij->ij", [1, 4], [3, 4]], ["i,i->", "i,i->", [1], [4]], ["aB,Bc", "aB,Bc->ac", [2, 3], [3, 2]], ["Ba", "Ba->Ba", [2, 3]], [",ij->ij", ",ij->ij", [], [2, 3]], [",", ",->", [], []], ["", "->", []],
  ["ij,jk->ik", "ij,jk->ik", [2, 0], [0, 3]], ["ij->i", "ij->i", [2, 0]], ["ij,jk->ik", "ij,jk->ik", [0, 2], [2, 3]], ["ij,kj->ik", "ij,kj->ik", [1, 4], [1, 4]],
].map(([subscripts, plain, ...shapes], k) => ({ subscripts, inputs: plain.split("->")[0].split(","), output: plain.split("->")[1], operands: shapes.map((shape, i) => sample(shape, 10 * k + i)) }));

function near(actual, expected, tolerance, what) {
  assert.equal(actual.length, expected.length, what);
  expected.forEach((value, k) => assert.ok(Math.abs(actual[k] - value) <= tolerance * (1 + Math.abs(value)), `${what}: element ${k} is ${actual[k]}, not ${value}`));
}

for (const [backend, dtype, tolerance] of [...BACKENDS.map((backend) => [backend, "f32", 1e-5]), ...BACKENDS.filter((backend) => backend !== "webgpu").map((backend) => [backend, "f64", 1e-13])]) {
  test(`${backend}, ${dtype}: einsum is the sum over all places`, async (t) => {
    const lw = await open(t, { backend });
    for (const { subscripts, inputs, output, operands } of CASES) {
      const what = `${subscripts} of ${operands.map(({ shape }) => `[${shape}]`)}`, expected = slow(inputs, output, operands);
      const result = lw.scope(() => einsum(subscripts, ...operands.map(({ shape, values }) => lw.tensor(values, shape, { dtype }))));
      assert.deepEqual(result.shape, expected.shape, what);
      near(await result.read(), expected.values, tolerance, what);
      result.dispose();
    }
  });
}

test("gradients of einsum are sums of products, too, exact to the last digits", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const { subscripts, inputs, output, operands } of CASES) {
    const weights = sample(slow(inputs, output, operands).shape, 99);
    const { slopes } = lw.scope(() => {
      const tensors = operands.map(({ shape, values }) => lw.tensor(values, shape, { dtype: "f64" }));
      return { slopes: grad(einsum(subscripts, ...tensors).mul(lw.tensor(weights.values, weights.shape, { dtype: "f64" })).sum(), tensors).map((slope) => slope.read()) };
    });
    const value = (changed) => slow(inputs, output, changed).values.reduce((sum, each, k) => sum + each * weights.values[k], 0);
    for (const [which, found] of (await Promise.all(slopes)).entries()) {
      // Of one element it is a polynomial of degree 3 at most: the five-point rule is exact.
      const expected = operands[which].values.map((_, place) => {
        const at = (h) => value(operands.map((each, k) => (k === which ? { shape: each.shape, values: each.values.map((v, i) => v + (i === place ? h : 0)) } : each)));
        return (8 * (at(0.5) - at(-0.5)) - (at(1) - at(-1))) / 6;
      });
      near(found, expected, 1e-12, `${subscripts} by operand ${which}`);
    }
  }
});

test("einsum frees what it makes, and keeps its operands", async (t) => {
  const lw = await open(t, { backend: "cpu" }, { fresh: true }), a = lw.tensor([[1, 2], [3, 4]]), before = lw.memory().tensors;
  const results = [einsum("ij,jk,kl", a, a, a), einsum("ii", a), einsum("ij->ij", a), einsum("ij->ji", a)];
  assert.equal(lw.memory().tensors, before + results.length);
  for (const each of results) each.dispose();
  assert.deepEqual([...await a.read()], [1, 2, 3, 4]);
  assert.equal(lw.memory().tensors, before);
});

test("errors of einsum name the subscript", async (t) => {
  const lw = await open(t, { backend: "cpu" }), a = lw.ones([2, 3]), b = lw.ones([4, 5]);
  refuses(() => einsum("ij,jk", a, b), "shape", 'einsum("ij,jk"): subscript "j" has 3 elements in operand 0, which is [2, 3], and 4 in operand 1, which is [4, 5]');
  refuses(() => einsum("ii", a), "shape", /subscript "i" is of axes 0 and 1 of operand 0, which is \[2, 3\]: a diagonal has axes of one size/);
  refuses(() => einsum("ijk,jk", a, b), "shape", 'einsum("ijk,jk"): operand 0 is [2, 3], of 2 axes, but "ijk" names 3');
  refuses(() => einsum("...ijk", a), "shape", /but "...ijk" names 3 and more/);
  refuses(() => einsum("...,...", a, b), "shape", /subscript "..." \(axis −2 of the ellipsis\) has 2 elements in operand 0/);
  refuses(() => einsum("ij,jk", a), "invalid-option", 'einsum("ij,jk"): the subscripts are of 2 operands, not of 1');
  refuses(() => einsum("ij", a, a), "invalid-option", 'einsum("ij"): the subscripts are of 1 operand, not of 2');
  refuses(() => einsum("ij->ik", a), "invalid-option", 'einsum("ij->ik"): the result has the subscript "k", which no operand has');
  refuses(() => einsum("ij->ii", a), "invalid-option", /the result has the subscript "i" twice/);
  refuses(() => einsum("i1", a), "invalid-option", 'einsum("i1"): operand 0, "i1", has a "1": subscripts are letters, "," between operands, "..." and "->"');
  refuses(() => einsum("i.j", a), "invalid-option", /has a "\."/);
  refuses(() => einsum("......", a), "invalid-option", /has two ellipses/);
  refuses(() => einsum("ij->i->j", a), "invalid-option", /more than one "->"/);
  refuses(() => einsum("i...->i", a), "invalid-option", /operands have an ellipsis, and the result, "i", has none/);
  refuses(() => einsum(["ij"], a), "invalid-option", /subscripts must be a string/);
  refuses(() => einsum("ij,jk", a, [[1]]), "invalid-option", /operand 1 must be a tensor, not an array/);
  refuses(() => einsum("ij,jk", a, lw.ones([3, 1], { dtype: "f64" })), "dtype", /of f32 and of f64/);
});

// A function of two tensors with values [2, 3], in both worlds.
const OF = { x: sample([2, 2], 1), y: sample([2, 3], 2) };
const ours = (x, y) => x.matmul(y).sin().add(x.sum().exp()).mul(y.square());
const theirs = (x, y) => Array.from({ length: 6 }, (_, k) => { const [i, j] = [Math.floor(k / 3), k % 3]; return (Math.sin(x[2 * i] * y[j] + x[2 * i + 1] * y[3 + j]) + Math.exp(x.reduce((a, b) => a + b))) * y[k] ** 2; });

for (const [backend, dtype, tolerance] of [["cpu", "f64", 1e-8], ...BACKENDS.filter((backend) => backend === "webgpu").map((backend) => [backend, "f32", 2e-3])]) {
  test(`${backend}: vjp and jvp are products with the Jacobian, hvp with the Hessian`, async (t) => {
    const lw = await open(t, { backend }), put = ({ shape, values }) => lw.tensor(values, shape, { dtype });
    const x = put(OF.x), y = put(OF.y), dx = sample([2, 2], 3), dy = sample([2, 3], 4), u = sample([2, 3], 5), h = 1e-5;
    const moved = (s) => [OF.x.values.map((v, k) => v + s * dx.values[k]), OF.y.values.map((v, k) => v + s * dy.values[k])];
    const along = theirs(...moved(h)).map((v, k) => (v - theirs(...moved(-h))[k]) / (2 * h));

    const forward = jvp(ours, [x, y], [put(dx), put(dy)]), backward = vjp(ours, [x, y]), pulled = backward.pull(put(u));
    const [value, tangent, px, py] = await Promise.all([forward.value, forward.tangent, ...pulled].map((each) => each.read()));
    near(value, theirs(OF.x.values, OF.y.values), tolerance, "value");
    near(tangent, along, tolerance, "jvp");
    assert.deepEqual([forward.tangent.shape, pulled[0].shape, pulled[1].shape], [[2, 3], [2, 2], [2, 3]]);
    const dot = (a, b) => a.reduce((sum, v, k) => sum + v * b[k], 0);
    near([dot(u.values, along)], [dot(px, dx.values) + dot(py, dy.values)], tolerance, "uᵀ(J d) = (Jᵀu)ᵀ d");

    const { value: loss, gradients, products } = hvp((x, y) => ours(x, y).square().sum(), [x, y], [put(dx), put(dy)]);
    const [found, gx, gy, hx, hy] = await Promise.all([loss, ...gradients, ...products].map((each) => each.read()));
    near(found, [dot(theirs(OF.x.values, OF.y.values), theirs(OF.x.values, OF.y.values))], tolerance, "loss");
    // Gradients of moved points, by the engine, in f64 where it is.
    const slopesAt = async (s) => { const tensors = moved(s).map((values, k) => lw.tensor(values, k ? [2, 3] : [2, 2], { dtype })); return (await Promise.all(grad(ours(...tensors).square().sum(), tensors).map((g) => g.read()))).flatMap((g) => [...g]); };
    const step = dtype === "f64" ? 1e-5 : 1e-2, [up, down] = await Promise.all([slopesAt(step), slopesAt(-step)]);
    near([...hx, ...hy], up.map((v, k) => (v - down[k]) / (2 * step)), dtype === "f64" ? 1e-7 : 2e-2, "hvp");
    near([...gx, ...gy], await slopesAt(0), tolerance, "gradients");
  });
}

test("what a function does not depend on has zeros, and what is linear no curvature", async (t) => {
  const lw = await open(t, { backend: "cpu" }), x = lw.tensor([1, 2]), y = lw.tensor([3, NaN, Infinity]), d = lw.tensor([1, 1]), e = lw.tensor([1, 1, 1]), list = async (tensor) => [...await tensor.read()];
  const [a, b] = vjp((x, y) => x.mul(2), [x, y]).pull(d);
  assert.deepEqual([await list(a), await list(b)], [[2, 2], [0, 0, 0]]);
  assert.deepEqual(await list(jvp((x, y) => x.sign(), [x, y], [d, e]).tangent), [0, 0]);
  const { gradients: [g], products: [h, none] } = hvp((x) => x.sum(), [x, y], [d, e]);
  assert.deepEqual([await list(g), await list(h), await list(none)], [[1, 1], [0, 0], [0, 0, 0]]);
  // Rows of a Jacobian, one after the other.
  const { pull } = vjp((x) => x.mul(lw.tensor([[1, 2], [3, 4]])).sum(1), [x]);
  assert.deepEqual(await Promise.all([[1, 0], [0, 1]].map((row) => list(pull(lw.tensor(row))[0]))), [[1, 2], [3, 4]]);
});

test("what they make is freed, and errors are for people", async (t) => {
  const lw = await open(t, { backend: "cpu" }, { fresh: true }), x = lw.tensor([1, 2]), d = lw.tensor([1, 1]), square = (x) => x.square(), before = lw.memory().tensors;
  const made = lw.scope(() => [Object.values(jvp(square, [x], [d])), vjp(square, [x]).pull(d), Object.values(hvp((x) => x.square().sum(), [x], [d])).flat()]).flat();
  assert.equal(lw.memory().tensors, before + made.length);
  for (const each of made) each.dispose();
  assert.equal(lw.memory().tensors, before);
  // What work makes on the way goes without a scope around it, too.
  const long = (x) => x.square().add(1).log().mul(x.exp());
  let live;
  for (let round = 0; round < 6; round++) {
    const forward = jvp(long, [x], [d]), curved = hvp((x) => long(x).sum(), [x], [d]), { value, pull } = vjp(long, [x]);
    assert.equal(lw.memory().tensors, before + 6, "two, three, and the value");
    const [slope] = pull(d), all = [forward.value, forward.tangent, curved.value, ...curved.gradients, ...curved.products, value, slope];
    assert.equal(lw.memory().tensors, before + all.length);
    const [at, tangent, loss, gradient, product, again, pulled] = await Promise.all(all.map(async (each) => [...await each.read()]));
    const [f, df, ddf] = [(v) => Math.log(v * v + 1) * Math.exp(v), (v) => (Math.log(v * v + 1) + (2 * v) / (v * v + 1)) * Math.exp(v), (v) => (Math.log(v * v + 1) + (4 * v) / (v * v + 1) + (2 - 2 * v * v) / (v * v + 1) ** 2) * Math.exp(v)].map((of) => [1, 2].map(of));
    for (const [found, right] of [[at, f], [again, f], [tangent, df], [gradient, df], [pulled, df], [product, ddf], [loss, [f[0] + f[1]]]]) near(found, right, 1e-5, "of a long chain");
    for (const each of all) each.dispose();
    // The first two rounds make the buffers that the others use.
    if (round < 2) live = lw.memory().live;
    assert.deepEqual([lw.memory().tensors, lw.memory().live], [before, live], `tensors and bytes after round ${round}`);
  }
  // A function may give back what it was given; and of what fails nothing is left.
  const same = vjp((x) => x, [x]);
  assert.equal(same.value, x);
  const fails = [() => vjp((x) => { x.exp().sin(); throw new Error("halfway"); }, [x]), () => vjp((x) => [x.exp()], [x]), () => jvp((x) => x.exp(), [x], [lw.ones([3])]), () => hvp((x) => x.exp().sin(), [x], [d])];
  for (const [k, fail] of fails.entries()) {
    const count = lw.memory().tensors;
    assert.throws(fail);
    // The tangent of a wrong shape is this test's own.
    assert.equal(lw.memory().tensors, count + (k === 2 ? 1 : 0), String(fail));
  }
  refuses(() => jvp(1, [x], [d]), "invalid-option", "jvp(work, of, tangents): work must be a function of tensors, not a number");
  refuses(() => vjp(() => 1, [x]), "invalid-option", "vjp(work, of): what work returns must be a tensor, not a number");
  refuses(() => vjp(square, []), "invalid-option", /one at least, not an empty one/);
  refuses(() => vjp(square, [x]).pull(lw.ones([3])), "shape", "vjp(work, of): pull(cotangent): the cotangent is [3], but must be [2]");
  refuses(() => jvp(square, [x], []), "invalid-option", /there are 0 tangents, for 1 tensors/);
  refuses(() => jvp(square, [x], [lw.ones([2], { dtype: "f64" })]), "dtype", /of f32 and of f64/);
  refuses(() => hvp(square, [x], [d]), "shape", /the loss must be one number, not \[2\]/);
  const q = lw.ones([2, 2]);
  refuses(() => jvp((q) => attention(q, q, q), [q], [q]), "shape", /second/);
});
