// The selected checkpoint: its next nodes, its pending writes, its state and its changes.
import { traitsOf } from "../../../ts/contracts/registry.js";
import { stepName } from "../../../ts/inspect/step-name.js";
import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import type { Detail } from "./api.js";
import { withoutVs } from "./compare.js";
import { CompareButton } from "./compare-pick.js";
import { ConversationView } from "./conversation.js";
import { DiffView } from "./diff-view.js";
import { Edits } from "./edits-view.js";
import { at, bytes, count, counted, duration, shown } from "./format.js";
import { useKeys } from "./keys.js";
import { address, change } from "./route.js";
import { Questions } from "./questions-view.js";
import type { RunView } from "./run-data.js";
import { Tree } from "./tree-view.js";
import { Button, Empty, ErrorBox, Id, Skeleton, copy } from "./ui.js";
import { Value } from "./value.js";
import { Writes } from "./writes-view.js";

type Tab = "state" | "chat" | "diff" | "more";

const tabOf = ({ view, vs }: Record<string, string>): Tab =>
  vs !== undefined || view === "diff" ? "diff" : view === "more" || view === "chat" ? view : "state";

/** Shows another tab. The checkpoint to compare with is kept only in the tab of changes. */
function choose(tab: Tab): void {
  change({ view: tab === "state" ? null : tab, ...(tab !== "diff" && withoutVs) }, true);
}

interface PaneProps {
  view: RunView;
  back: () => void;
  openFork: () => void;
}

export function CheckpointPane({ view, back, openFork }: PaneProps) {
  const asked = tabOf(address.value.parameters);
  const detail = view.detail.value;
  // The next step may have no messages.
  const tab = asked === "chat" && detail?.hasMessages !== true ? "state" : asked;
  useKeys({
    d: () => choose(tab === "diff" ? "state" : "diff"),
    m: () => detail?.hasMessages && choose(tab === "chat" ? "state" : "chat"),
  });
  if (view.detailTrouble.value !== null) {
    return <ErrorBox trouble={view.detailTrouble.value} retry={() => view.reloadDetail()} />;
  }
  if (detail === null) {
    return view.loading.value || view.detailLoading.value || view.steps.value.length > 0 ? (
      <Skeleton rows={10} />
    ) : (
      <Empty title="No checkpoint" />
    );
  }
  return (
    <>
      <PaneHead view={view} detail={detail} back={back} />
      {hasAnswers(view, detail) && (
        <Questions
          of={view.ref}
          id={detail.checkpoint.id}
          version={String(detail.checkpoint.seq)}
          write={false}
          done={() => {}}
        />
      )}
      <Writes detail={detail} />
      <div class="tabs row" role="group" aria-label="View">
        <Button class="tab" aria-pressed={tab === "state"} onClick={() => choose("state")}>
          State
        </Button>
        {detail.hasMessages && (
          <Button
            class="tab row"
            testId="conversation-toggle"
            hint="m"
            aria-pressed={tab === "chat"}
            onClick={() => choose(tab === "chat" ? "state" : "chat")}
          >
            Conversation
          </Button>
        )}
        <Button
          class="tab row"
          testId="diff-toggle"
          hint="d"
          aria-pressed={tab === "diff"}
          onClick={() => choose(tab === "diff" ? "state" : "diff")}
        >
          Changes
        </Button>
        <Button class="tab" aria-pressed={tab === "more"} onClick={() => choose("more")}>
          Details
        </Button>
        <span class="grow" />
        {view.detailLoading.value && (
          <span class="dim small" role="status">
            Loading
          </span>
        )}
      </div>
      <Edits of={detail.checkpoint} openFork={openFork} />
      {tab === "chat" && <ConversationView view={view} detail={detail} />}
      {tab === "diff" && <DiffView view={view} detail={detail} />}
      {tab === "state" && (
        <Tree
          view={view.ref}
          id={detail.checkpoint.id}
          part="state"
          form={detail.state}
          open={view.open}
          of={detail.checkpoint}
        />
      )}
      {tab === "more" && <Details view={view} detail={detail} />}
    </>
  );
}

