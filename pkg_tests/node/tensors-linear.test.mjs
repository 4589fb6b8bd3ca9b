// Along an axis, and linear algebra of matrices: running sums, order, elements by numbers, factorizations, on every backend, beside plain JavaScript.
import assert from "node:assert/strict";
import test from "node:test";
import { cholesky, eigh, grad, linearSolve, qr, svd } from "leastwise";
import { BACKENDS, open } from "./support.mjs";

const DTYPES = [...BACKENDS.map((backend) => [backend, "f32"]), ...BACKENDS.filter((backend) => backend !== "webgpu").map((backend) => [backend, "f64"])];

/** Numbers from −2 to 2, the same ones each time. */
function numbers(count, seed) {
  let state = seed * 7919 + 17;
  return Array.from({ length: count }, () => {
    state = (state * 16807) % 2147483647;
    return Math.fround((state / 2147483647) * 4 - 2);
  });
}

function near(actual, expected, tolerance, what) {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) <= tolerance * Math.max(1, Math.abs(expected[k])), `${what}: element ${k} is ${value}, not ${expected[k]}`));
}

// −0 is 0 here.
const list = async (tensor) => [...await tensor.read()].map((value) => value + 0);

for (const [backend, dtype] of DTYPES) {
  const epsilon = dtype === "f64" ? 1e-12 : 2e-5;

  test(`${backend}, ${dtype}: running sums, and order`, async (t) => {
    const lw = await open(t, { backend });
    for (const n of [1, 7, 300]) {
      const values = numbers(3 * n, n), x = lw.tensor(values, [3, n], { dtype });
      const rows = [0, 1, 2].map((row) => values.slice(row * n, (row + 1) * n));
      const order = rows.map((row) => row.map((_, k) => k).sort((a, b) => row[a] - row[b] || a - b)), down = rows.map((row) => row.map((_, k) => k).sort((a, b) => row[b] - row[a] || a - b));
      const k = Math.min(n, 4), top = x.topk(k), [sums, all, sorted, places, backwards, largest, at] = await Promise.all([x.cumsum(1), x.cumsum(), x.sort(), x.argsort(), x.argsort(1, { descending: true }), top.values, top.indices].map(list));
      let total = 0;
      near(sums, rows.flatMap((row) => { let sum = 0; return row.map((value) => (sum += value)); }), 10 * epsilon, `cumsum of ${n}`);
      near(all, values.map((value) => (total += value)), 20 * epsilon, `cumsum of all ${n}`);
      assert.deepEqual(sorted, order.flatMap((places, row) => places.map((k) => rows[row][k])));
      assert.deepEqual(places, order.flat());
      assert.deepEqual(backwards, down.flat());
      assert.deepEqual([top.values.shape, at], [[3, k], down.flatMap((places) => places.slice(0, k))]);
      assert.deepEqual(largest, down.flatMap((places, row) => places.slice(0, k).map((k) => rows[row][k])));
    }
    const x = lw.tensor([3, NaN, -1, 3, -Infinity, 0], [6], { dtype });
    assert.deepEqual([await list(x.sort()), await list(x.sort(0, { descending: true })), await list(x.argsort())], [[-Infinity, -1, 0, 3, 3, NaN], [3, 3, 0, -1, -Infinity, NaN], [4, 2, 5, 0, 3, 1]]);
    const y = lw.tensor([2, 0, -3, 4], [4], { dtype }), [slopes] = grad(y.cumprod().sum(), [y]), [of_sorted] = grad(y.sort().mul(lw.tensor([1, 2, 3, 4], [4], { dtype })).sum(), [y]);
    assert.deepEqual([await list(y.cumprod()), await list(slopes), await list(of_sorted)], [[2, 0, 0, 0], [1, 2 - 6 - 24, 0, 0], [3, 2, 1, 4]]);
    assert.throws(() => y.topk(5), { code: "shape", message: /has 4 elements, not 5/ });
    assert.throws(() => y.sort(0, { decending: true }), { code: "invalid-option" });
  });

  test(`${backend}, ${dtype}: elements by their numbers`, async (t) => {
    const lw = await open(t, { backend });
    const tensor = (values, shape) => lw.tensor(values, shape, { dtype });
    const x = tensor([1, 2, 3, 4, 5, 6], [2, 3]), indices = tensor([2, -1, 0, 1], [2, 2]), values = tensor([10, 20, 30, 40], [2, 2]);
    const results = await Promise.all([x.takeAlongAxis(indices, 1), x.scatterAdd(indices, values, 1), x.putAlongAxis(indices, values, 1), x.putAlongAxis(indices, 7, -1), x.takeAlongAxis(lw.indices([1, 0, 1], [1, 3], { dtype }), 0)].map(list));
    assert.deepEqual(results, [[3, 3, 4, 5], [1, 2, 33, 34, 45, 6], [1, 2, 20, 30, 40, 6], [1, 2, 7, 7, 7, 6], [4, 2, 6]]);
    const flat = tensor([5, 6, 7], [3]), rows = [2, 0, 2];
    assert.deepEqual([await list(flat.takeAlongAxis(rows, 0)), await list(flat.scatterAdd(rows, flat, 0))], [[7, 5, 7], [11, 6, 19]]);
    const [slopes] = grad(flat.takeAlongAxis(rows, 0).square().sum(), [flat]);
    assert.deepEqual(await list(slopes), [10, 0, 28]);
    // Numbers that were computed give a table its gradient, too.
    const table = tensor([1, 2, 3, 4], [2, 2]), [of_table] = grad(table.gather(tensor([0, 1, 1], [3]).mul(1)).square().sum(), [table]);
    assert.deepEqual(await list(of_table), [2, 4, 12, 16]);
    // Below 0 they count from the end, as NumPy's do, whoever gives them.
    const back = [-1, 0, -3], one = tensor([1, 2, 3], [3]);
    for (const numbers of [back, tensor(back, [3]), tensor(back, [3]).mul(1)]) {
      const results = await Promise.all([flat.takeAlongAxis(numbers, 0), flat.gather(numbers), flat.putAlongAxis(numbers, one, 0), flat.scatterAdd(numbers, one, 0)].map(list));
      assert.deepEqual(results, [[7, 5, 5], [7, 5, 5], [3, 6, 1], [10, 6, 8]]);
    }
    // Beyond, given ones are refused; computed ones are taken to the nearest, and put nowhere.
    const beyond = tensor([-4, 3], [2]), two = tensor([1, 2], [2]);
    assert.deepEqual(await Promise.all([flat.takeAlongAxis(beyond, 0), flat.gather(beyond), flat.putAlongAxis(beyond, two, 0), flat.scatterAdd(beyond, two, 0)].map(list)), [[5, 7], [5, 7], [5, 6, 7], [5, 6, 7]]);
    for (const work of [() => flat.takeAlongAxis([-4], 0), () => flat.gather([-4]), () => flat.putAlongAxis([-4], 1, 0), () => flat.scatterAdd([-4], 1, 0)]) assert.throws(work, { code: "index-out-of-range", message: /number 0 is -4, but labels and indices are whole numbers from −3 / });
    assert.throws(() => flat.takeAlongAxis([3], 0), { code: "index-out-of-range", message: /3 places along axis 0/ });
    assert.throws(() => x.takeAlongAxis([0], 0), { code: "shape", message: /as many axes/ });
  });

  test(`${backend}, ${dtype}: linear algebra`, async (t) => {
    const lw = await open(t, { backend });
    const tensor = (values, shape) => lw.tensor(values, shape, { dtype }), n = 6, eye = lw.eye(n, undefined, { dtype });
    const a = tensor(numbers(n * n, 3), [n, n]).add(eye.mul(9)), b = tensor(numbers(n * 2, 5), [n, 2]), tall = tensor(numbers(2 * 9 * 4, 7), [2, 9, 4]), positive = a.matmul(a.T);
    const x = linearSolve(a, b), l = cholesky(positive), { q, r } = qr(tall), { u, s, vh } = svd(tall), wide = svd(tall.T), { eigenvalues, eigenvectors } = eigh(positive);
    assert.deepEqual([x.shape, q.shape, r.shape, u.shape, s.shape, vh.shape, wide.u.shape, wide.vh.shape, eigenvalues.shape], [[6, 2], [2, 9, 4], [2, 4, 4], [2, 9, 4], [2, 4], [2, 4, 4], [2, 4, 4], [2, 4, 9], [6]]);
    const zeros = [a.matmul(x).sub(b), l.matmul(l.T).sub(positive).mul(0.01), q.matmul(r).sub(tall), q.T.matmul(q).sub(lw.eye(4, undefined, { dtype })), u.mul(s.expandDims(1)).matmul(vh).sub(tall), wide.u.mul(wide.s.expandDims(1)).matmul(wide.vh).sub(tall.T), eigenvectors.mul(eigenvalues).matmul(eigenvectors.T).sub(positive).mul(0.01), linearSolve(a, tensor(numbers(n, 11), [n])).sub(linearSolve(a, tensor(numbers(n, 11), [n, 1])).squeeze(1))];
    for (const [k, zero] of (await Promise.all(zeros.map((each) => each.abs().max().item()))).entries()) assert.ok(zero <= epsilon, `identity ${k} is off by ${zero}`);
    // The logarithm of a determinant has the gradient A⁻ᵀ; the sum of eigenvalues has I, that of singular values U Vᵀ.
    const [of_log] = grad(cholesky(positive).mul(eye).sum(1).log().sum().mul(2), [positive]), [of_trace] = grad(eigenvalues.sum(), [positive]), [of_norm] = grad(s.sum(), [tall]);
    near(await list(of_log), await list(linearSolve(positive, eye)), 10 * epsilon, "of a log-determinant");
    near(await list(of_trace), await list(eye), 20 * epsilon, "of a trace");
    near(await list(of_norm), await list(u.matmul(vh)), 20 * epsilon, "of the nuclear norm");
    assert.throws(() => linearSolve(tall, b), { code: "shape", message: /must be square/ });
    assert.throws(() => qr(tall.T), { code: "shape", message: /at least as many rows/ });
    const indefinite = await list(cholesky(tensor([1, 2, 2, 1], [2, 2])));
    assert.deepEqual(indefinite, [1, 0, 2, NaN]);
  });
}

