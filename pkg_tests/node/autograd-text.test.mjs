// Expressions as text in leastwise/autograd: parsed, differentiated, simplified and printed, against differences, JavaScript and graphs of values.
import assert from "node:assert/strict";
import { test } from "node:test";
import { computeGradients, differentiate, generateCode, generateGradientCode, generateGradientFunction, generateMathNotation, parse, Parser, simplify, V } from "leastwise/autograd";
import { near, randoms } from "./random.mjs";

const expressionOf = (text) => parse(`y = ${text}`).assignments[0].expression;
/** An expression as a function of its variables. */
const compiled = (node, ...names) => new Function(...names, `return ${generateCode(node)};`);

/** Calls of every function, of a and b between 0.1 and 0.9, with V's own where they agree. */
const CALLS = {
  "sin(a)": V.sin, "cos(a)": V.cos, "tan(a)": V.tan, "asin(a)": V.asin, "acos(a)": V.acos, "atan(a)": V.atan, "sinh(a)": V.sinh, "cosh(a)": V.cosh, "tanh(a)": V.tanh, "exp(a)": V.exp, "log(a)": (a) => V.log(a), "ln(a)": (a) => V.log(a),
  "log2(a)": (a) => V.div(V.log(a), Math.LN2), "log10(a)": (a) => V.div(V.log(a), Math.LN10), "log1p(a)": (a) => V.log(V.add(a, 1)), "sqrt(a)": V.sqrt, "abs(a - b)": (a, b) => V.abs(V.sub(a, b)), "sign(a) * b": (a, b) => V.mul(V.sign(a), b),
  "floor(9 * a) + b": (a, b) => V.add(V.floor(V.mul(9, a)), b), "ceil(9 * a) + b": (a, b) => V.add(V.ceil(V.mul(9, a)), b), "round(9 * a) + b": (a, b) => V.add(V.round(V.mul(9, a)), b), "square(a)": V.square, "cube(a)": V.cube, "reciprocal(a + b)": (a, b) => V.reciprocal(V.add(a, b)),
  "sigmoid(a - b)": (a, b) => V.sigmoid(V.sub(a, b)), "relu(a - b)": (a, b) => V.relu(V.sub(a, b)), "softplus(a - b)": (a, b) => V.softplus(V.sub(a, b)), "pow(a, b)": V.powValue, "pow(a, 3)": (a) => V.pow(a, 3), "atan2(a, b)": V.atan2, "hypot(a, b, 1)": (a, b) => V.sqrt(V.sum([V.square(a), V.square(b), 1])),
  "min(a, b)": V.min, "max(a, b)": V.max, "min(b, 0.5, a)": (a, b) => V.min(b, V.min(0.5, a)), "max(0.5, a, b, 0.4)": (a, b) => V.max(V.max(0.5, a), V.max(b, 0.4)), "clamp(a, 0.3, 0.6)": (a) => V.clamp(a, 0.3, 0.6), "ifThenElse(a > b, a * b, sin(b))": (a, b) => V.ifThenElse(V.gt(a, b), V.mul(a, b), V.sin(b)),
  "a ** b": V.powValue, "(a + b) % 0.4": (a, b) => V.mod(V.add(a, b), 0.4), "7 % a": (a) => V.mod(7, a), "a / b / a": (a, b) => V.div(V.div(a, b), a), "a - (b - a) - b": (a, b) => V.sub(V.sub(a, V.sub(b, a)), b), "-(a + b) * -a": (a, b) => V.mul(V.neg(V.add(a, b)), V.neg(a)),
  "(a < b) * a + (a >= b) * b": (a, b) => V.min(a, b), "a ** 2 ** b": (a, b) => V.powValue(a, V.powValue(2, b)), "-a ** 2": (a) => V.neg(V.square(a)), "a ^ -1": (a) => V.reciprocal(a),
};

test("every function has the value and the slopes of a graph of values", () => {
  for (const [text, of] of Object.entries(CALLS)) {
    const node = expressionOf(text), random = randoms(text.length, 0.1, 0.9), value = compiled(node, "a", "b"), simple = compiled(simplify(node), "a", "b"), slopes = ["a", "b"].map((name) => compiled(differentiate(node, name), "a", "b"));
    for (let time = 0; time < 20; time++) {
      const [a, b] = [V.W(random()), V.W(random())], root = of(a, b), at = [a.data, b.data];
      root.backward();
      near(value(...at), root.data, 1e-13, text);
      near(simple(...at), root.data, 1e-13, `${text}, simplified`);
      near(slopes[0](...at), a.grad, 1e-10, `${text} by a`);
      near(slopes[1](...at), b.grad, 1e-10, `${text} by b`);
    }
  }
  // Of equal operands the first has slope 1.
  for (const [text, slope] of [["min(a, b)", [1, 0]], ["max(a, b)", [1, 0]], ["max(b, a)", [0, 1]]]) assert.deepEqual(["a", "b"].map((name) => compiled(differentiate(expressionOf(text), name), "a", "b")(2, 2)), slope, text);
});

