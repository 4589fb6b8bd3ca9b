// `npm run setup`: everything that building, the demo and the tests need, each step free when it is done already.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { aptInstall } from "./lib/apt.mjs";
import { installHosts } from "./lib/consumers.mjs";
import { findChromium, findSwiftShader, gpuEnvironment, hardwareGpu, hasVulkanLoader } from "./lib/gpu.mjs";
import { capture, entry, missing, root, run, seconds, step } from "./lib/run.mjs";
import { checkCompiler, checkLints, librarySource, wasmTarget } from "./lib/rust.mjs";
import { installTool } from "./lib/wasm-tools.mjs";

function checkNode() {
  if (Number.parseInt(process.versions.node, 10) < 20) throw missing(`Node 20 or newer is needed; this is ${process.versions.node}.`, "see https://nodejs.org/en/download");
  return process.version;
}

// Rust's build scripts and macros are linked by the system's C compiler.
async function checkLinker() {
  if (process.platform === "win32") return "not looked for on Windows";
  if (capture("cc", ["--version"])) return "already there";
  return aptInstall(["gcc", "libc6-dev"]);
}

// The text of CUDA kernels is compiled for the host, and run there, by tests.
async function checkCxx() {
  if (process.platform === "win32") return "not looked for on Windows";
  const compiler = process.env.CXX ?? "g++";
  if (capture(compiler, ["--version"])) return `${compiler}, already there`;
  if (process.env.CXX) throw missing(`CXX names ${compiler}, which doesn't run.`, "set it to a C++ compiler, or unset it");
  return aptInstall(["g++"]);
}

async function npmPackages() {
  const lock = join(root, "package-lock.json");
  const installed = join(root, "node_modules/.package-lock.json");
  if (existsSync(installed) && existsSync(lock) && statSync(lock).mtimeMs <= statSync(installed).mtimeMs) return "already installed";
  const command = existsSync(lock) ? "ci" : "install";
  await run(`npm ${command}`, "npm", [command, "--no-audit", "--no-fund"]);
  return `installed (npm ${command})`;
}

async function browser(needed) {
  if (findChromium()) return findChromium();
  if (!needed) return "not needed: there is a GPU";
  await aptInstall(["chromium"]);
  if (!findChromium()) throw missing("No Chromium or Chrome was found.", "install one, and set LEASTWISE_CHROMIUM to its path when it is in an unusual place");
  return `${findChromium()}, installed`;
}

async function vulkan() {
  if (process.platform !== "linux") return "not needed on this system";
  const loader = hasVulkanLoader() ? "" : await aptInstall(["libvulkan1"]);
  if (hardwareGpu()) return ["this machine's GPU", loader].filter(Boolean).join("; ");
  if (!findSwiftShader() && !process.env.VK_ICD_FILENAMES) throw missing("There is no GPU, and the browser brings no software Vulkan device (vk_swiftshader_icd.json).",
    "sudo apt-get install chromium");
  return [`software, ${gpuEnvironment().VK_ICD_FILENAMES ?? process.env.VK_ICD_FILENAMES}`, loader].filter(Boolean).join("; ");
}

/** The adapter that Dawn gives Node here, by name. */
function adapterName() {
  const probe = `import { create, globals } from "webgpu"; Object.assign(globalThis, globals); const gpu = create([]);
    const found = await gpu.requestAdapter(); if (!found) process.exit(3);
    console.log([found.info.vendor, found.info.architecture, found.info.description].filter(Boolean).join(" / ")); process.exit(0);`;
  return capture(process.execPath, ["--input-type=module", "-e", probe], { cwd: root, env: gpuEnvironment() });
}

// The proof that all of it works together. A GPU without a usable Vulkan driver is common in virtual machines and containers.
async function adapter() {
  const name = adapterName();
  if (name !== undefined) return name;
  if (hardwareGpu() && !process.env.LEASTWISE_GPU) {
    process.env.LEASTWISE_GPU = "software";           // for this process and all that it starts
    await browser(true);
    await vulkan();
    const software = adapterName();
    if (software !== undefined) return `${software} (this machine's GPU gives no adapter)`;
  }
  throw missing("Node finds no WebGPU adapter, although a Vulkan device is set up.", "LEASTWISE_GPU=software npm run setup   # to leave this machine's GPU alone");
}

/** `forTests` adds what only `npm test` needs: the browser even where there is a GPU, the lints, and the hosts of the consumers: with `full` all of them. */
export async function setup({ forTests = true, full = false, wasm = "auto" } = {}) {
  const started = performance.now();
  await step("Node", checkNode);
  await step("Rust", checkCompiler);
  await step("C compiler", checkLinker);
  await step("wasm32 target", () => wasmTarget(wasm));
  await step("library source", librarySource);
  if (forTests) await step("C++ compiler", checkCxx);
  if (forTests) await step("rustfmt and clippy", checkLints);
  await step("browser", () => browser(forTests || !hardwareGpu()));
  await step("Vulkan", vulkan);
  await step("npm packages", npmPackages);
  if (forTests) await installHosts(full);
  await step("WebGPU in Node", adapter);
  for (const name of ["wasm-bindgen", "wasm-pack"]) await step(name, () => installTool(name));
  console.log(`Set up in ${seconds(started)}.`);
}

await entry(import.meta, () => setup({ wasm: process.argv.includes("--wasm=debian") ? "debian" : "auto" }));
