import { duplicate, type FieldError, invalid, required } from '@holdfast/machinery';
import type { Service } from '../../generated/types.ts';
import { validateIp, validateWord } from '../../validation/check.ts';
import { goStrings } from '../../validation/go-text.ts';
import { isIpv6, parseIp } from '../../validation/ip.ts';

const IPS = 'spec.clusterIPs';
const FAMILIES = 'spec.ipFamilies';
const POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

export const isHeadless = ({ spec }: Readonly<Service>): boolean =>
  spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === 'None';

/** Returns the errors in the addresses and families of a service. */
export function clusterIpErrors(service: Readonly<Service>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateClusterIps(out, service);
  return out;
}

export function validateClusterIps(out: FieldError[], service: Readonly<Service>): void {
  const { spec } = service;
  if (spec.type === 'ExternalName') return;
  const ips = spec.clusterIPs ?? [];
  validateFirst(out, spec.clusterIP ?? '', ips);
  const seen = new Set<string>();
  for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
    validateWord(out, `${FAMILIES}[${i}]`, family, ['IPv4', 'IPv6']);
    if (seen.has(family)) out.push(duplicate(`${FAMILIES}[${i}]`, family));
    seen.add(family);
  }
  validateWord(out, 'spec.ipFamilyPolicy', spec.ipFamilyPolicy, POLICIES);
  const readable = validateAddresses(out, ips);
  if (ips.length > 2) out.push(invalid(IPS, goStrings(ips), 'may only hold up to 2 values'));
  if (!readable) return;
  if (ips.length > 1 && new Set(ips.map((ip) => parseIp(ip)?.family)).size < 2) {
    out.push(invalid(IPS, goStrings(ips), 'may specify no more than one IP for each IP family'));
  }
  if (!isHeadless(service)) validateFamilies(out, ips, spec.ipFamilies ?? []);
}

function validateFirst(out: FieldError[], first: string, ips: readonly string[]): void {
  if (first === '') {
    if (ips.length > 0) out.push(invalid(IPS, goStrings(ips), 'must be empty when `clusterIP` is not specified'));
  } else if (ips.length === 0) out.push(required(IPS));
  else if (ips[0] !== first) out.push(invalid(IPS, goStrings(ips), 'first value must match `clusterIP`'));
}

/** Returns whether all are addresses, so that further checks make sense. */
function validateAddresses(out: FieldError[], ips: readonly string[]): boolean {
  let readable = true;
  for (const [i, ip] of ips.entries()) {
    if (i === 0 && ip === 'None') {
      if (ips.length === 1) continue;
      out.push(invalid(IPS, goStrings(ips), "'None' must be the first and only value"));
      readable = false;
    } else if (!validateIp(out, `${IPS}[${i}]`, ip)) readable = false;
  }
  return readable;
}

function validateFamilies(out: FieldError[], ips: readonly string[], families: readonly string[]): void {
  for (const [i, ip] of ips.entries()) {
    const family = families[i];
    if (family === undefined) return;
    if ((family === 'IPv4' && isIpv6(ip)) || (family === 'IPv6' && !isIpv6(ip))) {
      out.push(invalid(`${IPS}[${i}]`, ip, `expected an ${family} value as indicated by \`ipFamilies[${i}]\``));
    }
  }
}

const ONCE_SET = 'may not change once set';

/** A secondary address may be added and removed. The primary one is immutable while the service has addresses. */
export function validateClusterIpChange(out: FieldError[], service: Readonly<Service>, old: Readonly<Service>): void {
  if (service.spec.type === 'ExternalName' || old.spec.type === 'ExternalName') return;
  if (isHeadless(old) && isHeadless(service)) return;
  const ips = service.spec.clusterIPs ?? [];
  const before = old.spec.clusterIPs ?? [];
  const shown = goStrings(service.spec.clusterIPs);
  if (before.length === ips.length) {
    for (const [i, ip] of before.entries()) if (ip !== ips[i]) out.push(invalid(`${IPS}[${i}]`, shown, ONCE_SET));
    return;
  }
  if (ips.length === 0) out.push(invalid(`${IPS}[0]`, shown, 'primary clusterIP can not be unset'));
  else if (before.length > 0 && ips[0] !== before[0]) out.push(invalid(`${IPS}[0]`, shown, ONCE_SET));
  if (before.length > ips.length && ips.length === 1) validateSingleStack(out, service, 'clusterIP');
}

export function validateFamilyChange(out: FieldError[], service: Readonly<Service>, old: Readonly<Service>): void {
  if (service.spec.type === 'ExternalName' || old.spec.type === 'ExternalName') return;
  if (isHeadless(old) || isHeadless(service)) return;
  const families = service.spec.ipFamilies ?? [];
  const before = old.spec.ipFamilies ?? [];
  const shown = goStrings(service.spec.ipFamilies, 'core.IPFamily');
  if (before.length === families.length) {
    for (const [i, family] of before.entries()) {
      if (family !== families[i]) out.push(invalid(`${FAMILIES}[0]`, shown, ONCE_SET));
    }
    return;
  }
  if (before.length > families.length && (service.spec.clusterIPs ?? []).length === 0) {
    out.push(invalid(`${FAMILIES}[0]`, shown, 'primary ipFamily can not be unset'));
  }
  if (before.length > 0 && families.length > 0 && families[0] !== before[0]) {
    out.push(invalid(`${FAMILIES}[0]`, goStrings(service.spec.clusterIPs), ONCE_SET));
  }
  if (before.length > families.length && families.length === 1) validateSingleStack(out, service, 'ipFamily');
}

function validateSingleStack(out: FieldError[], { spec }: Readonly<Service>, released: string): void {
  if (spec.ipFamilyPolicy === 'SingleStack') return;
  const detail = `must be set to 'SingleStack' when releasing the secondary ${released}`;
  out.push(invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, detail));
}