/** A random expression of x, y and z as text, with all brackets. */
function drawn(random, depth) {
  if (depth === 0 || random() < 0.15) return ["x", "y", "z", "2", "0.5", "1e-1", "0", "1"][Math.floor(random() * 8)];
  // Divisors are positive, so that everything is defined.
  const inner = () => drawn(random, depth - 1);
  switch (Math.floor(random() * 7)) {
    case 0: return `(-${inner()})`;
    case 1: return `sin(${inner()})`;
    case 2: return `(${inner()} ** 2)`;
    case 3: return `(${inner()} / (${inner()} ** 2 + 1))`;
    default: return `(${inner()} ${["+", "-", "*"][Math.floor(random() * 3)]} ${inner()})`;
  }
}

test("random expressions are read as JavaScript reads them, and printing changes nothing", () => {
  const random = randoms(1, 0, 1), point = [0.7, -1.3, 1.9];
  for (let time = 0; time < 400; time++) {
    const text = drawn(random, 5), node = expressionOf(text), javaScript = new Function("x", "y", "z", "sin", `return ${text};`), expected = javaScript(...point, Math.sin);
    const value = compiled(node, "x", "y", "z")(...point);
    near(value, expected, 1e-12, text);
    assert.equal(compiled(expressionOf(generateCode(node).replaceAll("Math.", "")), "x", "y", "z")(...point), value, text);
    near(compiled(simplify(node), "x", "y", "z")(...point), expected, 1e-9, `${text}, simplified`);
    for (const name of ["x", "y", "z"]) {
      const of = (shift) => javaScript(...point.map((value, k) => ("xyz"[k] === name ? value + shift : value)), Math.sin);
      const [fine, coarse] = [1e-5, 2e-5].map((step) => (of(step) - of(-step)) / (2 * step)), slope = compiled(differentiate(node, name), "x", "y", "z")(...point);
      // Where the two differences disagree, they are rounding of large numbers.
      near(slope, fine, 1e-5 + 10 * Math.abs(fine - coarse) / Math.max(1, Math.abs(fine)), `${text} by ${name}`);
    }
  }
});

test("numbers, signs and powers", () => {
  const value = (text, x = 3) => compiled(expressionOf(text), "x")(x);
  assert.deepEqual(["1e-3", "-x**2", "-x^2", "2**-x", "2 ** 3 ** 2", "x - -3", "--x", "-(x + 1)", "1.5e+2 * x", ".5*x", "x - 1 - 1", "x / 3 / 2"].map((text) => value(text)), [0.001, -9, -9, 0.125, 512, 6, 3, -4, 450, 1.5, 1, 0.5]);
  assert.equal(generateCode(expressionOf("-(a + b)")), "-(a + b)");
  assert.equal(generateCode(expressionOf("a * (b / c)")), "a * (b / c)");
  assert.equal(generateCode(expressionOf("(a * b) * c")), "a * b * c");
  for (const [text, expected] of [["sqrt(x**2 + 1)/2", "√(x² + 1) / 2"], ["abs(x) * log(y)", "|x| · ln(y)"], ["-(a - b) ** 3", "−(a − b)³"], ["x ** (n + 1)", "x^(n + 1)"], ["(a <= b) * 2", "[a ≤ b] · 2"], ["p.x * 2", "p.x · 2"]]) assert.equal(generateMathNotation(expressionOf(text)), expected);
});

test("simplification leaves out what changes nothing", () => {
  const cases = { "0 + x": "x", "1 * x + 0": "x", "x - x": "0", "x ** 1": "x", "x ** 0": "1", "--x": "x", "2 * 3 + x * 4": "6 + 4 * x", "x + x": "2 * x", "x * x": "Math.pow(x, 2)", "a + -b": "a - b", "a - -b": "a + b", "2 * (3 * x)": "6 * x", "4 * x / 2": "2 * x", "0 / x": "0", "x / 1": "x", "-(a - b)": "b - a", "-a * -b": "a * b", "sqrt(16)": "4", "sqrt(2)": "Math.sqrt(2)", "Vec2(a, b).y": "b", "1 / 3": String(1 / 3) };
  for (const [text, expected] of Object.entries(cases)) assert.equal(generateCode(simplify(expressionOf(text))), expected, text);
});

const PROGRAM = `
  // Springs of two points.
  d = p - Vec2(q.x, q.y)
  r = d.magnitude; stretch = r - l
  energy = 0.5 * k * stretch ** 2 + dot(d, Vec2(k, l)) * sin(r)
`.replace("d = p - ", "d = Vec2(p.x, p.y) - ");

/** The same with values. */
function energyOf([px, py, qx, qy, k, l]) {
  const [dx, dy] = [V.sub(px, qx), V.sub(py, qy)], r = V.sqrt(V.add(V.square(dx), V.square(dy)));
  return V.add(V.mul(V.mul(0.5, k), V.square(V.sub(r, l))), V.mul(V.add(V.mul(dx, k), V.mul(dy, l)), V.sin(r)));
}

