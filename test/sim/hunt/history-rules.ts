import {
  isTerminating,
  JOBS,
  type Job,
  type KubeObject,
  type Lease,
  NODE_LEASES_NAMESPACE,
  type Node,
  OUT_OF_SERVICE_TAINT,
  type PersistentVolume,
  type Pod,
  type ReplicaSet,
} from '@holdfast/api';
import { ANSWERED_MS, type CommitRule, type CommittedChange, ended, podsOf } from './commit-rules.ts';
import { creationOrderRules } from './creation-order-rule.ts';
import type { Living } from './living.ts';
import { controllerOf, MANAGER, uidOf } from './meta.ts';
import { orderRules } from './order-rule.ts';
import { quotaRules } from './quota-rule.ts';
import { replicaRules } from './replica-rule.ts';
import { rolloutRules } from './rollout-rule.ts';
import type { ReplicaDeps } from './settled.ts';
import { volumeRules } from './volume-rules.ts';

const POD_GC = 'system:serviceaccount:kube-system:pod-garbage-collector';
const CAREFUL = 'careful';
const LEASE_SECONDS = 15;

export interface HistoryDeps {
  readonly living: Living;
  /** Uids that the careful user has named. */
  readonly named: ReadonlySet<string>;
  /** Nothing delays what the control plane hears. */
  readonly isCalm: boolean;
  readonly replicas?: ReplicaDeps;
}

type Rules = Readonly<Record<string, CommitRule>>;
const ONE_ACTOR: ReplicaDeps = { hasOneActor: true, crashedAtMs: () => Number.NEGATIVE_INFINITY };

/** Rules that remember what was committed before. One set of them for each run. */
export const historyRules = ({ living, named, isCalm, replicas = ONE_ACTOR }: HistoryDeps): Rules => ({
  'a deletion takes the uid that it names': ({ resource, before, after, by }) => {
    if (by !== CAREFUL || resource !== 'pods' || before === undefined || named.has(uidOf(before))) return undefined;
    const isDeleted = after === undefined || (isTerminating(after) && !isTerminating(before));
    return isDeleted ? `${by} named another pod than ${uidOf(before)}` : undefined;
  },
  'a volume stays attached to its writers': ({ resource, name, before, after, by }) => {
    if (resource !== 'persistentvolumes') return undefined;
    const was = (before as PersistentVolume | undefined)?.status.attachment;
    const is = (after as PersistentVolume | undefined)?.status.attachment;
    if (was === undefined || was.nodeName === is?.nodeName) return undefined;
    const writer = living.writersOf(name).find(({ node }) => node === was.nodeName);
    return writer === undefined
      ? undefined
      : `${by} took it from ${was.nodeName} while ${writer.name} (${writer.uid}) runs`;
  },
  'a controller is not replaced by another': ({ before, after, by }) => {
    const [was, is] = [controllerOf(before), controllerOf(after)];
    if (was === undefined || is === undefined || was === is) return undefined;
    return `${by} put controller ${is} in place of ${was}`;
  },
  'a namespace is removed when it is empty': ({ resource, name, after, by, objects }) => {
    if (resource !== 'namespaces' || after !== undefined) return undefined;
    const left = [...objects].find(([key, { metadata }]) => metadata.namespace === name && !key.includes('/events/'));
    return left === undefined ? undefined : `${by} removed it while it has ${left[0]}`;
  },
  'what has a living owner is not collected': ({ resource, before, after, by, objects }) => {
    if (by !== MANAGER || before === undefined || isTerminating(before)) return undefined;
    if (after !== undefined && !isTerminating(after)) return undefined;
    const owner = OF_USERS.has(resource)
      ? ownerOf(before)
      : resource === 'replicasets'
        ? controllerOf(before)
        : undefined;
    const living = owner === undefined ? undefined : [...objects.values()].find((each) => uidOf(each) === owner);
    const isEmpty = resource === 'replicasets' && (before as ReplicaSet).spec.replicas === 0;
    return living !== undefined && !isTerminating(living) && !isEmpty ? `${by} deleted it, its owner lives` : undefined;
  },
  'what has no owner is deleted by users': ({ resource, before, after, by }) => {
    if (by !== MANAGER || before === undefined || isTerminating(before) || !ONLY_USERS_DELETE.has(resource))
      return undefined;
    // With a namespace everything in it goes.
    if (before.metadata.namespace !== NAMESPACE_OF_USERS || ownerOf(before) !== undefined) return undefined;
    return after === undefined || isTerminating(after) ? `${by} deleted it` : undefined;
  },
  ...leaseRules(),
  ...jobRules(replicas),
  ...nodeRules(living),
  ...volumeRules(living),
  ...replicaRules(replicas),
  ...orderRules(isCalm, replicas),
  ...creationOrderRules(isCalm),
  ...rolloutRules(isCalm, replicas),
  ...quotaRules,
});

const NAMESPACE_OF_USERS = 'default';
const ONLY_USERS_DELETE = new Set(['deployments', 'statefulsets', 'persistentvolumeclaims', 'configmaps']);

/** Kinds of objects that only users create and own here. */
const OF_USERS = new Set(['configmaps', 'serviceaccounts']);

