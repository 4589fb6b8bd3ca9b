// The hosts in which pkg_tests/consumers tries the packed package: bundlers, runtimes, test runners and package managers, in the versions of one
// manifest, installed once.
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { root, run } from "./run.mjs";
import { hashOf, stage, upToDate } from "./stamps.mjs";

const sources = "pkg_tests/consumers";
export const consumersFolder = "target/consumers";

/** What takes long to install or to run, or is there for few systems: in full. */
const FULL = ["bun.test.mjs", "deno.test.mjs", "next.test.mjs", "workerd.test.mjs"];

/** The names of the tests. */
export const consumerFiles = (full) => readdirSync(join(root, sources)).filter((name) => name.endsWith(".test.mjs") && (full || !FULL.includes(name))).sort();

const hostsOf = (full) => [`${full ? "all" : "quick"} hosts of the consumers`,
  { key: hashOf([`${sources}/package.json`, `${sources}/package-lock.json`]), outputs: [`${consumersFolder}/node_modules/.package-lock.json`] }];

/** Installs the hosts: the manifest's dependencies, and with `full` what it has for development. A host that has no build for this machine fails where it is used. */
export async function installHosts(full) {
  // All hosts are the quick ones as well.
  if (!full && upToDate(...hostsOf(true))) return;
  await stage(...hostsOf(full), async () => {
    const folder = join(root, consumersFolder);
    mkdirSync(folder, { recursive: true });
    for (const name of ["package.json", "package-lock.json"]) cpSync(join(root, sources, name), join(folder, name));
    await run(`npm ci in ${consumersFolder}`, "npm", ["ci", ...(full ? [] : ["--omit=dev"]), "--no-audit", "--no-fund", "--prefer-offline"], { cwd: folder });
    return `${readdirSync(join(folder, "node_modules")).length} packages`;
  });
}

/** Installs the tarball as a user does, into the project of which every consumer gets a copy, and copies the consumers. */
export async function installPackage(tarball) {
  const folder = join(root, consumersFolder), packed = join(folder, "packed");
  await stage("packed package for the consumers", { key: hashOf([relative(root, tarball)]), outputs: [`${consumersFolder}/packed/node_modules/leastwise/package.json`] }, async () => {
    rmSync(packed, { recursive: true, force: true });
    mkdirSync(packed, { recursive: true });
    writeFileSync(join(packed, "package.json"), `${JSON.stringify({ name: "packed", private: true })}\n`);
    await run(`npm install in ${consumersFolder}/packed`, "npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: packed });
    return `${basename(tarball)} installed`;
  });
  // Vite's development server keeps a package by its version, which stays the same here.
  rmSync(join(folder, "node_modules/.vite"), { recursive: true, force: true });
  // Afresh every time: a file that was deleted since must not go on being run.
  rmSync(join(folder, "consumers"), { recursive: true, force: true });
  cpSync(join(root, sources), join(folder, "consumers"), { recursive: true });
}
