/** A state whose lists grow, and random mutations of it. The same seed makes the same mutations. */

type Item = Record<string, unknown>;

export interface State {
  input: unknown;
  scratch: Record<string, unknown> & { messages: Item[]; deep: { more: Item[] } };
  artifacts: Record<string, unknown>;
}

const NUMBERS = [0, -0, 1, -5, 2 ** 31, NaN, 1e300, 1.5];
const TEXTS = ["", "a", "ü", "日本", "x".repeat(300), "\ud800"];
const SCALARS = [...NUMBERS, ...TEXTS, true, false, null];
const KEYS = ["a", "b", "c", "role", "content", "日", "é", "1"];

export class Mutations {
  #seed: number;
  readonly #scalars: unknown[];

  /** `scalars` are further values that a state may have. */
  constructor(seed: number, scalars: unknown[] = []) {
    this.#seed = seed;
    this.#scalars = [...SCALARS, ...scalars];
  }

  #random(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed / 2 ** 32;
  }

  #whole(below: number): number {
    return Math.floor(this.#random() * below);
  }

  #one<T>(of: readonly T[]): T {
    return of[this.#whole(of.length)]!;
  }

  /** Returns true with this probability. */
  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #value(depth: number): unknown {
    const kind = this.#random();
    if (depth > 2 || kind < 0.6) return this.#one(this.#scalars);
    if (kind < 0.7) return new Date(this.#whole(1_000));
    if (kind < 0.85) return Array.from({ length: this.#whole(4) }, () => this.#value(depth + 1));
    return this.#object(depth + 1);
  }

  #object(depth: number): Item {
    return Object.fromEntries(
      Array.from({ length: this.#whole(5) }, () => [this.#one(KEYS), this.#value(depth)] as const),
    );
  }

  #item(): Item {
    const parts = Array.from({ length: 16 + this.#whole(4) }, () => this.#object(2));
    // A list in an item may be long enough to be a list that grows.
    return { ...this.#object(1), id: this.#whole(1e9), ...(this.chance(0.03) && { parts }) };
  }

  state(): State {
    const items = (length: number) => Array.from({ length }, () => this.#item());
    return {
      input: this.#object(1),
      scratch: { messages: items(14 + this.#whole(6)), n: 0, 日本: "ü日", deep: { more: items(16 + this.#whole(3)) } },
      artifacts: this.#object(1),
    };
  }

  /** Mutates a state, or returns another one. */
  mutate(state: State): State {
    const { scratch } = state;
    const { messages, deep } = scratch;
    const list = this.#one([messages, messages, deep.more]);
    if (list.length === 0) list.push(this.#item());
    const inside = this.#one(objectsIn(this.#one(list)));
    switch (this.#whole(23)) {
      case 0:
      case 1:
      case 2:
        scratch.messages = [...messages, this.#item()];
        break;
      case 3:
        list.push(this.#item());
        break;
      case 4:
        scratch["n"] = this.#value(0);
        break;
      case 5:
      case 6:
        // Frozen objects cannot be mutated.
        if (Object.isFrozen(inside)) break;
        if (Array.isArray(inside)) inside.push(this.#value(1));
        else inside[this.#one(KEYS)] = this.#value(1);
        break;
      case 7:
        if (!Object.isFrozen(inside) && !Array.isArray(inside)) delete inside[this.#one(KEYS)];
        break;
      case 8:
        if (Array.isArray(inside) && inside.length > 0 && !Object.isFrozen(inside))
          inside[this.#whole(inside.length)] = this.#value(1);
        break;
      case 9:
        state.artifacts[this.#one(KEYS)] = this.#value(0);
        break;
      case 10:
        // The last message is in the state twice.
        if (this.chance(0.03)) state.artifacts["last"] = list.at(-1);
        else delete state.artifacts["last"];
        break;
      case 11:
        if (this.chance(0.03)) messages.push(this.#one(deep.more));
        break;
      case 12:
        scratch.messages = messages.slice(1 + this.#whole(2));
        break;
      case 13:
        if (this.chance(0.05)) Object.assign(list, { named: 1 });
        else delete (list as { named?: number }).named;
        break;
      case 14:
        if (this.chance(0.1)) return structuredClone(state);
        break;
      case 15:
        list.splice(this.#whole(list.length), 1);
        break;
      case 16: {
        const date = Object.values(this.#one(list)).find((value) => value instanceof Date);
        if (date !== undefined) date.setTime(this.#whole(99));
        break;
      }
      case 17: {
        const [one, other] = [this.#one(list), this.#one(list)];
        if (one !== other && !Object.isFrozen(one) && this.chance(0.1)) one["shared"] = other["a"];
        break;
      }
      case 18:
        if (this.chance(0.5)) for (const object of objectsIn(this.#one(list))) Object.freeze(object);
        break;
      case 19:
        // As many names as holes: the array has as many keys as an array without either.
        if (!Array.isArray(inside) || inside.length < 2 || Object.isFrozen(inside)) break;
        delete inside[this.#whole(inside.length - 1)];
        Object.assign(inside, { name: this.#value(2) });
        break;
      case 20: {
        const date = Object.values(this.#one(list)).find((value) => value instanceof Date);
        const name = this.#one(["toJSON", "toISOString"]);
        if (date !== undefined && this.chance(0.1))
          Object.defineProperty(date, name, { value: () => "own", enumerable: this.chance(0.5), configurable: true });
        break;
      }
      case 21: {
        const parts = list.find(({ parts: each }) => Array.isArray(each) && !Object.isFrozen(each))?.["parts"] as
          Item[] | undefined;
        parts?.push(this.#object(2));
        break;
      }
      default:
        list.splice(this.#whole(list.length), 1, { ...this.#one(list) });
    }
    if (scratch.messages.length > 40) scratch.messages = scratch.messages.slice(-20);
    if (deep.more.length > 40) deep.more.length = 20;
    return state;
  }
}

/** The object, and the arrays and plain objects in it. */
function objectsIn(object: object, found: Array<Item | unknown[]> = []): Array<Item | unknown[]> {
  found.push(object as Item);
  for (const value of Object.values(object)) {
    const nested =
      typeof value === "object" && value !== null && !(value instanceof Date) && !ArrayBuffer.isView(value);
    if (nested && !found.includes(value as Item) && found.length < 200) objectsIn(value as object, found);
  }
  return found;
}
