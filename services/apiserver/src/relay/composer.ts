import { type BusMessage, changeChannel, changeSubject } from '@holdfast/bus';
import type { Change, KeyParts, Revision, StoreKey } from '@holdfast/store';
import type { ChannelTails } from './channel-tails.ts';
import { describeChange, isPod, nodeNameIn, nodeNameOf, type ReadState } from './describe.ts';
import { MAX_REMEMBERED_BOUND_PODS } from './limits.ts';
import { BindingNotice, ChangeMessage, type Placed } from './messages.ts';

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
  /** The text of a message is made when it is sent: a relay that is not first walks without publishing. */
  compose(change: Change, at: { readonly nowMs: number; readonly published: Revision }): BusMessage;
  /** The next change is the first after `place`, not the one after the last. */
  restartAfter(place: Revision): void;
}

export function createComposer(read: ReadState, tails: ChannelTails): Composer {
  /** The nodes of the pods that are bound: a pod's node is read once. */
  const nodeOf = new Map<StoreKey, string>();

  const nodeNameFor = (change: Change, parts: KeyParts): string => {
    if (!isPod(parts)) return '';
    const known = change.kind === 'created' ? undefined : nodeOf.get(change.key);
    return (
      known ?? nodeNameIn(change.value, () => (change.kind === 'deleted' ? JSON.parse(change.value) : read(change)))
    );
  };

  const leftPending = (change: Change, nodeName: string): boolean => {
    if (change.kind === 'deleted') {
      nodeOf.delete(change.key);
      return false;
    }
    if (nodeOf.has(change.key) && change.kind !== 'created') return false;
    if (nodeOf.size >= MAX_REMEMBERED_BOUND_PODS) nodeOf.clear();
    nodeOf.set(change.key, nodeName);
    if (change.kind === 'created') return false;
    return change.previousValue === undefined || nodeNameOf(change.previousValue) === '';
  };

  return {
    compose(change, at) {
      const described = describeChange(change);
      const { parts } = described;
      const place = (nodeName: string): Placed => {
        const of = { ...parts, nodeName };
        return { subject: changeSubject(of), previous: tails.advance(changeChannel(of), change.revision, at) };
      };
      const nodeName = nodeNameFor(change, parts);
      const placed = place(nodeName);
      if (nodeName === '' || !leftPending(change, nodeName))
        return new ChangeMessage(change, placed, { described, read });
      const departure = new BindingNotice(change, parts, { ...place(''), movedTo: placed.subject });
      return new ChangeMessage(change, placed, { described, read, departure });
    },
    restartAfter(place) {
      tails.restartAfter(place);
      nodeOf.clear();
    },
  };
}
