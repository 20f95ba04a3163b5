// Exports a run: as an HTML file, as JSON, or as the command that makes the file.
import { useSignal } from "@preact/signals";
import { type RunInfo, type RunRef, type Trouble, isFile, request, troubleOf } from "./api.js";
import { Dialog } from "./dialog.js";
import { exportCommand, fileName } from "./export-command.js";
import { bytes, counted, shown } from "./format.js";
import { download } from "./download.js";
import { store } from "./store.js";
import { Button, ErrorBox, copy } from "./ui.js";

/** The button of a run, and its dialog. */
export function Take({ of, info }: { of: RunRef; info: RunInfo | null }) {
  const open = useSignal(false);
  // A file already is an export.
  if (isFile) return null;
  return (
    <>
      <Button icon="down" testId="take" name="Take this run with you" onClick={() => (open.value = true)} />
      {open.value && <TakeDialog of={of} info={info} close={() => (open.value = false)} />}
    </>
  );
}

interface Taken {
  size: number;
  leftOut: Record<string, number>;
  damaged: number;
}

function TakeDialog({ of, info, close }: { of: RunRef; info: RunInfo | null; close: () => void }) {
  const last = useSignal("");
  const paths = useSignal("");
  const busy = useSignal(false);
  const trouble = useSignal<Trouble | null>(null);
  const taken = useSignal<Taken | null>(null);
  const leaveOut = paths.value
    .split("\n")
    .map((path) => path.trim())
    .filter((path) => path !== "");
  const take = async (format: "html" | "json") => {
    if (busy.value) return;
    busy.value = true;
    [taken.value, trouble.value] = [null, null];
    try {
      const { space, run, ns } = of;
      const response = await request("take", { space, run, ns, format, last: last.value || null, leaveOut });
      const whole = await response.blob();
      const header = (name: string) => response.headers.get(name) ?? "";
      const leftOut = JSON.parse(decodeURIComponent(header("Forkpoint-Left-Out"))) as Taken["leftOut"];
      taken.value = { size: whole.size, leftOut, damaged: Number(header("Forkpoint-Damaged")) };
      download(whole, `${fileName(of.run)}.${format}`);
    } catch (error) {
      trouble.value = troubleOf(error);
    }
    busy.value = false;
  };
  return (
    <Dialog title="Take this run with you" testId="take-dialog" close={close}>
      <div class="part stack take">
        <p class="soft">
          The HTML file shows this run in any browser, without Forkpoint and without network. It has{" "}
          {info === null ? "all steps" : counted(info.checkpoints, "step")}, unless you choose fewer. Whoever has the
          file can read everything in it.
        </p>
        <label class="field row">
          <span>Only the last steps</span>
          <input
            type="number"
            min="1"
            data-testid="take-last"
            placeholder="all"
            value={last.value}
            onInput={({ currentTarget: { value } }) => (last.value = value)}
          />
        </label>
        <label class="stack">
          <span class="soft">Leave out the values at these paths, one on each line</span>
          <textarea
            rows={3}
            data-testid="take-leave-out"
            placeholder={".apiKey\n.messages[*].content"}
            spellcheck={false}
            autocomplete="off"
            value={paths.value}
            onInput={({ currentTarget: { value } }) => (paths.value = value)}
          />
        </label>
      </div>
      {trouble.value !== null && <ErrorBox trouble={trouble.value} />}
      {taken.value !== null && <Done taken={taken.value} />}
      <footer class="row">
        <Button
          icon="copy"
          testId="take-command"
          onClick={() => void copy(exportCommand(of, store.value?.target ?? "", last.value, leaveOut), "the command")}
        >
          Copy as command
        </Button>
        <span class="grow" />
        <Button icon="down" testId="take-json" disabled={busy.value} onClick={() => void take("json")}>
          Download JSON
        </Button>
        <Button kind="primary" icon="down" testId="take-html" disabled={busy.value} onClick={() => void take("html")}>
          Download HTML
        </Button>
      </footer>
    </Dialog>
  );
}

function Done({ taken: { size, leftOut, damaged } }: { taken: Taken }) {
  return (
    <ul class="part" role="status" data-testid="take-done">
      <li>The file has {bytes(size)}.</li>
      {Object.entries(leftOut).map(([path, count]) => (
        <li key={path} class={count === 0 ? "waiting tone" : ""}>
          <code>{shown(path, 200)}</code>:{" "}
          {count === 0 ? "nothing matches, so nothing was left out" : `${counted(count, "value")} left out`}
        </li>
      ))}
      {damaged > 0 && <li class="waiting tone">{counted(damaged, "checkpoint")} could not be read.</li>}
    </ul>
  );
}
