// The functions of the Python array API standard, 2023.12 (data-apis.org/array-api/2023.12), and what stands for each here: a program, with its right answer, or the
// reason why there is none. pkg_tests/node/array-api.test.mjs holds the package to it, and docs/ARRAY-API.md is written from it (`npm run generate`).

/** Names of the standard by its sections, extensions included. */
export const STANDARD = {
  "Array object": "dtype device mT ndim shape size T to_device",
  "Constants": "e inf nan newaxis pi",
  "Creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like",
  "Data types": "astype can_cast finfo iinfo isdtype result_type",
  "Element by element": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative not_equal positive pow real remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc",
  "Fourier transforms": "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn",
  "Indexing": "take",
  "Inspection": "__array_namespace_info__",
  "Linear algebra": "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm",
  "Manipulation": "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack",
  "Searching": "argmax argmin nonzero searchsorted where",
  "Sets": "unique_all unique_counts unique_inverse unique_values",
  "Sorting": "argsort sort",
  "Statistics": "cumulative_sum max mean min prod std sum var",
  "Utilities": "all any",
};

const COMPLEX = "there are no complex numbers", LATER = "its shape depends on values, which are not known before they are read", NO_DETERMINANT = "the diagonal of `qr(m).r` has it, up to the sign";
const X = [0.5, -1.25, 2, 3, -0.5, 1.5], Y = [2, -1, 0.5, 1, 4, -2], U = [0.1, -0.9, 0.5], P = [1.5, 2, 4];
const I = [2147483647, -2147483648, 16777217, -7], J = [3, -1, 5, 2], ofWhole = (work) => I.map((value, k) => work(value, J[k]) | 0);
const each = (work, a = X, b = Y) => a.map((value, k) => work(value, b[k]));
const mod = (a, b) => a - b * Math.floor(a / b), bit = (holds) => Number(Boolean(holds)), sum = (list) => list.reduce((total, value) => total + value, 0), spread = (list) => sum(list.map((value) => (value - sum(list) / list.length) ** 2)) / list.length;

/** xᵀ(x xᵀ)⁻¹ of the matrix `x`. */
const PSEUDO = (() => {
  const [a, b] = [X.slice(0, 3), X.slice(3)], dot = (u, v) => sum(u.map((value, k) => value * v[k])), [aa, ab, bb] = [dot(a, a), dot(a, b), dot(b, b)], d = aa * bb - ab * ab;
  return a.flatMap((_, k) => [(bb * a[k] - ab * b[k]) / d, (aa * b[k] - ab * a[k]) / d]);
})();

/** What the programs are of: `x` and `y` are [2, 3], `u` lies between −1 and 1, `p` is above 1 and sorted, `v`, `w` and these are [3], `m` is [2, 2]; `o` has what is not finite. */
export const operandsOf = (lw) => ({ x: lw.tensor(X, [2, 3]), y: lw.tensor(Y, [2, 3]), u: lw.tensor(U), p: lw.tensor(P), i: lw.tensor(new Int32Array(I)), j: lw.tensor(new Int32Array(J)), v: lw.tensor([1, 2, 3]), w: lw.tensor([4, 5, 6]), m: lw.tensor([4, 1, 2, 3], [2, 2]), o: lw.tensor([1, Infinity, -Infinity, NaN]) });

/** The identity of 2 by 2, for as many products of factors with themselves. */
const units = (count) => Array.from({ length: count }, () => [1, 0, 0, 1]).flat();

/**
 * By name: a program and the elements of its result (of several tensors one after the other), or a reason. After these may come `[operands, elements]` where the
 * standard has special cases, and a function that makes of a result what is known of it, where it is known up to signs.
 */
