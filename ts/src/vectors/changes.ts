/** Indices that take in others, and files of what changed in an index since it was saved. */
import { bytesOf, isList, type U8 } from "../arrays.js";
import type { Engine } from "../engine.js";
import { LeastwiseError, reading } from "../errors.js";
import { describe, shownValue } from "../instruction.js";
import { checked, flag, hasMethods, REPORTING, takesNoMore, type Reporting } from "../options.js";
import { NEEDS } from "../parts.js";
import type { Tasks } from "../tasks.js";
import type { VectorIndex } from "../vector-index.js";
import { crc32c, endsInEnvelope, envelopeBytes, mayBeEnvelope, nameOf, readEnvelope, spaceOf, type Description } from "./envelope.js";
import { framed, idsIn, idsOfSection, mustBe, putKeys, runsOf, unframed, type Kind } from "./framed.js";
import type { Key } from "./keys.js";
import { VectorIndexOf, type Inside } from "./searchable.js";

/**
 * Options of {@link mergeIndices}.
 *
 * @example
 * const options: MergeOptions = { replace: true };
 */
export interface MergeOptions extends Reporting {
  /** Vectors of the other index replace those of this one that have their keys, as `upsert` does; without, equal keys are refused. @defaultValue false */
  readonly replace?: boolean;
}

const MERGE = { replace: flag, ...REPORTING } as const;

function insideOf(what: string, index: unknown): Inside {
  const inside = typeof index === "object" && index !== null ? reading(what, () => (index as { readonly inside?: Inside }).inside) : undefined;
  if (!inside) throw new LeastwiseError("invalid-option", `${what} must be an index that compress() or openIndex() of this package made, not ${describe(index)}`);
  return inside;
}

const cannot = (why: string, instead: string) => new LeastwiseError("invalid-option", `mergeIndices(index, other): ${why}. ${instead}`);

/**
 * Takes the vectors of another index into one: their codes are copied, so that nothing is decoded and nothing is lost. Both must have been opened from one
 * file, such as that of an empty index of a sample (`trainFor`), or changed since then by additions and removals. They keep their keys, and get new ids, which
 * come back in order of their ids in the other index; that one stays as it is. If the index has a graph, they are inserted into it. All of them are in it when
 * the promise resolves or, where it rejects before the graph is gone on with, none.
 *
 * @throws `invalid-option` for indices of other clusters, codes, dimensions, metrics or engines, with the reason; and for keys that both have, with some of
 * them, unless `replace` is true
 * @example
 * const empty = await (await lw.compress(points, { dim: 8, trainFor: 1000 })).save();
 * const [index, part] = [await lw.openIndex(empty), await lw.openIndex(empty)];
 * await part.add(points);
 * const ids = await mergeIndices(index, part);
 */
export async function mergeIndices(index: VectorIndex, other: VectorIndex, options: MergeOptions = {}): Promise<Uint32Array> {
  takesNoMore("mergeIndices(index, other, options)", 3, arguments);
  const into = insideOf("mergeIndices(index): index", index), from = insideOf("mergeIndices(index, other): other", other);
  const { replace = false, signal, onProgress } = checked("mergeIndices(index, other, options): options", options, MERGE);
  if (index === other) throw cannot("index and other are the same", "Give two");
  const { tasks, keys: own } = into, { keys: others } = from;
  from.handle();
  if (tasks !== from.tasks) throw cannot("they belong to two engines", "Save the other one, and open its file with the engine of the first");
  if (index.metric !== other.metric) throw cannot(`the one is by "${index.metric}", the other by "${other.metric}"`, "Only indices of one metric can be merged: add the original vectors");
  if (into.space.maxNorm !== from.space.maxNorm && other.count > 0) throw cannot(`their greatest lengths are ${String(into.space.maxNorm)} and ${String(from.space.maxNorm)}`, "Make both with the same maxNorm");
  if ((own === undefined) !== (others === undefined)) throw cannot("only one of them has keys", "Make both with keys, or both without");
  if (replace && !own) throw cannot("replace is for indices with keys", "Leave it out: vectors without keys get new ids");
  const loading = tasks.parts.need(NEEDS.graph);
  if (loading) await loading;
  const merged = async (): Promise<Uint32Array> => {
    const named = others?.entries().map(([, key]) => key) ?? [], equal = own ? named.filter((key) => own.id(key) !== undefined) : [];
    if (equal.length > 0 && !replace) throw cannot(`both have ${equal.length === 1 ? "the key" : `${equal.length} keys, such as`} ${equal.slice(0, 5).map(shownValue).join(", ")}`, "Give { replace: true } to take those of the other, or remove them from one");
    own?.expect(into.sizes().nextId, named);
    try {
      const task = tasks.call((native) => native.mergeIndex(into.handle(), from.handle()));
      const { ids } = await tasks.run(task, { signal, onAbort: "reject" });
      const replaced = own ? named.flatMap((key) => own.id(key) ?? []) : [];
      named.forEach((key, k) => own!.set(ids![k]!, key));
      if (replaced.length > 0) into.remove(Uint32Array.from(replaced));
      return ids!;
    } finally {
      own?.expectNone();
    }
  };
  // In one order, whoever takes in whom: two that take in each other would wait for each other.
  const [first, second] = into.handle() < from.handle() ? [into, from] : [from, into];
  const ids = await (own ? first.inTurn(() => second.inTurn(merged)) : merged());
  const { graph } = index.info;
  if (graph && ids.length > 0) await index.buildGraph({ degree: graph.degree, effort: graph.effort, ...(signal && { signal }), ...(onProgress && { onProgress }) });
  return ids;
}

