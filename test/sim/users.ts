import { FENCER, type User } from '@holdfast/apiserver';
import { ADMIN_USER, CONTROLLER_MANAGER_USER, nodeUser, POD_GC_USER, SCHEDULER_USER } from '@holdfast/pki/credentials';

export const CAREFUL = 'careful';
export const OWNER = 'owner';

/** In a simulation a token is the user's name. */
export function tokensOf(nodeNames: readonly string[]): ReadonlyMap<string, User> {
  const users: readonly User[] = [
    { name: ADMIN_USER, groups: ['system:masters'] },
    { name: CAREFUL, groups: ['system:masters'] },
    { name: OWNER, groups: ['system:authenticated'] },
    ...[SCHEDULER_USER, CONTROLLER_MANAGER_USER, POD_GC_USER, FENCER].map((name) => ({ name, groups: [] })),
    ...nodeNames.map((name) => ({ name: nodeUser(name), groups: ['system:nodes'] })),
  ];
  return new Map(users.map((user) => [user.name, user]));
}