/** Returns true if a checkpoint has stored answers. The head of the run shows those of the newest checkpoint. */
function hasAnswers({ info, ref }: RunView, { checkpoint, writes }: Detail): boolean {
  if (checkpoint.id === info.value?.latest.id) return false;
  return (
    (traitsOf(ref.space).answers === true && traitsOf(ref.space).nodes === "label") ||
    writes.some(({ channel }) => channel === "__forkpoint_answers__")
  );
}

function PaneHead({ view, detail, back }: { view: RunView; detail: Detail; back: () => void }) {
  const { checkpoint, next } = detail;
  const { id, step, savedAt, bytes: size, chain, parent } = checkpoint;
  const name = stepName(checkpoint);
  const before = view.steps.value.find((each) => each.id === parent?.id);
  return (
    <header class="pane-head part stack">
      <div class="row">
        <Button kind="quiet" class="button quiet narrow-only" icon="back" name="Back to the timeline" onClick={back} />
        <h2 class="cut">
          Step {count(step)}
          {name && <span class="accent"> {shown(name, 80)}</span>}
        </h2>
        <Id id={id} class="dim" />
        <Button kind="quiet" icon="copy" name="Copy the checkpoint id" onClick={() => void copy(id, "the id")} />
        <span class="grow" />
        <CompareButton of={view.current.value ?? checkpoint} />
        <Button kind="quiet" icon="older" name="Older checkpoint ([)" onClick={() => view.move(1)} />
        <Button kind="quiet" icon="newer" name="Newer checkpoint (])" onClick={() => view.move(-1)} />
      </div>
      <ul class="facts row small soft">
        <li>{at(savedAt)}</li>
        {before !== undefined && (
          <li>
            {duration(savedAt - before.savedAt)} after step {count(before.step)}
          </li>
        )}
        <li>
          {bytes(size.logical)} in <em>{bytes(size.stored)}</em>
        </li>
        <li>{chain === 0 ? "stored in full" : `stored as ${counted(chain, "difference")}`}</li>
      </ul>
      {next !== null && (
        <p class="facts row small" data-testid="next">
          <span class="dim">Next</span>
          {next.length === 0 && <span>nothing</span>}
          {next.map((node, index) => (
            <code key={index} class="tag cut ground">
              {shown(node, 80)}
            </code>
          ))}
        </p>
      )}
    </header>
  );
}

/** Everything in a checkpoint except its state. */
function Details({ view, detail }: { view: RunView; detail: Detail }) {
  const open: Signal<ReadonlySet<string> | null> = useSignal(null);
  const { checkpoint, rest, parts } = detail;
  return (
    <div class="details stack scroll" data-testid="details" role="group" aria-label="Details" tabIndex={0}>
      <dl class="part wrap">
        <dt>id</dt>
        <dd>
          <code>{shown(checkpoint.id)}</code>
        </dd>
        <dt>parent</dt>
        <dd>
          {checkpoint.parent === null ? (
            "none"
          ) : (
            <>
              <code>{shown(checkpoint.parent.id)}</code>
              {checkpoint.parent.kind === "order" && <span class="dim"> (the previous checkpoint)</span>}
            </>
          )}
        </dd>
        <dt>save order</dt>
        <dd>{count(checkpoint.seq)}</dd>
        {checkpoint.at !== null && (
          <>
            <dt>timestamp</dt>
            <dd>{at(checkpoint.at)}</dd>
          </>
        )}
        {Object.entries(checkpoint.meta).map(([name, value]) => (
          <>
            <dt>{shown(name, 80)}</dt>
            <dd>
              <Value form={value} />
            </dd>
          </>
        ))}
        {parts.map(({ name, tag, bytes: size, readable }) => (
          <>
            <dt>part {shown(name, 80)}</dt>
            <dd>
              {bytes(size)}, written by <code>{shown(tag, 80)}</code>
              {!readable && ", not readable here"}
            </dd>
          </>
        ))}
      </dl>
      {rest !== null && (
        <>
          <h3 class="lead">Other fields</h3>
          <Tree view={view.ref} id={checkpoint.id} part="rest" form={rest} open={open} />
        </>
      )}
    </div>
  );
}
