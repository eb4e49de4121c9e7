import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Every place that asks for the removal of a pod without the word of its node, and why it may. Such a deletion can leave two
 * instances running: a client, script, test or page that needs none must ask for a graceful one.
 */
export const MAY_FORCE: Readonly<Record<string, string>> = {
  // Components that know that the processes ended, or that the machine is gone.
  'services/kubelet/src/pod/pod-object.ts': 'the node itself, after every process is confirmed dead',
  'services/kubelet/src/pod/static-pods.ts':
    'the node itself takes down a mirror; the pod behind it is a file of the node',
  'services/controller-manager/src/controllers/pod-garbage/index.ts':
    'only when the Node is gone, the pod was never bound, or the node is out of service; the API server checks it',
  'services/fencer/src/apply.ts': 'only after the fence of the node is confirmed; the API server checks it',

  // Clients: never without a warning and a confirmation.
  'services/holdfast/src/client/deletion.ts': 'what a person confirmed with --confirm',
  'services/holdfast/src/client/commands/delete.ts': 'the flag that names it, refused without --confirm',
  'services/holdfast/src/client/registry.ts': 'the help of that command',
  'bench/lib/scheduling-rows.ts': 'plays the kubelets of nodes that exist in the API only',
  'docs/pod-lifecycle.md': 'says what it means',
  'README.md': 'says what it risks',

  // Tests of force deletion itself: permission, warning, effect.
  'libs/api/src/protobuf/protobuf.test.ts': 'the number 0 survives the encoding',
  'libs/client/src/api-client.test.ts': 'the number 0 survives the request',
  'services/apiserver/src/authorization/node-incarnation.test.ts':
    'a displaced machine is refused whatever it asks for',
  'services/apiserver/src/verbs/lagging-cache.test.ts':
    'a server that lags warns of no removal that has happened already',
  'services/apiserver/src/verbs/deletion.test.ts': 'what it does to the object',
  'services/apiserver/src/pipeline/lifecycle-guarantees.test.ts': 'who is refused',
  'services/apiserver/src/admission/pod-ownership.test.ts': 'who is refused, who is warned',
  'services/controller-manager/src/controllers/pod-garbage/pod-garbage.test.ts': 'what the collector asks for',
  'services/holdfast/src/client/deletion.test.ts': 'what is asked for, and what is warned of',
  'test/e2e/bundled-client.test.ts': 'refused without --confirm, done with it',
  'test/e2e/kubectl-delete.test.ts': 'the warnings of kubectl and of the server',
  'test/e2e/kubectl-examples.test.ts': 'the example of the requirements',
  'test/integration/controllers-safety.test.ts': 'controllers are refused; a user releases the namespace',
  'test/integration/csi-node.test.ts': 'a volume of a pod that is forced away while no kubelet runs is unmounted later',
  'test/integration/kubelet-hollow.test.ts':
    'processes of pods that were forced away are ended; what the node sends itself',
  'test/integration/kubelet-static-pods.test.ts': 'forcing a mirror away ends nothing',
  'test/support/dockerd.ts': 'removes what a failed test left in an engine of its own',
  'test/integration/storage-server.test.ts': 'the storage refuses the pod that goes on behind the cut',
  'test/integration/volume-attach.test.ts': 'forcing a pod away does not free its volume',
  'test/chaos/support/cut-node.ts': 'the double run that an administrator forces is found',
  'test/sim/node-fence.test.ts': 'a user ends a pod whose machine the fencer has confirmed to be off',
  'test/sim/lost-node.test.ts': 'an owner who forces: the simulator finds both running',
  'test/sim/hunt/user-actions.ts':
    'the user of a random schedule who forces: the oracle then takes the name for released',
  'test/sim/planted-bugs.ts': 'the bug that the simulator has to find',

  // Tests without a node that could confirm: the user's force deletion replaces it.
  'services/controller-manager/src/controllers/namespace/namespace.test.ts':
    'a user releases a namespace whose node is silent',
  'services/controller-manager/src/controllers/statefulset/statefulset.test.ts':
    'a user releases a name whose node is silent',
  'services/controller-manager/src/stale-cache.test.ts': 'a pod goes while the caches are frozen; there is no node',
  'test/e2e/javascript-client.test.ts': 'the pod is bound to a node that does not exist',
  'test/integration/component-rights.test.ts': 'the pods end at once, so that the run is short; the nodes are hollow',
  'test/integration/bus-faults.test.ts': 'random deletions without any node',
  'test/integration/scheduler.test.ts': 'the nodes exist in the API only',
  'services/apiserver/src/history/hostile-readers.test.ts': 'the pod was bound to a node that does not exist',

  // Pods with grace period 0: a plain deletion removes them immediately.
  'test/explore/own-workload.ts': 'the pods of its workloads end at once; the nodes are hollow',
  'libs/api/src/kinds/pod/odd-pods.test.ts': 'a probe that grants no time is refused',
  'libs/api/src/kinds/pod/validation.test.ts': 'a probe that grants no time is refused',
  'test/integration/kubelet-cri.test.ts': 'the runtime is asked to kill without grace',
  'test/integration/node-port.test.ts': 'nothing runs after this pod',
  ...Object.fromEntries(
    ['autoscale', 'cp', 'exec', 'logs', 'port-forward', 'proxy', 'top'].map((what) => [
      `test/e2e/kubectl-${what}.test.ts`,
      'nobody deletes its pods by hand; the cluster that ends does not wait for them',
    ]),
  ),

  // Other things that are called force.
  'test/docs/console-pictures.ts': 'pngquant --force writes over a picture',
  'services/holdfast/src/client/commands/backup.ts': 'the flag of a backup that replaces a file',
  'services/holdfast/src/client/commands/backup.test.ts': 'the flag of a backup that replaces a file',
  'docs/cli.md': 'the flag of a backup that replaces a file',
  'docs/recovery.md': 'the flag of a backup that replaces a file',
  'test/e2e/kubectl-edit.test.ts': 'replace --force of a ConfigMap',
  'test/e2e/kubectl-nodes.test.ts': 'drain --force takes pods without an owner; it evicts them gracefully',
};

