// The data of a run page: the run, its checkpoints (newest first), and the selected one.
import { batch, computed, effect, signal } from "@preact/signals";
import {
  type CheckpointInfo,
  type Detail,
  type EffectInfo,
  type RunInfo,
  type RunPage,
  type RunRef,
  type Trouble,
  api,
  troubleOf,
} from "./api.js";
import { withoutVs } from "./compare.js";
import { sizeOf } from "../forms.js";
import type { RunUsage } from "../../../ts/inspect/conversation/usage-views.js";
import { type Heard, listen } from "./events.js";
import { type Layout, layOut } from "./lanes.js";
import { address, change } from "./route.js";

/** The first page fills the screen. */
const FIRST_PAGE = 60;
const PAGE = 500;
/** The number of checkpoints that are loaded before the user scrolls, for the lanes and the chart. */
const AHEAD = 20_000;
/** The number of newest checkpoints to read after a save. */
const NEWEST = 30;

/** Stands for the newest checkpoint until its id is loaded. */
const NEWEST_OF_ALL = "newest";

export class RunView {
  readonly ref: RunRef;
  readonly info = signal<RunInfo | null>(null);
  readonly steps = signal<readonly CheckpointInfo[]>([]);
  readonly forks = signal<readonly RunInfo[]>([]);
  readonly effects = signal<readonly EffectInfo[]>([]);
  /** The effect in the dialog. */
  readonly shownEffect = signal<EffectInfo | null>(null);
  readonly usage = signal<RunUsage | null>(null);
  /** The tokens that each step has added, by its id. */
  readonly usageOf = computed(() => new Map(this.usage.value?.steps.map(({ id, usage }) => [id, usage])));
  readonly cursor = signal<string | null>(null);
  readonly loading = signal(true);
  readonly trouble = signal<Trouble | null>(null);
  /** The checkpoints whose forks are all shown. */
  readonly opened = signal<ReadonlySet<string>>(new Set());
  /** The open rows of the state. Null: the default. */
  readonly open = signal<ReadonlySet<string> | null>(null);

  readonly detail = signal<Detail | null>(null);
  readonly detailTrouble = signal<Trouble | null>(null);
  readonly detailLoading = signal(false);
  /** Whether a checkpoint is shown. Requests that need many states wait for it. */
  readonly isShown = computed(() => this.detail.value !== null || this.detailTrouble.value !== null);

  readonly layout = computed<Layout>(() => {
    const steps = this.steps.value.map(({ id, parent }) => ({
      id,
      parent: parent !== null && this.#isOwn(parent) ? parent.id : null,
      origin: parent !== null && !this.#isOwn(parent),
    }));
    const forks = this.forks.value.map(({ forkedFrom }) => forkedFrom!.id);
    const complete = this.cursor.value === null && !this.loading.value;
    return layOut(steps, forks, complete, this.opened.value, this.effects.value.map(this.#baseOf));
  });

  /** Returns the checkpoint from which an effect began. If it was removed, the times decide. */
  readonly #baseOf = ({ checkpointId, startedAt }: EffectInfo): string => {
    if (checkpointId === null) return "";
    const steps = this.steps.value;
    const base = steps.find(({ id }) => id === checkpointId) ?? steps.find(({ savedAt }) => savedAt < startedAt);
    return base?.id ?? "";
  };

  /** The selected checkpoint: the one in the address, or the newest. */
  readonly current = computed<CheckpointInfo | null>(() => {
    const id = address.value.parameters["at"];
    const steps = this.steps.value;
    return (id === undefined ? steps[0] : steps.find((step) => step.id === id)) ?? null;
  });

  /** The position of this checkpoint in the list. -1: not loaded. */
  readonly currentIndex = computed(() =>
    this.current.value === null ? -1 : this.steps.value.indexOf(this.current.value),
  );

  #asking = new AbortController();
  #askingDetail = new AbortController();
  readonly #ends: Array<() => void> = [];
  #hearing: ReturnType<typeof setTimeout> | undefined;
  #looking: ReturnType<typeof setTimeout> | undefined;

  constructor(ref: RunRef) {
    this.ref = ref;
  }

  #isOwn({ space, run, ns }: RunRef): boolean {
    const { ref } = this;
    return space === ref.space && run === ref.run && (ns ?? "") === (ref.ns ?? "");
  }

