// The field for the name of the person who answers or stops a run. The browser keeps it as long as its tab.
import type { Signal } from "@preact/signals";

const NAME = "forkpoint-name";

export function storedName(): string {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

export function keepName(name: string): void {
  try {
    sessionStorage.setItem(NAME, name);
  } catch {
    // Without storage, the name is kept as long as the form.
  }
}

export function NameField({ by, testId }: { by: Signal<string>; testId: string }) {
  return (
    <label class="field row">
      <span>Your name</span>
      <input
        maxLength={200}
        size={16}
        data-testid={testId}
        placeholder="optional"
        autocomplete="off"
        value={by.value}
        onInput={({ currentTarget: { value } }) => (by.value = value)}
      />
    </label>
  );
}