/** Kinds of the engine's sections: ids of new vectors from the first new id on, and ids of those that are gone. */
const IDS = 5, REMOVED = 32;
const CHANGES: Kind = { magic: "LWVCHNG\n", name: "a file of changes of an index" };

/** A file by its name here, and as changes name it: the checksums in its header and of its envelope, and what it had. */
interface Mark { readonly name: string; readonly file: number; readonly head: number; readonly count: number; readonly nextId: number }

const wordAt = (bytes: Uint8Array, at: number): number => new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(at, true);

/** Numbers of a file's first section, whatever it is; undefined for bytes that end before. */
function firstSection(engine: Uint8Array): { readonly file: number; word(at: number): number } | undefined {
  const offset = engine.length >= 96 ? wordAt(engine, 72) : 0;
  return offset > 0 && engine.length >= offset + 64 ? { file: wordAt(engine, 60), word: (at) => wordAt(engine, offset + 4 * at) } : undefined;
}

const isChanges = (engine: Uint8Array): boolean => new TextDecoder().decode(engine.subarray(0, 7)) === "LWCHANG";

/** The parts of a file of an index or of its changes. */
function partsOf(file: Uint8Array): { readonly head: number; readonly engine: Uint8Array; readonly said?: { readonly [name: string]: unknown }; readonly description?: Description } {
  if (new TextDecoder().decode(file.subarray(0, 7)) === "LWVCHNG") {
    const { said, sum, rest } = unframed(CHANGES, file);
    return { head: sum, engine: rest, said };
  }
  if (file.length === 0 || !mayBeEnvelope(file)) return { head: 0, engine: file, description: { metric: "l2" } };
  const length = envelopeBytes(file);
  if (file.length < length) throw endsInEnvelope(length, file.length);
  const head = file.subarray(0, length);
  return { head: crc32c(head), engine: file.subarray(length), description: readEnvelope(head) };
}

function markOf(what: string, file: Uint8Array): Mark {
  const { head, engine } = partsOf(file), first = firstSection(engine), name = nameOf(file.subarray(0, file.length - engine.length), engine);
  if (!first) throw new LeastwiseError("file-truncated", `${what}: the file ends too early`);
  const [count, nextId] = isChanges(engine) ? [first.word(4), first.word(5)] : [first.word(2), first.word(3)];
  return { name, file: first.file, head, count, nextId };
}

/**
 * Changes of an index after a file of it was saved or opened: {@link trackChanges} makes the log.
 *
 * @example
 * const log: ChangeLog = await trackChanges(index, await index.save());
 * await index.add(points);
 * const changes = await log.save();
 */
export interface ChangeLog extends Disposable {
  /**
   * A file of what was added and removed since the last one: it follows on that one. It takes the codes of the new vectors, some bits for the cluster of each,
   * and some bytes a run of ids. It has no graph: vectors that it adds are compared one by one until `buildGraph()`.
   */
  save(): Promise<U8>;
  /** Stops to note removals. */
  dispose(): void;
}

/**
 * Begins to note what changes in an index, from a file on that has it as it is now: the one that `save()` gave or `openIndex` took as bytes (of a stream,
 * save it first), or the last one of its changes. `save()` of the log then gives files of changes, which {@link openWithChanges} takes after it: a large index that grows is not written again.
 *
 * @throws `invalid-option` for a file that is not of the index as it is now; `file-truncated`, `file-format`
 * @example
 * const file = await index.save(), log = await trackChanges(index, file);
 * const ids = await index.add(points);
 * index.remove(ids.subarray(0, 1));
 * const again = await openWithChanges(lw, [file, await log.save()]);
 */
