import { type BusMessage, type ChangeEvent, changeSubject, channelOf, type Departure } from '@holdfast/bus';
import { unreachable } from '@holdfast/platform';
import type { Change, ChangeKind, Revision, StoreKey } from '@holdfast/store';
import type { ChannelTails } from './channel-tails.ts';
import { type Describe, type Described, isPod, nodeNameOf } from './describe.ts';
import { MAX_REMEMBERED_BOUND_PODS } from './limits.ts';

/**
 * Turns changes, fed in revision order and each exactly once, into messages.
 *
 * A change has one subject, but a pod's subject moves when it is bound: subscribers of pending pods would keep it for
 * ever. So the change that binds it carries a departure: a DELETED with `movedTo` for the channel it left, which counts in
 * that channel's chain. It is the only move there is: `spec.nodeName` is set once and never changes or goes away, and a
 * deletion carries the last state, so it appears where the pod was last. A pod that is first seen bound (static pods,
 * or no earlier state known after a take-over) may get a departure that nobody needed; dropping an unknown key is harmless.
 */
export interface Composer {
  /** The message is only built when it is called: a relay that is not first walks without publishing. */
  compose(change: Change, at: { readonly nowMs: number; readonly published: Revision }): () => BusMessage;
  /** The next change is the first after `place`, not the one after the last. */
  restartAfter(place: Revision): void;
}

export function createComposer(describe: Describe, tails: ChannelTails): Composer {
  const bound = new Set<StoreKey>();

  const leftPending = (change: Change, described: Described): boolean => {
    if (!isPod(described.parts) || described.nodeName === undefined || described.nodeName === '') return false;
    if (change.kind === 'deleted') {
      bound.delete(change.key);
      return false;
    }
    if (bound.has(change.key)) return false;
    if (bound.size >= MAX_REMEMBERED_BOUND_PODS) bound.clear();
    bound.add(change.key);
    if (change.kind === 'created') return false;
    return change.previousValue === undefined || nodeNameOf(change.previousValue) === '';
  };

  return {
    compose(change, at) {
      const described = describe(change);
      const { parts, nodeName } = described;
      const subject = changeSubject(nodeName === undefined ? parts : { ...parts, nodeName });
      const previous = tails.advance(channelOf(subject), change.revision, at);
      const base = { subject, revision: change.revision, previous };
      if (!leftPending(change, described)) return () => ({ ...base, data: eventText(change, described) });
      const left = changeSubject({ ...parts, nodeName: '' });
      const previousThere = tails.advance(channelOf(left), change.revision, at);
      return () => ({
        ...base,
        data: eventText(change, described),
        departure: departureOf(change, left, previousThere, subject),
      });
    },
    restartAfter(place) {
      tails.restartAfter(place);
      bound.clear();
    },
  };
}

function departureOf(change: Change, left: string, previous: number, movedTo: string): Departure {
  const event: ChangeEvent = { type: 'DELETED', revision: change.revision, key: change.key, movedTo };
  return { subject: left, previous, data: JSON.stringify(event) };
}

/** A `ChangeEvent`, with the object's text as it is: it is not parsed for this. */
function eventText(change: Change, described: Described): string {
  const object = described.objectJson();
  const tail = object === undefined ? '' : `,"object":${object}`;
  return `{"type":"${eventType(change.kind)}","revision":${change.revision},"key":${JSON.stringify(change.key)}${tail}}`;
}

function eventType(kind: ChangeKind): ChangeEvent['type'] {
  switch (kind) {
    case 'created':
      return 'ADDED';
    case 'updated':
      return 'MODIFIED';
    case 'deleted':
      return 'DELETED';
    default:
      return unreachable(kind);
  }
}
