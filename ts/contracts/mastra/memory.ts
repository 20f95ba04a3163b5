/** Makes the domain `memory` from Mastra's package: threads with their messages, and resources. */

import type {
  MemoryStorage,
  PruneOptions,
  PruneResult,
  RetentionPolicy,
  StorageMessage,
  StorageOrderBy,
  StorageResourceType,
  StorageThread,
} from "@mastra/core/storage";
import { show, typeError } from "../../bridge/errors.js";
import { copyOf } from "../../bridge/serializer.js";
import type { Engine } from "../../store/engine.js";
import type { StoreHandle } from "../../store/handle.js";
import { listOf, nonEmpty, requireIds, text } from "../../store/ids.js";
import { removing } from "../../store/removing.js";
import { readInTurns } from "../shared/records.js";
import { fieldsOf, filterOf, includedOf, isObject, pagingOf, rangeOf, threadsOf } from "./arguments.js";
import { counted, inDirection, neighbours, select } from "./listing.js";
import { messageDraft, messageOf, resourceDraft, resourceOf, threadDraft, threadOf } from "./memory-values.js";
import type { Peer } from "./peer.js";
import type { Draft, Row, Rows } from "./rows.js";
import { type CopiedThread, copyThread, moveThread, unknownThread } from "./threads.js";
import { type Source, memory as calls } from "./wire.js";

const [MESSAGES, THREADS] = [40, 100];
/** The number of rows that a batch of `prune` removes. */
const BATCH = 1_000;

const LIST = ["threadId", "resourceId", "include", "filter", "page", "perPage", "orderBy", "includeTotal"];
/** The order of removal: messages before their threads. */
const TABLES = ["messages", "resources", "threads"] as const;

