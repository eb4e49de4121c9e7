import type { ApiResponse } from '@holdfast/client';
import { HISTORY_API, type HistoryChange, type HistoryChangeList, MOMENTS } from '@holdfast/client/history-documents';
import { badRequest } from '@holdfast/machinery';
import type { Revision } from '@holdfast/store';
import { jsonAnswer } from '../http/answers.ts';
import { readInt64 } from '../http/query-values.ts';
import { isTrue } from '../http/request-info.ts';
import { HISTORY_CHANGES_DEFAULT, HISTORY_CHANGES_MAX, HISTORY_COMPARED_CHARS_MAX } from '../limits.ts';
import { type AskedPlace, readPlace } from './asked-place.ts';
import { changeDocument } from './change-document.ts';
import type { Sight } from './history.ts';
import { lastUntil, readMoment, readSince, revisionAt } from './moments.ts';
import { pastChanges } from './past-changes.ts';
import type { HistoryRecord } from './record.ts';
import { type HistoryRequest, pauseOf, sightOf } from './request.ts';
import { createRights } from './rights.ts';

/** What changed after one revision and until another one. */
export async function answerChanges(asked: HistoryRequest): Promise<ApiResponse> {
  const { core, history, request, user } = asked;
  const options = readOptions(request.query);
  const place = asked.place === '' ? undefined : await readPlace(asked);
  const sight = sightOf(history);
  const range = await rangeOf(asked, sight, options.page);
  const rights = createRights(core, user);
  const wants = (prefix: string): boolean | Promise<boolean> =>
    place === undefined ? rights.mayListSome(prefix) : prefix === place.prefix;
  const pause = pauseOf(asked);
  const changes = pastChanges(history, sight, { ...range, wants, pause });
  const page = new ChangesPage(options, range.to);
  for await (const change of changes) {
    const { record } = change;
    if (options.user !== undefined && record.authorship?.author.user !== options.user) continue;
    if (place === undefined ? !(await rights.mayList(record.key)) : !isWithin(record, place)) continue;
    if (options.page?.isShown(record.revision) === true) continue;
    if (page.isFull) return jsonAnswer(200, page.document(true));
    const pausing = pause();
    if (pausing !== undefined) await pausing;
    page.add(record, changeDocument(change, options.diff), change.before.length + record.value.length);
  }
  return jsonAnswer(200, page.document(false));
}

const isWithin = ({ key }: HistoryRecord, { info, within }: AskedPlace): boolean =>
  info.name === '' ? key.startsWith(within) : key === within;

interface ChangesOptions {
  readonly limit: number;
  readonly user: string | undefined;
  readonly diff: boolean;
  readonly page: PageStart | undefined;
}

/** Where a page begins: how many changes of its revision earlier pages have shown. */
class PageStart {
  readonly revision: Revision;
  readonly shown: number;
  #left: number;

  constructor(revision: Revision, shown: number) {
    this.revision = revision;
    this.shown = shown;
    this.#left = shown;
  }

  /** Called once for each change, in order. */
  isShown(revision: Revision): boolean {
    // Writes that were refused at the revision before, where the range begins.
    if (revision < this.revision) return true;
    return revision === this.revision && this.#left-- > 0;
  }
}

function readOptions(query: URLSearchParams): ChangesOptions {
  const limit = query.has('limit') ? readInt64(query.get('limit') ?? '') : HISTORY_CHANGES_DEFAULT;
  const token = query.get('continue') ?? '';
  // A right may be limited to what a selector names, and changes are not selected by one.
  if (SELECTORS.some((name) => query.has(name))) throw badRequest(`changes take no ${SELECTORS.join(' and no ')}`);
  const [, revision, shown] = TOKEN.exec(token) ?? [];
  if (token !== '' && revision === undefined) throw badRequest('the continue token is not one of this list');
  return {
    limit: limit <= 0 ? HISTORY_CHANGES_DEFAULT : Math.min(limit, HISTORY_CHANGES_MAX),
    user: query.get('user') ?? undefined,
    diff: !query.has('diff') || isTrue(query.get('diff')),
    page: revision === undefined ? undefined : new PageStart(Number(revision), Number(shown)),
  };
}

const SELECTORS = ['labelSelector', 'fieldSelector'] as const;
const TOKEN = /^(\d{1,15})\.(\d{1,6})$/;

/** Pages repeat the parameters of the first one, so a moment `to` that is not named moves on between them. */
async function rangeOf(
  { core, history, request: { query } }: HistoryRequest,
  sight: Sight,
  page: PageStart | undefined,
): Promise<{ readonly from: Revision; readonly to: Revision }> {
  const end = readMoment(query, MOMENTS.to);
  const to = end === undefined ? sight.newest : await revisionAt(history, sight, end);
  if (page !== undefined) {
    const begin = await revisionAt(history, sight, { revision: page.revision });
    return { from: Math.max(begin - 1, sight.oldest), to };
  }
  const since = readSince(query, core.clock.now());
  const start = readMoment(query, MOMENTS.from);
  if (since !== undefined && start !== undefined) throw badRequest('since and from exclude each other');
  if (start !== undefined) return { from: await revisionAt(history, sight, start), to };
  return { from: since === undefined ? sight.oldest : await lastUntil(history, sight, since), to };
}

class ChangesPage {
  readonly #items: HistoryChange[] = [];
  readonly #options: ChangesOptions;
  readonly #to: Revision;
  #chars = 0;
  #last: Revision = 0;
  #ofLast = 0;

  constructor(options: ChangesOptions, to: Revision) {
    this.#options = options;
    this.#to = to;
  }

  get isFull(): boolean {
    return this.#items.length >= this.#options.limit || this.#chars > HISTORY_COMPARED_CHARS_MAX;
  }

  add({ revision }: HistoryRecord, item: HistoryChange, chars: number): void {
    if (revision !== this.#last) this.#ofLast = 0;
    this.#items.push(item);
    this.#chars += chars;
    this.#last = revision;
    this.#ofLast++;
  }

  document(hasMore: boolean): HistoryChangeList {
    const metadata = { resourceVersion: String(this.#to), ...(hasMore ? { continue: this.#token() } : {}) };
    return { kind: 'HistoryChangeList', apiVersion: HISTORY_API, metadata, items: this.#items };
  }

  /** A page that ends within the revision at which it began has those of the pages before, too. */
  #token(): string {
    const before = this.#options.page?.revision === this.#last ? this.#options.page.shown : 0;
    return `${this.#last}.${before + this.#ofLast}`;
  }
}
