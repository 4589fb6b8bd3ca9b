/**
 * Small texts that are kept between runs: in the browser's storage, and in Node in a folder, as the addon keeps its kernels. Where neither can be had, nothing is kept.
 * Anybody may have written what comes back: whoever reads it has to check it.
 */

interface Files {
  mkdir(path: string, options: object): Promise<unknown>;
  readFile(path: string, encoding: string): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  writeFile(path: string, text: string): Promise<void>;
}
interface Process { readonly pid: number; readonly versions?: { readonly node?: string }; readonly env: Readonly<Record<string, string | undefined>> }
interface Storage { getItem(key: string): string | null; setItem(key: string, text: string): void }

const inNode = (): Process | undefined => {
  const { process } = globalThis as { process?: Process };
  return process?.versions?.node ? process : undefined;
};

/** `LEASTWISE_CACHE`, or a folder of the user's caches. */
function folderOf({ env }: Process): string | undefined {
  if (env.LEASTWISE_CACHE) return env.LEASTWISE_CACHE;
  const caches = env.XDG_CACHE_HOME || (env.HOME && `${env.HOME}/.cache`);
  return caches ? `${caches}/leastwise/tensors` : undefined;
}

async function files(): Promise<Files> {
  // The name in a variable keeps bundlers from looking for the module.
  const name = "node:fs/promises";
  return (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as Files;
}

const storage = (): Storage | undefined => (globalThis as { localStorage?: Storage }).localStorage;

/** What was kept by a name, and where; nothing where it can't be read. @internal */
export async function recall(name: string): Promise<{ text: string; where: string } | undefined> {
  try {
    const process = inNode();
    if (!process) {
      const text = storage()?.getItem(`leastwise/${name}`);
      return typeof text === "string" ? { text, where: "the browser's storage" } : undefined;
    }
    const where = `${folderOf(process)}/${name}.json`;
    return { text: await (await files()).readFile(where, "utf8"), where };
  } catch {
    return undefined;
  }
}

/** Keeps a text by a name; says where, or why it is not kept. @internal */
export async function keep(name: string, text: string): Promise<string> {
  try {
    const process = inNode();
    if (!process) {
      const found = storage();
      if (!found) return "not kept: there is no storage here";
      found.setItem(`leastwise/${name}`, text);
      return "kept in the browser's storage";
    }
    const folder = folderOf(process);
    if (!folder) return "not kept: neither LEASTWISE_CACHE nor HOME names a folder";
    const { mkdir, rename, writeFile } = await files();
    const path = `${folder}/${name}.json`, draft = `${path}.${process.pid}`;
    await mkdir(folder, { recursive: true });
    // Another process may be reading.
    await writeFile(draft, text);
    await rename(draft, path);
    return `kept in ${path}`;
  } catch (thrown) {
    return `not kept: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}