for (const [backend, dtype] of DTYPES) {
  const epsilon = dtype === "f64" ? 1e-12 : 2e-5;

  test(`${backend}, ${dtype}: products whose parts overflow`, async (t) => {
    const lw = await open(t, { backend }), [big, many] = dtype === "f64" ? [1e200, 400] : [1e25, 50], of = (values) => lw.tensor(values, [values.length], { dtype }).cumprod();
    near(await list(of([1 / big, big, big, 1 / big]).mul(1 / big)), [0, 1 / big, 1, 1 / big], epsilon, "up and down");
    assert.deepEqual(await list(of([0, big, big, big])), [0, 0, 0, 0]);
    assert.deepEqual(await list(of([...new Array(many).fill(0.5), ...new Array(many).fill(2)])), [...Array.from({ length: many }, (_, k) => 2 ** (-1 - k)), ...Array.from({ length: many }, (_, k) => 2 ** (1 + k - many))]);
    assert.deepEqual(await list(of([2, Infinity, 0, 3])), [2, Infinity, NaN, NaN]);
  });

  test(`${backend}, ${dtype}: factors of matrices that lack a rank, and of any scale`, async (t) => {
    const lw = await open(t, { backend }), tensor = (values, shape) => lw.tensor(values, shape, { dtype }), zero = async (name, of) => { const largest = await of.abs().max().item(); assert.ok(largest <= epsilon, `${name} is off by ${largest}`); };
    const count = [1, 2, 3, 4, 5, 6, 7, 8, 9], rank = { "3 by 3": tensor(count, [3, 3]), "of ones": lw.ones([2, 4, 3], { dtype }), "wide, of zeros": lw.zeros([2, 5], { dtype }), "a corner": tensor([0, 0, 0, 0, 0, 3], [3, 2]), wide: tensor([1, 2, 3, 2, 4, 6], [2, 3]) };
    for (const [name, a] of Object.entries(rank)) {
      const { u, s, vh } = svd(a), k = s.shape.at(-1), unit = lw.eye(k, undefined, { dtype });
      await zero(`${name}: uᵀu`, u.T.matmul(u).sub(unit));
      await zero(`${name}: vh vhᵀ`, vh.matmul(vh.T).sub(unit));
      await zero(`${name}: u s vh`, u.mul(s.expandDims(-2)).matmul(vh).sub(a).mul(0.1));
    }
    const a = tensor([2, -1, 0.5, 1, 3, 0.25, -0.5, 1, 1.5], [3, 3]);
    for (const scale of [2 ** 120, 2 ** -120, 2 ** 63, 2 ** -80]) {
      const b = a.mul(scale), [of, ofScaled] = [a, b].map((x) => ({ ...svd(x), ...qr(x), ...eigh(x) }));
      for (const name of ["u", "vh", "q", "eigenvectors"]) await zero(`${name} at ${scale}`, of[name].sub(ofScaled[name]));
      for (const name of ["s", "r", "eigenvalues"]) await zero(`${name} at ${scale}`, of[name].sub(ofScaled[name].mul(1 / scale)));
    }
  });

  test(`${backend}, ${dtype}: gradients of equal values`, async (t) => {
    const lw = await open(t, { backend }), tensor = (values, shape) => lw.tensor(values, shape, { dtype });
    // A turn of diag(5, 5, 2), by q of any matrix.
    const { q } = qr(tensor(numbers(9, 5), [3, 3])), a = tensor(Float64Array.from(await q.mul(tensor([5, 5, 2], [3])).matmul(q.T).read()), [3, 3]), turn = tensor(Float64Array.from(await q.read()), [3, 3]);
    const sums = { "eigenvalues": [a, (x) => eigh(x).eigenvalues.sum(), lw.eye(3, undefined, { dtype })], "singular values": [a, (x) => svd(x).s.sum(), lw.eye(3, undefined, { dtype })], "squares of eigenvalues": [a, (x) => eigh(x).eigenvalues.square().sum(), a.mul(2)], "squares of singular values": [a, (x) => svd(x).s.square().sum(), a.mul(2)], "singular values of a turn": [turn, (x) => svd(x).s.sum(), turn], "logarithms": [a, (x) => svd(x).s.log().sum(), linearSolve(a, lw.eye(3, undefined, { dtype }))] };
    for (const [name, [x, of, right]] of Object.entries(sums)) near(await list(grad(of(x), [x])[0]), await list(right), 10 * epsilon, name);
  });
}

