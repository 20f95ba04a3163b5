// Mutants of `listSessionSummaries` and of times.
import { ReferenceStore, fold } from "./reference.mjs";

/** A store whose summaries are made in another way. */
const folds = (summaryAfter) =>
  class extends ReferenceStore {
    summaryAfter = (log, entries) => summaryAfter(log, entries, (...of) => super.summaryAfter(...of));
  };

/** A store whose times are other ones. */
const times = (mtimeAfter) =>
  class extends ReferenceStore {
    mtimeAfter = (log, entries) => mtimeAfter(this, super.mtimeAfter(log, entries), entries, log);
  };

const mainOf = ({ projectKey, sessionId }) => ({ projectKey, sessionId });

export const summaries = {
  "claude-agent-sdk/summary-folds": folds(({ key, mtime }, entries) => fold(undefined, key, entries, { mtime })),
  "claude-agent-sdk/summary-verbatim": folds((log, entries, folded) => {
    const { data, ...more } = folded(log, entries);
    return { ...more, data: { ...data, tag: undefined } };
  }),
  "claude-agent-sdk/summary-fresh": folds((log, entries, folded) => ({
    ...folded(log, entries),
    mtime: log.mtime - 1,
  })),
  "claude-agent-sdk/summary-per-session": class extends ReferenceStore {
    async listSessionSummaries() {
      return [...this.logs.values()].map(({ summary }) => summary).filter((summary) => summary !== undefined);
    }
  },
  "claude-agent-sdk/summary-of-subpath": class extends ReferenceStore {
    add(log, texts) {
      super.add(log, texts);
      const main = this.logs.get(this.idOf(mainOf(log.key)));
      if (main === undefined || main === log) return;
      main.summary = super.summaryAfter(
        main,
        texts.map((text) => JSON.parse(text)),
      );
    }
  },
  "claude-agent-sdk/summary-of-repeats": class extends ReferenceStore {
    async append(key, entries) {
      await super.append(key, entries);
      const log = this.logs.get(this.idOf(key));
      if (log?.summary !== undefined) log.summary = this.summaryAfter(log, entries);
    }
  },
  "claude-agent-sdk/mtime-whole-ms": times((_, mtime) => mtime + 0.25),
  "claude-agent-sdk/mtime-of-storage": times(
    (_, mtime, entries) => Date.parse(entries.at(-1).timestamp ?? "") || mtime,
  ),
  "claude-agent-sdk/mtime-later": times((_, mtime, _entries, log) => log.mtime || mtime),
  "claude-agent-sdk/mtime-grows": times(({ now }) => Math.floor(now() / 100) * 100),
  "claude-agent-sdk/mtime-of-subpath": class extends ReferenceStore {
    changed({ key, mtime }) {
      const main = this.logs.get(this.idOf(mainOf(key)));
      if (main !== undefined) main.mtime = mtime;
    }
  },
  "claude-agent-sdk/mtime-of-nothing": class extends ReferenceStore {
    async append(key, entries) {
      await super.append(key, entries);
      const log = this.logs.get(this.idOf(key));
      if (log !== undefined) log.mtime = this.now() + 1;
    }
  },
};
