import type { Volume } from '@holdfast/api';
import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import type { Volumes } from '../domain/volumes.ts';
import { define } from '../framework/definition.ts';
import { type Cycle, type NodeFilter, type PreFiltered, rejected, rejectedForGood, SKIP } from '../framework/plugin.ts';

const DISK_IN_USE = rejected('node(s) had no available disk');
const CLAIM_IN_USE = rejected(
  'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
);

/** Disks that only one pod per node may use, and claims that only one pod of the cluster may use. */
export const VOLUME_RESTRICTIONS = define('VolumeRestrictions', ['preFilter', 'filter'], () => ({
  preFilter,
  wakesOn: {
    'pod-removed': (pod, gone) => sharesClaim(pod, gone) || anyCollide(pod.disks, gone.disks),
    'node-added': true,
    'claim-changed': (pod, { metadata: { namespace = '', name = '' } }) =>
      pod.claims.some(({ key }) => key === `${namespace}/${name}`),
  },
}));

function preFilter({ pod, snapshot }: Cycle): PreFiltered {
  if (pod.claims.length === 0 && pod.disks.length === 0) return SKIP;
  const exclusive = exclusiveClaims(pod, snapshot.volumes);
  if (typeof exclusive === 'string') return { kind: 'reject', rejection: rejectedForGood(exclusive) };
  if (exclusive.length === 0 && pod.disks.length === 0) return SKIP;
  const others = exclusive.flatMap((key) => snapshot.usersOfClaim(key).filter(({ uid }) => uid !== pod.uid));
  return {
    kind: 'check',
    check: checkOf(pod, () => others.length),
    fork: () => {
      let users = others.length;
      return {
        check: checkOf(pod, () => users),
        adjust: (other, _, by) => {
          users += by * exclusive.filter((key) => other.claims.some((claim) => claim.key === key)).length;
        },
      };
    },
  };
}

function checkOf({ disks }: PodInfo, usersOfExclusive: () => number): NodeFilter {
  return (node) => {
    if (disks.length > 0 && collidesOn(node, disks)) return DISK_IN_USE;
    return usersOfExclusive() > 0 ? CLAIM_IN_USE : undefined;
  };
}

/** Returns the pod's ReadWriteOncePod claims, or why they are unknown. */
function exclusiveClaims({ claims }: PodInfo, volumes: Volumes): readonly string[] | string {
  const exclusive: string[] = [];
  for (const { key, name, ephemeral } of claims) {
    // No other pod can use a claim generated for this pod.
    if (ephemeral) continue;
    const claim = volumes.claim(key);
    if (claim === undefined) return `persistentvolumeclaim "${name}" not found`;
    if (claim.spec.accessModes?.includes('ReadWriteOncePod') === true) exclusive.push(key);
  }
  return exclusive;
}

function sharesClaim(pod: PodInfo, other: PodInfo): boolean {
  return pod.claims.some(({ key }) => other.claims.some((claim) => claim.key === key));
}

function collidesOn({ podsWithVolumes }: NodeInfo, disks: readonly Volume[]): boolean {
  for (const placed of podsWithVolumes.values()) if (anyCollide(disks, placed.disks)) return true;
  return false;
}

function anyCollide(disks: readonly Volume[], others: readonly Volume[]): boolean {
  return disks.some((disk) => others.some((other) => collide(disk, other)));
}

/** True for the same disk twice, unless all uses are read-only (where the kind of disk allows that). */
function collide(a: Volume, b: Volume): boolean {
  const readOnly = (x: { readOnly?: boolean }, y: { readOnly?: boolean }): boolean =>
    x.readOnly === true && y.readOnly === true;
  if (a.gcePersistentDisk !== undefined && b.gcePersistentDisk !== undefined) {
    const [x, y] = [a.gcePersistentDisk, b.gcePersistentDisk];
    return x.pdName === y.pdName && !readOnly(x, y);
  }
  if (a.awsElasticBlockStore !== undefined && b.awsElasticBlockStore !== undefined) {
    return a.awsElasticBlockStore.volumeID === b.awsElasticBlockStore.volumeID;
  }
  if (a.iscsi !== undefined && b.iscsi !== undefined) return a.iscsi.iqn === b.iscsi.iqn && !readOnly(a.iscsi, b.iscsi);
  if (a.rbd === undefined || b.rbd === undefined) return false;
  const [x, y] = [a.rbd, b.rbd];
  const sameImage = x.image === y.image && (x.pool ?? 'rbd') === (y.pool ?? 'rbd');
  return sameImage && x.monitors.some((monitor) => y.monitors.includes(monitor)) && !readOnly(x, y);
}
