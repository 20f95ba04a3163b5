// A folder of text files is put back under open stores: the version of a session then comes back with other messages.
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../helpers.js";
import { at, checkpoint, contents, stateOf, texts } from "./helpers.js";

it("a checkpoint keeps its own messages after the session's were restored and went on differently", async () => {
  const [live, copy] = [join(folder(), "live"), join(folder(), "copy")];
  const [one, two] = [at(`jsonl:${live}`), at(`jsonl:${live}`)];
  const save = (store: typeof one, id: string, messages: object[]) =>
    store.saveCheckpoint({ ...checkpoint(1), id, messageCount: undefined, state: stateOf({ messages }) } as never);
  const [begun, ours, theirs] = [texts(20), texts(20, 20, "ours"), texts(20, 20, "theirs")];
  await one.createSession("s", { agentType: "a" });
  await one.appendMessages("s", begun);
  await save(one, "first", begun);
  cpSync(live, copy, { recursive: true });

  // The first store now knows that the session has the 40 messages of this checkpoint.
  await one.appendMessages("s", ours);
  await save(one, "second", [...begun, ...ours]);
  await save(one, "third", [...begun, ...ours]);
  rmSync(live, { recursive: true });
  cpSync(copy, live, { recursive: true });
  await two.appendMessages("s", theirs);

  await save(one, "fourth", [...begun, ...ours]);
  for (const store of [one, two, at(`jsonl:${live}`)]) {
    expect(contents((await store.getCheckpoint("fourth"))!.state.messages)).toEqual(contents([...begun, ...ours]));
    expect(contents((await store.getMessages("s", { limit: 100 })).messages)).toEqual(contents([...begun, ...theirs]));
    expect(await store.getCheckpoint("third")).toBe(null);
  }
});
