import { ADDRESS, going, IMAGE, printing, shell, type Walk } from './walk.ts';

const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
const limit = (name: string, resource: string) => ({ name, valueFrom: { resourceFieldRef: { resource } } });
const POD_NAME = field('POD_NAME', 'metadata.name');

/** `env`: the variables, or fields of the container. */
const variables = (title: string, env: readonly object[] | object, script: string, says: RegExp): Walk =>
  printing(title, { ...shell(script), ...(Array.isArray(env) ? { env } : env) }, says);

const ENVIRONMENT: readonly Walk[] = [
  variables(
    'ConfigMap should be consumable via environment variable',
    [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'map', key: 'data-1' } } }],
    'echo $A',
    /^value-1$/,
  ),
  variables(
    'ConfigMap should be consumable via the environment',
    { envFrom: [{ prefix: 'p_', configMapRef: { name: 'map' } }] },
    'env | grep ^p_data',
    /^p_data_1=value-1$/,
  ),
  variables(
    'Secrets should be consumable from pods in env vars',
    [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'data-1' } } }],
    'echo $A',
    /^value-1$/,
  ),
  variables(
    'Secrets should be consumable via the environment',
    { envFrom: [{ prefix: 'p_', secretRef: { name: 'keys' } }] },
    'env | grep ^p_data',
    /^p_data_1=value-1$/,
  ),
  variables(
    "Downward API should provide container's limits.cpu/memory and requests.cpu/memory as env vars",
    [limit('A', 'limits.cpu'), limit('B', 'limits.memory'), limit('C', 'requests.cpu'), limit('D', 'requests.memory')],
    'echo $A $B $C $D',
    /^2 67108864 1 33554432$/,
  ),
  variables(
    'Downward API should provide default limits.cpu/memory from node allocatable',
    { env: [limit('A', 'limits.cpu'), limit('B', 'limits.memory')], resources: {} },
    'echo $A $B',
    /^[1-9]\d* [1-9]\d{7,}$/,
  ),
  variables(
    'Downward API should provide host IP as an env var',
    [field('A', 'status.hostIP')],
    'echo $A',
    new RegExp(`^${ADDRESS}$`),
  ),
  variables(
    'Downward API should provide hostIPs as an env var',
    [field('A', 'status.hostIPs')],
    'echo $A',
    new RegExp(`^${ADDRESS}(,.*)?$`),
  ),
  variables(
    'Downward API should provide pod UID as env vars',
    [field('A', 'metadata.uid')],
    'echo $A',
    /^[0-9a-f-]{36}$/,
  ),
  variables(
    'Downward API should provide pod name, namespace and IP address as env vars',
    [POD_NAME, field('A', 'metadata.namespace'), field('B', 'status.podIP')],
    'echo $POD_NAME $A $B',
    new RegExp(`^walk-\\d+ default ${ADDRESS}$`),
  ),
  variables(
    'Variable Expansion should allow composing env vars into new env vars',
    [
      { name: 'FOO', value: 'foo-value' },
      { name: 'BAR', value: 'bar-value' },
      { name: 'ALL', value: '$(FOO);;$(BAR)' },
    ],
    'echo "$ALL"',
    /^foo-value;;bar-value$/,
  ),
  variables(
    "Variable Expansion should allow substituting values in a container's command",
    [{ name: 'A', value: 'value' }],
    'A=other; echo $(A)',
    /^value$/,
  ),
  printing(
    "Variable Expansion should allow substituting values in a container's args",
    { image: IMAGE, command: ['/bin/sh', '-c'], args: ['A=other; echo $(A)'], env: [{ name: 'A', value: 'value' }] },
    /^value$/,
  ),
];

const pathOf = (title: string, script: string, says: RegExp): Walk =>
  printing(title, { ...shell(script), env: [POD_NAME] }, says, {
    volumes: [{ name: 'v', emptyDir: {} }],
    mounts: [
      { name: 'v', mountPath: '/v', subPathExpr: '$(POD_NAME)' },
      { name: 'v', mountPath: '/whole' },
    ],
  });

