import {
  type Container,
  isPodFinished,
  isPodReady,
  type KubeObject,
  mapSelectorOf,
  type Pod,
  type Service,
  type ServicePort,
  sidecarsOf,
} from '@holdfast/api';
import type { Informer, InformerChange } from '@holdfast/client';
import { type LabelSelectorMatcher, NOTHING } from '@holdfast/machinery';
import { isSame } from './hash.ts';
import { isTerminating, keyOf, nameOf, namespaceOf, uidOf } from './meta.ts';

/** One port of a service on one pod. */
export interface BackendPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

export const isHeadless = ({ spec }: Service): boolean => spec?.clusterIP === 'None';

/** The pods of a service without a selector are its user's business, an external name has none. */
export const hasBackends = (service: Service): boolean =>
  service.spec?.type !== 'ExternalName' && Object.keys(service.spec?.selector ?? {}).length > 0;

/** Returns the selector of a service: it selects nothing when users maintain the endpoints themselves. */
export const podSelectorOf = (service: Service): LabelSelectorMatcher =>
  hasBackends(service) ? mapSelectorOf(service.spec?.selector) : NOTHING;

/** Returns the pods that have or had an address for a service. Terminating ones only for consumers that drain them. */
export function backendsOf(service: Service, pods: Informer<Pod>, withTerminating: boolean): readonly Pod[] {
  const selector = podSelectorOf(service);
  return pods
    .list(namespaceOf(service))
    .filter(
      (pod) =>
        selector.matches(pod.metadata.labels) &&
        !isPodFinished(pod) &&
        (pod.status?.podIP ?? '') !== '' &&
        (withTerminating || !isTerminating(pod)),
    );
}

/** The service's ports in the numbers of this pod. A named port that the pod does not have is left out. */
export function portsOf(service: Service, pod: Pod): readonly BackendPort[] {
  return (service.spec?.ports ?? []).flatMap((servicePort) => {
    const port = targetPort(servicePort, pod);
    if (port === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = servicePort;
    return [{ name, port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}

function targetPort({ targetPort: target, port, protocol = 'TCP' }: ServicePort, pod: Pod): number | undefined {
  if (target === undefined || target === 0 || target === '') return port;
  if (typeof target === 'number') return target;
  return servingContainers(pod)
    .flatMap((container) => container.ports ?? [])
    .find((each) => each.name === target && (each.protocol ?? 'TCP') === protocol)?.containerPort;
}

const servingContainers = ({ spec }: Pod): readonly Container[] => [...(spec?.containers ?? []), ...sidecarsOf(spec)];

export const podIpsOf = ({ status }: Pod): readonly string[] => {
  const ips = (status?.podIPs ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
  return ips.length > 0 ? ips : [status?.podIP ?? ''].filter((ip) => ip !== '');
};

export const isIpv6 = (ip: string): boolean => ip.includes(':');

/** Returns the pod's hostname under its service, when its spec requests one there. */
export const hostnameOf = (service: Service, { spec }: Pod): string | undefined =>
  (spec?.hostname ?? '') !== '' && spec?.subdomain === nameOf(service) ? spec.hostname : undefined;

export const podReference = (
  pod: Pod,
): { readonly kind: string; readonly namespace: string; readonly name: string; readonly uid: string } => ({
  kind: 'Pod',
  namespace: namespaceOf(pod),
  name: nameOf(pod),
  uid: uidOf(pod),
});

/** The services whose backends a change of this pod alters. Most changes of a pod alter none. */
export function servicesToWake(services: Informer<Service>, { object, old }: InformerChange<Pod>): readonly string[] {
  const namespace = namespaceOf(object ?? old ?? NOBODY);
  if (services.count(namespace) === 0) return [];
  if (object !== undefined && old !== undefined && isSameBackend(object, old)) return [];
  const keys = new Set<string>();
  for (const service of services.list(namespace)) {
    const selector = podSelectorOf(service);
    if ([object, old].some((pod) => pod !== undefined && selector.matches(pod.metadata.labels)))
      keys.add(keyOf(service));
  }
  return [...keys];
}

const NOBODY: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: {} };

const isSameBackend = (a: Pod, b: Pod): boolean =>
  a.spec?.nodeName === b.spec?.nodeName &&
  isPodReady(a) === isPodReady(b) &&
  isPodFinished(a) === isPodFinished(b) &&
  isTerminating(a) === isTerminating(b) &&
  isSame(a.metadata.labels, b.metadata.labels) &&
  isSame(podIpsOf(a), podIpsOf(b));
