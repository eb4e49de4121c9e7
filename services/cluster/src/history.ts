import type { HistoryChange, HistoryChangeList } from '@holdfast/client/history-documents';
import type { ClusterFetch } from './fetch.ts';
import { badOption } from './options.ts';

export type { HistoryChange } from '@holdfast/client/history-documents';

/** Everything is optional: which changes, oldest first. */
export interface HistoryQuery {
  /** Only this far back, such as `10m`, in the time of the cluster. */
  readonly since?: string;
  /** Only after this revision. */
  readonly from?: string;
  /** Only until this revision. */
  readonly to?: string;
  /** The path of an object or of a list in the API, as in `/api/v1/namespaces/default/pods/web`. */
  readonly path?: string;
  /** Only what this user wrote. */
  readonly user?: string;
}

/** The history of a cluster in memory ends with it, so a long test keeps all of its own. */
export const CLUSTER_HISTORY = { retentionMs: 7 * 24 * 3_600_000, limitBytes: 32 * 1024 * 1024 };

const ROOT = '/holdfast.io/history/v1/changes';
const PAGE = '5000';
/** A question for more is one that nobody reads. */
const CHANGES_MAX = 50_000;

/** Reads all pages through the API, with the rights of whom the fetch belongs to. */
export async function readHistory(fetch: ClusterFetch, query: HistoryQuery): Promise<readonly HistoryChange[]> {
  const { since, from, to: until, path = '', user } = query;
  if (path !== '' && !path.startsWith('/')) {
    throw badOption(`${JSON.stringify(path)} is not a path of the API`, 'Begin it with /, as in /api/v1/pods.');
  }
  const asked = Object.entries({ since, from, to: until, user }).filter(([, value]) => value !== undefined);
  const changes: HistoryChange[] = [];
  for (let more: Readonly<Record<string, string>> = {}; ; ) {
    const text = new URLSearchParams({ ...Object.fromEntries(asked), limit: PAGE, ...more });
    const answer = await fetch(`${ROOT}${path}?${text.toString()}`);
    const body = (await answer.json()) as HistoryChangeList & { readonly message?: string };
    if (answer.status !== 200) throw badOption(`the history was refused: ${body.message}`, 'Correct the query.');
    changes.push(...body.items);
    const { continue: token, resourceVersion: to } = body.metadata;
    if (token === undefined || changes.length >= CHANGES_MAX) return changes;
    more = { continue: token, to };
  }
}
