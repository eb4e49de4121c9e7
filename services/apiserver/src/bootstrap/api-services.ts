import {
  type APIService,
  AUTOMANAGED_LABEL,
  builtInPriority,
  isSameSpec,
  type KubeObject,
  localApiService,
  REGISTRATION_GROUP,
} from '@holdfast/api';
import { versionsByGroup } from '../endpoints/served-kinds.ts';

/** The registration of every group-version of Kubernetes that this build serves, but for the group of registrations itself. */
export const LOCAL_API_SERVICES: readonly APIService[] = versionsByGroup().flatMap(({ group, version }) => {
  const priority = builtInPriority(group, version);
  if (priority === undefined || group === REGISTRATION_GROUP) return [];
  return [localApiService({ group, version, priority, automanaged: 'onstart' })];
});

/** A start restores changed objects, unless the label shows that another controller maintains them. */
export function reconciledApiService(stored: KubeObject, wanted: APIService): KubeObject | undefined {
  const api = stored as APIService;
  if (api.metadata.labels?.[AUTOMANAGED_LABEL] !== 'onstart' || isSameSpec(api, wanted)) return undefined;
  return { ...api, spec: wanted.spec } as KubeObject;
}
