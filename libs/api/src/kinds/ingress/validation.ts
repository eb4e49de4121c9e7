import { type FieldError, invalid, notSupported, required, Verbatim } from '@holdfast/machinery';
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressSpec,
  TypedLocalObjectReference,
} from '../../generated/types.ts';
import { INGRESS_CLASS_ANNOTATION } from '../../semantics/well-known.ts';
import { validateDnsSubdomain, validateIp, validateRequiredText, validateText } from '../../validation/check.ts';
import {
  type Check,
  dns1035LabelErrors,
  dnsSubdomainErrors,
  portNameErrors,
  portNumberErrors,
  wildcardSubdomainErrors,
} from '../../validation/formats.ts';
import { isIp } from '../../validation/ip.ts';
import { pathSegmentErrors } from '../../validation/rbac.ts';
import { checked, checkedUpdate } from '../checked.ts';
import { validateHostname } from '../service/validation.ts';

const META = { namespaced: true, name: dnsSubdomainErrors, wholeOnUpdate: true } as const;

export const ingressChecks = checked<Ingress>(META, (out, ingress, old) => {
  validateSpec(out, ingress.spec);
  const annotation = ingress.metadata.annotations?.[INGRESS_CLASS_ANNOTATION];
  const name = ingress.spec.ingressClassName;
  if (old === undefined && annotation !== undefined && name !== undefined && annotation !== name) {
    const detail = 'must match `ingressClassName` when both are specified';
    out.push(invalid(`annotations.${INGRESS_CLASS_ANNOTATION}`, annotation, detail));
  }
});

const goRules = (rules: IngressSpec['rules']): Verbatim =>
  new Verbatim(rules === undefined ? '[]networking.IngressRule(nil)' : '[]networking.IngressRule{}');

function validateSpec(out: FieldError[], spec: Readonly<IngressSpec>): void {
  const rules = spec.rules ?? [];
  if (rules.length === 0 && spec.defaultBackend === undefined) {
    out.push(invalid('spec', goRules(spec.rules), 'either `defaultBackend` or `rules` must be specified'));
  }
  if (spec.defaultBackend !== undefined) validateBackend(out, 'spec.defaultBackend', spec.defaultBackend);
  for (const [i, rule] of rules.entries()) {
    const path = `spec.rules[${i}]`;
    if (rule.host) validateHost(out, `${path}.host`, rule.host);
    if (rule.http === undefined) continue;
    const paths = rule.http.paths ?? [];
    if (paths.length === 0) out.push(required(`${path}.http.paths`));
    for (const [j, httpPath] of paths.entries()) validatePath(out, `${path}.http.paths[${j}]`, httpPath);
  }
  for (const [i, tls] of (spec.tls ?? []).entries()) {
    for (const [j, host] of (tls.hosts ?? []).entries()) {
      validateText(out, `spec.tls[${i}].hosts[${j}]`, host, hostCheck(host));
    }
    if (tls.secretName) validateDnsSubdomain(out, `spec.tls[${i}].secretName`, tls.secretName);
  }
  if (spec.ingressClassName !== undefined) validateDnsSubdomain(out, 'spec.ingressClassName', spec.ingressClassName);
}

const hostCheck = (host: string): Check => (host.includes('*') ? wildcardSubdomainErrors : dnsSubdomainErrors);

function validateHost(out: FieldError[], path: string, host: string): void {
  if (isIp(host)) out.push(invalid(path, host, 'must be a DNS name, not an IP address'));
  validateText(out, path, host, hostCheck(host));
}

const FORBIDDEN_SEQUENCES = ['//', '/./', '/../', '%2f', '%2F'];
const FORBIDDEN_ENDS = ['/..', '/.'];

function validatePath(out: FieldError[], path: string, httpPath: Readonly<HTTPIngressPath>): void {
  const type: string | undefined = httpPath.pathType;
  const text = httpPath.path ?? '';
  const at = `${path}.path`;
  if (type === undefined) {
    out.push(required(`${path}.pathType`, 'pathType must be specified'));
    return;
  }
  if (type === 'Exact' || type === 'Prefix') {
    if (!text.startsWith('/')) out.push(invalid(at, text, 'must be an absolute path'));
    for (const part of FORBIDDEN_SEQUENCES) {
      if (text.includes(part)) out.push(invalid(at, text, `must not contain '${part}'`));
    }
    for (const end of FORBIDDEN_ENDS) if (text.endsWith(end)) out.push(invalid(at, text, `cannot end with '${end}'`));
  } else if (type === 'ImplementationSpecific') {
    if (text !== '' && !text.startsWith('/')) out.push(invalid(at, text, 'must be an absolute path'));
  } else out.push(notSupported(`${path}.pathType`, type, ['Exact', 'ImplementationSpecific', 'Prefix']));
  validateBackend(out, `${path}.backend`, httpPath.backend ?? {});
}

function validateBackend(out: FieldError[], path: string, backend: Readonly<IngressBackend>): void {
  const { resource, service } = backend;
  if (resource !== undefined && service !== undefined) {
    out.push(invalid(path, '', 'cannot set both resource and service backends'));
  } else if (resource !== undefined) validateObjectRef(out, `${path}.resource`, resource);
  else if (service !== undefined) validateServiceBackend(out, path, service);
  else out.push(invalid(path, '', 'resource or service backend is required'));
}

function validateServiceBackend(
  out: FieldError[],
  path: string,
  service: NonNullable<Readonly<IngressBackend>['service']>,
): void {
  if (validateRequiredText(out, `${path}.service.name`, service.name)) {
    validateText(out, `${path}.service.name`, service.name, dns1035LabelErrors);
  }
  const { name = '', number = 0 } = service.port ?? {};
  if (name !== '' && number !== 0) out.push(invalid(path, '', 'cannot set both port name & port number'));
  else if (name !== '') validateText(out, `${path}.service.port.name`, name, portNameErrors);
  else if (number !== 0) {
    for (const text of portNumberErrors(number)) out.push(invalid(`${path}.service.port.number`, number, text));
  } else out.push(required(path, 'port name or number is required'));
}

export function validateObjectRef(out: FieldError[], path: string, ref: Readonly<TypedLocalObjectReference>): void {
  if (ref.apiGroup !== undefined) validateDnsSubdomain(out, `${path}.apiGroup`, ref.apiGroup);
  for (const key of ['kind', 'name'] as const) {
    if (validateRequiredText(out, `${path}.${key}`, ref[key])) {
      validateText(out, `${path}.${key}`, ref[key], pathSegmentErrors);
    }
  }
}

export const validateIngressStatusUpdate = checkedUpdate<Ingress>((out, { status }) => {
  for (const [i, point] of (status.loadBalancer.ingress ?? []).entries()) {
    const path = `status.loadBalancer.ingress[${i}]`;
    if (point.ip) validateIp(out, `${path}.ip`, point.ip);
    validateHostname(out, `${path}.hostname`, point.hostname ?? '');
  }
});
