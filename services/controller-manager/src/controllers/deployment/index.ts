import { DEPLOYMENTS, PODS, REPLICA_SETS } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { controllerOf, keyOf, parseKey, toTarget, uidOf } from '../../common/meta.ts';
import { ownersToWake } from '../../common/wake.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { apply } from './apply.ts';
import { isRollingUpdate } from './bounds.ts';
import { type DeploymentSnapshot, decide } from './decide.ts';

export const deploymentController: ControllerDefinition = {
  name: 'deployment',
  component: 'deployment-controller',
  identity: 'manager',
  watches: [DEPLOYMENTS, REPLICA_SETS, PODS],
  create: (context) => [createLoop(context)],
};

function createLoop(context: ControllerContext): Loop {
  const deployments = context.informers.of(DEPLOYMENTS);
  const replicaSets = context.informers.of(REPLICA_SETS);
  return {
    name: 'deployment',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => deployments.list().map(keyOf),
    wake: (enqueue) => [
      deployments.onChange(({ key }) => enqueue(key)),
      replicaSets.onChange((change) => ownersToWake(deployments, 'Deployment', change).forEach(enqueue)),
      context.informers.of(PODS).onChange(({ object, old }) => {
        if (object !== undefined || old === undefined) return;
        const key = recreatingDeployment(context, controllerOf(old)?.uid);
        if (key !== undefined) enqueue(key);
      }),
    ],
    reconcile: async (key) => {
      const snapshot = observe(context, key);
      if (snapshot === undefined) return {};
      const decision = decide(snapshot, context.clock.now());
      await apply(context, snapshot.deployment, decision);
      return decision.lookAgainMs === undefined ? {} : { requeueAfterMs: decision.lookAgainMs };
    },
  };
}

function observe(context: ControllerContext, key: string): DeploymentSnapshot | undefined {
  const deployment = context.informers.of(DEPLOYMENTS).get(parseKey(key));
  if (deployment === undefined) return undefined;
  const replicaSets = context.informers.of(REPLICA_SETS);
  return {
    deployment,
    replicaSets: [
      ...replicaSets.byIndex('controller', uidOf(deployment)),
      ...replicaSets.byIndex('orphan', deployment.metadata.namespace ?? ''),
    ],
    podsOf: (set) => context.informers.of(PODS).byIndex('controller', uidOf(set)),
  };
}

/**
 * Only a Deployment with strategy Recreate waits for single pods to end; the others get pod changes through their sets.
 */
function recreatingDeployment(context: ControllerContext, setUid: string | undefined): string | undefined {
  if (setUid === undefined) return undefined;
  const set = context.informers.of(REPLICA_SETS).byIndex('uid', setUid)[0];
  const owner = set === undefined ? undefined : controllerOf(set);
  if (set === undefined || owner === undefined) return undefined;
  const deployment = context.informers.of(DEPLOYMENTS).get(toTarget(set.metadata.namespace ?? '', owner.name));
  return deployment !== undefined && !isRollingUpdate(deployment) ? keyOf(deployment) : undefined;
}
