import { clusterIpErrors, type Service } from '@holdfast/api';
import { type FieldError, invalid, invalidObject, Verbatim } from '@holdfast/machinery';
import { addressNumber } from './ranges.ts';

type Spec = Service['spec'];

/** The family of this cluster's addresses. */
const FAMILY = 'IPv4';
const OTHER_FAMILY = 'IPv6';
const POLICY = 'spec.ipFamilyPolicy';
const WHEN_SEVERAL = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";

export const isHeadless = ({ spec }: Readonly<Service>): boolean => spec.clusterIPs?.[0] === 'None';

/** Its endpoints are written by hand and may be of both families, whatever the cluster has. */
const isFree = (service: Readonly<Service>): boolean =>
  isHeadless(service) && Object.keys(service.spec.selector ?? {}).length === 0;

/** Completes the IP families; errors in them precede all other errors of the service. */
export function settleFamilies(service: Service, old: Readonly<Service> | undefined): void {
  const { spec } = service;
  if (spec.type === 'ExternalName' || staysPreferred(spec, old?.spec)) return;
  spec.ipFamilyPolicy ??= old?.spec.ipFamilyPolicy ?? (isFree(service) ? 'RequireDualStack' : 'SingleStack');
  refuse(service, clusterIpErrors(service));
  const [first, second] = spec.ipFamilies ?? [];
  const givesUpSecond = spec.ipFamilyPolicy === 'SingleStack' && second !== undefined && sameFamilies(spec, old?.spec);
  if (givesUpSecond && first !== undefined) spec.ipFamilies = [first];
  refuse(service, [...policyErrors(spec, old?.spec), ...addressErrors(spec)]);
  if (isFree(service)) {
    settleFreeFamilies(spec);
    return;
  }
  refuse(service, clusterErrors(spec));
  if ((spec.ipFamilies ?? []).length === 0) spec.ipFamilies = [FAMILY];
}

/** A service that would like two families neither gets nor loses one by the way. */
function staysPreferred(spec: Readonly<Spec>, old: Readonly<Spec> | undefined): boolean {
  return (
    old !== undefined &&
    old.type === spec.type &&
    spec.ipFamilyPolicy === 'PreferDualStack' &&
    old.ipFamilyPolicy === 'PreferDualStack' &&
    (old.clusterIPs ?? []).join() === (spec.clusterIPs ?? []).join() &&
    sameFamilies(spec, old)
  );
}

const sameFamilies = ({ ipFamilies = [] }: Readonly<Spec>, old: Readonly<Spec> | undefined): boolean =>
  old !== undefined && (old.ipFamilies ?? []).join() === ipFamilies.join();

function policyErrors(spec: Readonly<Spec>, old: Readonly<Spec> | undefined): readonly FieldError[] {
  const { ipFamilyPolicy, ipFamilies = [], clusterIPs = [] } = spec;
  const said: string[] = [];
  if (ipFamilyPolicy === 'SingleStack') {
    if (clusterIPs.length === 2) said.push(`${WHEN_SEVERAL} cluster IPs are specified`);
    if (ipFamilies.length === 2) said.push(`${WHEN_SEVERAL} IP families are specified`);
  } else if (ipFamilies.length > 0 && ipFamilies.length < (old?.ipFamilies ?? []).length) {
    said.push("must be 'SingleStack' to release the secondary IP family");
  }
  return said.map((text) => invalid(POLICY, ipFamilyPolicy, text));
}

/** An address determines its family when the client does not. */
function addressErrors(spec: Spec): readonly FieldError[] {
  const errors: FieldError[] = [];
  const { clusterIPs = [], ipFamilies = [] } = spec;
  for (const [i, ip] of clusterIPs.entries()) {
    if (ip === 'None') break;
    if (i < ipFamilies.length) continue;
    if (addressNumber(ip) !== undefined) spec.ipFamilies = [...(spec.ipFamilies ?? []), FAMILY];
    else {
      errors.push(invalid(`spec.clusterIPs[${i}]`, shownAddresses(spec), 'IPv6 is not configured on this cluster'));
    }
  }
  return errors;
}

function settleFreeFamilies(spec: Spec): void {
  const [first = FAMILY, second] = spec.ipFamilies ?? [];
  const other = first === FAMILY ? OTHER_FAMILY : FAMILY;
  if (second === undefined) spec.ipFamilies = spec.ipFamilyPolicy === 'SingleStack' ? [first] : [first, other];
}

function clusterErrors({ ipFamilyPolicy, ipFamilies = [] }: Readonly<Spec>): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (ipFamilyPolicy === 'RequireDualStack') {
    errors.push(invalid(POLICY, ipFamilyPolicy, 'this cluster is not configured for dual-stack services'));
  }
  for (const [i, family] of ipFamilies.entries()) {
    if (family !== FAMILY) errors.push(invalid(`spec.ipFamilies[${i}]`, family, 'not configured on this cluster'));
  }
  return errors;
}

export const shownAddresses = ({ clusterIPs = [] }: Readonly<Spec>): Verbatim =>
  new Verbatim(`[]string{${clusterIPs.map((ip) => JSON.stringify(ip)).join(', ')}}`);

function refuse(service: Readonly<Service>, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidService(service, errors);
}

export const invalidService = ({ metadata }: Readonly<Service>, problems: readonly FieldError[]): Error =>
  invalidObject({ group: '', kind: 'Service', name: metadata.name ?? '' }, problems);
