// Shapes that are none, values that lie on none, and what can't be done on a manifold: refused in words.
import { test } from "node:test";
import { column, exp, manifold, norm, quaternion, se3, sphere, subset } from "leastwise";
import { open, refuses, rejects } from "./support.mjs";

const ANY = "a number of scalars (1, 2, 3, …), a manifold such as quaternion or sphere(3), or a record of these such as { q: quaternion, t: 3 }";

test("shapes", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const make = (shape, values = [1]) => () => problem.variables("v", { shape, values });
  refuses(make("quaternion"), "shape", `"v": the shape is ${ANY}, not a string`);
  refuses(make(undefined), "shape", `"v": the shape is ${ANY}, not undefined`);
  refuses(make([quaternion, 3]), "shape", `"v": the shape is ${ANY}, not an array`);
  refuses(make({}), "shape", `"v": the shape is ${ANY}, not an Object`);
  refuses(make(1.5), "shape", `"v": the shape is ${ANY}, not 1.5`);
  refuses(make({ q: quaternion, t: -3 }), "shape", `"v": its field "t" is ${ANY}, not -3`);
  refuses(make({ q: quaternion, t: sphere }), "shape", `"v": its field "t" is ${ANY}, not a function`);
  refuses(make({ a: 1000, b: { c: sphere(25) } }), "shape", '"v": an instance has 1 to 1024 scalars, not 1025');
  const itself = { a: 1 };
  itself.b = itself;
  refuses(make(itself), "shape", '"v": its records are more than 32 inside each other');
  refuses(() => column([1, 2], { q: "x" }), "shape", `column(values, shape): its field "q" is ${ANY}, not a string`);
  refuses(make({ q: quaternion, t: 3 }, [0, 0, 0, 1, 2, 3]), "data-length", '"v": values has 6 values, but a positive multiple of 7 (its shape) are needed');
});

test("functions that make manifolds", () => {
  refuses(() => sphere(1), "shape", "sphere(n): n is a whole number from 2 to 1024, not 1");
  refuses(() => sphere("3"), "shape", "sphere(n): n is a whole number from 2 to 1024, not a string");
  refuses(() => subset(3, [3]), "shape", "subset(n, constant): a component is a whole number from 0 to 2, not 3");
  refuses(() => subset(3, 1), "shape", "subset(n, constant): constant is an array of components (0, 1, …), not a number");
  refuses(() => subset(2, [1, 0]), "shape", "subset(n, constant): every component is constant: use problem.constants for what never moves");
  const call = "manifold({ ambient, tangent, retract })";
  refuses(() => manifold(), "shape", `${call} takes an object, not undefined`);
  refuses(() => manifold({ ambient: 2, tangent: 3, retract: (x) => x }), "shape", `${call}: tangent is a whole number from 1 to 2, not 3`);
  refuses(() => manifold({ ambient: 2, tangent: 1 }), "shape", `${call}: retract is a function of x and δ, not undefined`);
  refuses(() => manifold({ ambient: 2, tangent: 1, retract: () => {} }), "no-residual",
    'the residual "manifold(…)" returned undefined: return a scalar, a vector, a matrix, a quaternion, or an array of them (is a `return` missing?)', { term: "manifold(…)" });
});

test("retractions that are none", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const make = (made, values) => () => lw.problem().variables("v", { shape: manifold(made), values });
  refuses(make({ ambient: 3, tangent: 1, retract: (x, d) => [x.x, d] }, [1, 2, 3]), "shape", '"v": the retraction returns 2 scalars, but an instance has 3');
  refuses(make({ ambient: 2, tangent: 2, retract: (x, d) => x.add(x.mul(d.x)) }, [1, 2]), "shape", '"v": component 1 of a step moves nothing: leave it out of the tangent');
  refuses(make({ ambient: 1, tangent: 1, retract: (x, d) => exp(d).add(x) }, [1, 2]), "shape",
    '"v": instance 0: a step of 0 moves component 0 from 1 to 2: the retraction must give back x where d is 0, and values must lie on the manifold (within 0.001)', { instance: 0 });
  const circle = { ambient: 2, tangent: 2, retract: (x, d) => x.add(d).div(norm(x.add(d))) };
  refuses(make(circle, [1, 0, 3, 0]), "shape",
    '"v": instance 1: a step of 0 moves component 0 from 3 to 1: the retraction must give back x where d is 0, and values must lie on the manifold (within 0.001)', { instance: 1 });
});

test("values off the manifold", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const off = (what, instance, length) => `"v": instance ${instance}: its ${what} has a length of ${length}, but must be of unit length (within 0.001): divide it by its length`;
  refuses(() => problem.variables("v", { shape: quaternion, values: [0, 0, 0, 1, 0, 0, 0, 0] }), "shape", off("quaternion", 1, 0), { instance: 1 });
  refuses(() => problem.constants("v", { shape: { s: 1, n: sphere(2) }, values: [5, 3, 4] }), "shape", off("vector on the sphere", 0, 5), { instance: 0 });
  refuses(() => problem.variables("v", { shape: quaternion, values: [0, 0, 0, NaN] }), "non-finite", '"v" is not finite: value 3 is NaN', { instance: 0 });
  const v = problem.variables("v", { shape: sphere(3), values: [1, 0, 0, 0, 1, 0] });
  refuses(() => v.write([0, 0, 2], { at: [1] }), "shape", off("vector on the sphere", 1, 2), { instance: 1 });
});

test("parts that move together, and bounds", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const v = problem.variables("v", { shape: se3, values: [0, 0, 0, 1, 0, 0, 0] });
  refuses(() => v.fix([0], [2]), "shape",
    '"v": component 2 moves together with others on its manifold, so it can\'t be fixed without them: name all of them, or leave the components out to fix the whole instance');
  refuses(() => v.fix([0], [7]), "shape", '"v": component 7 is out of range: an instance has 7 (0 to 6)');
  refuses(() => v.bound({ lower: 0 }), "shape",
    '"v": bounds hold components between two numbers, and on a manifold there are no such components: bound a plain variable, or add a residual that grows at the limit');
  await rejects(v.read(new Float64Array(6)), "data-length", '"v".read(out): out has 6 values, but 7 are needed (1 instances of 7)');
  // Mixed-up motions, for callers without types.
  refuses(() => problem.residuals("t", { of: [v] }, ([x]) => x.mul(x.q)), "shape", 'the residual "t": mul() of a Quat: it takes a Se3', { term: "t" });
  refuses(() => problem.residuals("t", { of: [v] }, ([x]) => x.transform(x)), "shape", 'the residual "t": transform() of a Se3: it takes a Vec3', { term: "t" });
  refuses(() => problem.residuals("t", { of: [v] }, ([x]) => x), "no-residual",
    'the residual "t" returned a Se3: return a scalar, a vector, a matrix, a quaternion, or an array of them (is a `return` missing?)', { term: "t" });
});
