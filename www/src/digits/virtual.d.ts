/** Made by `digits-plugin.mjs`: how many bytes of pixels each label has, and all of them, gzipped, in base64. */
declare module "virtual:digits" {
  export const lengths: readonly number[];
  export const packed: string;
}
