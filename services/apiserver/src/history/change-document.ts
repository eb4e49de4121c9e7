import type { HistoryAuthor, HistoryChange } from '@holdfast/client/history-documents';
import { parseKey } from '@holdfast/store';
import { HISTORY_DIFFERENCES_MAX } from '../limits.ts';
import { diffJson } from './json-diff.ts';
import { timeText } from './moments.ts';
import type { PastChange } from './past-changes.ts';
import type { Authorship, HistoryRecord } from './record.ts';

/** The owners of fields change with every write, and say nothing that the other differences do not. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['/metadata/managedFields']);

export function changeDocument(change: PastChange, withDiff: boolean): HistoryChange {
  const { record } = change;
  const { key, kind, revision, previousRevision, authorship, reason } = record;
  const { group, resource, namespace, name } = parseKey(key);
  const by = authorship === undefined ? ownerOf(record) : authorOf(authorship);
  return {
    revision: String(revision),
    time: timeText(record.at),
    type: kind,
    object: { group, resource, ...(namespace === '' ? {} : { namespace }), name },
    ...(previousRevision === 0 ? {} : { previousRevision: String(previousRevision) }),
    ...(by === undefined ? {} : { by }),
    ...(authorship === undefined ? {} : seenOf(authorship)),
    ...(reason === '' ? {} : { reason }),
    ...(withDiff ? diffOf(change) : {}),
  };
}

function authorOf({ author, requestId }: Authorship): HistoryAuthor {
  const { user, userAgent, verb, subresource, manager } = author;
  return {
    user,
    ...(userAgent === '' ? {} : { userAgent }),
    verb,
    ...(subresource === '' ? {} : { subresource }),
    ...(manager === '' ? {} : { manager }),
    ...(requestId === '' ? {} : { requestID: requestId }),
  };
}

function seenOf({ seenOfResource, seenOfAny }: Authorship): Pick<HistoryChange, 'seen'> {
  if (seenOfAny === 0) return {};
  return { seen: { ...(seenOfResource === 0 ? {} : { resource: String(seenOfResource) }), any: String(seenOfAny) } };
}

/** The newest owner of fields, where the writer itself is not known. */
function ownerOf({ kind, value }: HistoryRecord): HistoryAuthor | undefined {
  if (kind === 'deleted' || value === '') return undefined;
  const { metadata } = JSON.parse(value) as { metadata: { managedFields?: readonly FieldOwner[] } };
  const [newest] = (metadata.managedFields ?? []).toSorted((one, other) =>
    (other.time ?? '').localeCompare(one.time ?? ''),
  );
  return newest?.manager === undefined ? undefined : { manager: newest.manager };
}

interface FieldOwner {
  readonly manager?: string;
  readonly time?: string;
}

function diffOf({ record: { kind, value }, before }: PastChange): Pick<HistoryChange, 'diff' | 'diffCut'> {
  if (kind !== 'updated' || value === '' || before === '') return {};
  const bounds = { most: HISTORY_DIFFERENCES_MAX, skip: NOT_COMPARED };
  const { differences, isCut } = diffJson(JSON.parse(before), JSON.parse(value), bounds);
  return { diff: differences, ...(isCut ? { diffCut: true } : {}) };
}
