// What deletes a person's data: see docs/personal-data.md.
import { foldSessionSummary } from "@anthropic-ai/claude-agent-sdk";
import { type FoldSessionSummary, SessionStore } from "forkpoint/claude-agent-sdk";
import { forgets } from "../../__test__/personal-data.js";

forgets("Claude Agent SDK", "delete({ projectKey, sessionId })", {
  open: (target, options) =>
    new SessionStore(target, { ...options, foldSessionSummary: foldSessionSummary as FoldSessionSummary }),
  async store(store, person) {
    const key = { projectKey: "-work", sessionId: person };
    const message = { role: "user", content: `My mail is ${person}@example.com.` };
    await store.append(key, [{ type: "user", uuid: `u-${person}`, message }]);
    await store.append({ ...key, subpath: `subagents/${person}` }, [{ type: "user", uuid: `s-${person}`, message }]);
  },
  remove: (store, sessionId) => store.delete({ projectKey: "-work", sessionId }),
});
