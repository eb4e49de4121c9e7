import { ENDPOINTS, type Endpoints, LEADER_ANNOTATION, PODS, SERVICES } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, keyOf, parseKey, targetOf, uidOf } from '../../common/meta.ts';
import { Pacing } from '../../common/pacing.ts';
import { backendsOf, hasBackends, servicesToWake } from '../../common/service-backends.ts';
import { isAlreadyExists, isNamespaceTerminating, unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide, type EndpointsAction } from './decide.ts';

/** The addresses behind a service in the old form: one object per service, which older clients still read. */
export const endpointsController: ControllerDefinition = {
  name: 'endpoints',
  component: 'endpoint-controller',
  identity: 'manager',
  watches: [SERVICES, PODS, ENDPOINTS],
  create: (context) => [createLoop(context)],
};

function createLoop(context: ControllerContext): Loop {
  const services = context.informers.of(SERVICES);
  const endpoints = context.informers.of(ENDPOINTS);
  const pods = context.informers.of(PODS);
  const pacing = new Pacing(context.clock);
  return {
    name: 'endpoints',
    workers: WORKERS_PER_CONTROLLER,
    // A service may have been deleted while no manager ran, and left its addresses.
    initialKeys: () => [...services.list(), ...endpoints.list().filter((each) => !isLeaderRecord(each))].map(keyOf),
    wake: (enqueue) => [
      services.onChange((change) => {
        pacing.ownerChanged(change);
        enqueue(change.key);
      }),
      pods.onChange((change) => servicesToWake(services, change).forEach(enqueue)),
      endpoints.onChange(({ key }) => {
        if (services.get(parseKey(key)) !== undefined) enqueue(key);
      }),
    ],
    reconcile: async (key) => {
      const waitMs = pacing.waitMs(key);
      if (waitMs !== undefined) return { requeueAfterMs: waitMs };
      const service = services.get(parseKey(key));
      if (service === undefined) {
        pacing.forget(key);
        await removeOf(context, key);
      } else if (!isTerminating(service) && hasBackends(service)) {
        const backends = backendsOf(service, pods, service.spec?.publishNotReadyAddresses === true);
        await apply(context, decide(service, backends, endpoints.get(parseKey(key))));
        pacing.passed(key, backends.length);
      }
      return {};
    },
  };
}

/** Some components use an annotation of an object of this kind for leader election; it has no service. */
const isLeaderRecord = ({ metadata }: Endpoints): boolean => metadata.annotations?.[LEADER_ANNOTATION] !== undefined;

/** This old kind has no owner reference, so garbage collection does not remove it with its service. */
async function removeOf({ client, informers }: ControllerContext, key: string): Promise<void> {
  const left = informers.of(ENDPOINTS).get(parseKey(key));
  if (left === undefined || (await client.find(SERVICES, parseKey(key))) !== undefined) return;
  await unlessChanged(() => client.delete(ENDPOINTS, targetOf(left), { uid: uidOf(left) }));
}

async function apply({ client }: ControllerContext, action: EndpointsAction): Promise<void> {
  if (action.kind === 'update') await unlessChanged(() => client.update(ENDPOINTS, action.endpoints));
  if (action.kind !== 'create') return;
  try {
    await client.create(ENDPOINTS, action.endpoints);
  } catch (error) {
    if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
  }
}
