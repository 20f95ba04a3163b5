// The search field and the filters of a list.
import { useRef } from "preact/hooks";
import { Icon } from "./icons.js";
import { useKeys } from "./keys.js";

interface SearchProps {
  name: string;
  placeholder: string;
  testId: string;
  value: string;
  onText: (text: string) => void;
}

/** A search field. The key `/` focuses it. */
export function SearchField({ name, placeholder, testId, value, onText }: SearchProps) {
  const field = useRef<HTMLInputElement>(null);
  useKeys({
    "/": () => {
      field.current?.select();
      field.current?.focus();
    },
  });
  return (
    <label class="field search row">
      <Icon name="search" class="dim" />
      <span class="hidden">{name}</span>
      <input
        ref={field}
        type="text"
        enterkeyhint="search"
        data-testid={testId}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <kbd class="wide-only" aria-hidden="true">
        /
      </kbd>
    </label>
  );
}

interface CheckProps {
  name: string;
  checked: boolean;
  testId?: string;
  onChange: (checked: boolean) => void;
}

export function Check({ name, checked, testId, onChange }: CheckProps) {
  return (
    <label class="field row">
      <input
        type="checkbox"
        data-testid={testId}
        checked={checked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span>{name}</span>
    </label>
  );
}

interface ChoiceProps {
  name: string;
  value: string;
  /** The values to choose from, with their labels. */
  options: ReadonlyArray<readonly [value: string, text: string]>;
  testId?: string;
  onChoice: (value: string) => void;
}

export function Choice({ name, value, options, testId, onChoice }: ChoiceProps) {
  return (
    <label class="field row">
      <span>{name}</span>
      <select data-testid={testId} value={value} onChange={({ currentTarget }) => onChoice(currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
