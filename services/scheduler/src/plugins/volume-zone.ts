import type { PersistentVolume } from '@holdfast/api';
import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import type { Volumes } from '../domain/volumes.ts';
import { define } from '../framework/definition.ts';
import { checking, rejectedForGood, SKIP } from '../framework/plugin.ts';

const OTHER_ZONE = rejectedForGood('node(s) had no available volume zone');

const TOPOLOGY_LABELS: readonly string[] = [
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
];
/** Between the zones of a volume that is in several. */
const BETWEEN_ZONES = '__';

interface ZoneRule {
  readonly label: string;
  readonly values: ReadonlySet<string>;
}

/** A pod goes where the zone labels of its volumes say. */
export const VOLUME_ZONE = define('VolumeZone', ['preFilter', 'filter'], () => ({
  preFilter: ({ pod, snapshot: { volumes } }) => {
    const rules = rulesFor(pod, volumes);
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

function rulesFor({ claims }: PodInfo, volumes: Volumes): readonly ZoneRule[] {
  return claims.flatMap(({ key }) => {
    const volume = volumes.volume(volumes.claim(key)?.spec.volumeName ?? '');
    return volume === undefined ? [] : rulesOf(volume);
  });
}

function rulesOf({ metadata: { labels = {} } }: PersistentVolume): readonly ZoneRule[] {
  return TOPOLOGY_LABELS.flatMap((label) => {
    const value = labels[label];
    return value === undefined ? [] : [{ label, values: new Set(value.split(BETWEEN_ZONES)) }];
  });
}

/** A node without any of the labels is in a cluster without zones. */
function allows({ labels }: NodeInfo, rules: readonly ZoneRule[]): boolean {
  if (TOPOLOGY_LABELS.every((label) => labels[label] === undefined)) return true;
  return rules.every(({ label, values }) => {
    const value = labels[label] ?? labels[otherName(label)];
    return value !== undefined && values.has(value);
  });
}

/** The labels were renamed; nodes and volumes may carry either name. */
function otherName(label: string): string {
  const [prefix = '', name = ''] = label.split('/');
  return prefix.startsWith('topology') ? `failure-domain.beta.kubernetes.io/${name}` : `topology.kubernetes.io/${name}`;
}
