import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import type { Service, ServicePort, ServiceSpec } from '../../generated/types.ts';
import { TOPOLOGY_HINTS_ANNOTATION, TOPOLOGY_MODE_ANNOTATION } from '../../semantics/well-known.ts';
import {
  validateCidr,
  validateDnsLabel,
  validateDnsSubdomain,
  validateIp,
  validateQualifiedName,
  validateRequiredText,
  validateRequiredWord,
  validateWord,
} from '../../validation/check.ts';
import { dns1035LabelErrors, portNumberErrors } from '../../validation/formats.ts';
import { goStruct } from '../../validation/go-text.ts';
import { isIp } from '../../validation/ip.ts';
import { validateLabels } from '../../validation/labels.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { PROTOCOLS } from '../../validation/pod/container-ports.ts';
import { validatePort } from '../../validation/pod/handlers.ts';
import { validateNotSpecialIp } from '../../validation/special-ip.ts';
import { isHeadless, validateClusterIpChange, validateClusterIps, validateFamilyChange } from './cluster-ips.ts';
import { isExternallyAccessible, needsHealthCheck } from './defaults.ts';

const META = { namespaced: true, name: dns1035LabelErrors } as const;
const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const LOAD_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'";
const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';

export function validateServiceCreate(service: Readonly<Service>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateService(out, service);
  return out;
}

export function validateServiceUpdate(service: Readonly<Service>, old: Readonly<Service>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, service.metadata, old.metadata);
  validateClusterIpChange(out, service, old);
  validateFamilyChange(out, service, old);
  validateLoadBalancerClass(out, service.spec, old.spec);
  if (needsHealthCheck(old) && needsHealthCheck(service)) {
    if (service.spec.healthCheckNodePort !== old.spec.healthCheckNodePort) {
      out.push(forbidden('spec.healthCheckNodePort', 'field is immutable'));
    }
  }
  validateService(out, service);
  return out;
}

function validateService(out: FieldError[], service: Readonly<Service>): void {
  const { metadata, spec } = service;
  validateObjectMeta(out, metadata, META);
  validateTopologyAnnotations(out, metadata.annotations ?? {});
  if ((spec.ports ?? []).length === 0 && !isHeadless(service) && spec.type !== 'ExternalName') {
    out.push(required('spec.ports'));
  }
  validateType(out, service);
  validatePorts(out, service);
  validateLabels(out, 'spec.selector', spec.selector);
  validateAffinity(out, spec);
  validateClusterIps(out, service);
  for (const [i, ip] of (spec.externalIPs ?? []).entries()) {
    if (validateIp(out, `spec.externalIPs[${i}]`, ip)) validateNotSpecialIp(out, `spec.externalIPs[${i}]`, ip);
  }
  validateRequiredWord(out, 'spec.type', spec.type, TYPES);
  validateNodePorts(out, spec);
  validateDuplicatePorts(out, spec);
  validateSourceRanges(out, service);
  validateLoadBalancer(out, spec);
  validateTraffic(out, service);
}

function validateTopologyAnnotations(out: FieldError[], annotations: Readonly<Record<string, string>>): void {
  const mode = annotations[TOPOLOGY_MODE_ANNOTATION];
  const hints = annotations[TOPOLOGY_HINTS_ANNOTATION];
  if (mode === undefined || hints === undefined || mode === hints) return;
  const detail = `must match annotations[${TOPOLOGY_HINTS_ANNOTATION}] when both are specified`;
  out.push(invalid(`metadata.annotations[${TOPOLOGY_MODE_ANNOTATION}]`, mode, detail));
}

/** The kubelet's port: a firewall rule for a service would open it, too. */
const KUBELET_PORT = 10_250;

function validateType(out: FieldError[], service: Readonly<Service>): void {
  const { spec } = service;
  for (const [i, { port }] of (spec.type === 'LoadBalancer' ? (spec.ports ?? []) : []).entries()) {
    if (port !== KUBELET_PORT) continue;
    const detail = `may not expose port ${KUBELET_PORT} externally since it is used by kubelet`;
    out.push(invalid(`spec.ports[${i}]`, port, detail));
  }
  if ((spec.type === 'LoadBalancer' || spec.type === 'NodePort') && isHeadless(service)) {
    out.push(invalid('spec.clusterIPs[0]', spec.clusterIPs?.[0], `may not be set to 'None' for ${spec.type} services`));
  }
  if (spec.type !== 'ExternalName') return;
  const text = 'may not be set for ExternalName services';
  if ((spec.clusterIPs ?? []).length > 0) out.push(forbidden('spec.clusterIPs', text));
  if ((spec.ipFamilies ?? []).length > 0) out.push(forbidden('spec.ipFamilies', text));
  if (spec.ipFamilyPolicy !== undefined) out.push(forbidden('spec.ipFamilyPolicy', text));
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  if (validateRequiredText(out, 'spec.externalName', name)) validateDnsSubdomain(out, 'spec.externalName', name);
}

