import type { Service } from '@holdfast/api';
import { type FieldError, invalid, invalidObject, Verbatim } from '@holdfast/machinery';
import { addressNumber } from './ranges.ts';

export const isHeadless = ({ spec }: Readonly<Service>): boolean => spec.clusterIPs?.[0] === 'None';

/** Services of this cluster have IPv4 addresses; only a headless one without selector may speak of another family. */
export function settleFamilies(service: Service): void {
  const { spec } = service;
  if (spec.type === 'ExternalName') return;
  if (isHeadless(service) && Object.keys(spec.selector ?? {}).length === 0) return settleFreeFamilies(service);
  const problems: FieldError[] = [];
  if (spec.ipFamilyPolicy === 'RequireDualStack' || (spec.ipFamilies ?? []).length > 1) {
    const text = 'this cluster is not configured for dual-stack services';
    problems.push(invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy ?? '', text));
  }
  for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
    if (family !== 'IPv4') problems.push(invalid(`spec.ipFamilies[${i}]`, family, 'not configured on this cluster'));
  }
  for (const [i, ip] of (spec.clusterIPs ?? []).entries()) {
    if (ip !== 'None' && addressNumber(ip) === undefined) {
      const shown = new Verbatim(`[]string{${(spec.clusterIPs ?? []).map((each) => JSON.stringify(each)).join(', ')}}`);
      problems.push(invalid(`spec.clusterIPs[${i}]`, shown, 'IPv6 is not configured on this cluster'));
    }
  }
  if (problems.length > 0) throw invalidService(service, problems);
  spec.ipFamilyPolicy ??= 'SingleStack';
  if ((spec.ipFamilies ?? []).length === 0) spec.ipFamilies = ['IPv4'];
}

/** Its endpoints are written by hand and may be of both families. */
function settleFreeFamilies({ spec }: Service): void {
  spec.ipFamilyPolicy ??= (spec.ipFamilies ?? []).length === 1 ? 'SingleStack' : 'RequireDualStack';
  const [first = 'IPv4'] = spec.ipFamilies ?? [];
  const second = first === 'IPv4' ? 'IPv6' : 'IPv4';
  spec.ipFamilies = spec.ipFamilyPolicy === 'SingleStack' ? [first] : [first, second];
}

export const invalidService = ({ metadata }: Readonly<Service>, problems: readonly FieldError[]): Error =>
  invalidObject({ group: '', kind: 'Service', name: metadata.name ?? '' }, problems);
