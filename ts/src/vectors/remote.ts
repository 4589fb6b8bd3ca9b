/** Files behind HTTP, by ranges of their bytes. */
import { joinedBytes } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import type { Host } from "../host.js";
import { checked, flag, given } from "../options.js";
import type { RandomAccess } from "./source.js";

/**
 * How a file is fetched.
 *
 * @example
 * const options: RemoteOptions = { headers: { authorization: "Bearer …" } };
 */
export interface RemoteOptions {
  /** Headers of every request, beside `Range`. @defaultValue none */
  readonly headers?: { readonly [name: string]: string };
  /** Function that fetches. @defaultValue `fetch` */
  readonly fetch?: (url: string, init: { headers: { [name: string]: string } }) => Promise<RemoteResponse>;
  /** Reads all of the file where a server gives no ranges, instead of refusing it. @defaultValue false */
  readonly orWhole?: boolean;
}

/**
 * What a fetch comes to, as far as it is looked at: a `Response`.
 *
 * @example
 * const response: RemoteResponse = await fetch("/index.lwi");
 */
export interface RemoteResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: { getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>; cancel(reason?: unknown): Promise<void> } } | null;
}

/**
 * A file behind HTTP.
 *
 * @example
 * const file: RemoteFile = await remoteFile("https://example.org/index.lwi");
 */
export interface RemoteFile extends RandomAccess {
  /** True if the server gave no ranges, and all of the file is in memory. */
  readonly isWhole: boolean;
}

const OPTIONS = { headers: given<RemoteOptions["headers"]>(), fetch: given<RemoteOptions["fetch"]>(), orWhole: flag } as const;
const refused = (url: string, why: string) => new LeastwiseError("load", `${url} can't be read by ranges: ${why}`);

/**
 * A file behind HTTP, read by `Range` requests. One request finds its size. A server that ignores ranges is refused, or with `orWhole` read whole.
 * Every answer is held to what was asked for, and to the `ETag` and `Last-Modified` of the first, so that a file that is exchanged meanwhile is noticed.
 *
 * @throws `load` where the server gives no ranges, another status, other bytes, or another file than before; `invalid-option` for what is no address
 * @example
 * const index = await openLazily(lw, await remoteFile("https://example.org/index.lwi"));
 */
export async function remoteFile(url: string | Host<"URL">, options: RemoteOptions = {}): Promise<RemoteFile> {
  const { headers = {}, fetch: own, orWhole = false } = checked("remoteFile(url, options): options", options, OPTIONS);
  if (typeof url !== "string" && !(url instanceof URL)) throw new LeastwiseError("invalid-option", `remoteFile(url): url must be a string or a URL, not ${describe(url)}`);
  const at = String(url), get = own ?? (fetch as NonNullable<RemoteOptions["fetch"]>);
  const request = async (range: string) => {
    try {
      return await get(at, { headers: { ...headers, Range: range } });
    } catch (thrown) {
      throw new LeastwiseError("load", `${at} could not be fetched: ${thrown instanceof Error ? thrown.message : String(thrown)}`, { cause: thrown });
    }
  };
  const first = await request("bytes=0-0");
  if (first.status === 200) {
    if (!orWhole) {
      await first.body?.getReader().cancel();
      throw refused(at, "the server ignores the header Range and sends all of the file. Serve it with ranges, or ask for { orWhole: true }");
    }
    const bytes = await bodyOf(at, first, Infinity);
    return { size: bytes.length, isWhole: true, read: async (offset, length) => bytes.subarray(offset, offset + length) };
  }
  // An empty file has no first byte.
  if (first.status === 416 && rangeOf(first)?.size === 0) return { size: 0, isWhole: false, read: async () => new Uint8Array(0) };
  const range = rangeOf(first), mark = markOf(first);
  if (first.status !== 206 || range?.size === undefined) {
    await first.body?.getReader().cancel();
    throw refused(at, first.status === 206 ? "its answer does not say how large the file is (Content-Range)" : `the server answered with status ${first.status}`);
  }
  await bodyOf(at, first, 1);
  const { size } = range;
  return {
    size,
    isWhole: false,
    async read(offset, length) {
      const end = Math.min(offset + length, size);
      if (end <= offset) return new Uint8Array(0);
      const answer = await request(`bytes=${offset}-${end - 1}`), got = rangeOf(answer);
      if (answer.status !== 206 || got?.first !== offset || got.last !== end - 1 || got.size !== size || markOf(answer) !== mark) {
        await answer.body?.getReader().cancel();
        throw refused(at, answer.status !== 206 ? `the server answered with status ${answer.status}`
          : got?.size !== size || markOf(answer) !== mark ? "it is another file than before" : "the server sent other bytes than those that were asked for");
      }
      const bytes = await bodyOf(at, answer, end - offset);
      if (bytes.length < end - offset) throw refused(at, `the server sent ${bytes.length} bytes of ${end - offset}`);
      return bytes;
    },
  };
}

/** What tells a file from another at the same address. */
const markOf = ({ headers }: RemoteResponse) => `${headers.get("etag")} ${headers.get("last-modified")}`;

function rangeOf({ headers }: RemoteResponse): { first?: number; last?: number; size?: number } | undefined {
  const [, range, first, last, size] = /^bytes\s+((\d+)-(\d+)|\*)\/(\d+|\*)$/i.exec(headers.get("content-range")?.trim() ?? "") ?? [];
  if (range === undefined) return undefined;
  const all = size === "*" ? undefined : Number(size);
  return { ...(first !== undefined && { first: Number(first), last: Number(last) }), ...(Number.isSafeInteger(all) && { size: all! }) };
}

/** At most so many bytes of an answer: more are an error. */
async function bodyOf(url: string, { body }: RemoteResponse, most: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [], reader = body?.getReader();
  let length = 0;
  for (;;) {
    const piece = await reader?.read();
    if (!piece || piece.done || !piece.value) break;
    length += piece.value.length;
    if (length > most) {
      await reader!.cancel();
      throw refused(url, `the server sent more than the ${most} bytes that were asked for`);
    }
    pieces.push(piece.value);
  }
  return joinedBytes(pieces, length);
}
