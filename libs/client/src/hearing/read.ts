import { LEASES, NODE_LEASES_NAMESPACE, NODES } from '@holdfast/api/facts';
import { formatTime, parseTime } from '@holdfast/platform/time';
import type { HistoryChange, HistoryChangeList } from '../history/documents.ts';
import { HISTORY_PATH, type ReadDocument } from '../history/read-changes.ts';
import type { Reader } from '../why/reader.ts';
import type { HearingFacts, ServerReport } from './hearing.ts';

export interface HearingSource {
  readonly reader: Reader;
  readonly read: ReadDocument;
  /** Asks the API servers how they are. */
  readonly servers: () => Promise<readonly ServerReport[]>;
  readonly now: number;
  /** A moment of the past, which `reader` reads; what the servers said of themselves then is not kept. */
  readonly at?: number | undefined;
}

const COMPONENTS_NAMESPACE = 'kube-system';
/** Changes of so long ago say what a party knew. A page begins with the oldest: in a busy cluster less is asked. */
const SINCE_SECONDS = [60, 10, 2];
const CHANGES_MAX = 2_000;

/** Reads with the rights of the user; what is refused is missing in the matrix. */
export async function readHearing({ reader, read, now, at, ...source }: HearingSource): Promise<HearingFacts> {
  const [nodes, nodeLeases, componentLeases, changes, servers] = await Promise.all([
    reader.list(NODES),
    reader.list(LEASES, NODE_LEASES_NAMESPACE),
    reader.list(LEASES, COMPONENTS_NAMESPACE),
    // Without a history, or without the right to read it, nobody knows what a party had seen.
    latestChanges(read, at).catch((): readonly HistoryChange[] => []),
    at === undefined ? source.servers() : [],
  ]);
  // The clock of a browser may be set to anything.
  const serverNow = at ?? parseTime(changes.at(-1)?.time ?? '');
  return { nodes, nodeLeases, componentLeases, changes, servers, now: serverNow ?? now };
}

/** All changes of the longest of these spans that fits into one page. */
async function latestChanges(read: ReadDocument, at: number | undefined): Promise<readonly HistoryChange[]> {
  let items: readonly HistoryChange[] = [];
  for (const seconds of SINCE_SECONDS) {
    const span =
      at === undefined
        ? { since: `${seconds}s` }
        : { fromTime: formatTime(at - seconds * 1_000), toTime: formatTime(at) };
    const query = new URLSearchParams({ ...span, diff: 'false', limit: String(CHANGES_MAX) });
    const list = (await read(`${HISTORY_PATH}/changes`, query)) as HistoryChangeList;
    items = list.items;
    if ((list.metadata.continue ?? '') === '') break;
  }
  return items;
}
