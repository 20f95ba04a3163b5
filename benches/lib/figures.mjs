// Formats figures for the tables. Times are in microseconds, sizes in bytes.

export function figure(value) {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

export function bytes(count) {
  if (count >= 1e9) return `${figure(count / 1e9)} GB`;
  return count >= 1e6 ? `${figure(count / 1e6)} MB` : `${figure(count / 1e3)} KB`;
}

/** Formats microseconds in us, ms or s, with three figures. */
export function time(us) {
  if (us >= 1e6) return `${figure(us / 1e6)} s`;
  return us >= 1000 ? `${figure(us / 1000)} ms` : `${figure(us)} us`;
}

/** Formats microseconds per operation as operations per second. */
export function rate(us) {
  return `${figure(1e6 / us)}/s`;
}

/** Returns how many times smaller the median of `ours` is. */
export function ratio(ours, theirs) {
  return theirs.median / ours.median;
}

/** Formats the ratio for a table. */
export function times(ours, theirs) {
  return `x${figure(ratio(ours, theirs))}`;
}

/** Formats a median with the least and the greatest value, in the median's unit: `1.06 ms (0.988–1.17)`. */
export function spread({ median, least, most }, unit = figure) {
  // For a rate, swap the bounds: the shortest time gives the highest rate.
  const [low, high] = (unit === rate ? [most, least] : [least, most]).map(unit);
  return ranged(unit(median), low, high);
}

/** The same for texts of figures. */
export function ranged(median, low, high) {
  return low === high ? median : `${median} (${inUnitOf(median, low)}–${inUnitOf(median, high)})`;
}

/** Says how much is added to each round trip, in a row's `variant`. */
export const delayed = (ms) => (ms === 0 ? "" : `${ms} ms`);

const SCALES = { us: 1, ms: 1e3, s: 1e6, KB: 1e3, MB: 1e6, GB: 1e9 };

/** Splits the text of a figure into its number and its unit. */
function parts(text) {
  const [, number, unit] = /^([\d,.-]+)(.*)$/.exec(text) ?? [undefined, text, ""];
  return { number, unit, scale: SCALES[unit.trim()] ?? 1 };
}

/** The number of `text` in the unit of `model`. */
function inUnitOf(model, text) {
  const [{ unit, scale }, found] = [parts(model), parts(text)];
  return found.unit === unit ? found.number : figure((valueOf(found.number) * found.scale) / scale);
}

/** The number that a figure's text begins with, in us, bytes or without a unit. */
export function valueOf(text) {
  const [first] = text.split(" (");
  const { number, scale } = parts(first);
  return Number(number.replaceAll(",", "")) * scale;
}
