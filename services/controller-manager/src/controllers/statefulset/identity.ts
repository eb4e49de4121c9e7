import type { PersistentVolumeClaim, Pod, StatefulSet, Volume } from '@holdfast/api';
import { controllerReference, nameOf, namespaceOf } from '../../common/meta.ts';
import { podFromTemplate } from '../../common/pods.ts';
import type { Revision } from './revisions.ts';

export const REVISION_LABEL = 'controller-revision-hash';
export const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name';
export const POD_INDEX_LABEL = 'apps.kubernetes.io/pod-index';

export const replicasOf = (set: StatefulSet): number => set.spec.replicas ?? 1;
export const firstOrdinal = (set: StatefulSet): number => set.spec.ordinals?.start ?? 0;
export const podNameOf = (set: StatefulSet, ordinal: number): string => `${nameOf(set)}-${ordinal}`;

/** The ordinal in `<set>-<ordinal>`; undefined for any other name. */
export function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const prefix = `${nameOf(set)}-`;
  const name = nameOf(pod);
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^(0|[1-9]\d{0,9})$/.test(digits) ? Number(digits) : undefined;
}

/** Behind the last ordinal that the set wants. Ordinals are never listed: a user may ask for two thousand million. */
export const ordinalsEnd = (set: StatefulSet): number => firstOrdinal(set) + replicasOf(set);

export const isWantedOrdinal = (set: StatefulSet, ordinal: number | undefined): boolean =>
  ordinal !== undefined && ordinal >= firstOrdinal(set) && ordinal < ordinalsEnd(set);

/** Builds the pod of an ordinal in a revision. Its name is its identity: the first creator has it. */
export function buildPod(set: StatefulSet, ordinal: number, revision: Revision): Pod {
  const name = podNameOf(set, ordinal);
  const pod = podFromTemplate(revision.template, {
    namespace: namespaceOf(set),
    name,
    generateName: `${nameOf(set)}-`,
    owner: controllerReference(set, { apiVersion: 'apps/v1', kind: 'StatefulSet' }),
  });
  const labels = {
    ...pod.metadata.labels,
    [POD_NAME_LABEL]: name,
    [POD_INDEX_LABEL]: String(ordinal),
    [REVISION_LABEL]: revision.name,
  };
  const spec = {
    ...pod.spec,
    hostname: name,
    subdomain: set.spec.serviceName ?? '',
    volumes: volumesOf(set, ordinal, revision),
  };
  return { ...pod, metadata: { ...pod.metadata, labels }, spec };
}

/** A claim of the set takes the place of a template volume of the same name. */
function volumesOf(set: StatefulSet, ordinal: number, { template }: Revision): Volume[] {
  const claimed = claimTemplates(set).map(
    (claim): Volume => ({
      name: nameOf(claim),
      persistentVolumeClaim: { claimName: claimName(set, claim, ordinal) },
    }),
  );
  const names = new Set(claimed.map(({ name }) => name));
  return [...(template.spec.volumes ?? []).filter(({ name }) => !names.has(name)), ...claimed];
}

const claimTemplates = (set: StatefulSet): readonly PersistentVolumeClaim[] => set.spec.volumeClaimTemplates ?? [];

const claimName = (set: StatefulSet, claim: PersistentVolumeClaim, ordinal: number): string =>
  `${nameOf(claim)}-${podNameOf(set, ordinal)}`;

/** The names of the claims of a pod of the set. */
export const claimNames = (set: StatefulSet, podName: string): readonly string[] =>
  claimTemplates(set).map((claim) => `${nameOf(claim)}-${podName}`);

/** The claims that have to exist before the pod. They outlive it: the next pod of the ordinal finds its data again. */
export function buildClaims(set: StatefulSet, ordinal: number): readonly PersistentVolumeClaim[] {
  return claimTemplates(set).map((claim) => ({
    ...claim,
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...(claim.metadata.annotations === undefined ? {} : { annotations: claim.metadata.annotations }),
      name: claimName(set, claim, ordinal),
      namespace: namespaceOf(set),
      labels: { ...claim.metadata.labels, ...set.spec.selector.matchLabels },
      ...(set.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === 'Delete'
        ? { ownerReferences: [controllerReference(set, { apiVersion: 'apps/v1', kind: 'StatefulSet' })] }
        : {}),
    },
    status: {},
  }));
}