test("gradients go through assignments, and the generated function has them", () => {
  const program = parse(PROGRAM), gradients = computeGradients(program, ["p", "q", "k", "l", "unused"]);
  assert.equal(program.output, "energy");
  assert.deepEqual(program.assignments.map(({ variable }) => variable), ["d", "r", "stretch", "energy"]);
  assert.deepEqual([...gradients.keys()], ["energy", "p.x", "p.y", "q.x", "q.y", "k", "l", "unused"]);
  assert.deepEqual(gradients.get("energy"), { type: "Number", value: 1 });
  const text = generateGradientFunction(program, gradients, "valueAndGradient", ["p", "q", "k", "l", "unused"]), run = new Function(`${text}\nreturn valueAndGradient;`)();
  const random = randoms(9, 0.2, 2);
  for (let time = 0; time < 20; time++) {
    const leaves = Array.from({ length: 6 }, () => V.W(random())), root = energyOf(leaves), [px, py, qx, qy, k, l] = leaves.map(({ data }) => data);
    root.backward();
    const { value, gradient } = run({ x: px, y: py }, { x: qx, y: qy }, k, l, 5);
    near(value, root.data, 1e-12);
    [gradient.p.x, gradient.p.y, gradient.q.x, gradient.q.y, gradient.k, gradient.l].forEach((slope, j) => near(slope, leaves[j].grad, 1e-11, `entry ${j}`));
    assert.equal(gradient.unused, 0);
  }
});

test("options of generated code", () => {
  const program = parse("s = x * y; f = s ** 2"), gradients = computeGradients(program, ["x", "y"]);
  assert.equal(generateGradientCode(program, gradients), ["  const s = x * y;", "  const f = Math.pow(s, 2);", "  // ∂f/∂x = 2 · s · y", "  const d_x = 2 * s * y;", "  // ∂f/∂y = 2 · s · x", "  const d_y = 2 * s * x;"].join("\n"));
  assert.equal(generateGradientCode(program, gradients, { includeMath: false, varStyle: "let", includeForward: false, indent: "" }), "let d_x = 2 * s * y;\nlet d_y = 2 * s * x;");
});

test("vectors are their components", () => {
  const [a, b] = [[1, 2, 3], [4, -5, 6]], at = (text) => compiled(expressionOf(text.replace(/\ba\b/, `Vec3(${a})`).replace(/\bb\b/, `Vec3(${b})`)))();
  assert.equal(at("dot(a, b)"), 12);
  assert.deepEqual(at("cross(a, b)"), { x: 27, y: 6, z: -13 });
  assert.deepEqual(at("2 * a - b / 2"), { x: 0, y: 6.5, z: 3 });
  assert.equal(at("sqrDistance(a, b)"), 67);
  near(at("distance(a, b)"), Math.sqrt(67), 1e-15);
  near(at("normalized(a).y"), 2 / Math.sqrt(14), 1e-15);
  assert.equal(at("a.sqrMagnitude"), 14);
  assert.equal(compiled(expressionOf("cross(Vec2(1, 2), Vec2(3, 5))"))(), -1);
  assert.equal(generateCode(expressionOf("Vec4(1, x, y, 2).w")), "1");
  assert.equal(generateCode(differentiate(expressionOf("Vec2(x ** 2, 3)"), "x")), "({ x: 2 * x, y: 0 })");
});

test("what is no program, and what can't be differentiated, says where and why", () => {
  const cases = {
    "y = ": "line 1, column 5: the text ends where an expression goes on", "y = 1 2": "line 1, column 7: unexpected 2", "a = 1\ny = (a": "line 2, column 7: \\) is missing here", "y = a $ b": "line 1, column 7: unexpected \\$", "y = a @ b": "line 1, column 7: unexpected @",
    "x = 1\nx = 2": "line 2, column 1: x is assigned twice", "y = Vec2(1)": "Vec2 has 2 components, not 1", "": "the program is empty", "y = * 2": "line 1, column 5: unexpected \\*",
  };
  for (const [text, message] of Object.entries(cases)) assert.throws(() => parse(text), { code: "tape", message: new RegExp(message) }, text);
  assert.throws(() => differentiate(expressionOf("gamma(x)"), "x"), { code: "tape", message: /gamma is no function that can be differentiated: there are sin, / });
  assert.throws(() => differentiate(expressionOf("atan2(x)"), "x"), { code: "tape", message: /atan2 has 2 arguments, not 1/ });
  assert.throws(() => differentiate(expressionOf("dot(u, v)"), "u.x"), { code: "tape", message: /dot: u is not known to be a vector: write u = Vec2/ });
  assert.throws(() => differentiate(expressionOf("Vec2(x, 1) + 2"), "x"), { code: "tape", message: /vectors of one kind are added/ });
  assert.throws(() => computeGradients(parse("v = Vec2(x, 1)"), ["x"]), { code: "tape", message: /the output v is a vector/ });
  assert.throws(() => generateCode(expressionOf("gamma(x)")), { code: "tape", message: /gamma is no function/ });
  assert.equal(new Parser("x ** 2").parseProgram().output, "output");
});
