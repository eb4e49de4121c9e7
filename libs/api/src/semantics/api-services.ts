import { formatTime } from '@holdfast/platform/time';
import type { APIService, APIServiceCondition, APIServiceStatus, Endpoints, Service } from '../generated/types.ts';

/** Marks APIServices that the server maintains: `onstart` for built-in ones, `true` for those of definitions. */
export const AUTOMANAGED_LABEL = 'kube-aggregator.kubernetes.io/automanaged';

/** The group of the registrations themselves: this server always serves it, and lists it first. */
export const REGISTRATION_GROUP = 'apiregistration.k8s.io';

/** The priority of a group among all groups, and of a version in its group; the highest comes first. */
export interface ApiPriority {
  readonly group: number;
  readonly version: number;
}

/** Priorities of Kubernetes 1.32. */
const BUILT_IN: ReadonlyMap<string, ApiPriority> = new Map(
  (
    [
      ['/v1', 18_000, 1],
      ['apps/v1', 17_800, 15],
      ['events.k8s.io/v1', 17_750, 15],
      ['authentication.k8s.io/v1', 17_700, 15],
      ['authorization.k8s.io/v1', 17_600, 15],
      ['autoscaling/v2', 17_500, 30],
      ['autoscaling/v1', 17_500, 15],
      ['batch/v1', 17_400, 15],
      ['certificates.k8s.io/v1', 17_300, 15],
      ['networking.k8s.io/v1', 17_200, 15],
      ['policy/v1', 17_100, 15],
      ['rbac.authorization.k8s.io/v1', 17_000, 15],
      ['storage.k8s.io/v1', 16_800, 15],
      ['admissionregistration.k8s.io/v1', 16_700, 15],
      ['apiextensions.k8s.io/v1', 16_700, 15],
      ['scheduling.k8s.io/v1', 16_600, 15],
      ['coordination.k8s.io/v1', 16_500, 15],
      ['node.k8s.io/v1', 16_300, 15],
      ['discovery.k8s.io/v1', 16_200, 15],
      ['flowcontrol.apiserver.k8s.io/v1', 16_100, 21],
    ] as const
  ).map(([groupVersion, group, version]) => [groupVersion, { group, version }]),
);

/** Returns `undefined` for groups that are not built in. */
export const builtInPriority = (group: string, version: string): ApiPriority | undefined =>
  BUILT_IN.get(`${group}/${version}`);

/** Priority of groups of definitions. */
export const CUSTOM_PRIORITY: ApiPriority = { group: 1_000, version: 100 };

/** Priority of unregistered groups. */
export const UNREGISTERED_PRIORITY: ApiPriority = { group: 100, version: 100 };

export const apiServiceName = (group: string, version: string): string => `${version}.${group}`;

export interface LocalApi {
  readonly group: string;
  readonly version: string;
  readonly priority: ApiPriority;
  readonly automanaged: 'onstart' | 'true';
}

/** Returns the registration of a group-version that the server serves itself. */
export const localApiService = ({ group, version, priority, automanaged }: LocalApi): APIService => ({
  apiVersion: `${REGISTRATION_GROUP}/v1`,
  kind: 'APIService',
  metadata: { name: apiServiceName(group, version), labels: { [AUTOMANAGED_LABEL]: automanaged } },
  spec: {
    ...(group === '' ? {} : { group }),
    version,
    groupPriorityMinimum: priority.group,
    versionPriority: priority.version,
  },
  status: {},
});

export type RegistrationStep = 'create' | 'update' | 'delete';

/** Reconciles the registration of a custom group-version. A registration without the label belongs to a user. */
export function decideRegistration(
  current: Readonly<APIService> | undefined,
  desired: Readonly<APIService> | undefined,
): RegistrationStep | undefined {
  if (current === undefined) return desired === undefined ? undefined : 'create';
  if (current.metadata.labels?.[AUTOMANAGED_LABEL] !== 'true') return undefined;
  if (desired === undefined) return 'delete';
  return isSameSpec(current, desired) ? undefined : 'update';
}

/** A local registration has only these fields. */
export const isSameSpec = ({ spec: a }: Readonly<APIService>, { spec: b }: Readonly<APIService>): boolean =>
  a.service === b.service &&
  (a.group ?? '') === (b.group ?? '') &&
  a.version === b.version &&
  a.groupPriorityMinimum === b.groupPriorityMinimum &&
  a.versionPriority === b.versionPriority &&
  !a.caBundle &&
  a.insecureSkipTLSVerify !== true;

/** Requests are forwarded only to a service whose last check succeeded. */
export const isApiAvailable = ({ status }: Readonly<APIService>): boolean =>
  (status.conditions ?? []).some(({ type, status: is }) => type === 'Available' && is === 'True');

export type Availability = Pick<APIServiceCondition, 'reason' | 'message'> & { readonly status: 'True' | 'False' };

export const LOCAL_AVAILABILITY: Availability = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
};

export const PASSED_AVAILABILITY: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' };

export const failedDiscovery = (message: string): Availability => ({
  status: 'False',
  reason: 'FailedDiscoveryCheck',
  message,
});

export interface ServiceOfApi {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** Returns the fault of an API's service that is visible without a request; `undefined` when it can be checked. */
export function serviceFault(
  { namespace, name, port }: ServiceOfApi,
  service: Readonly<Service> | undefined,
  endpoints: Readonly<Endpoints> | undefined,
): Availability | undefined {
  const quoted = JSON.stringify(namespace);
  const fault = (reason: string, message: string): Availability => ({ status: 'False', reason, message });
  if (service === undefined) return fault('ServiceNotFound', `service/${name} in ${quoted} is not present`);
  if ((service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const servicePort = (service.spec?.ports ?? []).find((each) => each.port === port);
  if (servicePort === undefined) {
    return fault('ServicePortError', `service/${name} in ${quoted} is not listening on port ${port}`);
  }
  if (endpoints === undefined) {
    return fault('EndpointsNotFound', `cannot find endpoints for service/${name} in ${quoted}`);
  }
  const portName = servicePort.name ?? '';
  const isServed = (endpoints.subsets ?? []).some(
    ({ addresses = [], ports = [] }) => addresses.length > 0 && ports.some((each) => (each.name ?? '') === portName),
  );
  if (isServed) return undefined;
  const message = `endpoints for service/${name} in ${quoted} have no addresses with port name ${JSON.stringify(portName)}`;
  return fault('MissingEndpoints', message);
}

/** Returns the status with this availability; `undefined` when it is up to date. */
export function withAvailability(
  { status }: Readonly<APIService>,
  found: Availability,
  now: number,
): APIServiceStatus | undefined {
  const conditions = status.conditions ?? [];
  const old = conditions.find(({ type }) => type === 'Available');
  if (old?.status === found.status && old.reason === found.reason && old.message === found.message) return undefined;
  const lastTransitionTime = old?.status === found.status ? old.lastTransitionTime : undefined;
  const condition: APIServiceCondition = {
    type: 'Available',
    ...found,
    lastTransitionTime: lastTransitionTime ?? formatTime(now),
  };
  const replaced = conditions.map((each) => (each === old ? condition : each));
  return { ...status, conditions: old === undefined ? [...conditions, condition] : replaced };
}