export const ROWS = {
  dtype: [({ x }) => x.dtype, "f32"], device: [({ lw }) => lw.backend, (backend) => backend], mT: [({ x }) => x.T, [0.5, 3, -1.25, -0.5, 2, 1.5]], ndim: [({ x }) => x.rank, 2], shape: [({ x }) => x.shape, [2, 3]], size: [({ x }) => x.size, 6], T: [({ x }) => x.T, [0.5, 3, -1.25, -0.5, 2, 1.5]],
  to_device: "an engine has one device: `read()` a tensor and give it to another engine",
  e: [() => Math.E, Math.E], inf: [() => Infinity, Infinity], nan: [() => NaN, NaN], newaxis: [({ x }) => x.expandDims(0), X], pi: [() => Math.PI, Math.PI],

  arange: [({ lw }) => lw.arange(3, { start: 1, step: 2 }), [1, 3, 5]], asarray: [({ lw }) => lw.tensor([[1, 2], [3, 4]]), [1, 2, 3, 4]], empty: "nothing is written into a tensor: `lw.zeros`", empty_like: "nothing is written into a tensor: `lw.zeros`",
  eye: [({ lw }) => lw.eye(2, 3), [1, 0, 0, 0, 1, 0]], from_dlpack: "JavaScript has no DLPack: `lw.tensor` copies a typed array", full: [({ lw }) => lw.full([2], 7), [7, 7]], full_like: [({ lw, v }) => lw.full(v.shape, 7, { dtype: v.dtype }), [7, 7, 7]],
  linspace: [({ lw }) => lw.arange(5, { start: 1, step: (3 - 1) / 4 }), [1, 1.5, 2, 2.5, 3]], meshgrid: [({ v, w }) => [v.broadcastTo(3, 3), w.expandDims(1).broadcastTo(3, 3)], [1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6]],
  ones: [({ lw }) => lw.ones([2]), [1, 1]], ones_like: [({ lw, v }) => lw.ones(v.shape, { dtype: v.dtype }), [1, 1, 1]], zeros: [({ lw }) => lw.zeros([2]), [0, 0]], zeros_like: [({ lw, v }) => lw.zeros(v.shape, { dtype: v.dtype }), [0, 0, 0]],
  tril: [({ lw, x, where }) => where(lw.arange(3).lessEqual(lw.arange(2).expandDims(1)), x, 0), [0.5, 0, 0, 3, -0.5, 0]], triu: [({ lw, x, where }) => where(lw.arange(3).greaterEqual(lw.arange(2).expandDims(1)), x, 0), [0.5, -1.25, 2, 0, -0.5, 1.5]],

  astype: [({ x }) => x.cast("f16"), X], can_cast: "between f32 and f16 `cast`, to and from f64 nothing", finfo: "the numbers are those of IEEE 754", iinfo: "an int32 has 32 bits", isdtype: [({ x }) => x.dtype === "f32", true], result_type: [({ i, x }) => i.expandDims(1).add(x.slice(0)).dtype, "f32"],

  abs: [({ x }) => x.abs(), X.map(Math.abs)], acos: [({ u, map, acos }) => map((a) => acos(a), u), U.map(Math.acos)], acosh: [({ p, map, acosh }) => map((a) => acosh(a), p), P.map(Math.acosh)], add: [({ x, y }) => x.add(y), each((a, b) => a + b)],
  asin: [({ u, map, asin }) => map((a) => asin(a), u), U.map(Math.asin)], asinh: [({ x, map, asinh }) => map((a) => asinh(a), x), X.map(Math.asinh)], atan: [({ x, map, atan }) => map((a) => atan(a), x), X.map(Math.atan)], atan2: [({ x, y }) => x.atan2(y), each(Math.atan2)], atanh: [({ u, map, atanh }) => map((a) => atanh(a), u), U.map(Math.atanh)],
  bitwise_and: [({ i, j }) => i.bitwiseAnd(j), ofWhole((a, b) => a & b)], bitwise_invert: [({ i }) => i.bitwiseNot(), ofWhole((a) => ~a)], bitwise_left_shift: [({ i }) => i.shiftLeft(3), ofWhole((a) => a << 3)], bitwise_or: [({ i, j }) => i.bitwiseOr(j), ofWhole((a, b) => a | b)], bitwise_right_shift: [({ i }) => i.shiftRight(3), ofWhole((a) => a >> 3)], bitwise_xor: [({ i, j }) => i.bitwiseXor(j), ofWhole((a, b) => a ^ b)], ceil: [({ x }) => x.ceil(), [1, -1, 2, 3, -0, 2]], clip: [({ x }) => x.clip(-1, 1), X.map((a) => Math.min(Math.max(a, -1), 1))], conj: COMPLEX,
  copysign: [({ x, y, where }) => x.abs().mul(where(y.less(0).maximum(y.pow(-1).less(0)), -1, 1)), each((a, b) => Math.abs(a) * Math.sign(b)), [{ x: [2, 2, 0, 0, -3, Infinity], y: [0, -0, 1, -1, -0, -Infinity] }, [2, -2, 0, -0, -3, -Infinity]]], cos: [({ x }) => x.cos(), X.map(Math.cos)], cosh: [({ x, map, cosh }) => map((a) => cosh(a), x), X.map(Math.cosh)], divide: [({ x, y }) => x.div(y), each((a, b) => a / b)], equal: [({ x }) => x.equal(2), X.map((a) => bit(a === 2))],
  exp: [({ x }) => x.exp(), X.map(Math.exp)], expm1: [({ x }) => x.expm1(), X.map(Math.expm1)], floor: [({ x }) => x.floor(), X.map(Math.floor)], floor_divide: [({ x, y }) => x.floorDivide(y), each((a, b) => Math.floor(a / b))], greater: [({ x, y }) => x.greater(y), each((a, b) => bit(a > b))], greater_equal: [({ x, y }) => x.greaterEqual(y), each((a, b) => bit(a >= b))],
  hypot: [({ x, y, map, hypot }) => map((a, b) => hypot(a, b), x, y), each((a, b) => Math.hypot(a, b))], imag: COMPLEX, isfinite: [({ o }) => o.abs().lessEqual(3.4028234663852886e38), [1, 0, 0, 0]], isinf: [({ o }) => o.abs().greater(3.4028234663852886e38), [0, 1, 1, 0]], isnan: [({ o }) => o.isNaN(), [0, 0, 0, 1]],
  less: [({ x, y }) => x.less(y), each((a, b) => bit(a < b))], less_equal: [({ x, y }) => x.lessEqual(y), each((a, b) => bit(a <= b))], log: [({ p }) => p.log(), P.map(Math.log)], log10: [({ p, map, log10 }) => map((a) => log10(a), p), P.map(Math.log10)], log1p: [({ p }) => p.log1p(), P.map(Math.log1p)], log2: [({ p }) => p.log2(), P.map(Math.log2)],
  logaddexp: [({ x, y, stack }) => stack([x, y]).logsumexp(0), each((a, b) => Math.log(Math.exp(a) + Math.exp(b))), [{ x: [-Infinity, -Infinity, 1, Infinity, -Infinity, NaN, 80, 1000], y: [-Infinity, 2, -Infinity, Infinity, Infinity, 1, -80, 1000] }, [-Infinity, 2, 1, Infinity, Infinity, NaN, 80, 1000 + Math.LN2]]],
  logical_and: [({ x, y }) => x.less(0).logicalAnd(y.less(0)), each((a, b) => bit(a < 0 && b < 0))], logical_not: [({ x }) => x.less(0).logicalNot(), X.map((a) => bit(!(a < 0)))], logical_or: [({ x, y }) => x.less(0).logicalOr(y.less(0)), each((a, b) => bit(a < 0 || b < 0))], logical_xor: [({ x, y }) => x.less(0).logicalXor(y.less(0)), each((a, b) => bit((a < 0) !== (b < 0)))],
  maximum: [({ x, y }) => x.maximum(y), each((a, b) => Math.max(a, b))], minimum: [({ x, y }) => x.minimum(y), each((a, b) => Math.min(a, b))], multiply: [({ x, y }) => x.mul(y), each((a, b) => a * b)], negative: [({ x }) => x.neg(), X.map((a) => -a)], not_equal: [({ x }) => x.notEqual(2), X.map((a) => bit(a !== 2))], positive: [({ x }) => x, X],
  pow: [({ x }) => x.pow(3), X.map((a) => a ** 3)], real: COMPLEX, remainder: [({ x, y }) => x.mod(y), each(mod)], round: [({ x }) => x.round(), [0, -1, 2, 3, -0, 2]], sign: [({ x }) => x.sign(), X.map(Math.sign)], signbit: [({ x }) => x.less(0).maximum(x.pow(-1).less(0)), X.map((a) => bit(a < 0)), [{ x: [0, -0, 1, -1, Infinity, -Infinity, 1e-30, -1e-30] }, [0, 1, 0, 1, 0, 1, 0, 1]]], sin: [({ x }) => x.sin(), X.map(Math.sin)], sinh: [({ x, map, sinh }) => map((a) => sinh(a), x), X.map(Math.sinh)],
  sqrt: [({ p }) => p.sqrt(), P.map(Math.sqrt)], square: [({ x }) => x.square(), X.map((a) => a * a)], subtract: [({ x, y }) => x.sub(y), each((a, b) => a - b)], tan: [({ x }) => x.tan(), X.map(Math.tan)], tanh: [({ x }) => x.tanh(), X.map(Math.tanh)], trunc: [({ x }) => x.abs().floor().mul(x.sign()), [0, -1, 2, 3, -0, 1]],

  ...Object.fromEntries("fft fftn hfft ifft ifftn ihfft irfft irfftn rfft rfftn".split(" ").map((name) => [name, COMPLEX])), ...Object.fromEntries("fftfreq fftshift ifftshift rfftfreq".split(" ").map((name) => [name, "there are no Fourier transforms"])),

  take: [({ x }) => x.gather([1, -1]), [3, -0.5, 1.5, 3, -0.5, 1.5]], __array_namespace_info__: "`lw.backend`, `lw.adapter`, `lw.precision` and `lw.dtype` say what there is",

  cholesky: [({ lw, cholesky }) => cholesky(lw.tensor([[4, 2], [2, 5]])), [2, 0, 1, 2]], cross: [({ lw, v, w, einsum }) => einsum("ijk,j,k->i", lw.tensor([[[0, 0, 0], [0, 0, 1], [0, -1, 0]], [[0, 0, -1], [0, 0, 0], [1, 0, 0]], [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]]), v, w), [-3, 6, -3]], det: NO_DETERMINANT, diagonal: [({ m, einsum }) => einsum("ii->i", m), [4, 3]],
  eigh: [({ lw, eigh }) => eigh(lw.tensor([[2, 1], [1, 2]])), [1, 3, 2, 1, 1, 2, ...units(1)], ({ eigenvalues, eigenvectors }) => [eigenvalues, eigenvectors.mul(eigenvalues).matmul(eigenvectors.T), eigenvectors.T.matmul(eigenvectors)]], eigvalsh: [({ lw, eigh }) => eigh(lw.tensor([[2, 1], [1, 2]])).eigenvalues, [1, 3]], inv: [({ lw, m, linearSolve }) => linearSolve(m, lw.eye(2)), [0.3, -0.1, -0.2, 0.4]], matmul: [({ m, x }) => m.matmul(x), [5, -5.5, 9.5, 10, -4, 8.5]], matrix_norm: [({ m }) => m.norm([-2, -1]), [Math.sqrt(30)]], matrix_power: [({ m }) => m.matmul(m).matmul(m), [86, 39, 78, 47]], matrix_rank: [({ m, svd }) => (({ s }) => s.greater(s.max(-1, { keepDims: true }).mul(Math.max(...m.shape.slice(-2)) * 2 ** -23)).sum(-1))(svd(m)), [2], [{ m: [[1, 2, 3], [4, 5, 6], [7, 8, 9]] }, [2]], [{ m: [[4e-8, 1e-8], [2e-8, 3e-8]] }, [2]], [{ m: [[3e8, 6e8], [1e8, 2e8]] }, [1]], [{ m: [[0, 0], [0, 0]] }, [0]]], matrix_transpose: [({ m }) => m.T, [4, 2, 1, 3]],
  outer: [({ v, w, einsum }) => einsum("i,j->ij", v, w), [4, 5, 6, 8, 10, 12, 12, 15, 18]], pinv: [({ x, svd, where }) => (({ u, s, vh }) => vh.T.mul(where(s.greater(s.max(-1, { keepDims: true }).mul(Math.max(...x.shape.slice(-2)) * 2 ** -23)), s.pow(-1), 0).expandDims(-2)).matmul(u.T))(svd(x)), PSEUDO, [{ x: [[0.5, 3], [-1.25, -0.5], [2, 1.5]] }, [0, 1, 2].map((k) => PSEUDO[2 * k]).concat([0, 1, 2].map((k) => PSEUDO[2 * k + 1]))], [{ x: [[1, 2], [2, 4]] }, [0.04, 0.08, 0.08, 0.16]], [{ x: [[0, 0, 0], [0, 0, 0]] }, [0, 0, 0, 0, 0, 0]]], qr: [({ m, qr }) => qr(m), [-2, -1, -1, 2].map((a) => a / Math.sqrt(5)).concat([-2, -1, 0, 1].map((a) => a * Math.sqrt(5)))], slogdet: NO_DETERMINANT, solve: [({ m, v, linearSolve }) => linearSolve(m, v.slice([0, 2])), [0.1, 0.6]], svd: [({ m, svd }) => svd(m), [4, 1, 2, 3, Math.sqrt(15 + Math.sqrt(125)), Math.sqrt(15 - Math.sqrt(125)), ...units(2)], [{ m: [[0.1, 0.2], [0.3, 0.6]] }, [0.1, 0.2, 0.3, 0.6, Math.sqrt(0.5), 0, ...units(2)]], ({ u, s, vh }) => [u.mul(s).matmul(vh), s, u.T.matmul(u), vh.matmul(vh.T)]], svdvals: [({ m, svd }) => svd(m).s, [Math.sqrt(15 + Math.sqrt(125)), Math.sqrt(15 - Math.sqrt(125))]], tensordot: [({ x, y, einsum }) => einsum("ij,kj->ik", x, y), [3.25, -8.5, 7.25, -2]], trace: [({ m, einsum }) => einsum("ii", m), [7]],
  vecdot: [({ x, y, einsum }) => einsum("...i,...i->...", x, y), [3.25, -2]], vector_norm: [({ x }) => x.norm(-1), [Math.hypot(0.5, 1.25, 2), Math.hypot(3, 0.5, 1.5)]],

  broadcast_arrays: [({ v, x }) => [v.broadcastTo(x.shape), x], [1, 2, 3, 1, 2, 3, ...X]], broadcast_to: [({ v }) => v.broadcastTo(2, 3), [1, 2, 3, 1, 2, 3]], concat: [({ v, w, concat }) => concat([v, w]), [1, 2, 3, 4, 5, 6]], expand_dims: [({ x }) => x.expandDims(1), X], flip: [({ v }) => v.flip(0), [3, 2, 1]],
  moveaxis: [({ x }) => x.transpose(1, 0), [0.5, 3, -1.25, -0.5, 2, 1.5]], permute_dims: [({ x }) => x.transpose(1, 0), [0.5, 3, -1.25, -0.5, 2, 1.5]], repeat: [({ v }) => v.repeat(2), [1, 1, 2, 2, 3, 3]], reshape: [({ x }) => x.reshape(3, -1), X], roll: [({ v, concat }) => concat([v.slice([-1, null]), v.slice([0, -1])]), [3, 1, 2]],
  squeeze: [({ x }) => x.expandDims(0).squeeze(0), X], stack: [({ v, w, stack }) => stack([v, w]), [1, 2, 3, 4, 5, 6]], tile: [({ v }) => v.tile(2), [1, 2, 3, 1, 2, 3]], unstack: [({ x }) => x.split(2).map((row) => row.squeeze(0)), X],

  argmax: [({ x }) => x.argmax(-1), [2, 0]], argmin: [({ x }) => x.argmin(-1), [1, 1]], nonzero: LATER, searchsorted: [({ p, v }) => p.less(v.expandDims(-1)).sum(-1), [0, 1, 2]], where: [({ x, y, where }) => where(x.less(0), x, y), each((a, b) => (a < 0 ? a : b))],
  unique_all: LATER, unique_counts: LATER, unique_inverse: LATER, unique_values: LATER, argsort: [({ x }) => x.argsort(), [1, 0, 2, 1, 2, 0]], sort: [({ x }) => x.sort(), [-1.25, 0.5, 2, -0.5, 1.5, 3]],
  cumulative_sum: [({ v }) => v.cumsum(0), [1, 3, 6]], max: [({ x }) => x.max(), [3]], mean: [({ x }) => x.mean(), [sum(X) / 6]], min: [({ x }) => x.min(), [-1.25]], prod: [({ x }) => x.prod(), [X.reduce((a, b) => a * b, 1)]], std: [({ x }) => x.std(), [Math.sqrt(spread(X))]], sum: [({ x }) => x.sum(), [sum(X)]], var: [({ x }) => x.var(), [spread(X)]],
  all: [({ x }) => x.notEqual(2).all(), [0]], any: [({ x }) => x.equal(2).any(), [1]],
};

