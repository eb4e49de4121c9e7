import { fieldErrorMessage, invalid, required } from '@holdfast/machinery';
import { parseDuration } from '@holdfast/platform';
import { EXTENDER_TIMEOUT_MS } from '../limits.ts';
import type { WireExtender, WireTls } from './wire.ts';

/** A service that takes part in decisions over HTTP. An empty verb = it does not take part there. */
export interface ExtenderConfig {
  /** Without a slash at the end. */
  readonly urlPrefix: string;
  readonly filterVerb: string;
  readonly preemptVerb: string;
  readonly prioritizeVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  readonly timeoutMs: number;
  /** It knows the nodes: names are enough for it. */
  readonly nodeCacheCapable: boolean;
  /** Only pods that ask for one of these concern it; empty = all pods. */
  readonly managedResources: ReadonlySet<string>;
  readonly ignoredByScheduler: ReadonlySet<string>;
  /** Its failure does not fail the decision. */
  readonly ignorable: boolean;
  readonly tls: WireTls | undefined;
}

export function decodeExtenders(extenders: readonly WireExtender[], errors: string[]): readonly ExtenderConfig[] {
  const binders = extenders.filter(({ bindVerb = '' }) => bindVerb !== '').length;
  if (binders > 1) {
    errors.push(
      fieldErrorMessage(
        invalid('extenders', `found ${binders} extenders implementing bind`, 'only one extender can implement bind'),
      ),
    );
  }
  const managed = extenders.flatMap(({ managedResources = [] }, i) =>
    managedResources.map(({ name = '' }, j) => ({ name, at: `extenders[${i}].managedResources[${j}].name` })),
  );
  for (const [k, { name, at }] of managed.entries()) {
    if (managed.findIndex((other) => other.name === name) === k) continue;
    errors.push(fieldErrorMessage(invalid(at, name, 'duplicate extender managed resource name')));
  }
  return extenders.map((extender, i) => decodeExtender(extender, `extenders[${i}]`, errors));
}

function decodeExtender(wire: WireExtender, path: string, errors: string[]): ExtenderConfig {
  const { urlPrefix = '', prioritizeVerb = '', weight = 0, managedResources = [], httpTimeout } = wire;
  const timeoutMs = httpTimeout === undefined ? EXTENDER_TIMEOUT_MS : parsePositiveDuration(httpTimeout);
  if (!isUrl(urlPrefix)) errors.push(fieldErrorMessage(required(`${path}.urlPrefix`, 'must be an http or https URL')));
  if (prioritizeVerb !== '' && weight <= 0) {
    errors.push(fieldErrorMessage(invalid(`${path}.weight`, weight, 'must have a positive weight applied to it')));
  }
  if (wire.enableHTTPS === true && urlPrefix.startsWith('http:')) {
    errors.push(fieldErrorMessage(invalid(`${path}.enableHTTPS`, true, 'the urlPrefix has to begin with https://')));
  }
  if (timeoutMs === undefined) {
    errors.push(
      fieldErrorMessage(invalid(`${path}.httpTimeout`, httpTimeout, 'must be a duration such as 500ms, 5s or 1m')),
    );
  }
  for (const [j, { name = '' }] of managedResources.entries()) {
    if (isExtendedName(name)) continue;
    const at = `${path}.managedResources[${j}].name`;
    errors.push(fieldErrorMessage(invalid(at, name, 'is an invalid extended resource name')));
  }
  return {
    urlPrefix: urlPrefix.replace(/\/+$/, ''),
    filterVerb: wire.filterVerb ?? '',
    preemptVerb: wire.preemptVerb ?? '',
    prioritizeVerb,
    bindVerb: wire.bindVerb ?? '',
    weight,
    timeoutMs: timeoutMs ?? EXTENDER_TIMEOUT_MS,
    nodeCacheCapable: wire.nodeCacheCapable === true,
    managedResources: new Set(managedResources.map(({ name = '' }) => name)),
    ignoredByScheduler: new Set(
      managedResources.filter((each) => each.ignoredByScheduler === true).map(({ name = '' }) => name),
    ),
    ignorable: wire.ignorable === true,
    tls: tlsOf(wire),
  };
}

/** As kube-scheduler: who only says that it is HTTPS, and names no authority, does not get certificates checked. */
function tlsOf({ enableHTTPS = false, tlsConfig }: WireExtender): WireTls | undefined {
  if (!enableHTTPS || tlsConfig?.caFile !== undefined || tlsConfig?.caData !== undefined) return tlsConfig;
  return { ...tlsConfig, insecure: true };
}

/** Names of Kubernetes' own resources, and those that quotas give to requests, are no extended resources. */
const isExtendedName = (name: string): boolean =>
  /^[^/]+\/[^/]+$/.test(name) && !/^([^/]*\.)?kubernetes\.io\//.test(name) && !name.startsWith('requests.');

const isUrl = (text: string): boolean => /^https?:\/\/[^/]/.test(text);

/** `1m30s`; `undefined` when the text is none, or says no time at all. */
export function parsePositiveDuration(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms > 0 ? ms : undefined;
}
