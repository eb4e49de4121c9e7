import {
  API_SERVICES,
  type APIService,
  isTerminating,
  type Namespace,
  type NamespaceCondition,
  PODS,
} from '@holdfast/api/facts';
import { type Finding, isWait, namesOf, quoted } from './finding.ts';
import { explainPod } from './pod.ts';
import type { PodFacts } from './pod-facts.ts';
import type { Reader } from './reader.ts';
import { blockerOf } from './workload.ts';

export interface NamespaceFacts {
  readonly namespace: Namespace;
  readonly apiServices: readonly APIService[];
  /** The first pod that is left. */
  readonly pod: PodFacts | undefined;
}

export async function observeNamespace(namespace: Namespace, reader: Reader): Promise<NamespaceFacts> {
  if (!isTerminating(namespace)) return { namespace, apiServices: [], pod: undefined };
  const [apiServices, pods] = await Promise.all([
    reader.list(API_SERVICES),
    reader.list(PODS, namespace.metadata.name),
  ]);
  return { namespace, apiServices, pod: await blockerOf(pods[0], reader) };
}

export function explainNamespace(facts: NamespaceFacts, now: number): Finding {
  const { namespace } = facts;
  if (!isTerminating(namespace)) return { rests: 'it is active' };
  const said = SAYING.map((type) => told(namespace, type)).filter((each) => each !== undefined);
  const broken = facts.apiServices.filter(isUnavailable).map(({ metadata }) => metadata.name ?? '');
  const reasons = [
    ...said.map(({ message }) => quoted(message)),
    ...(broken.length === 0 ? [] : [`the aggregated APIs ${namesOf(broken)} are not available`]),
    ...podTexts(facts, now),
  ];
  const since = namespace.metadata.deletionTimestamp ?? undefined;
  if (reasons.length === 0) return bare(namespace, since);
  return { waitsFor: `it is to be deleted and not empty: ${reasons.join('; ')}`, endsWhen: ends(facts, broken), since };
}

const SAYING = [
  'NamespaceContentRemaining',
  'NamespaceFinalizersRemaining',
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionContentFailure',
] as const;

const told = ({ status }: Namespace, type: string): NamespaceCondition | undefined =>
  status.conditions?.find((each) => each.type === type && each.status === 'True');

const isUnavailable = ({ status }: APIService): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'Available' && value === 'False');

function podTexts({ pod }: NamespaceFacts, now: number): readonly string[] {
  if (pod === undefined) return [];
  const finding = explainPod(pod, now);
  return isWait(finding) ? [`pod ${pod.pod.metadata.name} waits: ${finding.waitsFor}`] : [];
}

function ends({ namespace }: NamespaceFacts, broken: readonly string[]): string {
  const steps = ['its content is gone'];
  if (told(namespace, 'NamespaceFinalizersRemaining') !== undefined)
    steps.push('the owners of these finalizers have removed them');
  if (broken.length > 0) steps.push(`the servers of ${namesOf(broken)} answer again or these APIServices are deleted`);
  return steps.join(', and ');
}

function bare({ spec }: Namespace, since: string | undefined): Finding {
  const others = (spec.finalizers ?? []).filter((finalizer) => finalizer !== 'kubernetes').join(', ');
  if (others !== '') {
    return {
      waitsFor: `it is to be deleted, and its spec.finalizers hold it: ${others}`,
      endsWhen: 'their owners finalize the namespace',
      since,
    };
  }
  const waitsFor = 'it is to be deleted, and the namespace controller has not said what is left in it';
  return { waitsFor, endsWhen: 'the controller manager has removed its content', since };
}
