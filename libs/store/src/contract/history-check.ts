import { strict as assert } from 'node:assert';
import type { Change, Revision, StoreKey, WriteOperation, WriteResult } from '../port.ts';

/** An operation of a client, with the times (of one counter) of its call and its answer. */
export type HistoryEvent = {
  readonly began: number;
  /** Infinity when no answer came. */
  readonly ended: number;
} & (
  | { readonly kind: 'write'; readonly operations: readonly WriteOperation[]; readonly result: WriteResult | 'unknown' }
  | {
      readonly kind: 'read';
      readonly revision: Revision;
      /** Every key that the read covers, with the value it saw; `undefined` means absent. */
      readonly values: ReadonlyMap<StoreKey, string | undefined>;
    }
);

type WriteEvent = Extract<HistoryEvent, { readonly kind: 'write' }>;
type ReadEvent = Extract<HistoryEvent, { readonly kind: 'read' }>;

/** The states of one key, by revision. */
interface KeyTimeline {
  readonly revisions: Revision[];
  readonly values: (string | undefined)[];
}

/**
 * Checks a history against the order that the store claims (`changes`, from revision 1). A model with one register per
 * key applies the changes in that order. Each answer must match the model at some moment between the call and its end.
 * Values must be unique per operation, so that a change identifies its author.
 */
export function checkHistory(events: readonly HistoryEvent[], changes: readonly Change[]): void {
  checkChain(changes);
  const authors = checkWritesAreChanges(events, changes);
  const timelines = buildTimelines(changes);
  const realTime = new RealTime(events, changes, authors);
  for (const event of events) {
    if (event.kind === 'read') checkRead(event, timelines, realTime);
    else if (event.result !== 'unknown') checkWrite(event, event.result, timelines, realTime);
  }
}

/** Revisions are contiguous. Every change names the revision and (where known) the state that it replaced. */
export function checkChain(changes: readonly Change[]): void {
  const current = new Map<StoreKey, Change>();
  for (const [index, change] of changes.entries()) {
    const { revision, key, kind, previousRevision, previousValue } = change;
    assert.equal(revision, index + 1, 'revisions are contiguous from 1');
    const before = current.get(key);
    assert.equal(previousRevision, before?.revision ?? 0, `${key}@${revision} names the revision before`);
    assert.equal(kind === 'created', before === undefined, `${key}@${revision} is created only when absent`);
    if (previousValue !== undefined) assert.equal(previousValue, before?.value, `${key}@${revision} state before`);
    if (kind === 'deleted') current.delete(key);
    else current.set(key, change);
  }
}

/** Every committed operation made the expected change. No change is duplicated and none is unrequested. */
function checkWritesAreChanges(events: readonly HistoryEvent[], changes: readonly Change[]): Map<Revision, WriteEvent> {
  const authorOfValue = new Map<string, WriteEvent>();
  const authors = new Map<Revision, WriteEvent>();
  for (const event of events) {
    if (event.kind !== 'write') continue;
    for (const operation of event.operations) authorOfValue.set(operation.value, event);
    if (event.result !== 'unknown' && event.result.outcome === 'committed') {
      for (const [index, operation] of event.operations.entries()) {
        const change: Change | undefined = changes[event.result.firstRevision + index - 1];
        const { key, value } = operation;
        const expected = operation.kind === 'create' ? 0 : operation.expectedRevision;
        assert.deepEqual(
          [change?.key, change?.value, change?.previousRevision],
          [key, value, expected],
          'an acknowledged write is kept, over the revision it expected',
        );
      }
    }
  }
  const applied = new Map<WriteEvent, Revision[]>();
  for (const change of changes) {
    const author = authorOfValue.get(change.value);
    assert.ok(author !== undefined, `the change at ${change.revision} was asked for by somebody`);
    authors.set(change.revision, author);
    applied.set(author, [...(applied.get(author) ?? []), change.revision]);
  }
  for (const [author, at] of applied) checkAppliedOnce(author, at);
  return authors;
}

function checkAppliedOnce(author: WriteEvent, at: readonly Revision[]): void {
  const refused = author.result !== 'unknown' && author.result.outcome !== 'committed';
  assert.ok(!refused, `a refused write left changes at ${at.join(', ')}`);
  assert.equal(at.length, author.operations.length, 'a batch is applied whole and once');
  assert.equal((at.at(-1) ?? 0) - (at[0] ?? 0), at.length - 1, 'a batch takes consecutive revisions');
}

