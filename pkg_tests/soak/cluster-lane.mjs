// A lane of clusterings: checked against their own definition, and repeated on an engine of its own.
import { ending } from "./calls.mjs";
import { vectors } from "./values.mjs";
import { sameBits } from "./verify.mjs";

const essence = ({ clusters, centroids, labels, counts, energy, iterations, termination }) => ({ clusters, centroids, labels, counts, energy, iterations, termination });

export async function clusterLane(session, lane) {
  for (const { seed, count, dim, options, end, verify } of lane.actions) {
    const points = vectors(seed, count, dim), label = `cluster ${count} × ${dim} ${JSON.stringify({ ...options, end })}`;
    const { options: { signal }, reason, begin } = ending(end);
    let refused;
    const made = await session.act(lane, label, () => {
      begin();
      return lane.engine.lw.cluster(points, { dim, ...options, ...(signal && { signal }) });
    }, { codes: ["invalid-option", "stopped"], reason, onThrow: (error) => { refused = `${error.code}: ${error.message}`; } });
    if (made) {
      session.count("clusterings");
      const wrong = nonsense(points, made, options);
      if (wrong) session.fail("nonsense", label, wrong);
    }
    if (!verify || end || !(made || refused)) continue;
    const found = made ? essence(made) : { refused };
    session.repeats.push({ label, engine: lane.engine.options, again: async (lw) => {
      try {
        return sameBits(found, essence(await lw.cluster(points, { dim, ...options })));
      } catch (thrown) {
        if (thrown?.name !== "LeastwiseError") throw thrown;
        return sameBits(found, { refused: `${thrown.code}: ${thrown.message}` });
      }
    } });
  }
}

const distance = (points, i, centroids, j, dim) => {
  let sum = 0;
  for (let k = 0; k < dim; k++) sum += (points[i * dim + k] - centroids[j * dim + k]) ** 2;
  return sum;
};

/** What no clustering may be. */
function nonsense(points, { dim, clusters, centroids, labels, counts, energy, termination }, { method = "anneal" }) {
  const count = points.length / dim;
  if (labels.length !== count || counts.length !== clusters || centroids.length !== clusters * dim) return "lengths do not go together";
  if (centroids.some((value) => !Number.isFinite(value)) || !Number.isFinite(energy)) return "not finite";
  const seen = new Uint32Array(clusters);
  for (const label of labels) {
    if (label >= clusters) return `label ${label} of ${clusters} clusters`;
    seen[label]++;
  }
  const differs = sameBits(seen, counts, "counts");
  if (differs) return differs;
  if (termination !== "converged" || method === "vlc") return undefined;
  let far = 0;
  for (let i = 0; i < count; i++) {
    const mine = distance(points, i, centroids, labels[i], dim);
    for (let j = 0; j < clusters; j++) if (distance(points, i, centroids, j, dim) < mine * (1 - 1e-3) - 1e-5) { far++; break; }
  }
  // Lloyd's last means have moved a little since the last assignment.
  return far > (method === "anneal" ? 0 : count / 10) ? `${far} of ${count} vectors are nearer to another centroid` : undefined;
}
