// Debian packages: only looked at where they are needed, and the lists are only refreshed when they must be.
import { existsSync } from "node:fs";
import { capture, missing, run } from "./run.mjs";

const apt = ["-o", "DPkg::Lock::Timeout=300"];
const quiet = { DEBIAN_FRONTEND: "noninteractive" };

export const hasApt = () => existsSync("/usr/bin/apt-get");

/** `prefix` is what goes before a command that needs root: nothing, or sudo where it asks for no password. */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  return capture("sudo", ["-n", "true"]) === undefined ? undefined : ["sudo", "-n"];
}

/** Runs a command as root, or says which command the reader should run. */
export async function asRoot(label, command, args) {
  const prefix = rootPrefix();
  const line = [command, ...args].join(" ");
  if (!prefix) throw missing(`${label} needs root, and sudo asks for a password here.`, `sudo ${line}`);
  const [program, ...rest] = [...prefix, command, ...args];
  return run(label, program, rest, { env: quiet });
}

const installed = (name) => capture("dpkg-query", ["-W", "-f=${Status}", name])?.endsWith("ok installed") ?? false;
const candidate = (name) => /Candidate: (?!\(none\))(\S+)/.exec(capture("apt-cache", ["policy", name]) ?? "")?.[1];

/** Installs what is missing of `names`. `fits(version)` may refuse a candidate of the first one as too old. */
export async function aptInstall(names, fits = () => true) {
  const wanted = names.filter((name) => !installed(name));
  if (!wanted.length && fits(candidate(names[0]) ?? "")) return "already installed";
  const install = ["apt-get", ...apt, "install", "-y", "--no-install-recommends", ...names];
  if (!hasApt()) throw missing(`The packages ${wanted.join(", ")} are missing, and this is not a Debian-like system.`);
  if (!rootPrefix()) throw missing(`The Debian packages ${wanted.join(", ")} are missing, and sudo asks for a password here.`,
    "sudo apt-get update", `sudo ${["apt-get", ...install.slice(1 + apt.length)].join(" ")}`);

  const usable = () => wanted.every((name) => candidate(name)) && fits(candidate(names[0]) ?? "");
  const update = () => asRoot("apt-get update", "apt-get", [...apt, "update"]);
  let fresh = false;
  if (!usable()) { await update(); fresh = true; }
  if (!usable()) throw missing(`The package lists of this machine have no suitable ${names[0]} (found: ${candidate(names[0]) ?? "none"}).`);
  const attempt = () => asRoot(`apt-get install ${wanted.join(" ")}`, install[0], install.slice(1));
  try {
    await attempt();
  } catch (error) {
    if (fresh) throw error;
    await update();                       // lists that are months old name files that the mirror no longer has
    await attempt();
  }
  return `installed ${wanted.join(", ") || names.join(", ")}`;
}
