import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CERTIFICATE_CONTROLLER, CLUSTER_DNS, FENCER, POD_GARBAGE_COLLECTOR } from '../authentication/identity.ts';
import type { ResourceRequest } from '../http/request-info.ts';
import { componentRoles } from './component-roles.ts';

const MANAGER = 'system:kube-controller-manager';
const OTHERS = [
  MANAGER,
  'system:kube-scheduler',
  POD_GARBAGE_COLLECTOR,
  'system:serviceaccount:kube-system:ttl-controller',
];

/** `update certificatesigningrequests/approval`, or `sign signers NAME`. */
function may(user: string, what: string, group = 'certificates.k8s.io'): boolean {
  const [verb = '', kind = '', name = ''] = what.split(' ');
  const [resource = '', subresource = ''] = kind.split('/');
  const info = {
    kind: 'resource',
    path: '',
    verb,
    group,
    version: '*',
    namespace: '',
    resource,
    subresource,
    name,
    rest: '',
  };
  return componentRoles.authorize({ name: user, groups: [] }, info as ResourceRequest) !== undefined;
}

test('only the certificate controllers approve and sign, and only for Kubernetes signers', () => {
  const own = [
    'update certificatesigningrequests/approval',
    'approve signers kubernetes.io/kube-apiserver-client-kubelet',
    'sign signers kubernetes.io/kube-apiserver-client',
    'sign signers kubernetes.io/kube-apiserver-client-kubelet',
    'sign signers kubernetes.io/kubelet-serving',
    'sign signers kubernetes.io/legacy-unknown',
  ];
  for (const what of own) {
    assert.equal(may(CERTIFICATE_CONTROLLER, what), true, what);
    for (const other of OTHERS) assert.equal(may(other, what), false, `${other}: ${what}`);
  }
  for (const what of ['approve signers kubernetes.io/kube-apiserver-client', 'sign signers example.com/own']) {
    assert.equal(may(CERTIFICATE_CONTROLLER, what), false, what);
  }
});

test('the certificate controllers have no other controller permission', () => {
  for (const what of ['delete pods', 'create pods', 'update nodes']) {
    assert.equal(may(CERTIFICATE_CONTROLLER, what, ''), false, what);
    assert.equal(may(MANAGER, what, ''), true, what);
  }
  assert.equal(may(CERTIFICATE_CONTROLLER, 'create certificatesigningrequests'), false);
  assert.equal(may(CERTIFICATE_CONTROLLER, 'get secrets', ''), false);
  assert.equal(may(CERTIFICATE_CONTROLLER, 'list certificatesigningrequests'), true);
});

test('service accounts named like controllers have no rights from the name: the controllers are other users', () => {
  for (const name of ['ttl-controller', 'generic-garbage-collector', 'sealed-secrets-controller']) {
    const user = `system:serviceaccount:kube-system:${name}`;
    for (const what of ['create pods', 'get secrets', 'delete pods', 'list pods'])
      assert.equal(may(user, what, ''), false, `${name}: ${what}`);
  }
});

test('the pod garbage collector reads pods and nodes, marks pods as failed and deletes them, and nothing else', () => {
  for (const what of ['get pods', 'list pods', 'watch pods', 'delete pods', 'patch pods/status', 'get nodes'])
    assert.equal(may(POD_GARBAGE_COLLECTOR, what, ''), true, what);
  const others =
    'create pods,update pods,patch pods,deletecollection pods,create pods/exec,get pods/exec,get pods/proxy';
  for (const what of [
    ...others.split(','),
    'create pods/eviction',
    'create pods/binding',
    'get pods/log',
    'get secrets',
  ])
    assert.equal(may(POD_GARBAGE_COLLECTOR, what, ''), false, what);
});

test('the controller manager creates nothing that grants it the rights of others', () => {
  const acts =
    'create secrets,create serviceaccounts/token,create pods/exec,get pods/proxy,get nodes/proxy,get pods/log';
  for (const what of [...acts.split(','), 'impersonate users', 'impersonate groups', 'update serviceaccounts/token'])
    assert.equal(may(MANAGER, what, ''), false, what);
  for (const verb of ['create', 'approve', 'sign']) assert.equal(may(MANAGER, `${verb} signers x`), false, verb);
  assert.equal(may(MANAGER, 'create certificatesigningrequests'), false);
  assert.equal(may(MANAGER, 'update certificatesigningrequests/approval'), false);
  const webhooks = 'create mutatingwebhookconfigurations';
  assert.equal(may(MANAGER, webhooks, 'admissionregistration.k8s.io'), false);
});

test('a controller creates no roles and bindings, and only updates existing ones', () => {
  for (const kind of ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings']) {
    const mayDo = (verb: string): boolean => may(MANAGER, `${verb} ${kind}`, 'rbac.authorization.k8s.io');
    assert.deepEqual(['create', 'patch', 'bind', 'escalate', 'update', 'delete'].filter(mayDo), [
      'patch',
      'update',
      'delete',
    ]);
  }
});

test('the DNS component reads services and their endpoints, and changes nothing', () => {
  for (const what of ['list services', 'watch services', 'list endpoints'])
    assert.equal(may(CLUSTER_DNS, what, ''), true);
  assert.equal(may(CLUSTER_DNS, 'watch endpointslices', 'discovery.k8s.io'), true);
  for (const what of ['update services', 'get services/proxy', 'list pods', 'get secrets', 'get configmaps'])
    assert.equal(may(CLUSTER_DNS, what, ''), false, what);
});

test('[FENCE-01] [FENCE-13] the fencer reads, and writes only what a fence needs', () => {
  for (const what of [
    'list nodes',
    'watch nodes',
    'list pods',
    'list persistentvolumes',
    'update nodes',
    'delete pods',
  ])
    assert.equal(may(FENCER, what, ''), true, what);
  for (const what of ['update nodes/status', 'update persistentvolumes/status', 'create events'])
    assert.equal(may(FENCER, what, ''), true, what);
  const others = ['create pods', 'create pods/exec', 'update pods/status', 'delete persistentvolumes', 'get secrets'];
  for (const what of [...others, 'create nodes', 'update persistentvolumes', 'create pods/binding'])
    assert.equal(may(FENCER, what, ''), false, what);
  // Nodes' heartbeats are leases: write access decides which node counts as alive.
  assert.equal(may(FENCER, 'update leases', 'coordination.k8s.io'), false);
});
