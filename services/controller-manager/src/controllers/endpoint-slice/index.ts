import { ENDPOINT_SLICES, type EndpointSlice, NODES, PODS, SERVICES, type Service } from '@holdfast/api';
import type { Informer } from '@holdfast/client';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import {
  controllerOf,
  isTerminating,
  keyOf,
  nameOf,
  namespaceOf,
  parseKey,
  targetOf,
  uidOf,
} from '../../common/meta.ts';
import { Pacing } from '../../common/pacing.ts';
import { backendsOf, hasBackends, servicesToWake } from '../../common/service-backends.ts';
import { isAlreadyExists, isNamespaceTerminating, unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide, MANAGED_BY, MANAGED_BY_LABEL, SERVICE_NAME_LABEL, type SliceAction } from './decide.ts';

const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** Which addresses stand behind a service, in slices of a hundred: what proxies and load balancers read. */
export const endpointSliceController: ControllerDefinition = {
  name: 'endpointslice',
  component: 'endpoint-slice-controller',
  identity: 'manager',
  watches: [SERVICES, PODS, NODES, ENDPOINT_SLICES],
  create: (context) => [createLoop(context)],
};

function createLoop(context: ControllerContext): Loop {
  const services = context.informers.of(SERVICES);
  const slices = context.informers.of(ENDPOINT_SLICES);
  const pods = context.informers.of(PODS);
  const pacing = new Pacing(context.clock);
  return {
    name: 'endpointslice',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => services.list().map(keyOf),
    wake: (enqueue) => [
      services.onChange((change) => {
        pacing.ownerChanged(change);
        enqueue(change.key);
      }),
      pods.onChange((change) => servicesToWake(services, change).forEach(enqueue)),
      slices.onChange(({ object, old }) => {
        const slice = object ?? old;
        if (slice !== undefined && isOurs(slice)) enqueue(`${namespaceOf(slice)}/${serviceNameOf(slice)}`);
      }),
    ],
    reconcile: async (key) => {
      const waitMs = pacing.waitMs(key);
      if (waitMs !== undefined) return { requeueAfterMs: waitMs };
      const service = services.get(parseKey(key));
      if (service === undefined) pacing.forget(key);
      // The slices of a service that is gone go with it: they name it as their owner.
      else if (!isTerminating(service) && hasBackends(service)) pacing.passed(key, await pass(context, service));
      return {};
    },
  };
}

/** Returns how many pods it looked at. */
async function pass(context: ControllerContext, service: Service): Promise<number> {
  const nodes = context.informers.of(NODES);
  const pods = backendsOf(service, context.informers.of(PODS), true);
  const zoneOf = (name: string): string | undefined =>
    name === '' ? undefined : nodes.get({ name })?.metadata.labels?.[ZONE_LABEL];
  const slices = slicesOf(service, context.informers.of(ENDPOINT_SLICES));
  for (const action of decide({ service, pods, slices, zoneOf })) await apply(context, action);
  return pods.length;
}

const slicesOf = (service: Service, slices: Informer<EndpointSlice>): readonly EndpointSlice[] =>
  slices.byIndex('controller', uidOf(service)).filter((slice) => isOurs(slice) && !isTerminating(slice));

const isOurs = (slice: EndpointSlice): boolean =>
  slice.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY && controllerOf(slice) !== undefined;

const serviceNameOf = (slice: EndpointSlice): string =>
  slice.metadata.labels?.[SERVICE_NAME_LABEL] ?? controllerOf(slice)?.name ?? nameOf(slice);

async function apply({ client }: ControllerContext, { kind, slice }: SliceAction): Promise<void> {
  if (kind === 'update') await unlessChanged(() => client.update(ENDPOINT_SLICES, slice));
  else if (kind === 'create') await create(client, slice);
  else await unlessChanged(() => client.delete(ENDPOINT_SLICES, targetOf(slice), { uid: uidOf(slice) }));
}

/** A name that is taken belongs to another manager's same slice, or to ours that the cache does not show yet: the event wakes us. */
async function create(client: ControllerContext['client'], slice: EndpointSlice): Promise<void> {
  try {
    await client.create(ENDPOINT_SLICES, slice);
  } catch (error) {
    if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
  }
}
