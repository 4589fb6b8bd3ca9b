/** Tensors and the parameters of modules in files: safetensors, which PyTorch, JAX and MLX read and write. */
import { isList, listOf, type Floats, type U8 } from "../arrays.js";
import type { Engine } from "../engine.js";
import { isA, LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { named } from "../named.js";
import { checked, entriesOf, flag, hasMethods, nearest, oneOf, type Kind } from "../options.js";
import { mustBeTensor } from "../tensor/apply.js";
import { shown } from "../tensor/shapes.js";
import { Tensor, type AnyTensor, type DType, type HalfTensor, type Kept, type Storage } from "../tensor/tensor.js";
import { isModule, type Module } from "./modules.js";
import { contentsOf, fileOf, kindOf, numbersOf, quoted, type Contents } from "./safetensors.js";

/**
 * Options of {@link saveTensors}.
 *
 * @example
 * const options: SaveOptions = { metadata: { epoch: "3" } };
 * const file = await saveTensors({ weights }, options);
 */
export interface SaveOptions {
  /** Texts by name, which the file carries. @defaultValue none */
  readonly metadata?: { readonly [key: string]: string };
}

/**
 * Options of {@link saveModel}.
 *
 * @example
 * const options: SaveModelOptions = { names: ["fc.weight", "fc.bias"] };
 * const file = await saveModel(model, options);
 */
export interface SaveModelOptions extends SaveOptions {
  /** A name for each parameter, in the order of `parameters()`. @defaultValue "0", "1", … */
  readonly names?: readonly string[];
}

/**
 * Options of {@link loadModel}.
 *
 * @example
 * const model = mlp(lw, [64, 10], { seed: 1 });
 * const options: LoadModelOptions<"f32"> = { names: ["fc.weight", "fc.bias"], strict: false };
 * loadModel(model, new Uint8Array(100), options);
 */
export interface LoadModelOptions<D extends DType = DType> {
  /** A name for each parameter, in the order of `parameters()`. @defaultValue "0", "1", … */
  readonly names?: readonly string[];
  /** True to refuse a file that has more tensors than the model has parameters. @defaultValue true */
  readonly strict?: boolean;
  /** The model's own dtype, to say that numbers which it does not have are to be rounded to it. @defaultValue none: these are refused */
  readonly dtype?: D;
}

/**
 * Tensors of a file by name, and the texts that it carries.
 *
 * @example
 * const { tensors, metadata }: LoadedTensors<Tensor> = loadTensors(lw, new Uint8Array(100), { dtype: "f32" });
 */
export interface LoadedTensors<T> {
  /** Each by its name. A name that the file lacks is an error. */
  readonly tensors: { readonly [name: string]: T };
  readonly metadata: { readonly [key: string]: string };
}

const texts: Kind<{ readonly [key: string]: string }> = (name, value, place) => {
  const entries = entriesOf(name, value, place), odd = entries.find(([, text]) => typeof text !== "string");
  if (odd) throw new LeastwiseError("invalid-option", `${name}: "${odd[0]}" is ${describe(odd[1])}, but must be a text`, place);
  return Object.fromEntries(entries) as { readonly [key: string]: string };
};
const list: Kind<readonly string[]> = (name, value, place) => {
  const all = listOf(name, value, "must be an array of texts", place), odd = all.findIndex((each) => typeof each !== "string");
  if (odd >= 0) throw new LeastwiseError("invalid-option", `${name}: name ${odd} is ${describe(all[odd])}, but must be a text`, place);
  const twice = all.find((each, k) => all.indexOf(each) !== k);
  if (twice !== undefined) throw new LeastwiseError("invalid-option", `${name}: "${String(twice)}" is there twice`, place);
  return all as readonly string[];
};
const SAVE = { metadata: texts } as const, SAVE_MODEL = { ...SAVE, names: list } as const;
const LOAD = { dtype: oneOf("f16", "f32", "f64") } as const, LOAD_MODEL = { names: list, strict: flag, dtype: oneOf("f32", "f64") } as const;

async function written(what: string, entries: readonly (readonly [name: string, tensor: AnyTensor])[], metadata: { readonly [key: string]: string } | undefined): Promise<U8> {
  for (const [name] of entries) if (name === "__metadata__") throw new LeastwiseError("invalid-option", `${what}: "__metadata__" is the name of the file's texts, and of no tensor`);
  const values = await Promise.all(entries.map(([, tensor]) => tensor.read()));
  return fileOf(entries.map(([name, { dtype, shape }], k) => ({ name, dtype, shape, values: values[k]! })), metadata);
}

function read(what: string, file: unknown): Contents {
  const bytes = isA(file, Uint8Array) ? file : isA(file, ArrayBuffer) ? new Uint8Array(file) : undefined;
  if (!bytes) throw new LeastwiseError("invalid-option", `${what}: the file must be a Uint8Array or an ArrayBuffer, not ${describe(file)}`);
  return contentsOf(bytes);
}

/**
 * Tensors as a safetensors file. What is f16 is F16 there; numbers are as they are, NaN and infinities too.
 *
 * @throws `invalid-option` for what is no tensor; `disposed` for one that was
 * @example
 * const file = await saveTensors({ weights, logits }, { metadata: { epoch: "3" } });
 */
export async function saveTensors(tensors: { readonly [name: string]: AnyTensor }, options: SaveOptions = {}): Promise<U8> {
  const what = "saveTensors(tensors)", { metadata } = checked(`${what}: options`, options, SAVE, { prefix: `${what}: ` });
  const entries = entriesOf(`${what}: the tensors`, tensors);
  for (const [name, tensor] of entries) mustBeTensor(what, `"${name}"`, tensor);
  return written(what, entries as readonly (readonly [string, AnyTensor])[], metadata);
}

/**
 * The tensors of a safetensors file. Whole numbers (I8 to I64, U8 to U64) are int32s and BOOL is bool; others are of the engine's dtype. F32, F16 and BF16 are exact in f32; whole numbers that are no
 * int32, and F64 in an engine of f32, are refused. A `dtype` that is given is what all of them are of, and says that numbers which it does not have are to be rounded.
 *
 * @throws `file-format`, `file-truncated` and `file-corrupt` for files that can't be read; `dtype` for numbers that would be rounded
 * @example
 * const { tensors, metadata } = loadTensors(lw, await saveTensors({ weights }));
 * const product = tensors["weights"]!.matmul(images);
 */
export function loadTensors<P extends DType, D extends DType>(lw: Engine<P>, file: Uint8Array | ArrayBuffer, options: { readonly dtype: D }): LoadedTensors<Tensor<D>>;
export function loadTensors(lw: Engine, file: Uint8Array | ArrayBuffer, options: { readonly dtype: "f16" }): LoadedTensors<HalfTensor>;
export function loadTensors<P extends DType = "f32">(lw: Engine<P>, file: Uint8Array | ArrayBuffer, options?: { readonly dtype?: undefined }): LoadedTensors<Kept<P>>;
export function loadTensors(lw: Engine<DType>, file: Uint8Array | ArrayBuffer, options: { readonly dtype?: Storage | undefined } = {}): LoadedTensors<AnyTensor> {
  const what = "loadTensors(lw, file)", { dtype: wanted } = checked(`${what}: options`, options, LOAD, { prefix: `${what}: ` }), real = (lw as Partial<Engine>).dtype ?? "f32";
  if (!hasMethods(lw, "tensor", "scope")) throw new LeastwiseError("invalid-option", `${what}: lw must be an engine, as init() makes one, not ${describe(lw)}`);
  const { tensors, metadata } = read(what, file);
  const numbers = [...tensors].map(([name, entry]) => {
    const dtype = wanted ?? kindOf(entry, real);
    return [name, entry.shape, numbersOf(what, name, entry, dtype, wanted ?? real, wanted !== undefined), dtype] as const;
  });
  const made: (readonly [string, AnyTensor])[] = [];
  try {
    for (const [name, shape, values, dtype] of numbers) made.push([name, lw.tensor(values as Floats, shape, { dtype: dtype as DType }) as AnyTensor]);
  } catch (error) {
    for (const [, tensor] of made) tensor.dispose();
    throw error;
  }
  return { tensors: named(made, { what: () => "the file", isPlural: false, term: undefined }) as { readonly [name: string]: AnyTensor }, metadata };
}

/** Parameters of a module, with their names. */
function parametersOf<D extends DType>(what: string, model: unknown, names: readonly string[] | undefined): readonly (readonly [name: string, tensor: Tensor<D>])[] {
  if (!isModule<D>(model)) throw new LeastwiseError("invalid-option", `${what}: model must be a module, not ${describe(model)}`);
  const parameters = model.parameters();
  if (!isList(parameters)) throw new LeastwiseError("invalid-option", `${what}: parameters() of the model must give an array of tensors`);
  if (names && names.length !== parameters.length) throw new LeastwiseError("invalid-option", `${what}: there are ${names.length} names, but the model has ${parameters.length} parameters`);
  parameters.forEach((tensor, k) => mustBeTensor(what, `parameter ${k}`, tensor));
  return parameters.map((tensor, k) => [names?.[k] ?? String(k), tensor as Tensor<D>]);
}

/**
 * The parameters of a module as a safetensors file: {@link loadModel} takes it.
 *
 * @throws `invalid-option` for what is no module, and for names that are not as many as its parameters
 * @example
 * const file = await saveModel(mlp(lw, [64, 10], { seed: 1 }), { names: ["fc.weight", "fc.bias"] });
 */
export async function saveModel<D extends DType>(model: Module<D>, options: SaveModelOptions = {}): Promise<U8> {
  const what = "saveModel(model)", { names, metadata } = checked(`${what}: options`, options, SAVE_MODEL, { prefix: `${what}: ` });
  return written(what, parametersOf<D>(what, model, names) as readonly (readonly [string, AnyTensor])[], metadata);
}

/**
 * Gives a module the parameters of a safetensors file, of the same names and shapes; the ones that it had are disposed. Nothing is changed where one is
 * missing. Returns the texts that the file carries.
 *
 * @throws `file-format`, `file-truncated` and `file-corrupt` for files that can't be read; `shape` for parameters that are missing, too many or of other shapes; `dtype` for numbers that would be rounded
 * @example
 * const model = mlp(lw, [64, 10], { seed: 1 });
 * const metadata = loadModel(model, await saveModel(model));
 */
export function loadModel<D extends DType>(model: Module<D>, file: Uint8Array | ArrayBuffer, options: LoadModelOptions<NoInfer<D>> = {}): { readonly [key: string]: string } {
  const what = "loadModel(model, file)", { names, strict = true, dtype } = checked(`${what}: options`, options, LOAD_MODEL, { prefix: `${what}: ` });
  const parameters = parametersOf<D>(what, model, names), { tensors, metadata } = read(what, file), other = parameters.find(([, tensor]) => dtype !== undefined && tensor.dtype !== dtype);
  if (other) throw new LeastwiseError("dtype", `${what}: dtype: the model's parameters are of ${other[1].dtype}, not of ${String(dtype)}`);
  const numbers = parameters.map(([name, tensor]) => {
    const entry = tensors.get(name), near = nearest(name, [...tensors.keys()]);
    if (!entry) throw new LeastwiseError("shape", `${what}: the file has no "${name}"${near === undefined ? "" : `: is ${quoted(near)} meant?`} (it has ${[...tensors.keys()].slice(0, 20).map(quoted).join(", ")}${tensors.size > 20 ? " …" : ""}): names says what the parameters are called there`);
    if (shown(entry.shape) !== shown(tensor.shape)) throw new LeastwiseError("shape", `${what}: "${name}" is ${shown(entry.shape)} in the file, but ${shown(tensor.shape)} in the model`);
    return numbersOf(what, name, entry, tensor.dtype, tensor.dtype, dtype !== undefined) as Floats;
  });
  const more = [...tensors.keys()].find((name) => !parameters.some(([own]) => own === name));
  if (strict && more !== undefined) throw new LeastwiseError("shape", `${what}: the file has ${quoted(more)}, which the model has not; { strict: false } leaves it out`);
  const next: Tensor<D>[] = [];
  try {
    parameters.forEach(([, { context, shape, dtype: own }], k) => {
      const [stored] = context.call((native) => native.tensorStore(numbers[k]!, Uint32Array.from(shape), own === "f64"));
      next.push(new Tensor<D>(context, stored!, own));
    });
    model.update(next);
  } catch (error) {
    for (const tensor of next) tensor.dispose();
    throw error;
  }
  return metadata;
}
