import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  type Service as KubeService,
  PROXIED_SELECTOR,
  SERVICE_NAME_LABEL,
  SERVICES,
} from '@holdfast/api';
import { createInformer, type Informer } from '@holdfast/client';
import type { ProxyDeps } from './proxy-deps.ts';
import type { ServiceView } from './services/service-fragment.ts';

const BY_SERVICE = 'service';

/** The services that a proxy serves, with their endpoints. Keys are `namespace/name`. */
export class ServiceViews {
  readonly services: Informer<KubeService>;
  readonly slices: Informer<EndpointSlice>;

  constructor({ client, bus, clock, random, log }: Pick<ProxyDeps, 'client' | 'bus' | 'clock' | 'random' | 'log'>) {
    const tools = { client, bus, clock, random, log, selection: { labelSelector: PROXIED_SELECTOR } };
    this.services = createInformer({ ...tools, resource: SERVICES });
    this.slices = createInformer({ ...tools, resource: ENDPOINT_SLICES, indexes: { [BY_SERVICE]: serviceOfSlice } });
  }

  async start(): Promise<void> {
    await Promise.all([this.services.start(), this.slices.start()]);
  }

  async synced(): Promise<void> {
    await Promise.all([this.services.synced(), this.slices.synced()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.services.stop(), this.slices.stop()]);
  }

  view(key: string): ServiceView | undefined {
    const [namespace = '', name = ''] = key.split('/');
    const service = this.services.get({ namespace, name });
    return service === undefined ? undefined : { service, slices: this.slices.byIndex(BY_SERVICE, key) };
  }
}

/** The key of its service. */
export function serviceOfSlice(slice: EndpointSlice | undefined): readonly string[] {
  const name = slice?.metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined ? [] : [`${slice?.metadata.namespace}/${name}`];
}
