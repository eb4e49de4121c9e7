import type { Service } from '../../generated/types.ts';
import { canonicalIp } from '../../validation/ip.ts';

const HINTS = 'service.kubernetes.io/topology-aware-hints';

export function serviceWarnings({ metadata, spec }: Readonly<Service>): readonly string[] {
  const out: string[] = [];
  const { clusterIP, clusterIPs = [], externalIPs = [], loadBalancerIP = '' } = spec;
  const isExternal = spec.type === 'ExternalName';
  if (metadata.annotations?.[HINTS] !== undefined) {
    out.push(`annotation ${HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead`);
  }
  if (clusterIP !== 'None') for (const [i, ip] of clusterIPs.entries()) warnOfIp(out, `spec.clusterIPs[${i}]`, ip);
  if (spec.type === 'ClusterIP' && clusterIP === 'None') warnOfHeadless(out, spec);
  for (const [i, ip] of externalIPs.entries()) warnOfIp(out, `spec.externalIPs[${i}]`, ip);
  if (loadBalancerIP !== '') warnOfIp(out, 'spec.loadBalancerIP', loadBalancerIP);
  if (isExternal && externalIPs.length > 0) out.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!isExternal && (spec.externalName ?? '') !== '') {
    out.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  return out;
}

function warnOfHeadless(out: string[], spec: Readonly<Service>['spec']): void {
  const ignored = (field: string): void => void out.push(`${field} is ignored for headless services`);
  if ((spec.loadBalancerIP ?? '') !== '') ignored('spec.loadBalancerIP');
  if ((spec.externalIPs ?? []).length > 0) ignored('spec.externalIPs');
  if (spec.sessionAffinity !== 'None') ignored('spec.SessionAffinity');
}

function warnOfIp(out: string[], path: string, text: string): void {
  const canonical = canonicalIp(text);
  if (canonical === undefined || canonical === text) return;
  const shown = JSON.stringify(text);
  out.push(
    canonical.includes(':')
      ? `${path}: IPv6 address ${shown} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`
      : `${path}: non-standard IP address ${shown} will be considered invalid in a future Kubernetes release: use ${JSON.stringify(canonical)}`,
  );
}