/** Makes the class for one copy of Mastra's package. */
export function memoryOf(peer: Peer): new (handle: StoreHandle, rows: Rows) => MemoryStorage {
  return class Memory extends peer.MemoryStorage {
    static override readonly retentionTables = Object.fromEntries(
      TABLES.map((name) => [name, { table: `mastra_${name}`, column: "createdAt", indexed: true }]),
    );
    readonly supportsPartialThreadUpdate = true;
    readonly #handle: StoreHandle;
    readonly #rows: Rows;

    constructor(handle: StoreHandle, rows: Rows) {
      super();
      this.#handle = handle;
      this.#rows = rows;
    }

    override getThreadById(args: unknown): Promise<StorageThread | null> {
      return this.#handle.run(async (engine) => {
        const { threadId, resourceId } = fieldsOf(args, ["threadId", "resourceId"]);
        const found = await this.#rows.read(engine, "threads", nonEmpty(threadId, "threadId"));
        if (found === undefined || (resourceId !== undefined && found.group !== resourceId)) return null;
        return threadOf(engine, found);
      });
    }

    override saveThread(args: unknown): Promise<StorageThread> {
      return this.#handle.save(async (engine) => {
        const thread = copyOf(fieldsOf(args, ["thread"])["thread"], "thread") as StorageThread;
        const draft = threadDraft(engine, thread);
        await this.#rows.put(engine, draft);
        return thread;
      });
    }

    updateThread(args: unknown): Promise<StorageThread> {
      return this.#handle.save(async (engine) => {
        const given = fieldsOf(args, ["id", "title", "metadata"]);
        const id = nonEmpty(given["id"], "id");
        const { title, metadata } = copyOf({ title: given["title"], metadata: given["metadata"] }, "thread");
        return this.#changeThread(engine, id, (thread) => ({
          ...thread,
          ...(title !== undefined && title !== null && { title: text(title, "title") }),
          metadata: { ...thread.metadata, ...(metadata as object | undefined) },
        }));
      });
    }

    updateThreadMetadata(args: unknown): Promise<StorageThread | null> {
      return this.#handle.save((engine) => {
        const given = fieldsOf(args, ["id", "resourceId", "update"]);
        const { resourceId, update } = given;
        if (typeof update !== "function") throw typeError(`update must be a function, but is ${show(update)}`);
        const of = { table: "threads" as const, id: nonEmpty(given["id"], "id") };
        return this.#rows.change<StorageThread | null>(engine, of, (found) => {
          if (found === undefined || (resourceId !== undefined && found.group !== resourceId)) return { result: null };
          const thread = threadOf(engine, found);
          const metadata = update(thread) as Record<string, unknown> | undefined;
          if (!metadata) return { result: thread };
          const result = { ...thread, metadata: { ...thread.metadata, ...metadata }, updatedAt: new Date() };
          return { result, draft: threadDraft(engine, result) };
        });
      });
    }

    #changeThread(
      engine: Engine,
      id: string,
      change: (thread: StorageThread) => StorageThread,
    ): Promise<StorageThread> {
      return this.#rows.change(engine, { table: "threads", id }, (found) => {
        if (found === undefined) throw unknownThread(id);
        const result = { ...change(threadOf(engine, found)), updatedAt: new Date() };
        return { result, draft: threadDraft(engine, result) };
      });
    }

    async deleteThread(args: unknown): Promise<void> {
      await this.#handle.run(async (engine) => {
        const id = nonEmpty(fieldsOf(args, ["threadId"])["threadId"], "threadId");
        const native = removing(engine.native, { space: calls.name, run: id, ns: "" }, false);
        await this.#rows.remove({ ...engine, native }, { table: ["messages", "threads"], lineages: [id] });
      });
    }

    override listThreads(args: unknown = {}) {
      return this.#handle.run(async (engine) => {
        const { filter, orderBy, ...given } = fieldsOf(args, ["page", "perPage", "orderBy", "filter"]);
        const paging = pagingOf(given, THREADS);
        const { field, direction } = this.parseOrderBy(orderBy as StorageOrderBy | undefined);
        const { metadata, ...of } = fieldsOf(filter ?? {}, ["resourceId", "metadata"], "filter");
        this.validateMetadataKeys(metadata as Record<string, unknown> | undefined);
        const wanted = Object.entries((metadata ?? {}) as object);
        const source: Source = { table: "threads", resource: filterOf(of, "resourceId") };
        const isOf = (own: unknown) =>
          isObject(own) && wanted.every(([key, value]) => peer.jsonValueEquals(own[key], value));
        const accepts = wanted.length === 0 ? undefined : (row: Row) => isOf(threadOf(engine, row).metadata);
        const order = { ...paging, direction, isCounted: true };
        const byCreation = field === "createdAt";
        const found = await select(
          this.#rows,
          engine,
          [source],
          { accepts },
          byCreation ? order : { ...order, offset: 0, limit: Infinity },
        );
        const { offset, limit } = paging;
        const rows = byCreation
          ? found.rows
          : inDirection(found.rows, direction, (a, b) => a.savedAt - b.savedAt).slice(offset, offset + limit);
        const threads = await readInTurns(rows, (row) => threadOf(engine, row));
        return { threads, ...counted(paging, found.total, threads.length) };
      });
    }

    override saveMessages(args: unknown): Promise<{ messages: StorageMessage[] }> {
      return this.#handle.save(async (engine) => {
        const given = fieldsOf(args, ["messages"])["messages"];
        const messages = listOf((one, what) => messageDraft(engine, one, what), given, "messages");
        // The last message of an id wins, at the place of the first.
        const drafts = new Map(messages.map(({ draft }) => [draft.id, draft]));
        if (drafts.size > 0) await this.#rows.saveMessages(engine, [...drafts.values()]);
        const shown = messages.map(({ message }) => message);
        return { messages: shown.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime()) };
      });
    }

    updateMessages(args: unknown): Promise<StorageMessage[]> {
      return this.#handle.save(async (engine) => {
        const given = fieldsOf(args, ["messages"])["messages"];
        const changes = listOf(changeOf, given, "messages");
        for (;;) {
          const found = await this.#rows.find(engine, "messages", [...new Set(changes.map(({ id }) => id))]);
          const rows = new Map(found.map((row) => [row.id, row]));
          const messages = new Map(found.map((row) => [row.id, messageOf(engine, row)]));
          const updated = [];
          for (const { id, ...change } of changes) {
            const before = messages.get(id);
            if (before === undefined) continue;
            messages.set(id, changed(before, change));
            updated.push(id);
          }
          const touched = updated.flatMap((id) => [rows.get(id)!.lineage, messages.get(id)!.threadId!]);
          const made = new Map(updated.map((id) => [id, messageDraft(engine, messages.get(id), "messages")]));
          const drafts = [...made].map(([id, { draft }]): [Row, Draft] => [rows.get(id)!, draft]);
          if (drafts.length > 0 && !(await this.#rows.replace(engine, drafts, [...new Set(touched)]))) continue;
          return updated.map((id) => made.get(id)!.message);
        }
      });
    }

    async deleteMessages(messageIds: unknown): Promise<void> {
      await this.#handle.run(async (engine) => {
        const ids = requireIds(messageIds ?? [], "messageIds");
        const found = await this.#rows.find(engine, "messages", ids);
        if (found.length === 0) return;
        const touch = [...new Set(found.map(({ lineage }) => lineage))];
        await this.#rows.remove(engine, { table: "messages", ids: found.map(({ id }) => id), touch });
      });
    }

    override listMessages(args: unknown) {
      return this.#handle.run(async (engine) => {
        const given = fieldsOf(args, LIST);
        const resource = filterOf(given, "resourceId");
        const sources = threadsOf(given["threadId"]).map((thread) => ({
          table: "messages" as const,
          thread,
          resource,
        }));
        return this.#select(engine, sources, resource, given);
      });
    }

    listMessagesByResourceId(args: unknown) {
      return this.#handle.run(async (engine) => {
        const given = fieldsOf(args, LIST);
        const resource = nonEmpty(given["resourceId"], "resourceId");
        return this.#select(engine, [{ table: "messages", resource }], resource, given);
      });
    }

    async #select(engine: Engine, sources: Source[], resource: string | undefined, given: Record<string, unknown>) {
      const paging = pagingOf(given, MESSAGES);
      const { direction } = this.parseOrderBy(given["orderBy"] as StorageOrderBy | undefined, "ASC");
      const filter = fieldsOf(given["filter"] ?? {}, ["dateRange", "metadata"], "filter");
      const range = rangeOf(filter["dateRange"]);
      const metadata = peer.validateStorageMetadataFilter(filter["metadata"]);
      const included = includedOf(given["include"]);
      const accepts =
        metadata && ((row: Row) => peer.storageMessageMatchesMetadataFilter(messageOf(engine, row).content, metadata));
      const order = { ...paging, direction, isCounted: given["includeTotal"] !== false };
      const { rows, total } = await select(this.#rows, engine, sources, { ...range, accepts }, order);
      const page = counted(paging, total, rows.length);
      const read = (row: Row) => messageOf(engine, row);
      if (included.length === 0) return { messages: await readInTurns(rows, read), ...page };
      const known = new Set(rows.map(({ id }) => id));
      const all = [...rows, ...(await neighbours(this.#rows, engine, included, resource, known))];
      // Neighbors may already include all messages.
      const own = all.filter(({ lineage }) => sources.some(({ thread }) => thread === lineage));
      const isAll = metadata === undefined && order.isCounted && own.length >= total;
      const messages = await readInTurns(inDirection(all, direction), read);
      return { messages, ...page, hasMore: page.hasMore && !isAll };
    }

    listMessagesById(args: unknown): Promise<{ messages: StorageMessage[] }> {
      return this.#handle.run(async (engine) => {
        const ids = requireIds(fieldsOf(args, ["messageIds"])["messageIds"], "messageIds");
        const found = await this.#rows.find(engine, "messages", [...new Set(ids)]);
        const inOrder = found.toSorted((a, b) => a.position.createdAt - b.position.createdAt);
        return { messages: await readInTurns(inOrder, (row) => messageOf(engine, row)) };
      });
    }

    copyThread(args: unknown): Promise<CopiedThread> {
      return this.#handle.save((engine) => copyThread(this.#rows, engine, args));
    }

    updateThreadResourceId(args: unknown): Promise<StorageThread> {
      return this.#handle.save((engine) => moveThread(this.#rows, engine, args));
    }

    override getResourceById(args: unknown): Promise<StorageResourceType | null> {
      return this.#handle.run(async (engine) => {
        const id = nonEmpty(fieldsOf(args, ["resourceId"])["resourceId"], "resourceId");
        const found = await this.#rows.read(engine, "resources", id);
        return found === undefined ? null : resourceOf(engine, found);
      });
    }

    override saveResource(args: unknown): Promise<StorageResourceType> {
      return this.#handle.save(async (engine) => {
        const resource = copyOf(fieldsOf(args, ["resource"])["resource"], "resource") as StorageResourceType;
        await this.#rows.put(engine, resourceDraft(engine, resource));
        return resource;
      });
    }

    updateResource(args: unknown): Promise<StorageResourceType> {
      return this.#handle.save(async (engine) => {
        const given = fieldsOf(args, ["resourceId", "workingMemory", "metadata"]);
        const id = nonEmpty(given["resourceId"], "resourceId");
        const { workingMemory, metadata } = copyOf(
          {
            workingMemory: given["workingMemory"] as string | undefined,
            metadata: given["metadata"] as object | undefined,
          },
          "resource",
        );
        return this.#rows.change(engine, { table: "resources", id }, (found) => {
          const now = new Date();
          const before = found === undefined ? { id, createdAt: now, updatedAt: now } : resourceOf(engine, found);
          const result = {
            ...before,
            ...(workingMemory !== undefined && { workingMemory }),
            metadata: { ...before.metadata, ...metadata },
            updatedAt: now,
          };
          return { result, draft: resourceDraft(engine, result) };
        });
      });
    }

    async dangerouslyClearAll(): Promise<void> {
      await this.#handle.run(async (engine) => {
        for (const table of TABLES)
          for await (const lineage of this.#rows.lineages(engine, table))
            await this.#rows.remove(engine, { table, lineages: [lineage] });
        this.#rows.forgetThreads();
      });
    }

    /** Removes rows that are older than the `maxAge` of their table. */
    override prune(policies: Record<string, RetentionPolicy>, options?: PruneOptions): Promise<PruneResult[]> {
      return this.#handle.run(async (engine) => {
        const results = [];
        for (const name of TABLES) {
          const policy = policies[name];
          if (policy === undefined) continue;
          const deleteBatch = this.#rows.older(engine, name, peer.retentionCutoffMs(policy));
          const batchSize = policy.batchSize ?? BATCH;
          const result = await peer.runRetentionBatches({ deleteBatch, batchSize, ...(options && { options }) });
          results.push({ domain: "memory", table: `mastra_${name}`, ...result });
        }
        return results;
      });
    }
  } as unknown as new (handle: StoreHandle, rows: Rows) => MemoryStorage;
}

/** A change of a message. Fields that are left out stay. */
interface Change extends Partial<StorageMessage> {
  id: string;
}

function changeOf(given: unknown, what: string): Change {
  const { id, ...fields } = copyOf(
    fieldsOf(given, ["id", "threadId", "resourceId", "role", "type", "content", "createdAt"], what),
    what,
  );
  const defined = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { id: nonEmpty(id, `${what}.id`), ...Object.fromEntries(defined) };
}

/** Merges the fields of the content and of its metadata, like Mastra's stores. */
function changed(before: StorageMessage, { content, threadId, ...change }: Omit<Change, "id">): StorageMessage {
  const after = { ...before, ...change, threadId: threadId || before.threadId! };
  if (content === undefined || content === null) return after;
  if (!isObject(content) || !isObject(before.content)) return { ...after, content };
  const [old, added] = [before.content["metadata"], content["metadata"]];
  const metadata = old && added ? { metadata: { ...(old as object), ...(added as object) } } : {};
  return { ...after, content: { ...before.content, ...content, ...metadata } };
}