export async function trackChanges(index: VectorIndex, file: Uint8Array): Promise<ChangeLog> {
  takesNoMore("trackChanges(index, file)", 2, arguments);
  const inside = insideOf("trackChanges(index): index", index), bytes = bytesOf("trackChanges(index, file): file", file);
  if (!bytes) throw new LeastwiseError("invalid-option", `trackChanges(index, file): file must be the bytes of a file, a Uint8Array, not ${describe(file)}`);
  const mark = markOf("trackChanges(index, file)", bytes), removed: Uint32Array[] = [];
  const note = (ids: Uint32Array) => { removed.push(ids.slice()); };
  inside.removing.add(note);
  try {
    const { count, nextId } = inside.sizes();
    if (count !== mark.count || nextId !== mark.nextId) throw new LeastwiseError("invalid-option", `trackChanges(index, file): the file has ${mark.count} vectors and the next id ${mark.nextId}, but the index has ${count} and ${nextId}: give the file that has it as it is now`);
    if (!inside.files.has(mark.name)) throw new LeastwiseError("invalid-option", "trackChanges(index, file): the file is none that the index was opened from (as bytes, not as a stream) or has written, so that it may be of another index: give what index.save() gives");
    const loading = inside.tasks.parts.need(NEEDS.graph);
    if (loading) await loading;
    const log = new Log(inside, mark, removed, note);
    await log.begin();
    return log;
  } catch (thrown) {
    inside.removing.delete(note);
    throw thrown;
  }
}

class Log implements ChangeLog {
  #last: Promise<unknown> = Promise.resolve();
  #model = 0;
  #isOver = false;

  constructor(private readonly inside: Inside, private mark: Mark, private readonly removed: Uint32Array[], private readonly note: (ids: Uint32Array) => void) {}

  /** Learns the model that the file has: codes of another one would mean nothing beside it. */
  async begin(): Promise<void> {
    const { file, count, nextId } = this.mark, gone = this.#gone();
    this.#model = firstSection(await this.#file(file, count, nextId, gone))!.word(3);
  }

  #gone(): Uint32Array { return Uint32Array.from(this.removed.flatMap((ids) => [...ids])); }

