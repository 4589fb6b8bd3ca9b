// A lane with one index of vectors, beside a model of it: which ids there are. Distances are compared with those to what it gives back.
import { ending, turns } from "./calls.mjs";
import { someOf, vectors } from "./values.mjs";
import { sameBits } from "./verify.mjs";

const NOBODY = 0xffffffff;
const FILE_CODES = ["file-format", "file-version", "file-truncated", "file-corrupt"];

export async function indexLane(session, lane) {
  const { dim, count, seed, options, end, verify } = lane.make;
  const points = vectors(seed, count, dim), label = `compress ${count} × ${dim} ${JSON.stringify(options)}`;
  const { options: { signal }, reason, begin } = ending(end);
  const index = await session.act(lane, label, () => {
    begin();
    return lane.engine.lw.compress(points, { dim, ...options, ...(signal && { signal }) });
  }, { codes: ["invalid-option", "limits"], reason });
  if (!index) return;
  session.count("indices");
  const state = { index, points, dim, gone: new Set(), next: count };
  if (verify && !end) await repeatMaking(session, lane, label, points, { dim, ...options }, index);
  for (const action of lane.actions) {
    if (lane.engine.over) return;
    await ACTIONS[action.do](session, lane, state, action);
  }
  const pending = session.act(lane, "search of an index that is disposed", () => index.search(points, { k: 2 }), { gone: () => true });
  await session.act(lane, "dispose index", () => index.dispose());
  await pending;
  let was = false;
  await session.act(lane, "count of a disposed index", () => { void index.count; was = true; }, { gone: () => true });
  if (was) session.fail("use-after-dispose", "index.count", "it was answered");
}

/** The same vectors give the same file. */
async function repeatMaking(session, lane, label, points, options, index) {
  const file = await session.act(lane, "save index", () => index.save());
  if (!file) return;
  session.repeats.push({ label, engine: lane.engine.options, again: async (lw) => sameBits(file, await (await lw.compress(points, options)).save()) });
}

const squared = (a, i, b, j, dim) => {
  let sum = 0;
  for (let k = 0; k < dim; k++) sum += (a[i * dim + k] - b[j * dim + k]) ** 2;
  return sum;
};

/** What no hits may be: ids that are not there, out of order, or at other distances than what the index gives back for them. */
function nonsense({ index, dim, gone, next }, queries, { ids, distances, k }, filter, isAll) {
  const there = Uint32Array.from({ length: next }, (_, id) => id).filter((id) => !gone.has(id) && (!filter || filter[id]));
  const decoded = index.reconstruct(there), place = new Map(Array.from(there, (id, at) => [id, at]));
  // Codes of few bits have lengths of their own that searches go by.
  const { code, quantization } = index.info, isExact = !(code === "bits" && quantization.shrink < 0.9999);
  const scale = 1 + decoded.reduce((most, value) => Math.max(most, value * value), 0) * dim;
  for (let q = 0; q * k < ids.length; q++) {
    const mine = ids.subarray(q * k, (q + 1) * k), seen = new Set();
    for (const [at, id] of mine.entries()) {
      const found = distances[q * k + at];
      if (id === NOBODY) {
        if (found !== Infinity) return `nobody at a distance of ${found}`;
        if (isAll && at < there.length) return `query ${q} has ${at} hits, of ${there.length} vectors that there are`;
        continue;
      }
      if (!place.has(id)) return `id ${id} ${gone.has(id) ? "was removed" : filter && !filter[id] ? "is filtered out" : "was never given"}`;
      if (seen.has(id)) return `id ${id} twice`;
      seen.add(id);
      if (at > 0 && found < distances[q * k + at - 1]) return `distances fall: ${distances[q * k + at - 1]}, ${found}`;
      const expected = squared(queries, q, decoded, place.get(id), dim);
      if (isExact && Math.abs(found - expected) > 1e-3 * (scale + expected)) return `id ${id} is at ${found}, but at ${expected} by what is given back for it`;
    }
    const last = distances[q * k + k - 1];
    const missed = isAll && isExact ? there.find((id, at) => !seen.has(id) && squared(queries, q, decoded, at, dim) < last - 2e-3 * (scale + last)) : undefined;
    if (missed !== undefined && last !== Infinity) return `id ${missed} is nearer than the last hit of query ${q}`;
  }
  return undefined;
}

