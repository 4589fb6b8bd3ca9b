// Which Vulkan device and which browser this machine's tests use.
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { capture, root } from "./run.mjs";

/** A GPU with a kernel driver. `LEASTWISE_GPU=software|hardware` overrides the look. */
export function hardwareGpu() {
  if (process.env.LEASTWISE_GPU) return process.env.LEASTWISE_GPU === "hardware";
  if (process.platform !== "linux") return true;
  const renderNodes = existsSync("/dev/dri") ? readdirSync("/dev/dri").filter((name) => name.startsWith("renderD")) : [];
  return renderNodes.length > 0 || existsSync("/dev/nvidia0") || existsSync("/dev/dxg");
}

/** The browser of the tests, or undefined. */
export function findChromium() {
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
  const onPath = names.map((name) => capture("which", [name]));
  const mac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";
  return [process.env.LEASTWISE_CHROMIUM, ...onPath, mac].find((path) => path && existsSync(path));
}

/** SwiftShader, the software Vulkan device that Chromium ships. */
export function findSwiftShader() {
  const browser = findChromium();
  const folders = [browser && dirname(realpathSync(browser)), "/usr/lib/chromium", "/opt/google/chrome"];
  return folders.filter(Boolean).map((folder) => join(folder, "vk_swiftshader_icd.json")).find(existsSync);
}

/** The Vulkan loader, which native wgpu and Dawn open at run time. */
export function hasVulkanLoader() {
  if (process.platform !== "linux") return true;
  const listed = capture("/sbin/ldconfig", ["-p"]) ?? "";
  return listed.includes("libvulkan.so.1");
}

/** What a process that uses WebGPU outside the browser needs in its environment. */
export function gpuEnvironment() {
  if (hardwareGpu() || process.env.VK_ICD_FILENAMES) return {};
  const icd = findSwiftShader();
  // SwiftShader wants a runtime folder, which containers and services often lack.
  return { ...(icd && { VK_ICD_FILENAMES: icd, VK_DRIVER_FILES: icd }), XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR || tmpdir() };
}

/** The same for tests: on a software device Dawn's binding leaves the cores to what is tested (`calm.mjs`). */
export function calmEnvironment() {
  const { NODE_OPTIONS } = process.env;
  return { ...gpuEnvironment(), ...(!hardwareGpu() && { NODE_OPTIONS: `${NODE_OPTIONS ? `${NODE_OPTIONS} ` : ""}--import=${pathToFileURL(join(root, "xtask/lib/calm.mjs"))}` }) };
}

/** What the browser tests need: the browser, and flags that give it a WebGPU adapter. */
export function browserEnvironment() {
  return { ...gpuEnvironment(), LEASTWISE_CHROMIUM: findChromium() ?? "", LEASTWISE_GPU: hardwareGpu() ? "hardware" : "software" };
}
