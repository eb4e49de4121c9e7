import { invariant, unreachable } from '@holdfast/platform';
import { MAX_BATCH_OPERATIONS } from '../limits.ts';
import type { Change, Revision, StoredObject, StoreKey, WriteOperation, WriteResult } from '../port.ts';

export type Committed = Extract<WriteResult, { readonly outcome: 'committed' }>;
export type Refusal = Exclude<WriteResult, Committed>;

/** The effect of a write on a state: the changes, or the reason why there are none. */
export type Evaluation =
  | { readonly kind: 'accepted'; readonly changes: readonly Change[] }
  | { readonly kind: 'refused'; readonly result: Refusal };

/** Asserts the rules that the author of a batch must keep. A violation is a bug of the caller. */
export function assertBatch(operations: readonly WriteOperation[]): void {
  invariant(operations.length > 0, 'a write has at least one operation');
  invariant(operations.length <= MAX_BATCH_OPERATIONS, 'a write stays below the batch limit', {
    operations: operations.length,
    limit: MAX_BATCH_OPERATIONS,
  });
  if (operations.length === 1) return;
  const keys = new Set(operations.map((operation) => operation.key));
  invariant(keys.size === operations.length, 'a write touches each key once');
}

export interface Proposal {
  readonly operations: readonly WriteOperation[];
  readonly writeId: string;
}

/** Pure: evaluates the operations against the objects of `lookup` and numbers the changes from `revision + 1`. */
export function evaluate(
  lookup: (key: StoreKey) => StoredObject | undefined,
  revision: Revision,
  { operations, writeId }: Proposal,
): Evaluation {
  const changes: Change[] = [];
  for (const [index, operation] of operations.entries()) {
    const current = lookup(operation.key);
    const result = refusal(operation, current, index);
    if (result !== undefined) return { kind: 'refused', result };
    changes.push(changeOf(operation, current, { revision: revision + 1 + index, writeId }));
  }
  return { kind: 'accepted', changes };
}

export function refusal(
  operation: WriteOperation,
  current: Pick<StoredObject, 'revision'> | undefined,
  index: number,
): Refusal | undefined {
  if (operation.kind === 'create') {
    return current === undefined ? undefined : { outcome: 'exists', index, currentRevision: current.revision };
  }
  if (current === undefined) return { outcome: 'notFound', index };
  if (current.revision === operation.expectedRevision) return undefined;
  return { outcome: 'conflict', index, currentRevision: current.revision };
}

interface ChangePlace {
  readonly revision: Revision;
  readonly writeId: string;
}

function changeOf(operation: WriteOperation, current: StoredObject | undefined, place: ChangePlace): Change {
  const { key, value } = operation;
  const { revision, writeId } = place;
  const before =
    current === undefined
      ? { previousRevision: 0, writeId }
      : { previousRevision: current.revision, writeId, previousValue: current.value };
  switch (operation.kind) {
    case 'create':
      return Object.freeze({ revision, kind: 'created', key, value, ...before });
    case 'update':
      return Object.freeze({ revision, kind: 'updated', key, value, ...before });
    case 'delete':
      return Object.freeze({ revision, kind: 'deleted', key, value, ...before });
    default:
      return unreachable(operation);
  }
}

/** Returns the object after the change; `undefined` after a deletion. */
export function objectAfter(change: Change, current: StoredObject | undefined): StoredObject | undefined {
  if (change.kind === 'deleted') return undefined;
  const { key, value, revision } = change;
  const createRevision = change.kind === 'created' ? revision : (current?.createRevision ?? revision);
  return Object.freeze({ key, value, revision, createRevision });
}

export function committed(changes: readonly Change[]): Committed {
  const first = changes[0];
  const last = changes.at(-1);
  invariant(first !== undefined && last !== undefined, 'a committed write has changes');
  return { outcome: 'committed', firstRevision: first.revision, lastRevision: last.revision };
}
