// What a row was measured on.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";

const MIB = 2 ** 20;

function answer(command, ...args) {
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return undefined;
  }
}

/** Bytes of the last-level cache, and where that is known from. */
function lastLevelCache() {
  try {
    const folder = "/sys/devices/system/cpu/cpu0/cache";
    const read = (index, name) => readFileSync(`${folder}/${index}/${name}`, "utf8").trim();
    const caches = readdirSync(folder).filter((name) => name.startsWith("index"))
      .map((index) => ({ level: Number(read(index, "level")), bytes: Number.parseInt(read(index, "size"), 10) * 1024 }));
    const last = caches.sort((a, b) => b.level - a.level || b.bytes - a.bytes)[0];
    if (last?.bytes > 0) return { bytes: last.bytes, from: `/sys, level ${last.level}` };
  } catch { /* not Linux, or hidden by the hypervisor */ }
  const mac = Number(answer("sysctl", "-n", "hw.perflevel0.l2cachesize"));
  return mac > 0 ? { bytes: mac, from: "sysctl" } : { bytes: 32 * MIB, from: "a guess: the system does not tell" };
}

export function machine() {
  const head = answer("git", "rev-parse", "--short=12", "HEAD") ?? "unknown";
  const changed = answer("git", "status", "--porcelain", "--untracked-files=no");
  return {
    cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadAverage: loadavg()[0], lastLevelCache: lastLevelCache(), node: process.version, system: `${process.platform} ${process.arch}`,
    commit: changed ? `${head} + changes` : head, date: new Date().toISOString(),
  };
}

/** A program that pretends to be a GPU: a share of its bandwidth means nothing. */
export const isSoftware = (adapter) => /swiftshader|llvmpipe|lavapipe|basic render/i.test(adapter);
