// The tokens of a run, in its head and beside its steps.
import { useEffect } from "preact/hooks";
import { useAnswer } from "./answer.js";
import { api } from "./api.js";
import { count, counted, duration, shown } from "./format.js";
import type { RunView } from "./run-data.js";
import { costText, shortCount, tokenCount, tokensText } from "./tokens.js";

/** The pause before the tokens are read again after a save, in ms. */
const PAUSE = 2_000;

/** Reads the tokens of a run, and again after saves. Without an answer, no tokens are shown. */
export function useUsage(view: RunView): void {
  const newest = view.isShown.value ? view.steps.value[0]?.seq : undefined;
  const ask = async (signal: AbortSignal) => (newest === undefined ? null : api.usage(view.ref, signal));
  const { answer } = useAnswer(ask, [newest], view.usage.value === null ? 0 : PAUSE);
  useEffect(() => void (view.usage.value = answer.value ?? view.usage.value), [answer.value]);
}

/** The tokens, the models and the cost of a run. */
export function UsageFacts({ view }: { view: RunView }) {
  const { total, complete } = view.usage.value ?? {};
  if (!total) return null;
  const names = total.models.flatMap(({ model }) => model ?? []);
  const details = [
    `input ${tokenCount(total.input)}`,
    `of it cached ${tokenCount(total.cached)}`,
    `output ${tokenCount(total.output)}`,
    `of it reasoning ${tokenCount(total.reasoning)}`,
    `total ${tokenCount(total.total)}`,
    ...(total.messages > 0 ? [counted(total.messages, "answer")] : []),
    ...(complete === false ? ["older steps are left out"] : []),
  ];
  return (
    <>
      <li data-testid="run-usage" title={details.join(", ")}>
        {tokenCount(total.total)} tokens{complete === false && " or more"}
        <span class="dim wide-only"> ({tokensText(total)})</span>
      </li>
      {names.length > 0 && (
        <li class="cut" title={shown(names.join(", "), 400)}>
          {shown(names[0]!, 40)}
          {names.length > 1 && <span class="dim"> +{count(names.length - 1)}</span>}
        </li>
      )}
      {total.durationMs !== null && (
        <li>
          {total.messages > 0 ? "models" : "nodes"} {duration(total.durationMs)}
        </li>
      )}
      {total.cost !== null && <li data-testid="run-cost">cost {costText(total.cost)}</li>}
    </>
  );
}

/** The tokens that a step has added. */
export function StepUsage({ view, id }: { view: RunView; id: string }) {
  const usage = view.usageOf.value.get(id);
  if (usage === undefined || usage.total === null) return null;
  const cost = usage.cost === null ? "" : `, cost ${costText(usage.cost)}`;
  return (
    <span class="dim small" data-testid="step-usage" title={`${tokensText(usage)}${cost}`}>
      {" "}
      {shortCount(usage.total)} tokens
    </span>
  );
}
