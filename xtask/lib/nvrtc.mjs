// NVRTC, for the kernels that leastwise-cuda carries compiled: NVIDIA's package for Python, which is a folder of libraries. Of CUDA 12, so
// that drivers of CUDA 12 take what it makes, and new enough for all generations of GPUs that are packed for.
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aptInstall } from "./apt.mjs";
import { capture, missing, root, run, StepError } from "./run.mjs";

const PACKAGE = "nvidia-cuda-nvrtc-cu12==12.9.86";
const HASH = "sha256:210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4";

const folder = join(root, "target/nvrtc", PACKAGE);
const libraries = join(folder, "nvidia/cuda_nvrtc/lib");
/** The name that is looked for first; a toolkit of this machine may have it, too. */
const link = join(libraries, "libnvrtc.so");

/** The folder of its libraries: that which `LEASTWISE_NVRTC` names, or one that pip fills. */
export async function nvrtcFolder() {
  const given = process.env.LEASTWISE_NVRTC;
  if (given) {
    if (!existsSync(given)) throw missing(`LEASTWISE_NVRTC names ${given}, which is not there.`);
    return given;
  }
  if (existsSync(link)) return libraries;
  if (capture("python3", ["-m", "pip", "--version"]) === undefined) await aptInstall(["python3-pip"]);
  // Part of it may be there, of a run that was interrupted.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const list = join(folder, "requirements.txt");
  writeFileSync(list, `${PACKAGE} --hash=${HASH}\n`);
  await run(`pip install ${PACKAGE}`, "python3",
    ["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", folder, "--requirement", list],
    { env: { PIP_ROOT_USER_ACTION: "ignore" } });
  symlinkSync("libnvrtc.so.12", link);
  if (!existsSync(link)) throw new StepError(`${PACKAGE} has no ${join(libraries, "libnvrtc.so.12")}.`);
  return libraries;
}
