// Registers LangGraph's suite with the vitest that loads this module. Each checkpointer is on a target of its own.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreModule } from "../../suite/types.js";
import type { Order } from "./upstream.js";

const order = JSON.parse(process.env["FORKPOINT_CONFORMANCE"]!) as Order;
const { validate, deltaChannelHistoryTests } = await import(order.suite);
const store: StoreModule = await import(order.module);

const places = new Map<unknown, { target: string; folder: string }>();
let made = 0;

const initializer = {
  // The suite skips tests for some names of packages.
  checkpointerName: "checkpointer",
  async createCheckpointer() {
    const folder = await mkdtemp(join(tmpdir(), "forkpoint-conformance-"));
    const number = `${process.pid}_${Date.now().toString(36)}_${made++}`;
    const target = order.target.replaceAll("{dir}", folder).replaceAll("{n}", number);
    if (target === order.target) await store.wipe!({ target });
    const checkpointer = await store.open({ target });
    places.set(checkpointer, { target, folder });
    return checkpointer;
  },
  async destroyCheckpointer(checkpointer: unknown) {
    const { target, folder } = places.get(checkpointer)!;
    places.delete(checkpointer);
    await store.close?.(checkpointer);
    if (target !== order.target) await store.wipe?.({ target });
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  },
};

validate(initializer);
// Earlier versions have none.
deltaChannelHistoryTests?.(initializer);
