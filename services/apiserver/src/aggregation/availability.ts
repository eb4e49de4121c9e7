import {
  API_SERVICES,
  type APIService,
  type Availability,
  ENDPOINTS,
  LOCAL_AVAILABILITY,
  type ResourceRef,
  SERVICES,
  serviceFault,
  withAvailability,
} from '@holdfast/api';
import type { ApiHandler } from '@holdfast/client';
import type { Clock, Log } from '@holdfast/platform';
import type { CachedObject } from '../cache/cached-object.ts';
import type { ObjectReader } from '../cache/reader.ts';
import type { ObjectFeed } from '../cache/watch-cache.ts';
import { API_SERVICES_AT_ONCE, AVAILABILITY_INTERVAL_MS, AVAILABILITY_RETRY_FIRST_MS } from '../limits.ts';
import { KeyedWork } from '../turns/keyed-work.ts';
import type { ApiServices } from './api-services.ts';
import { type ProbeDeps, probe } from './probe.ts';
import { writeStatus } from './status-writes.ts';

export interface AvailabilityDeps extends ProbeDeps {
  readonly apis: ApiServices;
  readonly reader: Pick<ObjectReader, 'cached'>;
  readonly handle: ApiHandler;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Writes into every APIService whether it can be used. Every API server runs one; compare-and-swap lets one of them write what
 * all of them find.
 */
export function createAvailabilityController(deps: AvailabilityDeps): KeyedWork {
  const work: KeyedWork = new KeyedWork({
    clock: deps.clock,
    log: deps.log,
    subject: 'a look at the availability of an APIService',
    look: (name) => look(deps, work, name),
    retryFirstMs: AVAILABILITY_RETRY_FIRST_MS,
    retryLongestMs: AVAILABILITY_INTERVAL_MS,
    atOnce: API_SERVICES_AT_ONCE,
  });
  return work;
}

async function look(deps: AvailabilityDeps, work: KeyedWork, name: string): Promise<number | undefined> {
  const api = deps.reader.cached(API_SERVICES, { name });
  if (api === undefined) {
    work.forget(name);
    return undefined;
  }
  const found = await availabilityOf(deps, api);
  const status = withAvailability(api, found, deps.clock.now());
  const isWritten = status === undefined || (await writeStatus(deps.handle, api, status));
  if (api.spec.service === undefined && isWritten) return undefined;
  if (found.status === 'True' && isWritten) {
    work.succeeded(name);
    return AVAILABILITY_INTERVAL_MS;
  }
  return work.pauseAfterFailure(name);
}

async function availabilityOf(deps: AvailabilityDeps, { metadata, spec }: APIService): Promise<Availability> {
  if (spec.service === undefined) return LOCAL_AVAILABILITY;
  const api = deps.apis.remote(spec.group ?? '', spec.version ?? '');
  // The group of registrations is served here, whatever is registered for it.
  if (api === undefined || api.name !== metadata.name) return LOCAL_AVAILABILITY;
  const { namespace, name } = api.service;
  const service = deps.reader.cached(SERVICES, { namespace, name });
  const endpoints = deps.reader.cached(ENDPOINTS, { namespace, name });
  return serviceFault(api.service, service, endpoints) ?? probe(deps, api);
}

/** A service of an API, or its endpoints, that change lead to a new look at the API. */
export function createServiceFeed(
  { group, plural }: ResourceRef,
  apis: ApiServices,
  wake: (api: string) => void,
): ObjectFeed {
  const changed = ({ namespace, name }: CachedObject): void => {
    for (const { service, name: api } of apis.remotes()) {
      if (service.name === name && service.namespace === namespace) wake(api);
    }
  };
  return { group, resource: plural, reset: () => {}, put: changed, remove: changed };
}
