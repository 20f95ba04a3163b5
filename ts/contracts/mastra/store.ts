/** Makes the class `ForkpointMastraStore` from Mastra's package. */

import type { MemoryStorage, WorkflowRun, WorkflowRunState, WorkflowsStorage } from "@mastra/core/storage";
import { show, typeError } from "../../bridge/errors.js";
import { withStoreMethods } from "../../store/contract-store.js";
import { StoreHandle } from "../../store/handle.js";
import { setHandle } from "../../store/handle-of.js";
import { listOf, nonEmpty, text } from "../../store/ids.js";
import type { Lease, LeaseOptions } from "../../store/lease.js";
import { anything, readRecord, splitOptions } from "../../store/options.js";
import { type RunRef, readRun } from "../../store/run-ref.js";
import type { Store } from "../../store/store.js";
import type {
  ForkpointMastraStore,
  ImportRunsOptions,
  MastraMemorySource,
  MastraSource,
  MastraStoreOptions,
} from "./forkpoint-mastra-store.js";
import { memoryOf } from "./memory.js";
import type { Peer } from "./peer.js";
import { Rows } from "./rows.js";
import { Runs } from "./runs.js";
import { mastra, memory } from "./wire.js";
import { workflowsOf } from "./workflows.js";

const ownOptions = { id: nonEmpty, retention: anything };
const importOptions = { statuses: (given: unknown, name: string) => listOf(text, given, name) };

/** The statuses of unfinished runs. */
const OPEN = ["pending", "running", "suspended", "waiting", "paused"];
const PAGE = 100;

/** Makes the store class for one copy of Mastra's package: that of `import` or of `require`. */
export function storeOf(peer: Peer): typeof ForkpointMastraStore {
  const [Workflows, Memory] = [workflowsOf(peer), memoryOf(peer)];

  const made = class ForkpointMastraStore extends peer.MastraCompositeStore {
    readonly #handle: StoreHandle;
    readonly #known: { runs: Runs; rows: Rows };
    readonly #options: { id: string; retention?: object };
    override stores: { workflows: WorkflowsStorage; memory: MemoryStorage };

    constructor(
      target: string | URL | Store,
      options?: MastraStoreOptions,
      known = { runs: new Runs(), rows: new Rows() },
    ) {
      const { own, others } = splitOptions(options, ownOptions);
      const { id = "forkpoint", retention } = own as { id?: string; retention?: object };
      super({ id, name: "ForkpointMastraStore", ...(retention && { retention }) });
      this.#handle = StoreHandle.of(target, others, mastra);
      setHandle(this, this.#handle);
      this.#known = known;
      this.#options = { id, ...(retention && { retention }) };
      this.stores = {
        workflows: new Workflows(this.#handle, known.runs),
        memory: new Memory(this.#handle, known.rows),
      };
    }

    async importRuns(source: MastraSource, options?: ImportRunsOptions): Promise<{ copied: number; skipped: number }> {
      const { statuses = OPEN } = readRecord(options, "options", importOptions);
      const from =
        "listWorkflowRuns" in Object(source) ? source : (source as { stores?: any } | null)?.stores?.workflows;
      if (typeof (from as { listWorkflowRuns?: unknown } | undefined)?.listWorkflowRuns !== "function") {
        throw typeError(`source must be a storage of Mastra with workflows, but is ${show(source)}`);
      }
      const domain = from as { listWorkflowRuns(args: object): Promise<{ runs: WorkflowRun[] }> };
      const counts = { copied: 0, skipped: 0 };
      for (let page = 0; ; page++) {
        const { runs } = await domain.listWorkflowRuns({ page, perPage: PAGE });
        for (const { snapshot, resourceId, ...run } of runs) {
          const read = (typeof snapshot === "string" ? JSON.parse(snapshot) : snapshot) as WorkflowRunState;
          if (!statuses.includes(read.status)) continue;
          const { workflows } = this.stores;
          const isNew = (await workflows.loadWorkflowSnapshot(run)) === null;
          counts[isNew ? "copied" : "skipped"]++;
          // Mastra's stores return null or undefined for a run without a resource.
          if (isNew)
            await workflows.persistWorkflowSnapshot({ ...run, ...(resourceId && { resourceId }), snapshot: read });
        }
        if (runs.length < PAGE) return counts;
      }
    }

    async importMemory(source: MastraMemorySource) {
      const from = ("listThreads" in Object(source) ? source : (source as { stores?: any } | null)?.stores?.memory) as
        MemoryStorage | undefined;
      if (typeof from?.listThreads !== "function") {
        throw typeError(`source must be a storage of Mastra with memory, but is ${show(source)}`);
      }
      const { memory: to } = this.stores;
      const counts = { threads: 0, messages: 0, resources: 0, skipped: 0 };
      const resources = new Set<string>();
      const orderBy = { field: "createdAt", direction: "ASC" };
      for (let page = 0; ; page++) {
        const { threads } = await from.listThreads({ page, perPage: PAGE, orderBy });
        for (const thread of threads) {
          resources.add(thread.resourceId);
          if ((await to.getThreadById({ threadId: thread.id })) !== null) {
            counts.skipped++;
            continue;
          }
          for (let at = 0; ; at++) {
            // A store may leave messages out of a page, so the length of a page is no end mark.
            const { messages, hasMore } = await from.listMessages({
              threadId: thread.id,
              page: at,
              perPage: PAGE,
              orderBy,
            });
            await to.saveMessages({ messages });
            counts.messages += messages.length;
            if (!hasMore) break;
          }
          // Save the thread last. If the import is stopped, the next import repeats it.
          await to.saveThread({ thread });
          counts.threads++;
        }
        if (threads.length < PAGE) break;
      }
      for (const resourceId of resources) {
        const resource = await from.getResourceById({ resourceId });
        if (resource === null || (await to.getResourceById({ resourceId })) !== null) continue;
        await to.saveResource({ resource });
        counts.resources++;
      }
      return counts;
    }

    lease(run: RunRef, options?: LeaseOptions): Promise<Lease> {
      const isThread = (run as { space?: unknown } | null | undefined)?.space === memory.name;
      return isThread
        ? this.#handle.leaseOf(readRun(run, memory.name), options ?? {})
        : this.#handle.lease(run, options);
    }

    withLease(lease: Lease): ForkpointMastraStore {
      return new ForkpointMastraStore(this.#handle.withLease(lease).asStore, this.#options, this.#known);
    }
  };
  return withStoreMethods(made, "exclusive", "stop", "stats", "check", "vacuum", "close", Symbol.asyncDispose);
}
