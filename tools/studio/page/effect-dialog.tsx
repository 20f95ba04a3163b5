// An effect of a run, with its result.
import { useAnswer } from "./answer.js";
import { type EffectInfo, api } from "./api.js";
import { Dialog } from "./dialog.js";
import { at, count, duration, shown } from "./format.js";
import { Icon, type IconName } from "./icons.js";
import { ErrorBox, Skeleton } from "./ui.js";
import { Preview } from "./writes-view.js";

const states: Record<EffectInfo["state"], { icon: IconName; kind: string; text: string }> = {
  done: { icon: "check", kind: "finished", text: "done" },
  running: { icon: "half", kind: "unfinished", text: "running" },
  failed: { icon: "cross", kind: "failed", text: "failed" },
  error: { icon: "cross", kind: "failed", text: "error stored" },
  unknown: { icon: "alert", kind: "waiting", text: "may have happened" },
};

export function EffectMark({ state }: Pick<EffectInfo, "state">) {
  const { icon, kind, text } = states[state];
  return (
    <span class={`status row small ground ${kind}`}>
      <Icon name={icon} size={14} weight={2} />
      {text}
    </span>
  );
}

/** Returns a unique key of an effect in its run. */
export const effectKey = ({ branch, key }: EffectInfo): string => `e${branch}:${key}`;

export function EffectDialog({ of, close }: { of: EffectInfo; close: () => void }) {
  const { key, state, attempts, startedAt, endedAt, error, idempotencyKey, holder, checkpointId } = of;
  const { answer, trouble } = useAnswer((signal) => api.effect(of, signal), [effectKey(of), state, attempts]);
  const found = answer.value;
  const rows: Array<[string, string | null]> = [
    ["attempts", count(attempts)],
    ["began", at(startedAt)],
    ["took", endedAt === null ? null : duration(endedAt - startedAt)],
    ["error", error],
    ["after", checkpointId],
    ["idempotency key", idempotencyKey],
    ["process", holder],
  ];
  return (
    <Dialog title={shown(key, 200)} testId="effect" close={close}>
      <div class="details part stack scroll" role="group" aria-label="Effect" tabIndex={0}>
        <dl class="wrap">
          <dt>state</dt>
          <dd>
            <EffectMark state={state} />
          </dd>
          {rows.map(
            ([name, value]) =>
              value !== null && (
                <>
                  <dt>{name}</dt>
                  <dd>{shown(value, 500)}</dd>
                </>
              ),
          )}
          {found?.part && (
            <>
              <dt>result</dt>
              <dd data-testid="effect-result">
                <Preview form={found.result} length={20_000} />
              </dd>
            </>
          )}
        </dl>
        {trouble.value !== null ? <ErrorBox trouble={trouble.value} /> : found === null && <Skeleton rows={2} />}
      </div>
    </Dialog>
  );
}
