import { isSelfFenced, LEASES, NODE_LEASES_NAMESPACE, NODES, PODS, promiseOf } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { nameOf, namespaceOf } from '../../common/meta.ts';
import { inParallel } from '../../common/writes.ts';
import {
  PROMISE_HEARD_MS,
  PROMISE_HEARD_OTHER_MS,
  PROMISE_LOOK_MS,
  PROMISE_MARGIN_MS,
  PROMISE_RETRY_MS,
  PROMISE_STALL_MS,
  WORKERS_PER_CONTROLLER,
} from '../../limits.ts';
import { breakPromise, follow, leaseOf } from './apply.ts';
import { decidePromises, NEW_PROMISE_MEMORY, type PromiseMemory } from './decide.ts';

export interface SelfFencingSettings {
  /** The largest accepted difference between the rates of the clocks of two machines, as a share. */
  readonly clockRate: number;
}

/** Waits out the promises of nodes that are lost, and releases what these have ended by then. */
export const selfFencingController = (settings: SelfFencingSettings): ControllerDefinition => ({
  name: 'self-fencing',
  component: 'self-fencing-controller',
  identity: 'manager',
  watches: [LEASES, NODES, PODS],
  create: (context) => [createWaitLoop(context, settings), createFollowLoop(context)],
});

const ALL_PROMISES = 'all promises';

/** Evaluates all leases together: renewals are too frequent to trigger a pass each. */
function createWaitLoop(context: ControllerContext, { clockRate }: SelfFencingSettings): Loop {
  let memory: PromiseMemory = NEW_PROMISE_MEMORY;
  const limits = {
    clockRate,
    marginMs: PROMISE_MARGIN_MS,
    stallMs: PROMISE_STALL_MS,
    heardPromisingMs: PROMISE_HEARD_MS,
    heardOtherMs: PROMISE_HEARD_OTHER_MS,
  };
  return {
    name: 'self-fencing-wait',
    workers: 1,
    initialKeys: () => [ALL_PROMISES],
    wake: () => [],
    reconcile: async () => {
      const leases = context.informers
        .of(LEASES)
        .list()
        .filter((lease) => namespaceOf(lease) === NODE_LEASES_NAMESPACE);
      const decision = decidePromises(memory, leases, context.clock.monotonic(), limits);
      memory = decision.memory;
      const failure = await inParallel(decision.due, (lease) => breakPromise(context, lease));
      if (failure !== undefined) context.log.warn('a promise could not be broken', { error: failure });
      return { requeueAfterMs: PROMISE_LOOK_MS };
    },
  };
}

function createFollowLoop(context: ControllerContext): Loop {
  const { informers } = context;
  const isBroken = (name: string): boolean => promiseOf(leaseOf(context, name))?.isBroken === true;
  const differs = (name: string): boolean => {
    const node = informers.of(NODES).get({ name });
    return isBroken(name) || (node !== undefined && isSelfFenced(node));
  };
  return {
    name: 'self-fencing',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => informers.of(NODES).list().map(nameOf).filter(differs),
    wake: (enqueue) => [
      informers.of(LEASES).onChange(({ object, old }) => {
        if (promiseOf(object)?.isBroken === promiseOf(old)?.isBroken) return;
        const lease = object ?? old;
        if (lease !== undefined) enqueue(nameOf(lease));
      }),
      informers.of(NODES).onChange(({ key }) => {
        if (differs(key)) enqueue(key);
      }),
      informers.of(PODS).onChange(({ object }) => {
        const name = object?.spec.nodeName ?? '';
        if (name !== '' && isBroken(name)) enqueue(name);
      }),
    ],
    reconcile: async (name) => {
      await follow(context, name);
      const node = informers.of(NODES).get({ name });
      const isTold = node === undefined || isSelfFenced(node) === isBroken(name);
      return isTold ? {} : { requeueAfterMs: PROMISE_RETRY_MS };
    },
  };
}
