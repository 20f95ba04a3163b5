// The code that resumes a run, for each framework that can.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { type CheckpointInfo, type RunRef, type Snippet, type Trouble, api, troubleOf } from "./api.js";
import { type Piece, piecesOf } from "./code-pieces.js";
import { Dialog } from "./dialog.js";
import { count, shown } from "./format.js";
import { Button, ErrorBox, Skeleton, copy } from "./ui.js";

interface CodeProps {
  of: RunRef;
  /** The checkpoint to go on from. Null: the newest. */
  from: CheckpointInfo | null;
  close: () => void;
}

export function CodeDialog({ of, from, close }: CodeProps) {
  const snippets = useSignal<Snippet[] | null>(null);
  const trouble = useSignal<Trouble | null>(null);
  const chosen = useSignal(0);
  const load = () => {
    trouble.value = null;
    api.code(of, from?.id).then(
      (answer) => (snippets.value = answer.snippets),
      (error: unknown) => (trouble.value = troubleOf(error)),
    );
  };
  useEffect(load, []);
  const all = snippets.value;
  const snippet = all?.[chosen.value];
  const turn = ({ key }: KeyboardEvent) => {
    if (all === null || (key !== "ArrowLeft" && key !== "ArrowRight")) return;
    chosen.value = (chosen.value + (key === "ArrowRight" ? 1 : all.length - 1)) % all.length;
  };
  return (
    <Dialog
      title={from === null ? "Resume this run" : `Go on from step ${count(from.step)}`}
      testId="code-dialog"
      close={close}
    >
      {trouble.value !== null && <ErrorBox trouble={trouble.value} retry={load} />}
      {trouble.value === null && all === null && <Skeleton rows={6} />}
      {all !== null && snippet === undefined && (
        <p class="note">No framework resumes what is stored in this space: it is read by its key.</p>
      )}
      {all !== null && snippet !== undefined && (
        <>
          <div class="tabs" role="tablist" aria-label="Framework" onKeyDown={turn}>
            {all.map(({ framework }, index) => (
              <button
                key={framework}
                type="button"
                role="tab"
                id={`code-tab-${index}`}
                class="button quiet"
                aria-selected={index === chosen.value}
                aria-controls="code-panel"
                tabIndex={index === chosen.value ? 0 : -1}
                onClick={() => (chosen.value = index)}
              >
                {shown(framework, 60)}
              </button>
            ))}
            <span class="grow" />
            <Button icon="copy" testId="code-copy" onClick={() => void copy(snippet.code, "the code")}>
              Copy
            </Button>
          </div>
          <div id="code-panel" role="tabpanel" aria-labelledby={`code-tab-${chosen.value}`}>
            <Code text={snippet.code} />
          </div>
        </>
      )}
    </Dialog>
  );
}

function Code({ text }: { text: string }) {
  const pieces = useMemo(() => piecesOf(text), [text]);
  return (
    <pre class="code" data-testid="code-text" tabIndex={0}>
      {pieces.map(({ kind, text: piece }: Piece, index) =>
        kind === null ? (
          lines(piece)
        ) : (
          <span key={index} class={`c-${kind}`}>
            {lines(piece)}
          </span>
        ),
      )}
    </pre>
  );
}

/** Code is shown line by line. An id in it stands in JSON, but JSON does not escape what turns the direction of a text. */
const lines = (text: string): string =>
  text
    .split("\n")
    .map((line) => shown(line, 5_000))
    .join("\n");