  async #file(file: number, count: number, nextId: number, gone: Uint32Array): Promise<Uint8Array> {
    const { tasks } = this.inside;
    return (await tasks.run(tasks.call((native) => native.saveIndexChanges(this.inside.handle(), file, count, nextId, gone)))).bytes!;
  }

  async save(): Promise<U8> {
    takesNoMore("log.save()", 0, arguments);
    const work = () => (this.inside.keys ? this.inside.inTurn(() => this.#save()) : this.#save());
    const turn = this.#last.then(work, work);
    this.#last = turn;
    return turn;
  }

  async #save(): Promise<U8> {
    if (this.#isOver) throw new LeastwiseError("disposed", "this log of changes was disposed: it notes nothing any more");
    const { file, head, count, nextId } = this.mark, { keys, space } = this.inside;
    const gone = this.#gone(), noted = this.removed.length, now = this.inside.sizes();
    const coming = keys?.entries().filter(([id]) => id >= nextId) ?? [], there = keys && new Set(keys.entries().map(([id]) => id));
    const left = there && [...new Set(gone)].filter((id) => id < nextId && !there.has(id)).sort((a, b) => a - b);
    const engine = await this.#file(file, count, nextId, gone), first = firstSection(engine)!;
    if (first.word(3) !== this.#model) throw new LeastwiseError("invalid-option", "log.save(): the index made its clusters and its code anew since the file was saved, as it does while it has fewer than 256 vectors: save it whole");
    const said = { after: head, ...(space.maxNorm !== undefined && { maxNorm: space.maxNorm }), ...(keys && { gone: runsOf(left!), ids: runsOf(coming.map(([id]) => id)), keys: coming.map(([, key]): Key => key) }) };
    const bytes = framed(CHANGES, said, engine);
    const name = nameOf(bytes.subarray(0, bytes.length - engine.length), engine);
    this.inside.files.add(name);
    this.mark = { name, file: first.file, head: wordAt(bytes, 16), ...now };
    this.removed.splice(0, noted);
    return bytes;
  }

  dispose(): void {
    this.#isOver = true;
    this.inside.removing.delete(this.note);
  }

  [Symbol.dispose](): void { this.dispose(); }
}

/**
 * An index of its file and of all files of its changes ({@link ChangeLog.save}), in the order in which they were saved. Each names the one before it by
 * checksums, so that none can be missing, come twice, or belong to another index. `save()` of the index makes one file of them.
 *
 * @throws `file-format` for files in another order and of other indices, `file-version`, `file-truncated`, `file-corrupt`
 * @example
 * const file = await index.save(), log = await trackChanges(index, file);
 * await index.add(points);
 * const again = await openWithChanges(lw, [file, await log.save()]);
 */
export async function openWithChanges(lw: Engine, files: readonly [index: Uint8Array, ...changes: Uint8Array[]]): Promise<VectorIndex> {
  takesNoMore("openWithChanges(lw, files)", 2, arguments);
  const tasks = reading("openWithChanges(lw): lw", () => (lw as unknown as { readonly tasks?: Tasks } | undefined)?.tasks);
  if (typeof lw !== "object" || !hasMethods(tasks, "call")) throw new LeastwiseError("invalid-option", `openWithChanges(lw, files): lw must be an engine, as init() gives it, not ${describe(lw)}`);
  const given: unknown = files;
  if (!isList(given) || given.length === 0) throw new LeastwiseError("invalid-option", `openWithChanges(lw, files): files must be an array: the file of an index, then those of its changes, not ${describe(files)}`);
  const parts = Array.from(given, (file: unknown, k) => {
    const bytes = bytesOf(`openWithChanges(lw, files): files[${k}]`, file);
    if (!bytes) throw new LeastwiseError("invalid-option", `openWithChanges(lw, files): files[${k}] must be the bytes of a file, a Uint8Array, not ${describe(file)}`);
    return { bytes, ...partsOf(bytes) };
  });
  const loading = tasks.parts.need(NEEDS.graph);
  if (loading) await loading;
  const [base, ...changes] = parts as [(typeof parts)[0], ...typeof parts];
  if (!base.description) throw new LeastwiseError("file-format", "openWithChanges(lw, files): files[0] is a file of changes: the file of the index comes first");
  let { keys, maxNorm } = base.description, head = base.head, previous = base.engine;
  const handle = tasks.call((native) => native.openIndex(base.engine));
  try {
    for (const [k, { head: own, engine, said, description }] of changes.entries()) {
      const wrong = (why: string) => new LeastwiseError("file-format", `openWithChanges(lw, files): files[${k + 1}] ${why}`);
      if (description || !said) throw wrong("is no file of changes, which log.save() makes");
      if (said.after !== head) throw wrong("does not follow on the one before it: give the file of the index and then all files of its changes, in the order in which they were saved");
      if (said.maxNorm !== undefined && (base.description.metric !== "dot" || typeof said.maxNorm !== "number" || !(said.maxNorm > 0 && said.maxNorm < Infinity) || (maxNorm !== undefined && maxNorm !== said.maxNorm))) throw wrong("has another greatest length than the index");
      maxNorm = (said.maxNorm as number | undefined) ?? maxNorm;
      if ((keys === undefined) !== (said.keys === undefined)) throw wrong(keys ? "has no keys, which the index has" : "has keys, which the index has not");
      tasks.call((native) => native.applyIndexChanges(handle, engine, firstSection(previous)?.file ?? 0));
      if (keys) {
        // The engine's part was checked: names must be of the very vectors that came and went.
        const { word } = firstSection(engine)!, [before, next, added, removed] = [2, 5, 6, 7].map((at) => word(at)) as [number, number, number, number];
        const gone = removed === 0 ? [] : idsOfSection(engine, REMOVED, removed), coming = idsOfSection(engine, IDS, added).map((id) => before + id);
        mustBe(CHANGES, gone, idsIn(CHANGES, said.gone, removed));
        mustBe(CHANGES, coming, idsIn(CHANGES, said.ids, Math.min(added, next)));
        for (const id of gone) keys.delete(id);
        putKeys(CHANGES, keys, said.ids, said.keys);
      }
      [head, previous] = [own, engine];
    }
    const description = { ...base.description, ...(maxNorm !== undefined && { maxNorm }), ...(keys && { keys }) };
    const space = spaceOf(tasks.call((native) => native.indexSizes(handle)), description);
    const last = parts.at(-1)!;
    return new VectorIndexOf(tasks, { handle, space, keys, ratio: description.ratio, file: nameOf(last.bytes.subarray(0, last.bytes.length - last.engine.length), last.engine) });
  } catch (thrown) {
    tasks.release((native) => native.freeIndex(handle));
    throw thrown;
  }
}
