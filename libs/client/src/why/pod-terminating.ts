import {
  hasTaint,
  isCovered,
  isNodeReady,
  isPodFinished,
  nodeCondition,
  OUT_OF_SERVICE_TAINT,
  type Pod,
  promiseOf,
} from '@holdfast/api/facts';
import { parseTime } from '@holdfast/platform/time';
import { type Finding, lengthOf, ownersRemove, plusMs, quoted, sinceText, type Wait } from './finding.ts';
import { promiseLeftMs } from './node.ts';
import type { PodFacts } from './pod-facts.ts';
import { known } from './reader.ts';

/** A pod whose deletion was requested: its node has to confirm its end, and its finalizers have to go. */
export function explainTerminating(facts: PodFacts, now: number): Finding {
  const { pod } = facts;
  const { finalizers = [], deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
  const since = plusMs(deletionTimestamp, -(deletionGracePeriodSeconds ?? 0) * 1000);
  const list = finalizers.join(', ');
  if (isPodFinished(pod) && finalizers.length > 0) {
    return { waitsFor: `it has ended, and its finalizers hold it: ${list}`, endsWhen: ownersRemove(list), since };
  }
  const { waitsFor, endsWhen } = untilItEnds(facts, now);
  const also = finalizers.length === 0 ? '' : `; the finalizers ${list} have to be removed as well`;
  return { waitsFor: `${waitsFor}${nameText(pod)}${also}`, endsWhen, since };
}

const nameText = ({ metadata }: Pod): string => {
  const owner = (metadata.ownerReferences ?? []).find(
    ({ controller, kind }) => controller === true && kind === 'StatefulSet',
  );
  return owner === undefined ? '' : `; StatefulSet ${owner.name} makes no other pod of this name before that`;
};

function untilItEnds(facts: PodFacts, now: number): Wait {
  const { pod, node } = facts;
  const name = pod.spec.nodeName ?? '';
  if (name === '') return collected('it has no node, so nothing of it runs');
  if (node === 'unread')
    return { waitsFor: `node ${name} has to confirm that its processes ended`, endsWhen: `node ${name} confirms it` };
  if (node === 'absent')
    return collected(`node ${name} does not exist any more, so nobody can confirm that its processes ended`);
  if (isNodeReady(node)) return untilGraceEnds(facts, now);
  return untilNodeIsBack(facts, now);
}

const collected = (why: string): Wait => ({
  waitsFor: `${why}; the pod garbage collector has to remove it`,
  endsWhen: 'the pod garbage collector of the controller manager makes its next pass',
});

function untilGraceEnds({ pod, events }: PodFacts, now: number): Wait {
  const name = pod.spec.nodeName ?? '';
  const left = (parseTime(pod.metadata.deletionTimestamp ?? '') ?? now) - now;
  if (left > 0) {
    return {
      waitsFor: `its processes on node ${name} have ${lengthOf(left)} of their grace period left`,
      endsWhen: `they end, at the latest when node ${name} kills them after the grace period; then the node removes the pod`,
    };
  }
  const warning = events.find(({ type }) => type === 'Warning');
  const said = warning === undefined ? '' : ` (${warning.reason}: ${quoted(warning.message)})`;
  return {
    waitsFor: `node ${name} has not confirmed that its processes ended, although the grace period is over for ${lengthOf(-left)}${said}`,
    endsWhen: `node ${name} confirms it; if that takes long, read the log of its kubelet`,
  };
}

/** A node that is not ready confirms nothing: a promise, a declaration of a person, or its return ends the wait. */
function untilNodeIsBack(facts: PodFacts, now: number): Wait {
  const { pod, node, lease } = facts;
  const name = pod.spec.nodeName ?? '';
  const declared = known(node);
  if (declared !== undefined && hasTaint(declared, OUT_OF_SERVICE_TAINT)) {
    return collected(`node ${name} was declared out of service`);
  }
  const promise = promiseOf(known(lease));
  if (promise !== undefined && isCovered(promise.policy, pod)) {
    return promise.isBroken ? collected(`the watchdog of node ${name} has ended its processes`) : promised(facts, now);
  }
  const ready = declared === undefined ? undefined : nodeCondition(declared, 'Ready');
  const state = ready?.status === 'False' ? 'not ready' : 'cut off';
  return {
    waitsFor: `node ${name} has not confirmed that its processes ended; it may be running (${name} is ${state}${sinceText(ready?.lastTransitionTime)})`,
    endsWhen: `${name} is back and confirms it, or somebody who knows that the machine is off deletes the Node or sets the taint ${OUT_OF_SERVICE_TAINT}; a force deletion ends it as well, but then two instances may run`,
  };
}

function promised({ pod, lease }: PodFacts, now: number): Wait {
  const name = pod.spec.nodeName ?? '';
  const left = promiseLeftMs(known(lease), now);
  const waitsFor =
    left > 0
      ? `node ${name} is not ready, and its watchdog ends the pod in ${lengthOf(left)} unless the API hears the node before`
      : `node ${name} is not ready; the deadline of its watchdog is over, and the control plane waits a few seconds more to be sure`;
  return {
    waitsFor,
    endsWhen: `${name} is back and confirms its end, or the control plane has waited out the promise of the node`,
  };
}
