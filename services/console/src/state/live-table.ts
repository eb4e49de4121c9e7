import { type Api, ApiFailure } from './api.ts';
import { pastPath } from './history.ts';
import { type ServerTable, TableModel } from './table.ts';
import { isExpired, LineReader, readEvent } from './watch-lines.ts';

export type Liveness = 'loading' | 'live' | 'reconnecting' | 'refused' | 'past';

export interface Newest {
  readonly rowsMax: number;
  /** The revision from which a collection of more rows is followed; empty: not known. */
  readonly from: () => Promise<string>;
}

export interface LiveTableDeps {
  readonly api: Api;
  /** `/api/v1/pods` */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** A moment of the past, which is listed once. Empty: the present, which is followed. */
  readonly at?: string;
  /** What is shown until the first page arrives. */
  readonly before?: TableModel;
  /** Resolves after this time. */
  readonly pause: (ms: number) => Promise<void>;
  /** Only the newest rows: a long collection is not listed, but followed from a revision of short ago. */
  readonly newest?: Newest;
  /** Something is different; called for every event, so the view collects the calls of a frame. */
  readonly changed: () => void;
}

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const PAGE_ROWS = 500;
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 15_000;
const WATCH_SECONDS = 290;

/** A table that follows the cluster: list, watch from its revision, list again when the server has forgotten it. */
export class LiveTable {
  readonly model: TableModel;
  liveness: Liveness = 'loading';
  failure = '';
  /** Older rows are left out. */
  isCut = false;
  readonly #deps: LiveTableDeps;
  readonly #stop = new AbortController();
  /** The server has forgotten the revision of short ago. */
  #isForgotten = false;

  constructor(deps: LiveTableDeps) {
    this.#deps = deps;
    this.model = deps.before ?? new TableModel();
  }

  get #isPast(): boolean {
    return (this.#deps.at ?? '') !== '';
  }

  /** Ends with `stop`, or when the server refuses. */
  async run(): Promise<void> {
    let wait = RETRY_MS;
    let isListed = false;
    while (!this.#stop.signal.aborted) {
      try {
        if (!isListed) await this.#list();
        isListed = true;
        if (this.#isPast) return this.#become('past');
        this.#become('live');
        const began = await this.#watch();
        isListed = began !== 'expired';
        this.#isForgotten ||= began === 'expired';
        if (began === 'events') wait = RETRY_MS;
        else wait = await this.#pauseFor(wait);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (error instanceof ApiFailure && error.isFinal) return this.#become('refused', error.message);
        if (error instanceof ApiFailure && error.code === 410) {
          isListed = false;
          this.#isForgotten = true;
        }
        this.#become(this.liveness === 'loading' ? 'loading' : 'reconnecting', describe(error));
        wait = await this.#pauseFor(wait);
      }
    }
  }

  /** A server that ends every watch at once is not asked as fast as it answers. Returns the next wait. */
  async #pauseFor(wait: number): Promise<number> {
    await this.#deps.pause(wait);
    return Math.min(wait * 2, RETRY_MAX_MS);
  }

  stop(): void {
    this.#stop.abort();
  }

  #become(liveness: Liveness, failure = ''): void {
    if (this.liveness === liveness && this.failure === failure) return;
    this.liveness = liveness;
    this.failure = failure;
    this.#deps.changed();
  }

  async #list(): Promise<void> {
    const { api, query, at = '', newest } = this.#deps;
    const path = this.#isPast ? pastPath(this.#deps.path) : this.#deps.path;
    let token = '';
    let isFirst = true;
    do {
      const page: ServerTable = await api.json(path, {
        accept: TABLE,
        query: {
          ...query,
          limit: String(newest?.rowsMax ?? PAGE_ROWS),
          ...(at === '' ? {} : { time: at }),
          ...(token === '' ? {} : { continue: token }),
        },
        signal: this.#stop.signal,
      });
      this.model.takePage(page, isFirst);
      this.#deps.changed();
      token = page.metadata?.continue ?? '';
      isFirst = false;
    } while (token !== '' && newest === undefined);
    if (newest !== undefined) await this.#beginNewest(token !== '', newest);
  }

  /** A page in the order of names has old rows like new ones: of a long collection none of it is kept. */
  async #beginNewest(isLong: boolean, { from }: Newest): Promise<void> {
    this.isCut = isLong;
    if (!isLong) return;
    this.model.rows.clear();
    if (!this.#isPast && !this.#isForgotten) this.model.revision = (await from()) || this.model.revision;
  }

  /** Follows one watch to its end. */
  async #watch(): Promise<'nothing' | 'events' | 'expired'> {
    const { api, path, query, changed } = this.#deps;
    const chunks = await api.stream(path, {
      accept: TABLE,
      query: {
        ...query,
        watch: '1',
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(WATCH_SECONDS),
        resourceVersion: this.model.revision,
      },
      signal: this.#stop.signal,
    });
    const lines = new LineReader();
    let seen: 'nothing' | 'events' = 'nothing';
    for await (const chunk of chunks) {
      for (const line of lines.take(chunk)) {
        const event = readEvent(line);
        if (isExpired(event)) return 'expired';
        if (event.type === 'ERROR') throw new Error('the watch failed');
        this.model.takeEvent(event);
        seen = 'events';
      }
      const { newest } = this.#deps;
      if (newest !== undefined) this.isCut = this.model.keepNewest(newest.rowsMax) || this.isCut;
      changed();
    }
    return seen;
  }
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
