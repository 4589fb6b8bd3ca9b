// # Time series: trend, season, missing values and outliers
//
// Six weeks of daily values: a slow trend, a weekly pattern, days that are missing, and some that are wrong.
// All unknowns are found at once, which is what a Kalman smoother does in two passes.
//
// - A table of one number a day is the trend; its second differences are drawn to 0 (Hodrick & Prescott 1997).
// - The season is a table of seven numbers, whose sum is drawn to 0: otherwise trend and season could trade a constant.
// - Missing days have no instance. Wrong days lose their influence by Huber's loss, whose parameter has the unit of the residual.
import assert from "node:assert/strict";
import { huber, init, sum } from "leastwise";

let state = 14142;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const days = 84, weekly = [0.8, 0.5, 0.2, 0, -0.1, -0.9, -0.5];
const trendAt = (day) => 5 + 1.5 * Math.sin(day / 14) + 0.02 * day;
const seen = [];
for (let day = 0; day < days; day++) {
  if (day % 11 === 5 || (day > 40 && day < 47)) continue;   // missing
  const isWrong = day % 17 === 3;
  seen.push({ day, isWrong, value: trendAt(day) + weekly[day % 7] + 0.15 * normal() + (isWrong ? 4 : 0) });
}

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const trend = problem.variables("trend", { shape: 1, values: new Float64Array(days).fill(5) });
const season = problem.variables("season", { shape: 1, values: new Float64Array(7) });
problem.residuals("seen", {
  of: [trend.at(seen.map(({ day }) => day)), season.at(seen.map(({ day }) => day % 7))],
  data: { value: Float64Array.from(seen, ({ value }) => value) }, weight: 1 / 0.15 ** 2, loss: huber(2 * 0.15),
}, ([trend, season], { value }) => trend.add(season).sub(value));
problem.residuals("smooth", { over: Array.from({ length: days - 2 }, (_, k) => [k, k + 1, k + 2]), of: [trend, trend, trend], weight: 1 / 0.03 ** 2 },
  ([a, b, c]) => a.sub(b.mul(2)).add(c));
problem.residuals("no constant", { of: [season.rows({ offsets: [0, 7], indices: [0, 1, 2, 3, 4, 5, 6] })], weight: 1e4 }, ([season]) => sum(season));
const report = await problem.solve();
const found = [...await trend.read()], pattern = [...await season.read()];
const marginals = await problem.marginals({ variance: 1 });
const errors = [...await marginals.standardErrors(trend)];
marginals.dispose();
lw.dispose();

assert.ok(report.converged, report.reason);
const off = found.map((value, day) => Math.abs(value - trendAt(day)));
assert.ok(Math.max(...off) < 0.35, `the trend is off by ${Math.max(...off)}`);
assert.ok(pattern.every((value, k) => Math.abs(value - weekly[k]) < 0.2), `${pattern}`);
assert.ok(errors[44] > 1.5 * errors[30], "where days are missing less is known");

export { errors, found, pattern, seen, trendAt };
