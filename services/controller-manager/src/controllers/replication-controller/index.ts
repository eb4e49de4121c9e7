import { PODS, REPLICATION_CONTROLLERS, type ReplicaSet, type ReplicationController } from '@holdfast/api';
import type { ControllerDefinition } from '../../common/context.ts';
import { createReplicaLoop } from '../replicaset/loop.ts';

/** It decides as a ReplicaSet does; only its selector is older. */
export const replicationController: ControllerDefinition = {
  name: 'replicationcontroller',
  component: 'replication-controller',
  identity: 'manager',
  watches: [REPLICATION_CONTROLLERS, PODS],
  create: (context) => [
    createReplicaLoop(context, {
      name: 'replicationcontroller',
      resource: REPLICATION_CONTROLLERS,
      asReplicaSet,
      withStatus: (controller, status) => ({ ...controller, status }),
    }),
  ],
};

export function asReplicaSet(controller: ReplicationController): ReplicaSet | undefined {
  const { apiVersion, kind, metadata, spec, status } = controller;
  const { template, selector = {}, ...rest } = spec;
  if (template === undefined || Object.keys(selector).length === 0) return undefined;
  return { apiVersion, kind, metadata, spec: { ...rest, selector: { matchLabels: selector }, template }, status };
}
