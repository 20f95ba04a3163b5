// The button to compare a checkpoint with another one, and the bar during the choice of the other one.
import type { CheckpointInfo } from "./api.js";
import { beginPick, canPick, endPick, pick, picking } from "./compare.js";
import { count, shown } from "./format.js";
import { useKeys } from "./keys.js";
import { Button } from "./ui.js";

/** Begins the choice. During it, the button takes the shown checkpoint. */
export function CompareButton({ of }: { of: CheckpointInfo }) {
  const canTake = canPick(of);
  const press = () => {
    if (canTake) pick(of);
    else if (picking.value === null) beginPick(of);
    else endPick();
  };
  useKeys({ x: press });
  return canTake ? (
    <Button kind="primary" testId="compare" icon="diff" hint="x" onClick={press}>
      Compare with this
    </Button>
  ) : (
    <Button
      kind="quiet"
      testId="compare"
      icon="diff"
      hint="x"
      title="Compare with another step"
      aria-pressed={picking.value !== null}
      onClick={press}
    >
      <span class="wide-only">Compare</span>
    </Button>
  );
}

/** The bar is on every page, because the other checkpoint may belong to any run. */
export function ComparePick() {
  useKeys({ Escape: endPick });
  const { step, run } = picking.value!;
  return (
    <section class="pick row" data-testid="compare-pick" aria-label="Compare">
      <span class="grow">
        Pick the step to compare with <em>step {count(step)}</em> of <em class="mono">{shown(run, 40)}</em>, in any run
      </span>
      <Button icon="close" onClick={endPick}>
        Cancel
      </Button>
    </section>
  );
}