function buildTimelines(changes: readonly Change[]): Map<StoreKey, KeyTimeline> {
  const timelines = new Map<StoreKey, KeyTimeline>();
  for (const { key, revision, kind, value } of changes) {
    const timeline = timelines.get(key) ?? { revisions: [], values: [] };
    timeline.revisions.push(revision);
    timeline.values.push(kind === 'deleted' ? undefined : value);
    timelines.set(key, timeline);
  }
  return timelines;
}

/** Derives bounds on revisions from the real-time order of calls and answers. */
class RealTime {
  /** Ends of calls that prove that a revision existed, by time, with the highest revision proven so far. */
  readonly #proofs: { readonly at: number; readonly revision: Revision }[] = [];
  /** Starts of writes that took a revision, by time, with the highest revision that could exist by then. */
  readonly #possible: { readonly at: number; readonly revision: Revision }[] = [];

  constructor(events: readonly HistoryEvent[], changes: readonly Change[], authors: Map<Revision, WriteEvent>) {
    const proofs = events.flatMap((event) => {
      const revision = provenBy(event);
      return revision === undefined ? [] : [{ at: event.ended, revision }];
    });
    const possible = changes.map(({ revision }) => ({ at: authors.get(revision)?.began ?? 0, revision }));
    this.#proofs = runningMaximum(proofs);
    this.#possible = runningMaximum(possible);
  }

  /** Returns the revisions at which a call with this start and end may have taken effect. */
  window(event: HistoryEvent): { readonly lowest: Revision; readonly highest: Revision } {
    return { lowest: latestBefore(this.#proofs, event.began), highest: latestBefore(this.#possible, event.ended) };
  }
}

function provenBy(event: HistoryEvent): Revision | undefined {
  if (event.kind === 'read') return event.revision;
  if (event.result === 'unknown' || event.result.outcome === 'notFound') return undefined;
  return event.result.outcome === 'committed' ? event.result.lastRevision : event.result.currentRevision;
}

function runningMaximum(points: { at: number; revision: Revision }[]): { at: number; revision: Revision }[] {
  let highest = 0;
  return points
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, revision }) => {
      highest = Math.max(highest, revision);
      return { at, revision: highest };
    });
}

function latestBefore(points: readonly { at: number; revision: Revision }[], moment: number): Revision {
  return points[countWhile(points, (point) => point.at < moment) - 1]?.revision ?? 0;
}

/** Binary search: counts the leading items that satisfy a condition which holds only for a prefix. */
function countWhile<T>(items: readonly T[], holds: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && holds(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function checkRead(event: ReadEvent, timelines: ReadonlyMap<StoreKey, KeyTimeline>, realTime: RealTime): void {
  const { lowest, highest } = realTime.window(event);
  assert.ok(event.revision >= lowest, `a read at ${event.revision} is as new as ${lowest}, known before it began`);
  assert.ok(event.revision <= highest, `a read at ${event.revision} is not newer than any write begun (${highest})`);
  for (const [key, value] of event.values) {
    assert.equal(value, stateAt(timelines.get(key), event.revision).value, `${key} as of revision ${event.revision}`);
  }
}

function checkWrite(
  event: WriteEvent,
  result: WriteResult,
  timelines: ReadonlyMap<StoreKey, KeyTimeline>,
  realTime: RealTime,
): void {
  const { lowest, highest } = realTime.window(event);
  if (result.outcome === 'committed') {
    assert.ok(result.firstRevision > lowest, `a write takes a revision above ${lowest}, known before it began`);
    return;
  }
  const timeline = timelines.get(event.operations[result.index]?.key ?? '');
  const seen = result.outcome === 'notFound' ? 0 : result.currentRevision;
  const revisions = timeline?.revisions ?? [];
  const from = countWhile(revisions, (at) => at <= lowest);
  const inWindow = [
    lowest,
    ...revisions.slice(
      from,
      countWhile(revisions, (at) => at <= highest),
    ),
  ];
  const explained = inWindow.some((at) => stateAt(timeline, at).revision === seen);
  assert.ok(explained, `${result.outcome} at ${seen} was true at some moment of the call (${lowest} to ${highest})`);
}

function stateAt(
  timeline: KeyTimeline | undefined,
  revision: Revision,
): { readonly revision: Revision; readonly value: string | undefined } {
  const index = countWhile(timeline?.revisions ?? [], (at) => at <= revision) - 1;
  const value = index < 0 ? undefined : timeline?.values[index];
  return { revision: value === undefined ? 0 : (timeline?.revisions[index] ?? 0), value };
}
