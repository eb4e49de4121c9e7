import type { NodeInfo } from '../domain/node-info.ts';
import type { ClaimUse, PodInfo } from '../domain/pod-info.ts';
import type { Volumes } from '../domain/volumes.ts';
import { define } from '../framework/definition.ts';
import { checking, rejected, SKIP } from '../framework/plugin.ts';

const TOO_MANY = rejected('node(s) exceed max volume count');

/** A node attaches at most as many volumes of a CSI driver as the driver reported there (CSINode). */
export const NODE_VOLUME_LIMITS = define('NodeVolumeLimits', ['preFilter', 'filter'], () => ({
  preFilter: ({ pod, snapshot: { volumes } }) => {
    if (pod.claims.length === 0) return SKIP;
    return checking((node) => (exceeds(pod, node, volumes) ? TOO_MANY : undefined));
  },
  wakesOn: {
    'csi-changed': true,
    'node-added': true,
    'pod-removed': (_, gone) => gone.claims.length > 0,
    'claim-changed': (pod, { metadata: { namespace = '', name = '' } }) =>
      pod.claims.some(({ key }) => key === `${namespace}/${name}`),
  },
}));

function exceeds(pod: PodInfo, node: NodeInfo, volumes: Volumes): boolean {
  const limits = limitsOf(node, volumes);
  if (limits.size === 0) return false;
  const attached = handlesByDriver(node.podsWithVolumes.values(), volumes);
  addAttached(attached, node, volumes);
  for (const [driver, wanted] of handlesByDriver([pod], volumes)) {
    const limit = limits.get(driver);
    if (limit === undefined) continue;
    const there = attached.get(driver) ?? new Set<string>();
    const added = wanted.difference(there).size;
    if (added > 0 && there.size + added > limit) return true;
  }
  return false;
}

function limitsOf({ name }: NodeInfo, volumes: Volumes): ReadonlyMap<string, number> {
  const drivers = volumes.csiNode(name)?.spec.drivers ?? [];
  return new Map(
    drivers.flatMap((driver) =>
      driver.allocatable?.count === undefined ? [] : [[driver.name, driver.allocatable.count] as const],
    ),
  );
}

/** A volume counts once, however many pods of the node use it. */
function handlesByDriver(pods: Iterable<PodInfo>, volumes: Volumes): Map<string, Set<string>> {
  const handles = new Map<string, Set<string>>();
  for (const { claims } of pods) {
    for (const use of claims) {
      const found = handleOf(use, volumes);
      if (found === undefined) continue;
      handles.set(found.driver, (handles.get(found.driver) ?? new Set<string>()).add(found.handle));
    }
  }
  return handles;
}

/** A volume that is not detached yet counts, even if its pod is gone. */
function addAttached(handles: Map<string, Set<string>>, { name }: NodeInfo, volumes: Volumes): void {
  for (const { spec } of volumes.attachmentsOn(name)) {
    const { csi } = volumes.volume(spec.source.persistentVolumeName ?? '')?.spec ?? {};
    if (csi === undefined) continue;
    handles.set(spec.attacher, (handles.get(spec.attacher) ?? new Set<string>()).add(csi.volumeHandle));
  }
}

/** A claim without a volume gets one from the provisioner of its class. */
function handleOf({ key }: ClaimUse, volumes: Volumes): { driver: string; handle: string } | undefined {
  const claim = volumes.claim(key);
  if (claim === undefined) return undefined;
  const { volumeName = '', storageClassName = '' } = claim.spec;
  const csi = volumeName === '' ? undefined : volumes.volume(volumeName)?.spec.csi;
  if (csi !== undefined) return { driver: csi.driver, handle: csi.volumeHandle };
  if (volumeName !== '' && volumes.volume(volumeName) !== undefined) return undefined;
  const driver = volumes.storageClass(storageClassName)?.provisioner;
  return driver === undefined ? undefined : { driver, handle: `${driver}-${key}` };
}