const ownerOf = ({ metadata }: KubeObject): string | undefined => metadata.ownerReferences?.[0]?.uid;

/** Leaders judge by their own monotonic clocks, and each of them began to look after the last renewal. */
function leaseRules(): Rules {
  const renewedAt = new Map<string, number>();
  return {
    'a lease changes hands when it has run out': ({ resource, name, before, after, nowMs }) => {
      if (resource !== 'leases' || after === undefined || after.metadata.namespace === NODE_LEASES_NAMESPACE)
        return undefined;
      const since = nowMs - (renewedAt.get(name) ?? Number.NEGATIVE_INFINITY);
      renewedAt.set(name, nowMs);
      const [was, is] = [(before as Lease | undefined)?.spec.holderIdentity, (after as Lease).spec.holderIdentity];
      if ((was ?? '') === '' || (is ?? '') === '' || was === is || since >= LEASE_SECONDS * 1000) return undefined;
      return `${is} took it from ${was} ${(since / 1000).toFixed(1)} s after its renewal`;
    },
  };
}

/** Where several controllers act at once by an operator's mistake, one that lags takes the name of a pod for free that is not. */
function jobRules({ hasOneActor }: ReplicaDeps): Rules {
  const succeeded = new Map<string, Set<string>>();
  return {
    'a Job counts each pod once': ({ resource, before, after }) => {
      if (resource === 'pods' && after !== undefined && (after as Pod).status.phase === 'Succeeded') {
        const job = controllerOf(after) ?? controllerOf(before) ?? '';
        succeeded.set(job, (succeeded.get(job) ?? new Set()).add(uidOf(after)));
      }
      if (resource !== JOBS.plural || after === undefined) return undefined;
      const { status } = after as Job;
      const counted = (status.succeeded ?? 0) + (status.uncountedTerminatedPods?.succeeded ?? []).length;
      const pods = succeeded.get(uidOf(after))?.size ?? 0;
      return counted > pods ? `it counts ${counted} pods, and ${pods} have succeeded` : undefined;
    },
    'a Job runs no more than it may': ({ resource, before, after, objects }) => {
      if (!hasOneActor || resource !== 'pods' || before !== undefined || after === undefined) return undefined;
      const job = [...objects.values()].find(
        ({ kind, metadata }) => kind === 'Job' && metadata.uid === controllerOf(after),
      );
      if (job === undefined) return undefined;
      const most = (job as Job).spec.parallelism ?? 1;
      const active = [...objects.values()].filter(
        (each) =>
          each.kind === 'Pod' && controllerOf(each) === uidOf(job) && !isTerminating(each) && !ended(each as Pod),
      );
      return active.length + 1 > most ? `${active.length + 1} pods are active, of ${most}` : undefined;
    },
  };
}

function nodeRules(living: Living): Rules {
  const nodeCreatedAt = new Map<string, number>();
  const podRemovedAt = new Map<string, number>();
  const wasReady = new Set<string>();
  const readySince = new Map<string, number>();
  return {
    'a new node is ready when nothing old runs on it': ({ resource, name, before, after, nowMs }) => {
      if (resource === 'pods' && before !== undefined && after === undefined) podRemovedAt.set(uidOf(before), nowMs);
      if (resource !== 'nodes' || after === undefined) return undefined;
      const uid = uidOf(after);
      if (before === undefined) nodeCreatedAt.set(uid, nowMs);
      if (!isReady(after as Node) || wasReady.has(uid)) return undefined;
      wasReady.add(uid);
      const since = nodeCreatedAt.get(uid) ?? 0;
      const old = living.all().find((pod) => pod.node === name && (podRemovedAt.get(pod.uid) ?? nowMs) < since);
      return old === undefined ? undefined : `it is ready while ${old.name} (${old.uid}) runs there, which was removed`;
    },
    'a ready node is not out of service': (change) => {
      const { resource, name, after, nowMs, by } = change;
      if (resource === 'nodes') {
        if (after === undefined || !isReady(after as Node)) readySince.delete(name);
        else if (!readySince.has(name)) readySince.set(name, nowMs);
      }
      const pod = removedPod(change);
      const nodeName = pod?.spec.nodeName ?? '';
      const node = change.nodeOf(nodeName);
      if (by !== POD_GC || pod === undefined || ended(pod) || node === undefined) return undefined;
      const isTainted = node.spec.taints?.some(({ key }) => key === OUT_OF_SERVICE_TAINT) === true;
      if (change.isPromiseBroken(nodeName)) return undefined;
      const seconds = (nowMs - (readySince.get(nodeName) ?? nowMs)) / 1000;
      return isTainted && seconds * 1000 > ANSWERED_MS ? `${nodeName} has been ready for ${seconds} s` : undefined;
    },
  };
}

const removedPod = (change: CommittedChange): Pod | undefined => {
  const { before, after } = podsOf(change);
  const declaresEnd = after !== undefined && before !== undefined && ended(after) && !ended(before);
  return after === undefined || declaresEnd ? before : undefined;
};

const isReady = ({ status }: Node): boolean =>
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