function validatePorts(out: FieldError[], { spec }: Readonly<Service>): void {
  const names = new Set<string>();
  const ports = spec.ports ?? [];
  for (const [i, port] of ports.entries()) {
    const path = `spec.ports[${i}]`;
    if (port.name) {
      validateDnsLabel(out, `${path}.name`, port.name);
      if (names.has(port.name)) out.push(duplicate(`${path}.name`, port.name));
      names.add(port.name);
    } else if (ports.length > 1) out.push(required(`${path}.name`));
    validateServicePort(out, path, port);
  }
}

function validateServicePort(out: FieldError[], path: string, port: Readonly<ServicePort>): void {
  for (const text of portNumberErrors(port.port ?? 0)) out.push(invalid(`${path}.port`, port.port ?? 0, text));
  validateRequiredWord(out, `${path}.protocol`, port.protocol, PROTOCOLS);
  validatePort(out, `${path}.targetPort`, port.targetPort ?? 0);
  if (port.appProtocol !== undefined) validateQualifiedName(out, `${path}.appProtocol`, port.appProtocol);
}

const AFFINITY_SECONDS_MAX = 86_400;

function validateAffinity(out: FieldError[], spec: Readonly<ServiceSpec>): void {
  validateRequiredWord(out, 'spec.sessionAffinity', spec.sessionAffinity, ['ClientIP', 'None']);
  const path = 'spec.sessionAffinityConfig';
  const config = spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'None' && config !== undefined) {
    out.push(forbidden(path, 'must not be set when session affinity is None'));
  }
  if (spec.sessionAffinity !== 'ClientIP') return;
  const seconds = config?.clientIP?.timeoutSeconds;
  const needed = 'when session affinity type is ClientIP';
  if (config === undefined) out.push(required(path, needed));
  else if (config.clientIP === undefined) out.push(required(`${path}.clientIP`, needed));
  else if (seconds === undefined) out.push(required(`${path}.clientIP.timeoutSeconds`, needed));
  else if (seconds <= 0 || seconds > AFFINITY_SECONDS_MAX) {
    const detail = `must be greater than 0 and less than ${AFFINITY_SECONDS_MAX}`;
    out.push(invalid(`${path}.clientIP.timeoutSeconds`, seconds, detail));
  }
}

function validateNodePorts(out: FieldError[], spec: Readonly<ServiceSpec>): void {
  const taken = new Set<string>();
  for (const [i, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort) continue;
    const path = `spec.ports[${i}].nodePort`;
    if (spec.type === 'ClusterIP') out.push(forbidden(path, "may not be used when `type` is 'ClusterIP'"));
  }
  for (const [i, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort) continue;
    const key = `${port.protocol ?? ''}/${port.nodePort}`;
    if (taken.has(key)) out.push(duplicate(`spec.ports[${i}].nodePort`, port.nodePort));
    taken.add(key);
  }
}

function validateDuplicatePorts(out: FieldError[], spec: Readonly<ServiceSpec>): void {
  const taken = new Set<string>();
  for (const [i, { protocol, port }] of (spec.ports ?? []).entries()) {
    const key = `${protocol ?? ''}/${port}`;
    if (taken.has(key)) out.push(duplicate(`spec.ports[${i}]`, goPortKey(protocol ?? '', port)));
    taken.add(key);
  }
}

const goPortKey = (protocol: string, port: number) =>
  goStruct('core.ServicePort', {
    Name: '""',
    Protocol: JSON.stringify(protocol),
    AppProtocol: '(*string)(nil)',
    Port: String(port),
    TargetPort: 'intstr.IntOrString{Type:0, IntVal:0, StrVal:""}',
    NodePort: '0',
  });

function validateSourceRanges(out: FieldError[], { metadata, spec }: Readonly<Service>): void {
  const ranges = spec.loadBalancerSourceRanges ?? [];
  if (ranges.length > 0) {
    const path = 'spec.LoadBalancerSourceRanges';
    if (spec.type !== 'LoadBalancer') out.push(forbidden(path, LOAD_BALANCER_ONLY));
    for (const [i, range] of ranges.entries()) validateCidr(out, `${path}[${i}]`, range.trim());
    return;
  }
  const text = metadata.annotations?.[SOURCE_RANGES];
  if (text === undefined) return;
  const path = `metadata.annotations[${SOURCE_RANGES}]`;
  if (spec.type !== 'LoadBalancer') out.push(forbidden(path, LOAD_BALANCER_ONLY));
  if (text.trim() === '') return;
  for (const range of text.trim().split(',')) validateCidr(out, path, range.trim());
}

