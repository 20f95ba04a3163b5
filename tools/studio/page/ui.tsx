// Small components that all pages use.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { remedy } from "./access.js";
import type { RunRef, Status, Stranded, Trouble } from "./api.js";
import { bytes, halves, shown } from "./format.js";
import { Icon, type IconName } from "./icons.js";

/** The next announcement for screen readers. */
export const news = signal("");

/** A short message at the edge of the page. */
export const toast = signal<{ text: string; testId: string | undefined } | null>(null);

let hiding: ReturnType<typeof setTimeout> | undefined;

export function say(text: string, testId?: string): void {
  news.value = text;
  toast.value = { text, testId };
  clearTimeout(hiding);
  hiding = setTimeout(() => (toast.value = null), 6_000);
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}`);
  } catch {
    say(`The browser didn't allow copying ${what}`);
  }
}

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "icon"> & {
  icon?: IconName;
  /** The keyboard shortcut. */
  hint?: string;
  name?: string;
  kind?: "plain" | "primary" | "quiet";
  testId?: string;
  children?: ComponentChildren;
};

/** A button. `name` is the label of a button without text. */
export function Button({ icon, hint, name, kind = "plain", testId, children, ...others }: ButtonProps) {
  // The visible text must be a part of the name.
  const label = name !== undefined && hint !== undefined ? `${name} (${hint})` : name;
  return (
    <button type="button" class={`button ${kind}`} data-testid={testId} aria-label={label} title={label} {...others}>
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
      {hint && (
        <kbd class="wide-only" aria-hidden="true">
          {hint}
        </kbd>
      )}
    </button>
  );
}

const statusIcons: Record<Status, IconName> = {
  waiting: "pause",
  failed: "cross",
  unfinished: "half",
  stopped: "stop",
  finished: "check",
  unknown: "dash",
};

/** The labels of a run. `most`: how many are shown. */
export function Labels({ labels, most = Infinity }: { labels: Record<string, string>; most?: number }) {
  const all = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return (
    <>
      {all.slice(0, most).map((label) => (
        <span key={label} class="tag cut" data-testid="run-label" title={shown(label, 600)}>
          {shown(label, 40)}
        </span>
      ))}
      {all.length > most && <span class="dim">+{all.length - most}</span>}
    </>
  );
}

/** A status: an icon, a word and a color. */
export function StatusMark({ status, testId }: { status: Status; testId?: string }) {
  return (
    <span class={`status row small ground ${status in statusIcons ? status : ""}`} data-testid={testId}>
      <Icon name={statusIcons[status] ?? "dash"} size={14} weight={2} />
      {shown(status)}
    </span>
  );
}

/** Says that the version of a program that started last cannot continue a run, and why. */
export function strandedText({ program, to: { version, shape }, differences }: Stranded): string {
  const text = `Version ${version ?? shape} of ${program}, which started last, can't continue it: ${differences.join("; ")}`;
  return shown(text, 500);
}

/** The mark of a run that no worker continues. */
export function StrandedMark({ stranded }: { stranded: Stranded | null }) {
  if (stranded === null) return null;
  return (
    <span class="tag stranded" data-testid="stranded" title={strandedText(stranded)}>
      stranded
    </span>
  );
}

/** The name of a space: a framework, or `storage`. */
export function SpaceMark({ space }: { space: string }) {
  return <span class="tag cut">{shown(space, 40)}</span>;
}

/** An id, cut in the middle if it does not fit. */
export function Id({ id, class: kind = "" }: { id: string; class?: string }) {
  const { head, tail, isWord } = halves(id);
  return (
    <span class={`id mono ${isWord ? "word" : ""} ${kind}`} title={shown(id)}>
      <span class="cut">{head === "" && tail === "" ? "(empty)" : head}</span>
      <span class="tail">{tail}</span>
    </span>
  );
}

/** A bar that shows a share, from 0 to 1. */
export function Bar({ part, kind = "" }: { part: number; kind?: string }) {
  const width = Number.isFinite(part) ? Math.max(0, Math.min(1, part)) : 0;
  return (
    <span class={`bar ${kind}`} aria-hidden="true">
      <span style={{ width: `${(width * 100).toFixed(2)}%` }} />
    </span>
  );
}

/** A size, with a bar that compares it with the largest one. */
export function Size({ size, most }: { size: number; most: number }) {
  return (
    <span class="size row number">
      <Bar part={size / most} />
      <span>{bytes(size)}</span>
    </span>
  );
}

/** The advice for each error code. */
const remedies: Record<string, string> = {
  OFFLINE: "Check whether forkpoint studio is still running, and restart it if not.",
  FORBIDDEN: remedy,
  READ_ONLY: "Start the studio with --write.",
  NOT_FOUND: "It may have been removed. Go back to the list of runs.",
  BUSY: "Another process has locked the database. Try again.",
  CORRUPT: "Run forkpoint verify to see what is damaged and how to repair it.",
  UNSUPPORTED: "To read values of your own serializer, start forkpoint studio with --serializer <module>.",
  UNAVAILABLE: "Check that the file or the server is reachable, then try again.",
};

/** An error, with advice. */
export function ErrorBox({ trouble, retry }: { trouble: Trouble; retry?: (() => void) | undefined }) {
  return (
    <div class="trouble failed ground panel row" role="alert" data-testid="error" data-code={trouble.code}>
      <Icon name="alert" class="tone" />
      <div class="grow wrap">
        <p>
          <em class="tone mono">{shown(trouble.code)}</em> {shown(trouble.message)}
        </p>
        <p class="soft">{remedies[trouble.code] ?? "Try again. If the error stays, follow the message."}</p>
      </div>
      {retry && (
        <Button icon="again" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** The message that replaces an empty list: a title and an explanation. */
export function Empty({ title, testId, children }: { title: string; testId?: string; children?: ComponentChildren }) {
  return (
    <div class="empty stack soft" data-testid={testId}>
      <Icon name="lanes" size={40} weight={1} class="dim" />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** The placeholder for rows that are still loading. */
export function Skeleton({ rows }: { rows: number }) {
  return (
    <div class="skeleton stack" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

/** Returns a unique key of a run. */
export const keyOf = ({ space, run, ns }: RunRef): string => JSON.stringify([space, run, ns ?? null]);
