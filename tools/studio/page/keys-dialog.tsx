// The list of keys.
import { Dialog } from "./dialog.js";

const groups: Array<[title: string, keys: Array<[keys: string[], what: string]>]> = [
  [
    "Everywhere",
    [
      [["j", "↓"], "next row"],
      [["k", "↑"], "row before"],
      [["Enter"], "open"],
      [["Esc"], "back; first out of a field or a dialog"],
      [["/"], "search"],
      [["?"], "this list"],
    ],
  ],
  [
    "In a run",
    [
      [["["], "older checkpoint"],
      [["]"], "newer checkpoint"],
      [["d"], "what has changed"],
      [["f"], "fork"],
      [["Alt", "click"], "compare with this checkpoint"],
    ],
  ],
  [
    "In a tree",
    [
      [["→"], "open, then into it"],
      [["←"], "close, then out of it"],
      [["Home", "End"], "first and last row"],
    ],
  ],
];

export function KeysDialog({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" testId="keys" kind="keys" close={close}>
      <div class="key-groups tiles scroll">
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
