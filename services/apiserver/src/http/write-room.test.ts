import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../authentication/identity.ts';
import type { ResourceRequest } from './request-info.ts';
import { roomOf } from './write-room.ts';

const USERS = {
  'a user': { name: 'eve', groups: ['system:authenticated'] },
  'an administrator': { name: 'admin', groups: ['system:masters'] },
  'a node': { name: 'system:node:n1', groups: ['system:nodes'] },
  'who only calls itself a node': { name: 'system:node:n1', groups: [] },
  'the scheduler': { name: 'system:kube-scheduler', groups: [] },
  'a controller': { name: 'system:serviceaccount:kube-system:generic-garbage-collector', groups: [] },
  'an account that is named like a controller': { name: 'system:serviceaccount:kube-system:my-controller', groups: [] },
} satisfies Record<string, User>;

for (const [who, what, expected] of [
  ['a user', 'create /configmaps', 'ordinary'],
  ['a user', 'patch /pods/status', 'ordinary'],
  ['a user', 'update coordination.k8s.io/leases', 'ordinary'],
  ['a user', 'delete /configmaps', 'releasing'],
  ['a user', 'deletecollection /configmaps', 'releasing'],
  ['a user', 'create /pods/eviction', 'releasing'],
  ['an administrator', 'create /configmaps', 'ordinary'],
  ['a node', 'patch /nodes/status', 'system'],
  ['a node', 'patch /pods/status', 'system'],
  ['a node', 'delete /pods', 'system'],
  ['a node', 'create coordination.k8s.io/leases', 'system'],
  ['a node', 'update coordination.k8s.io/leases', 'system'],
  ['a node', 'create /events', 'ordinary'],
  ['who only calls itself a node', 'update coordination.k8s.io/leases', 'ordinary'],
  ['the scheduler', 'create /pods/binding', 'system'],
  ['a controller', 'patch /secrets', 'system'],
  ['a controller', 'create /pods', 'ordinary'],
  ['an account that is named like a controller', 'patch /secrets', 'ordinary'],
] as const) {
  test(`a full store: ${who}, ${what}: ${expected}`, () => assert.equal(roomOf(USERS[who], requestOf(what)), expected));
}

function requestOf(what: string): ResourceRequest {
  const [verb = '', path = ''] = what.split(' ');
  const [group = '', resource = '', subresource = ''] = path.split('/');
  return {
    kind: 'resource',
    verb,
    group,
    version: 'v1',
    resource,
    subresource,
    namespace: 'default',
    name: 'a',
  } as ResourceRequest;
}
