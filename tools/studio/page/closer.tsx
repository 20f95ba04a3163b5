// Details of the selected value in a tree: its path, its complete text, and buttons to copy.
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import { type RunRef, request, troubleOf } from "./api.js";
import { download } from "./download.js";
import { bytes, shown } from "./format.js";
import { moreOf } from "../forms.js";
import type { TreeRow } from "./tree.js";
import { Button, copy, say } from "./ui.js";
import { wholeText } from "./value.js";

interface CloserProps {
  view: RunRef;
  id: string;
  part: string;
  row: TreeRow;
  close: () => void;
  /** Begins to edit the value. Undefined: the value can't be edited. */
  edit?: ((row: TreeRow) => void) | undefined;
}

export function Closer({ view, id, part, row, close, edit }: CloserProps) {
  const path = formatPath(row.path);
  const text = wholeText(row.value);
  const isCut = moreOf(row.value) !== null;
  /** Reads the complete value, because the value in the tree may be cut. */
  const withWhole = async (use: (whole: Response) => Promise<void>) => {
    try {
      await use(await request("raw", { space: view.space, run: view.run, ns: view.ns, id, part, path }));
    } catch (error) {
      say(troubleOf(error).message);
    }
  };
  return (
    <section class="closer stack" aria-label="Selected value" data-testid="closer">
      <header class="row">
        <code class="cut grow soft" title={shown(path)}>
          {shown(path, 400)}
        </code>
        {row.size > 0 && <span class="dim small">{bytes(row.size)}</span>}
        {edit !== undefined && (
          <Button kind="quiet" hint="e" testId="edit-value" onClick={() => edit(row)}>
            Edit
          </Button>
        )}
        <Button kind="quiet" icon="copy" onClick={() => void copy(path, "the path")}>
          Path
        </Button>
        <Button kind="quiet" icon="copy" onClick={() => void withWhole(copyValue)}>
          Value
        </Button>
        <Button
          kind="quiet"
          icon="down"
          name="Download the value"
          onClick={() => void withWhole(async (whole) => download(await whole.blob(), "value.json"))}
        />
        <Button kind="quiet" icon="close" name="Close" onClick={close} />
      </header>
      {text !== null && (
        <pre class="wrap" tabIndex={0}>
          {text}
        </pre>
      )}
      {isCut && row.state === "leaf" && <p class="note dim">This value is too large to show. Download it instead.</p>}
    </section>
  );
}

async function copyValue(whole: Response): Promise<void> {
  const json = await whole.text();
  const value: unknown = JSON.parse(json);
  // A text is copied without its quotes.
  await copy(typeof value === "string" ? value : json, "the value");
}
