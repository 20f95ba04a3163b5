// The frame of all pages: the bar at the top, the page, and what is said beside it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { live } from "./events.js";
import { shown } from "./format.js";
import { Icon } from "./icons.js";
import { useKeys } from "./keys.js";
import { KeysDialog } from "./keys-dialog.js";
import { address, formatAddress } from "./route.js";
import { RunPage } from "./run-page.js";
import { backToRuns } from "./runs-address.js";
import { RunsPage } from "./runs-page.js";
import { StoragePage } from "./storage-page.js";
import { readStore, store, storeTrouble } from "./store.js";
import { theme, turnTheme } from "./theme.js";
import { Button, ErrorBox, news, toast } from "./ui.js";

export function App() {
  const keys = useSignal(false);
  const { page, parameters } = address.value;
  useKeys({ "?": () => (keys.value = true) });
  useEffect(() => {
    const what = page === "run" ? shown(parameters["run"] ?? "", 60) : page === "storage" ? "Storage" : "Runs";
    document.title = `${what} · Forkpoint Studio`;
  }, [page, parameters["run"]]);
  const trouble = storeTrouble.value;
  return (
    <>
      <a class="skip" href="#page" onClick={skip}>
        Skip to the page
      </a>
      <Bar openKeys={() => (keys.value = true)} />
      <div id="page" tabIndex={-1}>
        {trouble !== null && store.value === null ? (
          <main class="locked">
            <ErrorBox trouble={trouble} retry={() => void readStore()} />
          </main>
        ) : page === "run" ? (
          <RunPage />
        ) : page === "storage" ? (
          <StoragePage />
        ) : (
          <RunsPage />
        )}
      </div>
      {keys.value && <KeysDialog close={() => (keys.value = false)} />}
      <div class="toasts">
        {toast.value !== null && (
          <p key={toast.value.at} class="toast" data-testid={toast.value.testId}>
            {toast.value.text}
          </p>
        )}
      </div>
      <p class="hidden" role="status" aria-live="polite">
        {news.value}
      </p>
    </>
  );
}

/** The part of the address behind "#" names the page, so a link to a place in it would leave it. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#page")?.focus();
}

function Bar({ openKeys }: { openKeys: () => void }) {
  const { page } = address.value;
  const info = store.value;
  const isLive = live.value;
  const dark = theme() === "dark";
  return (
    <header class="top">
      <a class="brand" href={formatAddress(backToRuns())} aria-label="Forkpoint Studio: the list of runs">
        <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
          <path d="M11 25V7M11 19c0-5 10-3 10-9" />
          <circle cx="11" cy="24.5" r="3.6" />
          <circle cx="11" cy="7.5" r="3.6" />
          <circle class="open" cx="21" cy="8.5" r="3.2" />
        </svg>
        <span>Forkpoint</span>
      </a>
      <nav aria-label="Pages">
        <a href={formatAddress(backToRuns())} aria-current={page === "runs" || page === "run" ? "page" : undefined}>
          Runs
        </a>
        <a href="#/storage" aria-current={page === "storage" ? "page" : undefined}>
          Storage
        </a>
      </nav>
      {info !== null && (
        <p class="target cut" title={shown(info.target)}>
          <Icon name="disk" />
          <span class="cut">{shown(info.target, 300)}</span>
        </p>
      )}
      <span class="grow" />
      {info !== null && !info.write && (
        <span class="readonly" data-testid="readonly" title="Started without --write: nothing can be changed">
          Read only
        </span>
      )}
      <span
        class="live"
        data-testid="live"
        data-state={isLive ? "live" : "offline"}
        title={isLive ? "What is saved appears at once" : "The studio does not answer"}
      >
        {isLive ? "Live" : "Offline"}
      </span>
      <Button
        kind="quiet"
        icon={dark ? "sun" : "moon"}
        testId="theme"
        name={dark ? "Light" : "Dark"}
        onClick={turnTheme}
      />
      <Button kind="quiet" icon="keys" name="Keys" onClick={openKeys} />
    </header>
  );
}