  /** Loads the run, and follows new saves. Returns a function that stops. */
  start(): () => void {
    void this.load();
    this.#ends.push(listen((heard) => this.#hear(heard)));
    this.#ends.push(effect(() => this.#follow()));
    return () => {
      for (const end of this.#ends) end();
      clearTimeout(this.#hearing);
      clearTimeout(this.#looking);
      this.#asking.abort();
      this.#askingDetail.abort();
    };
  }

  /** The last requested detail: the `seq` and id of a checkpoint, or the newest before the list is loaded. */
  #asked = "";

  /** Loads the selected checkpoint when the selection changes. */
  #follow(): void {
    const { page, parameters } = address.value;
    const current = this.current.value;
    // The address may already name another run.
    if (page !== "run" || !this.#isOwn(refOf(parameters))) return;
    const id = parameters["at"] ?? current?.id;
    const key = id === undefined ? NEWEST_OF_ALL : `${current?.seq} ${id}`;
    if (key === this.#asked) return;
    const before = this.#asked;
    this.#asked = key;
    const detail = this.detail.peek();
    // The list is now loaded. Reload the earlier requested detail only if its seq differs.
    const wasAskedFirst = before === NEWEST_OF_ALL || before === `undefined ${id}`;
    if (!wasAskedFirst || current === null) void this.#loadDetail(id);
    else if (detail !== null && detail.checkpoint.seq !== current.seq) void this.#loadDetail(id);
  }

  /** Loads the run, starting with its newest checkpoint. */
  async load(): Promise<void> {
    this.#asking.abort();
    this.#asking = new AbortController();
    await this.#whileLoading(async (own) => {
      const page = await api.run(this.ref, null, FIRST_PAGE, own);
      batch(() => {
        this.#take(page);
        this.steps.value = page.checkpoints;
        this.cursor.value = page.cursor;
        this.trouble.value = null;
        this.loading.value = page.cursor !== null;
      });
      await this.#loadRest(own);
    });
  }

  async #whileLoading(load: (own: AbortSignal) => Promise<void>): Promise<void> {
    const { signal: own } = this.#asking;
    this.loading.value = true;
    try {
      await load(own);
    } catch (error) {
      if (own.aborted) return;
      const trouble = troubleOf(error);
      batch(() => {
        this.trouble.value = trouble;
        this.loading.value = false;
        // The run was removed.
        if (trouble.status === 404) this.steps.value = [];
      });
    }
  }

  /** Loads more checkpoints: at least up to the one in the address, and up to `most`. */
  async #loadRest(own: AbortSignal, most = AHEAD): Promise<void> {
    while (this.cursor.value !== null && (this.steps.value.length < most || this.currentIndex.value === -1)) {
      const page = await api.run(this.ref, this.cursor.value, PAGE, own);
      if (own.aborted) return;
      const known = new Set(this.steps.value.map(({ id }) => id));
      batch(() => {
        this.steps.value = [...this.steps.value, ...page.checkpoints.filter(({ id }) => !known.has(id))];
        this.cursor.value = page.cursor;
      });
    }
    this.loading.value = false;
  }

  /** Loads the next page of a long run. */
  async loadMore(): Promise<void> {
    if (this.loading.value || this.cursor.value === null) return;
    await this.#whileLoading((own) => this.#loadRest(own, this.steps.value.length + 1));
  }

  #take({ run, forks, effects }: RunPage): void {
    this.info.value = run;
    this.effects.value = effects;
    // No event tells that a process has ended its work on the run, or on an effect.
    clearTimeout(this.#looking);
    if (run.lease !== null || effects.some(({ state }) => state === "running")) {
      this.#looking = setTimeout(() => void this.#loadNewest(), 5_000);
    }
    this.forks.value = forks.filter(({ forkedFrom }) => forkedFrom !== null);
  }

  #hear(heard: Heard): void {
    const isMine =
      heard.type === "again" ||
      (heard.type === "effect"
        ? this.#isOwn(heard.effect)
        : this.#isOwn(heard.checkpoint) || (heard.checkpoint.parent !== null && this.#isOwn(heard.checkpoint.parent)));
    if (!isMine || this.#hearing !== undefined) return;
    this.#hearing = setTimeout(() => {
      this.#hearing = undefined;
      void (heard.type === "again" ? this.load() : this.#loadNewest());
    }, 120);
  }

  async #loadNewest(): Promise<void> {
    const { signal: own } = this.#asking;
    try {
      const page = await api.run(this.ref, null, NEWEST, own);
      if (own.aborted) return;
      const ids = new Set(page.checkpoints.map(({ id }) => id));
      const isJoined = this.steps.value.some(({ id }) => ids.has(id)) || page.cursor === null;
      if (!isJoined) return void (await this.load());
      batch(() => {
        this.#take(page);
        this.steps.value = [...page.checkpoints, ...this.steps.value.filter(({ id }) => !ids.has(id))];
      });
    } catch {
      // When the studio responds again, the event stream reopens and the page reloads.
    }
  }

  async #loadDetail(id: string | undefined): Promise<void> {
    this.#askingDetail.abort();
    this.#askingDetail = new AbortController();
    const { signal: own } = this.#askingDetail;
    this.detailLoading.value = true;
    try {
      const detail = await api.checkpoint(this.ref, id, own);
      if (own.aborted) return;
      batch(() => {
        this.detail.value = detail;
        this.detailTrouble.value = null;
        this.detailLoading.value = false;
      });
      // Another checkpoint was saved between the two requests.
      const current = this.current.peek();
      if (id === undefined && current !== null && current.seq !== detail.checkpoint.seq)
        void this.#loadDetail(current.id);
    } catch (error) {
      if (own.aborted) return;
      batch(() => {
        this.detail.value = null;
        this.detailTrouble.value = troubleOf(error);
        this.detailLoading.value = false;
      });
    }
  }

  /** Returns the size of a state as JSON, in bytes. If the state is not loaded, returns its size in the store. */
  sizeOf({ id, bytes }: CheckpointInfo): number {
    const detail = this.detail.value;
    return detail?.checkpoint.id === id ? sizeOf(detail.state) : bytes.logical;
  }

  reloadDetail(): void {
    const id = this.current.value?.id ?? address.value.parameters["at"];
    if (id !== undefined) void this.#loadDetail(id);
  }

  /** Selects a checkpoint some rows below. A positive number selects an older one. */
  move(by: number): void {
    const steps = this.steps.value;
    const at = Math.max(0, Math.min(steps.length - 1, this.currentIndex.value + by));
    const step = steps[at];
    if (step !== undefined) this.look(step.id, true);
  }

  look(id: string, replace = false): void {
    change({ at: id, ...withoutVs }, replace);
  }

  /** Compares the selected checkpoint with another one. */
  compare(id: string): void {
    const current = this.current.value?.id;
    if (current === undefined || current === id) return;
    change({ at: current, ...withoutVs, vs: id, view: "diff" });
  }
}

/** Returns the run that an address names. */
export function refOf(parameters: Record<string, string>): RunRef {
  return { space: parameters["space"] ?? "", run: parameters["run"] ?? "", ns: parameters["ns"] ?? null };
}
