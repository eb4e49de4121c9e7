import { PODS, REPLICA_SETS } from '@holdfast/api';
import type { ControllerDefinition } from '../../common/context.ts';
import { createReplicaLoop } from './loop.ts';

export const replicaSetController: ControllerDefinition = {
  name: 'replicaset',
  component: 'replicaset-controller',
  identity: 'manager',
  watches: [REPLICA_SETS, PODS],
  create: (context) => [
    createReplicaLoop(context, {
      name: 'replicaset',
      resource: REPLICA_SETS,
      asReplicaSet: (set) => set,
      withStatus: (set, status) => ({ ...set, status }),
    }),
  ],
};
