/** What devices take: the numbers that routing goes by, checked wherever they come from. */
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { keep, recall } from "../kept.js";
import type { NativeRates, NativeTensorModel } from "../native.js";
import { entriesOf, meant } from "../options.js";
import { VERSION } from "../version.js";

/**
 * Rates of a device: microseconds of a launch; gigabytes moved a second; 10⁹ operations a second, elementwise and of products.
 *
 * @example
 * const { cpu }: { cpu: TensorRates } = await lw.measureTensors();
 */
export interface TensorRates extends NativeRates {}

/**
 * Rates of the engine's device and of the CPU beside it, and of transfers between them.
 *
 * @example
 * const model: TensorModel = await lw.measureTensors();
 * localStorage.setItem("model", JSON.stringify(model));
 */
export interface TensorModel extends NativeTensorModel {
  readonly device: TensorRates;
  readonly cpu: TensorRates;
}

const RATES = ["launchUs", "gigabytes", "gigaops", "productGigaops"] as const;

/** A model that may come from anywhere; throws `invalid-option` for what is none. @internal */
export function checkedModel(what: string, value: unknown): TensorModel {
  const object = (name: string, of: unknown, keys: readonly string[]): Record<string, unknown> => {
    const all = Object.fromEntries(entriesOf(`${what}: ${name}`, of));
    const odd = Object.keys(all).find((key) => !keys.includes(key));
    if (odd !== undefined) throw new LeastwiseError("invalid-option", `${what}: ${name} has no "${odd}"${meant(odd, keys, "it has")}`);
    return all;
  };
  const number = (name: string, of: unknown): number => {
    // Times may be too short for a clock; nothing is done at once.
    const isTime = name.endsWith("Us");
    if (typeof of === "number" && Number.isFinite(of) && (isTime ? of >= 0 : of > 0)) return of;
    throw new LeastwiseError("invalid-option", `${what}: ${name} must be a ${isTime ? "number that is not negative" : "positive number"}, not ${typeof of === "number" ? of : describe(of)}`);
  };
  const rates = (name: string, of: unknown): TensorRates => {
    const found = object(name, of, RATES);
    return Object.fromEntries(RATES.map((rate) => [rate, number(`${name}.${rate}`, found[rate])])) as unknown as TensorRates;
  };
  const { device, cpu, readbackUs, transferGigabytes } = object("model", value, ["device", "cpu", "readbackUs", "transferGigabytes"]);
  return { device: rates("model.device", device), cpu: rates("model.cpu", cpu), readbackUs: number("model.readbackUs", readbackUs), transferGigabytes: number("model.transferGigabytes", transferGigabytes) };
}

/** A model as the engine's task gives it. @internal */
export function modelOf(numbers: ArrayLike<number>): TensorModel {
  const rates = (first: number) => Object.fromEntries(RATES.map((rate, k) => [rate, numbers[first + k]]));
  return checkedModel("lw.measureTensors()", { device: rates(0), cpu: rates(4), readbackUs: numbers[8], transferGigabytes: numbers[9] });
}

/** What a kept model is of: another version's kernels, another device and another CPU take other times. @internal */
export async function machineOf(backend: string, adapter: string): Promise<string> {
  const parts = [VERSION, backend, adapter];
  const { process, navigator } = globalThis as { process?: { versions?: { node?: string } }; navigator?: { userAgent?: string } };
  if (process?.versions?.node) {
    const name = "node:os";
    const { arch, cpus } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as { arch(): string; cpus(): readonly { model: string }[] };
    parts.push(arch(), cpus()[0]?.model ?? "");
  } else {
    parts.push(navigator?.userAgent ?? "");
  }
  return parts.join(" | ");
}

const nameOf = (machine: string) => `tensors-${machine.replaceAll(/[^\w.]+/g, "-").slice(0, 200)}`;

/** The model of a machine that an earlier run kept, and where. What is kept there and is no such model does not count. @internal */
export async function recallModel(machine: string): Promise<{ model: TensorModel; where: string } | undefined> {
  const found = await recall(nameOf(machine));
  if (!found) return undefined;
  try {
    const { of, model } = JSON.parse(found.text) as { of?: unknown; model?: unknown };
    return of === machine ? { model: checkedModel(found.where, model), where: found.where } : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a machine's model for later runs; says where, or why it is not kept. @internal */
export const keepModel = (machine: string, model: TensorModel): Promise<string> => keep(nameOf(machine), JSON.stringify({ of: machine, model }));
