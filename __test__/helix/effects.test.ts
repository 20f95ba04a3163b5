// Effects of sessions: each runs once, and goes with its session.
import { type EffectAttempt, effects } from "forkpoint/effects";
import { describe, expect, it } from "vitest";
import { kinds } from "../helpers.js";
import { checkpoint, texts, withSession } from "./helpers.js";

const session = (run: string) => ({ space: "helix", run });

describe.each(kinds)("effects of sessions, over %s", (kind) => {
  it("run once for each session, also after it was rewound, and go with the session", async () => {
    const store = await withSession(kind);
    const once = effects(store);
    const keys: string[] = [];
    const charge = ({ idempotencyKey }: EffectAttempt) => keys.push(idempotencyKey);
    await store.createSession("t", { agentType: "a" });
    await store.appendMessages("s", texts(2));
    await store.saveCheckpoint(checkpoint(1));
    expect(await once(session("s"), "charge", charge)).toBe(1);
    await store.appendMessages("s", texts(2, 2));
    await store.saveCheckpoint(checkpoint(2));
    expect(await once(session("s"), "charge", charge)).toBe(1);
    expect(await once(session("t"), "charge", charge)).toBe(2);

    await store.rewindTo("s", "s/1");
    expect(await once(session("s"), "charge", charge)).toBe(1);
    expect(await once.list(session("s"))).toMatchObject([{ key: "charge", state: "done", checkpointId: "s/1" }]);

    await store.deleteSession("s");
    expect(await once.list(session("s"))).toEqual([]);
    expect(await once.list(session("t"))).toHaveLength(1);
    await store.createSession("s", { agentType: "a" });
    expect(await once(session("s"), "charge", charge)).toBe(3);
    expect(new Set(keys).size).toBe(3);
  });
});
