import { podCondition } from '@holdfast/api/facts';
import { explainClaim } from './claim.ts';
import { type Finding, isWait, quoted } from './finding.ts';
import type { PodFacts } from './pod-facts.ts';

/** A pod without a node. */
export function explainUnscheduled(facts: PodFacts): Finding {
  const { pod } = facts;
  const condition = podCondition(pod, 'PodScheduled');
  const since = condition?.lastTransitionTime ?? pod.metadata.creationTimestamp ?? undefined;
  const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name);
  if (gates.length > 0) {
    const list = gates.join(', ');
    return {
      waitsFor: `its scheduling gates keep the scheduler from it: ${list}`,
      endsWhen: `the gates are removed (${list})`,
      since,
    };
  }
  const nominated = pod.status.nominatedNodeName ?? '';
  if (nominated !== '') {
    const waitsFor = `the scheduler has evicted pods of lower priority on node ${nominated} for it, and they have not ended yet`;
    return { waitsFor, endsWhen: 'these pods have ended', since };
  }
  const said = condition?.message ?? facts.events.find(({ reason }) => reason === 'FailedScheduling')?.message ?? '';
  if (said === '') return unseen(facts, since);
  const claims = claimTexts(facts);
  return { waitsFor: `${verdict(said)}${claims.map((text) => `; ${text}`).join('')}`, endsWhen: remedies(said), since };
}

function unseen({ pod }: PodFacts, since: string | undefined): Finding {
  const scheduler = pod.spec.schedulerName ?? 'default-scheduler';
  const endsWhen = `a scheduler of the name ${scheduler} runs and finds a node for it`;
  return { waitsFor: `no scheduler has tried to place it yet (it asks for ${scheduler})`, endsWhen, since };
}

/** `0/3 nodes are available: <reasons of the plugins>. preemption: ...` */
const NO_NODE = /^0\/(\d+) nodes are available: (.*?)\.?(?: preemption: .*)?$/s;

function verdict(said: string): string {
  const [, count, reasons] = NO_NODE.exec(said) ?? [];
  if (count === undefined || reasons === undefined) return `the scheduler finds no node for it: ${quoted(said)}`;
  return `none of the ${count} nodes fits: ${quoted(reasons)}`;
}

function remedies(said: string): string {
  const [, , reasons = said] = NO_NODE.exec(said) ?? [];
  const found = REMEDIES.flatMap(([pattern, remedy]) => {
    const match = pattern.exec(reasons);
    return match === null ? [] : [remedy.replaceAll('$1', () => quoted(match[1]))];
  });
  return found.length === 0
    ? 'a node fits; the scheduler tries again when nodes, pods or volumes change'
    : found.join(', or ');
}

/** By the texts of the plugins of the scheduler. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /Insufficient (\S+?)(?:[,.]|$)/,
    'pods that use $1 end, a node with more $1 joins, or a pod that requests less replaces this one',
  ],
  [/Too many pods/, 'pods end or a node joins'],
  [/untolerated taint (\{[^}]*\})/, 'the taint $1 is removed, or a pod that tolerates it replaces this one'],
  [/were unschedulable/, 'a cordoned node is uncordoned'],
  [/node affinity\/selector/, 'a node gets the labels that the pod requires'],
  [/volume node affinity/, 'the node of its volume fits'],
  [/topology spread constraints/, 'the pods of its group are spread so that a node is permitted'],
  [/anti-affinity rules/, 'the pods that its anti-affinity excludes end'],
  [/pod affinity rules/, 'a pod that its affinity requires runs'],
  [/free ports/, 'the pods that hold its host ports end'],
  [/unbound immediate PersistentVolumeClaims/, 'its claims are bound'],
  [/(persistentvolumeclaim "[^"]*") not found/, '$1 is made'],
  [/no nodes available/, 'a node joins'],
];

function claimTexts({ claims }: PodFacts): readonly string[] {
  return claims.flatMap((facts) => {
    // The class waits for this very pod.
    if (typeof facts.storageClass === 'object' && facts.storageClass.volumeBindingMode === 'WaitForFirstConsumer')
      return [];
    const finding = explainClaim(facts);
    return isWait(finding) ? [`claim ${facts.claim.metadata.name} waits: ${finding.waitsFor}`] : [];
  });
}
