// Pictures of the recipes about cameras, robots and geometry.
import { around, COLOURS as C, Picture, viewFrom } from "./plot.mjs";

export function calibration({ errors, found, pixels, truth }) {
  const picture = new Picture(), image = picture.axes({ x: [0, 640], y: [480, 0], in: [20, 20, 380, 340], frame: false, equal: false });
  picture.line([[0, 0], [640, 0], [640, 480], [0, 480]].map(image.at), { colour: C.grey, width: 1, close: true });
  for (let view = 0; view < 12; view += 3) {
    const colour = `hsl(${view * 30} 65% 45%)`;
    for (let k = 0; k < 35; k++) {
      const at = pixels.slice(70 * view + 2 * k, 70 * view + 2 * k + 2);
      picture.dot(image.at(at), { colour, radius: 1.6 });
      for (const [isInside, back] of [[k % 7 > 0, 1], [k > 6, 7]]) {
        const from = 70 * view + 2 * (k - back);
        if (isInside) image.line([pixels.slice(from, from + 2), at], { colour, width: 0.8 });
      }
    }
  }
  picture.dot(image.at([found[1], found[2]]), { colour: C.ink, radius: 4, fill: "#fff" });
  const names = ["f", "cx", "cy", "k₁", "k₂"];
  picture.text("in standard errors", [510, 30]);
  const plot = picture.axes({ x: [-4, 4], y: [5, -0.6], in: [430, 44, 620, 316], frame: false });
  for (const sigma of [-3, 0, 3]) picture.line([plot.at([sigma, -0.4]), plot.at([sigma, 4.6])], { colour: C.light, width: 1 }).text(`${sigma}`.replace("-", "−"), plot.at([sigma, 5]), { size: 12 });
  names.forEach((name, k) => {
    const off = (found[k] - Object.values(truth)[k]) / errors[k];
    plot.line([[off - 1, k], [off + 1, k]], { colour: C.blue, width: 3 });
    plot.dots([[off, k]], { colour: C.blue, radius: 4 });
    picture.text(name, [plot.at([-4, k])[0] - 6, plot.at([0, k])[1] + 4], { anchor: "end" });
  });
  return picture;
}

export function pnp({ focal, pixels, points, qw, qx, qy, qz, t, worst }) {
  const picture = new Picture(), plot = picture.axes({ x: [-300, 300], y: [180, -180], in: [10, 10, 630, 350], equal: false, frame: false });
  points.forEach((point, k) => {
    const [x, y, z] = point, [p, q, r] = [2 * (qy * z - qz * y), 2 * (qz * x - qx * z), 2 * (qx * y - qy * x)];
    const at = [x + qw * p + qy * r - qz * q + t[0], y + qw * q + qz * p - qx * r + t[1], z + qw * r + qx * q - qy * p + t[2]];
    const projected = [(focal * at[0]) / at[2], (focal * at[1]) / at[2]], seen = [pixels[2 * k], pixels[2 * k + 1]], isWrong = worst.includes(k);
    if (isWrong) plot.line([projected, seen], { colour: C.red, dash: "4 4", width: 1.5 });
    plot.dots([seen], { colour: isWrong ? C.red : C.ink, radius: 6, fill: "#fff" });
    plot.dots([projected], { colour: C.blue, radius: 2.6 });
  });
  return picture.legend([["seen", { colour: C.ink, dot: true }], ["wrong match", { colour: C.red, dot: true }], ["projected by the pose found", { colour: C.blue, dot: true }]], [24, 40]);
}

export function icp({ moved, rounds, scan }) {
  const picture = new Picture();
  const chosen = [0, 1, 3, rounds.length - 1].map((k) => Math.min(k, rounds.length - 1));
  chosen.forEach((round, k) => {
    const [cos, sin, tx, ty] = rounds[round].motion;
    const plot = picture.axes({ x: [-1.6, 1.6], y: [-1.9, 1.9], in: [10 + 157 * k, 40, 160 + 157 * k, 330], equal: true, frame: false });
    plot.line(scan, { colour: C.grey, width: 2, close: true });
    plot.dots(moved.map(([x, y]) => [cos * x - sin * y + tx, sin * x + cos * y + ty]), { colour: C.orange, radius: 1.5 });
    picture.text(k === 3 ? `round ${round}` : round ? `round ${round}` : "start", [85 + 157 * k, 30]);
  });
  return picture;
}

export function registration({ angle, from, inliers, shift, to }) {
  const picture = new Picture(), view = viewFrom({ turn: 0.5, tilt: 0.45 });
  const moved = from.map(([x, y, z]) => [Math.cos(angle) * x - Math.sin(angle) * y + shift[0], Math.sin(angle) * x + Math.cos(angle) * y + shift[1], z + shift[2]]);
  const flat = [...moved, ...to].map(view), plot = picture.axes({ x: around(flat.map(([x]) => x)), y: around(flat.map(([, y]) => y)), in: [10, 10, 630, 350], equal: true, frame: false });
  moved.forEach((p, k) => {
    const [a, b] = [view(p), view(to[k])];
    if (!inliers[k]) plot.line([a, b], { colour: C.light, width: 1 });
    plot.dots([b], { colour: inliers[k] ? C.green : C.grey, radius: inliers[k] ? 6 : 2.5, fill: "#fff" });
    if (inliers[k]) plot.dots([a], { colour: C.green, radius: 2.5 });
  });
  return picture.legend([["matches found right (25)", { colour: C.green, dot: true }], ["wrong ones (75)", { colour: C.grey, dot: true }]], [24, 40]);
}

