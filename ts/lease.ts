/**
 * Leases of runs. A process that recovers a run holds the run's lease meanwhile, so that no other process recovers the
 * run too. See `src/contract/lease.rs`.
 */

import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isForkpointError } from "./errors.js";
import type { NativeStore } from "./native.js";
import { Contract } from "./wire.js";

/** A run of the contract `space`. */
export interface RunKey {
  space: string;
  run: string;
}

interface Holding {
  holder: string;
  until: number;
  from: string | null;
  attempts: number;
}

interface LeaseCalls {
  read(fields: { of: RunKey }): (Holding & { token: string }) | null;
  take(fields: { of: RunKey; token: string; expired: string | undefined; holding: Holding; savedAt: number }): null;
  renew(fields: { of: RunKey; token: string; holding: Holding; savedAt: number }): null;
  release(fields: { token: string }): null;
}

const calls = new Contract<LeaseCalls>("lease");

let named: string | undefined;

/**
 * Names the machine. Two containers may have the same host name, and process ids of their own. On Linux, the name of the
 * process's namespace tells them apart.
 */
function machine(): string {
  named ??= `${hostname()} (${processNamespace()})`;
  return named;
}

function processNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return process.platform;
  }
}

/** Returns true if the process with this name was on this machine and has ended. */
function hasEnded(name: string): boolean {
  const pid = Number(/^process (\d+) on /.exec(name)?.[1]);
  if (!Number.isSafeInteger(pid) || name !== `process ${pid} on ${machine()}`) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** The reason why a lease was not taken. */
export type NotTaken =
  /** Another process holds the lease. `until`: when it expires unless it is renewed, in ms since the epoch. */
  | { holder: string; until: number }
  /** The processes that held the lease before have crashed this often in a row, each from the same checkpoint. */
  | { crashes: number };

export class Lease {
  readonly #native: NativeStore;
  readonly #of: RunKey;
  readonly #token: string;
  readonly #holding: Holding;
  readonly #ttlMs: number;
  readonly #renewal: NodeJS.Timeout;
  #renewing: Promise<unknown> = Promise.resolve();

  private constructor(native: NativeStore, of: RunKey, token: string, holding: Holding, ttlMs: number) {
    this.#native = native;
    this.#of = of;
    this.#token = token;
    this.#holding = holding;
    this.#ttlMs = ttlMs;
    this.#renewal = setInterval(() => this.#renew(), Math.max(1, Math.floor(ttlMs / 3)));
    this.#renewal.unref();
  }

  /**
   * Takes the lease of a run for `ttlMs`, and renews it until it is released. `from` is the id of the run's newest
   * checkpoint. A process that crashes leaves its lease behind: it ends when it expires, or at once if the process was on
   * this machine. After `maxAttempts` such leases from the same checkpoint, the lease is not given again.
   */
  static async take(
    native: NativeStore,
    of: RunKey,
    from: string,
    { leaseTtlMs: ttlMs, maxAttempts }: { leaseTtlMs: number; maxAttempts: number },
  ): Promise<Lease | NotTaken> {
    for (;;) {
      const current = await calls.call(native, "read", { of });
      const now = Date.now();
      if (current !== null && current.until > now && !hasEnded(current.holder)) return current;
      const crashes = current !== null && current.from === from ? current.attempts : 0;
      if (crashes >= maxAttempts) return { crashes };
      const attempts = crashes + 1;
      const holding = { holder: `process ${process.pid} on ${machine()}`, until: now + ttlMs, from, attempts };
      const token = randomUUID();
      try {
        await calls.call(native, "take", { of, token, expired: current?.token, holding, savedAt: now });
        return new Lease(native, of, token, holding, ttlMs);
      } catch (error) {
        // Another process was faster: read its lease.
        if (!isForkpointError(error) || error.code !== "CONFLICT") throw error;
      }
    }
  }

  /** A renewal that fails is tried again. If none succeeds, the lease expires, and another process can take it. */
  #renew(): void {
    const holding = { ...this.#holding, until: Date.now() + this.#ttlMs };
    this.#renewing = calls
      .call(this.#native, "renew", { of: this.#of, token: this.#token, holding, savedAt: Date.now() })
      .catch(() => {});
  }

  /** Ends the lease. */
  async release(): Promise<void> {
    clearInterval(this.#renewal);
    await this.#renewing;
    await calls.call(this.#native, "release", { token: this.#token });
  }
}
