import { ADDRESS, going, IMAGE, mounted, NOTHING, printing, shell, type Walk } from './walk.ts';

const init = (name: string, script: string) => ({
  name,
  ...shell(script),
  volumeMounts: [{ name: 'v', mountPath: '/v' }],
});
const STEPS = mounted({ emptyDir: {} });

const INITS: readonly Walk[] = [
  printing('InitContainer should invoke init containers on a RestartNever pod', 'cat /v/begun', /^one\ntwo$/, {
    ...STEPS,
    spec: { initContainers: [init('one', 'echo one >>/v/begun'), init('two', 'echo two >>/v/begun')] },
  }),
  going(
    'InitContainer should invoke init containers on a RestartAlways pod',
    { ...shell('cat /v/begun; exec sleep 600'), volumeMounts: STEPS.mounts },
    { says: /^one\ntwo$/ },
    {
      volumes: STEPS.volumes,
      initContainers: [init('one', 'echo one >>/v/begun'), init('two', 'echo two >>/v/begun')],
    },
  ),
  {
    title:
      'InitContainer should not start app containers and fail the pod if init containers fail on a RestartNever pod',
    phase: 'Failed',
    spec: {
      volumes: STEPS.volumes,
      initContainers: [init('one', 'true'), init('two', 'exit 1')],
      containers: [{ name: 'main', ...shell('true') }],
    },
    status: { path: '.status.containerStatuses[0].state.waiting.reason', is: /^PodInitializing$/ },
  },
  {
    title: 'InitContainer should not start app containers if init containers fail on a RestartAlways pod',
    phase: 'Pending',
    spec: {
      restartPolicy: 'Always',
      volumes: STEPS.volumes,
      initContainers: [init('one', 'exit 1'), init('two', 'true')],
      containers: [{ name: 'main', ...shell('true') }],
    },
    status: { path: '.status.initContainerStatuses[0].restartCount', is: /^[1-9]/ },
  },
];

const secured = (title: string, script: string, says: RegExp, securityContext: object): Walk =>
  printing(title, { ...shell(script), securityContext }, says);

const SECURITY: readonly Walk[] = [
  secured(
    'Security Context When creating a container with runAsUser should run the container with uid 65534',
    'id -u',
    /^65534$/,
    { runAsUser: 65_534 },
  ),
  secured(
    'Security Context should support container.SecurityContext.RunAsUser And container.SecurityContext.RunAsGroup',
    'id -u; id -g',
    /^1001\n2002$/,
    { runAsUser: 1001, runAsGroup: 2002 },
  ),
  printing(
    'Security Context should support pod.Spec.SecurityContext.RunAsUser And pod.Spec.SecurityContext.RunAsGroup',
    'id -u; id -g',
    /^1001\n2002$/,
    { ...NOTHING, spec: { securityContext: { runAsUser: 1001, runAsGroup: 2002 } } },
  ),
  secured(
    'Security Context when creating containers with AllowPrivilegeEscalation should not allow privilege escalation when false',
    'grep NoNewPrivs /proc/self/status',
    /1$/,
    { runAsUser: 1000, allowPrivilegeEscalation: false },
  ),
  secured(
    'Security Context When creating a pod with privileged should run the container as unprivileged when false',
    'ip link add dummy0 type veth 2>&1 || true',
    /not permitted/,
    { privileged: false },
  ),
  secured(
    'Security Context When creating a pod with readOnlyRootFilesystem should run the container with writable rootfs when readOnlyRootFilesystem=false',
    'echo mine >$HOME/checkfile && cat $HOME/checkfile',
    /^mine$/,
    { readOnlyRootFilesystem: false },
  ),
  secured(
    'Kubelet when scheduling a read only busybox container should not write to root filesystem',
    'echo x >/file 2>&1; true',
    /Read-only file system|can't create|cannot create/,
    { readOnlyRootFilesystem: true },
  ),
  printing('Sysctls should support sysctls', 'cat /proc/sys/kernel/shm_rmid_forced', /^1$/, {
    ...NOTHING,
    spec: { securityContext: { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] } },
  }),
  printing(
    'Kubelet when scheduling an agnhost Pod with hostAliases should write entries to /etc/hosts',
    'cat /etc/hosts',
    /123\.45\.67\.89\tfoo\tbar/,
    { ...NOTHING, spec: { hostAliases: [{ ip: '123.45.67.89', hostnames: ['foo', 'bar'] }] } },
  ),
  printing(
    'KubeletManagedEtcHosts should test kubelet managed /etc/hosts file',
    'cat /etc/hosts',
    /^# Kubernetes-managed hosts file\./,
  ),
];

const IMAGES: readonly Walk[] = [
  printing(
    "Containers should be able to override the image's default command (container entrypoint)",
    { image: IMAGE, command: ['/bin/echo', 'override'] },
    /^override$/,
  ),
  printing(
    "Containers should be able to override the image's default arguments (container cmd)",
    { image: IMAGE, args: ['/bin/echo', 'arguments'] },
    /^arguments$/,
  ),
  printing(
    "Containers should be able to override the image's default command and arguments",
    { image: IMAGE, command: ['/bin/echo', 'override'], args: ['arguments', 'too'] },
    /^override arguments too$/,
  ),
  printing('Containers should use the image defaults if command and args are blank', { image: IMAGE }, /^$/),
];

