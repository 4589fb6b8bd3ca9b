// The Rust side of the set-up: compiler, wasm32 target, the library's source.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { aptInstall, asRoot, hasApt } from "./apt.mjs";
import { capture, missing, root, run, StepError } from "./run.mjs";

const TARGET = "wasm32-unknown-unknown";
const RUSTUP = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";
const stateFile = join(root, "target/setup.json");

const readState = () => (existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, "utf8")) : {});
function remember(found) {
  mkdirSync(join(root, "target"), { recursive: true });
  writeFileSync(stateFile, `${JSON.stringify({ ...readState(), ...found }, null, 2)}\n`);
}

const atLeast = (version, wanted) => {
  const [a, b] = [version, wanted].map((v) => v.split(".").map((n) => Number.parseInt(n, 10)));
  return a[0] > b[0] || (a[0] === b[0] && a[1] >= b[1]);
};

const cargoToml = () => readFileSync(join(root, "Cargo.toml"), "utf8");
const rustVersionWanted = () => /^rust-version = "([\d.]+)"/m.exec(cargoToml())?.[1] ?? "1.95";

/** The compiler itself is the one thing that is not installed for the reader. */
export function checkCompiler() {
  const version = /^rustc (\d+\.\d+\.\d+)/.exec(capture("rustc", ["--version"]) ?? "")?.[1];
  if (!version || !capture("cargo", ["--version"])) throw missing("The Rust compiler (rustc and cargo) was not found on PATH.", RUSTUP, "and open a new shell");
  const wanted = rustVersionWanted();
  if (!atLeast(version, wanted)) throw missing(`Rust ${wanted} or newer is needed; this is ${version}.`, "rustup update stable");
  return `rustc ${version}`;
}

/** rustfmt and clippy, which only the tests need. */
export async function checkLints() {
  const absent = [["rustfmt", "fmt"], ["clippy", "clippy"]].filter(([, sub]) => !capture("cargo", [sub, "--version"])).map(([name]) => name);
  if (!absent.length) return "already there";
  const command = ["component", "add", ...absent];
  if (!capture("rustup", ["--version"])) throw missing(`${absent.join(" and ")} are missing, and there is no rustup to fetch them.`, RUSTUP);
  await run(`rustup ${command.join(" ")}`, "rustup", command, { timeoutMs: 180_000 });
  return `added ${absent.join(", ")}`;
}

// ── the wasm32 target ──

