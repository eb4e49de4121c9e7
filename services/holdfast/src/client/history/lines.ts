import type { HistoryChange } from '@holdfast/client/history-documents';
import { inLines } from '../table.ts';
import { deedOf, detailOf, objectName, seenText, writerOf } from './story.ts';

const HEAD = ['TIME', 'REVISION', 'WHO', 'DID', 'OBJECT', 'HAD SEEN', 'WHAT'] as const;

/** A table of changes, oldest first. */
export function historyLines(changes: readonly HistoryChange[]): readonly string[] {
  const rows = changes.map((change) => [
    timeOf(change),
    change.revision,
    writerOf(change),
    deedOf(change),
    objectName(change.object),
    seenText(change),
    detailOf(change),
  ]);
  return inLines([HEAD, ...rows]);
}

/** The time of day is enough for what is kept; a longer history has the date in `--json`. */
const timeOf = ({ time }: HistoryChange): string => time.slice(11, 23);
