import { OLD_REGION_LABEL, OLD_ZONE_LABEL, type PersistentVolume, REGION_LABEL, ZONE_LABEL } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import type { Volumes } from '../domain/volumes.ts';
import { define } from '../framework/definition.ts';
import { checking, rejectedForGood, SKIP } from '../framework/plugin.ts';

const OTHER_ZONE = rejectedForGood('node(s) had no available volume zone');

const TOPOLOGY_LABELS: readonly string[] = [ZONE_LABEL, REGION_LABEL, OLD_ZONE_LABEL, OLD_REGION_LABEL];
/** Separates the zones of a volume in several zones. */
const BETWEEN_ZONES = '__';

interface ZoneRule {
  readonly label: string;
  readonly values: ReadonlySet<string>;
}

/** The zone labels of its volumes restrict a pod. */
export const VOLUME_ZONE = define('VolumeZone', ['preFilter', 'filter'], () => ({
  preFilter: ({ pod, snapshot: { volumes } }) => {
    const rules = rulesFor(pod, volumes);
    if (typeof rules === 'string') return { kind: 'reject', rejection: rejectedForGood(rules) };
    if (rules.length === 0) return SKIP;
    return checking((node) => (allows(node, rules) ? undefined : OTHER_ZONE));
  },
  wakesOn: {
    'class-changed': true,
    'node-added': true,
    'node-labels': true,
    'volume-changed': true,
    'claim-changed': (pod, { metadata: { namespace = '', name = '' } }) =>
      pod.claims.some(({ key }) => key === `${namespace}/${name}`),
  },
}));

/** Returns rules for the pod's claims; a string explains why they are unknown. */
function rulesFor({ claims }: PodInfo, volumes: Volumes): readonly ZoneRule[] | string {
  const rules: ZoneRule[] = [];
  for (const { key, name, ephemeral } of claims) {
    if (ephemeral) continue;
    const claim = volumes.claim(key);
    if (claim === undefined) return `persistentvolumeclaim "${name}" not found`;
    const { volumeName = '', storageClassName = '' } = claim.spec;
    if (volumeName === '') {
      const problem = whyNoVolume(storageClassName, volumes);
      if (problem !== undefined) return problem;
      continue;
    }
    const volume = volumes.volume(volumeName);
    if (volume === undefined) return `persistentvolume "${volumeName}" not found`;
    rules.push(...rulesOf(volume));
  }
  return rules;
}

/** A claim may lack a volume only while it waits for its first pod. */
function whyNoVolume(className: string, volumes: Volumes): string | undefined {
  if (className === '') return 'PersistentVolumeClaim had no pv name and storageClass name';
  const storageClass = volumes.storageClass(className);
  if (storageClass === undefined) return `storageclass.storage.k8s.io "${className}" not found`;
  return storageClass.volumeBindingMode === 'WaitForFirstConsumer' ? undefined : 'PersistentVolume had no name';
}

function rulesOf({ metadata: { labels = {} } }: PersistentVolume): readonly ZoneRule[] {
  return TOPOLOGY_LABELS.flatMap((label) => {
    const value = ownValue(labels, label);
    return value === undefined ? [] : [{ label, values: new Set(value.split(BETWEEN_ZONES)) }];
  });
}

/** A node without zone labels belongs to a cluster without zones. */
function allows({ labels }: NodeInfo, rules: readonly ZoneRule[]): boolean {
  if (TOPOLOGY_LABELS.every((label) => !Object.hasOwn(labels, label))) return true;
  return rules.every(({ label, values }) => {
    const value = ownValue(labels, label) ?? ownValue(labels, newName(label));
    return value !== undefined && values.has(value);
  });
}

/** The labels were renamed: old volumes match new nodes, but not the reverse. */
function newName(label: string): string {
  return label.replace('failure-domain.beta.kubernetes.io/', 'topology.kubernetes.io/');
}
