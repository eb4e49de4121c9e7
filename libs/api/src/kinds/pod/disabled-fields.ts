import type { Features } from '../../features.ts';
import type { PodSpec, PodStatus, Volume } from '../../generated/types.ts';

/**
 * Drops the fields of features that are off in 1.32, unless the stored object already uses them: exactly what a client
 * of Kubernetes 1.32 observes.
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

const USUAL_PROC_MOUNT = 'Default';
const isUsual = (procMount = USUAL_PROC_MOUNT): boolean => procMount === USUAL_PROC_MOUNT;

function dropContainerFields(spec: PodSpec, old: Readonly<PodSpec> | undefined): void {
  const oldContainers = old === undefined ? [] : containersOf(old);
  const usedProcMount = oldContainers.some(({ securityContext }) => !isUsual(securityContext?.procMount));
  const usedResizePolicy = oldContainers.some((container) => (container.resizePolicy ?? []).length > 0);
  for (const container of containersOf(spec)) {
    const context = container.securityContext;
    // A set field becomes the default instead of being removed: objects of version 1.12 contain it.
    if (!usedProcMount && context?.procMount !== undefined) context.procMount = USUAL_PROC_MOUNT;
    if (!usedResizePolicy) delete container.resizePolicy;
  }
  if (old?.securityContext?.supplementalGroupsPolicy === undefined) {
    delete spec.securityContext?.supplementalGroupsPolicy;
  }
  if (old?.securityContext?.seLinuxChangePolicy === undefined) delete spec.securityContext?.seLinuxChangePolicy;
}

/** Drops image volumes together with their mounts. */
function dropImageVolumes(spec: PodSpec, old: Readonly<PodSpec> | undefined): void {
  const isImage = ({ image }: Volume): boolean => image !== undefined;
  const dropped = new Set((spec.volumes ?? []).filter(isImage).map(({ name }) => name));
  if (dropped.size === 0 || old?.volumes?.some(isImage) === true) return;
  spec.volumes = spec.volumes?.filter((volume) => !isImage(volume)) ?? [];
  if (spec.volumes.length === 0) delete spec.volumes;
  for (const container of containersOf(spec)) {
    const kept = container.volumeMounts?.filter(({ name }) => !dropped.has(name)) ?? [];
    if (kept.length > 0) container.volumeMounts = kept;
    else delete container.volumeMounts;
  }
}

function dropVolumeFields(spec: PodSpec, old: Readonly<PodSpec> | undefined): void {
  dropImageVolumes(spec, old);
  const usedBundle =
    old?.volumes?.some((volume) => volume.projected?.sources?.some((s) => s.clusterTrustBundle !== undefined)) === true;
  for (const volume of spec.volumes ?? []) {
    for (const source of usedBundle ? [] : (volume.projected?.sources ?? [])) delete source.clusterTrustBundle;
  }
}

/** Dynamic resource allocation is beta in 1.32 and off by default. */
function dropResourceClaims(spec: PodSpec, old: Readonly<PodSpec> | undefined): void {
  if ((old?.resourceClaims ?? []).length > 0) return;
  delete spec.resourceClaims;
  for (const container of containersOf(spec)) delete container.resources.claims;
}

/** The same for the status of such features. */
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