test("gradients, beside central differences in f64", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const shape = (values, sizes) => lw.tensor(values, sizes, { dtype: "f64" });
  // Away from singular matrices and from equal values.
  const diagonal = (n) => lw.eye(n, undefined, { dtype: "f64" }).mul(shape(Array.from({ length: n }, (_, k) => 3 + 1.5 * k), [n]));
  const rows = shape([2, -1, 9, 2, 0, -7], [2, 3]), b = shape(numbers(6, 2), [3, 2]), v = shape(numbers(6, 4), [2, 3]);
  const cases = {
    cumsum: [[4, 5], (x) => x.square().cumsum(1)], cumprod: [[4, 5], (x) => x.cumprod(0)], sort: [[4, 5], (x) => x.sort(0, { descending: true }).square()], topk: [[4, 5], (x) => x.topk(2).values.square()],
    takeAlongAxis: [[2, 4], (x) => x.takeAlongAxis(rows, 1).square()], scatterAdd: [[2, 4], (x) => x.scatterAdd(rows, v, 1).square()], "scatterAdd of values": [[2, 3], (x) => shape(numbers(8, 9), [2, 4]).scatterAdd(rows, x, 1).square()],
    putAlongAxis: [[2, 4], (x) => x.putAlongAxis(rows, v, 1).square()], "putAlongAxis of values": [[2, 3], (x) => shape(numbers(8, 9), [2, 4]).putAlongAxis(rows, x, 1).square()],
    linearSolve: [[3, 3], (x) => linearSolve(x.add(diagonal(3)), b)], "linearSolve of the right-hand side": [[3, 2], (x) => linearSolve(diagonal(3).add(0.5), x)], cholesky: [[3, 3], (x) => cholesky(x.mul(0.5).add(diagonal(3)))],
    q: [[4, 3], (x) => qr(x.add(diagonal(3).pad([[0, 1], [0, 0]]))).q], r: [[4, 3], (x) => qr(x.add(diagonal(3).pad([[0, 1], [0, 0]]))).r],
    u: [[4, 3], (x) => svd(x.mul(0.5).add(diagonal(3).pad([[0, 1], [0, 0]]))).u], s: [[4, 3], (x) => svd(x).s], vh: [[3, 4], (x) => svd(x.mul(0.5).add(diagonal(3).pad([[0, 0], [0, 1]]))).vh],
    eigenvalues: [[3, 3], (x) => eigh(x).eigenvalues], eigenvectors: [[3, 3], (x) => eigh(x.mul(0.5).add(diagonal(3))).eigenvectors],
    "a slope of a slope": [[3, 3], (x) => grad(cholesky(x.mul(0.3).add(diagonal(3))).square().sum(), [x])[0]],
  };
  for (const [name, [sizes, of]] of Object.entries(cases)) {
    const values = numbers(sizes[0] * sizes[1], name.length);
    // Weights, so that no sum of gradients hides anything.
    const loss = (x) => { const y = of(x), flat = y.reshape([y.size]); return flat.mul(lw.arange(y.size, { dtype: "f64" }).cos()).sum(); };
    const x = shape(values, sizes), [slopes] = grad(loss(x), [x]);
    const step = 1e-5, moved = values.flatMap((_, k) => [step, -step].map((by) => loss(shape(values.map((value, j) => (j === k ? value + by : value)), sizes)).item()));
    const found = await list(slopes), at = await Promise.all(moved);
    near(found, values.map((_, k) => (at[2 * k] - at[2 * k + 1]) / (2 * step)), 2e-7, name);
  }
});
