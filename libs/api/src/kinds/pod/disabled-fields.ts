import type { Features } from '../../features.ts';
import type { PodSpec, PodStatus } from '../../generated/types.ts';

/**
 * Fields of features that 1.32 has switched off are dropped on the way in, unless the stored object uses them already:
 * exactly what a client of a real 1.32 sees.
 */
export function dropDisabledPodFields(
  spec: PodSpec,
  old: Readonly<PodSpec> | undefined,
  features: Pick<Features, 'userNamespacesSupport'>,
): void {
  if (!features.userNamespacesSupport && old?.hostUsers === undefined) delete spec.hostUsers;
  if (old?.resources === undefined) delete spec.resources;
  dropContainerFields(spec, old);
  dropVolumeFields(spec, old);
  dropResourceClaims(spec, old);
}

const containersOf = (spec: Readonly<PodSpec>) => [
  ...(spec.initContainers ?? []),
  ...(spec.containers ?? []),
  ...(spec.ephemeralContainers ?? []),
];

function dropContainerFields(spec: PodSpec, old: Readonly<PodSpec> | undefined): void {
  const oldContainers = old === undefined ? [] : containersOf(old);
  const usedProcMount = oldContainers.some((container) => container.securityContext?.procMount !== undefined);
  const usedResizePolicy = oldContainers.some((container) => (container.resizePolicy ?? []).length > 0);
  for (const container of containersOf(spec)) {
    if (!usedProcMount && container.securityContext !== undefined) delete container.securityContext.procMount;
    if (!usedResizePolicy) delete container.resizePolicy;
  }
  if (old?.securityContext?.supplementalGroupsPolicy === undefined) {
    delete spec.securityContext?.supplementalGroupsPolicy;
  }
  if (old?.securityContext?.seLinuxChangePolicy === undefined) delete spec.securityContext?.seLinuxChangePolicy;
}

function dropVolumeFields(spec: PodSpec, old: Readonly<PodSpec> | undefined): void {
  const usedImage = old?.volumes?.some((volume) => volume.image !== undefined) === true;
  const usedBundle =
    old?.volumes?.some((volume) => volume.projected?.sources?.some((s) => s.clusterTrustBundle !== undefined)) === true;
  for (const volume of spec.volumes ?? []) {
    if (!usedImage) delete volume.image;
    for (const source of usedBundle ? [] : (volume.projected?.sources ?? [])) delete source.clusterTrustBundle;
  }
}

/** Dynamic resource allocation is beta in 1.32 and off by default. */
function dropResourceClaims(spec: PodSpec, old: Readonly<PodSpec> | undefined): void {
  if ((old?.resourceClaims ?? []).length > 0) return;
  delete spec.resourceClaims;
  for (const container of containersOf(spec)) delete container.resources.claims;
}

/** The same for what a status tells of such features. */
export function dropDisabledStatusFields(status: PodStatus, spec: Readonly<PodSpec>): void {
  const resizes = containersOf(spec).some((container) => (container.resizePolicy ?? []).length > 0);
  const groups = spec.securityContext?.supplementalGroupsPolicy !== undefined;
  for (const list of [status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses]) {
    for (const container of list ?? []) {
      if (!resizes) {
        delete container.resources;
        delete container.allocatedResources;
      }
      delete container.allocatedResourcesStatus;
      if (!groups) delete container.user;
    }
  }
  if (!resizes) delete status.resize;
  if ((spec.resourceClaims ?? []).length === 0) delete status.resourceClaimStatuses;
}