function validateLoadBalancer(out: FieldError[], spec: Readonly<ServiceSpec>): void {
  if (spec.allocateLoadBalancerNodePorts !== undefined && spec.type !== 'LoadBalancer') {
    out.push(forbidden('spec.allocateLoadBalancerNodePorts', LOAD_BALANCER_ONLY));
  }
  if (spec.allocateLoadBalancerNodePorts === undefined && spec.type === 'LoadBalancer') {
    out.push(required('allocateLoadBalancerNodePorts'));
  }
  validateLoadBalancerClass(out, spec);
}

function validateLoadBalancerClass(out: FieldError[], spec: Readonly<ServiceSpec>, old?: Readonly<ServiceSpec>): void {
  const path = 'spec.loadBalancerClass';
  const name = spec.loadBalancerClass;
  if (old?.type === 'LoadBalancer' && spec.type === 'LoadBalancer' && old.loadBalancerClass !== name) {
    out.push(invalid(path, name, 'may not change once set'));
  }
  if (name === undefined) return;
  if (spec.type === 'LoadBalancer') validateQualifiedName(out, path, name);
  else out.push(forbidden(path, LOAD_BALANCER_ONLY));
}

const POLICIES = ['Cluster', 'Local'];

function validateTraffic(out: FieldError[], service: Readonly<Service>): void {
  const { spec } = service;
  if (isExternallyAccessible(service)) {
    validateRequiredWord(out, 'spec.externalTrafficPolicy', spec.externalTrafficPolicy, POLICIES);
  } else if (spec.externalTrafficPolicy) {
    const detail = 'may only be set for externally-accessible services';
    out.push(invalid('spec.externalTrafficPolicy', spec.externalTrafficPolicy, detail));
  }
  validateHealthCheckPort(out, service);
  if (spec.internalTrafficPolicy === undefined) {
    if (['NodePort', 'LoadBalancer', 'ClusterIP'].includes(spec.type ?? '')) {
      out.push(required('spec.internalTrafficPolicy'));
    }
  } else validateWord(out, 'spec.internalTrafficPolicy', spec.internalTrafficPolicy, POLICIES);
  if (spec.trafficDistribution !== undefined && spec.trafficDistribution !== 'PreferClose') {
    out.push(notSupported('spec.trafficDistribution', spec.trafficDistribution, ['PreferClose']));
  }
}

/** External load balancers must be able to ask which nodes have a pod. Without a port the server allocates one. */
function validateHealthCheckPort(out: FieldError[], service: Readonly<Service>): void {
  const path = 'spec.healthCheckNodePort';
  const port = service.spec.healthCheckNodePort ?? 0;
  if (needsHealthCheck(service)) {
    if (port !== 0) for (const text of portNumberErrors(port)) out.push(invalid(path, port, text));
  } else if (port !== 0) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    out.push(invalid(path, port, detail));
  }
}

export function validateServiceStatusUpdate(service: Readonly<Service>, old: Readonly<Service>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, service.metadata, old.metadata);
  const path = 'status.loadBalancer.ingress';
  const ingresses = service.status.loadBalancer.ingress ?? [];
  if (service.spec.type !== 'LoadBalancer' && ingresses.length > 0) {
    out.push(forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"));
    return out;
  }
  for (const [i, ingress] of ingresses.entries()) validateIngressPoint(out, `${path}[${i}]`, ingress);
  return out;
}

export function validateIngressPoint(
  out: FieldError[],
  path: string,
  { ip = '', hostname = '', ipMode }: { readonly ip?: string; readonly hostname?: string; readonly ipMode?: string },
): void {
  if (ip !== '') validateIp(out, `${path}.ip`, ip);
  if (ipMode === undefined) {
    if (ip !== '') out.push(required(`${path}.ipMode`, 'must be specified when `ip` is set'));
  } else if (ip === '') out.push(forbidden(`${path}.ipMode`, 'may not be specified when `ip` is not set'));
  else validateWord(out, `${path}.ipMode`, ipMode, ['Proxy', 'VIP']);
  validateHostname(out, `${path}.hostname`, hostname);
}

export function validateHostname(out: FieldError[], path: string, hostname: string): void {
  if (hostname === '') return;
  validateDnsSubdomain(out, path, hostname);
  if (isIp(hostname)) out.push(invalid(path, hostname, 'must be a DNS name, not an IP address'));
}
