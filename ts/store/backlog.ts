/** Counts a store's operations in progress, and the bytes of its snapshots that are not stored yet. */

import { type Bytes, Pieces } from "../bridge/bytes.js";
import { ForkpointError } from "../bridge/errors.js";
import type { NativeStore } from "../bridge/native.js";
import type { Format } from "../bridge/serializer.js";

/** Counts the operations in progress, so that `close` can wait until they end. One operation may make several calls. */
export class Activity {
  #count = 0;
  #waiting: Array<() => void> = [];

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.begin();
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  get isIdle(): boolean {
    return this.#count === 0;
  }

  /** Resolves when no operation is in progress. */
  idle(): Promise<void> {
    return this.isIdle ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** The approximate memory of a call, without its snapshot. */
const CALL_BYTES = 4_096;

/**
 * The snapshots of a store that are not stored yet, in bytes. A save takes its snapshot immediately and never waits for
 * the disk, so the backlog limits their memory.
 */
export class Backlog {
  readonly #most: number;
  /** The bytes of the waiting saves. */
  bytes = 0;

  constructor(maxQueueBytes: number) {
    this.#most = maxQueueBytes;
  }

  /** True if many more saves fit. */
  get isShort(): boolean {
    return this.bytes < this.#most / 8;
  }

  /** Admits a save before its snapshot, or throws `BUSY` if the backlog is full. If empty, it admits any save. */
  admit(): Held {
    if (this.bytes >= this.#most) {
      throw new ForkpointError(
        "BUSY",
        `the store has ${this.bytes} bytes waiting to be written, and maxQueueBytes is ${this.#most}. This call stored ` +
          "nothing. Await earlier saves and call again, or open the store with a higher maxQueueBytes",
      );
    }
    const held = new Held(this);
    return held;
  }
}

/** The bytes of one save in a backlog. */
export class Held {
  readonly #backlog: Backlog;
  #bytes = 0;
  #pieces: Pieces[] | undefined;

  constructor(backlog: Backlog) {
    this.#backlog = backlog;
    this.add(CALL_BYTES);
  }

  /** Counts bytes of the save. */
  add(bytes: number): void {
    this.#bytes += bytes;
    this.#backlog.bytes += bytes;
  }

  /** Counts bytes of the save's snapshot. They are unused after the save. */
  take(bytes: Bytes): void {
    this.add(bytes.byteLength);
    if (bytes instanceof Pieces) (this.#pieces ??= []).push(bytes);
  }

  /** Subtracts the save's bytes from the backlog. Called when the save has succeeded or failed. */
  release(): void {
    this.#backlog.bytes -= this.#bytes;
    this.#bytes = 0;
    if (this.#pieces !== undefined) for (const pieces of this.#pieces) pieces.letGo();
    this.#pieces = undefined;
  }

  /** Returns the engine of a store for this save. It counts what the save serializes and what the engine copies. */
  counting<Engine extends { native: NativeStore; format: Format }>(engine: Engine): Engine {
    const { format } = engine;
    const { name, tags, deserialize } = format;
    const serialize: Format["serialize"] = (value, path, fromToJSON) => {
      const serialized = format.serialize(value, path, fromToJSON);
      this.take(serialized.bytes);
      return serialized;
    };
    // Each save makes these objects. A spread with one more field takes about 3 µs.
    const { databasePath, backend, handle, call, fence } = engine.native;
    return {
      ...engine,
      format: { name, tags, serialize, deserialize, counter: this },
      native: { databasePath, backend, handle, call, fence, counter: this },
    };
  }
}
