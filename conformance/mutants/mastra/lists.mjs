// Mutants of lists.
import { ReferenceStore } from "./reference.mjs";
import { without } from "./wrong.mjs";

/** A store whose lists have something else. */
const listing = (change) =>
  class extends ReferenceStore {
    async listWorkflowRuns(filter) {
      return change(await super.listWorkflowRuns(filter), filter ?? {});
    }
  };

/** A store that lists runs as if the filter were another one. */
const filtering = (change) =>
  class extends ReferenceStore {
    async listWorkflowRuns(filter = {}) {
      return await super.listWorkflowRuns(change(filter));
    }
  };

/** A store that matches runs in another way. */
const matching = (matches) =>
  class extends ReferenceStore {
    matches(run, filter) {
      return matches(run, filter, (other) => super.matches(run, other));
    }
  };

/** A store that makes pages in another way. */
const paging = (pageOf) =>
  class extends ReferenceStore {
    pageOf(runs, page, perPage) {
      return pageOf(runs, page, perPage, (...other) => super.pageOf(...other));
    }
  };

const pattern = (text) => new RegExp(`^${text.replaceAll("%", ".*").replaceAll("_", ".")}$`);

export const mutants = {
  "mastra/list-nothing": { store: listing(({ runs, total }) => ({ runs, total: total || undefined })) },
  "mastra/list-all": {
    store: listing(({ runs, total }) => {
      for (const run of runs) run.createdAt = run.createdAt.toISOString();
      return { runs, total };
    }),
  },
  "mastra/list-newest-first": {
    store: class extends ReferenceStore {
      newestFirst() {
        return [...this.runs.values()].toSorted((a, b) => b.updatedAt - a.updatedAt);
      }
    },
  },
  "mastra/list-of-a-workflow": { store: filtering((filter) => without(filter, "workflowName")) },
  "mastra/list-by-status": {
    store: class extends ReferenceStore {
      // A column that only persistWorkflowSnapshot fills.
      async persistWorkflowSnapshot(given) {
        await super.persistWorkflowSnapshot(given);
        this.find(given).status = given.snapshot.status;
      }
      matches(run, { status, ...filter }) {
        return super.matches(run, filter) && (status === undefined || run.status === status);
      }
    },
  },
  "mastra/list-of-a-resource": {
    store: matching((run, filter, matches) => matches({ ...filter, resourceId: run.resourceId && filter.resourceId })),
  },
  "mastra/list-between-dates": {
    // Both dates are needed.
    store: filtering(({ fromDate, toDate, ...filter }) =>
      fromDate && toDate ? { fromDate, toDate, ...filter } : filter,
    ),
  },
  "mastra/list-dates-inclusive": {
    store: matching((run, filter, matches) => matches(filter) && run.createdAt.getTime() !== filter.toDate?.getTime()),
  },
  "mastra/list-with-all-filters": {
    store: filtering((filter) =>
      filter.resourceId !== undefined && filter.workflowName !== undefined ? without(filter, "status") : filter,
    ),
  },
  "mastra/list-of-a-thread": {
    store: matching((run, filter, matches) => {
      const { context } = run.snapshot;
      // The other place where a thread can be is forgotten.
      const threadId = context.input?.messageListState?.memoryInfo?.threadId;
      return matches(filter) && (filter.threadId === undefined || threadId === filter.threadId);
    }),
  },
  "mastra/list-pages": {
    store: listing(({ runs, total }, { page, perPage }) => ({
      runs,
      total: page === undefined || !perPage ? total : runs.length,
    })),
  },
  "mastra/list-pages-of-one-moment": {
    store: class extends ReferenceStore {
      // What was updated last comes first.
      newestFirst() {
        return super.newestFirst().toSorted((a, b) => b.createdAt - a.createdAt || b.updatedAt - a.updatedAt);
      }
    },
  },
  "mastra/list-without-pages": {
    store: paging((runs, page = 0, perPage = 100, pageOf) => pageOf(runs, page, perPage)),
  },
  "mastra/list-pages-of-nothing": {
    store: paging((runs, page, perPage, pageOf) => pageOf(runs, page, perPage || undefined)),
  },
  "mastra/list-wrong-per-page": {
    store: paging((runs, page, perPage, pageOf) => pageOf(runs, page, perPage && Math.max(0, Math.ceil(perPage)))),
  },
  "mastra/list-negative-page": {
    store: paging((runs, page, perPage, pageOf) => pageOf(runs, page && Math.max(0, page), perPage)),
  },
  "mastra/list-results": {
    store: class extends ReferenceStore {
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
  },
  "mastra/filters-are-no-patterns": {
    store: matching(
      (run, { resourceId, ...filter }, matches) =>
        matches(filter) && (resourceId === undefined || pattern(resourceId).test(run.resourceId)),
    ),
  },
};
