import { authorize } from '../authorization/chain.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';

/** An update or an apply that finds no object makes one: that takes the right to create as well. */
export async function requireCreationRight(core: Core, { user, info }: ResourceContext): Promise<void> {
  await authorize(core.access.authorizers, user, { ...info, verb: 'create' });
}
