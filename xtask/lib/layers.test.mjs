// The engine's crates and the façade's files, each of which imports what is below it alone.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { root } from "./run.mjs";

// From the ground up, as docs/ARCHITECTURE.md has them. What is in one row knows nothing of its neighbours.
const LAYERS = [
  ["base", "collective", "expr", "kernels", "wgsl-cuda"], ["program"], ["recording"], ["cpu", "webgpu", "cuda"], ["device"], ["error"], ["problem", "anneal", "tensor", "fits"], ["linear"], ["solve"], ["outer", "ranks"], ["session"],
];

const nameOf = (name) => name.replace(/^leastwise-/, "");

/** The crates of the workspace, but the one at its root and the bindings, and which of them each needs. */
function crates() {
  const folders = ["src", "native_cuda"].flatMap((parent) => readdirSync(join(root, parent)).map((name) => join(root, parent, name)));
  const manifests = folders.map((folder) => join(folder, "Cargo.toml")).filter((path) => existsSync(path)).map((path) => readFileSync(path, "utf8"));
  const named = manifests.map((text) => ({ name: nameOf(/^name = "(.+)"/m.exec(text)[1]), needs: [...text.matchAll(/^(leastwise-[a-z]+|wgsl-cuda)\b/gm)].map(([, name]) => nameOf(name)) }));
  return named.filter(({ name }) => !["addon", "js"].includes(name));
}

test("a crate needs crates of lower layers alone", () => {
  const layer = (name) => LAYERS.findIndex((names) => names.includes(name));
  const found = crates();
  assert.deepEqual(found.map(({ name }) => name).sort(), LAYERS.flat().sort(), "every crate has its layer");
  assert.ok(found.some(({ needs }) => needs.length > 5), "what they need was read");
  for (const { name, needs } of found) {
    for (const needed of needs) assert.ok(layer(needed) < layer(name), `${name} needs ${needed}, which is not below it`);
  }
});

test("a crate says in its documentation what it is, with an example that compiles", () => {
  for (const { name } of crates()) {
    const folder = { cuda: "native_cuda/device", "wgsl-cuda": "native_cuda/writer/src" }[name] ?? `src/${name}`;
    const text = readFileSync(join(root, folder, "lib.rs"), "utf8");
    assert.match(text, /^\/\/! \S.{20,}\n/, folder);
    assert.match(text, /^\/\/! ```(no_run)?\n\/\/! use /m, `${folder} has no example`);
  }
});

/** What a module imports or passes on, without what is there for types alone. */
function imports(path) {
  const text = readFileSync(path, "utf8");
  const found = [...text.matchAll(/^(?:import|export)\s+(?!type\b)[^;"]*?from\s+"(\.[^"]+)"/gm)].map(([, from]) => resolve(dirname(path), from.replace(/\.js$/, ".ts")));
  return found.filter((imported) => existsSync(imported));
}

test("no module of the façade imports itself by way of others", () => {
  const source = join(root, "ts/src");
  const files = readdirSync(source, { recursive: true }).filter((name) => name.endsWith(".ts")).map((name) => join(source, name));
  const done = new Set();
  let edges = 0;
  function visit(path, way) {
    assert.ok(!way.includes(path), `a cycle: ${[...way.slice(way.indexOf(path)), path].map((file) => relative(source, file)).join(" → ")}`);
    if (done.has(path)) return;
    for (const imported of imports(path)) { edges += 1; visit(imported, [...way, path]); }
    done.add(path);
  }
  for (const file of files) visit(file, []);
  assert.ok(files.length > 50 && edges > 100, `${files.length} files, ${edges} imports`);
});
