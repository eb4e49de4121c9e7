import {
  CSI_NODES,
  isTerminating,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  STORAGE_CLASSES,
  selectedNodeOf,
  storageClassOf,
} from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import type { ControllerContext, Loop } from '../../common/context.ts';
import { keyOf, parseKey } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { DriverRetries } from '../../csi/driver-retries.ts';
import { type ControllerDriver, DriverError } from '../../csi/port.ts';
import { CLAIM_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { type ClaimAction, decideClaim, failed, letGo, provisionerOf, rescheduled } from './decide-claim.ts';
import { volumeNameFor } from './names.ts';
import { provision } from './provision.ts';

/** Defined in the cache indexes. */
const FREE_IN_CLASS = 'freeInClass';
const SELECTED_NODE = 'selectedNode';

interface Tools {
  readonly context: ControllerContext;
  readonly driver: ControllerDriver;
  readonly retries: DriverRetries;
}

export function createClaimLoop(context: ControllerContext, drivers: ReadonlyMap<string, ControllerDriver>): Loop {
  const { informers, clock } = context;
  const claims = informers.of(PERSISTENT_VOLUME_CLAIMS);
  const retries = new DriverRetries(clock);
  const isOurs = (claim: PersistentVolumeClaim): boolean => drivers.has(provisionerOf(claim) ?? '');
  return {
    name: 'csi-provisioner',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => claims.list().filter(isOurs).map(keyOf),
    wake: (enqueue) => {
      const wakeAll = (found: Iterable<PersistentVolumeClaim>): void => {
        for (const claim of found) if (isOurs(claim)) enqueue(keyOf(claim));
      };
      return [
        claims.onChange(({ key, object }) => (object === undefined ? retries.forget(key) : wakeAll([object]))),
        informers.of(PERSISTENT_VOLUMES).onChange(({ object, old }) => {
          const { namespace = '', name = '' } = (object ?? old)?.spec.claimRef ?? {};
          const isNews = name !== '' && (object === undefined || old === undefined);
          const claim = isNews ? claims.get({ namespace, name }) : undefined;
          if (claim !== undefined) wakeAll([claim]);
        }),
        informers.of(STORAGE_CLASSES).onChange(({ key }) => wakeAll(claims.byIndex(FREE_IN_CLASS, key))),
        informers.of(NODES).onChange(({ key, object }) => {
          if (object === undefined) wakeAll(claims.byIndex(SELECTED_NODE, key));
        }),
        informers.of(CSI_NODES).onChange(({ key }) => wakeAll(claims.byIndex(SELECTED_NODE, key))),
      ];
    },
    reconcile: async (key) => {
      const claim = claims.get(parseKey(key));
      const driver = claim === undefined ? undefined : drivers.get(provisionerOf(claim) ?? '');
      if (claim === undefined || driver === undefined) return {};
      const action = await decideNow(context, driver, claim);
      return apply({ context, driver, retries }, claim, action);
    },
  };
}

async function decideNow(
  { informers, client }: ControllerContext,
  driver: ControllerDriver,
  claim: PersistentVolumeClaim,
): Promise<ClaimAction> {
  const className = storageClassOf(claim);
  const snapshot = {
    driver: driver.name,
    claim,
    storageClass: className === '' ? undefined : informers.of(STORAGE_CLASSES).get({ name: className }),
    volume: informers.of(PERSISTENT_VOLUMES).get({ name: volumeNameFor(claim) }),
  };
  const name = selectedNodeOf(claim);
  const isKnown = name !== undefined && informers.of(NODES).get({ name }) !== undefined;
  const action = decideClaim({ ...snapshot, nodeExists: isKnown });
  // Only the API says that a node does not exist: a cache may be late.
  if (action.kind !== 'reschedule' || name === undefined) return action;
  return decideClaim({ ...snapshot, nodeExists: (await client.find(NODES, { name })) !== undefined });
}

async function apply(tools: Tools, claim: PersistentVolumeClaim, action: ClaimAction): Promise<ReconcileResult> {
  const { client, events } = tools.context;
  switch (action.kind) {
    case 'none':
      return {};
    case 'report':
      events.event(claim, action.event);
      return { requeueAfterMs: CLAIM_RECHECK_MS };
    case 'hold':
    case 'let-go':
      await unlessChanged(() => client.update(PERSISTENT_VOLUME_CLAIMS, action.claim));
      return {};
    case 'reschedule':
      events.event(claim, action.event);
      await unlessChanged(() => client.update(PERSISTENT_VOLUME_CLAIMS, action.claim));
      return {};
    case 'provision':
      return tried(tools, claim, () => provision(tools, claim, action.storageClass));
  }
}

/** Not before the time of the next try. A claim that is being deleted does not wait for that of its earlier tries. */
async function tried(tools: Tools, claim: PersistentVolumeClaim, work: () => Promise<void>): Promise<ReconcileResult> {
  const { retries, context } = tools;
  const key = keyOf(claim);
  const about = isTerminating(claim) ? 'finish' : `make on ${selectedNodeOf(claim) ?? 'any node'}`;
  const waitMs = retries.waitMs(key, about);
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  try {
    await work();
    retries.forget(key);
    return {};
  } catch (error) {
    const requeueAfterMs = retries.failed(key, about, error);
    const next = afterFailure(claim, error);
    if (next.kind !== 'none') return apply(tools, claim, next);
    context.events.event(claim, failed(claim, describeError(error)));
    return { requeueAfterMs };
  }
}

/** What a failure means for the claim, besides another try. */
function afterFailure(claim: PersistentVolumeClaim, error: unknown): ClaimAction {
  const failure = error instanceof DriverError ? error : undefined;
  // The driver has nothing for a claim that is over.
  if (isTerminating(claim)) return failure?.isRefusal === true ? letGo(claim) : { kind: 'none' };
  const isPlaced = selectedNodeOf(claim) !== undefined;
  return failure?.isExhausted === true && isPlaced ? rescheduled(claim, failure.message) : { kind: 'none' };
}
