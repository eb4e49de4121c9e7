import { LEASES, NODE_LEASES_NAMESPACE, NODES } from '@holdfast/api/facts';
import { parseTime } from '@holdfast/platform/time';
import type { HistoryChangeList } from '../history/documents.ts';
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
/** Changes of so long ago say what a party knew; a page of them, the newest, is enough. */
const SINCE_SECONDS = 20;
const CHANGES_MAX = 2_000;

/** Reads with the rights of the user; what is refused is missing in the matrix. */
export async function readHearing({ reader, read, readyz, now }: HearingSource): Promise<HearingFacts> {
  const query = new URLSearchParams({ since: `${SINCE_SECONDS}s`, diff: 'false', limit: String(CHANGES_MAX) });
  const [nodes, nodeLeases, componentLeases, changes, health] = await Promise.all([
    reader.list(NODES),
    reader.list(LEASES, NODE_LEASES_NAMESPACE),
    reader.list(LEASES, COMPONENTS_NAMESPACE),
    // Without a history, or without the right to read it, nobody knows what a party had seen.
    read(`${HISTORY_PATH}/changes`, query).then(
      (list) => (list as HistoryChangeList).items,
      () => [],
    ),
    readyz(),
  ]);
  // The clock of a browser may be set to anything.
  const serverNow = parseTime(changes.at(-1)?.time ?? '');
  return { nodes, nodeLeases, componentLeases, changes, readyz: health, now: serverNow ?? now };
}
