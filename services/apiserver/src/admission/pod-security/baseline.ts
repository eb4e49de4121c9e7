import type { AppArmorProfile, SELinuxOptions, Volume } from '@holdfast/api';
import {
  type Candidate,
  type Check,
  containersOf,
  named,
  namesWhere,
  plural,
  quoted,
  setters,
  sortedSet,
  type Violation,
} from './check.ts';
import { badSeccompProfiles } from './seccomp.ts';

const APP_ARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

const isBadAppArmor = (profile: AppArmorProfile | undefined): boolean =>
  profile !== undefined && profile.type !== 'RuntimeDefault' && profile.type !== 'Localhost';

function appArmor(candidate: Candidate): Violation | undefined {
  const own = candidate.spec.securityContext?.appArmorProfile;
  const bad = containersOf(candidate).filter(({ securityContext }) => isBadAppArmor(securityContext?.appArmorProfile));
  const types = [...(isBadAppArmor(own) ? [own] : []), ...bad.map((each) => each.securityContext?.appArmorProfile)];
  const annotations = Object.entries(candidate.metadata?.annotations ?? {})
    .filter(([key, value]) => key.startsWith(APP_ARMOR_ANNOTATION) && !isGoodAnnotation(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const who = [
    setters(
      isBadAppArmor(own),
      bad.map(({ name }) => name),
    ),
    ...(annotations.length === 0 ? [] : [plural(annotations.length, 'annotation', 'annotations')]),
  ].filter((text) => text !== '');
  if (who.length === 0) return undefined;
  const values = [...sortedSet(types.map((profile) => profile?.type ?? '')), ...annotations];
  return {
    reason: plural(values.length, 'forbidden AppArmor profile', 'forbidden AppArmor profiles'),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  };
}

const isGoodAnnotation = (value: string): boolean =>
  value === '' || value === 'runtime/default' || value.startsWith('localhost/');

const HARMLESS_CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);

function capabilities(candidate: Candidate): Violation | undefined {
  const added = (each: ReturnType<typeof containersOf>[number]): readonly string[] =>
    (each.securityContext?.capabilities?.add ?? []).filter((name) => !HARMLESS_CAPABILITIES.has(name));
  const names = namesWhere(candidate, (each) => added(each).length > 0);
  if (names.length === 0) return undefined;
  const all = sortedSet(containersOf(candidate).flatMap(added));
  const detail = `${named(names)} must not include ${quoted(all)} in securityContext.capabilities.add`;
  return { reason: 'non-default capabilities', detail };
}

function hostNamespaces({ spec }: Candidate): Violation | undefined {
  const used = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => spec[name] === true);
  if (used.length === 0) return undefined;
  return { reason: 'host namespaces', detail: used.map((name) => `${name}=true`).join(', ') };
}

function hostPaths({ spec }: Candidate): Violation | undefined {
  const names = (spec.volumes ?? []).filter(({ hostPath }: Volume) => hostPath !== undefined).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: named(names, 'volume', 'volumes') };
}

function hostPorts(candidate: Candidate): Violation | undefined {
  const portsOf = (each: ReturnType<typeof containersOf>[number]): readonly string[] =>
    (each.ports ?? []).flatMap(({ hostPort = 0 }) => (hostPort === 0 ? [] : [String(hostPort)]));
  const names = namesWhere(candidate, (each) => portsOf(each).length > 0);
  if (names.length === 0) return undefined;
  const ports = sortedSet(containersOf(candidate).flatMap(portsOf));
  const use = `${plural(names.length, 'uses', 'use')} ${plural(ports.length, 'hostPort', 'hostPorts')}`;
  return { reason: 'hostPort', detail: `${named(names)} ${use} ${ports.join(', ')}` };
}

function privileged(candidate: Candidate): Violation | undefined {
  const names = namesWhere(candidate, ({ securityContext }) => securityContext?.privileged === true);
  if (names.length === 0) return undefined;
  return { reason: 'privileged', detail: `${named(names)} must not set securityContext.privileged=true` };
}

function procMount(candidate: Candidate): Violation | undefined {
  const mountOf = (each: ReturnType<typeof containersOf>[number]): string =>
    each.securityContext?.procMount ?? 'Default';
  const names = namesWhere(candidate, (each) => mountOf(each) !== 'Default');
  if (names.length === 0) return undefined;
  const values = sortedSet(
    containersOf(candidate)
      .map(mountOf)
      .filter((mount) => mount !== 'Default'),
  );
  return { reason: 'procMount', detail: `${named(names)} must not set securityContext.procMount to ${quoted(values)}` };
}

