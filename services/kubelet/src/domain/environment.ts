import type { Container, EnvVar, Pod } from '@holdfast/api';
import { milliValue, ownValue, parseQuantity, quantityOfMillis, value as unitsOf } from '@holdfast/machinery';
import { ENVIRONMENT_MAX_BYTES, EXPANDED_MAX_BYTES } from '../limits.ts';
import { expand } from './expand.ts';
import { allContainers } from './records.ts';

/** The pod cannot be configured as it asks (LIFE-16 `CreateContainerConfigError`); it may become possible later. */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}

/** Values that containers may refer to, collected before the (pure) environment is composed. */
export interface EnvironmentSources {
  readonly pod: Pod;
  readonly podIp: string;
  /** Addresses of the other address family. */
  readonly morePodIps?: readonly string[];
  readonly hostIp: string;
  /** Node allocatable: the default of limits that are not set. */
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

/**
 * Variables of one container, in order: a later one may refer to an earlier one. Each and all together are bounded: a few
 * hundred bytes of references to references would otherwise fill the memory of this node.
 */
export function buildEnvironment(container: Container, sources: EnvironmentSources): Record<string, string> {
  const environment = new Environment(sources.links);
  for (const source of container.envFrom ?? []) {
    const reference = source.configMapRef ?? source.secretRef;
    const kind = source.configMapRef === undefined ? 'Secret' : 'ConfigMap';
    if (reference?.name === undefined) continue;
    const data = lookUp(sources, kind, reference.name, reference.optional === true);
    for (const [key, text] of Object.entries(data ?? {})) environment.set(`${source.prefix ?? ''}${key}`, text);
  }
  for (const variable of container.env ?? []) {
    const text = valueOfVariable(variable, container, sources, environment);
    if (text !== undefined) environment.set(variable.name, text);
  }
  return environment.all();
}

class Environment {
  readonly #values: Map<string, string>;
  /** Without those of services, which nobody chose for this pod. */
  #bytes = 0;

  constructor(links: Readonly<Record<string, string>> = {}) {
    this.#values = new Map(Object.entries(links));
  }

  get(name: string): string | undefined {
    return this.#values.get(name);
  }

  set(name: string, text: string): void {
    if (Buffer.byteLength(text) > EXPANDED_MAX_BYTES) throw tooLong(`environment variable ${name}`);
    this.#bytes += Buffer.byteLength(name) + Buffer.byteLength(text);
    if (this.#bytes > ENVIRONMENT_MAX_BYTES) throw tooLongTogether('the environment variables');
    this.#values.set(name, text);
  }

  /** A variable may be called `__proto__`. */
  all(): Record<string, string> {
    return Object.fromEntries(this.#values);
  }
}

/** A command or its arguments. */
export function expandAll(texts: readonly string[], environment: Readonly<Record<string, string>>): string[] {
  let bytes = 0;
  return texts.map((text) => {
    const expanded = expand(text, (name) => ownValue(environment, name), EXPANDED_MAX_BYTES);
    if (expanded === undefined) throw tooLong('a word of the command or its arguments');
    bytes += Buffer.byteLength(expanded);
    if (bytes > ENVIRONMENT_MAX_BYTES) throw tooLongTogether('the words of the command or its arguments');
    return expanded;
  });
}

/** Kubernetes expands commands of probes by the variables that the container names with a value, not by those of other sources. */
export function expandByStaticValues(command: readonly string[], { env = [] }: Container): string[] {
  return expandAll(command, Object.fromEntries(env.map(({ name, value = '' }) => [name, value])));
}

/** `subPathExpr` of a mount: a relative path inside of the volume, of variables that exist. */
export function expandSubPath(expression: string, environment: Readonly<Record<string, string>>): string {
  const valueOf = (name: string): string => {
    const text = ownValue(environment, name);
    if (text === undefined) throw new ContainerConfigError(`missing value for ${JSON.stringify(name)} in subPathExpr`);
    return text;
  };
  const path = expand(expression, valueOf, EXPANDED_MAX_BYTES);
  if (path === undefined) throw tooLong('a subPathExpr');
  if (path.startsWith('/'))
    throw new ContainerConfigError(`subPath ${JSON.stringify(path)} must not be an absolute path`);
  if (path.split('/').includes('..')) {
    throw new ContainerConfigError(`unable to provision subPath ${JSON.stringify(path)}: it must not contain '..'`);
  }
  return path;
}

const tooLong = (what: string): ContainerConfigError =>
  new ContainerConfigError(`${what} is longer than ${EXPANDED_MAX_BYTES} bytes when its references are expanded`);

const tooLongTogether = (what: string): ContainerConfigError =>
  new ContainerConfigError(
    `${what} are longer than ${ENVIRONMENT_MAX_BYTES} bytes together when references are expanded`,
  );

function valueOfVariable(
  variable: EnvVar,
  container: Container,
  sources: EnvironmentSources,
  environment: Environment,
): string | undefined {
  const from = variable.valueFrom;
  if (from === undefined) {
    const text = expand(variable.value ?? '', (name) => environment.get(name), EXPANDED_MAX_BYTES);
    if (text === undefined) throw tooLong(`environment variable ${variable.name}`);
    return text;
  }
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
  const found = ownValue(lookUp(sources, kind, name, optional), key);
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
  if (keyed !== null)
    return ownValue(keyed[1] === 'labels' ? metadata.labels : metadata.annotations, keyed[2] ?? '') ?? '';
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
  const unset = FALLS_BACK.has(name) ? ownValue(allocatable, name) : undefined;
  const text = kind === 'limits' ? (ownValue(limits, name) ?? unset) : ownValue(requests, name);
  const divisor = reference.divisor === undefined || reference.divisor === '0' ? '1' : reference.divisor;
  if (name === 'cpu') {
    const millis = milliValue(parseQuantity(text ?? '0')) / milliValue(parseQuantity(divisor));
    return String(unitsOf(quantityOfMillis(Math.ceil(millis) * 1000)));
  }
  return String(Math.ceil(unitsOf(parseQuantity(text ?? '0')) / unitsOf(parseQuantity(divisor))));
}