export function bundleAdjustment({ placed, points, started }) {
  const picture = new Picture();
  [["start", started, C.orange], ["solution", placed, C.blue]].forEach(([name, values, colour], k) => {
    const plot = picture.axes({ x: [-1.9, 1.9], y: [-1.9, 1.9], in: [10 + 315 * k, 30, 315 + 315 * k, 350], equal: true, frame: false });
    points.forEach(([x, , z], i) => {
      plot.line([[x, z], [values[3 * i], values[3 * i + 2]]], { colour, width: 1.2 });
      plot.dots([[x, z]], { colour: C.grey, radius: 1.5 });
      plot.dots([[values[3 * i], values[3 * i + 2]]], { colour, radius: 2, fill: "#fff" });
    });
    picture.text(`${name}, from above`, [165 + 315 * k, 24]);
  });
  return picture.legend([["truth", { colour: C.grey, dot: true }]], [20, 345]);
}

export function poseGraph({ driven, over, solved, truth }) {
  const picture = new Picture();
  [["odometry alone", driven, C.orange], ["with loop closures", solved, C.blue]].forEach(([name, poses, colour], k) => {
    const all = [...driven, ...truth], plot = picture.axes({ x: around(all.map(([, x]) => x)), y: around(all.map(([, , y]) => y)), in: [10 + 315 * k, 34, 315 + 315 * k, 350], equal: true, frame: false });
    plot.line(truth.map(([, x, y]) => [x, y]), { colour: C.light, width: 6 });
    if (k) for (const [a, b] of over.slice(120)) plot.line([a, b].map((i) => poses[i].slice(1)), { colour: C.green, width: 1.5 });
    plot.line(poses.map(([, x, y]) => [x, y]), { colour, width: 1.8 });
    picture.text(name, [165 + 315 * k, 24]);
  });
  return picture;
}

export function inverseKinematics({ arms, targets }) {
  const picture = new Picture(), plot = picture.axes({ x: [-0.4, 3], y: [-1.1, 2], in: [10, 10, 630, 350], equal: true, frame: false });
  arms.forEach((arm, k) => {
    const isLast = k === arms.length - 1, shade = 225 - Math.round((k / arms.length) * 90);
    plot.line(arm, { colour: isLast ? C.blue : `rgb(${shade},${shade + 6},${shade + 16})`, width: isLast ? 7 : 2 });
    if (isLast) plot.dots(arm, { colour: C.blue, fill: "#fff", radius: 5 });
  });
  plot.line(targets, { colour: C.orange, width: 1.5, dash: "4 4" });
  plot.dots(targets, { colour: C.orange, radius: 3 });
  return picture.legend([["targets", { colour: C.orange, dot: true }], ["the arm at the last one", { colour: C.blue }]], [24, 34]);
}

export function sketch({ drawn, longer, solved }) {
  const picture = new Picture();
  [["drawn", drawn, C.orange], ["solved", solved, C.blue], ["length = 5", longer, C.green]].forEach(([name, { circles, lines }, colour], row) => {
    const plot = picture.axes({ x: [-1.6, 6.6], y: [-1.4, 1.4], in: [110, 10 + 114 * row, 630, 120 + 114 * row], equal: true, frame: false });
    for (const { x, y, radius } of circles) {
      plot.line(Array.from({ length: 72 }, (_, k) => [x + radius * Math.cos((k * Math.PI) / 36), y + radius * Math.sin((k * Math.PI) / 36)]), { colour, width: 1.5, close: true });
      plot.dots([[x, y]], { colour, radius: 2.5 });
    }
    for (const [a, b, c, d] of lines) plot.line([[a, b], [c, d]], { colour, width: 2.5 });
    picture.text(name, [20, 70 + 114 * row], { anchor: "start" });
  });
  return picture;
}

export function customManifold({ base, found, truth }) {
  const picture = new Picture(), corners = [[0, 0], [1, 0], [0.5, Math.sqrt(3) / 2]];
  const plot = picture.axes({ x: [-0.1, 1.1], y: [-0.08, 0.95], in: [10, 10, 630, 350], equal: true, frame: false });
  const place = (mix) => [0, 1].map((axis) => mix.reduce((sum, share, k) => sum + share * corners[k][axis], 0));
  const colourOf = (mix) => `rgb(${[0, 1, 2].map((c) => Math.round(255 * Math.min(1, mix.reduce((sum, share, k) => sum + share * base[k][c], 0)))).join()})`;
  plot.line(corners, { colour: C.grey, close: true, width: 1.5 });
  found.forEach((mix, k) => {
    plot.line([place(truth[k]), place(mix)], { colour: C.ink, width: 1 });
    plot.dots([place(mix)], { colour: C.ink, fill: colourOf(mix), radius: 6, width: 0.8 });
  });
  corners.forEach((corner, k) => plot.dots([corner], { colour: C.ink, fill: colourOf([0, 1, 2].map((i) => (i === k ? 1 : 0))), radius: 10 }));
  return picture;
}

