/** The traits of the event streams, tasks and queues of MCP servers: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

const rows = { ordered: true, records: true } as const;
const noFork = "clients resume streams and poll tasks under the ids that they know";

export const events = { ...rows, noun: "session", namespaces: "part", insteadOfFork: noFork } satisfies Traits;

export const tasks = { ...rows, noun: "session", insteadOfFork: noFork } satisfies Traits;

export const queues = { ...rows, insteadOfFork: noFork } satisfies Traits;
