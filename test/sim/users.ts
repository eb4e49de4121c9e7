import { FENCER, type User } from '@holdfast/apiserver';

export const ADMIN = 'admin';
export const CAREFUL = 'careful';
export const OWNER = 'owner';
export const SCHEDULER = 'system:kube-scheduler';
export const CONTROLLER_MANAGER = 'system:kube-controller-manager';
export const POD_GC = 'system:serviceaccount:kube-system:pod-garbage-collector';
export const nodeUser = (nodeName: string): string => `system:node:${nodeName}`;

/** In a simulation a token is the user's name. */
export function tokensOf(nodeNames: readonly string[]): ReadonlyMap<string, User> {
  const users: readonly User[] = [
    { name: ADMIN, groups: ['system:masters'] },
    { name: CAREFUL, groups: ['system:masters'] },
    { name: OWNER, groups: ['system:authenticated'] },
    ...[SCHEDULER, CONTROLLER_MANAGER, POD_GC, FENCER].map((name) => ({ name, groups: [] })),
    ...nodeNames.map((name) => ({ name: nodeUser(name), groups: ['system:nodes'] })),
  ];
  return new Map(users.map((user) => [user.name, user]));
}
