// Mutants of lists.
import { ReferenceStore } from "./reference.mjs";
import { without } from "./wrong.mjs";

/** A store whose lists have something else. */
const listing = (change) =>
  class extends ReferenceStore {
    listWorkflowRuns = async (filter) => change(await super.listWorkflowRuns(filter), filter ?? {});
  };

/** A store that lists runs as if the filter were another one. */
const filtering = (change) =>
  class extends ReferenceStore {
    listWorkflowRuns = async (filter = {}) => super.listWorkflowRuns(change(filter));
  };

/** A store that matches runs in another way. */
const matching = (matches) =>
  class extends ReferenceStore {
    matches = (run, filter) => matches(run, filter, (other) => super.matches(run, other));
  };

/** A store that makes pages in another way. */
const paging = (pageOf) =>
  class extends ReferenceStore {
    pageOf = (runs, page, perPage) => pageOf(runs, page, perPage, (...other) => super.pageOf(...other));
  };

const pattern = (text) => new RegExp(`^${text.replaceAll("%", ".*").replaceAll("_", ".")}$`);

export const mutants = {
  "mastra/list-nothing": listing(({ runs, total }) => ({ runs, total: total || undefined })),
  "mastra/list-all": listing(({ runs, total }) => {
    for (const run of runs) run.createdAt = run.createdAt.toISOString();
    return { runs, total };
  }),
  "mastra/list-newest-first": class extends ReferenceStore {
    newestFirst = () => [...this.runs.values()].toSorted((a, b) => b.updatedAt - a.updatedAt);
  },
  "mastra/list-of-a-workflow": filtering((filter) => without(filter, "workflowName")),
  "mastra/list-by-status": class extends ReferenceStore {
    // A column that only persistWorkflowSnapshot fills.
    async persistWorkflowSnapshot(given) {
      await super.persistWorkflowSnapshot(given);
      this.find(given).status = given.snapshot.status;
    }
    matches(run, { status, ...filter }) {
      return super.matches(run, filter) && (status === undefined || run.status === status);
    }
  },
  "mastra/list-of-a-resource": matching((run, filter, matches) =>
    matches({ ...filter, resourceId: run.resourceId && filter.resourceId }),
  ),
  // Both dates are needed.
  "mastra/list-between-dates": filtering(({ fromDate, toDate, ...filter }) =>
    fromDate && toDate ? { fromDate, toDate, ...filter } : filter,
  ),
  "mastra/list-dates-inclusive": matching(
    (run, filter, matches) => matches(filter) && run.createdAt.getTime() !== filter.toDate?.getTime(),
  ),
  "mastra/list-with-all-filters": filtering((filter) =>
    filter.resourceId !== undefined && filter.workflowName !== undefined ? without(filter, "status") : filter,
  ),
  "mastra/list-of-a-thread": matching((run, filter, matches) => {
    const { context } = run.snapshot;
    // The other place where a thread can be is forgotten.
    const threadId = context.input?.messageListState?.memoryInfo?.threadId;
    return matches(filter) && (filter.threadId === undefined || threadId === filter.threadId);
  }),
  "mastra/list-pages": listing(({ runs, total }, { page, perPage }) => ({
    runs,
    total: page === undefined || !perPage ? total : runs.length,
  })),
  "mastra/list-pages-of-one-moment": class extends ReferenceStore {
    // What was updated last comes first.
    newestFirst = () => super.newestFirst().toSorted((a, b) => b.createdAt - a.createdAt || b.updatedAt - a.updatedAt);
  },
  "mastra/list-without-pages": paging((runs, page = 0, perPage = 100, pageOf) => pageOf(runs, page, perPage)),
  "mastra/list-pages-of-nothing": paging((runs, page, perPage, pageOf) => pageOf(runs, page, perPage || undefined)),
  "mastra/list-wrong-per-page": paging((runs, page, perPage, pageOf) =>
    pageOf(runs, page, perPage && Math.max(0, Math.ceil(perPage))),
  ),
  "mastra/list-negative-page": paging((runs, page, perPage, pageOf) =>
    pageOf(runs, page && Math.max(0, page), perPage),
  ),
  "mastra/list-results": class extends ReferenceStore {
    // Lists are made of what was persisted.
    persisted = new Map();
    async persistWorkflowSnapshot(given) {
      await super.persistWorkflowSnapshot(given);
      this.persisted.set(this.keyOf(given.workflowName, given.runId), structuredClone(given.snapshot));
    }
    async listWorkflowRuns(filter) {
      const { runs, total } = await super.listWorkflowRuns(filter);
      for (const run of runs) run.snapshot = this.persisted.get(this.keyOf(run.workflowName, run.runId));
      return { runs, total };
    }
  },
  "mastra/filters-are-no-patterns": matching(
    (run, { resourceId, ...filter }, matches) =>
      matches(filter) && (resourceId === undefined || pattern(resourceId).test(run.resourceId)),
  ),
};
