// wasm-pack, which makes the modules, and wasm-bindgen, which it calls: prebuilt where they can be fetched, else built from crates.io.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { capture, missing, root, run, StepError } from "./run.mjs";

/** wasm-bindgen writes the glue for exactly one version of the crate: the locked one. */
function bindgenWanted() {
  const locked = /name = "wasm-bindgen"\nversion = "([^"]+)"/.exec(readFileSync(join(root, "Cargo.lock"), "utf8"))?.[1];
  if (!locked) throw new StepError("Cargo.lock does not say which version of wasm-bindgen is used.");
  return locked;
}

const TOOLS = {
  "wasm-bindgen": {
    version: bindgenWanted, crate: "wasm-bindgen-cli", takes: "about 5 minutes",
    archive: (version, target) => `https://github.com/wasm-bindgen/wasm-bindgen/releases/download/${version}/wasm-bindgen-${version}-${target}.tar.gz`,
    // Not --locked: the published lock file names a version that was since withdrawn.
    flags: [], env: {},
  },
  "wasm-pack": {
    version: () => "0.15.1", crate: "wasm-pack", takes: "about 2 minutes",
    archive: (version, target) => `https://github.com/wasm-bindgen/wasm-pack/releases/download/v${version}/wasm-pack-v${version}-${target}.tar.gz`,
    // It starts other programs: its own speed is none of a build's.
    flags: ["--locked"], env: { CARGO_PROFILE_RELEASE_OPT_LEVEL: "0", CARGO_PROFILE_RELEASE_LTO: "false" },
  },
};

// The user's, not the checkout's: every clone wants the same.
const folderOf = (name) => join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), `leastwise/${name}-${TOOLS[name].version()}`);

/** The program to call, or undefined if none of the right version is there. */
function findTool(name) {
  const wanted = `${name} ${TOOLS[name].version()}`;
  return [join(folderOf(name), "bin", name), name].find((program) => capture(program, ["--version"]) === wanted);
}

/** The platform's name in names of releases; undefined where there are none. */
const releaseTarget = () => ({
  "linux x64": "x86_64-unknown-linux-musl", "linux arm64": "aarch64-unknown-linux-musl", "darwin x64": "x86_64-apple-darwin", "darwin arm64": "aarch64-apple-darwin", "win32 x64": "x86_64-pc-windows-msvc",
})[`${process.platform} ${process.arch}`];

/** Seconds for a release's address to answer, and for all of the file. */
const ANSWER = 10, WHOLE = 120;

/** Puts a release's program in its place. Throws if it is not there, does not come in time, or does not run. */
async function fetchRelease(name) {
  const { version, archive } = TOOLS[name], target = releaseTarget();
  if (!target) throw new Error(`there is none for ${process.platform} on ${process.arch}`);
  const stopped = new AbortController();
  let timer = setTimeout(() => stopped.abort(new Error(`no answer in ${ANSWER} s`)), 1000 * ANSWER);
  try {
    const answer = await fetch(archive(version(), target), { signal: stopped.signal });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    clearTimeout(timer);
    timer = setTimeout(() => stopped.abort(new Error(`not here after ${WHOLE} s`)), 1000 * WHOLE);
    const folder = folderOf(name), unpacked = join(folder, "release"), file = `${name}${process.platform === "win32" ? ".exe" : ""}`;
    mkdirSync(unpacked, { recursive: true });
    writeFileSync(join(unpacked, "release.tar.gz"), Buffer.from(await answer.arrayBuffer()));
    if (capture("tar", ["-xzf", "release.tar.gz", "--strip-components=1"], { cwd: unpacked }) === undefined) throw new Error("tar does not unpack it");
    const program = join(folder, "bin", file);
    mkdirSync(dirname(program), { recursive: true });
    copyFileSync(join(unpacked, file), program);
    chmodSync(program, 0o755);
    rmSync(unpacked, { recursive: true, force: true });
    if (!findTool(name)) throw new Error("it does not run here");
  } finally {
    clearTimeout(timer);
  }
}

/** A step of the set-up. */
export async function installTool(name) {
  const { version, crate, takes, flags, env } = TOOLS[name];
  if (findTool(name)) return `${version()}, already there`;
  try {
    await fetchRelease(name);
    return `${version()}, fetched`;
  } catch (error) {
    console.log(`  no prebuilt ${name} ${version()} (${error.cause?.message ?? error.message}): building it from crates.io, ${takes}`);
  }
  const folder = folderOf(name), build = join(folder, "build");       // kept until it is done, so that an interrupted build goes on where it stopped
  await run(`building ${name} ${version()}`, "cargo",
    ["install", crate, "--version", version(), "--root", folder, "--force", ...flags], { env: { CARGO_TARGET_DIR: build, RUSTFLAGS: "", ...env } });
  rmSync(build, { recursive: true, force: true });
  if (!findTool(name)) throw missing(`${name} ${version()} was built but does not run.`, `cargo install ${crate} --version ${version()}`);
  return `${version()}, built`;
}

/** wasm-pack, and folders of programs that it looks for on PATH. */
export function wasmTools() {
  const [wasmPack, bindgen] = ["wasm-pack", "wasm-bindgen"].map((name) => {
    const program = findTool(name);
    if (!program) throw new StepError(`${name} ${TOOLS[name].version()} is not installed.\n    npm run setup`);
    return program;
  });
  return { wasmPack, folders: existsSync(bindgen) ? [dirname(bindgen)] : [] };
}
