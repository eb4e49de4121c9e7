import type { ObjectMeta, PodSpec, PodTemplateSpec } from '../generated/types.ts';
import { setContainerDefaults } from './containers.ts';
import { setResourceListDefaults } from './resources.ts';
import { setDefault, setDefaultOfZero, setZeroTime } from './set.ts';
import { setVolumeDefaults } from './volumes.ts';

/** Defaults that pods and pod templates share. */
export function setPodSpecDefaults(spec: PodSpec): void {
  setDefaultOfZero(spec, 'dnsPolicy', 'ClusterFirst');
  setDefaultOfZero(spec, 'restartPolicy', 'Always');
  setDefaultOfZero(spec, 'schedulerName', 'default-scheduler');
  setDefault(spec, 'securityContext', {});
  setDefault(spec, 'terminationGracePeriodSeconds', 30);
  setDefault(spec, 'containers', []);
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
  for (const volume of spec.volumes ?? []) setVolumeDefaults(volume);
  for (const container of spec.initContainers ?? []) setContainerDefaults(container);
  for (const container of spec.containers) setContainerDefaults(container);
  for (const container of spec.ephemeralContainers ?? []) setContainerDefaults(container);
  setResourceListDefaults(spec.overhead);
  // The default of `whenUnsatisfiable` is strict.
  for (const constraint of spec.topologySpreadConstraints ?? []) {
    setDefaultOfZero(constraint, 'whenUnsatisfiable', 'DoNotSchedule');
  }
}

export function setPodTemplateDefaults(template: PodTemplateSpec): void {
  setDefault(template, 'metadata', {});
  setZeroTime(template.metadata);
  dropInitContainerAnnotations(template.metadata);
  setDefault(template, 'spec', { containers: [] });
  setPodSpecDefaults(template.spec);
}

/**
 * Init containers were annotations before they became a field. Clients of that age still send back what they read then.
 */
const INIT_CONTAINERS = ['beta', 'alpha'].flatMap((stage) =>
  ['init-containers', 'init-container-statuses'].map((name) => `pod.${stage}.kubernetes.io/${name}`),
);

export function dropInitContainerAnnotations(metadata: ObjectMeta): void {
  const { annotations } = metadata;
  if (annotations === undefined) return;
  for (const key of INIT_CONTAINERS) delete annotations[key];
  if (Object.keys(annotations).length === 0) delete metadata.annotations;
}
