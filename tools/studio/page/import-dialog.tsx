// Imports a database or the folder of an export, chosen or dropped by the user. Needs --write.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Imported, MOST_IMPORTED, type SentFiles } from "../import-form.js";
import { type Trouble, request, troubleOf } from "./api.js";
import { Dialog } from "./dialog.js";
import { bytes, counted } from "./format.js";
import { store } from "./store.js";
import { Button, ErrorBox, say } from "./ui.js";

/** A file, and its path in the chosen folder. */
interface Chosen {
  name: string;
  file: File;
}

/** The button in the list of runs, and its dialog. `done` is called after an import. */
export function Import({ done }: { done: () => void }) {
  const chosen = useSignal<Chosen[] | null>(null);
  const write = store.value?.write === true;
  useEffect(() => {
    if (!write) return undefined;
    const allow = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      void filesOf(event.dataTransfer).then((files) => (chosen.value = files));
    };
    addEventListener("dragover", allow);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", allow);
      removeEventListener("drop", drop);
    };
  }, [write]);
  if (!write) return null;
  return (
    <>
      <Button icon="fork" testId="import" title="Import a database or an export" onClick={() => (chosen.value = [])}>
        Import
      </Button>
      {chosen.value !== null && (
        <ImportDialog
          chosen={chosen.value}
          choose={(files) => (chosen.value = files)}
          close={() => (chosen.value = null)}
          done={done}
        />
      )}
    </>
  );
}

interface ImportProps {
  chosen: Chosen[];
  choose: (files: Chosen[]) => void;
  close: () => void;
  done: () => void;
}

function ImportDialog({ chosen, choose, close, done }: ImportProps) {
  const busy = useSignal(false);
  const trouble = useSignal<Trouble | null>(null);
  const total = chosen.reduce((sum, { file }) => sum + file.size, 0);
  const take = (list: FileList | null) => {
    trouble.value = null;
    choose([...(list ?? [])].map((file) => ({ name: file.webkitRelativePath || file.name, file })));
  };
  const send = async (onConflict: "fail" | "skip" | "replace") => {
    if (busy.value) return;
    busy.value = true;
    trouble.value = null;
    try {
      const head: SentFiles = chosen.map(({ name, file }) => ({ name, size: file.size }));
      const body = new Blob([`${JSON.stringify(head)}\n`, ...chosen.map(({ file }) => file)]);
      const init = { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body };
      const answer = (await (await request("import", { onConflict }, init)).json()) as Imported;
      close();
      done();
      const { runs, checkpoints, skipped } = answer;
      const more = skipped === 0 ? "" : `; ${counted(skipped, "run")} skipped`;
      say(
        `Imported and verified ${counted(runs, "run")} with ${counted(checkpoints, "checkpoint")}${more}`,
        "import-done",
      );
    } catch (error) {
      trouble.value = troubleOf(error);
      busy.value = false;
    }
  };
  const isConflict = trouble.value?.code === "CONFLICT";
  return (
    <Dialog title="Import" testId="import-dialog" close={close}>
      <div class="part stack take">
        <p class="soft">
          Choose a database, or the folder that <code>forkpoint export --out</code> has made. You can also drop it on
          the page. Up to {bytes(MOST_IMPORTED)}.
        </p>
        <label class="stack">
          <span class="soft">A database</span>
          <input
            type="file"
            multiple
            data-testid="import-file"
            onChange={({ currentTarget: { files } }) => take(files)}
          />
        </label>
        <label class="stack">
          <span class="soft">A folder</span>
          <input
            type="file"
            ref={(input) => input?.setAttribute("webkitdirectory", "")}
            data-testid="import-folder"
            onChange={({ currentTarget: { files } }) => take(files)}
          />
        </label>
        {chosen.length > 0 && (
          <p>
            {counted(chosen.length, "file")}, {bytes(total)}
          </p>
        )}
      </div>
      {trouble.value !== null && <ErrorBox trouble={trouble.value} />}
      <footer class="row">
        {isConflict && (
          <>
            <Button testId="import-skip" disabled={busy.value} onClick={() => void send("skip")}>
              Skip runs that differ
            </Button>
            <Button testId="import-replace" disabled={busy.value} onClick={() => void send("replace")}>
              Replace runs that differ
            </Button>
          </>
        )}
        <span class="grow" />
        <Button onClick={close}>Cancel</Button>
        <Button
          kind="primary"
          testId="import-send"
          disabled={busy.value || chosen.length === 0}
          onClick={() => void send("fail")}
        >
          {busy.value ? "Importing" : "Import"}
        </Button>
      </footer>
    </Dialog>
  );
}

/** Returns the dropped files, including those in folders. */
async function filesOf(data: DataTransfer): Promise<Chosen[]> {
  // The items are gone after the event. Some sources of files have no entries.
  const items = Array.from(data.items, (item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const files: Chosen[] = [];
  const add = async (entry: FileSystemEntry, folder: string): Promise<void> => {
    const name = `${folder}${entry.name}`;
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      files.push({ name, file });
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      // A browser lists a folder in parts.
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (some.length === 0) return;
      for (const each of some) await add(each, `${name}/`);
    }
  };
  for (const { entry, file } of items) {
    if (entry !== null) await add(entry, "");
    else if (file !== null) files.push({ name: file.name, file });
  }
  return files;
}