const restarts = (is: RegExp) => ({ path: '.status.containerStatuses[0].restartCount', is });
const RESTARTED = restarts(/^[1-9]/);
const READY = { path: '.status.containerStatuses[0].ready', is: /^true$/ };
/** Processes of one machine share `/tmp`. */
const OWN = { volumes: [{ name: 'v', emptyDir: {} }] };
const OWN_MOUNT = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
const own = (title: string, container: object, rest: Omit<Walk, 'title' | 'spec'>): Walk =>
  going(title, { ...container, ...OWN_MOUNT }, rest, { ...OWN, terminationGracePeriodSeconds: 1 });
const SERVE = 'echo ok >/v/healthz; /bin/busybox httpd -f -p 8080 -h /v';
const QUICK = { periodSeconds: 1, failureThreshold: 1 };
/** A busy machine answers late. */
const PATIENT = { periodSeconds: 1, timeoutSeconds: 20 };

const PROBES: readonly Walk[] = [
  own(
    'Probing container should be restarted with a exec "cat /tmp/health" liveness probe',
    {
      ...shell('echo ok >/v/health; sleep 2; rm -f /v/health; exec sleep 600'),
      livenessProbe: { ...QUICK, exec: { command: ['cat', '/v/health'] }, initialDelaySeconds: 1 },
    },
    { status: RESTARTED },
  ),
  own(
    'Probing container should *not* be restarted with a exec "cat /tmp/health" liveness probe',
    {
      ...shell('echo ok >/v/health; exec sleep 600'),
      livenessProbe: { ...PATIENT, exec: { command: ['cat', '/v/health'] }, initialDelaySeconds: 1 },
    },
    { status: restarts(/^0$/) },
  ),
  own(
    'Probing container should be restarted with a /healthz http liveness probe',
    {
      ...shell(`(sleep 3; rm /v/healthz) & ${SERVE}`),
      livenessProbe: { ...QUICK, httpGet: { path: '/healthz', port: 8080 }, initialDelaySeconds: 2 },
    },
    { status: RESTARTED },
  ),
  own(
    'Probing container should *not* be restarted with a /healthz http liveness probe',
    {
      ...shell(SERVE),
      livenessProbe: { httpGet: { path: '/healthz', port: 8080 }, ...PATIENT, initialDelaySeconds: 1 },
      readinessProbe: { httpGet: { path: '/healthz', port: 8080 }, ...PATIENT },
    },
    { status: READY },
  ),
  own(
    'Probing container should *not* be restarted with a tcp:8080 liveness probe',
    {
      ...shell(SERVE),
      livenessProbe: { tcpSocket: { port: 8080 }, ...PATIENT, initialDelaySeconds: 1 },
      readinessProbe: { tcpSocket: { port: 8080 }, ...PATIENT },
    },
    { status: READY },
  ),
  own(
    'Probing container should be restarted with a GRPC liveness probe',
    { ...shell('exec sleep 600'), livenessProbe: { ...QUICK, grpc: { port: 2333 } } },
    { status: RESTARTED },
  ),
  own(
    'Probing container with readiness probe that fails should never be ready and never restart',
    { ...shell('exec sleep 600'), readinessProbe: { exec: { command: ['/bin/false'] }, periodSeconds: 1 } },
    { status: restarts(/^0$/) },
  ),
  own(
    'Probing container with readiness probe should not be ready before initial delay and never restart',
    {
      ...shell('exec sleep 600'),
      readinessProbe: { exec: { command: ['/bin/true'] }, periodSeconds: 1, initialDelaySeconds: 2 },
    },
    { status: READY },
  ),
  going(
    'Pods Extended Pods Set QOS Class should be set on Pods with matching resource requests and limits for memory and cpu',
    { ...shell('exec sleep 600'), resources: { limits: { cpu: '100m', memory: '100Mi' } } },
    { status: { path: '.status.qosClass', is: /^Guaranteed$/ } },
  ),
  going('Pods should get a host IP', shell('exec sleep 600'), {
    status: { path: '.status.hostIP', is: new RegExp(`^${ADDRESS}$`) },
  }),
  own(
    'Container Lifecycle Hook when create a pod with lifecycle hook should execute poststart exec hook properly',
    {
      ...shell('until [ -e /v/hooked ]; do sleep 0.1; done; echo hooked; exec sleep 600'),
      lifecycle: { postStart: { exec: { command: ['/bin/sh', '-c', 'echo >/v/hooked'] } } },
    },
    { says: /^hooked$/ },
  ),
  own(
    'Container Lifecycle Hook when create a pod with lifecycle hook should execute poststart http hook properly',
    { ...shell(`echo begun; ${SERVE}`), lifecycle: { postStart: { httpGet: { path: '/healthz', port: 8080 } } } },
    { says: /^begun/, status: READY },
  ),
];

const debugging = (title: string, names: readonly string[]): Walk =>
  going(title, shell('exec sleep 600'), {
    change: async (kubectl, pod) => {
      for (const name of names)
        await kubectl.run('debug', pod, `--image=${IMAGE}`, '--container', name, '--', 'sleep', '600');
    },
    status: {
      path: `.status.ephemeralContainerStatuses[${names.length - 1}].state.running.startedAt`,
      is: /^\d{4}-/,
    },
  });

const EPHEMERAL: readonly Walk[] = [
  debugging('Ephemeral Containers will start an ephemeral container in an existing pod', ['first']),
  debugging('Ephemeral Containers should update the ephemeral containers in an existing pod', ['first', 'second']),
];

export const NODE_WALKS: readonly Walk[] = [...INITS, ...SECURITY, ...IMAGES, ...PROBES, ...EPHEMERAL];
