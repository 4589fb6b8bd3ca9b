// Clusters, compresses and searches what the test hands over, as a user's page would.
import { init } from "leastwise";
import { encodeNpy, openLazily, openVectors } from "leastwise/vectors";

const plain = ({ ids, distances, searchedBy, reason }) => ({ ids: [...ids], distances: [...distances], searchedBy, reason });

window.vectors = async (backend, { points: values, queries: asked, dim, clusters, k, code }) => {
  const lw = await init({ backend });
  // As a file that was chosen or dropped.
  const file = new Blob([encodeNpy(Float32Array.from(values), [values.length / dim, dim])]);
  const points = await (await openVectors(file)).rows(), queries = Float32Array.from(asked);
  const { energy, labels, termination } = await lw.cluster(points, { dim, clusters });

  let progress = 0;
  const index = await lw.compress(points, { dim, ...code, onProgress: (done, total) => { progress = Math.max(progress, done / total); } });
  index.searching = "device";
  const first = plain(await index.search(queries, { k }));
  const saved = await index.save(), { bytes } = index;
  index.searching = "cpu";
  const probed = plain(await index.search(queries, { k, probes: 1 }));
  // As a file of the origin private file system, which is not all read.
  const lazyFile = await (await navigator.storage.getDirectory()).getFileHandle(`index-${backend}`, { create: true }), writing = await lazyFile.createWritable();
  await writing.write(await index.save({ lazy: true }));
  await writing.close();
  const stored = await lazyFile.getFile(), lazy = await openLazily(lw, stored);
  const lazily = { hits: plain(await lazy.search(queries, { k, probes: 1 })), ...lazy.reads, size: stored.size };
  lazy.dispose();
  index.dispose();

  const opened = [await lw.openIndex(saved), await lw.openIndex(new Blob([saved]).stream())];
  const again = [];
  for (const each of opened) {
    each.searching = "device";
    again.push(plain(await each.search(queries, { k })));
  }
  const damaged = saved.slice();
  damaged[damaged.length - 3] ^= 1;
  const refused = await lw.openIndex(damaged).catch(({ name, code }) => ({ name, code }));
  const result = { backend: lw.backend, reason: lw.reason, energy, labels: [...labels], termination, progress, bytes, saved: [...saved], first, again, refused, probed, lazily };
  lw.dispose();
  return result;
};
