import { fieldErrorMessage, invalid, required } from '@holdfast/machinery';
import { parseDuration } from '@holdfast/platform';
import { EXTENDER_TIMEOUT_MS } from '../limits.ts';
import type { WireExtender, WireTls } from './wire.ts';

/** An HTTP service that takes part in decisions. An empty verb disables that step. */
export interface ExtenderConfig {
  /** Without a trailing slash. */
  readonly urlPrefix: string;
  readonly filterVerb: string;
  readonly preemptVerb: string;
  readonly prioritizeVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  readonly timeoutMs: number;
  /** The extender knows the nodes, so it gets only their names. */
  readonly nodeCacheCapable: boolean;
  /** Only pods that request one of these resources concern it; empty means all pods. */
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

/** As in kube-scheduler: HTTPS without an authority disables certificate checks. */
function tlsOf({ enableHTTPS = false, tlsConfig }: WireExtender): WireTls | undefined {
  if (!enableHTTPS || tlsConfig?.caFile !== undefined || tlsConfig?.caData !== undefined) return tlsConfig;
  return { ...tlsConfig, insecure: true };
}

/** Kubernetes' own resource names, and the request names of quotas, are not extended resources. */
const isExtendedName = (name: string): boolean =>
  /^[^/]+\/[^/]+$/.test(name) && !/^([^/]*\.)?kubernetes\.io\//.test(name) && !name.startsWith('requests.');

const isUrl = (text: string): boolean => /^https?:\/\/[^/]/.test(text);

/** Parses `1m30s`; `undefined` when the text is not a duration or is zero. */
export function parsePositiveDuration(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms > 0 ? ms : undefined;
}
