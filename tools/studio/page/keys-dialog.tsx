// The list of keyboard shortcuts.
import { Dialog } from "./dialog.js";

const groups: Array<[title: string, keys: Array<[keys: string[], what: string]>]> = [
  [
    "Everywhere",
    [
      [["j", "↓"], "next row"],
      [["k", "↑"], "previous row"],
      [["Enter"], "open"],
      [["Esc"], "go back, or leave a field or dialog"],
      [["/"], "search"],
      [["?"], "this list"],
    ],
  ],
  [
    "In a run",
    [
      [["["], "older checkpoint"],
      [["]"], "newer checkpoint"],
      [["d"], "show changes"],
      [["m"], "show the conversation"],
      [["r"], "show the conversation as stored"],
      [["f"], "fork"],
      [["x"], "compare with another step"],
      [["Alt", "click"], "compare with this step"],
      [["e"], "edit the selected value"],
    ],
  ],
  [
    "In a tree",
    [
      [["→"], "open, then go to the first entry"],
      [["←"], "close, then go to the parent"],
      [["Home", "End"], "first and last row"],
    ],
  ],
];

export function KeysDialog({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" testId="keys" kind="keys" close={close}>
      <div class="key-groups tiles scroll" role="group" aria-label="Keys" tabIndex={0}>
        {groups.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([names, what]) => (
                <div key={what} class="row">
                  <dt class="row">
                    {names.map((name) => (
                      <kbd key={name}>{name}</kbd>
                    ))}
                  </dt>
                  <dd class="soft">{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
