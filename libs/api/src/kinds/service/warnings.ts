import type { Service } from '../../generated/types.ts';
import { TOPOLOGY_HINTS_ANNOTATION } from '../../semantics/well-known.ts';
import { canonicalIp } from '../../validation/ip.ts';

export function serviceWarnings({ metadata, spec }: Readonly<Service>): readonly string[] {
  const out: string[] = [];
  const { clusterIP, clusterIPs = [], externalIPs = [], loadBalancerIP = '' } = spec;
  const isExternal = spec.type === 'ExternalName';
  if (metadata.annotations?.[TOPOLOGY_HINTS_ANNOTATION] !== undefined) {
    out.push(
      `annotation ${TOPOLOGY_HINTS_ANNOTATION} is deprecated, please use service.kubernetes.io/topology-mode instead`,
    );
  }
  if (clusterIP && clusterIP !== 'None') {
    for (const [i, ip] of clusterIPs.entries()) warnOfIp(out, `spec.clusterIPs[${i}]`, ip);
  }
  for (const [i, ip] of externalIPs.entries()) warnOfIp(out, `spec.externalIPs[${i}]`, ip);
  if (loadBalancerIP !== '') warnOfIp(out, 'spec.loadBalancerIP', loadBalancerIP);
  for (const [i, range] of (spec.loadBalancerSourceRanges ?? []).entries()) {
    warnOfRange(out, `spec.loadBalancerSourceRanges[${i}]`, range);
  }
  if (isExternal && externalIPs.length > 0) out.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!isExternal && (spec.externalName ?? '') !== '') {
    out.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  return out;
}

function warnOfIp(out: string[], path: string, text: string): void {
  const problem = addressProblem(text);
  if (problem !== undefined) {
    out.push(`${path}: IP address was accepted, but will be invalid in a future Kubernetes release: ${problem}`);
  } else if (isOtherThanCanonical(text)) warnOfForm(out, path, 'address', [text, canonicalIp(text) ?? '']);
}

function warnOfRange(out: string[], path: string, text: string): void {
  const slash = text.lastIndexOf('/');
  const address = text.slice(0, Math.max(slash, 0));
  const problem = addressProblem(address);
  if (problem !== undefined) {
    const said = `netip.ParsePrefix(${JSON.stringify(text)}): ${problem}`;
    out.push(`${path}: IP prefix was accepted, but will be invalid in a future Kubernetes release: ${said}`);
  } else if (isOtherThanCanonical(address)) {
    warnOfForm(out, path, 'prefix', [text, `${canonicalIp(address)}${text.slice(slash)}`]);
  }
}

function warnOfForm(out: string[], path: string, what: string, [text, canonical]: readonly [string, string]): void {
  const said = `is not in RFC 5952 canonical format (${JSON.stringify(canonical)}), which may cause controller apply-loops`;
  out.push(`${path}: IPv6 ${what} ${JSON.stringify(text)} ${said}`);
}

/** Returns the problem that a strict address parser finds in an address that validation accepted. */
function addressProblem(text: string): string | undefined {
  const said = `ParseAddr(${JSON.stringify(text)})`;
  if (text.trim() !== text) return `${said}: unexpected character (at ${JSON.stringify(text)})`;
  return /(^|[.:])0\d+(\.|$)/.test(text) && text.includes('.')
    ? `${said}: IPv4 field has octet with leading zero`
    : undefined;
}

/** IPv4-mapped IPv6 addresses get no warning. */
function isOtherThanCanonical(text: string): boolean {
  const canonical = text.includes(':') ? canonicalIp(text) : undefined;
  return canonical !== undefined && canonical.includes(':') && canonical !== text;
}
