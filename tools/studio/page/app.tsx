// The frame of all pages: the bar at the top, the page, messages and dialogs.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { picking } from "./compare.js";
import { ComparePick } from "./compare-pick.js";
import { isFile } from "./api.js";
import { useDrawing } from "./drawn.js";
import { live } from "./events.js";
import { shown } from "./format.js";
import { GrepPage } from "./grep-page.js";
import { Icon } from "./icons.js";
import { useKeys } from "./keys.js";
import { KeysDialog } from "./keys-dialog.js";
import { address, backToRuns, formatAddress } from "./route.js";
import { RunPage } from "./run-page.js";
import { RunsPage } from "./runs-page.js";
import { readStore, store, storeTrouble } from "./store.js";
import { theme, turnTheme } from "./theme.js";
import { Button, ErrorBox, news, toast } from "./ui.js";

function Storage() {
  const drawing = useDrawing();
  return drawing && <drawing.StoragePage />;
}

export function App() {
  const keys = useSignal(false);
  const { page, parameters } = address.value;
  useKeys({ "?": () => (keys.value = true) });
  useEffect(() => {
    const what =
      page === "run"
        ? shown(parameters["run"] ?? "", 60)
        : page === "storage"
          ? "Storage"
          : page === "search"
            ? "Search"
            : "Runs";
    document.title = `${what} · Forkpoint Studio`;
  }, [page, parameters["run"]]);
  const trouble = storeTrouble.value;
  return (
    <>
      <a class="skip button primary" href="#page" onClick={skip}>
        Skip to content
      </a>
      <Bar openKeys={() => (keys.value = true)} />
      <div id="page" class="stack grow" tabIndex={-1}>
        {trouble !== null && store.value === null ? (
          <main class="locked stack grow" aria-labelledby="page-title">
            <h1 id="page-title" class="hidden">
              Forkpoint Studio
            </h1>
            <ErrorBox trouble={trouble} retry={() => void readStore()} />
          </main>
        ) : page === "run" ? (
          <RunPage />
        ) : page === "storage" ? (
          <Storage />
        ) : page === "search" ? (
          <GrepPage />
        ) : (
          <RunsPage />
        )}
      </div>
      {picking.value !== null && <ComparePick key={`${page} ${parameters["run"]}`} />}
      {keys.value && <KeysDialog close={() => (keys.value = false)} />}
      {toast.value !== null && (
        <p class="toast" data-testid={toast.value.testId}>
          {toast.value.text}
        </p>
      )}
      <p class="hidden" role="status" aria-live="polite">
        {news.value}
      </p>
    </>
  );
}

/** The fragment of the URL names the page, so a link to `#page` would leave the page. */
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
    <header class="top row">
      <a class="brand row" href={formatAddress(backToRuns())} aria-label="Forkpoint Studio: list of runs">
        <svg
          class="accent"
          viewBox="0 0 32 32"
          width="22"
          height="22"
          fill="none"
          stroke="currentColor"
          aria-hidden="true"
        >
          <path d="M11 25V7M11 19c0-5 10-3 10-7.2" stroke-width="2.6" />
          <circle cx="11" cy="24.5" r="1.8" stroke-width="3.6" />
          <circle cx="11" cy="7.5" r="1.8" stroke-width="3.6" />
          <circle cx="21" cy="8.5" r="3.2" stroke-width="2.6" />
        </svg>
        <em class="wide-only">Forkpoint</em>
      </a>
      <nav class="row" aria-label="Pages">
        <a
          class="tab"
          href={formatAddress(backToRuns())}
          aria-current={page === "runs" || page === "run" ? "page" : undefined}
        >
          Runs
        </a>
        {!isFile && (
          <>
            <a class="tab" href="#/search" aria-current={page === "search" ? "page" : undefined}>
              Search
            </a>
            <a class="tab" href="#/storage" aria-current={page === "storage" ? "page" : undefined}>
              Storage
            </a>
          </>
        )}
      </nav>
      {info !== null && !isFile && (
        <p class="row dim mono wide-only" title={shown(info.target)}>
          <Icon name="disk" />
          <span class="cut">{shown(info.target, 300)}</span>
        </p>
      )}
      <span class="grow" />
      {info !== null && !info.write && (
        <span
          class="tag"
          data-testid="readonly"
          title={isFile ? "A file: you can't change anything" : "Started without --write: you can't change anything"}
        >
          Read-only
        </span>
      )}
      {!isFile && (
        <span
          class={`live row small soft ${isLive ? "finished" : ""}`}
          data-testid="live"
          data-state={isLive ? "live" : "offline"}
          title={isLive ? "New saves appear automatically" : "The studio isn't responding"}
        >
          {isLive ? "Live" : "Offline"}
        </span>
      )}
      <span class="row">
        <Button
          kind="quiet"
          icon={dark ? "sun" : "moon"}
          testId="theme"
          name={dark ? "Light" : "Dark"}
          onClick={turnTheme}
        />
        <Button kind="quiet" class="button quiet wide-only" icon="keys" name="Keyboard shortcuts" onClick={openKeys} />
      </span>
    </header>
  );
}
