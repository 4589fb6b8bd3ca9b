// One contender on one problem, in sizes that grow. The page ends this worker when a size takes too long.
import { PROBLEMS, TINY } from "./problems.mjs";

onmessage = async ({ data: { problem, contender: [who, ...how], tiny, effort } }) => {
  const { work, sizes } = PROBLEMS.find(({ id }) => id === problem);
  try {
    for (const size of tiny ? TINY[problem] : sizes) {
      postMessage({ begun: size });
      postMessage({ size, ...await work[who](size, effort, ...how) });
    }
    postMessage({ done: true });
  } catch (error) {
    postMessage({ error: `${error?.code ? `${error.code}: ` : ""}${error?.message ?? error}` });
  }
};