const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t'];
const ENGINE_TYPE = { name: 'container_engine_t', since: 31 };

function seLinux(candidate: Candidate): Violation | undefined {
  const types = [...SELINUX_TYPES, ...(candidate.minor >= ENGINE_TYPE.since ? [ENGINE_TYPE.name] : [])];
  const isBad = (options: SELinuxOptions | undefined): boolean =>
    options !== undefined && (!types.includes(options.type ?? '') || Boolean(options.user) || Boolean(options.role));
  const own = candidate.spec.securityContext?.seLinuxOptions;
  const inContainers = containersOf(candidate).map(({ securityContext }) => securityContext?.seLinuxOptions);
  const who = setters(
    isBad(own),
    namesWhere(candidate, ({ securityContext }) => isBad(securityContext?.seLinuxOptions)),
  );
  if (who === '') return undefined;
  const bad = [own, ...inContainers].filter(isBad);
  const badTypes = sortedSet(bad.map((options) => options?.type ?? '').filter((type) => !types.includes(type)));
  const data = [
    ...(badTypes.length === 0 ? [] : [named(badTypes, 'type', 'types')]),
    ...(bad.some((options) => options?.user) ? ['user may not be set'] : []),
    ...(bad.some((options) => options?.role) ? ['role may not be set'] : []),
  ];
  return {
    reason: 'seLinuxOptions',
    detail: `${who} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`,
  };
}

const seccomp = (candidate: Candidate): Violation | undefined => badSeccompProfiles(candidate);

/** Safe settings of the kernel, with the minor version that added each. */
const SYSCTLS: ReadonlyMap<string, number> = new Map([
  ['kernel.shm_rmid_forced', 0],
  ['net.ipv4.ip_local_port_range', 0],
  ['net.ipv4.tcp_syncookies', 0],
  ['net.ipv4.ping_group_range', 0],
  ['net.ipv4.ip_unprivileged_port_start', 0],
  ['net.ipv4.ip_local_reserved_ports', 27],
  ['net.ipv4.tcp_keepalive_time', 29],
  ['net.ipv4.tcp_fin_timeout', 29],
  ['net.ipv4.tcp_keepalive_intvl', 29],
  ['net.ipv4.tcp_keepalive_probes', 29],
  ['net.ipv4.tcp_rmem', 32],
  ['net.ipv4.tcp_wmem', 32],
]);

function sysctls({ spec, minor }: Candidate): Violation | undefined {
  const forbidden = (spec.securityContext?.sysctls ?? [])
    .map(({ name }) => name)
    .filter((name) => (SYSCTLS.get(name) ?? Number.POSITIVE_INFINITY) > minor || !SYSCTLS.has(name));
  return forbidden.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: forbidden.join(', ') };
}

function windowsHostProcess(candidate: Candidate): Violation | undefined {
  const who = setters(
    candidate.spec.securityContext?.windowsOptions?.hostProcess === true,
    namesWhere(candidate, ({ securityContext }) => securityContext?.windowsOptions?.hostProcess === true),
  );
  if (who === '') return undefined;
  return { reason: 'hostProcess', detail: `${who} must not set securityContext.windowsOptions.hostProcess=true` };
}

export const BASELINE: readonly Check[] = [
  { id: 'appArmorProfile', since: 0, find: appArmor },
  { id: 'capabilities_baseline', since: 0, replacedBy: 'capabilities_restricted', find: capabilities },
  { id: 'hostNamespaces', since: 0, find: hostNamespaces },
  { id: 'hostPathVolumes', since: 0, replacedBy: 'restrictedVolumes', find: hostPaths },
  { id: 'hostPorts', since: 0, find: hostPorts },
  { id: 'privileged', since: 0, find: privileged },
  { id: 'procMount', since: 0, find: procMount },
  { id: 'seLinuxOptions', since: 0, find: seLinux },
  { id: 'seccompProfile_baseline', since: 19, replacedBy: 'seccompProfile_restricted', find: seccomp },
  { id: 'sysctls', since: 0, find: sysctls },
  { id: 'windowsHostProcess', since: 0, find: windowsHostProcess },
];
