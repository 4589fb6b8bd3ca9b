// Rotations in plain numbers, for making problems: quaternions x, y, z, w.

export const fromAngleAxis = (v) => {
  const angle = Math.hypot(...v);
  const s = angle > 1e-12 ? Math.sin(angle / 2) / angle : 0.5;
  return [s * v[0], s * v[1], s * v[2], Math.cos(angle / 2)];
};
export const toAngleAxis = ([x, y, z, w]) => {
  const sign = w < 0 ? -1 : 1, sine = Math.hypot(x, y, z);
  const k = sign * (sine > 1e-12 ? 2 * Math.atan2(sine, sign * w) / sine : 2);
  return [k * x, k * y, k * z];
};
export const multiply = ([a, b, c, d], [x, y, z, w]) =>
  [d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x, d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z];
export const conjugate = ([x, y, z, w]) => [-x, -y, -z, w];
export const rotate = (q, v) => multiply(multiply(q, [...v, 0]), conjugate(q)).slice(0, 3);
