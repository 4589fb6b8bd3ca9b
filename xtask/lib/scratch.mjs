// A project of its own that installs the packed tarball, as a user's would.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { hashOf, stage } from "./stamps.mjs";
import { root, run } from "./run.mjs";

const versions = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies;

/**
 * Makes `target/<name>`: a fresh package.json with the tarball, the addon's where there is one, and `packages` (in the versions of the
 * root's package.json), installed, with copies of the folder `sources`, and of what several of them share: examples/ and the documents. Returns the path of the first.
 */
export async function scratchProject(name, { tarball, addon, packages, sources }) {
  const folder = join(root, "target", name);
  const manifest = {
    name: `leastwise-${name}`, private: true, type: "module",
    dependencies: {
      leastwise: `file:${relative(folder, tarball)}`, ...(addon && { "leastwise-cuda": `file:${relative(folder, addon)}` }),
      ...Object.fromEntries(packages.map((p) => [p, versions[p]])),
    },
  };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  const installed = join("target", name, "node_modules/.package-lock.json");
  await stage(`scratch project target/${name}`, { key: hashOf([tarball, addon].filter(Boolean).map((path) => relative(root, path)), text), outputs: [installed] }, async () => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), text);
    await run(`npm install in target/${name}`, "npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: folder });
    return `${basename(tarball)} installed`;
  });
  // Afresh every time: a file that was deleted since must not go on being run.
  const copies = [sources, "examples", "docs", "README.md"].map((name) => {
    const copy = join(folder, basename(name));
    rmSync(copy, { recursive: true, force: true });
    cpSync(join(root, name), copy, { recursive: true, filter: (path) => basename(path) !== "node_modules" });
    return copy;
  });
  return copies[0];
}
