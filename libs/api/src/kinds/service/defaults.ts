import { setDefault, setDefaultOfZero } from '../../defaults/set.ts';
import type { Service } from '../../generated/types.ts';

/** Three hours: how long a client stays on its pod. */
const AFFINITY_SECONDS = 10_800;

export function setServiceDefaults(service: Service): void {
  setDefault(service, 'spec', {});
  setDefault(service, 'status', { loadBalancer: {} });
  setDefault(service.status, 'loadBalancer', {});
  const { spec } = service;
  setDefaultOfZero(spec, 'sessionAffinity', 'None');
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: AFFINITY_SECONDS } };
  }
  setDefaultOfZero(spec, 'type', 'ClusterIP');
  for (const port of spec.ports ?? []) {
    setDefaultOfZero(port, 'protocol', 'TCP');
    setDefaultOfZero(port, 'targetPort', port.port ?? 0);
  }
  if (isExternallyAccessible(service)) setDefaultOfZero(spec, 'externalTrafficPolicy', 'Cluster');
  if (['NodePort', 'LoadBalancer', 'ClusterIP'].includes(spec.type ?? '')) {
    setDefault(spec, 'internalTrafficPolicy', 'Cluster');
  }
  if (spec.type === 'LoadBalancer') setDefault(spec, 'allocateLoadBalancerNodePorts', true);
  for (const ingress of service.status.loadBalancer.ingress ?? []) {
    if (spec.type === 'LoadBalancer' && ingress.ip) setDefault(ingress, 'ipMode', 'VIP');
  }
}

export const isExternallyAccessible = ({ spec }: Pick<Readonly<Service>, 'spec'>): boolean =>
  spec.type === 'LoadBalancer' ||
  spec.type === 'NodePort' ||
  (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);

export const needsHealthCheck = ({ spec }: Pick<Readonly<Service>, 'spec'>): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