const FORCE: readonly RegExp[] = [
  /(?:\bg|\bterminationG)racePeriodSeconds["'`]?\s*[:=]\s*["'`]?0(?![.\d])/,
  /gracePeriodSeconds\s*=[^=\n]*\?\s*0(?![.\d])/,
  /--grace-period["'`]?[=,\s]\s*["'`]?0(?![.\d])/,
  /--force(?![-\w])/,
  /(?<![-\w])force: \{ kind: 'boolean'/,
];

export const forcesDeletion = (text: string): boolean => FORCE.some((pattern) => pattern.test(text));

const TEXTS = [
  '{libs,services,test,tools,bench,scripts}/**/*.{ts,js,mjs,cjs,sh,json,yaml,yml}',
  'docs/**/*.{md,yaml,yml}',
  '*.{md,yaml,yml,json}',
  'Dockerfile',
];
/** History is not an instruction, generated texts send nothing, breaks of a mutation are never sent, and this file and its test talk about it. */
const NOT_LOOKED_AT = [
  '**/node_modules/**',
  '**/generated/**',
  'CHANGELOG.md',
  'docs/internals/mutations.md',
  'tools/mutation/breaks/**',
  'tools/checks/force-deletion*.ts',
  'pnpm-lock.yaml',
];

/** The files of this tree that ask for force deletion, in order. */
export function filesThatForce(root: string): readonly string[] {
  return globSync(TEXTS, { cwd: root, exclude: NOT_LOOKED_AT })
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => forcesDeletion(readFileSync(path.join(root, file), 'utf8')))
    .toSorted();
}