const ACTIONS = {
  async search(session, lane, state, { seed, queries, k, probes, filter: share }) {
    const { index, dim, next } = state, asked = vectors(seed, queries, dim);
    const filter = share === undefined ? undefined : Uint8Array.from({ length: next }, (_, id) => ((id * 7 + seed) % 10 < share ? 1 : 0));
    const label = `search ${queries} for ${k}${filter ? " with a filter" : ""}`;
    const hits = await session.act(lane, label, () => index.search(asked, { k, ...(probes && { probes }), ...(filter && { filter }) }), { codes: ["invalid-option"] });
    if (!hits) return;
    session.count("searches");
    const wrong = nonsense(state, asked, hits, filter, hits.through === "lists" && (probes === undefined || probes >= index.info.clusters));
    if (wrong) session.fail("nonsense", label, `${wrong} (${JSON.stringify(index.info.code)}, searched by ${hits.searchedBy})`);
  },
  async add(session, lane, state, { seed, count, end }) {
    const { index, dim } = state, before = index.count, { options: { signal }, reason, begin } = ending(end);
    const ids = await session.act(lane, `add ${count}${end ? ` ${JSON.stringify(end)}` : ""}`, () => {
      begin();
      return index.add(vectors(seed, count, dim), { ...(signal && { signal }) });
    }, { codes: ["limits"], reason });
    taken(session, state, ids, count, before);
  },
  /** Several at once: ids in the order of the calls. */
  async "add twice"(session, lane, state, { seed, count }) {
    const { index, dim } = state, before = index.count;
    const both = await Promise.all([0, 1].map((k) => session.act(lane, "add beside another add", () => index.add(vectors(seed + k, count, dim)), { codes: ["limits"] })));
    await session.act(lane, "search beside", () => index.search(vectors(seed, 2, dim), { k: 2 }), { codes: ["invalid-option"] });
    const added = both.filter((ids) => ids).length;
    for (const ids of both) if (ids) taken(session, state, ids, count, before + (added - 1) * count);
    state.next = index.info.nextId;
  },
  async remove(session, lane, state, { seed, count }) {
    const { index, gone, next } = state, ids = someOf(seed, next + 2, count);
    const there = ids.filter((id) => id < next && !gone.has(id));
    const removed = await session.act(lane, `remove ${ids}`, () => index.remove(ids), { codes: ["index-out-of-range", "invalid-option"] });
    if (removed === undefined) return;
    for (const id of there) gone.add(id);
    if (removed !== there.length) session.fail("remove", "remove", `${removed} were removed, not ${there.length}`);
    if (index.count !== next - gone.size) session.fail("remove", "remove", `${index.count} vectors are left, not ${next - gone.size}`);
  },
  /** What was saved and opened, on this engine or another, finds the same. */
  async reopen(session, lane, state, { seed, engine, damage }) {
    const { index, dim } = state, target = session.engines[engine];
    const file = await session.act(lane, "save index", () => index.save());
    if (!file || target.over) return;
    const other = { ...lane, engine: target };
    if (damage !== undefined) {
      const damaged = file.slice(), at = damage % (8 * file.length);
      damaged[at >> 3] ^= 1 << (at & 7);
      const opened = await session.act(other, "open a damaged index", () => target.lw.openIndex(damaged), { codes: FILE_CODES });
      if (opened) session.fail("damaged-file", "openIndex", `bit ${at} of ${8 * file.length} was changed, and it was taken`);
      opened?.dispose();
      return;
    }
    const again = await session.act(other, "open index", () => target.lw.openIndex(file));
    if (!again) return;
    again.searching = index.searching;
    const asked = vectors(seed, 3, dim), options = { k: 3 };
    const [a, b] = await Promise.all([session.act(lane, "search", () => index.search(asked, options)), session.act(other, "search what was opened", () => again.search(asked, options))]);
    const differs = a && b && sameBits({ ids: a.ids, distances: a.distances }, { ids: b.ids, distances: b.distances });
    if (differs && target.lw.backend === lane.engine.lw.backend) session.fail("differs", "search of what was saved and opened", differs);
    const twice = await session.act(other, "save what was opened", () => again.save());
    const changed = twice && sameBits(file, twice);
    if (changed) session.fail("differs", "file of what was opened", changed);
    again.dispose();
  },
  async set(session, lane, { index }, { sketches, searching }) {
    await session.act(lane, `sketches ${sketches}, searching ${searching}`, () => { index.sketches = sketches; index.searching = searching; });
  },
  async evaluate(session, lane, { index, dim, next, gone }, { seed }) {
    const found = await session.act(lane, "evaluate", () => index.evaluate(vectors(seed, 3, dim), { k: 2, points: vectors(seed, next, dim) }), { codes: ["invalid-option"] });
    if (found && !(found.recall >= 0 && found.recall <= 1)) session.fail("nonsense", "evaluate", `recall ${found.recall} (${gone.size} removed)`);
  },
  /** From now on searches walk in it. */
  async graph(session, lane, { index }, { degree, effort, end }) {
    const { options: { signal }, reason, begin } = ending(end);
    await session.act(lane, `build a graph of ${degree}`, () => {
      begin();
      return index.buildGraph({ degree, effort, ...(signal && { signal }) });
    }, { codes: ["invalid-option"], reason });
  },
  async pause(_, __, ___, { turns: count }) { await turns(count); },
};

/** Of an add: all of the vectors, or none; `before`: how many there were without it. */
function taken(session, state, ids, count, before) {
  const { index } = state;
  if (ids) {
    const wrong = ids.length !== count ? `${ids.length} ids for ${count} vectors` : ids.find((id, k) => id !== state.next + k) !== undefined ? `ids from ${ids[0]} on, not from ${state.next}` : undefined;
    if (wrong) session.fail("add", "add", wrong);
    state.next += count;
  }
  if (index.count !== before + (ids ? count : 0)) session.fail("add", "add", `${index.count} vectors after one that ${ids ? "added" : "was ended"}, ${before} before`);
  // An add that its signal ended may have used up ids, but never some of them only.
  if (!ids) state.next = index.info.nextId;
}
