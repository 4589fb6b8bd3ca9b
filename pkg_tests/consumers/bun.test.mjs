// Bun: run, bundled, and compiled to one file; what leaves the package behind has the module in its JavaScript.
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { execute, project, solves, tool } from "./support.mjs";

const bun = tool("bun", "bin/bun.exe");

for (const file of ["main.mjs", "main.cjs", "threads.mjs"]) {
  test(`bun ${file}`, () => solves(bun, [file], { cwd: project("node", `bun-${file}`) }));
}

/** A file made by Bun, moved to where no package is. */
async function moved(t, folder, file) {
  const far = await mkdtemp(join(tmpdir(), "leastwise-consumer-"));
  t.after(() => rm(far, { recursive: true, force: true }));
  await rename(join(folder, file), join(far, "program"));
  return { far, program: join(far, "program") };
}

test("bun build --target bun", async (t) => {
  const folder = project("esbuild", "bun-build");
  await execute(bun, ["build", "--target", "bun", "--outdir", "out", "node.js", "node-inline.js"], { cwd: folder });
  await solves(bun, [join(folder, "out/node.js")], { cwd: folder });
  const { far } = await moved(t, folder, "out/node-inline.js");
  await solves(bun, ["run", "./program"], { cwd: far });
});

test("bun build --compile", async (t) => {
  const folder = project("esbuild", "bun-compile");
  await execute(bun, ["build", "--compile", "--outfile", "program", "node-inline.js"], { cwd: folder });
  const { far, program } = await moved(t, folder, process.platform === "win32" ? "program.exe" : "program");
  await solves(program, [], { cwd: far });
});
