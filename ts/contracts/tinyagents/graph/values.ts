/** The values of a run, as bytes: states, updates, arguments, questions and answers. */

import { type Format, type Serialized, deserialize } from "../../../bridge/serializer.js";

/**
 * A value in its serialized form. Every reader gets a copy, so tasks share no objects, and a task sees the same value
 * as after a resume.
 */
export class Snapshot {
  readonly #stored: Serialized;
  readonly #format: Format;

  private constructor(stored: Serialized, format: Format) {
    this.#stored = stored;
    this.#format = format;
  }

  /** `path` names the value in error messages. */
  static of(value: unknown, format: Format, path: string): Snapshot {
    // Wrap the value in a list, because serializers take only objects.
    return new Snapshot(format.serialize([value], path), format);
  }

  /** Returns a fresh copy, which the receiver may change. */
  fresh(): any {
    const { tag, bytes } = this.#stored;
    return (deserialize(this.#format, tag, bytes, "a value of the graph") as [unknown])[0];
  }
}

/** The names of values in error messages. */
export const [SEND, UPDATE] = ["the argument of a Send", "the update"] as const;

/** A value for a function of the user. */
export type Given = Pick<Snapshot, "fresh">;

/** Keeps a value for a function of the user, because the caller may change an object before the function gets it. */
export function given(value: unknown, format: Format, path: string): Given {
  return typeof value === "object" && value !== null ? Snapshot.of(value, format, path) : { fresh: () => value };
}
