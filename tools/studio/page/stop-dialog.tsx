// The dialog that stops a run: see stop-button.tsx.
import { useSignal } from "@preact/signals";
import { type RunRef, type Trouble, api, troubleOf } from "./api.js";
import { Dialog } from "./dialog.js";
import { shown } from "./format.js";
import { NameField, keepName, storedName } from "./name-field.js";
import { readStore } from "./store.js";
import { Button, ErrorBox, say } from "./ui.js";

interface StopDialogProps {
  of: RunRef;
  /** The process that works on the run. */
  holder: string;
  /** Called after an attempt. */
  done: () => void;
  close: () => void;
}

export function StopDialog({ of, holder, done, close }: StopDialogProps) {
  const by = useSignal(storedName());
  const reason = useSignal("");
  const busy = useSignal(false);
  const isDeaf = useSignal(false);
  const trouble = useSignal<Trouble | null>(null);
  const submit = async () => {
    if (busy.value) return;
    [busy.value, isDeaf.value, trouble.value] = [true, false, null];
    try {
      const name = by.value.trim();
      const { outcome } = await api.stop(of, name, reason.value.trim());
      keepName(name);
      done();
      // The number of runs with each status has changed.
      void readStore();
      if (outcome === "no answer") isDeaf.value = true;
      else {
        close();
        say(outcome === "stopped" ? "Stopped" : "No process worked on this run any more", "stop-done");
      }
    } catch (error) {
      trouble.value = troubleOf(error);
    }
    busy.value = false;
  };
  return (
    <Dialog title="Stop this run" testId="stop-dialog" close={close}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div class="part stack take">
          <p class="soft">
            <code>{shown(holder, 80)}</code> works on this run. Steps that are already saved stay. The run gets the
            status stopped, until a program continues it.
          </p>
          <NameField by={by} testId="stop-by" />
          <label class="stack">
            <span class="soft">The reason, if you give one</span>
            <textarea
              rows={2}
              maxLength={1_000}
              data-testid="stop-reason"
              spellcheck={false}
              value={reason.value}
              onInput={({ currentTarget: { value } }) => (reason.value = value)}
            />
          </label>
          {isDeaf.value && (
            <p role="alert" data-testid="stop-no-answer">
              The process hasn't stopped yet. It stops when it notices the request. It may be too busy, not listen, or
              have lost its connection.
            </p>
          )}
        </div>
        {trouble.value !== null && <ErrorBox trouble={trouble.value} />}
        <footer class="row">
          <span class="grow" />
          <Button onClick={close}>{isDeaf.value ? "Close" : "Cancel"}</Button>
          <Button kind="primary" icon="stop" type="submit" testId="stop-send" disabled={busy.value}>
            {busy.value ? "Stopping" : "Stop"}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
