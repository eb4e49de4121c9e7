import type { Container, EnvVar, Pod } from '@holdfast/api';
import { milliValue, parseQuantity, quantityOfMillis, value as unitsOf } from '@holdfast/machinery';
import { expand } from './expand.ts';
import { allContainers } from './records.ts';

/** The pod cannot be configured as it asks (LIFE-16 `CreateContainerConfigError`); it may become possible later. */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}

/** What containers may refer to, gathered before the (pure) environment is built. */
export interface EnvironmentSources {
  readonly pod: Pod;
  readonly podIp: string;
  /** Of the other address family. */
  readonly morePodIps?: readonly string[];
  readonly hostIp: string;
  /** Node allocatable: stands in for limits that are not set. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** Variables of services; everything the container names itself goes before them. */
  readonly links?: Readonly<Record<string, string>>;
  /** Keys `ConfigMap/name` and `Secret/name` of what exists, decoded. */
  readonly data: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** `ConfigMap/name` and `Secret/name` of everything the container's environment refers to. */
export function environmentReferences(container: Container): readonly string[] {
  const names = new Set<string>();
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef?.name !== undefined) names.add(`ConfigMap/${configMapRef.name}`);
    if (secretRef?.name !== undefined) names.add(`Secret/${secretRef.name}`);
  }
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.configMapKeyRef?.name !== undefined) names.add(`ConfigMap/${valueFrom.configMapKeyRef.name}`);
    if (valueFrom?.secretKeyRef?.name !== undefined) names.add(`Secret/${valueFrom.secretKeyRef.name}`);
  }
  return [...names];
}

/** Variables of one container, in order: a later one may refer to an earlier one. */
export function buildEnvironment(container: Container, sources: EnvironmentSources): Record<string, string> {
  const environment: Record<string, string> = { ...sources.links };
  for (const source of container.envFrom ?? []) {
    const reference = source.configMapRef ?? source.secretRef;
    const kind = source.configMapRef === undefined ? 'Secret' : 'ConfigMap';
    if (reference?.name === undefined) continue;
    const data = lookUp(sources, kind, reference.name, reference.optional === true);
    for (const [key, text] of Object.entries(data ?? {})) environment[`${source.prefix ?? ''}${key}`] = text;
  }
  for (const variable of container.env ?? []) {
    const text = valueOfVariable(variable, container, sources, environment);
    if (text !== undefined) environment[variable.name] = text;
  }
  return environment;
}

export function expandAll(texts: readonly string[], environment: Readonly<Record<string, string>>): string[] {
  return texts.map((text) => expand(text, (name) => environment[name]));
}

function valueOfVariable(
  variable: EnvVar,
  container: Container,
  sources: EnvironmentSources,
  environment: Readonly<Record<string, string>>,
): string | undefined {
  const from = variable.valueFrom;
  if (from === undefined) return expand(variable.value ?? '', (name) => environment[name]);
  if (from.fieldRef !== undefined) return podField(from.fieldRef.fieldPath, sources);
  if (from.configMapKeyRef !== undefined) return keyOf(sources, 'ConfigMap', from.configMapKeyRef);
  if (from.secretKeyRef !== undefined) return keyOf(sources, 'Secret', from.secretKeyRef);
  if (from.resourceFieldRef !== undefined) return resourceField(from.resourceFieldRef, container, sources);
  return undefined;
}

function lookUp(
  sources: EnvironmentSources,
  kind: 'ConfigMap' | 'Secret',
  name: string,
  optional: boolean,
): Readonly<Record<string, string>> | undefined {
  const data = sources.data.get(`${kind}/${name}`);
  if (data === undefined && !optional) throw new ContainerConfigError(`${kind.toLowerCase()} "${name}" not found`);
  return data;
}

function keyOf(
  sources: EnvironmentSources,
  kind: 'ConfigMap' | 'Secret',
  reference: { readonly key: string; readonly name?: string; readonly optional?: boolean },
): string | undefined {
  const { key, name = '', optional = false } = reference;
  const found = lookUp(sources, kind, name, optional)?.[key];
  if (found !== undefined || optional) return found;
  const { namespace = '' } = sources.pod.metadata;
  throw new ContainerConfigError(`couldn't find key ${key} in ${kind} ${namespace}/${name}`);
}

export function podField(
  path: string,
  { pod, podIp, morePodIps = [], hostIp }: Omit<EnvironmentSources, 'data'>,
): string {
  const { metadata, spec } = pod;
  const keyed = /^metadata\.(labels|annotations)\['([^']*)'\]$/.exec(path);
  if (keyed !== null) return (keyed[1] === 'labels' ? metadata.labels : metadata.annotations)?.[keyed[2] ?? ''] ?? '';
  switch (path) {
    case 'metadata.name':
      return metadata.name ?? '';
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    case 'spec.nodeName':
    // Its name before v1, which clients may still use.
    case 'spec.host':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
    case 'status.hostIPs':
      return hostIp;
    case 'status.podIP':
      return podIp;
    case 'status.podIPs':
      return [podIp, ...morePodIps].join(',');
    default:
      throw new ContainerConfigError(`unsupported fieldPath: ${path}`);
  }
}

/** A node has huge pages only for who asks for them. */
const FALLS_BACK: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

/** Divided by the divisor and rounded up; an unset limit is what the node can give, an unset request is 0. */
export function resourceField(
  reference: { readonly resource: string; readonly divisor?: string; readonly containerName?: string },
  container: Container,
  { pod, allocatable }: Omit<EnvironmentSources, 'data'>,
): string {
  const { containerName = '' } = reference;
  const all = allContainers(pod);
  const subject = containerName === '' ? container : all.find(({ name }) => name === containerName);
  if (subject === undefined) throw new ContainerConfigError(`container ${containerName} not found`);
  const [kind = '', ...rest] = reference.resource.split('.');
  const name = rest.join('.');
  const { limits = {}, requests = {} } = subject.resources;
  const unset = FALLS_BACK.has(name) ? allocatable[name] : undefined;
  const text = kind === 'limits' ? (limits[name] ?? unset) : requests[name];
  const divisor = reference.divisor === undefined || reference.divisor === '0' ? '1' : reference.divisor;
  if (name === 'cpu') {
    const millis = milliValue(parseQuantity(text ?? '0')) / milliValue(parseQuantity(divisor));
    return String(unitsOf(quantityOfMillis(Math.ceil(millis) * 1000)));
  }
  return String(Math.ceil(unitsOf(parseQuantity(text ?? '0')) / unitsOf(parseQuantity(divisor))));
}
