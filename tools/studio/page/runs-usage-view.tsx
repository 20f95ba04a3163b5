// The tokens in the list of runs: the cell of a run, and the progress of a sort by tokens.
import { count, counted, shown } from "./format.js";
import * as list from "./runs-data.js";
import * as usage from "./runs-usage.js";
import { costText, tokenCount, tokensText } from "./tokens.js";
import { Button } from "./ui.js";

/** The tokens and the cost of a run. Empty until they are read. */
export function Tokens({ of }: { of: string }) {
  const tokens = usage.tokensOf(of);
  const total = tokens?.total ?? null;
  const older = tokens?.complete === false ? ", older steps are left out" : "";
  return (
    <span
      class="tokens number stack"
      data-testid="run-tokens"
      title={total === null ? undefined : tokensText(total) + older}
    >
      {tokens !== undefined && (
        <span>
          {tokenCount(total?.total ?? null)}
          {older && "+"}
          <span class="hidden"> tokens</span>
        </span>
      )}
      {total !== null && total.cost !== null && (
        <span class="dim small" data-testid="run-row-cost">
          {costText(total.cost)}
        </span>
      )}
    </span>
  );
}

/** Says which runs are sorted by tokens or costs. */
export function UsageNote() {
  const rows = list.rows.value;
  const by = usage.sort.value;
  if (by === null || rows.length === 0) return null;
  const all = rows.flatMap(({ key }) => usage.tokensOf(key) ?? []);
  const unpriced = [...new Set(all.flatMap((each) => each.unpriced))];
  const left = usage.left.value;
  if (usage.hasFailed.value) {
    return (
      <p class="row small soft" role="status">
        The tokens of {counted(left, "run")} could not be read.
        <Button icon="again" onClick={() => void usage.read()}>
          Try again
        </Button>
      </p>
    );
  }
  return (
    <p class="row small soft" role="status" data-testid="runs-by-usage">
      {left > 0 ? (
        // Only the end is announced.
        <span aria-hidden="true">
          Reading tokens: {count(rows.length - left)} of {counted(rows.length, "run")}
        </span>
      ) : list.cursor.value === null ? (
        `${counted(rows.length, "run")}, sorted by ${by}`
      ) : (
        `Only the ${count(rows.length)} last active runs are sorted by ${by}`
      )}
      {all.some(({ complete }) => !complete) && ". Of large runs, only the newest steps are read"}
      {by === "cost" && left === 0 && !usage.hasCosts.value && ". To see costs, start the studio with --prices"}
      {by === "cost" && unpriced.length > 0 && `. No price for ${shown(unpriced.join(", "), 200)}`}
      {left === 0 && list.cursor.value !== null && (
        <Button testId="runs-sort-more" onClick={() => void list.loadMore()}>
          Sort more runs
        </Button>
      )}
    </p>
  );
}
