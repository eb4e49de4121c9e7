import { inRoom, type WriteRoom } from '@holdfast/store';
import { API_SERVER, isSystemComponent, type User } from '../authentication/identity.ts';
import type { Core } from '../core.ts';
import type { ResourceRequest } from './request-info.ts';

const DELETIONS: ReadonlySet<string> = new Set(['delete', 'deletecollection']);
const CHANGES: ReadonlySet<string> = new Set(['update', 'patch']);

/**
 * The priority of a request's write when the store is full. Deletions pass for all users, and for components also
 * everything that keeps the cluster alive: heartbeats, leases, status, bindings and other updates. Their creates wait
 * like all others.
 */
export function roomOf(user: User, { verb, group, resource, subresource }: ResourceRequest): WriteRoom {
  if (isSystemComponent(user)) {
    const isVital = subresource !== '' || CHANGES.has(verb) || DELETIONS.has(verb);
    if (isVital || VITAL_RESOURCES.has(`${group}/${resource}`) || user === API_SERVER) return 'system';
  }
  return DELETIONS.has(verb) || subresource === 'eviction' ? 'releasing' : 'ordinary';
}

/** Leases of leaders and nodes, and the nodes themselves. */
const VITAL_RESOURCES: ReadonlySet<string> = new Set(['coordination.k8s.io/leases', '/nodes']);

/** The same core for each room: writes of a request ask for it without any of its steps knowing. */
export type CoresByRoom = Readonly<Record<WriteRoom, Core>>;

export function coresByRoom(core: Core): CoresByRoom {
  return {
    ordinary: core,
    releasing: { ...core, store: inRoom(core.store, 'releasing') },
    system: { ...core, store: inRoom(core.store, 'system') },
  };
}
