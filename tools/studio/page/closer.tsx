// A closer look at the value that is chosen in a tree: its path, all of its text, and buttons that copy.
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import { type RunRef, request, troubleOf } from "./api.js";
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
}

export function Closer({ view, id, part, row, close }: CloserProps) {
  const path = formatPath(row.path);
  const text = wholeText(row.value);
  const isCut = moreOf(row.value) !== null;
  const whole = () => request("raw", { space: view.space, run: view.run, ns: view.ns, id, part, path });
  const copyValue = async () => {
    try {
      // What is shown may be cut, so the value is read whole. A text is copied without its quotes.
      const json = await (await whole()).text();
      const value: unknown = JSON.parse(json);
      await copy(typeof value === "string" ? value : json, "the value");
    } catch (error) {
      say(troubleOf(error).message);
    }
  };
  const download = async () => {
    try {
      save(await (await whole()).blob(), "value.json");
    } catch (error) {
      say(troubleOf(error).message);
    }
  };
  return (
    <section class="closer stack" aria-label="Chosen value">
      <header class="row">
        <code class="cut grow soft" title={shown(path)}>
          {shown(path, 400)}
        </code>
        {row.size > 0 && <span class="dim small">{bytes(row.size)}</span>}
        <Button kind="quiet" icon="copy" onClick={() => void copy(path, "the path")}>
          Path
        </Button>
        <Button kind="quiet" icon="copy" onClick={() => void copyValue()}>
          Value
        </Button>
        <Button kind="quiet" icon="down" name="Download the value" onClick={() => void download()} />
        <Button kind="quiet" icon="close" name="Close" onClick={close} />
      </header>
      {text !== null && (
        <pre class="wrap" tabIndex={0}>
          {text}
        </pre>
      )}
      {isCut && row.state === "leaf" && <p class="note dim">This value is too large to be shown. Download it.</p>}
    </section>
  );
}

/** Offers a file to the user. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
