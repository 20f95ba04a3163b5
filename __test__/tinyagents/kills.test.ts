// Kills processes in the middle of puts and putWrites. Every acknowledged call must be stored, and no call in part.
import { type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder, run } from "../helpers.js";
import { at, expectSound, idsOf, write } from "./helpers.js";
import { randomNumbers, seed } from "./random.js";

const namespace = ["sub"];

describe("processes that put checkpoints and writes, and are killed at random moments", () => {
  it("leave every acknowledged call, and no part of another", async () => {
    const random = randomNumbers(1);
    const file = join(folder(), "threads.db");
    const acknowledged = { put: 0, writes: 0 };
    for (let round = 0; round < 8; round++) {
      // Every second round, two processes write to the file at once.
      const writers = round % 2 === 0 ? [`a${round}`] : [`a${round}`, `b${round}`];
      const ends = await Promise.all(
        writers.map((writer) => {
          const after = 1 + Math.floor(random() * 150);
          const waitMs = random() * 5;
          let heard = 0;
          const onLine = (_: string, child: ChildProcess) => {
            heard += 1;
            if (heard === after) setTimeout(() => child.kill("SIGKILL"), waitMs);
          };
          return run("thread.mjs", ["write", file, writer], onLine);
        }),
      );
      const message = `seed ${seed}, round ${round}`;
      const store = at(file);
      for (const [of, { signal, lines, errors }] of ends.entries()) {
        expect({ signal, errors }, message).toEqual({ signal: "SIGKILL", errors: "" });
        const threadId = writers[of]!;
        const numberOf = (checkpointId: string) => Number(checkpointId.split("-")[1]);
        const stored = new Set(idsOf(await store.list(threadId)));
        for (const line of lines) {
          const [kind, checkpointId] = line.split(" ") as ["put" | "writes", string];
          // The last line may have been cut.
          if (line === lines.at(-1) && !/^(put|writes) [ab]\d-\d+$/.test(line)) continue;
          const config = { threadId, checkpointId, namespace };
          acknowledged[kind] += 1;
          if (kind === "put") expect(stored.has(checkpointId), `${message}, ${line}`).toBe(true);
          else {
            // Writes are read with their checkpoint, which may not have been put before the kill.
            if (!stored.has(checkpointId)) await store.put({ ...config, state: "late" });
            expect(await store.getWrites(config), `${message}, ${line}`).toHaveLength(3);
          }
        }
        for (const checkpointId of stored) {
          const payload = numberOf(checkpointId);
          const all = [0, 1, -1].map((idx) => write({ taskId: "t", idx, payload }));
          const writes = await store.getWrites({ threadId, checkpointId, namespace });
          expect([[], all], message).toContainEqual(writes);
          const { state } = (await store.get(threadId, checkpointId, namespace))!;
          expect(state, message).toEqual({ writer: threadId, n: payload, text: "x".repeat(2_000) });
        }
      }
      await expectSound(store);
      await store.close();
    }
    expect(Math.min(acknowledged.put, acknowledged.writes)).toBeGreaterThan(50);
  });
});
