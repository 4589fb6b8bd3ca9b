/** Commands, what they take, and their help: one description of each, from which all of it follows. */
import { parseArgs } from "node:util";

/** Told what is wrong with what was typed; ends with exit code 2. */
export class UsageError extends Error {}

export interface Option {
  /** What its value is called; without one it is a switch. */
  readonly value?: string;
  readonly help: string;
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: boolean;
}

export interface Command {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** Names of the positional arguments, all of which are needed. */
  readonly positionals: readonly string[];
  readonly options: { readonly [name: string]: Option };
  /** What there is to know beyond the options. */
  readonly notes: string;
  run(args: Arguments, signal: AbortSignal): Promise<void>;
}

/** What a number may be: from `least`, or else more than `above`, up to `most`. */
export interface Bounds { readonly least?: number; readonly above?: number; readonly most?: number }

/** Checked access to what was typed. */
export class Arguments {
  constructor(private readonly values: { readonly [name: string]: string | boolean | (string | boolean)[] | undefined }, readonly positionals: readonly string[]) {}

  has(name: string): boolean { return this.values[name] === true; }

  text(name: string): string | undefined { return this.values[name] as string | undefined; }

  texts(name: string): readonly string[] { return (this.values[name] as string[] | undefined) ?? []; }

  number(name: string, bounds: Bounds = {}): number | undefined {
    const given = this.text(name);
    return given === undefined ? undefined : numberOf(name, given, bounds);
  }

  numbers(name: string, bounds: Bounds = {}): readonly number[] { return this.texts(name).map((given) => numberOf(name, given, bounds)); }

  /** An integer of at least `least` that 32 bits hold. */
  count(name: string, least = 1): number | undefined {
    const value = this.number(name);
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= MOST)) throw new UsageError(`--${name} is ${this.text(name)}, which is no integer from ${least} to ${MOST}`);
    return value;
  }

  choice<const C extends string>(name: string, choices: readonly C[]): C | undefined {
    const given = this.text(name);
    return given === undefined ? undefined : oneOf(name, given, choices);
  }

  choices<const C extends string>(name: string, choices: readonly C[]): readonly C[] { return this.texts(name).map((given) => oneOf(name, given, choices)); }
}

const MOST = 2 ** 32 - 1;

/** A number that was given for an option, or as a part of it. */
export function numberOf(name: string, given: string, { least, above, most }: Bounds): number {
  const value = given.trim() === "" ? NaN : Number(given);
  if (!Number.isFinite(value)) throw new UsageError(`--${name} is "${given}", which is no number`);
  if (value >= (least ?? -Infinity) && value > (above ?? -Infinity) && value <= (most ?? Infinity)) return value;
  const bounds = [least === undefined ? [] : `at least ${least}`, above === undefined ? [] : `above ${above}`, most === undefined ? [] : `at most ${most}`].flat();
  throw new UsageError(`--${name} is ${given}, but must be ${bounds.join(" and ")}`);
}

function oneOf<const C extends string>(name: string, given: string, choices: readonly C[]): C {
  if (!(choices as readonly string[]).includes(given)) throw new UsageError(`--${name} is "${given}", which is not one of ${choices.join(", ")}`);
  return given as C;
}

export function parse(command: Command, args: readonly string[]): Arguments {
  const options = Object.fromEntries(Object.entries(command.options).map(([name, { value, short, multiple = false }]) =>
    [name, { type: value === undefined ? "boolean" : "string", multiple, ...(short && { short }) } as const]));
  const { values, positionals, tokens } = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const option = command.options[token.name];
    if (!option) {
      const near = nearest(token.rawName, Object.keys(command.options).map((name) => `--${name}`));
      throw new UsageError(`there is no option "${token.rawName}"${near === undefined ? "" : `; did you mean ${near}?`}`);
    }
    const { rawName, value, inlineValue } = token;
    if (option.value === undefined) {
      if (value !== undefined) throw new UsageError(`${rawName} takes no value, but is "${value}"`);
    } else if (value === undefined) {
      throw new UsageError(`${rawName} needs a value: ${rawName} ${option.value}`);
    } else if (!inlineValue && /^-./.test(value) && Number.isNaN(Number(value))) {
      throw new UsageError(`${rawName} needs a value, but "${value}" follows it: write ${rawName}=${value} if that is the value`);
    }
  }
  const missing = command.positionals[positionals.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing`);
  if (positionals.length > command.positionals.length) throw new UsageError(`"${positionals[command.positionals.length]}" is one argument too many`);
  return new Arguments(values as ConstructorParameters<typeof Arguments>[0], positionals);
}

/** The name of most equal pairs of letters, if these are more than half of all. */
function nearest(given: string, names: readonly string[]): string | undefined {
  const pairs = (name: string) => Array.from({ length: name.length - 1 }, (_, at) => name.slice(at, at + 2));
  const alike = (name: string) => (2 * pairs(name).filter((pair) => given.includes(pair)).length) / (name.length + given.length - 2);
  return names.map((name) => ({ name, alike: alike(name) })).filter((each) => each.alike > 0.5).sort((a, b) => b.alike - a.alike)[0]?.name;
}

export function help({ name, summary, positionals, options, notes }: Command): string {
  const rows = Object.entries(options).map(([option, { value, short, help }]) => [`${short ? `-${short}, ` : ""}--${option}${value ? ` ${value}` : ""}`, help] as const);
  return [`leastwise ${name} — ${summary}`, "", `Usage: npx leastwise ${[name, ...positionals].join(" ")} [options]`, "", columns(rows), "", notes.trim(), ""].join("\n");
}

/** Two columns, indented. */
export function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right.replaceAll("\n", `\n${" ".repeat(width + 4)}`)}`).join("\n");
}
