// Draws lines on logarithmic axes as an SVG, for light and dark pages.

const [WIDTH, HEIGHT] = [860, 470];
const PLOT = { left: 70, right: 640, top: 58, bottom: 416 };
/** The distance of two labels, at least. */
const LINE = 17;

const STYLE = `
  text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #57606a }
  .title { font-size: 16px; font-weight: 600; fill: #1f2328 }
  .back { fill: #ffffff }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  path { fill: none; stroke-width: 2.25; stroke-linejoin: round }
  .dashed { stroke-dasharray: 5 4; stroke-width: 1.75 }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 }
    .title { fill: #f0f6fc }
    .back { fill: #0d1117 }
    .grid { stroke: #30363d }
  }`;

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const at = (number) => Number(number.toFixed(1));

/** A scale from values to places, with the powers of ten as marks. */
function scale([least, most], [from, to]) {
  const [low, high] = [Math.log10(least), Math.log10(most)];
  return (value) => at(from + ((Math.log10(value) - low) / (high - low)) * (to - from));
}

/**
 * Returns the SVG. `x` is `{ label, marks, unit }`: marks are values with a line each, and `unit` turns one into text.
 * `y` is the same. A line is `{ name, light, dark, dashed, points }`: its colours on light and on dark pages, and its
 * points as `[x, y]`. The name stands at the end of the line.
 */
export function picture({ title, x, y, lines }) {
  const [across, up] = [
    scale([x.marks[0], x.marks.at(-1)], [PLOT.left, PLOT.right]),
    scale([y.marks[0], y.marks.at(-1)], [PLOT.bottom, PLOT.top]),
  ];
  const colours = lines.map(
    ({ light }, number) => `.line-${number} { stroke: ${light} } .name-${number} { fill: ${light} }`,
  );
  const darks = lines.map(
    ({ dark }, number) => `.line-${number} { stroke: ${dark} } .name-${number} { fill: ${dark} }`,
  );
  const names = apart(lines.map(({ name, points }, number) => ({ name, number, y: up(points.at(-1)[1]) })));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}\n  ${colours.join("\n  ")}\n  @media (prefers-color-scheme: dark) {\n    ${darks.join("\n    ")}\n  }\n</style>`,
    `<rect class="back" width="${WIDTH}" height="${HEIGHT}" rx="8"/>`,
    `<text class="title" x="${PLOT.left}" y="32">${escaped(title)}</text>`,
    ...x.marks.flatMap((mark) => [
      `<line class="grid" x1="${across(mark)}" y1="${PLOT.top}" x2="${across(mark)}" y2="${PLOT.bottom}"/>`,
      `<text x="${across(mark)}" y="${PLOT.bottom + 20}" text-anchor="middle">${escaped(x.unit(mark))}</text>`,
    ]),
    ...y.marks.flatMap((mark) => [
      `<line class="grid" x1="${PLOT.left}" y1="${up(mark)}" x2="${PLOT.right}" y2="${up(mark)}"/>`,
      `<text x="${PLOT.left - 8}" y="${up(mark) + 4}" text-anchor="end">${escaped(y.unit(mark))}</text>`,
    ]),
    `<text x="${(PLOT.left + PLOT.right) / 2}" y="${HEIGHT - 12}" text-anchor="middle">${escaped(x.label)}</text>`,
    ...lines.map(({ points, dashed }, number) => {
      const path = points.map(([one, other]) => `${across(one)} ${up(other)}`).join(" L");
      return `<path class="line-${number}${dashed ? " dashed" : ""}" d="M${path}"/>`;
    }),
    ...names.map(({ name, number, y }) => {
      return `<text class="name-${number}" x="${PLOT.right + 10}" y="${at(y + 4)}">${escaped(name)}</text>`;
    }),
    "</svg>\n",
  ].join("\n");
}

/** Moves labels down until no two of them touch, and then up if the last one has left the plot. */
function apart(labels) {
  const sorted = labels.toSorted((a, b) => a.y - b.y);
  for (const [number, label] of sorted.entries()) {
    if (number > 0) label.y = Math.max(label.y, sorted[number - 1].y + LINE);
  }
  for (const [number, label] of [...sorted.entries()].toReversed()) {
    label.y = Math.min(label.y, number + 1 < sorted.length ? sorted[number + 1].y - LINE : PLOT.bottom);
  }
  return sorted;
}
