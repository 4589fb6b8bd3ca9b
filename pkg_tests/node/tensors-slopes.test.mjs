// Slopes as limits (lw.tensors({ slopes: "limits" })): JAX's infinities and NaN, on every backend, fused and not.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { acos, acosh, asin, asinh, atan, atanh, cosh, grad, hvp, map, sinh, valueAndGrad, vjp, where } from "leastwise";
import { BACKENDS, open, refuses } from "./support.mjs";

const DTYPES = [...BACKENDS.map((backend) => [backend, "f32"]), ...BACKENDS.filter((backend) => backend !== "webgpu").map((backend) => [backend, "f64"])];
const SCALARS = { acos, acosh, asin, asinh, atan, atanh, cosh, sinh };
const POINTS = [-Infinity, -2, -1, 0, 1, 2, Infinity, NaN];

const number = (word) => (word === "inf" ? Infinity : word === "-inf" ? -Infinity : Number(word));
/** The table of JAX's slopes, which Rust's tests read as well: kind, name and numbers of each line. */
const LINES = readFileSync(new URL("../problems/slopes.txt", import.meta.url), "utf8").split("\n").filter((line) => line && !line.startsWith("#")).map((line) => {
  const [kind, ...words] = line.split(" "), isPoints = kind === "left" || kind === "right";
  return { kind, name: isPoints ? kind : words[0], numbers: words.slice(isPoints ? 0 : 1).map(number) };
});
const points = (kind) => LINES.find((line) => line.kind === kind).numbers;

const WHOLE = {
  softmax: (x) => x.softmax().slice(0), logSoftmax: (x) => x.logSoftmax().slice(0), clip: (x) => x.clip(0, 1), cumprod: (x) => x.cumprod(0),
};
const MIXED = {
  "where(x>0,sqrt(x),0)": (x) => where(x.greater(0), x.sqrt(), 0), "where(x>0,log(x),0)": (x) => where(x.greater(0), x.log(), 0),
  "sqrt(where(x>0,x,0))": (x) => where(x.greater(0), x, 0).sqrt(), "sqrt(relu(x))": (x) => x.relu().sqrt(), "log(exp(log(x)))": (x) => x.log().exp().log(),
  "sqrt(square(x))": (x) => x.square().sqrt(), "sqrt(maximum(x,0))": (x) => x.maximum(0).sqrt(), "square(sqrt(x))": (x) => x.sqrt().square(),
  "pow(x,0.5)": (x) => x.pow(0.5), "pow(x,-0.5)": (x) => x.pow(-0.5), "pow(x,1.5)": (x) => x.pow(1.5),
};

/** The function of a line. */
function workOf({ kind, name }) {
  const power = /^pow\(([-\d]+)\)$/.exec(name);
  if (power) return (x) => x.pow(Number(power[1]));
  if (SCALARS[name]) return (x) => map((a) => SCALARS[name](a), x);
  return (kind === "mixed" ? MIXED : WHOLE)[name] ?? ((x, ...others) => x[name](...others));
}

function near(found, right, what) {
  assert.equal(found.length, right.length, what);
  found.forEach((value, k) => assert.ok(Object.is(value + 0, right[k] + 0) || Math.abs(value - right[k]) <= 1e-3 * Math.abs(right[k]), `${what}: slope ${k} is ${value}, not ${right[k]}`));
}

for (const [backend, dtype] of DTYPES) {
  test(`${backend}, ${dtype}: slopes that are limits are JAX's`, async (t) => {
    const lw = await open(t, { backend });
    const tensor = (values) => lw.tensor(values, [values.length], { dtype }), two = lw.tensor([2], [], { dtype });
    for (const fused of [true, false]) {
      lw.tensors({ slopes: "limits", fused });
      const asked = LINES.filter(({ kind }) => kind !== "left" && kind !== "right").map((line) => {
        const { kind, name, numbers } = line;
        const operands = (kind === "one" ? [POINTS] : kind === "two" ? [points("left"), points("right")] : kind === "all" ? [numbers.slice(0, 2)] : [[-1, 0, 4]]).map(tensor);
        // Of what has a slope of 0 everywhere there is another way to the loss.
        // And a factor that compilers of shaders do not know: they take e^(log x) for x.
        const loss = operands.reduce((loss, x) => loss.add(x.mul(0).sum()), workOf(line)(...operands).mul(two).sum());
        return { what: `${name} of ${operands.length}, fused ${fused}`, right: kind === "all" ? numbers.slice(2) : numbers, reads: grad(loss, operands).map((slope) => slope.read()) };
      });
      for (const { what, right, reads } of asked) near((await Promise.all(reads)).flatMap((slopes) => [...slopes].map((slope) => slope / 2)), right, what);
    }
  });

  test(`${backend}, ${dtype}: the setting holds for all that gradients are made of, from then on`, async (t) => {
    const lw = await open(t, { backend });
    const x = lw.tensor([0, 4], [2], { dtype }), ones = lw.ones([2], { dtype });
    const before = grad(x.sqrt().sum(), [x])[0];
    lw.tensors({ slopes: "limits" });
    const { gradients: [slope] } = valueAndGrad((x) => x.sqrt().sum(), [x]), [pulled] = vjp((x) => x.sqrt(), [x]).pull(ones), { gradients: [first] } = hvp((x) => x.sqrt().sum(), [x], [ones]);
    lw.tensors({ fused: true });
    const still = grad(x.sqrt().sum(), [x])[0];
    lw.tensors({ slopes: "finite" });
    const after = grad(x.sqrt().sum(), [x])[0];
    const read = await Promise.all([before, slope, pulled, first, still, after].map(async (each) => [...await each.read()]));
    assert.deepEqual(read, [[0, 0.25], ...Array.from({ length: 4 }, () => [Infinity, 0.25]), [0, 0.25]]);
    refuses(() => lw.tensors({ slopes: "jax" }), "invalid-option", /slopes/u);
  });
}
