/** Types of the host's classes. */

/**
 * Instances of a class of the host, by its name; `Else` where the user's libraries don't declare it, so that programs without a browser's
 * types and without Node's compile all the same.
 */
export type Host<Name extends string, Else = never> = typeof globalThis extends { readonly [name in Name]: { readonly prototype: infer Instance } } ? Instance : Else;

/** A `ReadableStream` of bytes. */
export type ByteStream = Host<"ReadableStream"> & { getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }> } };
