import type { HistoryChange, HistoryChangeList } from './documents.ts';

/** Reads a document of the API as JSON. */
export type ReadDocument = (path: string, query?: URLSearchParams) => Promise<unknown>;

export const HISTORY_PATH = '/holdfast.io/history/v1';
const PAGE = 2_000;
/** More are no longer read by people. */
export const CHANGES_MAX = 20_000;

export interface HistoryFound {
  readonly changes: readonly HistoryChange[];
  /** True when later ones are left out. */
  readonly isCut: boolean;
}

/** Reads the changes below a path of the API page by page, oldest first. */
export async function readChanges(
  read: ReadDocument,
  place: string,
  asked: Readonly<Record<string, string>>,
): Promise<HistoryFound> {
  const changes: HistoryChange[] = [];
  let to = '';
  for (let token = ''; ; ) {
    const query = new URLSearchParams({ ...asked, limit: String(PAGE) });
    if (token !== '') query.set('continue', token);
    // A later page ends where the first one does.
    if (to !== '') {
      query.delete('toTime');
      query.set('to', to);
    }
    const page = (await read(`${HISTORY_PATH}/changes${place}`, query)) as HistoryChangeList;
    changes.push(...page.items);
    to = page.metadata.resourceVersion;
    token = page.metadata.continue ?? '';
    if (token === '') return { changes, isCut: false };
    if (changes.length >= CHANGES_MAX) return { changes, isCut: true };
  }
}
