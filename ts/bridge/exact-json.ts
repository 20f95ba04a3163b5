/**
 * Finds the first part of a value that JSON does not store exactly. The value must be the plain data of `plainCopy`.
 * Returns a description that begins with the part's path, or undefined if JSON stores the entire value exactly.
 */
export function lostInJson(value: unknown, path: string, seen = new Set<object>()): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0)
        ? undefined
        : `${path} is ${Object.is(value, -0) ? "-0" : value}`;
    case "object":
      return value === null ? undefined : lostInObject(value, path, seen);
    default:
      return `${path} is ${value === undefined ? "undefined" : `a value of the type ${typeof value}`}`;
  }
}

function lostInObject(value: object, path: string, seen: Set<object>): string | undefined {
  if (seen.has(value)) return `${path} is an object that appears twice in the value`;
  seen.add(value);
  const brand = Object.prototype.toString.call(value).slice(8, -1);
  if (brand !== "Object" && brand !== "Array") return `${path} has the type ${brand}`;
  const array = Array.isArray(value);
  const entries = Object.entries(value);
  if (array && !isDense(value)) return `${path} is an array with holes or named properties`;
  for (const [key, item] of entries) {
    const lost = lostInJson(item, array ? `${path}[${key}]` : `${path}.${key}`, seen);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** Returns true if an array has neither holes nor named properties. */
export function isDense(array: readonly unknown[]): boolean {
  const keys = Object.keys(array);
  // Names come after all indices.
  return keys.length === array.length && (keys.length === 0 || keys.at(-1) === String(keys.length - 1));
}
