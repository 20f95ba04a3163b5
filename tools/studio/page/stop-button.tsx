// The button that stops a run. It loads its dialog at the first use.
import { signal, useSignal } from "@preact/signals";
import { type RunInfo, type RunRef, isFile } from "./api.js";
import { Button, say } from "./ui.js";

interface StopProps {
  of: RunRef;
  info: RunInfo | null;
  write: boolean;
  /** Called after an attempt. */
  done: () => void;
}

const dialog = signal<typeof import("./stop-dialog.js") | null>(null);

/** The button of a run that a process works on, and its dialog. */
export function Stop({ of, info, write, done }: StopProps) {
  // An open dialog stays when the run ends.
  const holder = useSignal<string | null>(null);
  const lease = info?.lease ?? null;
  if (isFile || (lease === null && holder.value === null)) return null;
  const open = async (process: string) => {
    try {
      dialog.value ??= await import("./stop-dialog.js");
      holder.value = process;
    } catch {
      say("The studio isn't responding");
    }
  };
  const StopDialog = dialog.value?.StopDialog;
  return (
    <>
      {lease !== null && (
        <Button
          icon="stop"
          testId="stop"
          disabled={!write}
          title={write ? undefined : "The studio is read-only. Start it with --write to stop runs."}
          onClick={() => void open(lease.holder)}
        >
          Stop
        </Button>
      )}
      {StopDialog !== undefined && holder.value !== null && (
        <StopDialog of={of} holder={holder.value} done={done} close={() => (holder.value = null)} />
      )}
    </>
  );
}
