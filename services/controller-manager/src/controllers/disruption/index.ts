import {
  isPodReady,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodDisruptionBudget,
  type PodDisruptionBudgetStatus,
  selectorOf,
} from '@holdfast/api';
import type { InformerChange, ReconcileResult } from '@holdfast/client';
import type { ControllerContext, ControllerDefinition, Loop, SharedInformers } from '../../common/context.ts';
import { isSame } from '../../common/hash.ts';
import { controllerOf, isTerminating, keyOf, namespaceOf, parseKey, revisionOf } from '../../common/meta.ts';
import { Pacing } from '../../common/pacing.ts';
import { unlessChanged } from '../../common/writes.ts';
import { BUDGET_BARRIER_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide, type OwnerScale } from './decide.ts';
import { customScales, SCALED_KINDS, scaleOf } from './scales.ts';
import { createStaleTargetLoop } from './stale-targets.ts';

/** Computes the allowed disruptions of each budget. An eviction spends them by compare-and-swap. */
export const disruptionController: ControllerDefinition = {
  name: 'disruption',
  component: 'controllermanager',
  identity: 'manager',
  watches: [POD_DISRUPTION_BUDGETS, PODS, ...SCALED_KINDS],
  create: (context) => [createBudgetLoop(context), createStaleTargetLoop(context)],
};

type PodChange = InformerChange<Pod>;

function createBudgetLoop(context: ControllerContext): Loop {
  const budgets = context.informers.of(POD_DISRUPTION_BUDGETS);
  const pods = context.informers.of(PODS);
  const pacing = new Pacing(context.clock);
  const budgetsToWake = ({ object, old }: PodChange): readonly string[] => {
    const namespace = object?.metadata.namespace ?? old?.metadata.namespace;
    if (budgets.count(namespace) === 0) return [];
    if (object !== undefined && old !== undefined && isSame(pictureOf(object), pictureOf(old))) return [];
    return budgets
      .list(namespace)
      .filter(({ spec }) => [object, old].some((pod) => pod && selectorOf(spec.selector).matches(pod.metadata.labels)))
      .map(keyOf);
  };
  return {
    name: 'disruption',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => budgets.list().map(keyOf),
    wake: (enqueue) => [
      budgets.onChange((change) => {
        pacing.ownerChanged(change);
        enqueue(change.key);
      }),
      pods.onChange((change) => budgetsToWake(change).forEach(enqueue)),
    ],
    reconcile: async (key) => {
      const waitMs = pacing.waitMs(key);
      if (waitMs !== undefined) return { requeueAfterMs: waitMs };
      const budget = budgets.get(parseKey(key));
      if (budget === undefined) pacing.forget(key);
      return budget === undefined || isTerminating(budget) ? {} : pass(context, budget, pacing);
    },
  };
}

const pictureOf = (pod: Pod): unknown => [
  pod.metadata.labels,
  isPodReady(pod),
  isTerminating(pod),
  controllerOf(pod)?.uid,
];

async function pass(context: ControllerContext, budget: PodDisruptionBudget, pacing: Pacing): Promise<ReconcileResult> {
  const { client, clock, events, informers } = context;
  const selector = selectorOf(budget.spec.selector);
  const pods = informers
    .of(PODS)
    .list(namespaceOf(budget))
    .filter(({ metadata }) => selector.matches(metadata.labels));
  const custom = await customScales(context, pods);
  const sizeOf = (pod: Pod): OwnerScale | undefined =>
    custom.get(controllerOf(pod)?.uid ?? '') ?? scaleOf(informers, pod);
  const decision = decide({ budget, pods, scaleOf: sizeOf }, clock.now());
  for (const { pod, ...event } of decision.events) events.event(pod ?? budget, event);
  const { status, recheckAfterMs } = decision;
  pacing.passed(keyOf(budget), pods.length);
  if (status !== undefined && raises(budget, status) && isBehind(informers, budget)) {
    return { requeueAfterMs: BUDGET_BARRIER_RECHECK_MS };
  }
  if (status !== undefined) {
    // Lost to an eviction that spent from it meanwhile: its change wakes the next pass.
    await unlessChanged(() => client.updateStatus(POD_DISRUPTION_BUDGETS, { ...budget, status }));
  }
  return recheckAfterMs === undefined ? {} : { requeueAfterMs: recheckAfterMs };
}

/** For a budget that was counted before with its current spec. */
const raises = ({ metadata, status }: PodDisruptionBudget, next: PodDisruptionBudgetStatus): boolean =>
  status.observedGeneration === metadata.generation && next.disruptionsAllowed > status.disruptionsAllowed;

/**
 * The budget was written, perhaps by an eviction that spent from it, after what the caches show: the pod that was evicted or
 * whatever made it leave may not be in them yet. More is allowed only on caches that are at least as new as the budget.
 */
const isBehind = (informers: SharedInformers, budget: PodDisruptionBudget): boolean =>
  informers.of(PODS).revision() < revisionOf(budget);
