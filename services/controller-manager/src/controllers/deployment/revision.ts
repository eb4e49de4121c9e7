import { DEPLOYMENT_REVISION_ANNOTATION, type Deployment, type PodTemplateSpec, type ReplicaSet } from '@holdfast/api';
import { LAST_APPLIED_ANNOTATION } from '@holdfast/machinery';
import { canonicalJson, isSame, safeHash } from '../../common/hash.ts';
import { byName, controllerReference, createdAt, nameOf, namespaceOf } from '../../common/meta.ts';
import { REVISION_HISTORY_MAX_CHARS } from '../../limits.ts';
import { desiredReplicas, maxReplicas } from './bounds.ts';

export const REVISION = DEPLOYMENT_REVISION_ANNOTATION;
export const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas';
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas';
export const TEMPLATE_HASH = 'pod-template-hash';

/** Annotations of a Deployment that say something about itself and are not handed to its ReplicaSets. */
const NOT_INHERITED = new Set([
  LAST_APPLIED_ANNOTATION,
  'deprecated.deployment.rollback.to',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
]);

type Annotations = Readonly<Record<string, string>>;

const REVISION_MAX = 2n ** 63n - 1n;

/** A 64-bit integer, as the annotation of an adopted set may hold any; 0 when there is none that is valid. */
export const revisionNumber = (object: { readonly metadata: { annotations?: Record<string, string> } }): bigint => {
  const text = object.metadata.annotations?.[REVISION] ?? '';
  const revision = /^\d{1,19}$/.test(text) ? BigInt(text) : 0n;
  return revision < REVISION_MAX ? revision : 0n;
};

/** Returns one more than the newest revision of these sets. */
export const nextRevision = (sets: readonly ReplicaSet[]): bigint =>
  sets.map(revisionNumber).reduce((newest, each) => (each > newest ? each : newest), 0n) + 1n;

export const byRevision = (a: ReplicaSet, b: ReplicaSet): number => {
  const difference = revisionNumber(a) - revisionNumber(b);
  return difference === 0n ? byName(a, b) : difference < 0n ? -1 : 1;
};

export const oldestFirst = (a: ReplicaSet, b: ReplicaSet): number => createdAt(a) - createdAt(b) || byName(a, b);

/** The ReplicaSet of the present template: of several, the oldest, so that every pass finds the same one. */
export function findNewReplicaSet(deployment: Deployment, owned: readonly ReplicaSet[]): ReplicaSet | undefined {
  const wanted = comparableTemplate(deployment.spec.template);
  return [...owned].sort(oldestFirst).find((set) => isSame(comparableTemplate(set.spec.template), wanted));
}

function comparableTemplate(template: PodTemplateSpec): unknown {
  const { [TEMPLATE_HASH]: _hash, ...labels } = template.metadata.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

export const templateHash = (deployment: Deployment): string =>
  safeHash(`${canonicalJson(deployment.spec.template)}/${deployment.status.collisionCount ?? 0}`);

/** The ReplicaSet to create for the present template. */
export function buildReplicaSet(deployment: Deployment, revision: bigint, replicas: number): ReplicaSet {
  const hash = templateHash(deployment);
  const { template, selector, minReadySeconds } = deployment.spec;
  const labels = { ...template.metadata.labels, [TEMPLATE_HASH]: hash };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${nameOf(deployment)}-${hash}`,
      namespace: namespaceOf(deployment),
      labels,
      annotations: { ...inherited(deployment), [REVISION]: String(revision), ...sizeAnnotations(deployment) },
      ownerReferences: [controllerReference(deployment, { apiVersion: 'apps/v1', kind: 'Deployment' })],
    },
    spec: {
      replicas,
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [TEMPLATE_HASH]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
    status: { replicas: 0 },
  };
}

/** The size for which a ReplicaSet was scaled: a difference from the current one is a scaling event. */
export const sizeAnnotations = (deployment: Deployment): Annotations => ({
  [DESIRED_REPLICAS]: String(desiredReplicas(deployment)),
  [MAX_REPLICAS]: String(maxReplicas(deployment)),
});

/** The annotations of the present template's ReplicaSet: those of the Deployment, its revision, and the revisions it had before. */
export function newSetAnnotations(deployment: Deployment, newSet: ReplicaSet, revision: bigint): Annotations {
  const own = newSet.metadata.annotations ?? {};
  const old = revisionNumber(newSet);
  if (old >= revision) return { ...own, ...inherited(deployment) };
  const earlier = old === 0n ? {} : { [REVISION_HISTORY]: historyWith(own[REVISION_HISTORY] ?? '', old) };
  return { ...own, ...inherited(deployment), ...earlier, [REVISION]: String(revision) };
}

/** A set that is rolled back to again and again would grow without a limit: the oldest revisions leave. */
function historyWith(history: string, revision: bigint): string {
  const all = history === '' ? String(revision) : `${history},${revision}`;
  if (all.length <= REVISION_HISTORY_MAX_CHARS) return all;
  return all.slice(all.indexOf(',', all.length - REVISION_HISTORY_MAX_CHARS - 1) + 1);
}

const inherited = (deployment: Deployment): Annotations =>
  Object.fromEntries(Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !NOT_INHERITED.has(key)));
