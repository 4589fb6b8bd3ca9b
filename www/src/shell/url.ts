/** The state of a page in its address: `#name=value&…`, what differs from the page's defaults; long values are compressed. */
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";

/** What a page is made of: numbers, texts and lists, as JSON has them. */
export type State = { readonly [name: string]: unknown };

const LONG = 120;
const toText = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const toBytes = (text: string) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));

export function encode<S extends State>(state: S, defaults: S): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(state)) {
    const json = JSON.stringify(value);
    if (json === JSON.stringify(defaults[name])) continue;
    const text = typeof value === "string" && !/^[~[{"\d-]/.test(value) ? value : json;
    parts.push(`${encodeURIComponent(name)}=${text.length > LONG ? `~${toText(deflateSync(strToU8(text), { level: 9 }))}` : encodeURIComponent(text)}`);
  }
  return parts.length ? `#${parts.join("&")}` : "";
}

/** What an address says, where it is of the kind that the default is of; the rest of it is left out. */
export function decode<S extends State>(hash: string, defaults: S): S {
  const state: Record<string, unknown> = { ...defaults };
  for (const part of hash.replace(/^#/, "").split("&")) {
    const cut = part.indexOf("="), name = safely(() => decodeURIComponent(part.slice(0, cut)));
    if (cut < 1 || name === undefined || !Object.hasOwn(defaults, name)) continue;
    const raw = part.slice(cut + 1), text = safely(() => (raw.startsWith("~") ? strFromU8(inflateSync(toBytes(raw.slice(1)))) : decodeURIComponent(raw)));
    if (text === undefined) continue;
    const wanted = defaults[name];
    const value = typeof wanted === "string" ? (text.startsWith('"') ? safely(() => JSON.parse(text) as unknown) : text) : safely(() => JSON.parse(text) as unknown);
    if (value !== null && typeof value === typeof wanted && Array.isArray(value) === Array.isArray(wanted)) state[name] = value;
  }
  return state as S;
}

function safely<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
