import type { Service, ServiceSpec } from '../../generated/types.ts';
import { isExternallyAccessible, needsHealthCheck } from './defaults.ts';

export function prepareServiceCreate(service: Service): void {
  service.status = { loadBalancer: {} };
  const { spec } = service;
  // `clusterIP` is the first of `clusterIPs`; a client that sets one sets both.
  if (spec.clusterIP && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [spec.clusterIP];
  dropUnusedFields(service);
}

export function prepareServiceUpdate(service: Service, old: Readonly<Service>): void {
  patchAllocated(service, old);
  syncClusterIps(service.spec, old.spec);
  dropUnusedFields(service, old);
}

/** Keeps the allocated values that an update omits. */
function patchAllocated({ spec }: Service, { spec: old }: Readonly<Service>): void {
  const keepsIp = needsClusterIp(spec) && needsClusterIp(old);
  if (keepsIp && !spec.clusterIP && old.clusterIP !== undefined) spec.clusterIP = old.clusterIP;
  if (keepsIp && (spec.clusterIPs ?? []).length === 0 && old.clusterIPs !== undefined) {
    spec.clusterIPs = [...old.clusterIPs];
  }
  if (hasNodePorts(spec) && hasNodePorts(old)) keepNodePorts(spec, old);
  if (needsHealthCheck({ spec }) && !spec.healthCheckNodePort && old.healthCheckNodePort) {
    spec.healthCheckNodePort = old.healthCheckNodePort;
  }
}

const needsClusterIp = (spec: Readonly<ServiceSpec>): boolean => spec.type !== 'ExternalName';

function keepNodePorts(spec: ServiceSpec, old: Readonly<ServiceSpec>): void {
  // The name identifies the port; all its other fields may have changed.
  const known = new Map((old.ports ?? []).map((port) => [port.name ?? '', port.nodePort]));
  const taken = new Set((spec.ports ?? []).map((port) => port.nodePort));
  for (const port of spec.ports ?? []) {
    const before = known.get(port.name ?? '');
    if (port.nodePort || !before || taken.has(before)) continue;
    port.nodePort = before;
    taken.add(before);
  }
}

/** Synchronizes both fields when a client changes only one. */
function syncClusterIps(spec: ServiceSpec, old: Readonly<ServiceSpec>): void {
  const sameOne = (spec.clusterIP ?? '') === (old.clusterIP ?? '');
  const sameMany = JSON.stringify(spec.clusterIPs ?? []) === JSON.stringify(old.clusterIPs ?? []);
  if (sameOne || !sameMany) return;
  if (spec.clusterIP) spec.clusterIPs = [spec.clusterIP];
  else delete spec.clusterIPs;
}

/** Drops fields that only the old type used, unless the client changed them. */
function dropUnusedFields(service: Service, old?: Readonly<Service>): void {
  const { spec } = service;
  if (old !== undefined && spec.type === 'ExternalName' && old.spec.type !== 'ExternalName') {
    for (const key of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const) {
      if (JSON.stringify(spec[key]) === JSON.stringify(old.spec[key])) delete spec[key];
    }
  }
  if (old === undefined) return;
  if (old.spec.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    for (const key of ['allocateLoadBalancerNodePorts', 'loadBalancerClass'] as const) {
      if (spec[key] === old.spec[key]) delete spec[key];
    }
  }
  if (needsHealthCheck(old) && !needsHealthCheck(service)) {
    if (spec.healthCheckNodePort === old.spec.healthCheckNodePort) delete spec.healthCheckNodePort;
  }
  if (isExternallyAccessible(old) && !isExternallyAccessible(service)) {
    if (spec.externalTrafficPolicy === old.spec.externalTrafficPolicy) delete spec.externalTrafficPolicy;
  }
  if (hasNodePorts(old.spec) && !hasNodePorts(spec) && addsNoNodePort(spec, old.spec)) {
    for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (spec.type !== 'LoadBalancer') service.status = { ...service.status, loadBalancer: {} };
}

/** A load balancer that gets no new ports (`allocateLoadBalancerNodePorts: false`) keeps those that it has. */
const hasNodePorts = ({ type }: Readonly<ServiceSpec>): boolean => type === 'NodePort' || type === 'LoadBalancer';

function addsNoNodePort(spec: Readonly<ServiceSpec>, old: Readonly<ServiceSpec>): boolean {
  const known = new Set((old.ports ?? []).map((port) => port.nodePort));
  return (spec.ports ?? []).every((port) => !port.nodePort || known.has(port.nodePort));
}
