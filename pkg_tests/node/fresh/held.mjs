// A call that waits for a part of the engine, and others on its problem meanwhile; prints what became of each.
const { init } = await import("leastwise"), { normalTable } = await import("leastwise/mesh");
const lw = await init({ backend: "cpu" });
const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: [0, 0, 0, 1, 0, 0, 0, 1, 0] });
const normals = await normalTable(x, [0, 1, 2]);
const term = problem.residuals("x", { of: [x] }, ([x]) => x);
const code = (promise) => promise.then(() => "done", (error) => error.code);
// Covariances are a part that no solve has loaded yet.
const first = code(problem.covariance(x, undefined, { variance: 1 }));
let edit = "done";
try { term.enabled = false; } catch (error) { edit = error.code; }
// Pictures take what is there, as in the midst of a solve.
let picture = "done";
try { normals.update(); void x.buffer; } catch (error) { picture = error.code; }
const drawn = code(normals.read());
const second = code(problem.solve()), read = code(x.read());
const other = lw.problem(), y = other.variables("y", { shape: 1, values: [1] });
console.log(JSON.stringify({ edit, picture, drawn: await drawn, second: await second, read: await read, other: await code(y.read()), first: await first, after: await code(problem.solve()) }));
lw.dispose();