/** The container never starts: its directory would leave the volume. */
const refusedPath = (title: string, value: string): Walk => ({
  title,
  phase: 'Pending',
  metadata: { annotations: { path: value } },
  spec: {
    volumes: [{ name: 'v', emptyDir: {} }],
    containers: [
      {
        name: 'main',
        ...shell('exec sleep 600'),
        env: [field('A', "metadata.annotations['path']")],
        volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: '$(A)' }],
      },
    ],
  },
  status: { path: '.status.containerStatuses[0].state.waiting.reason', is: /^CreateContainerConfigError$/ },
});

const PATHS: readonly Walk[] = [
  pathOf(
    'Variable Expansion should allow substituting values in a volume subpath',
    'test -d /v && ls -d /whole/$POD_NAME',
    /^\/whole\/walk-\d+$/,
  ),
  pathOf(
    'Variable Expansion should succeed in writing subpaths in container',
    'echo mine >/v/file; cat /whole/$POD_NAME/file',
    /^mine$/,
  ),
  refusedPath('Variable Expansion should fail substituting values in a volume subpath with absolute path', '/tmp'),
  refusedPath('Variable Expansion should fail substituting values in a volume subpath with backticks', '..'),
  {
    ...refusedPath(
      'Variable Expansion should verify that a failing subpath expansion can be modified during the lifecycle of a container',
      '/tmp',
    ),
    phase: 'Running',
    status: { path: '.status.containerStatuses[0].ready', is: /^true$/ },
    change: (kubectl, pod) => kubectl.run('annotate', 'pod', pod, '--overwrite', 'path=mypath'),
  },
];

const message = (title: string, container: object, is: RegExp, phase: 'Succeeded' | 'Failed' = 'Succeeded'): Walk => ({
  ...printing(title, { terminationMessagePolicy: 'FallbackToLogsOnError', ...container }, /^/),
  phase,
  status: { path: '.status.containerStatuses[0].state.terminated.message', is },
});

const ENDS: readonly Walk[] = [
  message(
    'Container Runtime blackbox test on terminated container should report termination message as empty when pod succeeds and TerminationMessagePolicy FallbackToLogsOnError is set',
    shell('echo DONE'),
    /^$/,
  ),
  message(
    'Container Runtime blackbox test on terminated container should report termination message from file when pod succeeds and TerminationMessagePolicy FallbackToLogsOnError is set',
    shell('echo -n OK >/dev/termination-log; echo DONE'),
    /^OK$/,
  ),
  message(
    'Container Runtime blackbox test on terminated container should report termination message from log output if TerminationMessagePolicy FallbackToLogsOnError is set',
    shell('echo -n DONE; exit 1'),
    /^DONE$/,
    'Failed',
  ),
  message(
    'Container Runtime blackbox test on terminated container should report termination message if TerminationMessagePath is set as non-root user and at a non-default path',
    {
      ...shell('echo -n DONE >/dev/own-path'),
      terminationMessagePath: '/dev/own-path',
      securityContext: { runAsUser: 1000 },
    },
    /^DONE$/,
  ),
  {
    title: 'Kubelet when scheduling a busybox command that always fails in a pod should have an terminated reason',
    phase: 'Failed',
    spec: { containers: [{ name: 'main', ...shell('exit 1') }] },
    status: { path: '.status.containerStatuses[0].state.terminated.reason', is: /^Error$/ },
  },
  going(
    'Container Runtime blackbox test when starting a container that exits should run with the expected status',
    shell('exit 1'),
    { status: { path: '.status.containerStatuses[0].restartCount', is: /^[1-9]/ } },
  ),
  printing(
    'Kubelet when scheduling a busybox command in a pod should print the output to logs',
    'echo out; echo err >&2',
    /^(out\nerr|err\nout)$/,
  ),
  {
    title: 'Pods should allow activeDeadlineSeconds to be updated',
    phase: 'Failed',
    spec: { containers: [{ name: 'main', ...shell('exec sleep 600') }] },
    change: (kubectl, pod) => kubectl.run('patch', 'pod', pod, '-p', '{"spec":{"activeDeadlineSeconds":1}}'),
    status: { path: '.status.reason', is: /^DeadlineExceeded$/ },
  },
];

export const ENVIRONMENT_WALKS: readonly Walk[] = [...ENVIRONMENT, ...PATHS, ...ENDS];
