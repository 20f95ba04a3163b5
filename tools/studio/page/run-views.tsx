// The three views of a run's steps: as a list, by time, and as a graph. The address names the view.
import { useAnswer } from "./answer.js";
import { api } from "./api.js";
import { useDrawing } from "./drawn.js";
import { address, change } from "./route.js";
import type { RunView } from "./run-data.js";
import { Timeline } from "./timeline.js";
import { Button, Skeleton } from "./ui.js";

const views = { steps: "Steps", waterfall: "Waterfall", graph: "Graph" };

export function RunViews({ view, openState }: { view: RunView; openState: () => void }) {
  const { pane = "steps" } = address.value.parameters;
  return (
    <>
      <div class="tabs row" role="group" aria-label="View of the steps">
        {Object.entries(views).map(([each, name]) => (
          <Button
            key={each}
            class="tab"
            testId={`pane-${each}`}
            aria-pressed={each === (Object.hasOwn(views, pane) ? pane : "steps")}
            onClick={() => change({ pane: each === "steps" ? null : each }, true)}
          >
            {name}
          </Button>
        ))}
      </div>
      {pane === "waterfall" || pane === "graph" ? (
        <Course view={view} pane={pane} openState={openState} />
      ) : (
        <Timeline view={view} openState={openState} />
      )}
    </>
  );
}

/** The pause before the course is read again after a save, in ms. */
const PAUSE = 300;

function Course({ view, pane, openState }: { view: RunView; pane: "waterfall" | "graph"; openState: () => void }) {
  const drawing = useDrawing();
  const newest = view.steps.value[0];
  // Without an answer, the steps alone are drawn.
  const { answer } = useAnswer(
    (signal) => api.course(view.ref, signal),
    [newest?.seq, view.info.value?.status],
    newest === undefined ? 0 : PAUSE,
  );
  const more = answer.value;
  if (drawing === null) return <Skeleton rows={10} />;
  const { GraphView, Waterfall } = drawing;
  return pane === "graph" ? (
    <GraphView view={view} more={more} />
  ) : (
    <Waterfall view={view} more={more} openState={openState} />
  );
}
