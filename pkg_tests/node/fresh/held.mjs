// A call that waits for a part of the engine, and others on its problem meanwhile; prints what became of each.
const { init } = await import("leastwise");
const lw = await init({ backend: "cpu" });
const problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [1] });
const term = problem.residuals("x", { of: [x] }, ([x]) => x);
const code = (promise) => promise.then(() => "done", (error) => error.code);
// Covariances are a part that no solve has loaded yet.
const first = code(problem.covariance(x, undefined, { variance: 1 }));
let edit = "done";
try { term.enabled = false; } catch (error) { edit = error.code; }
const second = code(problem.solve()), read = code(x.read());
const other = lw.problem(), y = other.variables("y", { shape: 1, values: [1] });
console.log(JSON.stringify({ edit, second: await second, read: await read, other: await code(y.read()), first: await first, after: await code(problem.solve()) }));
lw.dispose();
