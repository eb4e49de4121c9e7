import { DEPLOYMENTS, type Deployment, type DeploymentStatus, REPLICA_SETS, type ReplicaSet } from '@holdfast/api';
import { describeError } from '@holdfast/platform';
import type { ControllerContext } from '../../common/context.ts';
import { mayAdopt } from '../../common/live-check.ts';
import {
  controllerReference,
  isControlledBy,
  nameOf,
  targetOf,
  uidOf,
  withOwner,
  withoutOwners,
} from '../../common/meta.ts';
import { isAlreadyExists, isNamespaceTerminating, unlessChanged } from '../../common/writes.ts';
import type { DeploymentAction, DeploymentDecision } from './decide.ts';
import { sizeOf } from './plan.ts';
import { findNewReplicaSet, REVISION } from './revision.ts';
import { withCreateFailure } from './status.ts';

/**
 * Writes one after the other, each against the observed revision. A conflict stops nothing: the changed object triggers
 * the key again, and the remaining writes are safe on their own.
 */
export async function apply(
  context: ControllerContext,
  observed: Deployment,
  decision: DeploymentDecision,
): Promise<void> {
  let current = observed;
  for (const action of decision.actions) {
    const failure = await perform(context, current, action).catch((error: unknown) => ({ error, action }));
    if (failure === undefined) return;
    if ('error' in failure) {
      await tellCreateFailure(context, current, { ...failure, status: decision.status ?? current.status });
      throw failure.error;
    }
    current = failure;
  }
  const { status } = decision;
  if (status !== undefined) {
    await unlessChanged(() => context.client.updateStatus(DEPLOYMENTS, { ...current, status }));
  }
}

/** Resolves to the Deployment as it is now, or undefined when it has changed and the pass is over. */
async function perform(
  context: ControllerContext,
  deployment: Deployment,
  action: DeploymentAction,
): Promise<Deployment | undefined> {
  const { client } = context;
  switch (action.type) {
    case 'adopt-set':
      await adopt(context, deployment, action.set);
      return deployment;
    case 'release-set':
      await unlessChanged(() => client.update(REPLICA_SETS, withoutOwners(action.set, new Set([uidOf(deployment)]))));
      return deployment;
    case 'create-set':
      return create(context, deployment, action.set);
    case 'update-set':
      await resize(context, deployment, action);
      return deployment;
    case 'delete-set':
      await unlessChanged(() =>
        client.delete(REPLICA_SETS, targetOf(action.set), {
          uid: uidOf(action.set),
          ...(action.set.metadata.resourceVersion === undefined
            ? {}
            : { resourceVersion: action.set.metadata.resourceVersion }),
          propagationPolicy: 'Background',
        }),
      );
      return deployment;
    case 'set-revision': {
      const annotations = { ...deployment.metadata.annotations, [REVISION]: action.revision };
      // Beside the status: a rollout that shows its revision asks for nothing new, so it is no new generation.
      return unlessChanged(() =>
        client.updateStatus(DEPLOYMENTS, { ...deployment, metadata: { ...deployment.metadata, annotations } }),
      );
    }
  }
}

async function adopt(context: ControllerContext, deployment: Deployment, set: ReplicaSet): Promise<void> {
  if (!(await mayAdopt(context, { resource: DEPLOYMENTS, object: deployment }))) return;
  const owner = controllerReference(deployment, { apiVersion: 'apps/v1', kind: 'Deployment' });
  await unlessChanged(() => context.client.update(REPLICA_SETS, withOwner(set, owner)));
}

async function resize(
  context: ControllerContext,
  deployment: Deployment,
  action: { readonly set: ReplicaSet; readonly from: number },
): Promise<void> {
  const written = await unlessChanged(() => context.client.update(REPLICA_SETS, action.set));
  if (written !== undefined) tellScaled(context, deployment, { set: action.set, from: action.from });
}

function tellScaled(
  context: ControllerContext,
  deployment: Deployment,
  { set, from }: { readonly set: ReplicaSet; readonly from: number },
): void {
  const to = sizeOf(set);
  if (to === from) return;
  const message = `Scaled ${to > from ? 'up' : 'down'} replica set ${nameOf(set)} from ${from} to ${to}`;
  context.events.event(deployment, { type: 'Normal', reason: 'ScalingReplicaSet', message });
}

async function create(
  context: ControllerContext,
  deployment: Deployment,
  set: ReplicaSet,
): Promise<Deployment | undefined> {
  try {
    await context.client.create(REPLICA_SETS, set);
    tellScaled(context, deployment, { set, from: 0 });
    return deployment;
  } catch (error) {
    if (isNamespaceTerminating(error)) return undefined;
    if (isAlreadyExists(error)) return countCollision(context, deployment, set);
    throw error;
  }
}

/** The name is derived from the template: it is taken by this Deployment's own set (seen late), or two templates collide. */
async function countCollision(
  context: ControllerContext,
  deployment: Deployment,
  set: ReplicaSet,
): Promise<Deployment | undefined> {
  const holder = await context.client.find(REPLICA_SETS, targetOf(set));
  if (holder === undefined) throw new Error(`the ReplicaSet ${nameOf(set)} was deleted while it was reconciled`);
  const isOurs = isControlledBy(holder, uidOf(deployment)) && findNewReplicaSet(deployment, [holder]) !== undefined;
  if (isOurs) return undefined;
  const status = { ...deployment.status, collisionCount: (deployment.status.collisionCount ?? 0) + 1 };
  await unlessChanged(() => context.client.updateStatus(DEPLOYMENTS, { ...deployment, status }));
  return undefined;
}

async function tellCreateFailure(
  context: ControllerContext,
  deployment: Deployment,
  failure: { readonly error: unknown; readonly action: DeploymentAction; readonly status: DeploymentStatus },
): Promise<void> {
  if (failure.action.type !== 'create-set') return;
  const message = describeError(failure.error);
  const name = nameOf(failure.action.set);
  context.events.event(deployment, {
    type: 'Warning',
    reason: 'ReplicaSetCreateError',
    message: `Failed to create new replica set "${name}": ${message}`,
  });
  const status = withCreateFailure(deployment, failure.status, { name, message, now: context.clock.now() });
  await unlessChanged(() => context.client.updateStatus(DEPLOYMENTS, { ...deployment, status }));
}
