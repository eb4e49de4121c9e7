import { canonicalQuantity, type FieldError, invalid, notSupported, required } from '@holdfast/machinery';
import type {
  ConfigMapKeySelector,
  EnvFromSource,
  EnvVar,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../../generated/types.ts';
import { validateQualifiedName, validateRequiredText, validateText } from '../check.ts';
import { configMapKeyErrors, dnsSubdomainErrors, envVarNameErrors } from '../formats.ts';
import { maskedPrefix } from '../object-meta.ts';

export function validateEnvironment(out: FieldError[], path: string, variables: readonly EnvVar[]): void {
  for (const [i, variable] of variables.entries()) {
    const at = `${path}[${i}]`;
    if (validateRequiredText(out, `${at}.name`, variable.name)) {
      validateText(out, `${at}.name`, variable.name, envVarNameErrors);
    }
    validateValueFrom(out, `${at}.valueFrom`, variable);
  }
}

function validateValueFrom(out: FieldError[], path: string, { value, valueFrom }: Readonly<EnvVar>): void {
  if (valueFrom === undefined) return;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
  if (fieldRef !== undefined) validateFieldRef(out, `${path}.fieldRef`, fieldRef, ENV_FIELDS);
  if (resourceFieldRef !== undefined) {
    validateResourceFieldRef(out, `${path}.resourceFieldRef`, resourceFieldRef, false);
  }
  if (configMapKeyRef !== undefined) validateKeyRef(out, `${path}.configMapKeyRef`, configMapKeyRef);
  if (secretKeyRef !== undefined) validateKeyRef(out, `${path}.secretKeyRef`, secretKeyRef);
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef].filter((s) => s !== undefined).length;
  if (sources === 0) {
    const names = 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`';
    out.push(invalid(path, '', names));
  } else if (value !== undefined && value !== '') {
    out.push(invalid(path, '', 'may not be specified when `value` is not empty'));
  } else if (sources > 1) {
    out.push(invalid(path, '', 'may not have more than one field specified at a time'));
  }
}

export const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

export const VOLUME_FIELDS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

/** All field paths that exist, before the check whether they are allowed here. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...ENV_FIELDS,
  ...VOLUME_FIELDS,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
]);

/** The name of `spec.nodeName` before v1. */
const OLD_NODE_FIELD = 'spec.host';
const MAPS = ['metadata.annotations', 'metadata.labels'];

export function validateFieldRef(
  out: FieldError[],
  path: string,
  ref: Readonly<ObjectFieldSelector>,
  supported: readonly string[],
): void {
  if (!validateRequiredText(out, `${path}.apiVersion`, ref.apiVersion)) return;
  if (!validateRequiredText(out, `${path}.fieldPath`, ref.fieldPath)) return;
  const subscript = /^(.+?)\['(.*)'\]$/s.exec(ref.fieldPath);
  const field = subscript?.[1] ?? (ref.fieldPath === OLD_NODE_FIELD ? 'spec.nodeName' : ref.fieldPath);
  const problem = fieldPathProblem(ref, field, subscript !== null);
  if (problem !== undefined) {
    out.push(invalid(`${path}.fieldPath`, ref.fieldPath, `error converting fieldPath: ${problem}`));
  } else if (subscript !== null) {
    const key = subscript[2] ?? '';
    validateQualifiedName(out, path, field === 'metadata.annotations' ? key.toLowerCase() : key);
  } else if (!supported.includes(field)) out.push(notSupported(`${path}.fieldPath`, field, supported));
}

/** Returns why a path is invalid everywhere. */
function fieldPathProblem(
  { apiVersion = '', fieldPath }: Readonly<ObjectFieldSelector>,
  field: string,
  hasSubscript: boolean,
): string | undefined {
  if (apiVersion !== 'v1') return `unsupported pod version: ${apiVersion}`;
  if (hasSubscript) return MAPS.includes(field) ? undefined : `field label does not support subscript: ${fieldPath}`;
  return KNOWN_FIELDS.has(field) ? undefined : `field label not supported: ${fieldPath}`;
}

const RESOURCE_FIELDS = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

const isHugePagesField = (field: string): boolean => /^(requests|limits)\.hugepages-/.test(field);

export function validateResourceFieldRef(
  out: FieldError[],
  path: string,
  ref: Readonly<ResourceFieldSelector>,
  inVolume: boolean,
): void {
  const resource = ref.resource ?? '';
  if (inVolume && !ref.containerName) out.push(required(`${path}.containerName`));
  else if (resource === '') out.push(required(`${path}.resource`));
  else if (!RESOURCE_FIELDS.includes(resource) && !isHugePagesField(resource)) {
    out.push(notSupported(`${path}.resource`, resource, RESOURCE_FIELDS));
  }
  validateDivisor(out, path, resource, canonicalQuantity(ref.divisor ?? '0'));
}

const BYTE_DIVISORS = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

function validateDivisor(out: FieldError[], path: string, resource: string, divisor: string): void {
  if (divisor === '0') return;
  const unit = divisorUnit(resource);
  if (unit === undefined || unit.values.includes(divisor)) return;
  out.push(
    invalid(
      `${path}.divisor`,
      resource,
      `only divisor's values ${unit.text} are supported with the ${unit.name} resource`,
    ),
  );
}

function divisorUnit(resource: string): { values: readonly string[]; text: string; name: string } | undefined {
  const bytes = { values: BYTE_DIVISORS, text: BYTE_DIVISORS.join(', ') };
  if (isHugePagesField(resource)) return { ...bytes, name: 'hugepages' };
  if (!RESOURCE_FIELDS.includes(resource)) return undefined;
  if (resource.endsWith('.cpu')) return { values: ['1m', '1'], text: '1m and 1', name: 'cpu' };
  return { ...bytes, name: resource.endsWith('.memory') ? 'memory' : 'local ephemeral storage' };
}

function validateKeyRef(out: FieldError[], path: string, ref: Readonly<ConfigMapKeySelector>): void {
  validateText(out, `${path}.name`, ref.name ?? '', dnsSubdomainErrors);
  if (validateRequiredText(out, `${path}.key`, ref.key)) validateText(out, `${path}.key`, ref.key, configMapKeyErrors);
}

export function validateEnvironmentSources(out: FieldError[], path: string, sources: readonly EnvFromSource[]): void {
  for (const [i, source] of sources.entries()) {
    const at = `${path}[${i}]`;
    if (source.prefix) validateText(out, `${at}.prefix`, source.prefix, envVarNameErrors);
    const given = (['configMapRef', 'secretRef'] as const).filter((key) => source[key] !== undefined);
    for (const key of given) {
      // Names of whole sources are checked like name prefixes, which may end in a dash.
      const name = source[key]?.name ?? '';
      if (validateRequiredText(out, `${at}.${key}.name`, name)) {
        for (const text of dnsSubdomainErrors(maskedPrefix(name))) out.push(invalid(`${at}.${key}.name`, name, text));
      }
    }
    if (given.length === 0) out.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    if (given.length > 1) out.push(invalid(path, '', 'may not have more than one field specified at a time'));
  }
}
