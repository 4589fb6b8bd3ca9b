// NVRTC, for the kernels that leastwise-cuda carries compiled: NVIDIA's package for Python, which is a folder of libraries. Of CUDA 12, so
// that drivers of CUDA 12 take what it makes, and new enough for all generations of GPUs that are packed for.
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aptInstall } from "./apt.mjs";
import { capture, missing, root, run, StepError } from "./run.mjs";

const PACKAGE = "nvidia-cuda-nvrtc-cu12==12.9.86";
const HASH = "sha256:210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4";

const folder = join(root, "target/nvrtc", PACKAGE);
const libraries = join(folder, "nvidia/cuda_nvrtc/lib");
const library = join(libraries, "libnvrtc.so.12");
/** The name that is looked for first; a toolkit of this machine may have it, too. */
const link = join(libraries, "libnvrtc.so");

/** The folder of its libraries: that which `LEASTWISE_NVRTC` names, with a libnvrtc.so, or one that pip fills. */
export async function nvrtcFolder() {
  const given = process.env.LEASTWISE_NVRTC;
  if (given) {
    if (!existsSync(join(given, "libnvrtc.so"))) throw missing(`LEASTWISE_NVRTC names ${given}, which has no libnvrtc.so.`);
    return given;
  }
  if (!existsSync(library)) await install();
  if (!existsSync(link)) symlinkSync("libnvrtc.so.12", link);
  return libraries;
}

async function install() {
  if (capture("python3", ["-m", "pip", "--version"]) === undefined) await aptInstall(["python3-pip"]);
  // Under another name until it is whole.
  const partial = `${folder}.partial`, list = join(partial, "requirements.txt");
  for (const path of [partial, folder]) rmSync(path, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  writeFileSync(list, `${PACKAGE} --hash=${HASH}\n`);
  await run(`pip install ${PACKAGE}`, "python3",
    ["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", partial, "--requirement", list],
    { env: { PIP_ROOT_USER_ACTION: "ignore" } });
  renameSync(partial, folder);
  if (!existsSync(library)) throw new StepError(`${PACKAGE} has no ${library}.`);
}
