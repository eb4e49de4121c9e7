import type { KubeObject, PodTemplateSpec } from '@holdfast/api';
import type { AdmissionRequest } from './port.ts';

export interface PlacedTemplate {
  readonly template: PodTemplateSpec;
  /** `spec.template` */
  readonly path: string;
}

/** By `plural.group`: the path of the pod template of each workload kind. */
const TEMPLATE_PATHS: ReadonlyMap<string, string> = new Map([
  ['podtemplates.', 'template'],
  ['replicationcontrollers.', 'spec.template'],
  ['deployments.apps', 'spec.template'],
  ['replicasets.apps', 'spec.template'],
  ['statefulsets.apps', 'spec.template'],
  ['daemonsets.apps', 'spec.template'],
  ['jobs.batch', 'spec.template'],
  ['cronjobs.batch', 'spec.jobTemplate.spec.template'],
]);

/** The pod template of the object that a request stores; absent for kinds without one. */
export function templateOf({ definition, object }: AdmissionRequest): PlacedTemplate | undefined {
  const path = TEMPLATE_PATHS.get(`${definition.plural}.${definition.group}`);
  if (object === undefined || path === undefined) return undefined;
  const template = memberAt(object, path.split('.'));
  return template === undefined ? undefined : { template, path };
}

/** The registry determines the kind, and the fields were validated: the path leads to the declared type. */
function memberAt(object: KubeObject, path: readonly string[]): PodTemplateSpec | undefined {
  let value: unknown = object;
  for (const key of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return value as PodTemplateSpec | undefined;
}
