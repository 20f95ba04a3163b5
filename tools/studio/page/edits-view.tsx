// The list of edits that wait for a fork.
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import type { CheckpointRef } from "./api.js";
import { Whole } from "./compare-view.js";
import { clearEdits, editsOf, undoEdit } from "./edits.js";
import { counted, shown } from "./format.js";
import { Icon } from "./icons.js";
import { Button } from "./ui.js";

const LENGTH = 160;

export function EditList({ of }: { of: CheckpointRef }) {
  return (
    <ul class="edit-list scroll" tabIndex={0} aria-label="Edits">
      {editsOf(of).map(({ path, before, value }) => {
        const text = formatPath(path);
        return (
          <li key={text} class="row replace" data-testid="edit-row" data-path={text}>
            <code class="cut tone" title={shown(text)}>
              {shown(text, 200)}
            </code>
            <span class="row grow mono edit-values">
              <s class="cut dim">
                <Whole form={before} length={LENGTH} />
              </s>
              <Icon name="open" size={12} class="dim" />
              <span class="cut">
                <Whole form={value} length={LENGTH} />
              </span>
            </span>
            <Button
              kind="quiet"
              icon="close"
              testId="edit-undo"
              name={`Undo the edit of ${shown(text, 200)}`}
              onClick={() => undoEdit(of, path)}
            />
          </li>
        );
      })}
    </ul>
  );
}

/** The edits of a checkpoint, above its state. */
export function Edits({ of, openFork }: { of: CheckpointRef; openFork: () => void }) {
  const edits = editsOf(of);
  if (edits.length === 0) return null;
  return (
    <section class="edits stack ground" data-testid="edits" aria-label="Edits">
      <header class="row">
        <h3 class="grow">{counted(edits.length, "edit")}, not stored yet</h3>
        <Button kind="quiet" onClick={() => clearEdits(of)}>
          Undo all
        </Button>
        <Button kind="primary" icon="fork" testId="edits-fork" onClick={openFork}>
          Review and fork
        </Button>
      </header>
      <EditList of={of} />
    </section>
  );
}
