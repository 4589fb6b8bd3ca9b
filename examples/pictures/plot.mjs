// Pictures as SVG text: plots with axes, and small meshes. Every number is rounded, so the same values give the same file.

export const COLOURS = { ink: "#1f2937", grey: "#9ca3af", light: "#e5e7eb", blue: "#2563eb", orange: "#ea580c", green: "#059669", purple: "#7c3aed", red: "#dc2626" };

const round = (v) => {
  if (!Number.isFinite(v)) throw new Error(`a picture can't show ${v}`);
  return String(Math.round(v * 100) / 100);
};
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;" })[c]);

/** Round steps, about `count` of them, between two numbers. */
function ticksBetween(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => power * factor >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

/** Whole powers of ten between two numbers; all of them, or some where there are many. */
function decadesBetween(low, high) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const every = Math.max(1, Math.ceil((last - first) / 6));
  return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, k) => 10 ** (first + k * every));
}

/** A picture of `width` × `height` units that plots are placed in. */
export class Picture {
  #parts = [];
  constructor(width = 640, height = 360) { Object.assign(this, { width, height }); }

  add(part) { this.#parts.push(part); return this; }

  line(points, { colour = COLOURS.ink, width = 2, dash, fill = "none", close = false, opacity } = {}) {
    const path = points.map(([x, y], k) => `${k ? "L" : "M"}${round(x)} ${round(y)}`).join("");
    return this.add(`<path d="${path}${close ? "Z" : ""}" fill="${fill}" stroke="${colour}" stroke-width="${round(width)}" stroke-linejoin="round" stroke-linecap="round"${dash ? ` stroke-dasharray="${dash}"` : ""}${opacity ? ` opacity="${opacity}"` : ""}/>`);
  }

  dot([x, y], { colour = COLOURS.ink, radius = 3, fill = colour, width = 1.2 } = {}) {
    return this.add(`<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" fill="${fill}" stroke="${colour}" stroke-width="${width}"/>`);
  }

  rect(x, y, width, height, colour) { return this.add(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${colour}"/>`); }

  text(words, [x, y], { anchor = "middle", size = 13, colour = COLOURS.ink, turned = false } = {}) {
    return this.add(`<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" font-size="${size}" fill="${colour}"${turned ? ` transform="rotate(-90 ${round(x)} ${round(y)})"` : ""}>${escape(words)}</text>`);
  }

  /** Names of lines, in a column from a place on. */
  legend(entries, [x, y]) {
    entries.forEach(([words, { colour, dot = false, dash }], k) => {
      const at = y + 19 * k;
      if (dot) this.dot([x + 10, at - 4], { colour, radius: 4 });
      else this.line([[x, at - 4], [x + 20, at - 4]], { colour, width: 2.5, dash });
      this.text(words, [x + 27, at], { anchor: "start" });
    });
    return this;
  }

  /** A plot in a part of the picture: the functions that place values, after axes and ticks were drawn. */
  axes({ x, y, in: [left, top, right, bottom] = [56, 20, this.width - 20, this.height - 44], equal = false, frame = true, log = {}, names = {} }) {
    let [[x0, x1], [y0, y1]] = [x, y];
    if (equal) {
      const scale = Math.max((x1 - x0) / (right - left), (y1 - y0) / (bottom - top));
      const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2], [w, h] = [(scale * (right - left)) / 2, (scale * (bottom - top)) / 2];
      [[x0, x1], [y0, y1]] = [[cx - w, cx + w], [cy - h, cy + h]];
    }
    const scaled = (low, high, from, to, isLog) => (isLog
      ? (v) => from + ((Math.log(v) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (to - from)
      : (v) => from + ((v - low) / (high - low)) * (to - from));
    const px = scaled(x0, x1, left, right, log.x), py = scaled(y0, y1, bottom, top, log.y);
    if (frame) {
      const shown = (v, isLog) => (isLog && (v < 1e-2 || v >= 1e4) ? `1e${Math.round(Math.log10(v))}` : String(v)).replace("-", "−");
      for (const v of log.x ? decadesBetween(x0, x1) : ticksBetween(x0, x1, 6)) {
        this.line([[px(v), top], [px(v), bottom]], { colour: COLOURS.light, width: 1 }).text(shown(v, log.x), [px(v), bottom + 17], { size: 12 });
      }
      for (const v of log.y ? decadesBetween(y0, y1) : ticksBetween(y0, y1, 5)) {
        this.line([[left, py(v)], [right, py(v)]], { colour: COLOURS.light, width: 1 }).text(shown(v, log.y), [left - 7, py(v) + 4], { anchor: "end", size: 12 });
      }
      this.line([[left, top], [left, bottom], [right, bottom]], { colour: COLOURS.grey, width: 1 });
      if (names.x) this.text(names.x, [(left + right) / 2, bottom + 36]);
      if (names.y) this.text(names.y, [left - 40, (top + bottom) / 2], { turned: true });
    }
    const at = ([a, b]) => [px(a), py(b)];
    return {
      at,
      line: (points, style) => this.line(points.map(at), style),
      dots: (points, style) => { for (const point of points) this.dot(at(point), style); },
      band: (points, colour) => this.line([...points.map(([x, low]) => at([x, low])), ...points.map(([x, , high]) => at([x, high])).reverse()], { fill: colour, colour: "none", width: 0, close: true, opacity: 0.25 }),
    };
  }

  /** The file's text. */
  svg(title) {
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" role="img" font-family="system-ui, sans-serif"><title>${escape(title)}</title>`
      + `<rect width="${this.width}" height="${this.height}" rx="10" fill="#fff"/>${this.#parts.join("")}</svg>\n`;
  }
}

export const extent = (values) => [Math.min(...values), Math.max(...values)];
/** The extent with a margin, a part of it. */
export const around = (values, margin = 0.06) => {
  const [low, high] = extent(values), room = (high - low || 1) * margin;
  return [low - room, high + room];
};

/** A view from above and aside: turned by `turn` about the upright axis `up`, tilted by `tilt`. */
export function viewFrom({ turn = 0.6, tilt = 0.5, up = 2 } = {}) {
  return (p) => {
    const [a, b, z] = up === 2 ? [p[0], p[1], p[2]] : [p[2], p[0], p[1]];
    const [x, depth] = [Math.cos(turn) * a - Math.sin(turn) * b, Math.sin(turn) * a + Math.cos(turn) * b];
    return [x, Math.cos(tilt) * z + Math.sin(tilt) * depth, Math.sin(tilt) * z - Math.cos(tilt) * depth];
  };
}

/** Draws triangles, the farthest first, shaded by how they face the viewer; `colour(t)` is rgb of a triangle. */
export function drawMesh(plot, picture, points, triangles, view, colour = () => [147, 180, 235]) {
  const seen = points.map(view);
  const faces = [];
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => seen[triangles[t + k]]);
    const [u, v] = [b, c].map((p) => p.map((value, k) => value - a[k]));
    const normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], size = Math.hypot(...normal) || 1;
    const light = 0.5 + 0.5 * Math.abs((0.3 * normal[0] + 0.45 * normal[1] + 0.84 * normal[2]) / size);
    faces.push({ depth: a[2] + b[2] + c[2], corners: [a, b, c], fill: `rgb(${colour(t / 3).map((v) => Math.round(Math.min(255, v * light))).join()})` });
  }
  for (const { corners, fill } of faces.sort((a, b) => a.depth - b.depth)) {
    picture.line(corners.map(plot.at), { fill, colour: fill === "none" ? COLOURS.ink : "rgba(31,41,55,0.35)", width: 0.5, close: true });
  }
}
