// The order in which vitest begins the files of tests.
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The ends of the names of files that take about a minute, the longest first. Without a cache of earlier runs, vitest sorts
 * by project and by size: several of these are small, and would run last and alone, with an idle core beside them.
 */
const long = [
  "integration/langgraph/docs.test.ts",
  "integration/postgres/import-large.test.ts",
  "__test__/hostile-files.test.ts",
  "integration/postgres/faults-time.test.ts",
  "integration/langgraph-newest/docs.test.ts",
  "integration/langgraph-newest/crash.test.ts",
];

/** Begins the long files first, and the others in vitest's own order. */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = long.findIndex((end) => moduleId.endsWith(end));
      return at === -1 ? long.length : at;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of vitest's sequencer, not of an array
    const sorted = await super.sort(specifications);
    return sorted.toSorted((a, b) => place(a) - place(b));
  }
}
