import {
  API_SERVICES,
  type APIService,
  AUTOMANAGED_LABEL,
  apiServiceName,
  CUSTOM_PRIORITY,
  decideRegistration,
  localApiService,
} from '@holdfast/api';
import type { ApiHandler } from '@holdfast/client';
import type { Clock, Log } from '@holdfast/platform';
import type { ObjectReader } from '../cache/reader.ts';
import type { Kinds } from '../kinds/custom-kinds.ts';
import { API_SERVICES_AT_ONCE, AVAILABILITY_INTERVAL_MS, AVAILABILITY_RETRY_FIRST_MS } from '../limits.ts';
import { KeyedWork } from '../turns/keyed-work.ts';
import { writeApiService } from './status-writes.ts';

export interface LocalRegistrationsDeps {
  readonly kinds: Kinds;
  readonly reader: Pick<ObjectReader, 'cached' | 'list'>;
  readonly handle: ApiHandler;
  readonly clock: Clock;
  readonly log: Log;
}

export interface LocalRegistrations {
  start(): void;
  /** A definition, or a registration that may belong to one, came, changed or went. */
  groupChanged(group: string): void;
  stop(): Promise<void>;
}

/** Maintains one APIService for every version of a custom group. Keyed by the group. */
export function createLocalRegistrations(deps: LocalRegistrationsDeps): LocalRegistrations {
  const work: KeyedWork = new KeyedWork({
    clock: deps.clock,
    log: deps.log,
    subject: 'the registration of a custom group',
    look: async (group) => {
      if (!(await look(deps, group))) return work.pauseAfterFailure(group);
      work.succeeded(group);
      return undefined;
    },
    retryFirstMs: AVAILABILITY_RETRY_FIRST_MS,
    retryLongestMs: AVAILABILITY_INTERVAL_MS,
    atOnce: API_SERVICES_AT_ONCE,
  });
  return {
    start: () => {
      const defined = deps.kinds.definitions().map(({ summary }) => summary.group);
      const registered = managed(deps).map(({ spec }) => spec.group ?? '');
      work.start(new Set([...defined, ...registered]));
    },
    groupChanged: (group) => work.wake(group),
    stop: () => work.stop(),
  };
}

const managed = ({ reader }: LocalRegistrationsDeps): readonly APIService[] =>
  reader.list(API_SERVICES).filter(({ metadata }) => metadata.labels?.[AUTOMANAGED_LABEL] === 'true');

/** Resolves with false when another writer was faster. */
async function look(deps: LocalRegistrationsDeps, group: string): Promise<boolean> {
  const versions = new Set(servedVersions(deps.kinds, group));
  const registered = managed(deps).filter(({ spec }) => spec.group === group);
  const names = new Set([...versions, ...registered.map(({ spec }) => spec.version ?? '')]);
  let isDone = true;
  for (const version of names) isDone = (await bringInLine(deps, group, version, versions.has(version))) && isDone;
  return isDone;
}

const servedVersions = (kinds: Kinds, group: string): readonly string[] =>
  kinds
    .definitions()
    .filter(({ summary }) => summary.group === group)
    .flatMap(({ versions }) => [...versions.values()])
    .filter(({ custom }) => custom?.served === true)
    .map(({ version }) => version);

async function bringInLine(
  { reader, handle }: LocalRegistrationsDeps,
  ...[group, version, isServed]: readonly [string, string, boolean]
): Promise<boolean> {
  const name = apiServiceName(group, version);
  const current = reader.cached(API_SERVICES, { name });
  const desired = isServed
    ? localApiService({ group, version, priority: CUSTOM_PRIORITY, automanaged: 'true' })
    : undefined;
  switch (decideRegistration(current, desired)) {
    case 'create':
      return writeApiService(handle, { method: 'POST', body: desired });
    case 'update':
      return writeApiService(handle, { method: 'PUT', path: `/${name}`, body: { ...current, spec: desired?.spec } });
    case 'delete': {
      const preconditions = { uid: current?.metadata.uid, resourceVersion: current?.metadata.resourceVersion };
      return writeApiService(handle, { method: 'DELETE', path: `/${name}`, body: { preconditions } });
    }
    case undefined:
      return true;
  }
}
