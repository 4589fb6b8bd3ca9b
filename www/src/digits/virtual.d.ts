/** Made by `digits-plugin.mjs`: how many bytes of pixels each label has, and the address of all of them, gzipped. */
declare module "virtual:digits" {
  export const lengths: readonly number[];
  export const address: string;
}
