import { LEASES, NODE_LEASES_NAMESPACE, NODES } from '@holdfast/api/facts';
import { parseTime } from '@holdfast/platform/time';
import type { HistoryChange, HistoryChangeList } from '../history/documents.ts';
import { HISTORY_PATH, type ReadDocument } from '../history/read-changes.ts';
import type { Reader } from '../why/reader.ts';
import type { HearingFacts } from './hearing.ts';

export interface HearingSource {
  readonly reader: Reader;
  readonly read: ReadDocument;
  /** `/readyz?verbose`; undefined: no answer. */
  readonly readyz: () => Promise<string | undefined>;
  readonly now: number;
}

const COMPONENTS_NAMESPACE = 'kube-system';
/** Changes of so long ago say what a party knew. A page begins with the oldest: in a busy cluster less is asked. */
const SINCE_SECONDS = [60, 10, 2];
const CHANGES_MAX = 2_000;

/** Reads with the rights of the user; what is refused is missing in the matrix. */
export async function readHearing({ reader, read, readyz, now }: HearingSource): Promise<HearingFacts> {
  const [nodes, nodeLeases, componentLeases, changes, health] = await Promise.all([
    reader.list(NODES),
    reader.list(LEASES, NODE_LEASES_NAMESPACE),
    reader.list(LEASES, COMPONENTS_NAMESPACE),
    // Without a history, or without the right to read it, nobody knows what a party had seen.
    latestChanges(read).catch((): readonly HistoryChange[] => []),
    readyz(),
  ]);
  // The clock of a browser may be set to anything.
  const serverNow = parseTime(changes.at(-1)?.time ?? '');
  return { nodes, nodeLeases, componentLeases, changes, readyz: health, now: serverNow ?? now };
}

/** All changes of the longest of these spans that fits into one page. */
async function latestChanges(read: ReadDocument): Promise<readonly HistoryChange[]> {
  let items: readonly HistoryChange[] = [];
  for (const seconds of SINCE_SECONDS) {
    const query = new URLSearchParams({ since: `${seconds}s`, diff: 'false', limit: String(CHANGES_MAX) });
    const list = (await read(`${HISTORY_PATH}/changes`, query)) as HistoryChangeList;
    items = list.items;
    if ((list.metadata.continue ?? '') === '') break;
  }
  return items;
}