/** Names that the package would have a function by, were there one. */
export const namesOf = (name) => {
  const camel = name.replaceAll(/_+(\w)/g, (_, letter) => letter.toUpperCase());
  return [name, camel, { solve: "linearSolve", inv: "inverse", cumulative_sum: "cumsum", nonzero: "argwhere", unique_values: "unique" }[name]].filter(Boolean);
};

/** A program as it is written, without what it is given. */
export const writtenBy = (program) => String(program).replace(/^\((\{[^}]*\})?\) => /, "");

/** docs/ARRAY-API.md */
export function page() {
  const names = Object.values(STANDARD).flatMap((section) => section.split(" ")), omitted = names.filter((name) => typeof ROWS[name] === "string");
  const cell = (row) => (typeof row === "string" ? `— ${row}` : `\`${writtenBy(row[0]).replaceAll("|", "\\|")}\``);
  return `# The array API standard

Every function of the [Python array API standard](https://data-apis.org/array-api/2023.12/), version 2023.12, with the
extensions for linear algebra and Fourier transforms: what it is here, as a program, or why there is none. The
standard's own tests are in Python; so this page is generated from \`pkg_tests/array-api.mjs\` (\`npm run generate\`), and
\`pkg_tests/node/array-api.test.mjs\` runs every program on every backend and compares the result with plain JavaScript.
A name without a program fails, and so does a reason for one that exists.

${names.length - omitted.length} of ${names.length} names have a program. \`x\` and \`y\` are matrices, \`u\` \`p\` \`v\` \`w\` vectors, \`i\` and \`j\` of int32, \`m\` is square,
\`o\` has what is not finite; functions are those of \`leastwise\`. JavaScript has no operators for objects: \`x + y\` is
\`x.add(y)\`, \`x @ y\` is \`x.matmul(y)\`, and \`x[0, ::2]\` is \`x.slice(0, { step: 2 })\`. [TENSORS.md](TENSORS.md)
describes them all.
${Object.entries(STANDARD).map(([section, list]) => `
## ${section}

| standard | here |
|---|---|
${list.split(" ").map((name) => `| \`${name}\` | ${cell(ROWS[name])} |`).join("\n")}
`).join("")}`;
}
