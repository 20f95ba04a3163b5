/**
 * Hostile values, and a check that a method answers each of them with an error of the package. This file does not import
 * the package, because the tests of LangGraph use another copy of it.
 */

/** A revoked proxy. Every operation on it throws, also `Array.isArray`. */
export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Throws a value of which no text can be made. */
function fail(): never {
  // oxlint-disable-next-line no-throw-literal
  throw revoked();
}

const traps = ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor", "set", "defineProperty"] as const;

export function nested(depth: number, bottom: unknown = {}): object {
  let value = bottom;
  for (let i = 0; i < depth; i++) value = { deeper: value };
  return value as object;
}

/** Makes each hostile value, by its description. */
export const hostile: Record<string, () => unknown> = {
  "a revoked proxy": revoked,
  "a revoked proxy of a function": () => {
    const { proxy, revoke } = Proxy.revocable(() => {}, {});
    revoke();
    return proxy;
  },
  "a proxy that throws": () => new Proxy({}, Object.fromEntries(traps.map((trap) => [trap, fail]))),
  "an object that throws when it becomes a text": () => ({ toString: fail, valueOf: fail, toJSON: fail }),
  "an object of 5,000 levels": () => nested(5_000),
  "an object of 100,000 levels": () => nested(100_000),
  "a list with a revoked proxy": () => [revoked()],
  "a symbol": () => Symbol("s"),
  "a function": () => () => 1,
  "half of a surrogate pair": () => "\ud83d",
};

/** The variants of an argument: hostile values in its place, and in the place of each of its fields. */
export function* variants(good: unknown): Generator<[what: string, value: unknown]> {
  for (const [name, make] of Object.entries(hostile)) yield [name, make()];
  if (typeof good !== "object" || good === null) return;
  for (const key of Object.keys(good)) {
    const with_ = (property: PropertyDescriptor) =>
      Object.defineProperty(Array.isArray(good) ? [...good] : { ...good }, key, { enumerable: true, ...property });
    yield [`a getter that throws in ${key}`, with_({ get: fail })];
    for (const [name, make] of Object.entries(hostile)) yield [`${name} in ${key}`, with_({ value: make() })];
    for (const [what, value] of deeper((good as Record<string, unknown>)[key]))
      yield [`${what} in ${key}`, with_({ value })];
  }
}

/** The variants of a field that is an object itself. */
function* deeper(good: unknown): Generator<[what: string, value: unknown]> {
  if (typeof good !== "object" || good === null || !["Object", "Array"].includes(good.constructor.name)) return;
  for (const [what, value] of variants(good)) if (what.includes(" in ")) yield [what, value];
}

/** Ids of which each one must be treated as an opaque text. Some look like what a store may add to an id. */
export const hostileIds = [
  ["a", "A", "a ", " a", "ab", "1", "1:a", "1:a0:", "3:1:a", "1:", "a:b", ":", "0:", "0", "-1"],
  ["../../etc/passwd", "..", ".", "/", "\\", "C:\\x", "CON", "con.jsonl", "NUL", "a.jsonl"],
  ["%", "%2F", "a%", "_", "*", "?", "'", "'; DROP TABLE checkpoints; --", '"', "`", "[]", '["a"]', 'a["n"]', "{}"],
  ["a\nb", "a\r\nb", "\t", "\u0000", "a\u0000", "a\u0000b", "\u202Eabc", "\uFEFFa", "\uFFFD"],
  ["__proto__", "constructor", "toString", "null", "undefined", "cpv1-a-s5-t1-abcdef", "a-s5-t1-abcdef"],
  ["👩‍👩‍👧", "🜁 née", "ne\u0301e", "x".repeat(300), `${"x".repeat(299)}y`, "é".repeat(300)],
].flat();

/** Values that are no ids. */
export const notIds: unknown[] = [undefined, null, 7, 0, true, {}, [], ["a"], Symbol("a"), 1n, () => "a", Object("a")];

/** Strings that cannot be stored as an id: empty, too long, or with half of a surrogate pair. */
export const unusableIds = ["", "x".repeat(4_097), "é".repeat(2_049), "\ud83d", "a\ude00b"];

export type Methods = Record<string, (...given: any[]) => unknown>;

/**
 * Calls a method with every variant of its arguments. Returns how many calls there were, and what is wrong: errors of
 * other packages or with other codes, and calls that threw instead of returning a promise.
 */
export async function wrongAnswers(
  subject: Methods,
  method: string,
  args: () => unknown[],
  isForkpointError: (error: unknown) => boolean,
): Promise<{ calls: number; wrong: string[] }> {
  const wrong: string[] = [];
  let calls = 0;
  for (const [at, good] of args().entries()) {
    for (const [what, value] of variants(good)) {
      calls += 1;
      const where = `${method}(), argument ${at}, ${what}`;
      let answer: unknown;
      try {
        answer = subject[method]!(...args().with(at, value));
      } catch {
        wrong.push(`${where}: thrown synchronously`);
        continue;
      }
      try {
        if (isIterable(answer)) for await (const _ of answer);
        else await answer;
      } catch (error) {
        // The error of a callback of the user stays as it is.
        if (what === "a revoked proxy of a function in onProgress") continue;
        if (isForkpointError(error) && codes.has((error as { code: string }).code)) continue;
        wrong.push(`${where}: ${describe(error)}`);
      }
    }
  }
  return { calls, wrong };
}

/** An id that nothing is stored under is not found, and two calls with the same id may conflict. */
const codes = new Set(["INVALID_ARGUMENT", "NOT_FOUND", "CONFLICT"]);

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function describe(error: unknown): string {
  try {
    return String((error as Error).stack).slice(0, 400);
  } catch {
    return "what was thrown has no text";
  }
}
