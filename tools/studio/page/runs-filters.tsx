// The filters of the list of runs by status and time, and the display of slow answers.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Status } from "./api.js";
import { count, counted, duration } from "./format.js";
import { Choice } from "./fields.js";
import { change } from "./route.js";
import * as list from "./runs-data.js";
import { store } from "./store.js";
import { Button, StatusMark } from "./ui.js";

export const statuses: Status[] = ["waiting", "failed", "unfinished", "stopped", "finished", "unknown"];

const times = [
  ["", "Any time"],
  ["15m", "15 minutes"],
  ["1h", "1 hour"],
  ["24h", "24 hours"],
  ["7d", "7 days"],
  ["30d", "30 days"],
] as const;

/** How many runs have each status, as buttons that filter. */
export function StatusChips({ space, status }: { space: string; status: string }) {
  const spaces = (store.value?.spaces ?? []).filter((each) => space === "" || each.space === space);
  const sum = (of: Status) => spaces.reduce((all, { statuses: counts }) => all + (counts[of] ?? 0), 0);
  const isEstimate = spaces.some((each) => each.isEstimate);
  const chips = statuses.filter((each) => sum(each) > 0 || each === status);
  return (
    <div class="chips row" role="group" aria-label="Status">
      {chips.map((each) => (
        <button
          key={each}
          type="button"
          class="chip row"
          data-testid="status-chip"
          data-status={each}
          aria-pressed={each === status}
          title="Subgraphs count as runs"
          onClick={() => change({ status: each === status ? null : each })}
        >
          <StatusMark status={each} />
          <span class="number small">
            {isEstimate && "~"}
            {count(sum(each))}
          </span>
        </button>
      ))}
    </div>
  );
}

export function TimeChoice({ value }: { value: string }) {
  const known = times.some(([each]) => each === value);
  return (
    <Choice
      name="Active"
      testId="runs-filter-since"
      value={value}
      options={known ? times : [...times, [value, value] as const]}
      onChoice={(since) => change({ since: since || null })}
    />
  );
}

/** A slower answer is shown with its results so far, in ms. */
const SLOW = 500;

/** The duration of a listing, and a button to stop it. */
export function Searching() {
  const took = useSignal(0);
  const loading = list.loading.value;
  useEffect(() => {
    took.value = 0;
    if (!loading) return;
    const began = Date.now();
    const timer = setInterval(() => (took.value = Date.now() - began), 250);
    return () => clearInterval(timer);
  }, [loading]);
  if (list.isStopped.value) {
    return (
      <p class="row small soft" data-testid="runs-stopped">
        Stopped: older runs were not looked at.
        <Button icon="again" onClick={() => void list.resume()}>
          Continue
        </Button>
      </p>
    );
  }
  if (!loading || took.value < SLOW) return null;
  return (
    <p class="row small soft" role="status" data-testid="runs-searching">
      Looking at older runs: {counted(list.rows.value.length, "run")} found in {duration(took.value)}
      <Button icon="close" testId="runs-stop" onClick={list.stop}>
        Stop
      </Button>
    </p>
  );
}
