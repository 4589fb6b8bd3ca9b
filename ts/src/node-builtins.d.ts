// The little of Node that its entry needs: with all of Node's types, code for pages could use what pages do not have.
declare module "node:fs" {
  export function existsSync(path: string): boolean;
  export function readFileSync(path: string): Uint8Array<ArrayBuffer>;
}
declare module "node:fs/promises" {
  export function readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
}
declare module "node:module" {
  export function createRequire(from: string): { resolve(name: string): string };
}
declare module "node:path" {
  export function dirname(path: string): string;
  export function join(...parts: string[]): string;
}
declare module "node:process" {
  export function cwd(): string;
}
declare module "node:url" {
  export function fileURLToPath(url: string): string;
  export function pathToFileURL(path: string): URL;
}