/** Compiles and links a function for wasm: true only when compiler, library and linker fit together. */
function compilesWasm(env) {
  const folder = mkdtempSync(join(tmpdir(), "leastwise-probe-"));
  try {
    const source = join(folder, "probe.rs");
    writeFileSync(source, `#[unsafe(no_mangle)] pub extern "C" fn probe() -> usize { vec![1u8; 3].len() }\n`);
    const args = ["--edition", "2024", "--target", TARGET, "--crate-type", "cdylib", "-C", "panic=abort", "-o", join(folder, "probe.wasm"), source];
    return capture("rustc", args, { env, stdio: ["ignore", "pipe", "ignore"] }) !== undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const environments = { active: {}, debian: { RUSTUP_TOOLCHAIN: "debian" } };

/** The environment in which cargo finds the wasm32 target; `setup` has written down which way it took. */
export const wasmEnvironment = () => environments[readState().wasmTarget ?? "active"];

/** Whether the toolchain that has the wasm32 target is the one that clippy comes with. */
export const hasClippyForWasm = () => readState().wasmTarget !== "debian";

/** `way`: "auto" tries rustup first; "debian" goes straight to the packages (to try that way on any machine). */
export async function wasmTarget(way = "auto") {
  const hasRustup = capture("rustup", ["--version"]) !== undefined;
  const debianThere = () => hasRustup && (capture("rustup", ["toolchain", "list"]) ?? "").includes("debian") && compilesWasm(environments.debian);
  if (way === "auto" && compilesWasm(environments.active)) {
    remember({ wasmTarget: "active" });
    return `already there (${hasRustup ? "rustup" : "came with the compiler"})`;
  }
  if (debianThere()) {
    remember({ wasmTarget: "debian" });
    return "already there (Debian packages)";
  }
  if (!hasRustup) throw missing(`This Rust has no ${TARGET} target, and there is no rustup to add it.`, RUSTUP, `rustup target add ${TARGET}`);

  let rustupError;
  if (way === "auto") {
    try {
      await run(`rustup target add ${TARGET}`, "rustup", ["target", "add", TARGET], { timeoutMs: 120_000 });
      if (compilesWasm(environments.active)) {
        remember({ wasmTarget: "active" });
        return "added (rustup)";
      }
      rustupError = new StepError("rustup added the target, but a test program does not compile for it.");
    } catch (error) {
      rustupError = error;
    }
  }
  if (!hasApt()) throw missing(`${rustupError?.message ?? ""}\nrustup could not add the ${TARGET} target, and this is no Debian with packages for it.`, `rustup target add ${TARGET}`);
  if (rustupError) console.log("  rustup could not add the target here: taking Debian's compiler and building the library");
  await debianTarget();
  if (!debianThere()) throw missing(`Debian's compiler still does not build for ${TARGET}.`, `rustup target add ${TARGET}`);
  remember({ wasmTarget: "debian" });
  return "built (Debian packages)";
}

// Debian ships the compiler and the library's source, but not the library built for plain wasm32: build it once.
async function debianTarget() {
  const wanted = rustVersionWanted();
  await aptInstall(["rustc-web", "cargo-web", "rust-web-src", "lld-22"], (version) => atLeast(version.replace(/^\d+:/, ""), wanted));
  const folder = mkdtempSync(join(tmpdir(), "leastwise-std-"));
  try {
    mkdirSync(join(folder, "src"));
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "Cargo.toml"), `[package]\nname = "std-for-wasm"\nversion = "0.0.0"\nedition = "2021"\n[lib]\ncrate-type = ["cdylib"]\n`);
    writeFileSync(join(folder, "src/lib.rs"), "");
    symlinkSync("/usr/bin/lld-22", join(folder, "bin/rust-lld"));     // lld acts by the name that it is called by
    await run("building the standard library for wasm32", "/usr/bin/cargo",
      ["build", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET], {
        cwd: folder,
        env: {
          PATH: "/usr/bin:/bin", RUSTC_BOOTSTRAP: "1", RUSTFLAGS: "", RUSTUP_TOOLCHAIN: "", CARGO_TARGET_DIR: join(folder, "target"),
          CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER: join(folder, "bin/rust-lld"),
        },
      });
    const built = join(folder, `target/${TARGET}/release/deps`);
    const staged = join(folder, "lib");
    mkdirSync(staged);
    for (const name of readdirSync(built)) {
      if (name.endsWith(".rlib") && !name.startsWith("libstd_for_wasm")) cpSync(join(built, name), join(staged, name));
    }
    const library = `/usr/lib/rustlib/${TARGET}/lib`;
    const linkers = "/usr/lib/rustlib/x86_64-unknown-linux-gnu/bin";
    // Emptied first: a library of an earlier compiler beside the new one is an error ("multiple candidates").
    await asRoot("installing the wasm32 library", "sh", ["-c",
      `rm -rf ${library} && mkdir -p ${library} ${linkers} && cp ${staged}/*.rlib ${library}/ && ln -sf /usr/bin/lld-22 ${linkers}/rust-lld`]);
    await run("rustup toolchain link debian", "rustup", ["toolchain", "link", "debian", "/usr"]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// ── the library's source ──

// Of the module with threads the standard library is compiled too, with atomics, since the one that comes with the target takes
// it that there is one thread: its allocator would lock nothing. That needs its source, and leave to use what is not stable.
const sourceOf = (env) => {
  const folder = sysroot(env);
  return folder !== undefined && existsSync(join(folder, "lib/rustlib/src/rust/library/Cargo.lock"));
};

/** Where a compiler and its library are. Where the library's source is there, panic messages name its files by this folder. */
export const sysroot = (env) => capture("rustc", ["--print", "sysroot"], { env });

/** The environment in which cargo compiles the standard library for wasm32; `setup` has written down whose source it is. */
export const libraryEnvironment = () => ({ ...environments[readState().librarySource ?? readState().wasmTarget ?? "active"], RUSTC_BOOTSTRAP: "1" });

/** The source of the standard library, of the compiler that has the wasm32 target where possible. */
export async function librarySource() {
  const chosen = readState().wasmTarget ?? "active";
  const done = (toolchain, how) => {
    remember({ librarySource: toolchain });
    return how;
  };
  if (sourceOf(environments[chosen])) return done(chosen, `already there (${chosen === "debian" ? "Debian packages" : "rustup"})`);
  let rustupError;
  if (chosen === "active" && capture("rustup", ["--version"])) {
    try {
      await run("rustup component add rust-src", "rustup", ["component", "add", "rust-src"], { timeoutMs: 180_000 });
      if (sourceOf(environments.active)) return done("active", "added (rustup)");
    } catch (error) {
      rustupError = error;
    }
  }
  if (!hasApt()) throw missing(`${rustupError?.message ?? ""}\nThe source of the Rust standard library is not there; the module with threads is built with it.`, "rustup component add rust-src");
  if (rustupError) console.log("  rustup could not add the source here: taking Debian's compiler for the module with threads");
  if (!sourceOf(environments.debian)) await debianTarget();
  if (!sourceOf(environments.debian)) throw missing("Debian's compiler has no source of its library either.", "rustup component add rust-src");
  return done("debian", "installed (Debian packages)");
}
